//! This very program once more.

use std::io;
use std::process::{Child, Command, Stdio};

/// Starts this program with these arguments and a pipe as its standard input, whose end tells it that this process is
/// gone. It shares this process's outputs.
pub(crate) fn start(arguments: Vec<String>) -> io::Result<Child> {
    // `/proc/self/exe` stays this very program even after a new one was installed over it.
    Command::new("/proc/self/exe")
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()
}
