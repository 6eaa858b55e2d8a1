//! Every manner of load: what the client counts is what the servers do.

use super::*;
use crate::matrix::{Arrivals, PathShare};

fn with(manner: Manner) -> Workload {
    Workload {
        manner,
        ..workload(6, true)
    }
}

fn mix() -> Vec<PathShare> {
    let share = |(path, share): (&str, u32)| PathShare {
        path: path.to_owned(),
        share,
    };
    [("/", 3), ("/a", 2), ("/b", 1)].map(share).to_vec()
}

fn at_rate(arrivals: Arrivals) -> Manner {
    Manner {
        rate: Some(20_000),
        arrivals,
        ..Manner::default()
    }
}

fn in_slices() -> Schedule {
    Schedule::Slices {
        slice: Duration::from_millis(2),
        seed: 1,
    }
}

fn servers() -> [Server; 2] {
    let hello_at = |listener| Server::at(listener, |wire, _| hello(wire));
    [
        hello_at(Listener::tcp("127.0.0.1:0").unwrap()),
        hello_at(Listener::unix()),
    ]
}

/// Every manner of load that HTTP/1.1 has here.
fn manners() -> Vec<(Workload, Schedule)> {
    let pipelined = Manner {
        pipeline: Some(5),
        ..Manner::default()
    };
    let mixed = Manner {
        mix: mix(),
        ..pipelined.clone()
    };
    let one_each = |manner| Workload {
        manner,
        ..workload(6, false)
    };
    vec![
        (with(Manner::default()), Schedule::Together),
        (one_each(Manner::default()), Schedule::Together),
        (with(pipelined.clone()), Schedule::Together),
        (with(mixed), Schedule::Together),
        (with(at_rate(Arrivals::Even)), Schedule::Together),
        (with(at_rate(Arrivals::Poisson)), Schedule::Together),
        (one_each(at_rate(Arrivals::Even)), Schedule::Together),
        (with(Manner::default()), in_slices()),
        (one_each(Manner::default()), in_slices()),
        (with(pipelined), in_slices()),
        (with(at_rate(Arrivals::Even)), in_slices()),
    ]
}

#[test]
fn client_and_servers_count_the_same_in_every_manner() {
    for (workload, schedule) in manners() {
        let servers = servers();
        let targets: Vec<Target> = servers.iter().map(Server::target).collect();
        let running = crate::load::start(&workload, &targets, &cpus(2), schedule).unwrap();
        until_answers(&running, 300);
        let under_way = 6 * u64::from(workload.manner.pipeline.unwrap_or(1));
        for (server, figures) in servers.into_iter().zip(running.stop()) {
            assert_agree(&figures, server.asked(), under_way);
        }
    }
}

#[test]
fn a_number_of_answers_is_exact_in_every_manner() {
    for (workload, schedule) in manners() {
        let servers = servers();
        let targets: Vec<Target> = servers.iter().map(Server::target).collect();
        let workload = Workload {
            stop: Stop::Requests(123),
            ..workload
        };
        let running = crate::load::start(&workload, &targets, &cpus(2), schedule).unwrap();
        until_answers(&running, 20);
        running.begin_measuring();
        until("finished", || running.finished());
        for figures in running.stop() {
            assert_eq!(
                (figures.answers, figures.failed()),
                (123, 0),
                "{workload:?}"
            );
            assert!(figures.seconds > 0.0 && figures.latency.max > 0.0);
        }
    }
}

#[test]
fn twenty_short_loads_lose_and_invent_nothing() {
    for _ in 0..20 {
        let server = Server::new(hello);
        let running = start(&workload(8, true), &[server.target()], &cpus(2)).unwrap();
        until_answers(&running, 100);
        assert_agree(&running.stop()[0], server.asked(), 8);
    }
}

#[test]
fn each_connection_keeps_one_of_several_addresses() {
    let servers = servers();
    let addresses = servers.each_ref().map(|server| server.address.clone());
    let both = Target {
        addresses: addresses.to_vec(),
        ..servers[0].target()
    };
    let running = start(&workload(5, true), &[both], &cpus(2)).unwrap();
    until("both asked", || {
        let asked = |server: &Server| server.seen.asked.load(Ordering::SeqCst) > 20;
        servers.iter().all(asked)
    });
    let figures = running.stop().remove(0);
    let opened = servers
        .each_ref()
        .map(|server| server.seen.opened.load(Ordering::SeqCst));
    assert_eq!(opened, [3, 2]);
    for (server, address) in servers.iter().zip(&addresses) {
        let hosts = server.seen.hosts.lock().unwrap().clone();
        assert_eq!(hosts, BTreeSet::from([address.host()]));
    }
    let asked = servers.into_iter().map(Server::asked).sum();
    assert_agree(&figures, asked, 5);
}

#[test]
fn the_newer_internet_protocol_is_loaded_as_the_older() {
    let Ok(listener) = Listener::tcp("[::1]:0") else {
        // The machine has none.
        return;
    };
    let server = Server::at(listener, |wire, _| hello(wire));
    for keep_alive in [true, false] {
        let figures = load(&workload(3, keep_alive), &server, 100);
        assert_eq!(figures.failed(), 0, "{figures:?}");
    }
    let host = server.seen.hosts.lock().unwrap().first().cloned();
    assert_eq!(host, Some(server.address.host()));
}

#[test]
fn a_socket_that_is_not_there_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = target(Address::Unix(folder.path().join("socket")));
    let figures = load_in_vain(&workload(2, true), nobody, 4);
    assert_eq!(
        figures.errors.keys().collect::<Vec<_>>(),
        [&ErrorKind::Refused]
    );
    let long = Address::Unix("x".repeat(200).into());
    assert!(start(&workload(1, true), &[target(long)], &cpus(1)).is_err());
}

#[test]
fn a_full_queue_of_a_socket_is_waited_for() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let narrow = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&narrow, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&narrow, 0).unwrap();
    let running = start(
        &workload(8, false),
        &[target(Address::Unix(path))],
        &cpus(1),
    )
    .unwrap();
    // Nobody accepts until then, and there is room for one.
    until("several turns", || {
        running.client_cpu() > Duration::from_micros(500)
    });
    let server = Server::at(Listener::Unix(narrow.into(), folder), |wire, _| hello(wire));
    until_answers(&running, 100);
    let figures = running.stop().remove(0);
    assert_eq!(figures.failed(), 0, "{figures:?}");
    assert!(server.asked() >= figures.answers);
}

#[test]
fn paths_are_asked_for_in_a_fixed_round() {
    let server = Server::new(hello);
    let manner = Manner {
        mix: mix(),
        ..Manner::default()
    };
    let one = Workload {
        manner,
        ..workload(1, true)
    };
    load(&one, &server, 60);
    let asked = server.seen.requests.lock().unwrap().clone();
    let round = ["/", "/a", "/", "/b", "/a", "/"];
    for (request, path) in asked.iter().zip(round.iter().cycle()) {
        assert_eq!(*request, format!("GET {path} HTTP/1.1"));
    }
    let silent = Server::new(|_| Ok(true));
    let six = with(Manner {
        mix: mix(),
        ..Manner::default()
    });
    let running = start(&six, &[silent.target()], &cpus(2)).unwrap();
    until("one request each", || {
        silent.seen.requests.lock().unwrap().len() == 6
    });
    drop(running);
    let first = silent.seen.requests.lock().unwrap().clone();
    // Each of the six connections begins at another place.
    let of = |path: &str| first.iter().filter(|line| line.contains(path)).count();
    assert_eq!((of(" / "), of(" /a "), of(" /b ")), (3, 2, 1));
}

#[test]
fn each_path_has_an_answer_of_its_own() {
    fn by_path(wire: &mut Wire, line: &str) -> io::Result<bool> {
        let body = if line.contains("/b") { "bee" } else { "hello" };
        let length = body.len();
        say(
            wire,
            &format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"),
        )
    }
    let server = Server::at(Listener::tcp("127.0.0.1:0").unwrap(), by_path);
    let body = |text: &'static str| Expected {
        length: None,
        body: Some(Bytes::from_static(text.as_bytes())),
    };
    let target = |last| Target {
        expected: vec![body("hello"), body("hello"), body(last)],
        ..server.target()
    };
    let mixed = with(Manner {
        mix: mix(),
        pipeline: Some(4),
        ..Manner::default()
    });
    let running = start(&mixed, &[target("bee")], &cpus(1)).unwrap();
    until_answers(&running, 100);
    assert_eq!(running.stop()[0].failed(), 0);
    let running = start(&mixed, &[target("fly")], &cpus(1)).unwrap();
    until_answers(&running, 600);
    let figures = running.stop().remove(0);
    assert_eq!(
        figures.errors.keys().collect::<Vec<_>>(),
        [&ErrorKind::BadBody]
    );
    let wrong = figures.errors[&ErrorKind::BadBody];
    assert!(
        figures.answers.abs_diff(wrong * 5) <= 5 * 24,
        "{wrong} of {}",
        figures.answers
    );
}

#[test]
fn as_many_requests_are_under_way_as_asked_for() {
    /// Answers only when four requests are there, and all at once.
    fn by_fours(wire: &mut Wire) -> io::Result<bool> {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        if ASKED.fetch_add(1, Ordering::SeqCst) % 4 < 3 {
            return Ok(true);
        }
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        say(wire, &answer.repeat(4))
    }
    let server = Server::new(by_fours);
    let piped = Workload {
        connections: 1,
        ..with(Manner {
            pipeline: Some(4),
            ..Manner::default()
        })
    };
    let figures = load(&piped, &server, 200);
    assert_agree(&figures, server.asked(), 4);
    assert!((3.0..=4.1).contains(&figures.in_flight), "{figures:?}");
}

#[test]
fn requests_behind_the_last_answer_of_a_connection_are_sent_again() {
    fn third_closes(wire: &mut Wire) -> io::Result<bool> {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        hello(wire).map(|_| ASKED.fetch_add(1, Ordering::SeqCst) % 3 < 2)
    }
    fn announced(wire: &mut Wire) -> io::Result<bool> {
        say(
            wire,
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        )
        .map(|_| false)
    }
    let piped = |method: &str| Workload {
        method: method.to_owned(),
        connections: 1,
        ..with(Manner {
            pipeline: Some(4),
            ..Manner::default()
        })
    };
    let server = Server::new(announced);
    let figures = load(&piped("GET"), &server, 30);
    assert!(figures.resent > 0 && figures.failed() == 0, "{figures:?}");
    // What may not be sent twice has failed.
    let figures = load_in_vain(&piped("POST"), server.target(), 6);
    assert_eq!(
        (figures.resent, figures.errors.len()),
        (0, 1),
        "{figures:?}"
    );
    // Data that a server has not read when it closes resets the connection, and may cost the answers before.
    let server = Server::new(third_closes);
    let figures = load(&piped("GET"), &server, 30);
    assert!(figures.resent > 0, "{figures:?}");
}

#[test]
fn all_that_is_under_way_fails_with_its_connection() {
    fn half(wire: &mut Wire) -> io::Result<bool> {
        say(wire, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")?;
        // The others are there as well, so that closing is no reset.
        Ok(false)
    }
    let server = Server::at(Listener::unix(), |wire, _| half(wire));
    let piped = Workload {
        connections: 1,
        ..with(Manner {
            pipeline: Some(3),
            ..Manner::default()
        })
    };
    let figures = load_in_vain(&piped, server.target(), 6);
    let count = |kind| figures.errors.get(&kind).copied().unwrap_or(0);
    let lost = count(ErrorKind::Closed) + count(ErrorKind::Reset);
    assert_eq!(
        figures.failed(),
        count(ErrorKind::Short) + lost,
        "{figures:?}"
    );
    assert_eq!(figures.failed() % 3, 0, "{figures:?}");
    assert_eq!(figures.answers, 0);
}

#[test]
fn the_measured_part_has_its_own_times_and_connections() {
    let server = Server::new(hello);
    let running = start(&workload(4, true), &[server.target()], &cpus(2)).unwrap();
    assert_eq!(running.engine(), "epoll");
    until_answers(&running, 100);
    running.begin_measuring();
    let before = running.counts()[0].answers;
    until_answers(&running, before + 3000);
    let figures = running.stop().remove(0);
    assert_eq!(
        (figures.connections_opened, figures.connections_measured),
        (4, 0)
    );
    assert!((figures.thread_seconds / figures.seconds - 2.0).abs() < 1e-6);
    assert!((3.0..=4.001).contains(&figures.in_flight), "{figures:?}");
    // Little's law, but for the four requests at either end.
    let by_law = figures.fetches_per_second() * figures.latency.mean / 1e3;
    let ends = 8.0 * figures.latency.max / 1e3 / figures.seconds;
    assert!(
        (by_law - figures.in_flight).abs() < 0.2 + ends,
        "{figures:?}"
    );
    assert_eq!((figures.lateness.count, figures.unsent), (0, 0));
}
