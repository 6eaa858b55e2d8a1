//! The folder that an archive is unpacked into: nothing is written outside it, by name or through links. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it writes the files of an archive"
)]

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use super::{Bounds, Flaw, links, shown};
use crate::build::leash::Leash;

/// Bytes that a path, or the target of a link, may have; the system takes 4096 for the whole path.
pub(super) const LONGEST_PATH: usize = 2048;
/// Folders above one another at most.
const DEEPEST: usize = 100;

/// Where the entries of an archive go, in its order; of two with one name the last counts.
#[derive(Debug)]
pub(super) struct Place {
    root: PathBuf,
    /// Leading folders that are cut off each path.
    strip: usize,
    bounds: Bounds,
    leash: Leash,
    entries: u64,
    bytes: u64,
    links: Vec<PathBuf>,
    buffer: Vec<u8>,
}

impl Place {
    /// Makes a place of an existing folder, given without links in its path.
    pub(super) fn new(root: PathBuf, strip: usize, bounds: Bounds, leash: Leash) -> Self {
        Self {
            root,
            strip,
            bounds,
            leash,
            entries: 0,
            bytes: 0,
            links: Vec::new(),
            buffer: vec![0; 64 << 10],
        }
    }

    /// Refuses an archive that says to have too many entries.
    pub(super) fn expect(&self, entries: u64) -> Result<(), Flaw> {
        if entries > self.bounds.entries {
            let most = self.bounds.entries;
            return Err(Flaw::Archive(format!("it has more than {most} entries")));
        }
        Ok(())
    }

    /// Makes a folder.
    pub(super) fn folder(&mut self, path: &Path) -> Result<(), Flaw> {
        match self.enter(path)? {
            Some(target) => self.plain_folder(&target),
            None => Ok(()),
        }
    }

    /// Writes a file, which its owner may always read and write, with the rights of `mode` but without its special bits.
    pub(super) fn file(
        &mut self,
        path: &Path,
        mode: u32,
        content: &mut dyn Read,
    ) -> Result<(), Flaw> {
        let Some(target) = self.enter(path)? else {
            return self.skip(content);
        };
        self.make_room(&target)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode & 0o777 | 0o600)
            .open(&target)
            .map_err(|error| refused(path, error))?;
        self.copy(content, &mut file)
    }

    /// Writes a link; where it leads to is looked at when all is in its place.
    pub(super) fn link(&mut self, path: &Path, target: &Path) -> Result<(), Flaw> {
        let Some(link) = self.enter(path)? else {
            return Ok(());
        };
        if target.as_os_str().len() > LONGEST_PATH {
            return Err(too_long(target));
        }
        self.make_room(&link)?;
        symlink(target, &link).map_err(|error| refused(path, error))?;
        self.links.push(link);
        Ok(())
    }

    /// Writes a second name of a file that an earlier entry holds.
    pub(super) fn hard_link(&mut self, path: &Path, original: &Path) -> Result<(), Flaw> {
        let Some(link) = self.enter(path)? else {
            return Ok(());
        };
        let known = self.inside(original)?.filter(|known| is_plain_file(known));
        let known = known.ok_or_else(|| {
            Flaw::Archive(format!(
                "it links to {}, which is no file in it",
                shown(original)
            ))
        })?;
        self.plain_parents(&known)?;
        if link == known {
            return Ok(());
        }
        self.make_room(&link)?;
        fs::hard_link(known, link).map_err(|error| refused(path, error))
    }

    /// Reads what is not kept, which counts all the same.
    pub(super) fn skip(&mut self, content: &mut dyn Read) -> Result<(), Flaw> {
        self.copy(content, &mut io::sink())
    }

    /// Ends the unpacking: cuts off a single top folder if `hoist` says so, and refuses links that lead out.
    pub(super) fn finish(mut self, hoist: bool) -> Result<(), Flaw> {
        if hoist && let Some(top) = self.single_top()? {
            self.hoist(&top)?;
        }
        if children(&self.root)?.is_empty() {
            return Err(Flaw::Archive(match self.strip {
                0 => "there is nothing in it".to_owned(),
                strip => format!("nothing is left of it without {strip} leading folders"),
            }));
        }
        // Of two entries with one name, the first may have been the link.
        for link in self.links.iter().filter(|link| link.is_symlink()) {
            if self.leash.is_over() {
                return Err(Flaw::Late);
            }
            links::stays_inside(&self.root, link)?;
        }
        Ok(())
    }

    /// Counts an entry and returns where it belongs; none if nothing is left of its path.
    fn enter(&mut self, path: &Path) -> Result<Option<PathBuf>, Flaw> {
        self.entries += 1;
        self.expect(self.entries)?;
        if self.leash.is_over() {
            return Err(Flaw::Late);
        }
        self.inside(path)
    }

    /// Returns where a path of the archive belongs; none if nothing is left of it.
    fn inside(&self, path: &Path) -> Result<Option<PathBuf>, Flaw> {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => parts.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(Flaw::Archive(format!(
                        "the path {} leads out of it",
                        shown(path)
                    )));
                }
            }
        }
        if path.as_os_str().len() > LONGEST_PATH || parts.len() > DEEPEST {
            return Err(too_long(path));
        }
        let kept: PathBuf = parts.iter().skip(self.strip).collect();
        Ok((!kept.as_os_str().is_empty()).then(|| self.root.join(kept)))
    }

    fn copy(&mut self, from: &mut dyn Read, to: &mut dyn Write) -> Result<(), Flaw> {
        loop {
            let read = match from.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Flaw::broken(&error)),
            };
            self.bytes += read as u64;
            if self.bytes > self.bounds.bytes {
                return Err(self.bounds.exceeded());
            }
            if self.leash.is_over() {
                return Err(Flaw::Late);
            }
            to.write_all(&self.buffer[..read]).map_err(Flaw::Machine)?;
        }
    }

    /// Makes room for an entry: its folders are there, and what an earlier entry of the same name left is gone.
    fn make_room(&self, target: &Path) -> Result<(), Flaw> {
        if let Some(parent) = target.parent() {
            self.plain_folder(parent)?;
        }
        match fs::remove_file(target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(refused(self.relative(target), error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Makes a folder and those above it, none of which may be a link.
    fn plain_folder(&self, folder: &Path) -> Result<(), Flaw> {
        self.plain_parents(folder)?;
        match fs::symlink_metadata(folder) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err(Flaw::Archive(format!(
                "{} is no folder",
                shown(self.relative(folder))
            ))),
            Err(_) => {
                fs::create_dir_all(folder).map_err(|error| refused(self.relative(folder), error))
            }
        }
    }

    /// Refuses a path that leads through a link.
    fn plain_parents(&self, path: &Path) -> Result<(), Flaw> {
        let parents = path
            .ancestors()
            .skip(1)
            .take_while(|parent| parent.starts_with(&self.root));
        for parent in parents {
            if parent.is_symlink() {
                return Err(Flaw::Archive(format!(
                    "{} leads through a link",
                    shown(self.relative(path))
                )));
            }
        }
        Ok(())
    }

    /// Returns a path as the archive's reader knows it, without where this machine keeps it.
    fn relative<'path>(&self, path: &'path Path) -> &'path Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Returns the folder that everything lies in, if there is one.
    fn single_top(&self) -> Result<Option<PathBuf>, Flaw> {
        let mut children = children(&self.root)?;
        let single = children.pop().filter(|_| children.is_empty());
        Ok(single.filter(|top| top.is_dir() && !top.is_symlink()))
    }

    /// Puts a folder in the place of the one around it, by way of a third, as its content may have its own name.
    fn hoist(&mut self, top: &Path) -> Result<(), Flaw> {
        let beside = self.root.parent().unwrap_or(&self.root);
        let between = tempfile::tempdir_in(beside).map_err(Flaw::Machine)?;
        let moved = between.path().join("top");
        fs::rename(top, &moved)
            .and_then(|()| fs::rename(&moved, &self.root))
            .map_err(Flaw::Machine)?;
        for link in &mut self.links {
            if let Ok(inner) = link.strip_prefix(top) {
                *link = self.root.join(inner);
            }
        }
        Ok(())
    }
}

/// Lists what is in a folder.
fn children(folder: &Path) -> Result<Vec<PathBuf>, Flaw> {
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect()
    };
    list().map_err(Flaw::Machine)
}

fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn too_long(path: &Path) -> Flaw {
    Flaw::Archive(format!("the path {} is too long or too deep", shown(path)))
}

/// Judges what the system refused: a name that cannot be is the archive's fault, everything else the machine's.
fn refused(path: &Path, error: io::Error) -> Flaw {
    let is_archives = [
        io::ErrorKind::InvalidFilename,
        io::ErrorKind::InvalidInput,
        io::ErrorKind::IsADirectory,
        io::ErrorKind::NotADirectory,
        io::ErrorKind::AlreadyExists,
        io::ErrorKind::TooManyLinks,
        io::ErrorKind::NotFound,
    ]
    .contains(&error.kind());
    if is_archives {
        Flaw::Archive(format!("{} cannot be written: {error}", shown(path)))
    } else {
        Flaw::Machine(error)
    }
}
