//! A log's lines as the tools meant them: without colours, and without the marks that one tool puts before another's
//! words. Pure.

/// Bytes of a line that are looked at; no tool names a cause further on.
const LOOKED_AT: usize = 4096;
/// Lines above and below an error that are taken for its own report.
const AROUND: usize = 10;

/// What tools put before the words of the tools that they run.
const MARKS: &[&str] = &["npm error ", "npm ERR! ", "gyp ERR! stack ", "[ERROR] "];

/// One line of a log.
#[derive(Debug)]
pub(super) struct Line {
    shown: String,
    /// Where in it the words of the innermost tool begin.
    start: usize,
}

impl Line {
    pub(super) fn new(text: &str) -> Self {
        let shown = clean(text);
        let mut said = shown.trim_start();
        while let Some(rest) = MARKS.iter().find_map(|mark| without(mark, said)) {
            said = rest;
        }
        let start = shown.len() - said.len();
        Self { shown, start }
    }

    /// Returns the line as a person sees it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the words of the innermost tool.
    pub(super) fn said(&self) -> &str {
        &self.shown[self.start..]
    }

    /// Returns whether npm reports an error on it.
    pub(super) fn is_npms(&self) -> bool {
        self.shown.starts_with(MARKS[0]) || self.shown.starts_with(MARKS[1])
    }

    /// Returns whether a build log echoes a command on it.
    pub(super) fn is_echo(&self) -> bool {
        self.shown.starts_with("$ ")
    }
}

/// Returns what follows a mark; nothing follows one that stands alone.
fn without<'line>(mark: &str, said: &'line str) -> Option<&'line str> {
    if said == mark.trim_end() {
        return Some("");
    }
    said.strip_prefix(mark).map(str::trim_start)
}

/// Returns the words of the lines around one, itself among them.
pub(super) fn around(lines: &[Line], index: usize) -> String {
    let from = index.saturating_sub(AROUND);
    let to = lines.len().min(index + 1 + AROUND);
    let said: Vec<&str> = lines[from..to].iter().map(Line::said).collect();
    said.join("\n")
}

/// Returns a line without terminal colours, without what a carriage return overwrote and without space at its end.
fn clean(line: &str) -> String {
    let line = line.trim_end();
    let line = line.rsplit('\r').next().unwrap_or(line);
    let line = &line[..line.floor_char_boundary(LOOKED_AT)];
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            // A control sequence ends with its first letter.
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else if !letter.is_control() || letter == '\t' {
            plain.push(letter);
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// Returns at most `width` characters of a line.
pub(super) fn shorten(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_plain_and_read_without_the_marks_of_outer_tools() {
        let cases = [
            (
                "\u{1b}[0m\u{1b}[0m[ERROR] it\u{1b}[31m broke \u{1b}[0m",
                "[ERROR] it broke",
                "it broke",
            ),
            (
                "npm ERR! gyp ERR! stack Error: x",
                "npm ERR! gyp ERR! stack Error: x",
                "Error: x",
            ),
            (
                "      a.c:1:2: error: x",
                "      a.c:1:2: error: x",
                "a.c:1:2: error: x",
            ),
            ("10 %\r100 %\rdone\r", "done", "done"),
            ("npm error", "npm error", ""),
        ];
        for (text, shown, said) in cases {
            let line = Line::new(text);
            assert_eq!((line.shown(), line.said()), (shown, said));
        }
    }

    #[test]
    fn a_huge_line_is_looked_at_to_a_bound_only() {
        let line = Line::new(&"é".repeat(1 << 20));
        assert_eq!(line.shown().len(), LOOKED_AT);
    }

    #[test]
    fn a_line_too_long_to_show_is_cut_between_characters() {
        assert_eq!(shorten("éééé", 3), "éé…");
        assert_eq!(shorten("ééé", 3), "ééé");
    }
}
