//! What a build may use up. Edge: it asks how much the machine has.

use super::folder::Folder;
use crate::host;
use crate::matrix;
use crate::outcome::{Class, Gap, GapKind};
use crate::process::{Limit, Limits};

/// Processes that a build may have at one time; compilers on a machine with 64 cores are a few hundred.
const PROCESSES: u64 = 4096;

/// Returns what the steps of a build may use up.
pub(super) fn limits(folder: &Folder, limits: matrix::Limits) -> Limits {
    let most_of_the_memory = || host::memory_bytes() / 5 * 4;
    Limits {
        memory_bytes: Some(limits.memory.unwrap_or_else(most_of_the_memory)),
        processes: Some(PROCESSES),
        log_bytes: Some(limits.log),
        disk: Some((folder.root.clone(), limits.disk)),
    }
}

/// Returns whether the disk of a build's folder is full, which shows itself in more ways than a log could tell.
pub(super) fn is_disk_full(folder: &Folder) -> bool {
    const NEXT_TO_NOTHING: u64 = 1 << 20;
    rustix::fs::statvfs(&folder.root)
        .is_ok_and(|disk| disk.f_bavail * disk.f_frsize < NEXT_TO_NOTHING)
}

/// Makes the gap of a step that was ended for a limit.
pub(super) fn passed(limit: Limit, step: &str, limits: &Limits) -> Gap {
    let allowed = |limit: Option<u64>| limit.map_or_else(String::new, size);
    let (what, key) = match limit {
        Limit::Memory => (
            format!("used more than {} of memory", allowed(limits.memory_bytes)),
            Some("memory"),
        ),
        Limit::Log => (
            format!(
                "printed more than {}, of which the log keeps the beginning,",
                allowed(limits.log_bytes)
            ),
            Some("log"),
        ),
        Limit::Disk => (
            format!(
                "made more than {} of files, which are deleted,",
                allowed(limits.disk.as_ref().map(|(_, most)| *most))
            ),
            Some("disk"),
        ),
        Limit::Processes => (
            format!(
                "had more than {} processes at a time",
                limits.processes.unwrap_or_default()
            ),
            None,
        ),
    };
    let gap = Gap::new(GapKind::Failed, format!("`{step}` {what} and was ended"))
        .with_hint(key.map(|key| format!("more for `build.limits.{key}`")));
    if limit == Limit::Memory {
        return gap.with_class(Class::Transient);
    }
    gap
}

/// Returns a number of bytes in words, "64 MiB".
fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    let Some((shift, name)) = unit else {
        return format!("{bytes} bytes");
    };
    let tenths = ((bytes >> (shift - 4)) * 10) >> 4;
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        rest => format!("{}.{rest} {name}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_over_a_limit_names_it_and_what_raises_it() {
        let limits = Limits {
            memory_bytes: Some(3 << 29),
            processes: Some(4096),
            log_bytes: Some(64 << 20),
            disk: Some((std::path::PathBuf::from("/x"), 20 << 30)),
        };
        for (limit, class, what, hint) in [
            (
                Limit::Memory,
                Class::Transient,
                "used more than 1.5 GiB of memory",
                Some("more for `build.limits.memory`"),
            ),
            (
                Limit::Log,
                Class::Permanent,
                "printed more than 64 MiB, of which the log keeps the beginning,",
                Some("more for `build.limits.log`"),
            ),
            (
                Limit::Disk,
                Class::Permanent,
                "made more than 20 GiB of files, which are deleted,",
                Some("more for `build.limits.disk`"),
            ),
            (
                Limit::Processes,
                Class::Permanent,
                "had more than 4096 processes at a time",
                None,
            ),
        ] {
            let gap = passed(limit, "make all", &limits);
            assert_eq!((gap.kind, gap.class), (GapKind::Failed, class));
            assert_eq!(gap.cause, format!("`make all` {what} and was ended"));
            assert_eq!(gap.hint.as_deref(), hint);
        }
    }

    #[test]
    fn sizes_are_in_the_largest_unit_with_at_most_one_decimal() {
        for (bytes, words) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1 << 10, "1 KiB"),
            ((1 << 20) + (1 << 19), "1.5 MiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(size(bytes), words);
        }
    }
}
