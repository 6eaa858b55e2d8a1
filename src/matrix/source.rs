//! The sources of versions, as the rest of the program sees them. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::version::Order;

use super::Command;

/// Where versions come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The kind and what it needs.
    pub kind: SourceKind,
    /// Which versions of those that exist are wanted.
    pub versions: Wanted,
    /// Which of the wanted ones are measured.
    pub select: Select,
    /// Whether pre-releases are among them.
    pub prerelease: bool,
    /// Their order.
    pub order: Order,
    /// Which version each is compared with.
    pub compare: Compare,
}

/// The kinds of source.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceKind {
    /// A crate.
    Crates(Crates),
    /// An npm package.
    Npm(Npm),
    /// A package of the Python index.
    Pypi(Pypi),
    /// A Go module, or Go itself.
    Go(Go),
    /// An artifact of a Maven repository.
    Maven(Maven),
    /// A git repository.
    Git(Git),
    /// Archives at addresses.
    Url(Url),
    /// A folder whose entries are the versions.
    Path(Folder),
    /// Servers that run already: nothing is started or stopped.
    Attach(Attach),
    /// Names; the build steps know what to do with them.
    List(List),
}

impl SourceKind {
    /// Returns the package's name, `{package}` in templates; none where the source is no package.
    pub fn package(&self) -> Option<&str> {
        match self {
            Self::Crates(crates) => Some(&crates.package),
            Self::Npm(npm) => Some(&npm.package),
            Self::Pypi(pypi) => Some(&pypi.package),
            Self::Maven(maven) => Some(&maven.artifact),
            Self::Go(Go {
                subject: GoSubject::Module(module),
                ..
            }) => Some(module),
            Self::Go(_)
            | Self::Git(_)
            | Self::Url(_)
            | Self::Path(_)
            | Self::Attach(_)
            | Self::List(_) => None,
        }
    }

    /// Returns whether the source itself knows which file is the program, so that `{binary}` needs no `[build] binary`.
    pub fn names_program(&self) -> bool {
        match self {
            Self::Crates(_) | Self::Pypi(_) | Self::Go(_) | Self::Path(_) | Self::Url(_) => true,
            Self::Npm(npm) => npm.server.is_none(),
            Self::Maven(_) | Self::Git(_) | Self::Attach(_) | Self::List(_) => false,
        }
    }

    /// Returns the order of its versions where the matrix names none.
    pub fn usual_order(&self) -> Order {
        match self {
            // Go calls its own releases `1.20` and `1.22rc1`, which Python's order reads and semantic versioning does not.
            Self::Pypi(_)
            | Self::Go(Go {
                subject: GoSubject::Toolchain,
                ..
            }) => Order::Pep440,
            Self::Crates(_) | Self::Npm(_) | Self::Go(_) | Self::Url(_) => Order::Semver,
            Self::Maven(_) => Order::Maven,
            Self::Git(git) => match git.refs {
                GitRefs::Tags(_) => Order::Semver,
                GitRefs::Commits(_) => Order::Topo,
                GitRefs::Branches(_) => Order::Listed,
            },
            Self::Path(_) | Self::Attach(_) | Self::List(_) => Order::Listed,
        }
    }
}

/// A crate, through `cargo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crates {
    /// Its name.
    pub package: String,
    /// The folder of the cargo project that is built against each version, absolute; without one the crate is itself
    /// the program, and is installed.
    pub server: Option<PathBuf>,
    /// The program of an installed crate; the package's name if none is given.
    pub bin: Option<String>,
    /// Features of the crate that are switched on.
    pub features: Vec<String>,
    /// Whether an installed crate is built with the dependencies that it was published with.
    pub locked: bool,
    /// Other crates kept at a version, `time@0.3.36`.
    pub with: Vec<String>,
}

/// An npm package, through `npm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Npm {
    /// Its name.
    pub package: String,
    /// The file or folder of the server that uses the package, absolute; without one the package is itself the program.
    pub server: Option<PathBuf>,
    /// Whether install scripts may run.
    pub scripts: bool,
    /// Other packages installed beside it, `formidable@2`.
    pub with: Vec<String>,
}

/// A package of the Python index, in a virtual environment per version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pypi {
    /// Its name.
    pub package: String,
    /// The interpreter: a name, `python3.11`, or an absolute path.
    pub python: String,
    /// What installs.
    pub installer: Installer,
    /// Other packages installed beside it, `werkzeug<3`.
    pub with: Vec<String>,
}

/// What installs Python packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Installer {
    /// `pip`, of the interpreter's own.
    Pip,
    /// `uv`.
    Uv,
}

/// Go, through `go`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Go {
    /// What has versions.
    pub subject: GoSubject,
    /// The folder of the Go project that is built with each version, absolute; without one the module is itself the
    /// program.
    pub server: Option<PathBuf>,
    /// The import path of the program in a module that is itself the program; the module's own if none is given.
    pub program: Option<String>,
    /// Other modules kept at a version, `example.org/x@v1.2.3`.
    pub with: Vec<String>,
}

/// What of Go has versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoSubject {
    /// A module, by its path.
    Module(String),
    /// The toolchain.
    Toolchain,
}

/// An artifact of a Maven repository, through `mvn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maven {
    /// Its group.
    pub group: String,
    /// Its name.
    pub artifact: String,
    /// The folder of the Maven project whose `pom.xml` uses `${harness.version}`, absolute.
    pub server: PathBuf,
    /// Other properties of the build, `-DNAME=VALUE`: companions kept at a version.
    pub properties: BTreeMap<String, String>,
}

/// A git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// Its address for the `git` command, or the absolute path of a repository on this machine.
    pub repository: String,
    /// What its versions are.
    pub refs: GitRefs,
    /// Whether a merged branch counts as its merge alone.
    pub first_parent: bool,
    /// Whether submodules are fetched.
    pub submodules: bool,
}

/// What the versions of a git repository are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRefs {
    /// Tags that match a regular expression; its first group, or all that it matches, is the version's name.
    Tags(String),
    /// Branches, by name.
    Branches(Vec<String>),
    /// Each commit of a range `A..B`, and `A` itself.
    Commits(String),
}

/// Archives or programs at addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// The address, a template with `{version}`.
    pub url: String,
    /// The SHA-256 of each version, 64 small hexadecimal digits.
    pub sha256: BTreeMap<String, String>,
    /// Leading folders that are cut off; the only top folder if none is given.
    pub strip: Option<usize>,
}

/// A folder whose entries are the versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The folder, absolute.
    pub dir: PathBuf,
    /// Where a version is built in a copy of its entry, as a checkout is, and not beside it: what is left out of the copy,
    /// by its path inside the entry.
    pub copied: Option<Vec<PathBuf>>,
}

/// Servers that run already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attach {
    /// Name and `host:port` of each, in the file's order.
    pub addresses: Vec<(String, String)>,
}

/// Names listed in the matrix, or by a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// A command that prints a name a line, in order; the names stand in `versions` if there is none.
    pub command: Option<Command>,
}

/// Which version each is compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    /// The one that it grew out of: the version before it in its own release line, or the last of the line before;
    /// for commits the first parent.
    #[default]
    Lineage,
    /// The one before it in the order.
    Previous,
    /// This one, always.
    Reference(String),
}

/// Which versions of those that exist are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// Every one.
    All,
    /// Those in a range.
    Range(Range),
    /// These, in this order unless the order says otherwise. One that does not exist is a gap.
    Names(Vec<String>),
}

/// A range of versions, in the syntax that their order takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    /// A requirement on semantic versions in cargo's syntax: `^18`, `>=0.14, <2`.
    Requirement(semver::VersionReq),
    /// Specifiers of PEP 440: `>=2, <3`, `~=2.1`, `!=2.0.1`.
    Specifiers(pep440_rs::VersionSpecifiers),
    /// Comparisons that must all hold: `>=1.18, <1.22`.
    Compared(Vec<(Operator, String)>),
    /// `A..B`, both ends included: as their names stand in the order, or by their places in the list.
    Between(String, String),
}

/// How a version must stand to the one that a comparison names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Which of the wanted versions are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Select {
    /// Every one.
    All,
    /// The last of each minor line.
    LastPatchPerMinor,
    /// The last of each release line: a major version, or a minor one below 1.0.
    LastPerMajor,
    /// The last N.
    Last(usize),
    /// Every Nth, counted back from the last.
    Every(usize),
}

impl Select {
    /// Returns whether it selects from release lines, which not every order has.
    pub fn needs_lines(self) -> bool {
        match self {
            Self::LastPatchPerMinor | Self::LastPerMajor => true,
            Self::All | Self::Last(_) | Self::Every(_) => false,
        }
    }
}
