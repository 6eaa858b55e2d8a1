//! Facts about the machine. Edge.
