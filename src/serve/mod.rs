//! Artifact → instance. Edge.
