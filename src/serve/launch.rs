//! What is needed to start one cell's server, and where its instances write.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::address::Address;
use crate::matrix::{Check, Ready, StopSignal, Workload};
use crate::process::Spec;

/// What is needed to start one cell's server.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// Its instances; at least one.
    pub instances: Vec<Place>,
    /// Where their output goes.
    pub log: PathBuf,
    /// How to see that they are ready.
    pub ready: &'a Ready,
    /// What a right answer is.
    pub check: &'a Check,
    /// The request.
    pub workload: &'a Workload,
    /// The signal that asks them to end, and how long that may take before they are killed.
    pub stop: (StopSignal, Duration),
}

/// One instance of a server before it is started.
#[derive(Debug, Clone)]
pub struct Place {
    /// The command, rendered with the address; none for a server that runs already.
    pub spec: Option<Spec>,
    /// Where it will listen.
    pub address: Address,
}

impl Launch<'_> {
    /// Returns the log that an instance writes: several would write between each other's lines.
    pub(super) fn log_of(&self, instance: usize) -> PathBuf {
        if self.instances.len() == 1 {
            return self.log.clone();
        }
        self.log.with_extension(format!("{instance}.log"))
    }

    /// Returns what an instance is called in messages.
    pub(super) fn name_of(&self, instance: usize) -> String {
        if self.instances.len() == 1 {
            return "the server".to_owned();
        }
        format!("instance {instance} of the server")
    }

    /// Removes what a killed session has left there, which would be taken for this launch's words.
    pub(super) fn remove_logs(&self) {
        let own = (0..self.instances.len()).map(|instance| self.log_of(instance));
        for log in own.chain([self.log.clone()]) {
            drop(fs::remove_file(log));
        }
    }

    /// Puts what several instances have written into one log, each under its own heading.
    pub(super) fn gather_logs(&self) {
        if self.instances.len() == 1 {
            return;
        }
        for instance in 0..self.instances.len() {
            let log = self.log_of(instance);
            let heading = format!("==> instance {instance} <==\n");
            // One that cannot be gathered stays where it is.
            if append(&self.log, &log, &heading).is_ok() {
                drop(fs::remove_file(&log));
            }
        }
    }
}

/// Appends a log under a heading to another one, if there is anything in it.
fn append(log: &Path, more: &Path, heading: &str) -> io::Result<()> {
    let mut more = File::open(more)?;
    if more.metadata()?.len() == 0 {
        return Ok(());
    }
    let mut log = File::options().create(true).append(true).open(log)?;
    log.write_all(heading.as_bytes())?;
    io::copy(&mut more, &mut log)?;
    Ok(())
}
