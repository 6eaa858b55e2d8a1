//! `harness doctor`: is this machine fit?

mod engine;
mod finding;
mod machine;
mod noise;

use super::print;
use crate::cli::{DataFormat, DoctorArgs};
use crate::error::Result;
use crate::exit::Exit;
use crate::workplace::Workplace;
use finding::{Grade, text};

pub(super) async fn run(workplace: &Workplace, arguments: &DoctorArgs) -> Result<Exit> {
    if let Some(matrix) = &arguments.noise {
        // Much is held across its waits; the verb's own state need not be as large.
        return Box::pin(noise::run(workplace, matrix.as_deref(), arguments)).await;
    }
    let mut findings = machine::findings(workplace).await?;
    findings.push(engine::finding_of_trial().await);
    findings.extend(machine::programs(workplace).await);
    print(&match arguments.format {
        DataFormat::Json => serde_json::to_string_pretty(&findings).unwrap_or_default(),
        DataFormat::Human => text(&findings),
    })?;
    let bad = findings.iter().any(|finding| finding.grade == Grade::Bad);
    Ok(if bad { Exit::CannotRun } else { Exit::Done })
}
