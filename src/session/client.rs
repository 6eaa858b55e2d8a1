//! Whether the client and not the servers set the pace of a session. Pure.

use crate::journal::{Client, CpuPlan, Window};
use crate::outcome::LoadFigures;
use crate::stats::real;

/// Share of the measured time in which the client sets the pace, above which the whole session is its own.
const MOST: f64 = 0.5;

/// With a given rate: how much later than due requests may be sent on average, as a share of the mean latency.
const LATE: f64 = 0.10;

/// Returns whether the client set the pace: over the whole measured part, in most of its windows, or because its clock
/// could not keep up with the rate that was asked for.
///
/// `shares` are those of the client and of the servers, CPU time ÷ measured time ÷ CPUs.
pub(super) fn set_the_pace<'a>(
    shares: (f64, f64),
    windows: &[Window],
    cpus: &CpuPlan,
    mut loads: impl Iterator<Item = &'a LoadFigures>,
) -> bool {
    Client::sets_the_pace(shares.0, shares.1)
        || paced(windows, cpus) > MOST
        || (Client::is_busy(shares.0) && loads.any(is_late))
}

/// Returns the share of the windows' time in which the client set the pace.
fn paced(windows: &[Window], cpus: &CpuPlan) -> f64 {
    let bound = |window: &&Window| {
        let (client, servers) = shares(window, cpus);
        Client::sets_the_pace(client, servers)
    };
    let time = |window: &Window| window.seconds;
    let all: f64 = windows.iter().map(time).sum();
    let bound: f64 = windows.iter().filter(bound).map(time).sum();
    if all > 0.0 { bound / all } else { 0.0 }
}

/// Returns the shares of their CPUs that the client and the servers used in a window; zeros where it took no time.
pub(super) fn shares(window: &Window, cpus: &CpuPlan) -> (f64, f64) {
    let share = |used: f64, cpus: &[usize]| {
        let had = window.seconds * real(cpus.len().max(1));
        if had > 0.0 { used / had } else { 0.0 }
    };
    let servers = window.cpu_seconds.iter().sum();
    (
        share(window.client_cpu_seconds, &cpus.load),
        share(servers, &cpus.server),
    )
}

/// Returns whether requests of a given rate were sent so late that their latency is in part the client's own. A server
/// that keeps connections busy makes requests late too, so this alone says nothing of the client.
fn is_late(load: &LoadFigures) -> bool {
    load.lateness.mean > LATE * load.latency.mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Latency, Spread};

    fn cpus() -> CpuPlan {
        CpuPlan {
            server: vec![0],
            load: vec![1, 2],
        }
    }

    /// A window of a second in which the client used that share of its CPUs, and the servers that of theirs.
    fn window(client: f64, servers: f64) -> Window {
        Window {
            seconds: 1.0,
            answers: vec![1, 1],
            cpu_seconds: vec![servers / 2.0; 2],
            client_cpu_seconds: client * 2.0,
            stolen_seconds: 0.0,
            others_seconds: 0.0,
        }
    }

    fn load(lateness: f64) -> LoadFigures {
        LoadFigures {
            lateness: Spread {
                mean: lateness,
                ..Spread::default()
            },
            latency: Latency {
                mean: 2.0,
                ..Latency::default()
            },
            ..LoadFigures::default()
        }
    }

    fn paces(shares: (f64, f64), windows: &[Window], lateness: f64) -> bool {
        set_the_pace(shares, windows, &cpus(), [load(0.0), load(lateness)].iter())
    }

    #[test]
    fn a_busy_client_beside_idle_servers_sets_the_pace() {
        assert!(paces((0.96, 0.89), &[], 0.0));
        assert!(!paces((0.96, 0.91), &[], 0.0), "both are busy");
        assert!(!paces((0.94, 0.50), &[], 0.0), "both wait");
    }

    #[test]
    fn a_client_that_is_the_limit_in_most_windows_sets_the_pace() {
        // In total the client used 77 % of its CPUs only.
        let (bound, free) = (window(0.99, 0.5), window(0.33, 0.99));
        let all = (0.77, 0.66);
        assert!(paces(
            all,
            &[bound.clone(), bound.clone(), free.clone()],
            0.0
        ));
        assert!(!paces(all, &[bound, free], 0.0));
        assert!(!paces(all, &[], 0.0));
    }

    #[test]
    fn a_clock_that_cannot_keep_up_is_the_clients_only_while_that_is_busy() {
        assert!(paces((0.96, 0.99), &[], 0.21));
        assert!(!paces((0.96, 0.99), &[], 0.19));
        assert!(
            !paces((0.60, 0.99), &[], 1.9),
            "the server keeps the connections busy"
        );
    }
}
