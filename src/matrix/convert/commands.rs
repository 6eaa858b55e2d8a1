//! `[build]` and `[start]`, and the templates in them.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Keys, Reader};
use crate::matrix::diagnostic::{Origin, Place, Problem};
use crate::matrix::document::Node;
use crate::matrix::template::{self, Facts, Field};
use crate::matrix::wire;
use crate::matrix::{
    Axis, Build, Command, Limits, Proof, Retry, Source, SourceKind, Start, StopSignal,
};

impl Reader<'_> {
    pub(super) fn build(&mut self, wire: &wire::Build, dir: &Path) -> Build {
        Build {
            steps: wire.steps.iter().map(command).collect(),
            binary: wire.binary.clone(),
            inputs: wire.inputs.iter().map(|input| dir.join(input)).collect(),
            patches: wire.patches.iter().map(|patch| dir.join(patch)).collect(),
            env: wire.env.clone(),
            network: wire.network.unwrap_or(true),
            limits: self.limits(&wire.limits),
            retry: self.retry(&wire.retry),
            proof: self.proof(wire),
            timeout: self.duration(
                &["build", "timeout"],
                wire.timeout.as_ref(),
                "20m",
                Duration::from_secs(1),
            ),
        }
    }

    fn limits(&mut self, wire: &wire::Limits) -> Limits {
        let path = |key| ["build", "limits", key];
        Limits {
            memory: wire
                .memory
                .as_ref()
                .map(|size| self.size(&path("memory"), Some(size), "")),
            disk: self.size(&path("disk"), wire.disk.as_ref(), "20GiB"),
            log: self.size(&path("log"), wire.log.as_ref(), "64MiB"),
        }
    }

    fn retry(&mut self, wire: &wire::Retry) -> Retry {
        let path = ["build", "retry", "wait"];
        Retry {
            attempts: wire.attempts.unwrap_or(3),
            wait: self.duration(&path, wire.wait.as_ref(), "2s", Duration::ZERO),
        }
    }

    fn proof(&mut self, wire: &wire::Build) -> Option<Proof> {
        match (&wire.version_cmd, &wire.version_match) {
            (Some(cmd), pattern) => Some(Proof {
                cmd: command(cmd),
                pattern: pattern.clone(),
            }),
            (None, Some(_)) => {
                let path = ["build", "version_match"];
                let help = "write `version_cmd = [\"{binary}\", \"--version\"]` in `[build]`";
                let what = "there is nothing that `version_match` could match";
                self.report(&path, what, "no `version_cmd`", help);
                None
            }
            (None, None) => None,
        }
    }

    /// Returns how a server is started; none if it is reported that there is no command.
    pub(super) fn start(&mut self, wire: &wire::Start, attached: bool) -> Option<Start> {
        let cpus = wire.cpus.clone();
        let grace = self.duration(
            &["start", "stop", "grace"],
            wire.stop.grace.as_ref(),
            "2s",
            Duration::ZERO,
        );
        self.distinct(cpus.as_deref().unwrap_or_default());
        let cmd = match (&wire.cmd, attached) {
            (Some(cmd), false) => command(cmd),
            // Nothing is started, so nothing is said of how.
            (None, true) => Command::Argv(Vec::new()),
            (Some(_), true) => {
                let what = "a server that runs already is not started";
                let help = "take `cmd` out, or choose another kind of `[source]`";
                self.report(&["start", "cmd"], what, "nobody would run this", help);
                return None;
            }
            (None, false) => {
                self.no_command();
                return None;
            }
        };
        Some(Start {
            cmd,
            cwd: wire.cwd.clone(),
            env: wire.env.clone(),
            stop_signal: wire.stop.signal.unwrap_or(StopSignal::Term),
            stop_grace: grace,
            cpus,
            port: wire.port,
            listen: wire.listen.unwrap_or_default(),
            instances: wire.instances.unwrap_or(1),
        })
    }

    fn no_command(&mut self) {
        if self.found.has_cut("start.cmd")
            || (self.found.has_cut("start") && self.tree.find(&["start"]).is_none())
        {
            return;
        }
        let place = match self.tree.find(&["start"]) {
            Some(start) => start.at_value(),
            None => self.end_of_file(),
        };
        let problem = Problem::new(
            place,
            "the matrix has no start command",
            "`[start] cmd` is missing",
        );
        let help = "write `cmd = [\"{binary}\", \"--port\", \"{port}\"]` in `[start]`, here or in the defaults of \
                    harness.toml";
        self.found.problems.push(problem.help(help));
    }

    fn end_of_file(&self) -> Place {
        let end = self.texts.file.0.trim_end().len();
        Place {
            origin: Origin::File,
            span: end..end,
        }
    }

    fn distinct(&mut self, cpus: &[usize]) {
        let mut seen = HashSet::new();
        for (index, cpu) in cpus.iter().enumerate() {
            if !seen.insert(cpu) {
                let path = ["start", "cpus", &index.to_string()];
                self.report(
                    &path,
                    format!("CPU {cpu} is given twice"),
                    "again here",
                    "give it once",
                );
            }
        }
    }

    /// Checks every template: braces, variables, and what no program can be given.
    pub(super) fn templates(
        &mut self,
        wire: &wire::Matrix,
        source: Option<&Source>,
        axes: &[Axis],
    ) {
        // Without a readable source nobody can say whether `{package}` and `{binary}` are known: let them pass.
        let kind = source.map(|source| &source.kind);
        let facts = Facts {
            package: kind.is_none_or(|kind| kind.package().is_some()),
            binary: wire.build.binary.is_some() || kind.is_none_or(SourceKind::names_program),
            git: kind.is_none_or(|kind| matches!(kind, SourceKind::Git(_))),
            listen: wire.start.listen.unwrap_or_default(),
            axes,
        };
        let step = template::known(Field::Step, facts);
        for (index, wire) in wire.build.steps.iter().enumerate() {
            self.command(&["build", "steps", &index.to_string()], wire, &step);
        }
        self.environment("build", &wire.build.env, &step);
        if let Some(binary) = &wire.build.binary {
            self.template(
                &["build", "binary"],
                binary,
                &template::known(Field::Binary, facts),
            );
        }
        self.patches(&wire.build.patches, kind);
        let proof = template::known(Field::Proof, facts);
        if let Some(wire) = &wire.build.version_cmd {
            self.command(&["build", "version_cmd"], wire, &proof);
        }
        if let Some(pattern) = &wire.build.version_match {
            self.template(&["build", "version_match"], pattern, &proof);
        }
        let start = template::known(Field::Start, facts);
        if let Some(wire) = &wire.start.cmd {
            self.command(&["start", "cmd"], wire, &start);
        }
        self.environment("start", &wire.start.env, &start);
        if let Some(cwd) = &wire.start.cwd {
            self.template(&["start", "cwd"], cwd, &start);
        }
    }

    /// Patches are for source that the version brings along, never for files of the user's.
    fn patches(&mut self, patches: &[PathBuf], kind: Option<&SourceKind>) {
        let has_source = match kind {
            None | Some(SourceKind::Git(_) | SourceKind::Url(_)) => true,
            Some(SourceKind::Npm(npm)) => npm.server.is_none(),
            Some(
                SourceKind::Crates(_)
                | SourceKind::Pypi(_)
                | SourceKind::Go(_)
                | SourceKind::Maven(_)
                | SourceKind::Path(_)
                | SourceKind::Attach(_)
                | SourceKind::List(_),
            ) => false,
        };
        if !has_source && !patches.is_empty() {
            self.report(
                &["build", "patches"],
                "there is nothing to patch",
                "this source brings no source code of the version along",
                "take `patches` out; `[source.git]` and `[source.url]` bring source code",
            );
        }
    }

    fn command(&mut self, path: Keys<'_>, wire: &wire::Command, known: &[String]) {
        match wire {
            wire::Command::Argv(arguments) => {
                for (index, argument) in arguments.iter().enumerate() {
                    let index = index.to_string();
                    self.template(&[path, &[&index]].concat(), argument, known);
                }
                if arguments
                    .first()
                    .is_some_and(|program| program.trim().is_empty())
                {
                    let path = [path, &["0"]].concat();
                    self.report(
                        &path,
                        "a command needs a program",
                        "no name",
                        "write the program's name or path",
                    );
                }
            }
            wire::Command::Shell(shell) => {
                let line = shell.shell.as_deref().unwrap_or_default();
                if line.trim().is_empty() {
                    let help = "write what `sh -c` is to run";
                    self.report(path, "a command needs a program", "an empty line", help);
                }
                self.template(&[path, &["shell"]].concat(), line, known);
            }
        }
    }

    fn environment(
        &mut self,
        table: &str,
        environment: &BTreeMap<String, String>,
        known: &[String],
    ) {
        for (name, value) in environment {
            let path = [table, "env", name];
            if name.is_empty() || name.contains(['=', '\0']) {
                let help = "write letters, digits and `_`";
                self.report(
                    &path,
                    "this cannot name an environment variable",
                    "not a name",
                    help,
                );
            }
            self.template(&path, value, known);
        }
    }

    pub(super) fn template(&mut self, path: Keys<'_>, text: &str, known: &[String]) {
        let Some(node) = self.tree.find(path) else {
            return;
        };
        if text.contains('\0') {
            let problem = Problem::new(
                node.at_value(),
                "a program cannot be given a NUL character",
                "in here",
            );
            self.found.problems.push(problem.help("take `\\u0000` out"));
        }
        for wrong in template::check(text, known) {
            let place = self.inside(node, text, &wrong.span);
            let problem = Problem::new(place, wrong.what, wrong.why).help(wrong.help);
            self.found.problems.push(problem);
        }
    }

    /// Returns the place of a part of a string; of the whole string where escapes have moved it.
    fn inside(&self, node: &Node, text: &str, span: &std::ops::Range<usize>) -> Place {
        let mut place = node.at_value();
        let written = match (place.origin, self.texts.defaults) {
            (Origin::Defaults, Some((defaults, _))) => defaults,
            (Origin::File | Origin::Defaults, _) => self.texts.file.0,
        };
        let literal = written.get(place.span.clone()).unwrap_or_default();
        if let Some(offset) = literal.find(text) {
            let start = place.span.start + offset;
            place.span = start + span.start..start + span.end;
        }
        place
    }
}

pub(super) fn command(wire: &wire::Command) -> Command {
    match wire {
        wire::Command::Argv(arguments) => Command::Argv(arguments.clone()),
        wire::Command::Shell(shell) => Command::Shell(shell.shell.clone().unwrap_or_default()),
    }
}
