//! `[ready]`, `[check]` and `[load]`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Keys, Reader};
use crate::matrix::wire;
use crate::matrix::{Arrivals, Check, Manner, PathShare, Protocol, Ready, Stop, Tool, Workload};

/// Shortest window: below it, counts say more about the clock than about the server.
const SHORTEST_WINDOW: Duration = Duration::from_millis(10);

/// Shortest wait that makes sense for an answer.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

impl Reader<'_> {
    pub(super) fn ready(&mut self, wire: &wire::Ready, load: &Workload) -> Ready {
        Ready {
            path: match &wire.http {
                Some(path) => self.request_path(&["ready", "http"], path),
                None => load.path.clone(),
            },
            timeout: self.duration(
                &["ready", "timeout"],
                wire.timeout.as_ref(),
                "10s",
                SHORTEST_WAIT,
            ),
        }
    }

    pub(super) fn check(&mut self, wire: &wire::Check) -> Check {
        if let Some(Err(error)) = wire.body_regex.as_deref().map(regex::Regex::new) {
            // The crate draws its own picture over several lines; its last line says why.
            let why = error.to_string();
            let why = why
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            let help = "write backslashes inside single quotes: '^\\d+$'";
            self.report(
                &["check", "body_regex"],
                "`check.body_regex` is not a regular expression",
                why,
                help,
            );
        }
        Check {
            status: wire.status.unwrap_or(200),
            body: wire.body.clone(),
            body_regex: wire.body_regex.clone(),
            same_length: wire.same_length.unwrap_or(true),
            same_body: wire.same_body.unwrap_or(wire.body.is_some()),
        }
    }

    pub(super) fn load(&mut self, wire: &wire::Load) -> Workload {
        let (stop, window) = self.stop_and_window(wire);
        self.headers(&wire.headers);
        Workload {
            name: self.name(wire.name.as_deref().unwrap_or("hello")),
            method: self.method(wire.method.as_deref().unwrap_or("GET")),
            path: self.first_path(wire),
            headers: wire.headers.clone(),
            body: wire.body.clone(),
            connections: wire.connections.unwrap_or(100),
            keep_alive: wire.keep_alive.unwrap_or(true),
            stop,
            warmup_answers: wire.warmup.answers.unwrap_or(5000),
            warmup_at_most: self.duration(
                &["load", "warmup", "at_most"],
                wire.warmup.at_most.as_ref(),
                "8s",
                Duration::ZERO,
            ),
            window,
            timeout: self.duration(
                &["load", "timeout"],
                wire.timeout.as_ref(),
                "5s",
                SHORTEST_WAIT,
            ),
            max_error_rate: self.percent(
                &["load", "max_error_rate"],
                wire.max_error_rate.as_ref(),
                "0%",
                0.0..=0.99,
            ),
            manner: self.manner(wire),
        }
    }

    fn first_path(&mut self, wire: &wire::Load) -> String {
        match wire.paths.first() {
            None => self.request_path(&["load", "path"], wire.path.as_deref().unwrap_or("/")),
            Some(first) => {
                if wire.path.is_some() {
                    let what = "a load has one `path` or several `paths`, not both";
                    let help = "take one of them out";
                    self.report(&["load", "paths"], what, "`path` is given too", help);
                }
                first.path.clone().unwrap_or_default()
            }
        }
    }

    fn manner(&mut self, wire: &wire::Load) -> Manner {
        let manner = Manner {
            mix: self.mix(&wire.paths),
            rate: wire.rate,
            arrivals: wire.arrivals.unwrap_or_default(),
            pipeline: wire.pipeline,
            protocol: wire.protocol.unwrap_or_default(),
            // One at a time is what every protocol does.
            streams: wire.streams.filter(|&streams| streams > 1),
            tls: wire.tls.unwrap_or(false),
            tool: wire.tool.unwrap_or_default(),
        };
        self.contradictions(wire, &manner);
        manner
    }

    fn mix(&mut self, wire: &[wire::PathShare]) -> Vec<PathShare> {
        let mut mix = Vec::new();
        for (place, given) in wire.iter().enumerate() {
            let keys = ["load", "paths", &place.to_string(), "path"];
            mix.push(PathShare {
                path: self.request_path(&keys, given.path.as_deref().unwrap_or_default()),
                share: given.share.unwrap_or(1),
            });
        }
        mix
    }

    /// Reports keys that cannot stand beside one another.
    fn contradictions(&mut self, wire: &wire::Load, manner: &Manner) {
        let http2 = manner.protocol == Protocol::Http2;
        let kept = wire.keep_alive.unwrap_or(true);
        let rules = [
            (
                "arrivals",
                manner.arrivals == Arrivals::Poisson && manner.rate.is_none(),
                "there is no `rate`",
                "write a `rate`, or take this out",
            ),
            (
                "pipeline",
                manner.pipeline.is_some() && manner.rate.is_some(),
                "`rate` is given too",
                "take one of them out",
            ),
            (
                "pipeline",
                manner.pipeline.is_some() && !kept,
                "a connection carries one request",
                "take it out, or `keep_alive = false`",
            ),
            (
                "pipeline",
                manner.pipeline.is_some() && http2,
                "HTTP/2 has streams in its place",
                "write `streams`",
            ),
            (
                "streams",
                manner.streams.is_some() && !http2,
                "HTTP/1.1 has no streams",
                "write `protocol = \"http/2\"`, or `pipeline`",
            ),
            (
                "rate",
                manner.rate.is_some() && http2,
                "HTTP/2 is loaded in a closed loop only",
                "take it out, or `protocol`",
            ),
            (
                "protocol",
                http2 && !kept,
                "HTTP/2 keeps its connections",
                "take out `keep_alive = false`",
            ),
        ];
        for (key, _, why, help) in rules.into_iter().filter(|(_, broken, ..)| *broken) {
            self.report(
                &["load", key],
                format!("`load.{key}` has no meaning here"),
                why,
                help,
            );
        }
        self.only_native(wire, manner.tool);
    }

    /// Reports keys that another program does not know.
    fn only_native(&mut self, wire: &wire::Load, tool: Tool) {
        let native = [
            ("rate", wire.rate.is_some()),
            ("paths", !wire.paths.is_empty()),
            ("pipeline", wire.pipeline.is_some()),
        ];
        for (key, given) in native {
            if given && tool != Tool::Native {
                let what = format!("`load.{key}` is for the engine of Harness only");
                let help = "take it out, or `tool`";
                self.report(
                    &["load", key],
                    what,
                    "another program sends the requests",
                    help,
                );
            }
        }
    }

    fn stop(&mut self, wire: &wire::Load) -> Stop {
        if wire.duration.is_some() && wire.requests.is_some() {
            let what = "a load ends by `duration` or by `requests`, not by both";
            self.report(
                &["load", "requests"],
                what,
                "`duration` is given too",
                "take one of them out",
            );
        }
        if let Some(requests) = wire.requests {
            return Stop::Requests(requests);
        }
        let path = ["load", "duration"];
        Stop::Duration(self.duration(&path, wire.duration.as_ref(), "3s", SHORTEST_WINDOW))
    }

    fn stop_and_window(&mut self, wire: &wire::Load) -> (Stop, Duration) {
        let before = self.found.problems.len();
        let stop = self.stop(wire);
        let path = ["load", "window"];
        let window = self.duration(&path, wire.window.as_ref(), "250ms", SHORTEST_WINDOW);
        let sound = self.found.problems.len() == before;
        if let Stop::Duration(duration) = stop
            && window > duration
            && sound
        {
            let given = self.tree.find(&path).is_some();
            let at = if given { path } else { ["load", "duration"] };
            let what =
                format!("a window of {window:?} does not fit into a duration of {duration:?}");
            let help = "make `window` shorter or `duration` longer; ten windows or more serve well";
            self.report(&at, what, "no window would be complete", help);
        }
        (stop, window)
    }

    fn name(&mut self, name: &str) -> String {
        if name.trim().is_empty() || name.contains(char::is_control) {
            self.report(
                &["load", "name"],
                "a load needs a name",
                "no name",
                "write a short word, such as \"hello\"",
            );
        }
        name.to_owned()
    }

    fn method(&mut self, method: &str) -> String {
        if method == "CONNECT" {
            let what = "the load cannot use the method CONNECT";
            self.report(
                &["load", "method"],
                what,
                "it opens a tunnel",
                "write \"GET\" or \"POST\"",
            );
        }
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) {
            let upper = method.to_ascii_uppercase();
            let what = format!("`{method}` is not a method");
            self.report(
                &["load", "method"],
                what,
                "methods are in capitals",
                format!("write \"{upper}\""),
            );
        }
        method.to_owned()
    }

    /// A path goes into the request line as it is.
    fn request_path(&mut self, path: Keys<'_>, text: &str) -> String {
        // What a request line may hold, RFC 3986: the rest has to be written as %XX.
        let may_hold =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte);
        if !text.starts_with('/') || !text.bytes().all(may_hold) {
            let why = if text.starts_with('/') {
                "it has a character that a request line may not hold"
            } else {
                "it does not begin with `/`"
            };
            let help = "write it as in a request line, such as \"/\" or \"/users?name=J%C3%B8rn\"";
            self.report(
                path,
                format!("`{}` is not a path", path.join(".")),
                why,
                help,
            );
        }
        text.to_owned()
    }

    fn headers(&mut self, headers: &BTreeMap<String, String>) {
        for (name, value) in headers {
            let path = ["load", "headers", name];
            let token =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            let own = ["connection", "content-length", "transfer-encoding"];
            if name.is_empty() || !name.bytes().all(token) {
                self.report(
                    &path,
                    "this cannot name a header",
                    "not a name",
                    "write letters, digits and `-`",
                );
            } else if own.contains(&name.to_ascii_lowercase().as_str()) {
                let what = format!("the load writes the header `{name}` itself");
                self.report(
                    &path,
                    what,
                    "it would be there twice",
                    "take it out; see `keep_alive` and `body`",
                );
            }
            let shown = |letter: char| matches!(letter, ' '..='~' | '\t');
            if !value.chars().all(shown) {
                self.report(
                    &path,
                    "a header's value is one line of ASCII",
                    "a control character or one beyond ASCII",
                    "take it out, or encode it as the server expects",
                );
            }
        }
    }
}
