//! The live bench: cells are really built, started and loaded. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "templates may name variables of the environment"
)]

use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::address::Address;
use crate::build::cache::LOGS_MARK;
use crate::build::{Workshop, axis};
use crate::commands::Loaded;
use crate::error::{Error, Kind, Result};
use crate::journal::{Built, CpuPlan, Launched, SessionRecord};
use crate::matrix::template::{Variables, render, used_environment};
use crate::matrix::{self, Attach, Command, Matrix, SourceKind};
use crate::outcome::{Artifact, Gap, GapKind};
use crate::pipeline::Bench;
use crate::plan::SessionPlan;
use crate::process::{Spec, base_environment};
use crate::serve::{self, Launch, Place, Places};
use crate::session::{self, Setting, Start};
use crate::version::Cell;
use crate::workplace::{self, Workplace};

/// The live bench of one matrix.
#[derive(Debug)]
pub struct Live {
    matrix: Matrix,
    cells: Vec<Cell>,
    /// For each cell the matrix as it is for that cell.
    variants: Vec<Arc<Matrix>>,
    missing: Vec<usize>,
    /// Cells that the matrix excludes, and why.
    excluded: BTreeMap<usize, String>,
    /// What a run writes down is relative to this folder: a journal is read on other machines, and is no place for their
    /// owners' paths.
    root: PathBuf,
    cpus: CpuPlan,
    workshop: Workshop,
    logs: PathBuf,
    scratch: PathBuf,
}

impl Live {
    /// Makes the bench; the run's name is that of its folder of logs.
    pub fn new(workplace: &Workplace, loaded: Loaded, cpus: CpuPlan, run: &str) -> Result<Self> {
        let cells = loaded.expansion.cells;
        let cores = crate::host::allowed_cpus().len();
        let logs = workplace.cache().join("logs").join(run);
        workplace::make_folder(&logs)?;
        workplace::write(&logs.join(LOGS_MARK), "")?;
        Ok(Self {
            workshop: Workshop::new(workplace.cache(), (cores / cells.len().max(1)).max(1)),
            matrix: loaded.matrix,
            variants: loaded.variants,
            missing: loaded.expansion.missing,
            excluded: loaded.expansion.excluded,
            root: workplace.root.clone(),
            cells,
            cpus,
            logs,
            scratch: workplace.scratch(),
        })
    }

    /// Makes the launch of one cell: each instance on an address of its own, in a folder of its own unless the matrix
    /// names one.
    fn launch(
        &self,
        cell: usize,
        artifact: &Artifact,
        index: u32,
        places: &Places,
    ) -> Result<Launch<'_>> {
        let matrix = &self.variants[cell];
        let instances = match &matrix.source.kind {
            SourceKind::Attach(attach) => vec![Place {
                spec: None,
                address: attached(attach, &self.cells[cell])?,
            }],
            SourceKind::Crates(_)
            | SourceKind::Npm(_)
            | SourceKind::Pypi(_)
            | SourceKind::Go(_)
            | SourceKind::Maven(_)
            | SourceKind::Git(_)
            | SourceKind::Url(_)
            | SourceKind::Path(_)
            | SourceKind::List(_) => self.instances(cell, artifact, places)?,
        };
        Ok(Launch {
            instances,
            log: session::log_path(&self.logs, index, (cell, &self.cells[cell].id)),
            ready: &matrix.ready,
            check: &self.matrix.check,
            workload: &self.matrix.load,
            stop: (matrix.start.stop_signal, matrix.start.stop_grace),
        })
    }

    fn instances(&self, cell: usize, artifact: &Artifact, places: &Places) -> Result<Vec<Place>> {
        let mut variables = self.variables(cell, artifact);
        let mut instances = Vec::new();
        for (instance, address) in places.addresses.iter().enumerate() {
            variables.set("instance", instance.to_string());
            set_address(&mut variables, address);
            let spec = self.command(cell, artifact, (&variables, &places.folders[instance]))?;
            instances.push(Place {
                spec: Some(spec),
                address: address.clone(),
            });
        }
        Ok(instances)
    }

    /// Returns the command that starts one instance of a cell's server.
    fn command(
        &self,
        cell: usize,
        artifact: &Artifact,
        (variables, scratch): (&Variables, &Path),
    ) -> Result<Spec> {
        let matrix = &self.variants[cell];
        let start = &matrix.start;
        let filled = |template: &str| {
            render(template, variables)
                .map_err(|problem| Error::new(Kind::Configuration, problem.to_string()))
        };
        let mut env = base_environment();
        env.extend(variables.environment());
        axis::put_first(&mut env, &self.programs(artifact));
        for (name, template) in &start.env {
            env.insert(name.clone(), filled(template)?);
        }
        let mut words = match &start.cmd {
            Command::Argv(words) => words
                .iter()
                .map(|word| filled(word))
                .collect::<Result<Vec<_>>>()?,
            Command::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), filled(line)?],
        };
        let cwd = match &start.cwd {
            Some(template) => matrix.dir.join(filled(template)?),
            None => scratch.to_owned(),
        };
        let program = words.remove(0);
        Ok(Spec {
            program,
            args: words,
            cwd,
            env,
            cpus: self.cpus.server.clone(),
            ..Spec::default()
        })
    }

    /// Returns a path relative to the project, where it lies inside.
    fn inside(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }

    /// Returns a gap whose paths are relative to the project.
    fn gap_inside(&self, gap: Gap) -> Gap {
        let root = format!("{}/", self.root.display());
        let short = |text: String| text.replace(&root, "");
        Gap {
            cause: short(gap.cause),
            hint: gap.hint.map(short),
            errors: gap.errors.into_iter().map(short).collect(),
            log: gap.log.map(|log| self.inside(&log)),
            ..gap
        }
    }

    /// Returns what every instance's templates know; its number and its address are its own.
    fn variables(&self, cell: usize, artifact: &Artifact) -> Variables {
        let matrix = &self.variants[cell];
        let cell = &self.cells[cell];
        let text = |path: &Path| self.root.join(path).to_string_lossy().into_owned();
        let cpus: Vec<String> = self.cpus.server.iter().map(ToString::to_string).collect();
        let mut variables = Variables::default();
        variables.set("version", cell.version.name.clone());
        if let Some(package) = matrix.source.kind.package() {
            variables.set("package", package);
        }
        let version = &cell.version;
        if version.commit.is_some() || matches!(matrix.source.kind, SourceKind::Git(_)) {
            variables.set("commit", version.commit.as_deref().unwrap_or_default());
            variables.set("tag", version.tag.as_deref().unwrap_or_default());
        }
        variables.set("src", text(&artifact.src));
        variables.set("work", text(&artifact.work));
        variables.set("out", text(&artifact.out));
        if let Some(binary) = &artifact.binary {
            variables.set("binary", text(binary));
        }
        variables.set("cpus", cpus.join(","));
        variables.set("matrix_dir", text(&matrix.dir));
        for (name, value) in &cell.axes {
            variables.set(format!("axis.{name}"), value.clone());
        }
        axis::set_programs(&mut variables, &self.programs(artifact));
        set_environment(&mut variables, &matrix.start);
        variables
    }

    /// Returns where the programs of a cell's axes lie.
    fn programs(&self, artifact: &Artifact) -> BTreeMap<String, PathBuf> {
        let programs = artifact.axis_programs.iter();
        programs
            .map(|(axis, program)| (axis.clone(), self.root.join(program)))
            .collect()
    }
}

/// Gives `{host}` and `{port}`, or `{socket}`, their values.
fn set_address(variables: &mut Variables, address: &Address) {
    match address {
        Address::Tcp(address) => {
            variables.set("host", address.ip().to_string());
            variables.set("port", address.port().to_string());
        }
        Address::Unix(path) => variables.set("socket", path.to_string_lossy()),
    }
}

/// Returns where a server that runs already listens.
fn attached(attach: &Attach, cell: &Cell) -> Result<Address> {
    let named = |(name, _): &&(String, String)| *name == cell.version.name;
    let address = attach.addresses.iter().find(named);
    let address = address.map_or("", |(_, address)| address.as_str());
    // A name may stand for several, and the server may listen on one of them alone.
    let found = address.to_socket_addrs().map(|found| {
        let all: Vec<Address> = found.map(Address::Tcp).collect();
        let answering = all.iter().find(|address| serve::is_taken(address));
        answering.or(all.first()).cloned()
    });
    let unknown = || {
        let message = format!("nobody knows the address `{address}` of {}", cell.id);
        Error::new(Kind::Configuration, message).hint("check `addresses` in `[source.attach]`")
    };
    match found {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(unknown()),
        Err(error) => Err(unknown().because(error)),
    }
}

/// Gives `{env:NAME}` its value where the environment has one; rendering says which has none.
fn set_environment(variables: &mut Variables, start: &matrix::Start) {
    for (name, value) in environment(start) {
        if let Some(value) = value {
            variables.set(format!("env:{name}"), value);
        }
    }
}

/// Returns the variables of the environment that the start of a server names, with their values.
pub fn environment(start: &matrix::Start) -> Vec<(String, Option<String>)> {
    let names = used_environment(start.templates()).into_iter();
    names
        .map(|name| (name.clone(), std::env::var(name).ok()))
        .collect()
}

impl Bench for Live {
    async fn prepare(&self, cell: usize) -> Result<Built> {
        if let Some(reason) = self.excluded.get(&cell) {
            return Ok(Built::Gap(Gap::new(GapKind::Excluded, reason)));
        }
        let available = !self.missing.contains(&cell);
        let built = self
            .workshop
            .prepare(&self.variants[cell], &self.cells[cell], available)
            .await?;
        Ok(match built {
            Built::Gap(gap) => Built::Gap(self.gap_inside(gap)),
            Built::Artifact(artifact) => Built::Artifact(Artifact {
                src: self.inside(&artifact.src),
                work: self.inside(&artifact.work),
                out: self.inside(&artifact.out),
                binary: artifact.binary.map(|binary| self.inside(&binary)),
                axis_programs: artifact
                    .axis_programs
                    .into_iter()
                    .map(|(axis, program)| (axis, self.inside(&program)))
                    .collect(),
                ..artifact
            }),
        })
    }

    async fn session(
        &self,
        plan: &SessionPlan,
        index: u32,
        builds: &BTreeMap<usize, Built>,
    ) -> Result<SessionRecord> {
        let mut starts = Vec::new();
        // Folders and sockets live as long as the session.
        let mut kept = Vec::new();
        for &cell in &plan.cells {
            // The plan holds only cells that have been built.
            if let Some(Built::Artifact(artifact)) = builds.get(&cell) {
                let places = Places::new(&self.scratch, &self.variants[cell].start)?;
                let launch = self.launch(cell, artifact, index, &places)?;
                starts.push(Start { cell, launch });
                kept.push(places);
            }
        }
        let setting = Setting {
            matrix: &self.matrix,
            cpus: &self.cpus,
            starts,
        };
        let mut record = session::hold(&setting, plan, index).await?;
        for launch in &mut record.launches {
            launch.log = launch.log.as_deref().map(|log| self.inside(log));
            if let Launched::Gap(gap) = &launch.outcome {
                launch.outcome = Launched::Gap(self.gap_inside(gap.clone()));
            }
        }
        Ok(record)
    }
}
