//! `harness completions SHELL` and `harness man [DIR]`: what the command line says of itself, for shells and for `man`.

use std::io;

use clap::CommandFactory;
use clap_mangen::Man;

use super::print;
use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::error::{Error, Kind, Result};
use crate::exit::Exit;
use crate::workplace;

pub(super) fn completions(arguments: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "harness", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

pub(super) fn man(arguments: &ManArgs) -> Result<Exit> {
    let Some(folder) = &arguments.folder else {
        print(&page().map_err(|error| cannot("the manual page", &error))?)?;
        return Ok(Exit::Done);
    };
    workplace::make_folder(folder)?;
    let cannot = |error: io::Error| cannot(&folder.display().to_string(), &error);
    clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)?;
    Ok(Exit::Done)
}

/// Returns the page of the whole program.
fn page() -> io::Result<String> {
    let mut page = Vec::new();
    // As in the folder, where `help` has no page of its own.
    Man::new(Cli::command().disable_help_subcommand(true)).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn cannot(what: &str, error: &io::Error) -> Error {
    Error::new(Kind::Machine, format!("cannot write {what}")).because(error)
}
