//! Templates: `{version}` and the like in commands, paths and environments. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use super::diagnostic::did_you_mean;
use super::{Axis, Listen};

/// Where a template stands, which decides what can be known when it is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A build step, or its environment.
    Step,
    /// The program that must exist after the build.
    Binary,
    /// The command that tells the built program's version, and what it must say.
    Proof,
    /// The start command, its folder or its environment.
    Start,
}

/// The values of variables by name: `version`, `axis.body`, `env:HOME`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, String>);

/// What is wrong with a template, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Bytes of the template.
    pub span: Range<usize>,
    /// The first wrong character, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// Why, or what was probably meant.
    pub why: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} at column {} of the template: {} ({})",
            self.what, self.column, self.why, self.help
        )
    }
}

impl Variables {
    /// Gives a variable its value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Returns a variable's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns the variables as a child sees them: `HARNESS_VERSION`, `HARNESS_AXIS_BODY`. Those that come from the
    /// environment are left out.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let own = self.0.iter().filter(|(name, _)| !name.starts_with("env:"));
        own.map(|(name, value)| (environment_name(name), value.clone()))
            .collect()
    }
}

fn environment_name(name: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_uppercase(),
        _ => '_',
    };
    format!("HARNESS_{}", name.chars().map(letter).collect::<String>())
}

/// Returns the template that stands for a text as it is.
pub fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Fills a template. `{{` and `}}` stand for braces.
pub fn render(template: &str, variables: &Variables) -> Result<String, Problem> {
    let mut filled = String::with_capacity(template.len());
    for piece in pieces(template)? {
        match piece {
            Piece::Text(text) => filled.push_str(&text),
            Piece::Variable(name, span) => match variables.get(name) {
                Some(value) => filled.push_str(value),
                None => return Err(no_value(template, name, span, variables)),
            },
        }
    }
    Ok(filled)
}

/// Lists the variables that a template uses, in its order: `version`, `axis.body`, `env:HOME`.
pub fn used(template: &str) -> Result<Vec<String>, Problem> {
    let variables = pieces(template)?
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Variable(name, _) => Some(name.to_owned()),
            Piece::Text(_) => None,
        });
    Ok(variables.collect())
}

/// Lists the environment variables that templates use, `HOME` for `{env:HOME}`: their values must be set before
/// rendering. Templates that do not parse use none.
pub fn used_environment<'a>(templates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let names = templates
        .into_iter()
        .flat_map(|template| used(template).unwrap_or_default());
    let environment = names.filter_map(|name| name.strip_prefix("env:").map(str::to_owned));
    let mut environment: Vec<String> = environment.collect();
    environment.sort();
    environment.dedup();
    environment
}

/// What a matrix has, which decides what its templates know.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Whether the source is a package, which gives `{package}`.
    pub package: bool,
    /// Whether the source or `[build] binary` names a program, which gives `{binary}`.
    pub binary: bool,
    /// Whether the source is a git repository, which gives `{commit}` and `{tag}`.
    pub git: bool,
    /// What the server listens on, which gives `{host}` and `{port}`, or `{socket}`.
    pub listen: Listen,
    /// The axes. Those that do not change the build are known only when the server starts.
    pub axes: &'a [Axis],
}

/// Returns the variables known in a field. `{env:NAME}` is known everywhere and not listed.
pub fn known(field: Field, facts: Facts<'_>) -> Vec<String> {
    let own: &[&str] = match field {
        Field::Step => &["version", "src", "work", "out", "jobs", "matrix_dir"],
        Field::Binary | Field::Proof => &["version", "src", "work", "out", "matrix_dir"],
        Field::Start => &["version", "src", "work", "out"],
    };
    let start = field == Field::Start;
    let started: &[&str] = match facts.listen {
        _ if !start => &[],
        Listen::Ipv4 | Listen::Ipv6 => &["host", "port", "instance", "cpus", "matrix_dir"],
        Listen::Unix => &["socket", "instance", "cpus", "matrix_dir"],
    };
    let axes = facts.axes.iter().filter(|axis| axis.build || start);
    let own = own.iter().chain(started);
    let mut names: Vec<String> = own.map(|name| (*name).to_owned()).collect();
    let built = start || field == Field::Proof;
    names.extend((built && facts.binary).then(|| "binary".to_owned()));
    names.extend(facts.package.then(|| "package".to_owned()));
    let git = ["commit", "tag"].iter().filter(|_| facts.git);
    names.extend(git.map(|name| (*name).to_owned()));
    for axis in axes {
        names.push(format!("axis.{}", axis.name));
        names.extend(
            axis.from
                .iter()
                .map(|_| format!("axis.{}.binary", axis.name)),
        );
    }
    names
}

/// Returns everything wrong with a template whose field knows these variables.
pub fn check(template: &str, known: &[String]) -> Vec<Problem> {
    let pieces = match pieces(template) {
        Ok(pieces) => pieces,
        Err(problem) => return vec![problem],
    };
    let unknown = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Variable(name, span) => {
            (!is_known(name, known)).then(|| unknown(template, name, span, known))
        }
        Piece::Text(_) => None,
    });
    unknown.collect()
}

fn is_known(name: &str, known: &[String]) -> bool {
    match name.strip_prefix("env:") {
        Some(variable) => !variable.is_empty() && !variable.contains(['=', '\0']),
        None => known.iter().any(|known| known == name),
    }
}

enum Piece<'a> {
    Text(String),
    Variable(&'a str, Range<usize>),
}

fn pieces(template: &str) -> Result<Vec<Piece<'_>>, Problem> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while let Some(found) = template[at..].find(['{', '}']) {
        let brace = at + found;
        text.push_str(&template[at..brace]);
        let rest = &template[brace..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            text.push_str(&rest[..1]);
            at = brace + 2;
            continue;
        }
        let end = closing(template, brace)?;
        pieces.push(Piece::Text(std::mem::take(&mut text)));
        pieces.push(Piece::Variable(&template[brace + 1..end], brace..end + 1));
        at = end + 1;
    }
    text.push_str(&template[at..]);
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// Returns where the variable that opens at `brace` is closed.
fn closing(template: &str, brace: usize) -> Result<usize, Problem> {
    let help = "write `{{` and `}}` for literal braces";
    if template[brace..].starts_with('}') {
        let what = "a brace is closed that was not opened";
        return Err(problem(
            template,
            brace..brace + 1,
            what,
            "no `{` before it",
            help,
        ));
    }
    let inner = &template[brace + 1..];
    match inner.find(['{', '}']) {
        Some(length) if inner[length..].starts_with('}') => Ok(brace + 1 + length),
        Some(_) | None => {
            let what = "a brace is opened and not closed";
            Err(problem(
                template,
                brace..brace + 1,
                what,
                "no `}` after it",
                help,
            ))
        }
    }
}

fn problem(template: &str, span: Range<usize>, what: &str, why: &str, help: &str) -> Problem {
    Problem {
        column: template[..span.start].chars().count() + 1,
        span,
        what: what.to_owned(),
        why: why.to_owned(),
        help: help.to_owned(),
    }
}

fn unknown(template: &str, name: &str, span: Range<usize>, known: &[String]) -> Problem {
    let names = known.iter().map(String::as_str);
    let suggestion = did_you_mean(name, names).map(|text| text.replace('`', ""));
    let has = |name: &str| known.iter().any(|known| known == name);
    let why = match suggestion {
        _ if name == "package" => "the source of this matrix is not a package".to_owned(),
        _ if name == "jobs" => "it is for build steps only".to_owned(),
        _ if name == "binary" && has("cpus") => "no `[build] binary` names a program".to_owned(),
        _ if name == "socket" && has("port") => {
            "only a server with `listen = \"unix\"` has one".to_owned()
        }
        _ if ["host", "port"].contains(&name) && has("socket") => {
            "with `listen = \"unix\"` there is `{socket}` in its place".to_owned()
        }
        _ if ["host", "port", "socket", "instance", "cpus", "binary"].contains(&name) => {
            "it has no value before the server starts".to_owned()
        }
        Some(suggestion) => suggestion.replace("mean ", "mean `{").replace('?', "}`?"),
        None if name.starts_with("axis.") => "no such axis, or it has no `build = true`".to_owned(),
        None => "no such variable".to_owned(),
    };
    let list: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
    let help = format!(
        "known here are {} and {{env:NAME}}; for a literal brace write `{{{{`",
        list.join(" ")
    );
    problem(
        template,
        span,
        &format!("unknown variable `{{{name}}}`"),
        &why,
        &help,
    )
}

fn no_value(template: &str, name: &str, span: Range<usize>, variables: &Variables) -> Problem {
    let Some(variable) = name.strip_prefix("env:") else {
        let known: Vec<String> = variables.0.keys().cloned().collect();
        return unknown(template, name, span, &known);
    };
    let what = format!("`{{{name}}}` has no value");
    let why = format!("the environment variable {variable} is not set");
    let help = format!("set it, as in `{variable}=… harness run`");
    problem(template, span, &what, &why, &help)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Variables {
        let mut variables = Variables::default();
        for (name, value) in pairs {
            variables.set(*name, *value);
        }
        variables
    }

    fn axes() -> Vec<Axis> {
        let axis = |name: &str, build| Axis {
            name: name.to_owned(),
            values: vec!["x".to_owned()],
            build,
            from: None,
        };
        vec![axis("body", false), axis("features", true)]
    }

    #[test]
    fn variables_are_filled_and_doubled_braces_are_braces() {
        let variables = variables(&[
            ("version", "1.2"),
            ("axis.body", "buffer"),
            ("env:HOME", "/h"),
        ]);
        let filled = render(
            "{env:HOME}/é-{version}-{axis.body} {{x}} {{{version}}}",
            &variables,
        );
        assert_eq!(filled.as_deref(), Ok("/h/é-1.2-buffer {x} {1.2}"));
        assert_eq!(render("", &variables).as_deref(), Ok(""));
    }

    #[test]
    fn braces_that_do_not_match_are_reported_with_their_column() {
        let column = |template: &str| used(template).unwrap_err().column;
        assert_eq!(column("é{version"), 2);
        assert_eq!(column("a}b"), 2);
        assert_eq!(column("{ver{sion}"), 1);
        assert_eq!(column("{{}"), 3);
    }

    #[test]
    fn an_unknown_variable_suggests_the_nearest() {
        let problem = render("x {versoin}", &variables(&[("version", "1")])).unwrap_err();
        assert_eq!(
            problem.to_string(),
            "unknown variable `{versoin}` at column 3 of the template: did you mean `{version}`? (known here are {version} and {env:NAME}; for a literal brace write `{{`)"
        );
        assert_eq!(problem.span, 2..11);
    }

    #[test]
    fn an_unset_environment_variable_says_so() {
        let problem = render("{env:TOKEN}", &Variables::default()).unwrap_err();
        assert_eq!(problem.why, "the environment variable TOKEN is not set");
        assert_eq!(
            used_environment(["{env:B} {version}", "{env:A}{env:B}", "{"]),
            ["A", "B"]
        );
    }

    #[test]
    fn each_field_knows_its_own_variables() {
        let wrong = |field, template: &str| -> Vec<String> {
            let axes = axes();
            let facts = Facts {
                package: false,
                git: false,
                binary: field == Field::Start,
                listen: Listen::Ipv4,
                axes: &axes,
            };
            let problems = check(template, &known(field, facts));
            problems.into_iter().map(|problem| problem.why).collect()
        };
        assert!(
            wrong(
                Field::Start,
                "{binary} {host}:{port} {instance} {cpus} {axis.body} {axis.features} {env:X}"
            )
            .is_empty()
        );
        assert!(
            wrong(
                Field::Step,
                "{src} {work} {out} {jobs} {matrix_dir} {axis.features}"
            )
            .is_empty()
        );
        assert_eq!(
            wrong(Field::Step, "{port}"),
            ["it has no value before the server starts"]
        );
        assert_eq!(wrong(Field::Step, "{binary}{instance}{socket}").len(), 3);
        assert_eq!(
            wrong(Field::Start, "{socket}"),
            ["only a server with `listen = \"unix\"` has one"]
        );
        assert_eq!(
            wrong(Field::Step, "{axis.body}"),
            ["no such axis, or it has no `build = true`"]
        );
        assert_eq!(
            wrong(Field::Binary, "{out}/{jobs}"),
            ["it is for build steps only"]
        );
        assert_eq!(
            wrong(Field::Start, "{package}"),
            ["the source of this matrix is not a package"]
        );
        assert_eq!(wrong(Field::Start, "{} {nothing} {env:}").len(), 3);
        let facts = Facts {
            package: true,
            git: false,
            binary: false,
            listen: Listen::Unix,
            axes: &[],
        };
        assert!(known(Field::Binary, facts).contains(&"package".to_owned()));
        let problem = &check("{binary}", &known(Field::Start, facts))[0];
        assert_eq!(problem.why, "no `[build] binary` names a program");
    }

    #[test]
    fn a_socket_stands_in_the_place_of_host_and_port() {
        let facts = Facts {
            package: false,
            git: false,
            binary: false,
            listen: Listen::Unix,
            axes: &[],
        };
        let problems = check("{socket} {host}:{port}", &known(Field::Start, facts));
        let why = "with `listen = \"unix\"` there is `{socket}` in its place";
        assert!(problems.len() == 2 && problems.iter().all(|problem| problem.why == why));
    }

    #[test]
    fn the_environment_has_every_variable_but_those_from_it() {
        let variables = variables(&[
            ("version", "1"),
            ("matrix_dir", "/m"),
            ("axis.body", "b"),
            ("env:A", "a"),
        ]);
        let environment: Vec<_> = variables.environment().into_iter().collect();
        let expected = [
            ("HARNESS_AXIS_BODY", "b"),
            ("HARNESS_MATRIX_DIR", "/m"),
            ("HARNESS_VERSION", "1"),
        ];
        assert_eq!(
            environment,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn text_with_doubled_braces_comes_back(text in any::<String>()) {
            let template = literal(&text);
            prop_assert_eq!(render(&template, &Variables::default()), Ok(text));
        }

        #[test]
        fn no_template_panics(template in "[{}ab:.é🦀]{0,12}") {
            let variables = variables(&[("a", "1")]);
            let problems = check(&template, &["a".to_owned()]);
            if problems.is_empty() && !template.contains("env:") {
                prop_assert!(render(&template, &variables).is_ok());
            }
            for problem in problems {
                prop_assert!(template.get(problem.span).is_some());
            }
        }
    }
}
