//! Unpacking `.tar.gz` archives that other people made. Edge.

#![expect(
    clippy::disallowed_methods,
    reason = "it writes the files of an archive"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, Entry};

/// Bytes that an archive may unpack to.
pub(super) const LIMIT: u64 = 4 << 30;

/// Why an archive was not unpacked.
#[derive(Debug)]
pub(super) enum Flaw {
    /// The archive is to blame.
    Archive(String),
    /// This machine is: its disk is full, or does not let us write.
    Machine(io::Error),
}

impl From<io::Error> for Flaw {
    fn from(error: io::Error) -> Self {
        // A list of the machine's own faults, since a broken archive shows itself in too many kinds.
        let is_machine = [
            io::ErrorKind::StorageFull,
            io::ErrorKind::QuotaExceeded,
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::OutOfMemory,
        ]
        .contains(&error.kind());
        if is_machine {
            Self::Machine(error)
        } else {
            Self::Archive(error.to_string())
        }
    }
}

/// Unpacks an archive into an existing folder, without the first `strip` folders of each path.
///
/// Nothing is written outside the folder, by name or through links; archives with devices, with paths or links that
/// lead out, or with more than `limit` bytes are refused, and may then be partly unpacked.
pub(super) fn unpack(archive: &Path, into: &Path, strip: usize, limit: u64) -> Result<(), Flaw> {
    let root = into.canonicalize()?;
    let bytes = GzDecoder::new(File::open(archive)?);
    let mut archive = Archive::new(bytes);
    let mut left = limit;
    let mut links = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        left = left
            .checked_sub(entry.size())
            .ok_or_else(|| Flaw::Archive(format!("it holds more than {limit} bytes")))?;
        let Some(target) = inside(&root, &entry.path()?, strip)? else {
            continue;
        };
        write(&mut entry, &root, &target, strip)?;
        if entry.header().entry_type().is_symlink() {
            links.push(target);
        }
    }
    links.iter().try_for_each(|link| stays_inside(&root, link))
}

/// Returns where an entry belongs; none if nothing is left of its path.
fn inside(root: &Path, path: &Path, strip: usize) -> Result<Option<PathBuf>, Flaw> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Flaw::Archive(format!(
                    "the path {} leads out of it",
                    path.display()
                )));
            }
        }
    }
    let kept: PathBuf = parts.iter().skip(strip).collect();
    Ok((!kept.as_os_str().is_empty()).then(|| root.join(kept)))
}

/// Writes one entry.
fn write<R: Read>(
    entry: &mut Entry<'_, R>,
    root: &Path,
    target: &Path,
    strip: usize,
) -> Result<(), Flaw> {
    let kind = entry.header().entry_type();
    if kind.is_pax_global_extensions() {
        Ok(())
    } else if kind.is_dir() {
        plain_folder(root, target)
    } else if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
        prepare(root, target)?;
        let mode = entry.header().mode()? & 0o777 | 0o600;
        let mut file = OpenOptions::new();
        let mut file = file.write(true).create_new(true).mode(mode).open(target)?;
        io::copy(entry, &mut file)?;
        Ok(())
    } else if kind.is_symlink() {
        prepare(root, target)?;
        Ok(symlink(link_name(entry)?, target)?)
    } else if kind.is_hard_link() {
        write_hard_link(&link_name(entry)?, root, target, strip)
    } else {
        let what = format!("{} is neither file, folder nor link", target.display());
        Err(Flaw::Archive(what))
    }
}

/// Writes a second name of a file that an earlier entry holds.
fn write_hard_link(name: &Path, root: &Path, target: &Path, strip: usize) -> Result<(), Flaw> {
    let original = inside(root, name, strip)?
        .filter(|original| is_plain_file(original))
        .ok_or_else(|| {
            Flaw::Archive(format!(
                "it links to {}, which is no file in it",
                name.display()
            ))
        })?;
    plain_parents(root, &original)?;
    prepare(root, target)?;
    Ok(fs::hard_link(original, target)?)
}

fn link_name<R: Read>(entry: &Entry<'_, R>) -> Result<PathBuf, Flaw> {
    let name = entry.link_name()?;
    name.map(std::borrow::Cow::into_owned)
        .ok_or_else(|| Flaw::Archive("it has a link to nowhere".to_owned()))
}

fn is_plain_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

/// Makes room for an entry: its folders are there, and what an earlier entry of the same name left is gone.
fn prepare(root: &Path, target: &Path) -> Result<(), Flaw> {
    if let Some(parent) = target.parent() {
        plain_folder(root, parent)?;
    }
    match fs::remove_file(target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes a folder and those above it, none of which may be a link.
fn plain_folder(root: &Path, folder: &Path) -> Result<(), Flaw> {
    plain_parents(root, folder)?;
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Flaw::Archive(format!("{} is no folder", folder.display()))),
        Err(_) => Ok(fs::create_dir_all(folder)?),
    }
}

/// Refuses a path that leads through a link.
fn plain_parents(root: &Path, path: &Path) -> Result<(), Flaw> {
    let parents = path
        .ancestors()
        .skip(1)
        .take_while(|parent| parent.starts_with(root));
    for parent in parents {
        if fs::symlink_metadata(parent).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Flaw::Archive(format!(
                "{} leads through a link",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Refuses a link that leads out of the folder, by itself or through others; one to nothing is harmless.
fn stays_inside(root: &Path, link: &Path) -> Result<(), Flaw> {
    let refused = || Flaw::Archive(format!("the link {} leads out of it", link.display()));
    match link.canonicalize() {
        Ok(end) if end.starts_with(root) => Ok(()),
        Ok(_) => Err(refused()),
        Err(_) => {
            // Where it leads to nothing today, its text must not lead out either.
            let name = fs::read_link(link)?;
            let inner = link
                .strip_prefix(root)
                .map_or(0, |inner| inner.components().count());
            let mut depth = inner.saturating_sub(1);
            for part in name.components() {
                match part {
                    Component::Normal(_) => depth += 1,
                    Component::CurDir => {}
                    Component::ParentDir if depth > 0 => depth -= 1,
                    Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                        return Err(refused());
                    }
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::os::unix::fs::MetadataExt;
    use tar::{EntryType, Header};

    /// One entry: path, kind, and content or the link's target.
    type Part<'a> = (&'a str, EntryType, &'a str);

    /// Makes an archive of entries whose paths nobody checks.
    fn archive(dir: &Path, parts: &[Part<'_>]) -> PathBuf {
        let path = dir.join("a.tgz");
        let mut builder = tar::Builder::new(GzEncoder::new(
            File::create(&path).unwrap(),
            Compression::fast(),
        ));
        for (name, kind, content) in parts {
            let is_link = kind.is_symlink() || kind.is_hard_link();
            let data = if is_link { "" } else { content };
            let mut header = Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            if is_link {
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
            }
            header.set_entry_type(*kind);
            header.set_mode(if name.ends_with("node") { 0o755 } else { 0o444 });
            header.set_size(data.len() as u64);
            header.set_cksum();
            builder.append(&header, data.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap();
        path
    }

    fn unpacked(parts: &[Part<'_>], strip: usize) -> (tempfile::TempDir, Result<(), Flaw>) {
        let dir = tempfile::tempdir().unwrap();
        let into = dir.path().join("inner/into");
        fs::create_dir_all(&into).unwrap();
        let result = unpack(&archive(dir.path(), parts), &into, strip, 1000);
        (dir, result)
    }

    fn refusal(parts: &[Part<'_>]) -> String {
        let (dir, result) = unpacked(parts, 0);
        let outside: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(
            outside.len(),
            2,
            "nothing but the archive and the folder: {outside:?}"
        );
        assert_eq!(fs::read_dir(dir.path().join("inner")).unwrap().count(), 1);
        match result {
            Err(Flaw::Archive(why)) => why,
            Err(Flaw::Machine(error)) => panic!("the machine is not to blame: {error}"),
            Ok(()) => panic!("it was not refused"),
        }
    }

    const FILE: EntryType = EntryType::Regular;
    const LINK: EntryType = EntryType::Symlink;

    #[test]
    fn files_folders_and_links_are_unpacked_without_the_leading_folder() {
        let parts = [
            ("package/bin/node", FILE, "#!"),
            ("package/lib", EntryType::Directory, ""),
            ("package/lib/a.js", FILE, "one"),
            ("package/lib/b.js", LINK, "a.js"),
            ("package/bin/again", EntryType::Link, "package/bin/node"),
            ("readme", FILE, "beside the folder"),
        ];
        let (dir, result) = unpacked(&parts, 1);
        result.unwrap();
        let into = dir.path().join("inner/into");
        assert_eq!(fs::read_to_string(into.join("lib/b.js")).unwrap(), "one");
        assert_eq!(fs::read_to_string(into.join("bin/again")).unwrap(), "#!");
        let mode = |name: &str| fs::metadata(into.join(name)).unwrap().mode() & 0o777;
        assert_eq!(mode("bin/node") & 0o700, 0o700);
        assert_eq!(
            mode("lib/a.js") & 0o700,
            0o600,
            "a file can be deleted and changed by its owner"
        );
        assert!(!into.join("readme").exists());
    }

    #[test]
    fn the_last_of_two_entries_of_one_name_counts() {
        let (dir, result) = unpacked(&[("a", FILE, "one"), ("./a", FILE, "two")], 0);
        result.unwrap();
        assert_eq!(
            fs::read_to_string(dir.path().join("inner/into/a")).unwrap(),
            "two"
        );
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in ["../../evil", "a/../../evil", "/tmp/evil"] {
            assert!(refusal(&[(path, FILE, "x")]).contains("leads out"));
        }
    }

    #[test]
    fn links_that_lead_out_are_refused() {
        for target in [
            "../../evil",
            "/etc/passwd",
            "../into/../../evil",
            "/nowhere/at/all",
        ] {
            assert!(
                refusal(&[
                    ("d/l", EntryType::Directory, ""),
                    ("d/link", LINK, target),
                    ("x", LINK, "../..")
                ])
                .contains("leads out")
            );
            assert!(refusal(&[("link", LINK, target)]).contains("leads out"));
        }
    }

    #[test]
    fn a_chain_of_links_that_leads_out_is_refused() {
        let chain = [
            ("d/e", EntryType::Directory, ""),
            ("d/up", LINK, ".."),
            ("f", LINK, "d/up/.."),
        ];
        assert!(refusal(&chain).contains("leads out"));
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        assert!(refusal(&[("out", LINK, "../.."), ("out/evil", FILE, "x")]).contains("no folder"));
        assert!(
            refusal(&[("out", LINK, "../.."), ("out/a/evil", FILE, "x")])
                .contains("through a link")
        );
    }

    #[test]
    fn a_file_replaces_a_link_of_its_name_and_not_what_it_points_to() {
        let (dir, result) = unpacked(&[("evil", LINK, "../../a.tgz"), ("evil", FILE, "x")], 0);
        result.unwrap();
        assert_eq!(
            fs::read_to_string(dir.path().join("inner/into/evil")).unwrap(),
            "x"
        );
    }

    #[test]
    fn hard_links_lead_to_files_of_the_archive_only() {
        for target in ["/etc/passwd", "../../a.tgz", "missing"] {
            assert!(!refusal(&[("l", EntryType::Link, target)]).is_empty());
        }
        assert!(
            refusal(&[("s", LINK, "/etc"), ("l", EntryType::Link, "s/passwd")])
                .contains("through a link")
        );
    }

    #[test]
    fn devices_and_pipes_are_refused() {
        for kind in [EntryType::Fifo, EntryType::Char, EntryType::Block] {
            assert!(refusal(&[("x", kind, "")]).contains("neither file"));
        }
    }

    #[test]
    fn an_archive_above_the_limit_is_refused() {
        let big = "x".repeat(600);
        assert!(refusal(&[("a", FILE, &big), ("b", FILE, &big)]).contains("more than 1000 bytes"));
    }

    #[test]
    fn a_torn_archive_is_the_archives_fault() {
        let dir = tempfile::tempdir().unwrap();
        let noise: String = (0..900_u32)
            .map(|n| char::from(33 + (n.wrapping_mul(2_654_435_761) >> 25) as u8 % 90))
            .collect();
        let path = archive(dir.path(), &[("a", FILE, &noise)]);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert!(matches!(
            unpack(&path, dir.path(), 0, 5000),
            Err(Flaw::Archive(_))
        ));
        fs::write(&path, "not gzip at all").unwrap();
        assert!(matches!(
            unpack(&path, dir.path(), 0, 5000),
            Err(Flaw::Archive(_))
        ));
    }
}
