//! The `harness` program: parse, call, exit code. A panic is caught here and nowhere else.

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use harness::cli::Cli;
use harness::commands;
use harness::exit::Exit;
use harness::host;
use harness::known::{self, KNOWN};
use harness::process::{SUPERVISE, supervisor};
use harness::progress;
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    match std::env::args_os().nth(1) {
        Some(verb) if verb == SUPERVISE => {
            return supervisor::supervise().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
        }
        Some(verb) if verb == KNOWN => return known::run(std::env::args_os().skip(2)),
        Some(_) | None => {}
    }
    let exit = std::panic::catch_unwind(AssertUnwindSafe(parse_and_run)).unwrap_or_else(|_| {
        progress::line(
            "harness: this is a bug in Harness, not in a version; please report what is above",
        );
        Exit::Bug
    });
    ExitCode::from(exit.code())
}

fn parse_and_run() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be said any more if the terminal is gone.
            drop(error.print());
            let wanted = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion];
            return if wanted.contains(&error.kind()) {
                Exit::Done
            } else {
                Exit::Usage
            };
        }
    };
    let runtime = tokio::runtime::Runtime::new();
    let outcome = runtime
        .map_err(|error| commands::no_runtime(&error))
        .and_then(|runtime| runtime.block_on(until_signalled(cli)));
    outcome.unwrap_or_else(|error| {
        progress::line(&error.to_string());
        error.exit()
    })
}

/// Runs the verb; a signal drops it where it stands, which stops every server and build, and keeps what is written.
async fn until_signalled(cli: Cli) -> harness::error::Result<Exit> {
    let exit = tokio::select! {
        result = commands::run(cli) => return result,
        () = signalled(SignalKind::interrupt()) => Exit::Interrupted,
        () = signalled(SignalKind::terminate()) => Exit::Terminated,
        () = signalled(SignalKind::hangup()) => Exit::Terminated,
    };
    progress::line("harness: stopped; what was measured is kept, and the same command goes on");
    Ok(exit)
}

/// Waits for a signal; for ever where whoever started us wants it ignored, as `nohup` does.
async fn signalled(kind: SignalKind) {
    if host::ignores_signal(kind.as_raw_value()) {
        return std::future::pending().await;
    }
    match signal(kind) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}
