//! Where versions come from. Edge.
