//! Seeing that the right version was built: what the program says of itself. Edge only by the program that it runs.

use std::path::Path;
use std::time::Duration;

use regex::{Regex, RegexBuilder};

use super::template::{self, Variables};
use super::{Bench, OrStop, log, steps, wrong_template};
use crate::build::folder::cannot;
use crate::error::{Error, Kind, Result};
use crate::outcome::{Gap, GapKind};
use crate::process::{self, Ended};
use crate::source;

/// Longest that a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(30);
/// Characters of what it said that are shown.
const SHOWN: usize = 200;

/// Asks the program for its version where the matrix says how; another version than the right one is a gap.
pub(super) async fn check(bench: &Bench<'_>, variables: &Variables, work: &Path) -> OrStop<()> {
    let Some(proof) = &bench.matrix.build.proof else {
        return Ok(());
    };
    let spec = steps::spec(bench, &proof.cmd, (variables, work))?;
    // It has a time of its own: the build is done, however long that took.
    let captured = process::capture(&spec, PATIENCE).await?;
    let said = format!("{}{}", captured.stdout, captured.stderr);
    let path = &bench.folder.log;
    let echo = format!("$ {} {}\n{said}\n", spec.program, spec.args.join(" "));
    log::append(path, &echo).map_err(|error| cannot("write", path, error))?;
    let gap = |cause: String| Gap::new(GapKind::WrongVersion, cause).with_log(path);
    match &captured.ended {
        // It is not known which version it is: a tool that is missing or no memory is no proof of another one.
        Ended::TimedOut | Ended::NotStarted(_) | Ended::OverLimit(_) | Ended::Signal(9) => {
            let build = &bench.matrix.build;
            return Err(steps::failed(&spec, &captured.ended, &said, build).with_log(path));
        }
        Ended::Code(_) | Ended::Signal(_) => {}
    }
    if let Some(how) = source::failure(&captured.ended) {
        let cause = format!("the program does not tell its version: {how}");
        return Err(gap(cause).into());
    }
    let pattern = pattern(proof.pattern.as_deref(), variables)?;
    if pattern.is_match(&said) {
        return Ok(());
    }
    let version = &bench.cell.version.name;
    let said: String = said.trim().chars().take(SHOWN).collect();
    let cause = format!("this should be {version}, but the program says: {said}");
    Err(gap(cause).into())
}

/// Returns what the program must say: the matrix's own pattern, or the version's name that no other digits touch.
fn pattern(own: Option<&str>, variables: &Variables) -> Result<Regex> {
    let version = variables.get("version").unwrap_or_default();
    let Some(own) = own else {
        let name = regex::escape(version.strip_prefix('v').unwrap_or(version));
        return compile(&format!(r"(^|[^0-9.])v?{name}($|[^0-9.]|\.($|[^0-9]))"));
    };
    let mut escaped = variables.clone();
    for name in ["version", "tag", "commit"] {
        if let Some(value) = variables.get(name) {
            escaped.set(name, regex::escape(value));
        }
    }
    compile(&template::render(own, &escaped).map_err(|problem| wrong_template(own, &problem))?)
}

fn compile(pattern: &str) -> Result<Regex> {
    // Programs end their line, and some write more than one.
    let built = RegexBuilder::new(pattern).multi_line(true).build();
    built.map_err(|error| {
        let message = format!("`build.version_match` is not a regular expression: {pattern}");
        let hint = "braces of a regular expression are doubled in a template: `[0-9]{{2}}`";
        Error::new(Kind::Configuration, message)
            .because(error)
            .hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(own: Option<&str>, version: &str, said: &str) -> bool {
        let mut variables = Variables::default();
        variables.set("version", version);
        pattern(own, &variables).unwrap().is_match(said)
    }

    #[test]
    fn the_versions_name_must_stand_by_itself() {
        for said in [
            "v1.2.3",
            "server 1.2.3",
            "1.2.3\nbuilt today",
            "it is 1.2.3.",
            "1.2.3-rc",
        ] {
            assert!(matches(None, "1.2.3", said), "{said}");
        }
        for said in ["", "1.2.30", "11.2.3", "1.2.3.4", "1.2"] {
            assert!(!matches(None, "1.2.3", said), "{said}");
        }
        assert!(matches(None, "v1.2.3", "1.2.3"));
    }

    #[test]
    fn a_pattern_of_the_matrix_takes_the_version_as_it_is() {
        assert!(matches(Some("^v{version}$"), "1.2+a", "server\nv1.2+a\n"));
        assert!(!matches(Some("^v{version}$"), "1.2", "v1x2"));
        assert!(matches(Some("^[0-9]{{2}}$"), "1", "12"));
        assert!(compile("(").is_err());
    }
}
