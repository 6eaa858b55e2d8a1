//! The `harness` program: parse, call, exit code. A panic is caught here and nowhere else.
#![expect(clippy::print_stderr, reason = "the last word on what went wrong")]

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use harness::cli::Cli;
use harness::commands;
use harness::exit::Exit;
use harness::process::{SUPERVISE, supervisor};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == SUPERVISE)
    {
        return supervisor::supervise().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let exit = std::panic::catch_unwind(AssertUnwindSafe(parse_and_run)).unwrap_or_else(|_| {
        eprintln!(
            "harness: this is a bug in Harness, not in a version; please report what is above"
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
        eprintln!("{error}");
        error.exit()
    })
}

/// Runs the verb; a signal drops it where it stands, which stops every server and build, and keeps what is written.
async fn until_signalled(cli: Cli) -> harness::error::Result<Exit> {
    let cannot = |error| commands::no_runtime(&error);
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(cannot)?;
    let exit = tokio::select! {
        result = commands::run(cli) => return result,
        _ = tokio::signal::ctrl_c() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
        _ = hang_up.recv() => Exit::Terminated,
    };
    eprintln!("harness: stopped; what was measured is kept, and the next `harness run` goes on");
    Ok(exit)
}
