//! Servers that run already: nothing is started, nothing is stopped.

use std::process::{Child, Command, Stdio};

use crate::world::{World, until, unused_port};

/// A server that the test has started, and stops.
struct Own(Child);

impl Drop for Own {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Compiles the faulty server outside of Harness and starts it on a free port.
fn serve(world: &World, fault: &str) -> (Own, u16) {
    let program = world.path().join(fault);
    let compiled = Command::new("rustc")
        .args([
            "--edition=2024",
            "--cfg",
            &format!("fault=\"{fault}\""),
            "-o",
        ])
        .args([&program, &world.path().join("fault.rs")])
        .stderr(Stdio::null())
        .status();
    assert!(compiled.unwrap().success());
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    // The server binds it itself, and it alone is waited for.
    drop(listener);
    let child = Command::new(&program)
        .arg(port.to_string())
        .spawn()
        .unwrap();
    let own = Own(child);
    until("it listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    (own, port)
}

#[test]
fn servers_of_somebody_else_are_loaded_and_left_running() {
    let world = World::new();
    let (mut steady, first) = serve(&world, "steady");
    let (mut slow, second) = serve(&world, "slow");
    let nobody = unused_port();
    let text = format!(
        r#"schema = 2
[source.attach]
addresses = {{ fast = "127.0.0.1:{first}", slow = "localhost:{second}", gone = "127.0.0.1:{nobody}" }}
[check]
body = "Hello World\n"
[ready]
timeout = "300ms"
[load]
connections = 4
duration = "400ms"
window = "50ms"
warmup = {{ answers = 100, at_most = "600ms" }}
"#
    );
    world.write("attached.toml", &text);
    let ended = world
        .run(&["run", "attached.toml", "--quick", "--format", "json"])
        .expect(1);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["pairs"][0]["verdict"], "regression", "{report}");
    assert_eq!(report["gaps"][0]["kind"], "not-ready");
    assert_eq!(report["gaps"][0]["cells"], serde_json::json!(["gone"]));
    assert!(ended.stdout.contains("were not started anew"));
    assert!(steady.0.try_wait().unwrap().is_none() && slow.0.try_wait().unwrap().is_none());
}

#[test]
fn a_start_command_for_a_server_that_runs_already_is_refused() {
    let world = World::new();
    let text = "schema = 2\n[source.attach]\naddresses = { iis = \"127.0.0.1:8080\" }\n[start]\ncmd = [\"iis\"]\n";
    world.write("attached.toml", text);
    let ended = world.run(&["check", "attached.toml"]).expect(128);
    assert!(
        ended.stderr.contains("attached.toml:5:7") && ended.stderr.contains("is not started"),
        "{}",
        ended.stderr
    );
}
