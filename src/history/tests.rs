//! Simulated nights whose truth is known.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::*;
use crate::matrix::Metric;
use crate::stats::real;
use crate::verdict::fixture;

/// Noise of a level inside one night, as a log ratio: races tie the versions of a night to each other.
const NOISE: f64 = 0.004;

/// What the solo trials of one night are off by, all of them together.
const TRIALS: f64 = 0.02;

/// Returns a normal value with mean 0 and sd 1, nearly.
fn normal(random: &mut Pcg64) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// Makes the night number `index` of levels.
fn night(index: usize, levels: Vec<(String, f64)>) -> Night {
    let effect = |two: &[(String, f64)]| {
        let pair = (two[0].0.clone(), two[1].0.clone());
        (pair, (Metric::Throughput, two[1].1 - two[0].1))
    };
    Night {
        run: format!("night-{index:04}"),
        started: Timestamp::UNIX_EPOCH
            + SignedDuration::from_hours(24 * i64::try_from(index).unwrap()),
        effects: levels.windows(2).map(effect).collect(),
        levels,
        programs: BTreeMap::new(),
    }
}

/// Makes nights of versions: `shift` is what the truth adds to a version's level in a night, and `pull` how much of one
/// night's state the machine keeps to the next.
fn nights(
    (count, versions): (usize, usize),
    pull: f64,
    seed: u64,
    shift: &dyn Fn(usize, usize) -> f64,
) -> Vec<Night> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut state = 0.0;
    let mut nights = Vec::new();
    for index in 0..count {
        state = pull * state + (1.0 - pull * pull).sqrt() * TRIALS * normal(&mut random);
        let level = |version| {
            let own = shift(version, index) + NOISE * normal(&mut random);
            (
                format!("1.{version}.0"),
                9.0 + 0.01 * real(version) + state + own,
            )
        };
        nights.push(night(index, (0..versions).map(level).collect()));
    }
    nights
}

fn header() -> Header {
    fixture::run(&["1.0.0"]).header
}

fn history(nights: Vec<Night>) -> History {
    History::new(&header(), nights, &[], Vec::new())
}

fn day(index: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * index)
}

/// Returns what changed surely, and when.
fn sure(history: &History) -> Vec<(Of, Timestamp)> {
    let sure = history.changes.iter().filter(|change| change.sure);
    sure.map(|one| (one.of.clone(), one.on)).collect()
}

#[test]
fn a_slower_machine_and_a_slower_version_are_told_apart() {
    let truth = |version, night| {
        let machine = if night >= 22 { 0.88_f64.ln() } else { 0.0 };
        let own = if version == 3 && night >= 12 {
            0.95_f64.ln()
        } else {
            0.0
        };
        machine + own
    };
    let found = history(nights((34, 8), 0.3, 1, &truth));
    assert_eq!(
        sure(&found),
        [
            (Of::Machine, day(22)),
            (Of::Version("1.3.0".to_owned()), day(12)),
        ]
    );
    let told = |id: &str| {
        found
            .versions
            .iter()
            .find(|line| line.id == id)
            .unwrap()
            .drift
    };
    assert!((told("1.3.0").unwrap().exp_m1() + 0.05).abs() < 0.01);
    assert_eq!(told("1.4.0"), None);
    assert!(found.has_regression());
    // The machine's own noise from night to night is 2 %, over 22 and 12 nights.
    assert!((found.changes[0].effect.exp_m1() + 0.12).abs() < 0.03);
    assert_eq!(found.changes[0].nights, (22, 12));
    assert_eq!(found.changes[0].after, day(21));
}

#[test]
fn a_slower_machine_alone_is_no_regression() {
    let truth = |_, night| if night >= 20 { -0.2 } else { 0.0 };
    let found = history(nights((40, 5), 0.0, 2, &truth));
    assert_eq!(sure(&found), [(Of::Machine, day(20))]);
    assert!(!found.has_regression());
}

#[test]
fn quiet_nights_show_a_sure_change_in_at_most_one_history_of_twenty() {
    for pull in [0.0, 0.6, 0.9] {
        let alarms = (0..100)
            .filter(|seed| !sure(&history(nights((40, 6), pull, *seed, &|_, _| 0.0))).is_empty())
            .count();
        assert!(alarms <= 5, "{alarms} of 100 with correlation {pull}");
    }
}

#[test]
fn a_change_in_the_newest_nights_is_a_suspect_first() {
    let truth = |version, night| {
        if version == 2 && night >= 28 {
            -0.1
        } else {
            0.0
        }
    };
    let found = history(nights((31, 6), 0.0, 3, &truth));
    let [change] = &found.changes[..] else {
        panic!("{:?}", found.changes);
    };
    assert_eq!(
        (&change.of, change.on),
        (&Of::Version("1.2.0".to_owned()), day(28))
    );
    assert!(!change.sure);
    assert!(!found.has_regression());
}

#[test]
fn only_the_named_versions_are_looked_at() {
    let truth = |version, night| {
        if version == 3 && night >= 15 {
            -0.1
        } else {
            0.0
        }
    };
    let names = ["1.5.0".to_owned()];
    let found = History::new(
        &header(),
        nights((30, 8), 0.0, 4, &truth),
        &names,
        Vec::new(),
    );
    assert_eq!(found.versions.len(), 1);
    assert_eq!(found.changes, []);
    // The machine, the version and its two pairs.
    assert_eq!(found.series, 4);
}

#[test]
fn a_program_that_stayed_the_same_is_told_so() {
    let truth = |version, night| {
        if version == 2 && night >= 15 {
            -0.1
        } else {
            0.0
        }
    };
    let mut all = nights((30, 6), 0.0, 5, &truth);
    for night in &mut all {
        night.programs.insert("1.2.0".to_owned(), "same".to_owned());
    }
    assert_eq!(history(all.clone()).changes[0].new_program, Some(false));
    for night in &mut all[15..] {
        night
            .programs
            .insert("1.2.0".to_owned(), "other".to_owned());
    }
    assert_eq!(history(all).changes[0].new_program, Some(true));
}

#[test]
fn nights_that_no_version_links_are_left_out_with_their_reason() {
    let mut all = nights((12, 4), 0.0, 6, &|_, _| 0.0);
    for night in &mut all[..3] {
        night.levels = vec![("0.1.0".to_owned(), 8.0)];
    }
    let found = history(all);
    assert_eq!(found.nights.len(), 9);
    assert!(found.left_out.iter().all(|one| one.why == Why::Unlinked));
    assert_eq!(found.left_out.len(), 3);
}

#[test]
fn a_version_that_the_newest_run_has_no_more_stands_where_it_stood() {
    let named = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 9.0)).collect();
    let all = [
        night(0, named(&["0.9.0", "1.0.0", "1.1.0", "2.0.0"])),
        night(1, named(&["1.0.0", "1.2.0", "2.0.0"])),
    ];
    assert_eq!(rows(&all), ["0.9.0", "1.0.0", "1.1.0", "1.2.0", "2.0.0"]);
}

#[test]
fn one_night_and_none_are_no_history_of_change() {
    let one = history(nights((1, 4), 0.0, 7, &|_, _| 0.0));
    assert_eq!((one.versions.len(), one.series), (4, 0));
    assert_eq!(history(Vec::new()).versions, []);
}

/// A run of single values: eight versions at one level, then eight a fifth lower.
fn single_run(order: &[usize]) -> (Header, Vec<Night>) {
    let names: Vec<String> = (0..16).map(|version| format!("0.{version}.0")).collect();
    let names: Vec<&str> = order
        .iter()
        .map(|version| names[*version].as_str())
        .collect();
    let noise = [0.004, -0.007, 0.001, 0.009, -0.003, 0.002, -0.008, 0.002];
    let level = |(place, name): (usize, &&str)| {
        let step = if place >= 8 { 0.2 } else { 0.0 };
        ((*name).to_owned(), 9.0 - step + noise[place % 8])
    };
    let levels = names.iter().enumerate().map(level).collect();
    let mut night = night(0, levels);
    night.effects.clear();
    let mut header = fixture::run(&names).header;
    header.sessions.count = 1;
    (header, vec![night])
}

#[test]
fn a_run_of_single_values_gives_suspects_with_the_command_that_decides() {
    let (header, nights) = single_run(&(0..16).collect::<Vec<_>>());
    let found = History::new(&header, nights.clone(), &[], Vec::new());
    let [suspect] = &found.suspects[..] else {
        panic!("{:?}", found.suspects);
    };
    assert_eq!(suspect.shape, Shape::Step);
    assert_eq!(
        (suspect.before.as_str(), suspect.version.as_str()),
        ("0.7.0", "0.8.0")
    );
    assert!((suspect.effect + 0.2).abs() < 0.01);
    let wanted = "harness run matrices/node.toml 0.7.0..0.8.0 --sessions 8";
    assert_eq!(suspect.rerun.join(" "), wanted);
    assert!(!found.has_regression());
    // Where the pairs raced, they decide.
    let mut raced = nights;
    let pair = ("0.0.0".to_owned(), "0.1.0".to_owned());
    raced[0].effects.insert(pair, (Metric::Throughput, 0.0));
    assert_eq!(History::new(&header, raced, &[], Vec::new()).suspects, []);
}

#[test]
fn runs_of_another_load_number_or_machine_may_not_be_held_against_each_other() {
    let newest = header();
    assert_eq!(why_not(&newest, &newest), None);
    let mut other = newest.clone();
    other.machine.class = "4".repeat(64);
    other.machine.kernel = "6.2.0".to_owned();
    let differs = vec!["kernel 6.2.0 in place of 6.1.0".to_owned()];
    assert_eq!(why_not(&newest, &other), Some(Why::OtherMachine(differs)));
    other.metrics = vec![Metric::Memory];
    assert_eq!(why_not(&newest, &other), Some(Why::OtherMetric));
    other.workload_key = "5".repeat(64);
    assert_eq!(why_not(&newest, &other), Some(Why::OtherLoad));
}

/// Some nights with a change of the machine and one of a version in them, and a few values missing.
fn some_nights() -> Vec<Night> {
    let truth = |version, night| {
        let machine = if night >= 20 { -0.1 } else { 0.0 };
        machine
            + if version == 1 && night >= 10 {
                0.06
            } else {
                0.0
            }
    };
    let mut all = nights((30, 5), 0.2, 8, &truth);
    for (index, night) in all.iter_mut().enumerate() {
        night.levels.remove(index % 7 % 5);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_the_journals_changes_nothing(mixed in Just(some_nights()).prop_shuffle()) {
        prop_assert_eq!(history(mixed), history(some_nights()));
    }

    #[test]
    fn the_scale_of_the_figures_changes_only_the_levels(scale in 0.001..1000.0_f64) {
        let mut scaled = some_nights();
        for level in scaled.iter_mut().flat_map(|night| &mut night.levels) {
            level.1 += scale.ln();
        }
        let (scaled, plain) = (history(scaled), history(some_nights()));
        prop_assert_eq!(sure(&scaled), sure(&plain));
        for (scaled, plain) in std::iter::zip(&scaled.versions, &plain.versions) {
            let ratio = scaled.fetches_per_second / plain.fetches_per_second / scale;
            prop_assert!((ratio - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn new_names_change_only_the_names(
        names in Just(["a", "bb", "0.0.1", "z", "10"].to_vec()).prop_shuffle(),
    ) {
        let renamed: HashMap<String, String> = (0..5)
            .map(|version| (format!("1.{version}.0"), names[version].to_owned()))
            .collect();
        let mut all = some_nights();
        for night in &mut all {
            for level in &mut night.levels {
                level.0 = renamed[&level.0].clone();
            }
            let effects = std::mem::take(&mut night.effects).into_iter();
            let effects = effects.map(|((from, to), one)| {
                ((renamed[&from].clone(), renamed[&to].clone()), one)
            });
            night.effects = effects.collect();
        }
        let rename = |of: Of| match of {
            Of::Version(id) => Of::Version(renamed[&id].clone()),
            Of::Machine | Of::Pair(..) => of,
        };
        let plain = sure(&history(some_nights())).into_iter();
        let plain: Vec<_> = plain.map(|(of, on)| (rename(of), on)).collect();
        prop_assert_eq!(sure(&history(all)), plain);
    }
}

#[test]
fn the_usual_number_of_versions_is_that_of_the_median_night() {
    let table: Table = vec![
        vec![Some(1.0), Some(1.0), None],
        vec![Some(1.0), None, None],
    ];
    assert_eq!(usual(&table, 3), 1);
}
