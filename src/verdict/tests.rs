//! Tests of judging whole runs.

use proptest::prelude::*;

use super::fixture::{NOISE, fail, measure, race, run, sample, session, solo, window};
use super::signs::signs;
use super::*;
use crate::journal::{Built, Launched, Purpose, Run, Sharing};
use crate::matrix::{Compare, Design, Rule};
use crate::outcome::{GapKind, Resources, Sample};
use crate::version::Order;

const STEP_DOWN: [(usize, f64); 2] = [(0, 8000.0), (1, 7600.0)];

/// Makes a run of two versions, the second 5 % slower.
fn step_down() -> Run {
    let mut run = run(&["1.0.0", "2.0.0"]);
    measure(&mut run, Purpose::Measure, &STEP_DOWN, &NOISE);
    run
}

fn only(run: &Run) -> Comparison {
    let judgement = judge(run);
    assert_eq!(judgement.comparisons.len(), 1);
    judgement.comparisons.into_iter().next().unwrap()
}

#[test]
fn a_candidate_5_percent_slower_is_a_regression() {
    let comparison = only(&step_down());
    assert_eq!(comparison.verdict, Verdict::Regression);
    assert_eq!(comparison.metric, Metric::Throughput);
    assert_eq!((comparison.sessions, comparison.confirmed), (8, None));
    let (low, high) = comparison.interval.unwrap();
    assert!(low < 0.95_f64.ln() && 0.95_f64.ln() < high && high < 0.0);
    assert_eq!(comparison.sessions_needed, None);
    assert_eq!(comparison.warnings, []);
}

#[test]
fn other_names_change_nothing() {
    let named = step_down();
    let mut renamed = named.clone();
    renamed.header.cells = run(&["zebra", "ape"]).header.cells;
    assert_eq!(judge(&named), judge(&renamed));
}

#[test]
fn two_equal_versions_are_the_same() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    measure(
        &mut run,
        Purpose::Measure,
        &[(0, 8000.0), (1, 8000.0)],
        &NOISE,
    );
    assert_eq!(only(&run).verdict, Verdict::Same);
}

#[test]
fn two_sessions_decide_nothing_however_clear_they_look() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    measure(&mut run, Purpose::Measure, &STEP_DOWN, &[0.0, 0.0001]);
    let comparison = only(&run);
    assert_eq!(comparison.verdict, Verdict::Unknown);
    assert_eq!(comparison.adjusted_p, None);
    assert!(comparison.warnings.contains(&Warning::FewSessions {
        held: 2,
        planned: 8
    }));
}

#[test]
fn wide_noise_is_unknown_and_says_how_many_more_sessions_it_would_take() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    let wide: Vec<f64> = NOISE.iter().map(|noise| noise * 8.0).collect();
    measure(
        &mut run,
        Purpose::Measure,
        &[(0, 8000.0), (1, 7900.0)],
        &wide,
    );
    let comparison = only(&run);
    assert_eq!(comparison.verdict, Verdict::Unknown);
    assert!(comparison.sessions_needed.unwrap() > 8);
}

#[test]
fn a_certain_effect_below_the_minimum_is_not_flagged() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    let quiet: Vec<f64> = NOISE.iter().map(|noise| noise / 20.0).collect();
    for noise in quiet {
        race(
            &mut run,
            Purpose::Measure,
            &[(0, 8000.0), (1, 8000.0 * (0.994 + noise))],
        );
    }
    let comparison = only(&run);
    assert!(comparison.adjusted_p.unwrap() < 0.001);
    assert_eq!(comparison.verdict, Verdict::Same);
}

/// Judges pairs by a single look.
fn once(pairs: &[Evidence], rule: &Rule) -> Vec<Comparison> {
    let judged = decide(pairs, rule, Looks::once()).into_iter();
    judged.map(|one| one.comparison).collect()
}

/// Judges one pair alone.
fn judged(values: &[f64], alpha: f64) -> Comparison {
    let rule = Rule {
        alpha,
        ..step_down().header.rule
    };
    once(&[evidence(values.to_vec())], &rule).remove(0)
}

#[test]
fn below_six_sessions_all_signs_must_agree() {
    let verdict = |last| judged(&[-0.2, -0.3, -0.1, -0.25, last], 0.5).verdict;
    assert_eq!(verdict(0.02), Verdict::Unknown);
    assert_eq!(verdict(-0.02), Verdict::Regression);
}

#[test]
fn one_wild_session_is_set_aside_and_decides_nothing() {
    let mut values = NOISE.to_vec();
    values[3] = -0.4;
    let comparison = judged(&values, 0.05);
    assert_eq!(
        (comparison.verdict, comparison.sessions),
        (Verdict::Same, 7)
    );
    assert!(comparison.effect.unwrap().abs() < 0.003);
    assert_eq!(comparison.warnings, [Warning::SetAside { sessions: 1 }]);
}

#[test]
fn one_wild_session_hides_no_regression() {
    let mut values: Vec<f64> = NOISE.iter().map(|noise| noise - 0.03).collect();
    values[3] = 0.4;
    let comparison = judged(&values, 0.05);
    assert_eq!(comparison.verdict, Verdict::Regression);
}

#[test]
fn sessions_set_aside_are_not_missing() {
    let mut run = step_down();
    race(&mut run, Purpose::Measure, &[(0, 8000.0), (1, 3000.0)]);
    (run.header.sessions.least, run.header.sessions.count) = (9, 9);
    let comparison = only(&run);
    assert_eq!(comparison.sessions, 8);
    assert_eq!(comparison.warnings, [Warning::SetAside { sessions: 1 }]);
}

#[test]
fn a_pair_is_judged_by_the_noise_of_all() {
    // Four sessions whose own spread says little: alone they decide nothing at 5 %, among nine pairs as quiet they do.
    let few = [-0.012, -0.03, -0.022, -0.018];
    assert_eq!(judged(&few, 0.005).verdict, Verdict::Unknown);
    let mut pairs = vec![evidence(few.to_vec())];
    pairs.extend(std::iter::repeat_n(evidence(NOISE.to_vec()), 8));
    let rule = step_down().header.rule;
    assert_eq!(once(&pairs, &rule)[0].verdict, Verdict::Regression);
}

#[test]
fn fresh_sessions_confirm_a_flag_and_are_pooled_into_its_effect() {
    let mut run = step_down();
    measure(
        &mut run,
        Purpose::Confirm,
        &[(0, 8000.0), (1, 7760.0)],
        &NOISE,
    );
    let comparison = only(&run);
    assert_eq!(comparison.verdict, Verdict::Regression);
    assert_eq!(
        (comparison.confirmed, comparison.sessions),
        (Some(true), 16)
    );
    let between = f64::midpoint(0.95_f64.ln(), 0.97_f64.ln());
    assert!((comparison.effect.unwrap() - between).abs() < 0.002);
}

#[test]
fn a_flag_that_fresh_sessions_do_not_show_again_becomes_unknown_and_stays_planned_for() {
    let mut run = step_down();
    measure(
        &mut run,
        Purpose::Confirm,
        &[(0, 8000.0), (1, 8000.0)],
        &NOISE,
    );
    let judgement = judge(&run);
    let comparison = &judgement.comparisons[0];
    assert_eq!(
        (comparison.verdict, comparison.confirmed),
        (Verdict::Unknown, Some(false))
    );
    assert!(comparison.warnings.contains(&Warning::NotConfirmed));
    assert_eq!(judgement.held[0].fresh, 8);
}

#[test]
fn fresh_sessions_that_show_the_opposite_do_not_confirm() {
    let mut run = step_down();
    measure(
        &mut run,
        Purpose::Confirm,
        &[(0, 8000.0), (1, 8400.0)],
        &NOISE,
    );
    assert_eq!(only(&run).confirmed, Some(false));
}

#[test]
fn three_fresh_sessions_leave_a_flag_open() {
    let mut run = step_down();
    measure(
        &mut run,
        Purpose::Confirm,
        &[(0, 8000.0), (1, 8000.0)],
        &NOISE[..3],
    );
    let comparison = only(&run);
    assert_eq!(
        (comparison.verdict, comparison.confirmed),
        (Verdict::Regression, None)
    );
}

#[test]
fn where_no_confirmation_is_asked_for_none_is_taken() {
    let mut run = step_down();
    run.header.rule.confirm = false;
    measure(
        &mut run,
        Purpose::Confirm,
        &[(0, 8000.0), (1, 8000.0)],
        &NOISE,
    );
    assert_eq!(only(&run).confirmed, None);
}

#[test]
fn a_pause_of_one_server_is_a_part_of_what_it_costs() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    for noise in NOISE {
        // Equal in nine windows of ten, and silent in the tenth.
        race(
            &mut run,
            Purpose::Measure,
            &[(0, 1000.0), (1, 900.0 * (1.0 + noise))],
        );
        for answers in [[1000, 1000]; 9].into_iter().chain([[1000, 0]]) {
            window(&mut run, &answers);
        }
    }
    let comparison = only(&run);
    assert_eq!(comparison.verdict, Verdict::Regression);
    assert!((comparison.effect.unwrap() - 0.9_f64.ln()).abs() < 0.002);
}

#[test]
fn a_launch_that_gave_no_sample_takes_no_part() {
    let mut run = run(&["1.0.0", "2.0.0", "3.0.0"]);
    let gap = Launched::Gap(Gap::new(GapKind::Crashed, "it died"));
    let good = |rate| Launched::Sample(Box::new(sample(rate, 2.5)));
    let launches = vec![(0, gap), (2, good(300.0)), (1, good(100.0))];
    session(&mut run, Purpose::Measure, Design::Race, launches);
    let judgement = judge(&run);
    assert_eq!(judgement.comparisons.len(), 1);
    assert!((judgement.comparisons[0].effect.unwrap() - 3.0_f64.ln()).abs() < 1e-12);
}

/// Adds a race of two for each noise; the second server gets `rate` × the first one's answers and `cpu` × its CPU time.
fn race_with_shares(run: &mut Run, rate: f64, cpu: f64) {
    for noise in NOISE {
        let second = sample(
            1000.0 * rate * (1.0 + noise),
            3.0 * cpu * (1.0 + noise / 10.0),
        );
        let launches = vec![
            (0, Launched::Sample(Box::new(sample(1000.0, 3.0)))),
            (1, Launched::Sample(Box::new(second))),
        ];
        session(run, Purpose::Measure, Design::Race, launches);
    }
}

/// Adds solo trials that used the CPU for these shares of their time.
fn alone(run: &mut Run, used: [f64; 2]) {
    for (cell, used) in used.into_iter().enumerate() {
        let launched = Launched::Sample(Box::new(sample(2000.0, 10.0 * used)));
        session(run, Purpose::Measure, Design::Solo, vec![(cell, launched)]);
    }
}

#[test]
fn a_version_that_waits_is_slower_and_not_a_victim_of_an_unfair_race() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    alone(&mut run, [0.99, 0.30]);
    // Half the answers for half the CPU time: the same by CPU time per answer.
    race_with_shares(&mut run, 0.5, 0.5);
    let comparison = only(&run);
    assert_eq!(comparison.metric, Metric::Throughput);
    assert_eq!(comparison.verdict, Verdict::Regression);
    assert_eq!(comparison.warnings, [Warning::Waits { cell: 1 }]);
}

#[test]
fn shares_that_differ_a_little_but_always_are_no_effect() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    alone(&mut run, [0.99, 0.98]);
    race_with_shares(&mut run, 1.03, 1.03);
    let comparison = only(&run);
    assert_eq!(comparison.metric, Metric::CpuPerAnswer);
    assert!(comparison.effect.unwrap().abs() < 0.002, "{comparison:?}");
}

#[test]
fn shares_that_differ_by_less_than_half_the_least_effect_leave_throughput_to_decide() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    alone(&mut run, [0.99, 0.98]);
    race_with_shares(&mut run, 1.004, 1.004);
    assert_eq!(only(&run).metric, Metric::Throughput);
}

#[test]
fn a_server_that_got_more_cpu_time_is_judged_by_cpu_time_per_answer() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    for noise in NOISE {
        // A fifth more answers, but with a third more CPU time: 10 % slower by CPU time per answer.
        let mut fast = sample(1200.0 * (1.0 + noise), 4.0);
        fast.resources.threads += 1;
        let launches = vec![
            (0, Launched::Sample(Box::new(sample(1000.0, 3.0)))),
            (1, Launched::Sample(Box::new(fast))),
        ];
        session(&mut run, Purpose::Measure, Design::Race, launches);
    }
    let comparison = only(&run);
    assert_eq!(comparison.metric, Metric::CpuPerAnswer);
    assert_eq!(comparison.verdict, Verdict::Regression);
    assert!((comparison.effect.unwrap() - 0.9_f64.ln()).abs() < 0.002);
    let Warning::UnfairRace {
        difference,
        threads,
    } = comparison.warnings[0]
    else {
        panic!("{:?}", comparison.warnings);
    };
    assert!((difference - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!(threads, Some((11, 12)));
    for session in &mut run.sessions {
        session.sharing = Sharing::CgroupV2;
    }
    let by_groups = &only(&run).warnings[0];
    assert!(
        matches!(by_groups, Warning::UnfairRace { threads: None, .. }),
        "threads are no reason then: {by_groups:?}"
    );
}

#[test]
fn where_the_client_was_the_limit_cpu_time_per_answer_decides() {
    let mut run = step_down();
    for session in run.sessions.iter_mut().rev().take(5) {
        session.client.generator_bound = true;
    }
    let comparison = only(&run);
    assert_eq!(comparison.metric, Metric::CpuPerAnswer);
    assert_eq!(comparison.sessions, 8);
    assert_eq!(
        comparison.warnings,
        [Warning::GeneratorBound { sessions: 5 }]
    );
}

#[test]
fn answers_per_second_of_the_few_sessions_that_the_client_limited_do_not_count() {
    let mut run = step_down();
    for session in run.sessions.iter_mut().rev().take(3) {
        session.client.generator_bound = true;
        let Launched::Sample(sample) = &mut session.launches[1].outcome else {
            panic!("a race holds samples");
        };
        sample.load.answers *= 2;
    }
    let comparison = only(&run);
    assert_eq!(
        (comparison.metric, comparison.sessions),
        (Metric::Throughput, 5)
    );
    assert!((comparison.effect.unwrap() - 0.95_f64.ln()).abs() < 0.01);
    let bound = Warning::GeneratorBound { sessions: 3 };
    assert!(comparison.warnings.contains(&bound));
    assert!(comparison.warnings.contains(&Warning::FewSessions {
        held: 5,
        planned: 8
    }));
}

#[test]
fn sessions_of_older_journals_are_judged_by_how_busy_each_side_was() {
    let mut run = step_down();
    for session in &mut run.sessions {
        session.client_share = 0.99;
        session.server_share = 0.7;
    }
    assert_eq!(
        only(&run).metric,
        Metric::Throughput,
        "a session would say so"
    );
    run.header.schema = 2;
    assert_eq!(only(&run).metric, Metric::CpuPerAnswer);
}

#[test]
fn in_every_design_the_client_may_be_the_limit() {
    for design in [Design::Slices, Design::Solo] {
        let mut run = run(&["1.0.0", "2.0.0"]);
        run.header.sessions.design = design;
        for noise in NOISE {
            let sample = |rate| Launched::Sample(Box::new(sample(rate, 5.0)));
            let launches = vec![(0, sample(8000.0)), (1, sample(7600.0 * (1.0 + noise)))];
            let sessions = match design {
                Design::Solo => launches.into_iter().map(|launch| vec![launch]).collect(),
                Design::Race | Design::Slices => vec![launches],
            };
            for launches in sessions {
                session(&mut run, Purpose::Measure, design, launches);
            }
        }
        assert_eq!(only(&run).metric, Metric::Throughput);
        for session in &mut run.sessions {
            session.client.generator_bound = session.launches.iter().any(|one| one.cell == 0);
        }
        let comparison = only(&run);
        let bound = Warning::GeneratorBound { sessions: 8 };
        assert_eq!(comparison.metric, Metric::CpuPerAnswer, "{design:?}");
        assert!(comparison.warnings.contains(&bound), "{design:?}");
    }
}

#[test]
fn slices_need_no_equal_shares() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    run.header.sessions.design = Design::Slices;
    alone(&mut run, [0.99, 0.98]);
    race_with_shares(&mut run, 1.1, 1.2);
    for session in run.sessions.iter_mut().skip(2) {
        session.design = Design::Slices;
    }
    let comparison = only(&run);
    assert_eq!(comparison.metric, Metric::Throughput);
    assert!((comparison.effect.unwrap() - 1.1_f64.ln()).abs() < 0.002);
    assert_eq!(comparison.warnings, []);
}

#[test]
fn each_server_of_a_session_in_slices_is_measured_over_its_own_time() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    run.header.sessions.design = Design::Slices;
    for noise in NOISE {
        let first = sample(1000.0, 3.0);
        // It was loaded for half as long and gave half as much.
        let mut second = sample(1000.0 * (1.0 + noise), 3.0);
        second.load.answers /= 2;
        second.load.seconds /= 2.0;
        let launches = [first, second].map(|sample| Launched::Sample(Box::new(sample)));
        let launches = launches.into_iter().enumerate().collect();
        session(&mut run, Purpose::Measure, Design::Slices, launches);
    }
    assert_eq!(only(&run).verdict, Verdict::Same);
}

/// Makes a run at a rate of 1,000 requests per second that both versions keep, the second with 5 % more CPU time.
fn at_a_rate() -> Run {
    let mut run = run(&["1.0.0", "2.0.0"]);
    run.header.workload.manner.rate = Some(1000);
    for noise in NOISE {
        let launches = vec![
            (0, Launched::Sample(Box::new(sample(1000.0, 2.0)))),
            (
                1,
                Launched::Sample(Box::new(sample(1000.0, 2.1 * (1.0 + noise)))),
            ),
        ];
        session(&mut run, Purpose::Measure, Design::Race, launches);
    }
    run
}

#[test]
fn at_a_given_rate_cpu_time_per_answer_decides() {
    let comparison = only(&at_a_rate());
    assert_eq!(comparison.metric, Metric::CpuPerAnswer);
    assert_eq!(comparison.verdict, Verdict::Regression);
    assert_eq!(
        comparison.warnings,
        [],
        "unequal CPU time is the finding itself"
    );
}

#[test]
fn at_a_given_rate_nothing_decides_where_the_cpu_time_is_not_known() {
    let mut run = at_a_rate();
    for launch in run
        .sessions
        .iter_mut()
        .flat_map(|session| &mut session.launches)
    {
        let Launched::Sample(sample) = &mut launch.outcome else {
            panic!("all are samples");
        };
        sample.resources.cpu_seconds = 0.0;
    }
    let comparison = only(&run);
    assert_eq!(
        (comparison.verdict, comparison.sessions),
        (Verdict::Unknown, 0)
    );
    assert!(comparison.warnings.contains(&Warning::OnlyRate));
}

#[test]
fn solo_trials_that_the_client_limited_set_no_level_while_there_are_others() {
    let mut run = run(&["1.0.0"]);
    solo(&mut run, 0, 8000.0);
    solo(&mut run, 0, 6000.0);
    run.sessions[1].client.generator_bound = true;
    let level = |run: &Run| judge(run).levels[0].fetches_per_second;
    assert!((level(&run) - 8000.0).abs() < 1e-6);
    assert_eq!(signs(&run, 0), []);
    run.sessions.remove(0);
    assert!((level(&run) - 6000.0).abs() < 1e-6);
    assert_eq!(signs(&run, 0), [Sign::AtLeast { cell: 0 }]);
}

#[test]
fn launches_that_were_still_warming_up_are_counted() {
    let mut run = step_down();
    for session in run.sessions.iter_mut().rev().take(2) {
        let Launched::Sample(sample) = &mut session.launches[0].outcome else {
            panic!("a race holds samples");
        };
        sample.steady = false;
    }
    assert_eq!(only(&run).warnings, [Warning::Unsteady { launches: 2 }]);
}

#[test]
fn a_version_whose_launches_settle_at_two_levels_is_named_and_its_rivals_are_not() {
    let mut run = run(&["1.0.0", "2.0.0", "3.0.0", "4.0.0"]);
    for (index, noise) in NOISE.into_iter().enumerate() {
        // The machine itself is a quarter slower in every third session, for all.
        let machine = if index % 3 == 0 { 0.75 } else { 1.0 };
        let slow = if index % 2 == 0 { 0.7 } else { 1.0 };
        let rates = [1.0 + noise, slow, 1.0 - noise, 1.0 + noise / 2.0];
        let raced: Vec<(usize, f64)> = rates
            .iter()
            .enumerate()
            .map(|(cell, rate)| (cell, 2000.0 * machine * rate))
            .collect();
        race(&mut run, Purpose::Measure, &raced);
    }
    let warned: Vec<Vec<Warning>> = judge(&run)
        .comparisons
        .into_iter()
        .map(|comparison| comparison.warnings)
        .collect();
    let bimodal = || vec![Warning::Bimodal { cell: 1 }];
    assert_eq!(warned, [bimodal(), bimodal(), vec![]]);
}

#[test]
fn other_company_is_not_another_level() {
    let mut run = run(&["1.0.0", "2.0.0", "3.0.0"]);
    let rates = [(0, 8000.0), (1, 7000.0), (2, 8000.0)];
    measure(&mut run, Purpose::Measure, &rates, &NOISE);
    // Two servers alone need a tenth less CPU time per answer than three.
    let faster = [(0, 8800.0), (1, 7700.0)];
    measure(&mut run, Purpose::Confirm, &faster, &NOISE);
    let warned = judge(&run)
        .comparisons
        .into_iter()
        .flat_map(|comparison| comparison.warnings);
    assert_eq!(warned.collect::<Vec<_>>(), []);
}

#[test]
fn neighbours_meet_across_gaps_and_the_gaps_are_named() {
    let mut run = run(&["1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0"]);
    run.builds
        .insert(1, Built::Gap(Gap::new(GapKind::Failed, "it did not link")));
    run.given_up
        .insert(2, Gap::new(GapKind::Exited, "it ended"));
    measure(
        &mut run,
        Purpose::Measure,
        &[(0, 8000.0), (2, 8000.0), (3, 7000.0)],
        &NOISE,
    );
    fail(&mut run, 4, Gap::new(GapKind::NotReady, "first"));
    fail(&mut run, 4, Gap::new(GapKind::WrongAnswer, "last"));
    let judgement = judge(&run);
    let pair = Pair {
        baseline: 0,
        candidate: 3,
        skipped: vec![1, 2],
    };
    assert_eq!(judgement.comparisons.len(), 1);
    assert_eq!(judgement.comparisons[0].pair, pair);
    assert_eq!(judgement.comparisons[0].verdict, Verdict::Regression);
    let gaps: Vec<(usize, GapKind)> = judgement
        .gaps
        .iter()
        .map(|(cell, gap)| (*cell, gap.kind))
        .collect();
    assert_eq!(
        gaps,
        [
            (1, GapKind::Failed),
            (2, GapKind::Exited),
            (4, GapKind::WrongAnswer)
        ]
    );
    assert!(judgement.pending.is_empty());
    assert_eq!(judgement.levels.len(), 2);
}

#[test]
fn a_cell_that_was_not_come_to_is_pending_and_one_without_answers_a_gap() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    solo(&mut run, 1, 0.0);
    let judgement = judge(&run);
    assert_eq!(judgement.pending, [0]);
    assert_eq!(judgement.gaps[0].1.kind, GapKind::Stalled);
    assert_eq!((judgement.comparisons, judgement.levels), (vec![], vec![]));
}

#[test]
fn cells_with_other_axes_are_no_neighbours() {
    let mut run = run(&["1.0.0", "1.0.0 body=buffer", "2.0.0", "2.0.0 body=buffer"]);
    for cell in [1, 3] {
        run.header.cells[cell]
            .axes
            .insert("body".to_owned(), "buffer".to_owned());
    }
    let all = |_| true;
    let neighbours: Vec<(usize, usize)> = run
        .header
        .pairs(&all)
        .iter()
        .map(|p| (p.baseline, p.candidate))
        .collect();
    assert_eq!(neighbours, [(0, 2), (1, 3)]);
}

#[test]
fn levels_agree_with_verdicts_in_a_star_and_in_any_tree() {
    let mut run = run(&["1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0"]);
    let rates = [8000.0, 7600.0, 8000.0, 7200.0, 7900.0];
    let rates: Vec<(usize, f64)> = rates.into_iter().enumerate().collect();
    measure(&mut run, Purpose::Measure, &rates, &NOISE);
    let star = Compare::Reference("3.0.0".to_owned());
    let parents = ["", "1.0.0", "1.0.0", "3.0.0", "2.0.0"];
    for (cell, parent) in run.header.cells.iter_mut().zip(parents) {
        cell.version.parent = Some(parent.to_owned());
    }
    let rules = [
        (Order::Semver, star, [(2, 0), (2, 1), (2, 3), (2, 4)]),
        (
            Order::Topo,
            Compare::Lineage,
            [(0, 1), (0, 2), (2, 3), (1, 4)],
        ),
    ];
    for (order, compare, wanted) in rules {
        (run.header.order, run.header.compare) = (order, compare);
        let judgement = judge(&run);
        let level = |cell: usize| judgement.levels[cell].fetches_per_second.ln();
        let mut pairs = Vec::new();
        for comparison in &judgement.comparisons {
            let pair = &comparison.pair;
            let between = level(pair.candidate) - level(pair.baseline);
            assert!((between - comparison.effect.unwrap()).abs() < 1e-12);
            pairs.push((pair.baseline, pair.candidate));
        }
        assert_eq!(pairs, wanted);
        let mut mixed = judgement.comparisons.clone();
        mixed.reverse();
        let again = levels::fit(
            &run,
            (&|_| true, &std::collections::BTreeSet::new()),
            &mixed,
        );
        for (one, other) in again.iter().zip(&judgement.levels) {
            assert!((one.fetches_per_second / other.fetches_per_second - 1.0).abs() < 1e-12);
        }
        assert_eq!(again.len(), 5);
    }
}

#[test]
fn in_the_solo_design_the_kth_trials_are_held_against_each_other() {
    let mut run = run(&["1.0.0", "2.0.0"]);
    run.header.sessions.design = Design::Solo;
    for noise in NOISE {
        solo(&mut run, 0, 8000.0 * (1.0 + 20.0 * noise));
        solo(&mut run, 1, 7200.0 * (1.0 + 20.0 * noise));
    }
    let comparison = only(&run);
    assert_eq!(
        (comparison.verdict, comparison.sessions),
        (Verdict::Regression, 8)
    );
    // Counts are whole, a part in 70,000 of a trial.
    assert!((comparison.effect.unwrap() - 0.9_f64.ln()).abs() < 2e-5);
}

#[test]
fn rows_agree_with_verdicts_and_solo_trials_set_the_level() {
    let mut run = run(&["1.0.0", "2.0.0", "3.0.0", "4.0.0"]);
    let rates = [(0, 8000.0), (1, 7600.0), (2, 8100.0)];
    measure(&mut run, Purpose::Measure, &rates, &NOISE);
    solo(&mut run, 0, 8400.0);
    solo(&mut run, 3, 500.0);
    run.sessions
        .retain(|session| session.launches[0].cell != 3 || session.design == Design::Solo);
    let judgement = judge(&run);
    let level = |cell: usize| judgement.levels[cell].fetches_per_second.ln();
    for comparison in &judgement.comparisons[..2] {
        let between = level(comparison.pair.candidate) - level(comparison.pair.baseline);
        assert!((between - comparison.effect.unwrap()).abs() < 1e-12);
    }
    let alone = [
        f64::midpoint(8000_f64.ln(), 8400_f64.ln()),
        7600_f64.ln(),
        8100_f64.ln(),
    ];
    let fitted: f64 = (0..3).map(level).sum();
    assert!((fitted - alone.iter().sum::<f64>()).abs() < 1e-9);
    assert!((judgement.levels[3].fetches_per_second - 500.0).abs() < 1e-9);
    assert_eq!(judgement.levels[3].relative_error, None);
    assert!(
        judgement
            .levels
            .iter()
            .take(3)
            .all(|level| level.relative_error.unwrap() > 0.0)
    );
}

/// Makes a run in which the second version takes 10 % more memory and 20 % less time to start, and is as fast.
fn several_numbers() -> Run {
    let mut run = run(&["1.0.0", "2.0.0"]);
    run.header.metrics = vec![
        Metric::Throughput,
        Metric::CpuPerAnswer,
        Metric::Memory,
        Metric::Startup,
    ];
    measure(
        &mut run,
        Purpose::Measure,
        &[(0, 8000.0), (1, 8000.0)],
        &NOISE,
    );
    for (index, sample) in (0..).zip(samples_of(&mut run, 1)) {
        sample.resources.pss_bytes = Some((44 << 20) + index % 4 * 4096);
        sample.startup_ms = if index % 4 == 0 { 36.1 } else { 36.0 };
    }
    run
}

/// Returns the samples of one version.
fn samples_of(run: &mut Run, cell: usize) -> impl Iterator<Item = &mut Box<Sample>> {
    let launches = run
        .sessions
        .iter_mut()
        .flat_map(|session| &mut session.launches);
    let own = launches.filter(move |launch| launch.cell == cell);
    own.filter_map(|launch| match &mut launch.outcome {
        Launched::Sample(sample) => Some(sample),
        Launched::Gap(_) => None,
    })
}

#[test]
fn each_further_metric_is_judged_in_its_own_direction() {
    let judgement = judge(&several_numbers());
    assert_eq!(judgement.comparisons[0].verdict, Verdict::Same);
    let others: Vec<(Metric, Verdict)> = judgement
        .others
        .iter()
        .map(|other| (other.metric, other.verdict))
        .collect();
    assert_eq!(
        others,
        [
            (Metric::CpuPerAnswer, Verdict::Same),
            (Metric::Memory, Verdict::Regression),
            (Metric::Startup, Verdict::Improvement),
        ]
    );
    let effects = judgement.others.iter().map(|other| other.effect.unwrap());
    for (effect, ratio) in effects.zip([1.0, 40.0 / 44.0, 45.0 / 36.0_f64]) {
        assert!((effect - ratio.ln()).abs() < 0.002, "{effect} {ratio}");
    }
}

#[test]
fn a_metric_that_the_main_one_fell_to_is_not_judged_twice() {
    let mut run = several_numbers();
    for session in &mut run.sessions {
        session.client.generator_bound = true;
    }
    let judgement = judge(&run);
    assert_eq!(judgement.comparisons[0].metric, Metric::CpuPerAnswer);
    let others: Vec<Metric> = judgement.others.iter().map(|other| other.metric).collect();
    assert_eq!(others, [Metric::Memory, Metric::Startup]);
}

#[test]
fn any_metric_may_be_the_main_one_and_stays_it() {
    let mut run = several_numbers();
    run.header.metrics = vec![Metric::Memory, Metric::Throughput];
    for session in &mut run.sessions {
        session.client.generator_bound = true;
    }
    let judgement = judge(&run);
    assert_eq!(judgement.comparisons[0].metric, Metric::Memory);
    assert_eq!(judgement.comparisons[0].verdict, Verdict::Regression);
    let mut levels = judgement
        .levels
        .iter()
        .map(|level| level.fetches_per_second);
    assert!(levels.all(|level| (level / 8000.0 - 1.0).abs() < 1e-9));
    assert_eq!(judgement.others[0].metric, Metric::CpuPerAnswer);
    let bound = Warning::GeneratorBound { sessions: 8 };
    assert_eq!(judgement.others[0].warnings, [bound]);
}

#[test]
fn of_servers_that_ran_already_neither_memory_nor_start_are_known() {
    let mut run = several_numbers();
    for cell in [0, 1] {
        for sample in samples_of(&mut run, cell) {
            sample.resources = Resources::default();
            sample.startup_ms = 0.0;
        }
    }
    for other in judge(&run).others {
        assert_eq!((other.verdict, other.sessions), (Verdict::Unknown, 0));
        assert!(other.warnings.contains(&Warning::NotMeasured));
    }
}

#[test]
fn memory_is_held_against_memory_of_the_same_kind() {
    let mut run = several_numbers();
    for sample in samples_of(&mut run, 1) {
        sample.resources.pss_bytes = None;
    }
    let memory = &judge(&run).others[1];
    assert_eq!(memory.effect, Some(0.0), "both resident sets are 50 MiB");
}

#[test]
fn latency_in_sessions_whose_pace_the_client_set_does_not_count() {
    let mut run = at_a_rate();
    run.header.metrics.push(Metric::Latency);
    for session in run.sessions.iter_mut().take(3) {
        session.client.generator_bound = true;
    }
    let latency = &judge(&run).others[0];
    assert_eq!((latency.metric, latency.sessions), (Metric::Latency, 5));
}

/// Makes evidence of a pair from its sessions held to measure.
pub(super) fn evidence(measure: Vec<f64>) -> Evidence {
    Evidence {
        pair: Pair {
            baseline: 0,
            candidate: 1,
            skipped: vec![],
        },
        metric: Metric::Throughput,
        attempts: measure.len(),
        measure,
        confirm: vec![],
        alone: vec![],
        warnings: vec![],
    }
}

/// Makes a run of two versions from the answers per second of its races.
fn raced(rates: &[(u32, u32)], order: [usize; 2], scale: u32) -> Run {
    let mut run = run(&["1.0.0", "2.0.0"]);
    for (first, second) in rates {
        let scaled = |rate: &u32| f64::from(rate * scale);
        race(
            &mut run,
            Purpose::Measure,
            &[(order[0], scaled(first)), (order[1], scaled(second))],
        );
    }
    run
}

fn rates() -> impl Strategy<Value = Vec<(u32, u32)>> {
    let rate = || 1000..1080_u32;
    let step = prop_oneof![Just(0_u32), Just(60)];
    (prop::collection::vec((rate(), rate()), 0..14), step)
        .prop_map(|(rates, step)| rates.into_iter().map(|(a, b)| (a, b + step)).collect())
}

fn mirror(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Regression => Verdict::Improvement,
        Verdict::Improvement => Verdict::Regression,
        Verdict::Same | Verdict::Unknown | Verdict::Incomparable => verdict,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn swapping_baseline_and_candidate_mirrors_the_verdict(rates in rates()) {
        prop_assume!(!rates.is_empty());
        let there = only(&raced(&rates, [0, 1], 1));
        let back = only(&raced(&rates, [1, 0], 1));
        prop_assert_eq!(there.verdict, mirror(back.verdict));
        prop_assert!((there.effect.unwrap() + back.effect.unwrap()).abs() < 1e-12);
        prop_assert_eq!(there.sessions_needed, back.sessions_needed);
    }

    #[test]
    fn a_faster_machine_changes_no_verdict(rates in rates(), scale in 2..50_u32) {
        prop_assume!(!rates.is_empty());
        let slow = only(&raced(&rates, [0, 1], 1));
        let fast = only(&raced(&rates, [0, 1], scale));
        prop_assert_eq!(slow.verdict, fast.verdict);
        prop_assert!((slow.effect.unwrap() - fast.effect.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn the_order_of_pairs_and_the_way_round_change_nothing_but_signs(
        sets in prop::collection::vec((prop::collection::vec(-0.02..0.02_f64, 3..13), -0.05..0.05_f64), 1..6),
    ) {
        let pairs = |sign: f64| -> Vec<Evidence> {
            let values = |(noise, effect): &(Vec<f64>, f64)| noise.iter().map(|one| sign * (one + effect)).collect();
            sets.iter().map(values).map(evidence).collect()
        };
        let rule = step_down().header.rule;
        let there = once(&pairs(1.0), &rule);
        let mut back = pairs(-1.0);
        back.reverse();
        for (there, back) in std::iter::zip(there, once(&back, &rule).into_iter().rev()) {
            prop_assert_eq!(there.verdict, mirror(back.verdict));
            prop_assert!((there.effect.unwrap() + back.effect.unwrap()).abs() < 1e-12);
            prop_assert_eq!(there.sessions, back.sessions);
        }
    }
}
