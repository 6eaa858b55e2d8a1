//! Versions and what was measured → the next session. Pure.
