//! Requests at given times, whatever the server does.

use super::*;
use crate::matrix::Arrivals;

fn at_rate(rate: u64, arrivals: Arrivals) -> Workload {
    let manner = Manner {
        rate: Some(rate),
        arrivals,
        ..Manner::default()
    };
    Workload {
        manner,
        ..workload(40, true)
    }
}

#[test]
fn what_is_due_is_sent_or_said_to_be_unsent() {
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        for keep_alive in [true, false] {
            let server = Server::new(hello);
            let workload = Workload {
                keep_alive,
                ..at_rate(2000, arrivals)
            };
            let running = start(&workload, &[server.target()], &cpus(2)).unwrap();
            until_answers(&running, 20);
            running.begin_measuring();
            let before = running.counts()[0].answers;
            until_answers(&running, before + 200);
            let figures = running.stop().remove(0);
            let sent = figures.lateness.count;
            // Of those sent, some were due before or have no answer yet.
            assert!(
                figures.answers <= sent && sent <= figures.answers + 80,
                "{figures:?}"
            );
            assert!(figures.failed() == 0 && figures.lateness.min >= 0.0);
            if arrivals == Arrivals::Even {
                let due = 2000.0 * figures.seconds;
                let seen = f64::from(u32::try_from(figures.answers + figures.unsent).unwrap());
                assert!(
                    (due - 80.0..=due + 3.0).contains(&seen),
                    "{due}: {figures:?}"
                );
            }
        }
    }
}

#[test]
fn a_rate_beyond_the_server_is_kept_up_in_the_books() {
    fn slow(wire: &mut Wire) -> io::Result<bool> {
        thread::park_timeout(Duration::from_millis(5));
        hello(wire)
    }
    let server = Server::new(slow);
    let few = Workload {
        connections: 2,
        ..at_rate(10_000, Arrivals::Even)
    };
    let figures = load(&few, &server, 20);
    // Two connections of 200 a second are far from 10,000.
    assert!(figures.unsent > 10 * figures.answers, "{figures:?}");
    assert!(figures.latency.max > 20.0 && figures.lateness.max > 20.0);
    assert!(figures.in_flight > 20.0);
}

/// Runs a load of a server that takes a while, of its own measure, until it agrees with the client's figures.
///
/// A machine that is busy elsewhere can delay any of it, so one of several tries must be undisturbed.
#[test]
fn latency_is_the_time_that_the_server_takes() {
    const TRIES: usize = 12;
    let agree = |_| {
        let took = Arc::new(Mutex::new(Vec::new()));
        let took_too = Arc::clone(&took);
        let listener = Listener::tcp("127.0.0.1:0").unwrap();
        let server = Server::at(listener, move |wire, _| {
            let began = Instant::now();
            thread::park_timeout(Duration::from_millis(50));
            let answered = hello(wire);
            took_too
                .lock()
                .unwrap()
                .push(began.elapsed().as_secs_f64() * 1e3);
            answered
        });
        let running = start(&at_rate(200, Arrivals::Even), &[server.target()], &cpus(1)).unwrap();
        until_answers(&running, 60);
        let figures = running.stop().remove(0);
        assert!(server.asked() >= figures.answers);
        let mut took = took.lock().unwrap().clone();
        took.sort_by(f64::total_cmp);
        let near = |measured: f64, percent: usize| {
            let place = took.len() * percent / 100;
            (measured / took[place.min(took.len() - 1)] - 1.0).abs() < 0.02
        };
        near(figures.latency.p50, 50) && near(figures.latency.p99, 99)
    };
    assert!((0..TRIES).any(agree));
}

#[test]
fn a_stall_shows_at_a_rate_and_hides_in_a_closed_loop() {
    /// Stalls as a whole for 100 ms at every 200th request.
    fn stalling() -> Server {
        let asked = Mutex::new(0);
        let listener = Listener::tcp("127.0.0.1:0").unwrap();
        Server::at(listener, move |wire, _| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            if *asked % 200 == 0 {
                thread::park_timeout(Duration::from_millis(100));
            }
            drop(asked);
            hello(wire)
        })
    }
    let one = Workload {
        connections: 1,
        ..at_rate(500, Arrivals::Even)
    };
    let closed = Workload {
        manner: Manner::default(),
        ..one.clone()
    };
    let paced = load(&one, &stalling(), 420);
    let closed = load(&closed, &stalling(), 420);
    assert!(closed.latency.max >= 99.0 && paced.latency.max >= 99.0);
    // One request in 200 waits in the closed loop; at the given rate each that is due within the 100 ms does.
    assert!(
        paced.latency.p95 > 2.0 * closed.latency.p95,
        "{paced:?} {closed:?}"
    );
    assert!(paced.latency.p95 > 40.0, "{paced:?}");
    let late = paced.lateness;
    assert!(late.max > 50.0 && late.count >= paced.answers);
}

#[test]
fn connections_closed_while_idle_are_no_failures() {
    fn closes(wire: &mut Wire) -> io::Result<bool> {
        hello(wire).map(|_| false)
    }
    let server = Server::new(closes);
    let figures = load(&at_rate(1000, Arrivals::Poisson), &server, 100);
    assert_eq!(figures.failed(), 0, "{figures:?}");
    assert!(figures.connections_opened > 40);
}
