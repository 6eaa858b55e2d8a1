//! The commits that a checkout is held against: those that are named, or the ends of the bisection under way. Glue.

use crate::cli::{GapIs, StepArgs};
use crate::error::{Error, Kind, Result};
use crate::matrix::Design;
use crate::progress;
use crate::source::git::checkout::Checkout;
use crate::step::Bisection;
use crate::version::Version;

/// The commits that a checkout is held against.
pub(super) struct References {
    pub(super) good: Version,
    pub(super) bad: Option<Version>,
    /// What git calls good and bad.
    pub(super) terms: (String, String),
}

impl References {
    /// Finds them. Where no good reference is named, both are those that the bisection under way began with.
    pub(super) fn of(checkout: &Checkout, arguments: &StepArgs, design: Design) -> Result<Self> {
        let bisection = checkout.bisection();
        let end = |of: fn(&Bisection) -> &Option<String>| {
            bisection.as_ref().and_then(|own| of(own).clone())
        };
        let named = arguments.good.clone();
        let bad = arguments.bad.clone().or_else(|| {
            let also = named.is_none().then(|| end(|bisection| &bisection.bad));
            also.flatten()
        });
        let good = named.or_else(|| end(|bisection| &bisection.good));
        let good = good.ok_or_else(|| no_good(checkout))?;
        let good = checkout.commit(&good)?;
        let counts = counts(arguments, design)?;
        let bad = bad.filter(|_| counts).map(|bad| checkout.commit(&bad));
        let bad = bad.transpose()?;
        if bad.as_ref().is_some_and(|bad| bad.commit == good.commit) {
            let message = format!("the good and the bad reference are both {}", good.name);
            return Err(Error::new(Kind::Usage, message)
                .because("nothing can be like one of them and not like the other")
                .hint("harness step --good OLDER --bad NEWER"));
        }
        Ok(Self {
            good,
            bad,
            terms: terms(bisection.as_ref()),
        })
    }
}

/// Returns what git calls good and bad here.
pub(super) fn terms(bisection: Option<&Bisection>) -> (String, String) {
    bisection.map_or(("good".to_owned(), "bad".to_owned()), |own| {
        (own.good_term.clone(), own.bad_term.clone())
    })
}

/// Returns whether a bad reference plays a part. Where a gap is looked for it would be one itself, and where one server is up at a
/// time there is no session of all three.
fn counts(arguments: &StepArgs, design: Design) -> Result<bool> {
    let only_gaps = arguments.gap_is == GapIs::Bad;
    if only_gaps && arguments.bad.is_some() {
        progress::line("note: with `--gap-is bad` nothing is raced, and `--bad` plays no part");
    }
    let races = match design {
        Design::Race | Design::Slices => true,
        Design::Solo => false,
    };
    if !only_gaps && !races && arguments.bad.is_some() {
        let message = "the matrix has one server up at a time";
        return Err(Error::new(Kind::Usage, message)
            .because("a checkout is held against both references at the same moment")
            .hint("take `--bad` away, or write `design = \"race\"` in `[sessions]`"));
    }
    Ok(races && !only_gaps)
}

fn no_good(checkout: &Checkout) -> Error {
    let root = checkout.root.display();
    Error::new(Kind::Source, "there is no good reference")
        .because(format!(
            "`--good` is not given, and no bisection in {root} has one yet"
        ))
        .hint("harness step --good v1.3.2")
}
