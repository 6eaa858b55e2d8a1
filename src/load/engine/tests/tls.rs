//! Loads over TLS against tiny real servers.

use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::*;

/// Returns the settings of a server with a certificate of its own that speaks these protocols.
pub(super) fn certificate(protocols: &[&[u8]]) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Arc::new(config)
}

/// Listens with a certificate, for connections that speak these protocols.
fn listener(protocols: &[&[u8]]) -> Listener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Listener::Tls(listener, certificate(protocols))
}

fn encrypted(connections: u32, keep_alive: bool) -> Workload {
    let manner = Manner {
        tls: true,
        ..Manner::default()
    };
    Workload {
        manner,
        ..workload(connections, keep_alive)
    }
}

fn greeting(protocols: &[&[u8]]) -> Server {
    Server::at(listener(protocols), |wire, _| hello(wire))
}

#[test]
fn client_and_servers_count_the_same_over_tls() {
    for keep_alive in [true, false] {
        // A server that names no protocol speaks HTTP/1.1.
        let servers = [greeting(&[b"http/1.1"]), greeting(&[])];
        let targets: Vec<Target> = servers.iter().map(Server::target).collect();
        let running = start(&encrypted(4, keep_alive), &targets, &cpus(2)).unwrap();
        until_answers(&running, 200);
        for (server, figures) in servers.into_iter().zip(running.stop()) {
            assert_eq!(figures.body_bytes, figures.answers * 5);
            assert_eq!(figures.wire_bytes, figures.answers * 43);
            let opened = figures.connections_opened;
            if keep_alive {
                assert_eq!((opened, figures.resent), (4, 0));
            } else {
                assert!((figures.answers..=figures.answers + 4).contains(&opened));
            }
            assert!(figures.connect.mean > 0.0 && figures.latency.p50 > 0.0);
            assert_agree(&figures, server.asked(), 4);
        }
    }
}

#[test]
fn requests_go_over_tls_in_every_manner() {
    let manners = [
        Manner {
            pipeline: Some(5),
            ..encrypted(4, true).manner
        },
        Manner {
            rate: Some(5000),
            ..encrypted(4, true).manner
        },
    ];
    for manner in manners {
        let server = greeting(&[b"http/1.1"]);
        let workload = Workload {
            manner,
            ..workload(4, true)
        };
        let under_way = 4 * u64::from(workload.manner.pipeline.unwrap_or(1));
        let figures = load(&workload, &server, 300);
        assert_agree(&figures, server.asked(), under_way);
    }
}

#[test]
fn requests_and_answers_of_many_records_come_whole() {
    let body = "x".repeat(300_000);
    let length = body.len();
    let server = Server::at(listener(&[]), move |wire, _| {
        say(
            wire,
            &format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"),
        )?;
        say(wire, &"y".repeat(length))
    });
    let workload = Workload {
        method: "POST".to_owned(),
        body: Some(body),
        ..encrypted(2, true)
    };
    let mut target = server.target();
    target.expected = vec![Expected {
        length: None,
        body: Some(Bytes::from("y".repeat(length))),
    }];
    let running = start(&workload, &[target], &cpus(1)).unwrap();
    until_answers(&running, 20);
    let figures = running.stop().remove(0);
    assert_eq!(figures.body_bytes, figures.answers * length as u64);
    assert_agree(&figures, server.asked(), 2);
}

#[test]
fn an_answer_may_end_with_the_connection() {
    let server = Server::at(listener(&[]), |wire, _| {
        say(wire, "HTTP/1.0 200 OK\r\n\r\nhello")?;
        Ok(false)
    });
    let figures = load(&encrypted(2, true), &server, 50);
    assert_agree(&figures, server.asked(), 2);
    assert!(figures.connections_opened >= 50);
}

#[test]
fn a_server_that_does_not_speak_tls_or_not_http_1_is_no_server() {
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let plain_target = target(plain.local_addr().unwrap());
    let answering = thread::spawn(move || {
        let (mut stream, _) = plain.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        // The client closes it.
        drop(stream.read_to_end(&mut Vec::new()));
    });
    let other = greeting(&[b"h2"]);
    for target in [plain_target, other.target()] {
        let figures = load_in_vain(&encrypted(1, true), target, 1);
        let first = figures.errors.keys().next();
        assert!(
            figures.errors.contains_key(&ErrorKind::Malformed),
            "{first:?}"
        );
    }
    answering.join().unwrap();
}

#[test]
fn a_server_that_never_shakes_hands_is_late() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let workload = Workload {
        timeout: Duration::from_millis(50),
        ..encrypted(2, true)
    };
    let figures = load_in_vain(&workload, target(silent.local_addr().unwrap()), 2);
    assert_eq!(
        figures.errors.keys().collect::<Vec<_>>(),
        [&ErrorKind::Timeout]
    );
}
