//! The report as JSON.

use super::Report;

/// Returns the report as indented JSON, ending with a line break.
pub(super) fn render(report: &Report) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
