//! What a session says of the machine, through the whole program.

use std::sync::atomic::{AtomicBool, Ordering};

use harness::host;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::world::World;

/// Keeps a CPU busy until it is told to stop.
fn burn(cpu: usize, stop: &AtomicBool) {
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).unwrap();
    while !stop.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Stops what burns, also where a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_session_says_what_others_took_of_the_servers_cpu() {
    let world = World::new();
    world.write_faults(&["steady"], "[sessions]\nsolo = 1");
    world.change("faults.toml", "duration = \"400ms\"", "duration = \"1s\"");
    let cpus = host::allowed_cpus();
    let (server, load) = (cpus[0], cpus[cpus.len() - 1]);
    let [on_server, on_load] = [server, load].map(|cpu| cpu.to_string());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| burn(server, &stop));
        let _stop = Stop(&stop);
        let pinned = ["--server-cpus", &on_server, "--load-cpus", &on_load];
        let ended = world.run(&[&["run", "faults.toml"][..], &pinned].concat());
        assert!(matches!(ended.code, Some(0 | 125)), "{ended:?}");
    });
    let records = world.records("faults").into_iter();
    let sessions: Vec<_> = records.filter(|one| one["record"] == "session").collect();
    assert_eq!(sessions.len(), 1);
    // It gets about half of one CPU of two; what the kernel charges to the server is not known to be others'.
    let others = sessions[0]["others_share"].as_f64().unwrap();
    assert!((0.1..=1.0).contains(&others), "{others}");
}
