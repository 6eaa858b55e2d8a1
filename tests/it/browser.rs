//! The HTML report in a real browser: its script runs without an error, sorts, filters, and all text is there without it.

use std::process::Command;

use crate::world::World;

/// A visitor at the end of the page: it sorts by the second column twice, then asks for steps and gaps alone. What is shown
/// then stands in the title, or what went wrong.
const VISITOR: &str = r##"<script>
addEventListener("error", (event) => { document.title = "error: " + event.message; });
const button = document.querySelectorAll("#versions thead button")[1];
button.click();
button.click();
const noted = document.querySelector("#filter input[type=checkbox]");
noted.click();
const rows = Array.from(document.querySelectorAll("#versions tbody tr"));
const shown = rows.filter((row) => !row.hidden).map((row) => row.cells[0].textContent.split("solo")[0]);
const order = rows.map((row) => Number(row.cells[1].dataset.value)).filter((value) => !isNaN(value));
const falls = order.every((value, place) => place === 0 || value <= order[place - 1]);
document.title = JSON.stringify([shown, falls, document.getElementById("shown").textContent]);
</script>"##;

/// Returns the page as the browser has it at the end, and what it said.
fn visit(world: &World, file: &str) -> (String, String) {
    let profile = world.path().join("profile");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", world.path().join(file).display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_browser_sorts_and_filters_and_asks_nobody() {
    let world = World::new();
    world.write_faults(&["steady", "steady_again", "build_fail"], "");
    let ended = world.run(&["run", "faults.toml", "--quick"]);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let arguments = [
        "report",
        "faults.toml",
        "--format",
        "html",
        "-o",
        "page.html",
    ];
    let ended = world.run(&arguments);
    assert!(matches!(ended.code, Some(0 | 1 | 125)), "{ended:?}");
    let page = std::fs::read_to_string(world.path().join("page.html")).unwrap();
    world.write(
        "visited.html",
        &page.replace("</body>", &format!("{VISITOR}</body>")),
    );
    let (dom, said) = visit(&world, "visited.html");
    let title = dom
        .split("<title>")
        .nth(1)
        .unwrap_or_else(|| panic!("{said}"));
    let title = title.split("</title>").next().unwrap();
    assert!(title.contains("\"build_fail\""), "{title}");
    assert!(
        title.contains(",true,") && title.contains(" of 3 shown"),
        "{title}"
    );
    assert!(
        !said.contains("CONSOLE") && !said.contains("Refused"),
        "{said}"
    );
    // The same words without the script.
    for word in ["this version does not build", "Repeat this", "steady"] {
        assert!(page.contains(word), "{word}");
    }
}
