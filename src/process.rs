//! The only place that spawns. Edge.
