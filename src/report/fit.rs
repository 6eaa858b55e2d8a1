//! Text that goes where only so much of it may go: detail is left out first, and nothing is cut in two. Pure.

use super::words::list;

/// Bytes that a comment on GitHub takes.
pub(super) const COMMENT: usize = 65_536;

/// Bytes that the summary of a step of GitHub's Actions takes.
pub(super) const SUMMARY: usize = 1_048_576;

/// A part of a text in several lengths.
#[derive(Debug)]
pub(super) struct Part {
    /// What it is called where it had to become shorter.
    name: &'static str,
    /// The greater, the sooner it becomes shorter.
    rank: u8,
    /// The text, the longest first; an empty one leaves it out.
    forms: Vec<String>,
}

impl Part {
    /// Makes a part that is there whatever it takes.
    pub(super) fn fixed(text: String) -> Self {
        Self::new("", 0, vec![text])
    }

    /// Makes a part that may become shorter.
    pub(super) fn new(name: &'static str, rank: u8, forms: Vec<String>) -> Self {
        Self { name, rank, forms }
    }

    fn text(&self) -> &str {
        self.forms.first().map_or("", String::as_str)
    }

    fn can_be_shorter(&self) -> bool {
        self.forms.len() > 1 && !self.text().is_empty()
    }
}

/// Joins parts by empty lines into a text of at most so many bytes that ends with a line break. What takes the least from
/// a reader becomes shorter first, and a last line says what did.
///
/// Where all parts are at their shortest and still too long, the text is: nothing is cut in the middle.
pub(super) fn fitted(mut parts: Vec<Part>, limit: usize) -> String {
    let mut shortened: Vec<&'static str> = Vec::new();
    loop {
        let text = joined(&parts, &shortened, limit);
        let too_long = text.len() > limit;
        let Some(place) = next(&parts).filter(|_| too_long) else {
            return text;
        };
        let part = &mut parts[place];
        part.forms.remove(0);
        if !shortened.contains(&part.name) {
            shortened.push(part.name);
        }
    }
}

/// Returns the part that is to become shorter next: of those with the greatest rank the last.
fn next(parts: &[Part]) -> Option<usize> {
    let able = parts.iter().enumerate();
    let able = able.filter(|(_, part)| part.can_be_shorter());
    able.max_by_key(|(place, part)| (part.rank, *place))
        .map(|(place, _)| place)
}

fn joined(parts: &[Part], shortened: &[&str], limit: usize) -> String {
    let texts = parts.iter().map(Part::text);
    let mut texts: Vec<String> = texts
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect();
    if !shortened.is_empty() {
        let names: Vec<String> = shortened.iter().map(|name| (*name).to_owned()).collect();
        texts.push(format!(
            "Left out, at least in part, to stay within {limit} bytes: {}.",
            list(&names, "and")
        ));
    }
    format!("{}\n", texts.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        vec![
            Part::fixed("title".to_owned()),
            Part::new("gaps", 2, vec!["g".repeat(300), "few".to_owned()]),
            Part::new("versions", 3, vec!["v".repeat(300), String::new()]),
        ]
    }

    #[test]
    fn what_fits_stays_whole() {
        let text = fitted(parts(), 1000);
        assert_eq!(text.len(), "title".len() + 600 + 2 * "\n\n".len() + 1);
        assert!(!text.contains("Left out"), "{text}");
    }

    #[test]
    fn the_least_important_goes_first_and_the_text_says_so() {
        let text = fitted(parts(), 400);
        assert!(text.len() <= 400, "{}", text.len());
        assert!(text.contains("ggg") && !text.contains("vvv"), "{text}");
        assert!(
            text.ends_with("to stay within 400 bytes: versions.\n"),
            "{text}"
        );
    }

    #[test]
    fn what_must_be_there_is_never_cut() {
        let text = fitted(parts(), 10);
        let told = "title\n\nfew\n\nLeft out, at least in part, to stay within 10 bytes: versions and gaps.\n";
        assert_eq!(text, told);
    }
}
