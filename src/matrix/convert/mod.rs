//! From wire types to domain types: the values that a schema cannot check. Pure.

mod cells;
mod commands;
mod load;
mod source;
mod tool;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use super::diagnostic::{Place, Problem, Texts};
use super::document::Node;
use super::shape::Found;
use super::values::{self, Wrong};
use super::{
    Design, Listen, Matrix, Metric, Rule, Sessions, SourceKind, Tool, Workload, Written, wire,
};

/// Makes a matrix of its wire form, or returns everything found wrong, here and before.
pub(super) fn matrix(
    wire: &wire::Matrix,
    tree: &Node,
    texts: Texts<'_>,
    found: Found,
) -> Result<Matrix, Vec<Problem>> {
    let mut reader = Reader { tree, texts, found };
    let file = texts.file.1;
    let name = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let dir = file.parent().unwrap_or(Path::new("/"));
    reader.title(wire.title.as_deref());
    let source = reader.source(wire.source.as_ref(), dir);
    let axes = reader.axes(&wire.axes);
    let build = reader.build(&wire.build, dir);
    let kind = source.as_ref().map(|source| &source.kind);
    let attached = matches!(kind, Some(SourceKind::Attach(_)));
    let start = reader.start(&wire.start, attached);
    reader.templates(wire, source.as_ref(), &axes);
    let load = reader.load(&wire.load);
    let ready = reader.ready(&wire.ready, &load);
    let check = reader.check(&wire.check);
    let sessions = reader.sessions(&wire.sessions);
    reader.one_port_one_server(&wire.start, sessions.design);
    reader.only_solo(&wire.load, sessions.design);
    reader.only_what_the_tool_can(wire, &load);
    reader.own_addresses(&wire.start, attached);
    let verdict = reader.verdict(&wire.verdict);
    let metrics = reader.metrics(&wire.verdict, &load);
    let order = source.as_ref().map(|source| source.order);
    let special = reader.special(wire, &axes, order);
    match (source, start) {
        (Some(source), Some(start)) if reader.found.problems.is_empty() => Ok(Matrix {
            title: wire.title.clone().unwrap_or_else(|| name.clone()),
            name,
            file: file.to_owned(),
            dir: dir.to_owned(),
            source,
            axes,
            build,
            start,
            ready,
            check,
            load,
            sessions,
            verdict,
            metrics,
            overrides: special.overrides,
            includes: special.includes,
            excludes: special.excludes,
            written: Written::of(&texts),
        }),
        _ => Err(reader.found.problems),
    }
}

struct Reader<'a> {
    tree: &'a Node,
    texts: Texts<'a>,
    found: Found,
}

/// Shortest slice: below it a server hardly answers before it is the next one's turn.
const SHORTEST_SLICE: Duration = Duration::from_millis(1);

/// A path of keys into the tree.
type Keys<'a> = &'a [&'a str];

impl Reader<'_> {
    /// A title is one line: it heads reports and terminals.
    fn title(&mut self, title: Option<&str>) {
        let Some(title) = title else { return };
        if title.trim().is_empty() || title.contains(char::is_control) {
            let why = "it is empty or has a control character";
            self.report(
                &["title"],
                "a title is one line of text",
                why,
                "write a few words, or leave it out",
            );
        }
    }

    /// Servers that share a port cannot be up at once.
    fn one_port_one_server(&mut self, wire: &wire::Start, design: Design) {
        if wire.port.is_none() {
            return;
        }
        if wire.instances.is_some_and(|instances| instances > 1) {
            let what = "several instances cannot share a port";
            let help =
                "take it out, so that each gets a free port in `{port}`, or take `instances` out";
            self.report(
                &["start", "port"],
                what,
                "all of them would listen here",
                help,
            );
        }
        if wire.listen == Some(Listen::Unix) {
            let what = "a unix socket has no port";
            let help = "take it out; the server listens at `{socket}`";
            self.report(&["start", "port"], what, "`listen` is \"unix\"", help);
        }
        if design != Design::Solo {
            self.report(
                &["start", "port"],
                "servers of a race cannot share a port",
                "all of them would listen here at once",
                "take it out, so that each launch gets a free port in `{port}`, or write `design = \"solo\"` in `[sessions]`",
            );
        }
    }

    fn sessions(&mut self, wire: &wire::Sessions) -> Sessions {
        let path = ["sessions", "slice"];
        let count = wire.count.unwrap_or(12);
        if wire.least.is_some_and(|least| least > count) {
            let what = "a pair cannot have more sessions before it is first judged than in all";
            let help = format!("write at most {count}, or raise `sessions.count`");
            let why = format!("`sessions.count` is {count}");
            self.report(&["sessions", "least"], what, why, help);
        }
        Sessions {
            count,
            least: wire.least.unwrap_or(4).min(count),
            group: wire.group.unwrap_or(4),
            solo: wire.solo.unwrap_or(3),
            design: wire.design.unwrap_or(Design::Race),
            slice: self.duration(&path, wire.slice.as_ref(), "20ms", SHORTEST_SLICE),
        }
    }

    /// Of a closed loop latency is connections ÷ throughput: no second finding.
    fn metrics(&mut self, wire: &wire::Verdict, load: &Workload) -> Vec<Metric> {
        let Some(metrics) = &wire.metrics else {
            return vec![Metric::Throughput];
        };
        let distinct: BTreeSet<&Metric> = metrics.iter().collect();
        if distinct.len() < metrics.len() {
            let help = "name each once";
            let what = "`verdict.metrics` names one twice";
            self.report(
                &["verdict", "metrics"],
                what,
                "it would be judged twice",
                help,
            );
        }
        if metrics.contains(&Metric::Latency) && load.manner.rate.is_none() {
            let what = "latency decides only at a given rate";
            let why = "in a closed loop it is connections ÷ throughput, no second finding";
            let help = "give a `rate` in `[load]`, or take \"latency\" out";
            self.report(&["verdict", "metrics"], what, why, help);
        }
        metrics.clone()
    }

    /// Another program loads one server at a time.
    fn only_solo(&mut self, wire: &wire::Load, design: Design) {
        if wire.tool.unwrap_or_default() != Tool::Native && design != Design::Solo {
            let what = "only the engine of Harness can load several servers in one session";
            let help = "write `design = \"solo\"` in `[sessions]`, or take `tool` out";
            self.report(
                &["load", "tool"],
                what,
                "this program loads one server",
                help,
            );
        }
    }

    /// A server that runs already has its address.
    fn own_addresses(&mut self, wire: &wire::Start, attached: bool) {
        let given = [
            ("listen", wire.listen.is_some()),
            ("instances", wire.instances.is_some()),
        ];
        for (key, _) in given.iter().filter(|(_, given)| attached && *given) {
            let what = "a server that runs already is not started";
            let help = format!("take `{key}` out, or choose another kind of `[source]`");
            self.report(&["start", key], what, "this would have no effect", help);
        }
    }

    /// Reports a problem at a value; where it was not written, at the nearest table around it.
    fn report(
        &mut self,
        path: Keys<'_>,
        what: impl Display,
        why: impl Into<String>,
        help: impl Into<String>,
    ) {
        let problem = Problem::new(self.place(path), what.to_string(), why);
        self.found.problems.push(problem.help(help));
    }

    fn place(&self, path: Keys<'_>) -> Place {
        let around = (0..=path.len())
            .rev()
            .find_map(|length| self.tree.find(&path[..length]));
        around.unwrap_or(self.tree).at_value()
    }

    fn wrong(&mut self, path: Keys<'_>, wrong: Wrong) {
        self.report(
            path,
            format_args!("`{}` {}", path.join("."), wrong.what),
            wrong.why,
            wrong.help,
        );
    }

    fn duration(
        &mut self,
        path: Keys<'_>,
        text: Option<&wire::Span>,
        default: &str,
        least: Duration,
    ) -> Duration {
        let text = text.map_or(default, |text| text.0.as_str());
        match values::duration(text) {
            Ok(duration) if duration >= least => duration,
            Ok(duration) => {
                let what = format!("`{}` is too short", path.join("."));
                self.report(
                    path,
                    what,
                    format!("at least {least:?}"),
                    format!("write \"{least:?}\" or longer"),
                );
                duration
            }
            Err(wrong) => {
                self.wrong(path, wrong);
                least
            }
        }
    }

    fn size(&mut self, path: Keys<'_>, text: Option<&wire::Size>, default: &str) -> u64 {
        let text = text.map_or(default, |text| text.0.as_str());
        values::size(text).unwrap_or_else(|wrong| {
            self.wrong(path, wrong);
            1
        })
    }

    fn percent(
        &mut self,
        path: Keys<'_>,
        text: Option<&wire::Percent>,
        default: &str,
        range: RangeInclusive<f64>,
    ) -> f64 {
        let text = text.map_or(default, |text| text.0.as_str());
        match values::percent(text) {
            Ok(share) if range.contains(&share) => share,
            Ok(share) => {
                let (least, most) = (range.start() * 100.0, range.end() * 100.0);
                let what = format!("`{}` is out of range", path.join("."));
                self.report(
                    path,
                    what,
                    format!("this is {text}"),
                    format!("write a percent from {least}% to {most}%"),
                );
                share
            }
            Err(wrong) => {
                self.wrong(path, wrong);
                0.0
            }
        }
    }
}

impl Reader<'_> {
    fn verdict(&mut self, wire: &wire::Verdict) -> Rule {
        Rule {
            alpha: self.percent(
                &["verdict", "alpha"],
                wire.alpha.as_ref(),
                "5%",
                0.0001..=0.5,
            ),
            min_effect: self.percent(
                &["verdict", "min_effect"],
                wire.min_effect.as_ref(),
                "1%",
                0.0..=0.5,
            ),
            same_within: self.percent(
                &["verdict", "same_within"],
                wire.same_within.as_ref(),
                "2%",
                0.0001..=0.5,
            ),
            confirm: wire.confirm.unwrap_or(true),
        }
    }
}
