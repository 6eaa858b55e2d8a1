//! Folders of the user's: what is in them, its hash, and a copy. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads the user's files and copies them"
)]

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Decides by its path inside the folder whether an entry counts.
pub(super) trait Filter: Fn(&Path) -> bool + Send + 'static {}

impl<Decides: Fn(&Path) -> bool + Send + 'static> Filter for Decides {}

/// Counts every entry.
pub(super) fn everything(_: &Path) -> bool {
    true
}

/// Counts every entry that is not hidden.
pub(super) fn visible(relative: &Path) -> bool {
    let name = relative.file_name().map_or(&b""[..], OsStrExt::as_bytes);
    !name.starts_with(b".")
}

/// Counts what belongs to a cargo project.
pub(super) fn cargo_project(relative: &Path) -> bool {
    is_source(relative, b".cargo")
}

/// Counts what belongs to a Maven project.
pub(super) fn maven_project(relative: &Path) -> bool {
    is_source(relative, b".mvn")
}

/// Returns whether an entry is neither build output in `target` nor hidden; the tool's own configuration is not hidden.
fn is_source(relative: &Path, configuration: &[u8]) -> bool {
    let first = relative
        .components()
        .next()
        .map(|part| part.as_os_str().as_bytes());
    let name = relative.file_name().map_or(&b""[..], OsStrExt::as_bytes);
    first != Some(b"target") && (!name.starts_with(b".") || name == configuration)
}

/// Counts what belongs to a server for Node.js: neither what npm installed nor its history in git.
pub(super) fn node_project(relative: &Path) -> bool {
    let name = relative.file_name().map_or(&b""[..], OsStrExt::as_bytes);
    name != b"node_modules" && name != b".git"
}

/// Counts what a checkout has, its history too, but neither what package managers and builds have put there nor what is
/// to be left out.
pub(super) fn checkout(left_out: &[PathBuf]) -> impl Filter + use<> {
    let left_out = left_out.to_vec();
    move |relative| {
        let name = relative.file_name().map_or(&b""[..], OsStrExt::as_bytes);
        let built = relative == Path::new("target");
        let own = left_out.iter().any(|path| path == relative);
        !built && !own && name != b"node_modules" && name != b".harness"
    }
}

/// Counts what of a checkout decides what is built: its history does not.
pub(super) fn checked_out(left_out: &[PathBuf]) -> impl Filter + use<> {
    let counts = checkout(left_out);
    move |relative| counts(relative) && relative != Path::new(".git")
}

/// Bytes of a list that a build has left at most.
const LIST: u64 = 64 << 20;

/// Reads a list that a build has left; none if there is no such plain file. A build may leave anything there, such as a
/// pipe that nobody writes to or a link to a device.
pub(super) fn read_left(path: &Path) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags | OFlags::RDONLY, Mode::empty()).ok()?;
    let file = fs::File::from(file);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LIST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the SHA-256 of a file's or folder's content: names, bytes, targets of links, and who may execute.
pub(super) fn hash(root: &Path, filter: impl Filter) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    for relative in entries(root, filter)? {
        let (path, metadata) = look(root, &relative)?;
        add(relative.as_os_str().as_bytes());
        if metadata.is_symlink() {
            add(b"link");
            add(fs::read_link(&path)?.as_os_str().as_bytes());
        } else if metadata.is_dir() {
            add(b"folder");
        } else {
            add(if metadata.mode() & 0o111 == 0 {
                b"file"
            } else {
                b"program"
            });
            add(&file_hash(&path)?);
        }
    }
    Ok(HEXLOWER.encode(&hash.finalize()))
}

/// Copies a file to a name of its own, or a folder's content into a folder that exists.
pub(super) fn copy(from: &Path, to: &Path, filter: impl Filter) -> io::Result<()> {
    for relative in entries(from, filter)? {
        let (source, metadata) = look(from, &relative)?;
        let target = place(to, &relative);
        if metadata.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if metadata.is_dir() {
            fs::create_dir_all(&target)?;
        } else {
            fs::copy(&source, &target)?;
            // A copy is there to be built in, even where the original is write-protected.
            let mode = metadata.mode() & 0o777 | 0o200;
            fs::set_permissions(&target, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

/// Lists a folder's entries by their paths inside it, folders before what is in them, in the order of their bytes.
///
/// A root that is no folder is its own only entry, with an empty path. Links are not followed.
fn entries(root: &Path, filter: impl Filter) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    let mut open = if fs::metadata(root)?.is_dir() {
        vec![PathBuf::new()]
    } else {
        Vec::new()
    };
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let relative = folder.join(entry.file_name());
            if !filter(&relative) || !is_content(entry.file_type()?) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                open.push(relative.clone());
            }
            found.push(relative);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns where an entry is and what it is; the root itself may be a link, and then stands for what it points to.
fn look(root: &Path, relative: &Path) -> io::Result<(PathBuf, fs::Metadata)> {
    let path = place(root, relative);
    let metadata = if path == root {
        fs::metadata(&path)?
    } else {
        fs::symlink_metadata(&path)?
    };
    Ok((path, metadata))
}

/// Returns where an entry is below a root.
fn place(root: &Path, relative: &Path) -> PathBuf {
    if relative.as_os_str().is_empty() {
        // Joined with an empty path, a file's name would end with a slash.
        root.to_owned()
    } else {
        root.join(relative)
    }
}

/// Returns whether an entry has content; sockets and pipes that a server left behind have none.
fn is_content(kind: fs::FileType) -> bool {
    kind.is_file() || kind.is_dir() || kind.is_symlink()
}

/// Returns the SHA-256 of a file's bytes.
pub(super) fn file_hash(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["src", "target/release", ".git", ".cargo"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        for file in [
            "Cargo.toml",
            "src/main.rs",
            "target/release/x",
            ".git/HEAD",
            ".cargo/config.toml",
            ".env",
        ] {
            fs::write(dir.path().join(file), file).unwrap();
        }
        symlink("main.rs", dir.path().join("src/link.rs")).unwrap();
        dir
    }

    #[test]
    fn a_checkout_has_its_history_and_nothing_that_is_left_out() {
        let project = project();
        fs::create_dir(project.path().join("reports")).unwrap();
        fs::create_dir(project.path().join("src/reports")).unwrap();
        let names = |found: Vec<PathBuf>| -> Vec<String> {
            let names = found.iter().filter(|path| path.components().count() == 1);
            names.map(|path| path.display().to_string()).collect()
        };
        let left_out = [PathBuf::from("reports")];
        let copied = entries(project.path(), checkout(&left_out)).unwrap();
        assert!(copied.contains(&PathBuf::from("src/reports")));
        assert_eq!(
            names(copied),
            [".cargo", ".env", ".git", "Cargo.toml", "src"]
        );
        let decides = entries(project.path(), checked_out(&left_out)).unwrap();
        assert_eq!(names(decides), [".cargo", ".env", "Cargo.toml", "src"]);
    }

    #[test]
    fn a_copied_project_has_no_output_and_nothing_hidden_but_cargos_own() {
        let (from, to) = (project(), tempfile::tempdir().unwrap());
        copy(from.path(), to.path(), cargo_project).unwrap();
        let copied = entries(to.path(), everything).unwrap();
        let names: Vec<&str> = copied.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(
            names,
            [
                "",
                ".cargo",
                ".cargo/config.toml",
                "Cargo.toml",
                "src",
                "src/link.rs",
                "src/main.rs"
            ]
        );
        let same =
            hash(from.path(), cargo_project).unwrap() == hash(to.path(), everything).unwrap();
        assert!(same, "a copy has the hash of what was copied");
    }

    #[test]
    fn what_npm_installed_is_left_behind_at_any_depth_and_its_settings_are_not() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for folder in ["node_modules/x", "packages/a/node_modules/y", ".git"] {
            fs::create_dir_all(from.path().join(folder)).unwrap();
        }
        fs::write(from.path().join(".npmrc"), "").unwrap();
        copy(from.path(), to.path(), node_project).unwrap();
        let copied = entries(to.path(), everything).unwrap();
        let names: Vec<&str> = copied.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(names, ["", ".npmrc", "packages", "packages/a"]);
    }

    #[test]
    fn a_single_file_is_copied_under_the_name_it_is_given() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("a.js"), dir.path().join("b.js"));
        fs::write(&from, "//").unwrap();
        copy(&from, &to, everything).unwrap();
        assert_eq!(fs::read_to_string(to).unwrap(), "//");
    }

    #[test]
    fn content_names_and_the_right_to_execute_change_the_hash() {
        let dir = project();
        let seen = |change: &dyn Fn()| {
            change();
            hash(dir.path(), cargo_project).unwrap()
        };
        let main = dir.path().join("src/main.rs");
        let hashes = [
            seen(&|| ()),
            seen(&|| fs::write(&main, "other").unwrap()),
            seen(&|| fs::set_permissions(&main, fs::Permissions::from_mode(0o755)).unwrap()),
            seen(&|| fs::rename(&main, dir.path().join("src/lib.rs")).unwrap()),
        ];
        let distinct: std::collections::BTreeSet<&String> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
    }

    #[test]
    fn what_is_left_out_does_not_change_the_hash() {
        let dir = project();
        let before = hash(dir.path(), cargo_project).unwrap();
        fs::write(dir.path().join("target/release/x"), "built").unwrap();
        fs::write(dir.path().join(".git/HEAD"), "moved").unwrap();
        assert_eq!(hash(dir.path(), cargo_project).unwrap(), before);
        assert_ne!(hash(dir.path(), everything).unwrap(), before);
    }

    #[test]
    fn a_file_has_a_hash_of_its_own() {
        let dir = project();
        let main = hash(&dir.path().join("src/main.rs"), everything).unwrap();
        let manifest = hash(&dir.path().join("Cargo.toml"), everything).unwrap();
        assert_ne!(main, manifest);
        assert_eq!(
            hash(&dir.path().join("src/link.rs"), everything).unwrap(),
            main
        );
    }
}
