//! What a person sees while it works: a bar with the time left on a terminal, one plain line per event without. Edge.
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::bisect::Odds;
use crate::host;
use crate::journal::{Built, Launched, Purpose, Run, SessionRecord};
use crate::matrix::Design;
use crate::pipeline::{self, Event};
use crate::plan::SessionPlan;
use crate::report::{DELAYED_ACK, standing};
use crate::verdict::signs::waits_for_acknowledgements;

/// The likeliest culprits that are shown while a search goes on.
const LIKELIEST: usize = 5;

/// Writes a line to stderr. Unlike `eprintln!` it does not panic when nobody reads stderr any more: a run goes on when
/// the pipe or terminal that watched it is gone.
pub fn line(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// Shows the events of a run.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Whether nothing is said where there is no terminal.
    quiet: bool,
    begun: Duration,
    done: u64,
    building: Vec<usize>,
    /// Cells of which it was said that their answers wait for acknowledgements.
    waiting: BTreeSet<usize>,
}

impl Progress {
    /// Begins.
    pub fn new() -> Self {
        let bar = std::io::stderr()
            .is_terminal()
            .then(ProgressBar::new_spinner);
        if let Some(bar) = &bar {
            bar.enable_steady_tick(Duration::from_millis(200));
            bar.set_style(style("{spinner} {msg}"));
        }
        Self {
            bar,
            quiet: false,
            begun: host::monotonic(),
            done: 0,
            building: Vec::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// Begins for a job that nobody watches: without a terminal nothing is said, for what is said becomes mail.
    pub fn quiet() -> Self {
        Self {
            quiet: true,
            ..Self::new()
        }
    }

    /// Says something that stays on the screen.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| line(text)),
            None => self.plain(text),
        }
    }

    fn plain(&self, text: &str) {
        if !self.quiet {
            line(text);
        }
    }

    /// Says what is being done, for as long as it is.
    pub fn doing(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => self.plain(text),
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event<'_>, run: &Run) {
        match event {
            Event::BuildStarted(cell) => {
                self.building.push(*cell);
                self.show_building(run);
            }
            Event::Built(cell, built) => {
                self.building.retain(|other| other != cell);
                self.say(&built_line(&run.header.cells[*cell].id, built));
                self.show_building(run);
            }
            Event::SessionStarted(plan) => self.show_session(plan, run),
            Event::SessionEnded(session) => self.end_session(session, run),
            Event::GivenUp(cell, gap) => {
                let id = &run.header.cells[*cell].id;
                self.say(&format!("gap     {id}  {}", gap.in_one_line()));
            }
        }
    }

    /// Shows one event of a bisection, and how it stands.
    pub fn show_hunt(&mut self, event: &Event<'_>, run: &Run, odds: &Odds) {
        match event {
            Event::BuildStarted(_) | Event::Built(..) | Event::GivenUp(..) => self.show(event, run),
            Event::SessionStarted(plan) => {
                let Some(bar) = &self.bar else { return };
                bar.set_style(style("{spinner} {msg}"));
                let mut lines = vec![plan_text(plan, run)];
                lines.extend(standing(run, odds, LIKELIEST));
                bar.set_message(lines.join("\n"));
            }
            Event::SessionEnded(session) => {
                self.tell(session, run);
                if self.bar.is_none() {
                    let stands = standing(run, odds, 0).join("");
                    let number = session.index + 1;
                    self.plain(&format!(
                        "session {number}  {}  ({stands})",
                        rates(session, run)
                    ));
                }
            }
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show_building(&self, run: &Run) {
        let Some(bar) = &self.bar else { return };
        let names: Vec<&str> = self
            .building
            .iter()
            .map(|&cell| run.header.cells[cell].id.as_str())
            .collect();
        bar.set_message(format!("building {}", names.join(", ")));
    }

    fn show_session(&mut self, plan: &SessionPlan, run: &Run) {
        if self.done == 0 {
            self.begun = host::monotonic();
        }
        let Some(bar) = &self.bar else { return };
        let left = pipeline::sessions_left(run);
        bar.set_style(style("{bar:24} {pos}/{len} sessions, {msg}"));
        bar.set_length(run.sessions.len() as u64 + left);
        bar.set_position(run.sessions.len() as u64);
        bar.set_message(format!(
            "{} left: {}",
            self.time_left(left),
            plan_text(plan, run)
        ));
    }

    fn end_session(&mut self, session: &SessionRecord, run: &Run) {
        self.done += 1;
        self.tell(session, run);
        if self.bar.is_none() {
            let left = pipeline::sessions_left(run).saturating_sub(1);
            self.plain(&format!(
                "session {}  {}  (at most {left} to go, {})",
                session.index + 1,
                rates(session, run),
                self.time_left(left)
            ));
        }
    }

    /// Says what of a session a person should know at once.
    fn tell(&mut self, session: &SessionRecord, run: &Run) {
        for launch in &session.launches {
            let id = &run.header.cells[launch.cell].id;
            match &launch.outcome {
                Launched::Gap(gap) => self.say(&format!("failed  {id}  {}", gap.in_one_line())),
                Launched::Sample(sample) if waits_for_acknowledgements(session, sample) => {
                    if self.waiting.insert(launch.cell) {
                        self.say(&format!("note    {id}  {DELAYED_ACK}"));
                    }
                }
                Launched::Sample(_) => {}
            }
        }
    }

    fn time_left(&self, left: u64) -> String {
        if self.done == 0 {
            return "time unknown".to_owned();
        }
        let spent = host::since(self.begun).as_secs();
        let seconds = spent * left / self.done;
        format!("about {}:{:02} min", seconds / 60, seconds % 60)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn built_line(id: &str, built: &Built) -> String {
    match built {
        Built::Artifact(artifact) if artifact.cached => format!("built   {id}  (cached)"),
        Built::Artifact(artifact) => format!("built   {id}  in {:.0} s", artifact.seconds),
        Built::Gap(gap) => format!("gap     {id}  {}", gap.in_one_line()),
    }
}

fn plan_text(plan: &SessionPlan, run: &Run) -> String {
    let names: Vec<&str> = plan
        .cells
        .iter()
        .map(|&cell| run.header.cells[cell].id.as_str())
        .collect();
    let what = match (plan.purpose, plan.design) {
        (Purpose::Confirm, _) => "confirming",
        (Purpose::Measure, Design::Race) => "racing",
        (Purpose::Measure, Design::Slices) => "by turns",
        (Purpose::Measure, Design::Solo) => "solo",
    };
    format!("{what} {}", names.join(", "))
}

fn rates(session: &SessionRecord, run: &Run) -> String {
    let rate = |launch: &crate::journal::Launch| {
        let id = &run.header.cells[launch.cell].id;
        match &launch.outcome {
            Launched::Sample(sample) => format!("{id} {:.0}/s", sample.load.fetches_per_second()),
            Launched::Gap(gap) => format!("{id} {}", gap.kind),
        }
    };
    let design = match session.design {
        Design::Race => "race",
        Design::Slices => "slices",
        Design::Solo => "solo",
    };
    let rates: Vec<String> = session.launches.iter().map(rate).collect();
    let limit = if session.client.generator_bound {
        "  (the load generator was the limit)"
    } else {
        ""
    };
    format!("{design}  {}{limit}", rates.join("  "))
}
