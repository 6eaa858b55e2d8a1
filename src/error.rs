//! Errors that stop the tool, each with what was tried, why it failed and what to do next. Pure.

use std::fmt;

use crate::exit::Exit;

/// An error that stops the tool.
#[derive(Debug)]
pub struct Error {
    /// What kind, which decides the exit code.
    pub kind: Kind,
    /// What was tried, on what.
    pub message: String,
    /// Why it failed, outermost first.
    pub causes: Vec<String>,
    /// What to do next, with a concrete command where there is one.
    pub hint: Option<String>,
}

/// What kind of error it is. Decisions are taken on this, never on text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The matrix or `harness.toml` is wrong; the message is already a whole text with carets.
    Configuration,
    /// The machine does not let us: a missing tool, a full disk, no permission.
    Machine,
    /// Another Harness is at work.
    Locked,
    /// The command line is wrong.
    Usage,
    /// The registry's client failed.
    Source,
}

/// The tool's own results.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes an error of a kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hint: None,
        }
    }

    /// Adds why it failed.
    #[must_use]
    pub fn because(mut self, cause: impl fmt::Display) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Adds what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the exit code of design's table.
    pub fn exit(&self) -> Exit {
        match self.kind {
            Kind::Configuration | Kind::Machine | Kind::Locked | Kind::Source => Exit::CannotRun,
            Kind::Usage => Exit::Usage,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        for cause in &self.causes {
            write!(formatter, "\n  because: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\n  try: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
