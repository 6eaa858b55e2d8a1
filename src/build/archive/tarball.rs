//! Reading tar archives. Edge only by what it reads from.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tar::{Archive, Entry, EntryType};

use super::meter::{Meter, Metered};
use super::place::Place;
use super::{Flaw, shown};

/// Bytes that stand before an entry's content: its header, long names, and further attributes.
const HEADERS: u64 = 1 << 20;

/// Unpacks a tar.
///
/// The reader of tar files takes long names and attributes into memory, so it is stopped there by the meter.
pub(super) fn unpack<R: Read>(tar: R, meter: &Rc<Meter>, place: &mut Place) -> Result<(), Flaw> {
    let mut archive = Archive::new(Metered::new(tar, meter));
    let mut entries = archive.entries().map_err(|error| Flaw::broken(&error))?;
    loop {
        meter.begin("the headers", HEADERS);
        let Some(entry) = entries.next() else {
            return Ok(());
        };
        let mut entry = entry.map_err(|error| Flaw::broken(&error))?;
        meter.end();
        write(&mut entry, place)?;
        // Links and folders may have content too, which is no header of the next entry.
        place.skip(&mut entry)?;
    }
}

/// Writes one entry.
fn write<R: Read>(entry: &mut Entry<'_, R>, place: &mut Place) -> Result<(), Flaw> {
    let kind = entry.header().entry_type();
    let path = entry
        .path()
        .map_err(|error| Flaw::broken(&error))?
        .into_owned();
    if kind.is_pax_global_extensions() {
        Ok(())
    } else if kind.is_dir() || is_old_folder(kind, &path) {
        place.folder(&path)
    } else if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
        refuse_sparse(entry, &path)?;
        let mode = entry
            .header()
            .mode()
            .map_err(|error| Flaw::broken(&error))?;
        place.file(&path, mode, entry)
    } else if kind.is_symlink() {
        place.link(&path, &link_name(entry)?)
    } else if kind.is_hard_link() {
        place.hard_link(&path, &link_name(entry)?)
    } else {
        let what = format!("{} is neither file, folder nor link", shown(&path));
        Err(Flaw::Archive(what))
    }
}

/// The oldest tars know a folder only by the slash at the end of its name.
fn is_old_folder(kind: EntryType, path: &Path) -> bool {
    kind.is_file() && path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Refuses a file with holes in a form that would be written as something else.
fn refuse_sparse<R: Read>(entry: &mut Entry<'_, R>, path: &Path) -> Result<(), Flaw> {
    let Some(extensions) = entry
        .pax_extensions()
        .map_err(|error| Flaw::broken(&error))?
    else {
        return Ok(());
    };
    let is_sparse = extensions
        .flatten()
        .any(|extension| extension.key_bytes().starts_with(b"GNU.sparse."));
    if is_sparse {
        let what = format!("{} is a sparse file, which cannot be unpacked", shown(path));
        return Err(Flaw::Archive(what));
    }
    Ok(())
}

fn link_name<R: Read>(entry: &Entry<'_, R>) -> Result<PathBuf, Flaw> {
    let name = entry.link_name().map_err(|error| Flaw::broken(&error))?;
    name.map(std::borrow::Cow::into_owned)
        .ok_or_else(|| Flaw::Archive("it has a link to nowhere".to_owned()))
}
