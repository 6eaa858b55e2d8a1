//! Judges again what `benches/real.sh` measured: pairs of real servers whose difference is known.
//!
//! `cargo test --test real -- --nocapture` prints the table of `docs/method.md`.

mod count;
mod sessions;

use std::collections::BTreeMap;

use count::Count;
use harness::journal::{Header, Run};
use sessions::Name;
use statrs::distribution::{Binomial, DiscreteCDF};

const TABLE: &str = include_str!("../data/real.csv");
const HEADER: &str = include_str!("../data/real-header.json");

fn runs() -> BTreeMap<Name, Run> {
    let header: Header = serde_json::from_str(HEADER).expect("a header");
    sessions::runs(TABLE, &header)
}

/// Returns what was concluded of the pairs of one size, of all servers and machines together.
fn all(runs: &BTreeMap<Name, Run>, size: i32) -> Count {
    let mut all = Count::default();
    for ((_, _, truth), count) in count::count(runs) {
        if truth == size {
            all.pairs += count.pairs;
            all.found += count.found;
            all.wrong += count.wrong;
            all.below += count.below;
        }
    }
    all
}

/// Returns the two-sided p value of a coin that fell on one side so often.
fn sign_p(one_side: usize, tosses: usize) -> f64 {
    let fewer = one_side.min(tosses - one_side);
    let coin = Binomial::new(0.5, tosses as u64).expect("a fair coin");
    (2.0 * coin.cdf(fewer as u64)).min(1.0)
}

#[test]
fn of_a_hundred_equal_pairs_one_at_most_is_flagged() {
    let runs = runs();
    print!("{}", count::table(&count::count(&runs)));
    let equal = all(&runs, 0);
    assert!(equal.pairs >= 100, "{equal:?}");
    assert!(equal.wrong <= 1, "{equal:?}");
    // Either side is as likely as the other: the two-sided sign test does not refute it at 1 %.
    assert!(sign_p(equal.below, equal.pairs) > 0.01, "{equal:?}");
}

#[test]
fn changes_of_2_and_5_percent_are_found_in_19_of_20() {
    let runs = runs();
    for size in [2, 5] {
        let changed = all(&runs, size);
        assert_eq!(changed.wrong, 0, "{size} %: {changed:?}");
        assert!(
            20 * changed.found >= 19 * changed.pairs,
            "{size} %: {changed:?}"
        );
    }
}

#[test]
fn the_table_is_read_as_it_is_written() {
    let mut text = format!("{}\n", sessions::HEAD);
    for (name, run) in &runs() {
        text.push_str(&sessions::written(name, run));
    }
    assert_eq!(text, TABLE);
}
