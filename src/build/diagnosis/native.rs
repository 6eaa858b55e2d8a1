//! What compilers of C and C++, linkers, loaders, shells, make and `CMake` say. Pure.

use super::Nature;
use super::finding::Finding;

/// Recognises shared libraries and programs that do not fit the machine.
pub(super) fn library(line: &str) -> Option<Finding> {
    if let Some((_, rest)) = line
        .split_once("error while loading shared libraries: ")
        .or_else(|| line.split_once("symbol lookup error: "))
    {
        return Some(Finding::new(Nature::Library, rest));
    }
    let loaders = [
        "cannot open shared object file",
        "wrong ELF class",
        "invalid ELF header",
    ];
    if loaders.iter().any(|part| line.contains(part)) {
        let text = line.split_once("Error: ").map_or(line, |(_, text)| text);
        return Some(Finding::new(Nature::Library, text));
    }
    if let Some(start) = line
        .find("version `")
        .filter(|_| line.contains("' not found"))
    {
        return Some(Finding::new(Nature::Library, &line[start..]));
    }
    let foreign = [
        "Exec format error",
        "cannot execute binary file",
        "cannot execute: required file not found",
    ];
    let is_foreign = foreign.iter().any(|part| line.contains(part));
    is_foreign.then(|| Finding::new(Nature::Program, line))
}

/// Recognises what a linker misses.
pub(super) fn linker(line: &str) -> Option<Finding> {
    let phrases = [
        "undefined reference to",
        "undefined symbol:",
        "Undefined symbols for architecture",
        "multiple definition of",
        "cannot find -l",
        "unable to find library -l",
        "library not found for -l",
        "DSO missing from command line",
    ];
    let start = phrases.iter().find_map(|phrase| line.find(phrase))?;
    Some(Finding::new(Nature::Linker, &line[start..]))
}

/// Recognises a program that is not there, as shells, make and env report it.
pub(super) fn program(line: &str) -> Option<Finding> {
    let (rest, reason) = [
        "command not found",
        "Command not found",
        "not found",
        "No such file or directory",
        "Permission denied",
    ]
    .iter()
    .find_map(|reason| Some((line.strip_suffix(reason)?.strip_suffix(": ")?, *reason)))?;
    let parts: Vec<&str> = rest.split(": ").collect();
    let (teller, tool) = (*parts.first()?, *parts.last()?);
    let name = teller.rsplit('/').next().unwrap_or(teller);
    let is_runner =
        name.starts_with("make") || ["sh", "bash", "dash", "env", "nohup", "xargs"].contains(&name);
    let is_script = parts.len() == 3 && parts[1].trim_start_matches("line ").parse::<u32>().is_ok();
    let is_told = is_runner || is_script || reason.eq_ignore_ascii_case("command not found");
    let tool = tool.trim_matches(['\'', '`', '‘', '’']);
    (is_told && parts.len() > 1)
        .then(|| Finding::new(Nature::Program, &format!("`{tool}`: {reason}")))
}

/// Recognises `file:line: error: …` of C, C++, Java, TypeScript, `CMake` and configure scripts.
pub(super) fn compiler(line: &str) -> Option<Finding> {
    let marks = [
        ": fatal error: ",
        ": error: ",
        ": ERROR: ",
        ": error TS",
        ": internal compiler error: ",
    ];
    for mark in marks {
        if let Some((before, text)) = line.split_once(mark)
            && (!before.contains(' ') || before.ends_with(|last: char| last.is_ascii_digit()))
        {
            return Some(match (before, mark) {
                ("configure", _) => Finding::new(Nature::Other, text),
                // What the compiler itself failed at is told from what it refuses.
                (_, ": internal compiler error: ") => {
                    Finding::new(Nature::Compiler, &line[before.len() + 2..])
                }
                (_, _) => Finding::new(Nature::Compiler, text),
            });
        }
    }
    if line.starts_with("CMake Error at") || line.starts_with("CMake Error:") {
        return Some(Finding::new(Nature::Compiler, line));
    }
    let start = line.find("No rule to make target")?;
    Some(Finding::new(Nature::Other, &line[start..]))
}
