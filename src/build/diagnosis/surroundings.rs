//! What is wrong around a version and not with it: memory, disk, network, port. Pure.

use super::Nature;

/// Recognises what is wrong around the version.
pub(super) fn nature(line: &str) -> Option<Nature> {
    let holds = |parts: &[&str]| parts.iter().any(|part| line.contains(part));
    if holds(SPACE) {
        return Some(Nature::Space);
    }
    let killed = line.trim() == "Killed" || (line.starts_with("make") && line.ends_with("Killed"));
    if killed || holds(MEMORY) {
        return Some(Nature::Memory);
    }
    if holds(PORT) {
        return Some(Nature::Port);
    }
    // Go's client names the address that it asked before it says what became of that.
    let is_gos = line.contains("dial tcp") && line.contains("Get \"");
    (is_gos || holds(NETWORK)).then_some(Nature::Network)
}

const SPACE: &[&str] = &[
    "No space left on device",
    "no space left on device",
    "ENOSPC:",
    "code ENOSPC",
    "Disk quota exceeded",
];

const MEMORY: &[&str] = &[
    "signal: 9, SIGKILL",
    "Killed signal terminated program",
    "Cannot allocate memory",
    "virtual memory exhausted",
    "heap out of memory",
    "Fatal process OOM",
    "std::bad_alloc",
    "java.lang.OutOfMemoryError",
];

const PORT: &[&str] = &[
    "listen EADDRINUSE",
    "bind EADDRINUSE",
    "EADDRINUSE:",
    "EADDRINUSE,",
    "AddrInUse",
    "ddress already in use",
];

const NETWORK: &[&str] = &[
    "Could not resolve host",
    "Could not resolve proxy",
    "Couldn't resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "No route to host",
    "Connection timed out",
    "Timeout was reached",
    "Operation too slow",
    "successful HTTP response",
    "SSL connect error",
    "Couldn't connect to server",
    "Failed to connect to",
    "failed: Connection refused",
    "transfer closed with",
    "Connection reset by peer",
    "Could not connect to server",
    "Failed to establish a new connection",
    "TLS handshake timeout",
    "getaddrinfo ENOTFOUND",
    "getaddrinfo EAI_AGAIN",
    "code ENOTFOUND",
    "code EAI_AGAIN",
    "code ETIMEDOUT",
    "code ECONNRESET",
    "code ECONNREFUSED",
    "connect ETIMEDOUT",
    "read ECONNRESET",
];
