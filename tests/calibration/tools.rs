//! What the tools' rules are made of, held against published values and one clear case each.

use crate::suite::noise::{Noise, Plan, Random};
use crate::suite::pairs::{Tool, welch};
use crate::suite::rank::{kolmogorov_smirnov, mann_whitney, mann_whitney_normal, u};

const A: [f64; 8] = [102.1, 99.8, 101.3, 100.4, 98.9, 103.0, 100.9, 99.5];
const B: [f64; 8] = [98.7, 97.9, 99.6, 98.1, 97.0, 100.2, 98.8, 97.6];

#[test]
fn mann_whitney_agrees_with_scipy() {
    // scipy.stats.mannwhitneyu(a, b, method="exact") of SciPy 1.17, and by hand 2/252 for five below five.
    assert!((u(&A, &B) - 59.0).abs() < 1e-12);
    assert!((mann_whitney(&A, &B) - 0.002_952_602_952_603).abs() < 1e-14);
    let (low, high) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
    assert!((mann_whitney(&low, &high) - 2.0 / 252.0).abs() < 1e-14);
    assert!((mann_whitney(&low[..2], &high) - 2.0 / 21.0).abs() < 1e-14);
}

#[test]
fn the_approximations_agree_with_scipy() {
    // mannwhitneyu(a, b, method="asymptotic"); the other by the formula above with scipy.special.kolmogorov.
    assert!((mann_whitney_normal(&A, &B) - 0.005_384_940_000_147_031).abs() < 1e-12);
    assert!((kolmogorov_smirnov(&A, &B) - 0.009_766_412_646_232_91).abs() < 1e-12);
}

#[test]
fn the_t_of_welch_agrees_with_scipy() {
    // scipy.stats.ttest_ind(ln b, ln a, equal_var=False) of SciPy 1.17.
    let a = [102.1, 99.8, 101.3, 100.4, 98.9, 103.0, 100.9, 99.5_f64].map(f64::ln);
    let b = [98.7, 97.9, 99.6, 98.1, 97.0, 100.2, 98.8, 97.6_f64].map(f64::ln);
    assert!((welch(&b, &a) + 3.683_098_612_783_72).abs() < 1e-10);
}

#[test]
fn every_tool_sees_a_tenth_and_none_sees_nothing_in_equal_numbers() {
    let mut random = Random::new(1);
    let mut plan = Plan::null(Noise::Normal, 2, 12);
    plan.sd = 0.01;
    plan.effects = vec![-0.1];
    for tool in Tool::ALL {
        assert_eq!(tool.flags(&plan, &mut random), [true], "{tool:?}");
    }
}
