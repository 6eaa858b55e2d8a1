//! What npm, pip and uv say. Pure.

use super::Nature;
use super::finding::Finding;

/// Recognises npm's error codes; the numeric ones only pass on the exit code of a script.
pub(super) fn npm(said: &str) -> Option<Finding> {
    let code = said.strip_prefix("code ")?;
    let passes_on = code.parse::<i32>().is_ok() || code == "ELIFECYCLE";
    let text = format!("npm {code}:");
    Some(if passes_on {
        Finding::passing_on(Nature::Other, &text)
    } else {
        Finding::new(Nature::Dependency, &text)
    })
}

/// Returns npm's detail without the word for its code, which begins each of them.
pub(super) fn npm_detail(said: &str) -> &str {
    let words = [
        "404 ",
        "notarget ",
        "engine ",
        "notsup ",
        "nospc ",
        "ERESOLVE ",
    ];
    words
        .iter()
        .find_map(|word| said.strip_prefix(word))
        .unwrap_or(said)
}

/// Recognises what pip cannot install.
pub(super) fn pip(line: &str) -> Option<Finding> {
    let said = line.strip_prefix("ERROR: ").unwrap_or(line);
    let begins = [
        "Could not find a version that satisfies ",
        "No matching distribution found ",
    ];
    let conflicts = said.starts_with("Cannot install ") && said.contains("conflicting");
    let is_one = conflicts || begins.iter().any(|begin| said.starts_with(begin));
    // The versions that there are would push everything else off the line.
    let text = said.split(" (from versions: ").next().unwrap_or(said);
    is_one.then(|| Finding::new(Nature::Dependency, text))
}

/// Recognises what uv cannot install. It says first that, and below it why.
pub(super) fn uv(line: &str) -> Option<Finding> {
    if let Some(why) = line.strip_prefix("cause: ") {
        let is_resolvers = why.starts_with("Because ");
        return is_resolvers.then(|| Finding::new(Nature::Dependency, why));
    }
    let said = line.strip_prefix("error: ")?;
    let begins = |beginnings: &[&str]| beginnings.iter().any(|begin| said.starts_with(begin));
    if begins(&[
        "Request failed after ",
        "Failed to fetch: `",
        "Failed to download `",
    ]) {
        return Some(Finding::new(Nature::Network, said));
    }
    let nature = if begins(&["No solution found when resolving "]) {
        Nature::Dependency
    } else if begins(&["Failed to build `"]) {
        Nature::Other
    } else {
        return None;
    };
    Some(Finding::passing_on(nature, said))
}
