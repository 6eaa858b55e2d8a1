//! The known server: a small HTTP/1.1 server of known cost, by which the load engine and the whole method are tried. Edge.
//!
//! It is hidden in the program as the supervisor is, `harness known-server --listen 127.0.0.1:8080`, so that it is there
//! wherever Harness is: `doctor` measures the engine against it, `doctor --noise` the machine, and the benchmarks know
//! from its `--turns` what a race should read.
#![expect(
    clippy::disallowed_methods,
    reason = "a server reads the clock for its delays and the end of its standard input"
)]

mod answer;
mod connection;
mod options;
mod request;
mod shared;
pub mod trial;
mod worker;

use std::ffi::OsString;
use std::io::{self, Read};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;

use clap::Parser;
use rustix::fs::{FileType, fstat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{process, progress};
use options::Options;
use shared::Shared;
use worker::Worker;

/// The hidden verb that makes this program the known server.
pub const KNOWN: &str = "known-server";

/// The body of every answer.
pub const BODY: &str = "Hello World\n";

/// The path that is answered with the number of answers given so far, itself not counted.
pub const STATS: &str = "/stats";

/// Runs as the known server, with the words that follow its verb, until it is ended or cannot go on.
///
/// Where standard input is a pipe its end is the server's: then whoever started it is gone.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let words = [OsString::from(KNOWN)].into_iter().chain(arguments);
    let ended = match Options::try_parse_from(words) {
        Ok(options) => serve(&options),
        Err(error) => {
            // Nothing can be said any more if the terminal is gone.
            drop(error.print());
            return ExitCode::FAILURE;
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress::line(&format!("harness {KNOWN}: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve(options: &Options) -> io::Result<()> {
    allow_many_files()?;
    let (ends, ended) = mpsc::channel();
    if options.processes > 1 {
        start_processes(options, &ends)?;
    } else {
        start_threads(options, &ends)?;
    }
    end_with_input(&ends)?;
    ended.recv().map_err(io::Error::other)?
}

/// Raises the limit of open files as far as may be: each connection is one.
fn allow_many_files() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// Starts the threads, each with a listening socket of its own, between which the kernel shares out the connections.
fn start_threads(options: &Options, ends: &Sender<io::Result<()>>) -> io::Result<()> {
    let count = usize::from(options.threads);
    let shared = Arc::new(Shared::new(count));
    // All listen before any serves: a connection must not find fewer of them than there will be.
    let workers: Vec<Worker> = (0..count)
        .map(|thread| Worker::new(options, &shared, thread))
        .collect::<io::Result<_>>()?;
    for worker in workers {
        let ends = ends.clone();
        thread::Builder::new().spawn(move || drop(ends.send(worker.run())))?;
    }
    Ok(())
}

/// Starts this program once more for each process; each ends with this one, and this one with any of them.
fn start_processes(options: &Options, ends: &Sender<io::Result<()>>) -> io::Result<()> {
    for _ in 0..options.processes {
        let mut child = process::again::start(options.of_one_process())?;
        let ends = ends.clone();
        thread::Builder::new().spawn(move || {
            // Waiting would close it, and that would end the child.
            let _input = child.stdin.take();
            let ended = child
                .wait()
                .and_then(|status| Err(io::Error::other(format!("a process ended: {status}"))));
            drop(ends.send(ended));
        })?;
    }
    Ok(())
}

/// Ends with standard input where that is a pipe.
fn end_with_input(ends: &Sender<io::Result<()>>) -> io::Result<()> {
    let input = io::stdin();
    if FileType::from_raw_mode(fstat(&input)?.st_mode) != FileType::Fifo {
        return Ok(());
    }
    let ends = ends.clone();
    let until_closed = move || {
        let read = io::copy(&mut input.lock().by_ref(), &mut io::sink());
        drop(ends.send(read.map(drop)));
    };
    thread::Builder::new().spawn(until_closed)?;
    Ok(())
}
