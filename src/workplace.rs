//! The folder a person works in: its harness.toml, its matrices, its cache, its reports, its lock. Edge.
#![expect(
    clippy::disallowed_methods,
    reason = "this module finds and reads the project's files"
)]

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Kind, Result};
use crate::matrix::{self, Matrix, project::Project};

/// The project file's name.
pub const PROJECT_FILE: &str = "harness.toml";

/// How often a lock that another holds is tried again.
const AGAIN: Duration = Duration::from_millis(100);

/// The folder a person works in.
#[derive(Debug)]
pub struct Workplace {
    /// The folder of harness.toml, or the current one where there is none.
    pub root: PathBuf,
    project: Project,
    project_text: Option<(String, PathBuf)>,
}

/// Held while this Harness works in the folder; the kernel lets go of it however we end.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Workplace {
    /// Opens the named project file, or the nearest one in this folder and those above.
    pub fn open(named: Option<&Path>) -> Result<Self> {
        let here = current_folder()?;
        match named {
            Some(file) => Self::of_file(here.join(file)),
            None => Self::around(&here),
        }
    }

    /// Opens the nearest project file in a folder, which is absolute, and those above; where there is none, the folder itself.
    pub fn around(folder: &Path) -> Result<Self> {
        let mut files = folder.ancestors().map(|above| above.join(PROJECT_FILE));
        match files.find(|file| file.is_file()) {
            Some(file) => Self::of_file(file),
            None => Ok(Self {
                root: folder.to_owned(),
                project: Project::default(),
                project_text: None,
            }),
        }
    }

    fn of_file(file: PathBuf) -> Result<Self> {
        let text = read(&file)?;
        let project = matrix::project::parse_project(&text, &file)?;
        let root = file.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self {
            root,
            project,
            project_text: Some((text, file)),
        })
    }

    /// Returns the files of the matrices meant when none is named.
    pub fn default_matrices(&self) -> Result<Vec<PathBuf>> {
        if self.project.matrices.is_empty() {
            return Err(Error::new(Kind::Configuration, "no matrix is named")
                .because(format!("there is no {PROJECT_FILE} here that lists one"))
                .hint("name a matrix file: harness run matrices/quickstart.toml"));
        }
        Ok(self
            .project
            .matrices
            .iter()
            .map(|file| self.root.join(file))
            .collect())
    }

    /// Reads and checks one matrix file. Returns it with the text that it was made of, the defaults under it included.
    pub fn matrix(&self, file: &Path) -> Result<(Matrix, String)> {
        let text = read(file)?;
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let defaults = self
            .project_text
            .as_ref()
            .map(|(text, file)| (text.as_str(), file.as_path()));
        let matrix = matrix::parse(&text, &file, defaults)?;
        Ok((
            matrix,
            format!("{}\0{text}", defaults.map_or("", |(text, _)| text)),
        ))
    }

    /// Returns the folder for builds, logs and scratch files.
    pub fn cache(&self) -> PathBuf {
        self.root.join(&self.project.cache)
    }

    /// Returns the folder for reports and journals.
    pub fn reports(&self) -> PathBuf {
        self.root.join(&self.project.reports)
    }

    /// Returns the folder of a matrix's journals.
    pub fn journals(&self, matrix: &str) -> PathBuf {
        self.reports().join("data").join(matrix)
    }

    /// Returns the folder in which servers run, emptied of what a killed run has left there. Only for the holder of the
    /// lock, and only a folder that carries our own mark is emptied.
    pub fn empty_scratch(&self, _lock: &Lock) -> Result<()> {
        let folder = self.scratch();
        let mark = folder.join(".harness-scratch");
        let cannot = |error| {
            Error::new(Kind::Machine, format!("cannot empty {}", folder.display()))
                .because(error)
                .hint("set `cache` in harness.toml to a folder of Harness's own")
        };
        if folder.is_dir() && !mark.is_file() {
            return Err(cannot(std::io::Error::other("it was not made by Harness")));
        }
        if folder.is_dir() {
            std::fs::remove_dir_all(&folder).map_err(cannot)?;
        }
        make_folder(&folder)?;
        std::fs::write(&mark, "").map_err(cannot)
    }

    /// Returns the folder in which servers run, each in one of its own.
    pub fn scratch(&self) -> PathBuf {
        self.cache().join("scratch")
    }

    /// Makes sure that no other Harness measures here at the same time.
    pub fn lock(&self) -> Result<Lock> {
        let path = self.cache().join("lock");
        make_folder(&self.cache())?;
        let cannot = |error| {
            Error::new(
                Kind::Machine,
                format!("cannot use the lock {}", path.display()),
            )
            .because(error)
        };
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(&path, &mut file)),
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .map_err(cannot)?;
        write!(file, "{}", std::process::id()).map_err(cannot)?;
        Ok(Lock { _file: file })
    }
}

fn held(path: &Path, file: &mut File) -> Error {
    let mut holder = String::new();
    // Who it is helps; that it is held is enough.
    drop(file.read_to_string(&mut holder));
    Error::new(Kind::Locked, "another Harness is at work in this folder")
        .because(format!(
            "process {} holds {}",
            holder.trim(),
            path.display()
        ))
        .hint("wait for it to end, or stop it; two measurements at once would spoil both")
}

/// Waits until a lock file can be locked, by [`File::try_lock`] or [`File::try_lock_shared`]; it stays so as long as the
/// file lives.
pub async fn wait_for_lock(
    path: &Path,
    try_lock: fn(&File) -> std::result::Result<(), TryLockError>,
) -> Result<File> {
    let cannot = |error| {
        let message = format!("cannot use the lock {}", path.display());
        Error::new(Kind::Machine, message)
            .because(error)
            .hint("check the rights of the cache's folder, `.harness`, and the room on its disk")
    };
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(path);
    let file = file.map_err(cannot)?;
    loop {
        match try_lock(&file) {
            Ok(()) => return Ok(file),
            // A loop and not a blocking call, so that an interrupt can end the wait.
            Err(TryLockError::WouldBlock) => tokio::time::sleep(AGAIN).await,
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
        }
    }
}

/// Returns a text with nothing in it that a file system, a shell or a build tool could stumble over.
pub fn safe_name(text: &str) -> String {
    let letter = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || "._+".contains(letter) => letter,
        _ => '-',
    };
    let safe: String = text.chars().map(letter).take(80).collect();
    let begins_well = safe.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins_well {
        safe
    } else {
        format!("_{safe}")
    }
}

/// Reads a text file of the user's.
pub fn read(file: &Path) -> Result<String> {
    let cannot = || {
        Error::new(
            Kind::Configuration,
            format!("cannot read {}", file.display()),
        )
    };
    let bytes = std::fs::read(file).map_err(|error| {
        cannot()
            .because(error)
            .hint("check the path; `harness check FILE` reads one matrix")
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|&byte| byte == b'\n').count();
        cannot()
            .because(format!("line {line} is not UTF-8"))
            .hint("save the file as UTF-8")
    })
}

/// Returns the folder that the program was started in.
pub fn current_folder() -> Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| Error::new(Kind::Machine, "there is no current folder").because(error))
}

/// Makes a folder with those above it.
pub fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Error::new(
            Kind::Machine,
            format!("cannot make the folder {}", folder.display()),
        )
        .because(error)
        .hint("make the folder above it writable, or set `cache` and `reports` in harness.toml")
    })
}

/// Writes a file whole or not at all.
pub fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let cannot = |error: std::io::Error| {
        Error::new(Kind::Machine, format!("cannot write {}", file.display()))
            .because(error)
            .hint("make the folder writable and free some space")
    };
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
    temporary.write_all(text.as_bytes()).map_err(cannot)?;
    temporary.as_file().sync_all().map_err(cannot)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    temporary
        .as_file()
        .set_permissions(readable)
        .map_err(cannot)?;
    temporary
        .persist(file)
        .map_err(|error| cannot(error.error))?;
    Ok(())
}
