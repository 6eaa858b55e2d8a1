//! The cache's own copy of a repository, which `git` brings up to date. Edge.
//!
//! It is fetched into, also from a path on this machine, and never cloned by links: so it shares no file with the
//! user's repository, needs nothing of it later, and holds only branches and tags, not a forge's pull requests.

#![expect(
    clippy::disallowed_methods,
    reason = "it makes and looks through the cache's folders"
)]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::command::{complaint, git};
use crate::build::cache::{self, MIRROR_MARK};
use crate::error::{Error, Kind, Result};
use crate::workplace;

/// How long a whole repository may take to come.
const WHOLE: Duration = Duration::from_hours(1);
/// How long what is new in it may take.
const NEWS: Duration = Duration::from_mins(10);
/// How long a command that only touches the mirror may take.
const SHORT: Duration = Duration::from_mins(2);

/// What is mirrored: also the branches that a checkout has seen elsewhere, such as `origin/main`.
const REFS: [&str; 3] = [
    "+refs/heads/*:refs/heads/*",
    "+refs/remotes/*:refs/remotes/*",
    "+refs/tags/*:refs/tags/*",
];

/// A mirror of one repository.
#[derive(Debug)]
pub(crate) struct Mirror {
    /// The address that `git` is given.
    address: String,
    path: PathBuf,
}

impl Mirror {
    /// Returns the mirror of a repository, which need not be there yet. A path has been made absolute.
    pub(crate) fn of(repository: &str, cache: &Path) -> Self {
        // By its real name, so that each way to write a path leads to the same mirror.
        let real = Some(repository)
            .filter(|path| is_path(path))
            .and_then(|path| fs::canonicalize(path).ok());
        let address = real.map_or_else(
            || repository.to_owned(),
            |real| real.to_string_lossy().into_owned(),
        );
        let path = cache.join("git").join(folder_name(&address));
        Self { address, path }
    }

    /// Returns the mirror's folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the address that the repository's own relative addresses are meant from: a local repository's origin.
    pub(crate) fn origin(&self) -> String {
        let origin = || {
            let path = Some(&self.address).filter(|address| is_path(address))?;
            let repository = git2::Repository::open(path).ok()?;
            let remote = repository.find_remote("origin").ok()?;
            remote.url().ok().map(str::to_owned)
        };
        origin().unwrap_or_else(|| self.address.clone())
    }

    /// Returns whether a commit is there.
    pub(crate) fn has(&self, commit: &str) -> bool {
        let find = || {
            git2::Repository::open_bare(&self.path)?
                .find_commit(git2::Oid::from_str(commit)?)
                .map(|_| ())
        };
        find().is_ok()
    }

    /// Waits until nobody writes to the mirror, and keeps writers out.
    pub(crate) async fn read_lock(&self) -> Result<File> {
        workplace::wait_for_lock(&self.lock_file(), File::try_lock_shared).await
    }

    /// Brings the mirror up to date; returns a warning where that failed and an older one is there to be used.
    pub(super) async fn refresh(&self) -> Result<Option<String>> {
        workplace::make_folder(self.path.parent().unwrap_or(&self.path))?;
        let _writing = workplace::wait_for_lock(&self.lock_file(), File::try_lock).await?;
        if !self.path.join("HEAD").is_file() {
            return self.make().await.map(|()| None);
        }
        cache::touch(&self.path.join(MIRROR_MARK));
        delete_locks(&self.path).map_err(|error| cannot("clear", &self.path, &error))?;
        let failed = self.fetch(&self.path, NEWS).await?;
        Ok(failed.map(|said| {
            let address = public(&self.address);
            format!("could not refresh the mirror of {address}, so what is new there may be missing: {said}")
        }))
    }

    /// Makes the mirror under another name first, so that one that is cut short is never taken for a whole one.
    async fn make(&self) -> Result<()> {
        let half = self.path.with_added_extension("half");
        // What a killed clone left, or a killed `harness clean`.
        for left in [&half, &self.path].into_iter().filter(|left| left.is_dir()) {
            if !is_ours(left) {
                return Err(cannot("delete", left, &"Harness has not made it"));
            }
            fs::remove_dir_all(left).map_err(|error| cannot("delete", left, &error))?;
        }
        let text = half.to_string_lossy();
        let parent = half.parent().unwrap_or(&half);
        let init = ["init", "--quiet", "--bare", "--template=", "--", &text];
        if let Some(said) = complaint(&git(&init, parent, SHORT).await?) {
            return Err(cannot("make", &half, &said));
        }
        fs::write(
            half.join(MIRROR_MARK),
            "A mirror of harness; safe to delete.\n",
        )
        .map_err(|error| cannot("mark", &half, &error))?;
        if let Some(said) = self.fetch(&half, WHOLE).await? {
            return Err(self.refused(&said));
        }
        // Thousands of refs in a file each would be slow to read.
        if let Some(said) =
            complaint(&git(&["--git-dir=.", "pack-refs", "--all"], &half, SHORT).await?)
        {
            return Err(cannot("pack", &half, &said));
        }
        fs::rename(&half, &self.path).map_err(|error| cannot("rename", &half, &error))
    }

    /// Fetches all branches and tags as they are there now, moved and deleted ones too; returns git's complaint.
    async fn fetch(&self, into: &Path, patience: Duration) -> Result<Option<String>> {
        // What somebody still builds from must not be swept away, nor may a sweep go on behind our back.
        let mut args = vec!["-c", "gc.pruneExpire=never", "-c", "gc.autoDetach=false"];
        args.extend(["--git-dir=.", "fetch", "--quiet", "--prune", "--no-tags"]);
        args.extend(["--no-recurse-submodules", "--update-shallow"]);
        if into.join("shallow").is_file() {
            // As far back as the repository itself goes by now.
            args.push("--unshallow");
        }
        args.extend(["--", &self.address]);
        args.extend(REFS);
        Ok(complaint(&git(&args, into, patience).await?))
    }

    /// The error for a repository that git could not bring here at all.
    fn refused(&self, said: &str) -> Error {
        let address = public(&self.address);
        let error =
            Error::new(Kind::Source, format!("git could not fetch {address}")).because(said);
        if !is_path(&self.address) {
            return error.hint(format!("see what `git ls-remote {address}` says"));
        }
        // What git checks is the owner of the repository itself, which in a checkout is its folder `.git`.
        let inner = Path::new(&self.address).join(".git");
        let repository = if inner.is_dir() {
            inner
        } else {
            PathBuf::from(&self.address)
        };
        match fs::metadata(&repository).map(|folder| folder.uid()) {
            Ok(owner) if owner != rustix::process::geteuid().as_raw() => error
                .because("it belongs to another user, and git reads such only where it is told to")
                .hint(format!(
                    "git config --global --add safe.directory {}",
                    repository.display()
                )),
            Ok(_) | Err(_) => {
                error.hint("check `repository` in `[source.git]`; a path is relative to the matrix")
            }
        }
    }

    /// Beside the mirror and not in it, as it is held before there is one.
    fn lock_file(&self) -> PathBuf {
        self.path.with_added_extension("lock")
    }
}

/// Returns a name that a person knows the repository by, made unique by a hash of its whole address.
fn folder_name(address: &str) -> String {
    let last = address.trim_end_matches('/').rsplit(['/', ':']).next();
    let name = workplace::safe_name(last.unwrap_or_default().trim_end_matches(".git"));
    let hash = HEXLOWER.encode(&Sha256::digest(address));
    format!("{name}-{}", &hash[..12])
}

/// Returns whether an address is a path of this machine, which the matrix has made absolute.
fn is_path(address: &str) -> bool {
    address.starts_with('/')
}

/// Returns whether a folder carries our mark, or holds nothing that could be anybody's. One that was cut short right after
/// it was begun holds nothing but what `git init` makes.
fn is_ours(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of_init = ["HEAD", "config", "refs", "objects", "branches"];
    folder.join(MIRROR_MARK).is_file()
        || entries.all(|entry| of_init.iter().any(|name| entry.file_name() == *name))
}

/// Returns an address without the name and password that may stand in it.
pub(crate) fn public(address: &str) -> String {
    let cut = || {
        let (scheme, rest) = address.split_once("://")?;
        let (host, path) = rest.split_once('/')?;
        let (_, host) = host.rsplit_once('@')?;
        Some(format!("{scheme}://{host}/{path}"))
    };
    cut().unwrap_or_else(|| address.to_owned())
}

/// Deletes the lock files of a git that was killed, which would stop every later one. Nobody else works here: the
/// caller holds our own lock.
fn delete_locks(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_folder = entry.file_type()?.is_dir();
        if is_folder && entry.file_name() != "objects" {
            delete_locks(&path)?;
        } else if !is_folder
            && path
                .extension()
                .is_some_and(|extension| extension == "lock")
        {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn cannot(what: &str, folder: &Path, why: &impl std::fmt::Display) -> Error {
    Error::new(Kind::Machine, format!("could not {what} the mirror {}", folder.display()))
        .because(why)
        .hint("check the rights of the cache's folder and the room on its disk; a mirror may be deleted at any time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_named_like_the_repository_and_each_address_has_its_own() {
        let name = folder_name("https://example.org/a/express.git");
        assert!(
            name.starts_with("express-") && name.len() == "express-".len() + 12,
            "{name}"
        );
        assert_ne!(name, folder_name("git@example.org:a/express"));
        assert!(folder_name("git@example.org:express/").starts_with("express-"));
        assert!(!folder_name("https://example.org/../..").contains('/'));
    }

    #[test]
    fn a_message_shows_no_password() {
        assert_eq!(
            public("https://me:secret@example.org/x"),
            "https://example.org/x"
        );
        assert_eq!(public("https://example.org/x@1"), "https://example.org/x@1");
        assert_eq!(public("git@example.org:x"), "git@example.org:x");
        assert_eq!(public("/srv/x@1"), "/srv/x@1");
    }

    #[test]
    fn only_the_locks_of_a_killed_git_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["refs/heads", "objects/pack"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        let files = [
            "HEAD",
            "packed-refs.lock",
            "refs/heads/a",
            "refs/heads/a.lock",
        ];
        for file in files {
            fs::write(dir.path().join(file), "").unwrap();
        }
        delete_locks(dir.path()).unwrap();
        let left: Vec<_> = files
            .into_iter()
            .filter(|file| dir.path().join(file).is_file())
            .collect();
        assert_eq!(left, ["HEAD", "refs/heads/a"]);
    }
}
