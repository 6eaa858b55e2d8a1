//! How often the search for a culprit is right where the culprit is known, beside other ways to look for it on the same noise.
//!
//! All of it is simulated and seeded. `cargo bench --bench bisect` prints the tables with many searches of each kind, the tests
//! hold few to their targets.

pub(crate) mod bayesect;
pub(crate) mod git;
pub(crate) mod ours;
pub(crate) mod pinpoint;
pub(crate) mod rivals;
pub(crate) mod rows;
pub(crate) mod table;
pub(crate) mod world;
