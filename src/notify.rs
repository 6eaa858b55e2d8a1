//! Telling somebody that there is news: a program, or an address on the web. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "a program is started where the person is"
)]

use std::path::Path;
use std::time::Duration;

use ureq::Agent;

use crate::error::{Error, Kind, Result};
use crate::process::{self, Ended, Spec, base_environment};

/// How long a notification may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs a program with the report's path as its argument, and the news in `HARNESS_NEWS`.
pub async fn run(program: &Path, report: &Path, news: &str) -> Result<()> {
    let cwd = std::env::current_dir().unwrap_or_default();
    // A bare name is looked for in PATH, a path from here.
    let named = program.components().count() == 1;
    let path = if named {
        program.to_owned()
    } else {
        cwd.join(program)
    };
    let mut env = base_environment();
    env.insert("HARNESS_NEWS".to_owned(), news.to_owned());
    let spec = Spec {
        program: path.display().to_string(),
        args: vec![report.display().to_string()],
        cwd,
        env,
        ..Spec::default()
    };
    let said = process::capture(&spec, PATIENCE).await?;
    let why = match said.ended {
        Ended::Code(0) => return Ok(()),
        Ended::Code(code) => format!("it ended with code {code}: {}", said.stderr.trim()),
        Ended::Signal(signal) => format!("signal {signal} ended it"),
        Ended::TimedOut => format!("it was not done after {} s", PATIENCE.as_secs()),
        Ended::OverLimit(limit) => format!("it was ended at a limit: {limit:?}"),
        Ended::NotStarted(why) => why,
    };
    Err(failed(&program.display().to_string()).because(why))
}

/// Posts the news to an address, as `{"text": …}`: what chat servers take.
pub async fn post(address: &str, news: &str) -> Result<()> {
    let body = serde_json::json!({ "text": news }).to_string();
    let url = address.to_owned();
    let posted = tokio::task::spawn_blocking(move || {
        let config = Agent::config_builder().timeout_global(Some(PATIENCE));
        let agent = config.build().new_agent();
        let request = agent.post(&url).header("content-type", "application/json");
        request.send(body).map(drop)
    });
    match posted.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(failed(address).because(why)),
        Err(why) => Err(failed(address).because(why)),
    }
}

fn failed(whom: &str) -> Error {
    Error::new(Kind::Machine, format!("{whom} could not be told the news"))
        .hint("the report is written; the next night tells it again")
}
