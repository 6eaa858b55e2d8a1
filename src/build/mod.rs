//! Version → artifact or gap. Edge.

pub mod diagnosis;
