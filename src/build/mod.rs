//! Version → artifact or gap. Edge.
