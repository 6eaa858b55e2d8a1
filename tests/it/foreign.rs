//! An answer from a server that is not ours is never taken for the version's.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::world::World;

/// A foreign server: wherever a version asked for a port and did not listen, it listens and answers rightly.
fn listen_where_asked(world: &World, stop: &AtomicBool) {
    let asked = world.path().join("asked");
    let mut listeners: Vec<TcpListener> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let ports = std::fs::read_to_string(&asked).unwrap_or_default();
        for port in ports
            .lines()
            .skip(listeners.len())
            .filter_map(|line| line.parse::<u16>().ok())
        {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            listener.set_nonblocking(true).unwrap();
            listeners.push(listener);
        }
        for stream in listeners
            .iter()
            .filter_map(|listener| listener.accept().ok())
        {
            answer(stream.0);
        }
        std::thread::yield_now();
    }
}

fn answer(mut stream: TcpStream) {
    stream.set_nonblocking(false).unwrap();
    let mut request = [0; 1024];
    if stream.read(&mut request).is_ok_and(|length| length > 0) {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nHello World\n";
        // Whoever asked may be gone: it only looked whether the port is taken.
        drop(stream.write_all(answer.as_bytes()));
    }
}

#[test]
fn a_right_answer_from_another_process_is_a_taken_port() {
    let world = World::new();
    world.write(
        "foreign.toml",
        r#"schema = 1
[source]
versions = ["silent"]
[source.list]
[start]
cmd = { shell = 'echo "$HARNESS_PORT" >> "{matrix_dir}/asked"; exec sleep 600' }
[ready]
timeout = "20s"
[check]
body = "Hello World\n"
[load]
connections = 1
duration = "250ms"
[sessions]
count = 3
"#,
    );
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| listen_where_asked(&world, &stop));
        let ended = world.run(&["run", "foreign.toml"]);
        stop.store(true, Ordering::Relaxed);
        let ended = ended.expect(125);
        assert!(ended.stdout.contains("port-taken"), "{ended:?}");
        assert!(
            ended.stdout.contains("another program listens"),
            "{ended:?}"
        );
    });
    assert!(world.count("foreign", "session") > 0);
    let records = world.records("foreign");
    let sampled = records
        .iter()
        .any(|record| record.to_string().contains("\"sample\""));
    assert!(!sampled, "a foreign server was measured");
}
