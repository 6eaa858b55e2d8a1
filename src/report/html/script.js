"use strict";
// A table whose headers are buttons is sorted by them; what has no number goes last, whichever way.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  table.querySelectorAll("thead th button").forEach((button, column) => {
    button.addEventListener("click", () => {
      const header = button.closest("th");
      const up = header.getAttribute("aria-sort") !== "ascending";
      for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.value;
      const order = (a, b) => {
        const [left, right] = [key(a), key(b)];
        if (left === undefined || right === undefined) return (left === undefined) - (right === undefined);
        const difference = Number(left) - Number(right);
        return up ? difference : -difference;
      };
      body.append(...rows.slice().sort(order));
    });
  });
}
// Rows are shown whose text holds what is typed, and with the box ticked only those that are of note.
const filter = document.getElementById("filter");
if (filter) {
  const [words, noted] = filter.querySelectorAll("input");
  const said = document.getElementById("shown");
  const rows = Array.from(document.querySelectorAll("#versions tbody tr"));
  const show = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const hit = row.textContent.toLowerCase().includes(wanted) && (!noted.checked || row.dataset.noted === "yes");
      row.hidden = !hit;
      shown += hit;
    }
    said.textContent = `${shown} of ${rows.length} shown`;
  };
  words.addEventListener("input", show);
  noted.addEventListener("change", show);
  filter.hidden = false;
  show();
}
