//! Numbers in, numbers and warnings out. Pure.
