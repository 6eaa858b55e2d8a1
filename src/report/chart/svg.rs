//! Writing SVG: shapes by class, text escaped, numbers with one decimal.

use std::fmt::Write as _;

use super::{Picture, WIDTH};
use crate::report::words::one_line;

/// Colours and strokes: those of GitHub's pages, light and dark; nothing is told by colour alone.
const STYLE: &str = "\
.chart text{font:11px system-ui,sans-serif;fill:#57606a}\
.chart .title{font-size:14px;font-weight:600;fill:#1f2328}\
.chart .strong{font-weight:600;fill:#1f2328}\
.chart .paper{fill:#fff}\
.chart .grid{stroke:#d8dee4}\
.chart .zero{stroke:#57606a}\
.chart .line{stroke:#0969da;fill:none;stroke-width:1.5}\
.chart .whisker{stroke:#0969da;stroke-opacity:.55}\
.chart .dot{fill:#0969da}\
.chart .same{fill:#57606a;stroke:#57606a}\
.chart .unknown{fill:#fff;stroke:#57606a}\
.chart .worse{fill:#cf222e;stroke:#cf222e}\
.chart .better{fill:#1a7f37;stroke:#1a7f37}\
.chart .gap{fill:url(#NAME-hatch)}\
.chart .hatch{stroke:#afb8c1;stroke-width:2}\
.chart .back{fill:#afb8c1;fill-opacity:.2}\
.chart .l0{stroke:#0969da}.chart .l1{stroke:#bc4c00;stroke-dasharray:7 3}\
.chart .l2{stroke:#8250df;stroke-dasharray:2 3}.chart .l3{stroke:#1a7f37;stroke-dasharray:9 3 2 3}\
.chart .l0,.chart .l1,.chart .l2,.chart .l3{fill:none;stroke-width:1.5}\
@media (prefers-color-scheme:dark){\
.chart text{fill:#9198a1}\
.chart .title,.chart .strong{fill:#f0f6fc}\
.chart .paper{fill:#0d1117}\
.chart .grid{stroke:#30363d}\
.chart .zero{stroke:#9198a1}\
.chart .line,.chart .whisker{stroke:#4493f8}\
.chart .dot{fill:#4493f8}\
.chart .same{fill:#9198a1;stroke:#9198a1}\
.chart .unknown{fill:#0d1117;stroke:#9198a1}\
.chart .worse{fill:#f85149;stroke:#f85149}\
.chart .better{fill:#3fb950;stroke:#3fb950}\
.chart .hatch{stroke:#484f58}\
.chart .back{fill:#484f58;fill-opacity:.35}\
.chart .l0{stroke:#4493f8}.chart .l1{stroke:#f0883e}.chart .l2{stroke:#ab7df8}.chart .l3{stroke:#3fb950}\
}";

/// A place in a chart, from the left and from the top.
pub(super) type Point = (f64, f64);

/// Which side of a text is at its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    /// Its left side.
    Start,
    /// Its middle.
    Middle,
    /// Its right side.
    End,
}

/// A chart that is being drawn.
#[derive(Debug)]
pub(super) struct Svg {
    name: &'static str,
    title: String,
    body: String,
}

impl Svg {
    /// Begins a chart with its title.
    pub(super) fn new(name: &'static str, title: &str) -> Self {
        let mut svg = Self {
            name,
            title: one_line(title),
            body: String::new(),
        };
        let shown = crate::report::words::clipped(title, 110);
        svg.text("title", (16.0, 22.0), Anchor::Start, &shown);
        svg
    }

    /// Draws a straight line.
    pub(super) fn line(&mut self, class: &str, from: Point, to: Point) {
        let (x1, y1, x2, y2) = (number(from.0), number(from.1), number(to.0), number(to.1));
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#
        );
    }

    /// Draws a line through several points; nothing through fewer than two.
    pub(super) fn lines(&mut self, class: &str, points: &[Point]) {
        if points.len() > 1 {
            let points = listed(points);
            let _ = writeln!(
                self.body,
                r#"<polyline class="{class}" points="{points}"/>"#
            );
        }
    }

    /// Fills a shape with corners.
    pub(super) fn shape(&mut self, class: &str, corners: &[Point]) {
        let points = listed(corners);
        let _ = writeln!(self.body, r#"<polygon class="{class}" points="{points}"/>"#);
    }

    /// Draws a dot.
    pub(super) fn dot(&mut self, class: &str, at: Point, radius: f64) {
        let (x, y, r) = (number(at.0), number(at.1), number(radius));
        let _ = writeln!(
            self.body,
            r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#
        );
    }

    /// Writes a text.
    pub(super) fn text(&mut self, class: &str, at: Point, anchor: Anchor, text: &str) {
        let (x, y) = (number(at.0), number(at.1));
        let (anchor, text) = (anchor.name(), escaped(text));
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#
        );
    }

    /// Writes a text that rises to its end, which is at its place.
    pub(super) fn rising(&mut self, class: &str, at: Point, text: &str) {
        let (x, y, text) = (number(at.0), number(at.1), escaped(text));
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="end" transform="rotate(-45 {x} {y})">{text}</text>"#
        );
    }

    /// Begins a group that says what it is when somebody points at it.
    pub(super) fn begin(&mut self, hint: &str) {
        let _ = writeln!(self.body, "<g><title>{}</title>", escaped(hint));
    }

    /// Ends a group.
    pub(super) fn end(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// Returns the whole chart of that height.
    pub(super) fn finish(self, height: f64, description: &str) -> Picture {
        let Self { name, title, body } = self;
        let style = STYLE.replace("NAME", name);
        let (width, height) = (number(WIDTH), number(height));
        let (heading, words) = (escaped(&title), escaped(description));
        let svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="{name}-title {name}-description" fill="#6e7781">
<title id="{name}-title">{heading}</title>
<desc id="{name}-description">{words}</desc>
<style>{style}</style>
<defs><pattern id="{name}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="back" width="6" height="6"/><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>
<rect class="paper" x="0" y="0" width="{width}" height="{height}" rx="6"/>
{body}</svg>
"##
        );
        Picture {
            name,
            alternative: format!("{title}. {description}"),
            svg,
        }
    }
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

fn listed(points: &[Point]) -> String {
    let points = points
        .iter()
        .map(|(x, y)| format!("{},{}", number(*x), number(*y)));
    points.collect::<Vec<_>>().join(" ")
}

/// Returns a length with one decimal at most.
fn number(length: f64) -> String {
    let text = format!("{length:.1}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// Returns text that XML takes: without what it cannot hold at all.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_have_no_negative_zero() {
        assert_eq!(
            [1.04, -0.04, 20.0, 0.26].map(number),
            ["1", "0", "20", "0.3"]
        );
    }

    #[test]
    fn text_is_text() {
        assert_eq!(
            escaped("<script>\"&\"\n\u{ffff}"),
            "&lt;script&gt;&quot;&amp;&quot; \u{fffd}"
        );
    }
}
