//! What was found of one thing, and how it is to be taken. Pure.

use super::engine::Figures;

/// How a finding is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Grade {
    Good,
    Note,
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, serde::Serialize)]
pub(super) struct Finding {
    what: String,
    pub(super) grade: Grade,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
    /// The numbers behind it, where there are more than the words tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<Figures>,
}

impl Finding {
    /// Adds the numbers behind it.
    pub(super) fn with_figures(mut self, figures: Figures) -> Self {
        self.figures = Some(figures);
        self
    }
}

pub(super) fn finding(what: &str, grade: Grade, found: impl Into<String>) -> Finding {
    Finding {
        what: what.to_owned(),
        grade,
        found: found.into(),
        advice: None,
        figures: None,
    }
}

pub(super) fn advise(mut finding: Finding, advice: &'static str) -> Finding {
    if finding.grade != Grade::Good {
        finding.advice = Some(advice);
    }
    finding
}

/// Returns all findings for a person, and what they come to.
pub(super) fn text(findings: &[Finding]) -> String {
    let count = |grade| {
        let of_grade = findings.iter().filter(|finding| finding.grade == grade);
        of_grade.count()
    };
    let verdict = match (count(Grade::Bad), count(Grade::Note)) {
        (0, 0) => "This machine is fit.".to_owned(),
        (0, notes) => format!("This machine is fit, with {notes} things to know."),
        (bad, _) => format!("This machine is not fit: {bad} things are in the way."),
    };
    let lines: Vec<String> = findings.iter().map(line).chain([verdict]).collect();
    lines.join("\n")
}

fn line(finding: &Finding) -> String {
    let grade = match finding.grade {
        Grade::Good => "good",
        Grade::Note => "note",
        Grade::Bad => "BAD ",
    };
    let advice = finding
        .advice
        .map_or(String::new(), |advice| format!("\n        {advice}"));
    format!("{grade}  {:14}  {}{advice}", finding.what, finding.found)
}
