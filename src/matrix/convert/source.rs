//! `[source]` and `[axes]`.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::Reader;
use super::commands::command;
use crate::matrix::values;
use crate::matrix::wire::{self, AxisValue, Versions};
use crate::matrix::{
    Attach, Axis, Compare, Crates, Folder, Git, GitRefs, Go, GoSubject, Installer, List, Maven,
    Npm, Provider, Pypi, Select, Source, SourceKind, Url, Wanted,
};
use crate::version::{Order, Version};

/// The kinds of source, as their tables are called.
const KINDS: [&str; 10] = [
    "crates", "npm", "pypi", "go", "maven", "git", "url", "path", "attach", "list",
];
/// Tags that are taken for versions where the matrix does not say which.
const LOOKS_LIKE_A_VERSION: &str = r"^v?([0-9]+(?:\.[0-9]+)+.*)$";
/// Combinations of axis values at most: a typing error must not plan a month.
const MOST_COMBINATIONS: usize = 1000;

impl Reader<'_> {
    pub(super) fn source(&mut self, wire: Option<&wire::Source>, dir: &Path) -> Option<Source> {
        let wire = wire?;
        let kind = self.kind(wire, dir)?;
        let order = wire.order.unwrap_or(kind.usual_order());
        self.order_fits(order, &kind);
        Some(Source {
            versions: self.versions(wire.versions.as_ref(), &kind, order),
            select: self.select(wire.select.as_deref(), order),
            compare: self.compare(wire, order),
            kind,
            prerelease: wire.prerelease.unwrap_or(false),
            order,
        })
    }

    /// Commits have an order that names do not have.
    fn order_fits(&mut self, order: Order, kind: &SourceKind) {
        let of_history = matches!(order, Order::Topo | Order::Date);
        if of_history && !matches!(kind, SourceKind::Git(_)) {
            let what = "only versions in git have a history to be ordered by";
            let help = "take `order` out, or write \"semver\" or \"listed\"";
            self.report(&["source", "order"], what, "this source has none", help);
        }
    }

    fn compare(&mut self, wire: &wire::Source, order: Order) -> Compare {
        let named = wire.reference.as_deref();
        match (wire.compare, named) {
            (Some(wire::Compare::Reference), Some(name)) => {
                self.has_place(&["source", "reference"], name, order);
                Compare::Reference(name.to_owned())
            }
            (Some(wire::Compare::Reference), None) => {
                let help = "write `reference = \"1.0.0\"` in `[source]`";
                let what = "`compare = \"reference\"` needs a reference";
                self.report(&["source", "compare"], what, "which version?", help);
                Compare::Lineage
            }
            (_, Some(_)) => {
                let help = "write `compare = \"reference\"`, or take it out";
                let what = "a reference without `compare = \"reference\"` has no use";
                self.report(
                    &["source", "reference"],
                    what,
                    "nothing is compared with it",
                    help,
                );
                Compare::Lineage
            }
            (Some(wire::Compare::Previous), None) => Compare::Previous,
            (Some(wire::Compare::Lineage) | None, None) => Compare::Lineage,
        }
    }

    /// Returns the one kind of source; none if it is reported that there is none, or none that can be read.
    fn kind(&mut self, wire: &wire::Source, dir: &Path) -> Option<SourceKind> {
        let given: Vec<&str> = KINDS
            .into_iter()
            .filter(|kind| self.tree.find(&["source", kind]).is_some())
            .collect();
        let tables: Vec<String> = KINDS.map(|kind| format!("`[source.{kind}]`")).to_vec();
        let help = format!("write one of {}", tables.join(", "));
        match given.as_slice() {
            [] => {
                if !self.found.has_cut("source") {
                    self.report(
                        &["source"],
                        "the source has no kind",
                        "which versions are these of?",
                        help,
                    );
                }
                None
            }
            [only] => self.one_kind(only, wire, dir),
            [.., last] => {
                let what = format!("the source has more than one kind: {}", given.join(", "));
                self.report(&["source", last], what, "one matrix has one source", help);
                None
            }
        }
    }

    fn one_kind(&mut self, kind: &str, wire: &wire::Source, dir: &Path) -> Option<SourceKind> {
        Some(match kind {
            "crates" => SourceKind::Crates(self.crates(wire.crates.as_ref()?, dir)?),
            "npm" => SourceKind::Npm(self.npm(wire.npm.as_ref()?, dir)?),
            "pypi" => SourceKind::Pypi(self.pypi(wire.pypi.as_ref()?, dir)?),
            "go" => SourceKind::Go(self.go(wire.go.as_ref()?, dir)?),
            "maven" => SourceKind::Maven(self.maven(wire.maven.as_ref()?, dir)?),
            "git" => SourceKind::Git(self.git(wire.git.as_ref()?, dir)?),
            "url" => SourceKind::Url(self.url(wire.url.as_ref()?)?),
            "path" => SourceKind::Path(Folder {
                dir: dir.join(wire.path.as_ref()?.dir.as_ref()?),
                copied: None,
            }),
            "attach" => SourceKind::Attach(self.attach(wire.attach.as_ref()?)?),
            _ => SourceKind::List(List {
                command: wire.list.as_ref()?.command.as_ref().map(command),
            }),
        })
    }

    fn crates(&mut self, wire: &wire::Crates, dir: &Path) -> Option<Crates> {
        self.words(&["source", "crates", "with"], &wire.with);
        self.words(&["source", "crates", "features"], &wire.features);
        self.companions(&wire.with);
        if wire.server.is_some() {
            let why = "the server is built, the crate is not installed";
            let given = [
                ("bin", wire.bin.is_some()),
                ("locked", wire.locked.is_some()),
            ];
            self.without_use("crates", &given, why);
        } else {
            let why = "an installed crate has its own dependencies";
            self.without_use("crates", &[("with", !wire.with.is_empty())], why);
        }
        Some(Crates {
            package: self.package(&["source", "crates", "package"], wire.package.as_deref()?),
            server: wire.server.as_ref().map(|server| dir.join(server)),
            bin: wire.bin.clone(),
            features: wire.features.clone(),
            locked: wire.locked.unwrap_or(true),
            with: wire.with.clone(),
        })
    }

    /// Cargo keeps another crate at one version, not in a range.
    fn companions(&mut self, with: &[String]) {
        for (index, word) in with.iter().enumerate() {
            if !word.contains('@') {
                let path = ["source", "crates", "with", &index.to_string()];
                let help = "write name and version, as in \"time@0.3.36\"";
                self.report(
                    &path,
                    format!("`{word}` names no version"),
                    "which one?",
                    help,
                );
            }
        }
    }

    /// Reports the keys that are given and of which nothing would come.
    fn without_use(&mut self, kind: &str, given: &[(&str, bool)], why: &str) {
        for (key, _) in given.iter().filter(|(_, given)| *given) {
            let what = format!("`{key}` has no use here");
            let help = format!("take `{key}` out");
            self.report(&["source", kind, key], what, why, help);
        }
    }

    fn npm(&mut self, wire: &wire::Npm, dir: &Path) -> Option<Npm> {
        self.words(&["source", "npm", "with"], &wire.with);
        if wire.server.is_none() {
            let why = "a package that is itself the program is only unpacked";
            let given = [
                ("scripts", wire.scripts == Some(true)),
                ("with", !wire.with.is_empty()),
            ];
            self.without_use("npm", &given, why);
        }
        Some(Npm {
            package: self.package(&["source", "npm", "package"], wire.package.as_deref()?),
            server: wire.server.as_ref().map(|server| dir.join(server)),
            scripts: wire.scripts.unwrap_or(false),
            with: wire.with.clone(),
        })
    }

    fn pypi(&mut self, wire: &wire::Pypi, dir: &Path) -> Option<Pypi> {
        self.words(&["source", "pypi", "with"], &wire.with);
        let python = wire.python.as_deref().unwrap_or("python3");
        // A name is looked for on PATH; only a path is relative to the matrix.
        let path = python.contains('/').then(|| dir.join(python));
        Some(Pypi {
            package: self.package(&["source", "pypi", "package"], wire.package.as_deref()?),
            python: path.map_or(python.to_owned(), |path| {
                path.to_string_lossy().into_owned()
            }),
            installer: wire.installer.unwrap_or(Installer::Pip),
            with: wire.with.clone(),
        })
    }

    fn go(&mut self, wire: &wire::Go, dir: &Path) -> Option<Go> {
        self.words(&["source", "go", "with"], &wire.with);
        let path = ["source", "go"];
        let toolchain = wire.toolchain.unwrap_or(false);
        let subject = match (&wire.module, toolchain) {
            (Some(module), false) => {
                GoSubject::Module(self.package(&["source", "go", "module"], module))
            }
            (None, true) => GoSubject::Toolchain,
            (Some(_), true) | (None, false) => {
                let help = "write `module = \"example.org/module\"` or `toolchain = true`";
                self.report(&path, "either a module or the toolchain", "of what?", help);
                return None;
            }
        };
        let needs_server = if toolchain {
            Some("the toolchain needs a server")
        } else {
            (!wire.with.is_empty()).then_some("`with` needs a server")
        };
        if let Some(what) = needs_server.filter(|_| wire.server.is_none()) {
            let help = "write `server = \"../servers/hello\"`, the folder of a Go project";
            self.report(&path, what, "what is built?", help);
        }
        Some(Go {
            subject,
            server: wire.server.as_ref().map(|server| dir.join(server)),
            program: wire.program.clone(),
            with: wire.with.clone(),
        })
    }

    fn maven(&mut self, wire: &wire::Maven, dir: &Path) -> Option<Maven> {
        Some(Maven {
            group: self.package(&["source", "maven", "group"], wire.group.as_deref()?),
            artifact: self.package(&["source", "maven", "artifact"], wire.artifact.as_deref()?),
            server: dir.join(wire.server.as_ref()?),
            properties: wire.properties.clone(),
        })
    }

    fn git(&mut self, wire: &wire::Git, dir: &Path) -> Option<Git> {
        let path = ["source", "git"];
        let given = [
            wire.tags.is_some(),
            wire.branches.is_some(),
            wire.commits.is_some(),
        ];
        if given.into_iter().filter(|given| *given).count() > 1 {
            let help = "keep one of `tags`, `branches` and `commits`";
            self.report(
                &path,
                "the versions of a repository are one kind of thing",
                "which?",
                help,
            );
        }
        let refs = match (&wire.branches, &wire.commits) {
            (Some(branches), _) => {
                self.words(&["source", "git", "branches"], branches);
                GitRefs::Branches(branches.clone())
            }
            (None, Some(commits)) => GitRefs::Commits(self.commits(commits)),
            (None, None) => GitRefs::Tags(self.tags(wire.tags.as_deref())),
        };
        Some(Git {
            repository: self.repository(wire.repository.as_deref()?, dir),
            refs,
            first_parent: wire.first_parent.unwrap_or(true),
            submodules: wire.submodules.unwrap_or(false),
        })
    }

    fn tags(&mut self, pattern: Option<&str>) -> String {
        let pattern = pattern.unwrap_or(LOOKS_LIKE_A_VERSION);
        if let Err(error) = regex::Regex::new(pattern) {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().to_owned();
            let help = "write one such as \"^v([0-9].*)$\"";
            self.report(
                &["source", "git", "tags"],
                "`tags` is not a regular expression",
                why,
                help,
            );
        }
        pattern.to_owned()
    }

    fn commits(&mut self, range: &str) -> String {
        let is_one = range.split_once("..").is_some_and(|(first, last)| {
            !first.is_empty()
                && !last.is_empty()
                && !last.starts_with('.')
                && !range.starts_with('-')
        });
        if !is_one || range.contains(char::is_whitespace) {
            let help = "write \"v1.2.0..v1.3.0\": tags, branches or hashes";
            self.report(
                &["source", "git", "commits"],
                format!("`{range}` is not a range of commits"),
                "it is not of the form A..B",
                help,
            );
        }
        range.to_owned()
    }

    /// An address goes to git, which must not take it for an option or a program to run; a path is made absolute.
    fn repository(&mut self, text: &str, dir: &Path) -> String {
        if text.is_empty() || text.starts_with('-') || text.starts_with("ext::") {
            let help = "write an address as `git clone` takes it, or a path";
            self.report(
                &["source", "git", "repository"],
                format!("`{text}` is not a repository"),
                "not an address",
                help,
            );
        }
        let is_address = text.contains("://")
            || text
                .split('/')
                .next()
                .is_some_and(|host| host.contains(':'));
        if is_address {
            text.to_owned()
        } else {
            dir.join(text).to_string_lossy().into_owned()
        }
    }

    fn url(&mut self, wire: &wire::Url) -> Option<Url> {
        let url = wire.url.clone()?;
        let known = ["version".to_owned()];
        self.template(&["source", "url", "url"], &url, &known);
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let help = "write one that begins with `https://`; `[source.path]` takes files of this machine";
            self.report(
                &["source", "url", "url"],
                "not an address to fetch from",
                "no http",
                help,
            );
        }
        let sha256 = wire.sha256.clone()?;
        for (version, hash) in &sha256 {
            let is_hash = hash.len() == 64
                && hash
                    .chars()
                    .all(|digit| matches!(digit, '0'..='9' | 'a'..='f'));
            if !is_hash {
                let help = "write the 64 small hexadecimal digits that `sha256sum FILE` prints";
                let what = format!("the checksum of `{version}` is none");
                self.report(
                    &["source", "url", "sha256", version],
                    what,
                    "not a SHA-256",
                    help,
                );
            }
        }
        Some(Url {
            url,
            sha256,
            strip: wire.strip,
        })
    }

    fn attach(&mut self, wire: &wire::Attach) -> Option<Attach> {
        let mut addresses: Vec<(String, String)> = wire.addresses.clone()?.into_iter().collect();
        addresses.sort_by_key(|(name, _)| {
            let node = self.tree.find(&["source", "attach", "addresses", name]);
            node.map(|node| node.key.start)
        });
        for (name, address) in &addresses {
            let port = address
                .rsplit_once(':')
                .map(|(host, port)| (host, port.parse::<u16>()));
            if !matches!(port, Some((host, Ok(1..))) if !host.is_empty()) {
                let help = "write host and port, as in \"127.0.0.1:8080\" or \"[::1]:8080\"";
                self.report(
                    &["source", "attach", "addresses", name],
                    format!("`{address}` is not an address"),
                    "no port",
                    help,
                );
            }
        }
        Some(Attach { addresses })
    }

    /// Words go to the registry's client as arguments, which must not take them for options.
    fn words(&mut self, path: &[&str], words: &[String]) {
        for (index, word) in words.iter().enumerate() {
            let odd = |letter: char| letter.is_whitespace() || letter.is_control();
            if word.is_empty() || word.starts_with('-') || word.contains(odd) {
                let index = index.to_string();
                let path = [path, &[&index]].concat();
                let help = "write one word, as the package manager takes it";
                self.report(&path, format!("`{word}` is no name"), "not a word", help);
            }
        }
    }

    /// A package's name goes to its registry's client, which must not take it for an option.
    fn package(&mut self, path: &[&str], name: &str) -> String {
        let odd = |letter: char| !(letter.is_ascii_alphanumeric() || "-_.@/~[],".contains(letter));
        if name.is_empty() || name.starts_with('-') || name.contains(odd) {
            let help = "write it as the registry does, such as \"hyper\" or \"@hapi/hapi\"";
            self.report(
                path,
                format!("`{name}` is not a package's name"),
                "not a name",
                help,
            );
        }
        name.to_owned()
    }

    fn versions(&mut self, wire: Option<&Versions>, kind: &SourceKind, order: Order) -> Wanted {
        let path = ["source", "versions"];
        // A list without a command has no names but these, and an address without a checksum is not fetched.
        let list = matches!(kind, SourceKind::List(List { command: None }));
        let help = "write `versions = [\"first\", \"second\"]` in `[source]`";
        match wire {
            None => {
                if list && !self.found.has_cut("source.versions") {
                    self.report(
                        &["source"],
                        "a list needs `versions`",
                        "which versions?",
                        help,
                    );
                }
                Wanted::All
            }
            Some(Versions::Range(_)) if list => {
                self.report(
                    &path,
                    "a list has no range",
                    "this must be an array of names",
                    help,
                );
                Wanted::All
            }
            Some(Versions::Range(text)) => match values::range(text, order) {
                Ok(range) => Wanted::Range(range),
                Err(wrong) => {
                    self.wrong(&path, wrong);
                    Wanted::All
                }
            },
            Some(Versions::Names(names)) => {
                self.names(names, order);
                Wanted::Names(names.clone())
            }
        }
    }

    fn names(&mut self, names: &[String], order: Order) {
        let mut seen = HashSet::new();
        for (index, name) in names.iter().enumerate() {
            let path = ["source", "versions", &index.to_string()];
            if name.trim().is_empty() || name.contains(char::is_control) {
                self.report(
                    &path,
                    "a version needs a name",
                    "no name",
                    "write the name as the source does",
                );
            } else if !seen.insert(name) {
                self.report(
                    &path,
                    format!("version `{name}` is named twice"),
                    "again here",
                    "name it once",
                );
            } else {
                self.has_place(&path, name, order);
            }
        }
    }

    /// A name that the order cannot read has no place in it.
    fn has_place(&mut self, path: &[&str], name: &str, order: Order) {
        if !order.is_by_name() || order.parse(name).is_some() {
            return;
        }
        let what = format!("`{name}` is {}", order.no_place());
        let why = format!("it has no place in the order `{}`", order.name());
        let range = if order == Order::Semver && path.contains(&"versions") {
            format!(", or `versions = \"^{name}\"` for a range")
        } else {
            String::new()
        };
        let help = format!("write it in full{range}; `order = \"listed\"` takes any name");
        self.report(path, what, why, help);
    }

    fn select(&mut self, wire: Option<&str>, order: Order) -> Select {
        let path = ["source", "select"];
        let selected = match wire.map_or(Ok(Select::All), values::select) {
            Ok(select) => select,
            Err(wrong) => {
                self.wrong(&path, wrong);
                return Select::All;
            }
        };
        if !order.has_lines() && selected.needs_lines() {
            let what = format!(
                "versions in the order `{}` have no lines to select the last of",
                order.name()
            );
            let help = "write `order = \"semver\"`, or select with \"last:N\" or \"every:N\"";
            self.report(&path, what, "this needs release lines", help);
        }
        selected
    }

    pub(super) fn axes(&mut self, wire: &BTreeMap<String, wire::Axis>) -> Vec<Axis> {
        let mut axes: Vec<Axis> = wire
            .iter()
            .map(|(name, axis)| self.axis(name, axis))
            .collect();
        // The order of the file decides in which order cells are measured and shown.
        axes.sort_by_key(|axis| {
            self.tree
                .find(&["axes", &axis.name])
                .map(|node| node.key.start)
        });
        let count = |product: usize, axis: &Axis| product.saturating_mul(axis.values.len());
        let combinations = axes.iter().fold(1, count);
        if combinations > MOST_COMBINATIONS {
            let what = format!("the axes have {combinations} combinations");
            let why = format!("each is measured for each version; at most {MOST_COMBINATIONS}");
            self.report(&["axes"], what, why, "take values out, or split the matrix");
        }
        axes
    }

    fn axis(&mut self, name: &str, wire: &wire::Axis) -> Axis {
        let mut letters = name.chars();
        let first = letters
            .next()
            .is_some_and(|letter| letter.is_ascii_lowercase());
        if !first || !letters.all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_')) {
            let place = self
                .tree
                .find(&["axes", name])
                .unwrap_or(self.tree)
                .at_key();
            let what = format!("`{name}` cannot name an axis");
            let problem = super::Problem::new(place, what, "not a name");
            let help = "write small letters, digits and `_`, with a letter first";
            self.found.problems.push(problem.help(help));
        }
        let values: Vec<String> = wire.values.iter().flatten().map(text).collect();
        self.axis_values(name, &values);
        let axis = Axis {
            name: name.to_owned(),
            values,
            build: wire.build.unwrap_or(false),
            from: self.provider(name, wire.from.as_ref()),
        };
        for (index, value) in axis.values.iter().enumerate() {
            let path = ["axes", name, "values", &index.to_string()];
            self.is_of_program(&path, &axis, value);
        }
        axis
    }

    /// A part of a version would be another program with each release.
    pub(super) fn is_of_program(&mut self, path: &[&str], axis: &Axis, value: &str) {
        if axis.from.is_some() && Version::semantic(value).is_none() {
            let what = format!("`{value}` is not a whole version of a program");
            let help = "write it in full, as in \"20.11.0\"";
            self.report(path, what, "which release is it?", help);
        }
    }

    fn provider(&mut self, axis: &str, wire: Option<&wire::Provider>) -> Option<Provider> {
        let npm = wire?.npm.as_deref()?;
        let package = self.package(&["axes", axis, "from", "npm"], npm);
        Some(Provider::Npm { package })
    }

    /// Values stand in the names of cells (`20.11.0 body=buffer`), which must stay unambiguous.
    fn axis_values(&mut self, name: &str, values: &[String]) {
        let mut seen = HashSet::new();
        for (index, value) in values.iter().enumerate() {
            let path = ["axes", name, "values", &index.to_string()];
            if self.is_word(&path, value) && !seen.insert(value) {
                self.report(
                    &path,
                    format!("value `{value}` is given twice"),
                    "again here",
                    "give it once",
                );
            }
        }
    }

    /// Returns whether a value of an axis is a word, and reports it if it is not.
    pub(super) fn is_word(&mut self, path: &[&str], value: &str) -> bool {
        let odd = |letter: char| letter.is_whitespace() || letter.is_control();
        let is_word = !value.is_empty() && !value.contains(odd);
        if !is_word {
            let help = "write a short word; the start command can make more of it";
            let what = "an axis value is a word";
            self.report(path, what, "empty, or with spaces", help);
        }
        is_word
    }
}

pub(super) fn text(value: &AxisValue) -> String {
    match value {
        AxisValue::Text(text) => text.clone(),
        AxisValue::Number(number) => number.to_string(),
        AxisValue::Switch(switch) => switch.to_string(),
    }
}
