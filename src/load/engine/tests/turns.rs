//! One target at a time.

use super::*;

/// Requests that each of three servers has and has not answered.
static PRESENT: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
static TOGETHER: AtomicU64 = AtomicU64::new(0);

fn watching(place: usize) -> Server {
    Server::at(Listener::tcp("127.0.0.1:0").unwrap(), move |wire, _| {
        PRESENT[place].fetch_add(1, Ordering::SeqCst);
        let elsewhere = |other: usize| other != place && PRESENT[other].load(Ordering::SeqCst) > 0;
        if (0..3).any(elsewhere) {
            TOGETHER.fetch_add(1, Ordering::SeqCst);
        }
        // The client may have the answer before the next line is reached.
        PRESENT[place].fetch_sub(1, Ordering::SeqCst);
        hello(wire)
    })
}

#[test]
fn no_two_targets_are_loaded_at_the_same_time() {
    let servers = [0, 1, 2].map(watching);
    let targets: Vec<Target> = servers.iter().map(Server::target).collect();
    let schedule = Schedule::Slices {
        slice: Duration::from_millis(1),
        seed: 3,
    };
    let running = crate::load::start(&workload(4, true), &targets, &cpus(1), schedule).unwrap();
    until_answers(&running, 50);
    let before: Vec<u64> = running
        .counts()
        .iter()
        .map(|counts| counts.answers)
        .collect();
    let began = Instant::now();
    running.begin_measuring();
    until("more of each", || {
        let counts = running.counts();
        let more = |(counts, before): (&Counts, &u64)| counts.answers > before + 200;
        counts.iter().zip(&before).all(more)
    });
    let figures = running.stop();
    let wall = began.elapsed().as_secs_f64();
    assert_eq!(TOGETHER.load(Ordering::SeqCst), 0);
    // Each target's time is its own: together they make the whole.
    let seconds: f64 = figures.iter().map(|figures| figures.seconds).sum();
    assert!(seconds <= wall, "{seconds} of {wall}");
    assert!(
        figures
            .iter()
            .all(|figures| figures.seconds > 0.0 && figures.seconds < seconds)
    );
    for figures in &figures {
        assert!(
            figures.in_flight > 2.0 && figures.in_flight <= 4.001,
            "{figures:?}"
        );
        assert_eq!(figures.failed(), 0);
    }
}
