//! What another program that sends the requests cannot do: an error, never silently left out.

use super::Reader;
use crate::matrix::{Listen, Protocol, Stop, Tool, Workload, wire};

/// A key that a program cannot obey: where it is, whether it is given, why, and what to do.
type Rule = (&'static [&'static str], bool, &'static str, &'static str);

const TAKE_OUT: &str = "take it out, or `load.tool`";

impl Reader<'_> {
    /// Reports keys that the program named by `load.tool` cannot obey.
    pub(super) fn only_what_the_tool_can(&mut self, wire: &wire::Matrix, load: &Workload) {
        let tool = load.manner.tool;
        if tool == Tool::Native {
            return;
        }
        let rules = [
            of_all(wire, tool),
            of_requests(load, tool),
            of_connections(load, tool),
            of_times(wire, load, tool),
        ];
        let broken = rules
            .into_iter()
            .flatten()
            .filter(|(_, broken, ..)| *broken);
        for (path, _, why, help) in broken {
            let what = format!(
                "`{}` is nothing that `{}` can do",
                path.join("."),
                name(tool)
            );
            self.report(path, what, why, help);
        }
    }
}

fn name(tool: Tool) -> String {
    let value = serde_json::to_value(tool).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns what no program can, or but a few.
fn of_all(wire: &wire::Matrix, tool: Tool) -> Vec<Rule> {
    let status = wire.check.status.unwrap_or(200);
    let unix = wire.start.listen == Some(Listen::Unix);
    vec![
        (
            &["check", "same_body"],
            wire.check.same_body == Some(true),
            "it looks at no body",
            TAKE_OUT,
        ),
        (
            &["check", "status"],
            !(200..300).contains(&status),
            "it takes answers of 200 to 299 for right",
            TAKE_OUT,
        ),
        (
            &["start", "instances"],
            wire.start.instances.is_some_and(|instances| instances > 1),
            "it loads one address",
            TAKE_OUT,
        ),
        (
            &["start", "listen"],
            unix && !matches!(tool, Tool::Oha | Tool::H2load),
            "it knows no unix sockets",
            "take it out, or choose `oha` or `h2load`",
        ),
    ]
}

fn of_requests(load: &Workload, tool: Tool) -> Vec<Rule> {
    let plain = tool == Tool::HttpLoad;
    vec![
        (
            &["load", "method"],
            plain && load.method != "GET",
            "it knows GET alone",
            "take it out, or choose another `tool`",
        ),
        (
            &["load", "method"],
            tool == Tool::Wrk && load.method == "HEAD",
            "it waits for a body that does not come",
            "choose another `tool`",
        ),
        (
            &["load", "headers"],
            plain && !load.headers.is_empty(),
            "it sends its own headers alone",
            "take them out, or choose another `tool`",
        ),
        (
            &["load", "body"],
            plain && load.body.is_some(),
            "it sends no bodies",
            "take it out, or choose another `tool`",
        ),
        (
            &["load", "tls"],
            plain && load.manner.tls,
            "it mostly is built without it",
            "take it out, or choose another `tool`",
        ),
    ]
}

fn of_connections(load: &Workload, tool: Tool) -> Vec<Rule> {
    let http2 = load.manner.protocol == Protocol::Http2;
    vec![
        (
            &["load", "keep_alive"],
            tool == Tool::HttpLoad && load.keep_alive,
            "it opens a connection for each request",
            "write `keep_alive = false`, or choose another `tool`",
        ),
        (
            &["load", "keep_alive"],
            tool == Tool::H2load && !load.keep_alive,
            "it opens no connection a second time",
            "take it out, or choose another `tool`",
        ),
        (
            &["load", "protocol"],
            http2 && !matches!(tool, Tool::Oha | Tool::H2load),
            "it speaks no HTTP/2, or all of it over one connection",
            "take it out, or choose `oha` or `h2load`",
        ),
    ]
}

fn of_times(wire: &wire::Matrix, load: &Workload, tool: Tool) -> Vec<Rule> {
    let whole = |duration: std::time::Duration| duration.subsec_nanos() == 0;
    let (seconds, requests) = match load.stop {
        Stop::Duration(duration) => (whole(duration), None),
        Stop::Requests(requests) => (true, Some(requests)),
    };
    let few = requests.is_some_and(|requests| requests < u64::from(load.connections));
    vec![
        (
            &["load", "duration"],
            !seconds && matches!(tool, Tool::Wrk | Tool::Ab | Tool::HttpLoad),
            "it knows whole seconds alone",
            "write whole seconds, such as \"3s\"",
        ),
        (
            &["load", "requests"],
            tool == Tool::Wrk && requests.is_some(),
            "it ends after a time alone",
            "write `duration` in its place",
        ),
        (
            &["load", "requests"],
            tool != Tool::Wrk && few,
            "there are fewer than `connections`",
            "write more `requests`, or fewer `connections`",
        ),
        (
            &["load", "timeout"],
            !whole(load.timeout)
                && matches!(tool, Tool::Wrk | Tool::Ab | Tool::Hey | Tool::HttpLoad),
            "it knows whole seconds alone",
            "write whole seconds, such as \"5s\"",
        ),
        (
            &["load", "timeout"],
            tool == Tool::H2load && wire.load.timeout.is_some(),
            "it waits for an answer without end",
            "take it out; connections that wait in vain are seen all the same",
        ),
    ]
}
