//! What a browser is shown, and what it is not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;

use rustix::process::Signal;

use crate::world::{World, send};

/// The real server of a world with one run, and a gap with a log.
struct Served {
    world: World,
    child: Child,
    port: u16,
}

impl Served {
    fn new() -> Self {
        let world = World::new();
        world.write_faults(&["steady", "build_fail"], "");
        world.run(&["run", "faults.toml", "--quick"]).expect(125);
        let mut child = world.start(&["serve", "--port", "0"]);
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let port = line.split(['/', ':']).find_map(|word| word.parse().ok());
        Self {
            world,
            child,
            port: port.unwrap(),
        }
    }

    /// Returns the status and the body of an answer.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
        (status, body)
    }

    fn get(&self, path: &str) -> String {
        let (status, body) = self.ask("GET", path, "localhost");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn end(mut self) {
        send(&self.child, Signal::TERM);
        assert_eq!(self.child.wait().unwrap().code(), Some(143));
        self.world.expect_no_process();
    }
}

/// Returns the first address on a page that begins so.
fn link(page: &str, begin: &str) -> String {
    let found = page.split("href=\"").find(|rest| rest.starts_with(begin));
    let found = found.unwrap_or_else(|| panic!("no {begin} in {page}"));
    found.split('"').next().unwrap().to_owned()
}

#[test]
fn from_the_list_to_a_run_to_a_log_all_links_lead_somewhere() {
    let served = Served::new();
    let index = served.get("/");
    let run = served.get(&link(&index, "/run/faults/"));
    assert!(run.contains("gap: build failed"), "{run}");
    let log = served.get(&link(&run, "/log/"));
    assert!(log.contains("this version does not build"), "{log}");
    let history = served.get("/history/faults");
    assert!(history.contains("steady"), "{history}");
    served.end();
}

#[test]
fn nothing_else_is_shown_and_nothing_is_changed() {
    let served = Served::new();
    served.world.write("secret.log", "secret");
    for path in [
        "/log/secret.log",
        "/log/faults.toml",
        "/run/faults/none",
        "/nightly/none",
        "/etc/passwd",
        "/log/../secret.log",
        "/log/%2e%2e/secret.log",
    ] {
        let (status, body) = served.ask("GET", path, "localhost");
        assert_eq!(status, 404, "{path}: {body}");
    }
    assert_eq!(served.ask("POST", "/", "localhost").0, 405);
    assert_eq!(served.ask("GET", "/", "rebound.example.org").0, 403);
    served.end();
}
