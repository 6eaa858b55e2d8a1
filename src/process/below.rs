//! The processes below another one, as `/proc` tells them. Edge.

use std::collections::HashSet;

use procfs::process::{Process, Stat};
use rustix::process::Pid;

/// Returns every living process below `root`, `root` itself not among them.
pub(crate) fn descendants(root: Pid) -> Vec<Pid> {
    let below = living_below(root);
    below
        .iter()
        .filter_map(|stat| Pid::from_raw(stat.pid))
        .collect()
}

/// Returns what the kernel says of each process of a tree, `root` first, with those that have ended and that nobody has
/// waited for yet.
///
/// It goes from each process to its children, which costs less than looking through all processes of the machine, but may
/// miss some while others end; those are met the next time.
pub(crate) fn family(root: Pid) -> Vec<Stat> {
    let mut found = Vec::from_iter(stat_of(root.as_raw_pid()));
    if !keeps_children(root) {
        found.extend(living_below(root));
        return found;
    }
    let mut next = 0;
    while let Some(stat) = found.get(next) {
        let children = children_of_threads(stat.pid);
        found.extend(children.into_iter().filter_map(stat_of));
        next += 1;
    }
    found
}

fn stat_of(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// Returns whether this kernel keeps a list of each thread's children.
fn keeps_children(pid: Pid) -> bool {
    let thread = Process::new(pid.as_raw_pid()).and_then(|process| process.task_main_thread());
    thread.and_then(|thread| thread.children()).is_ok()
}

fn children_of_threads(pid: i32) -> Vec<i32> {
    let threads = Process::new(pid).and_then(|process| process.tasks());
    let lists = threads
        .into_iter()
        .flatten()
        .filter_map(|thread| thread.ok()?.children().ok());
    lists
        .flatten()
        .filter_map(|id| i32::try_from(id).ok())
        .collect()
}

/// Returns the processes right below this one, which the kernel lists at once; none where it keeps no such list.
pub(super) fn children(own: Pid) -> Vec<Pid> {
    let list = Process::new(own.as_raw_pid())
        .and_then(|process| process.task_main_thread())
        .and_then(|thread| thread.children());
    list.into_iter()
        .flatten()
        .filter_map(|id| i32::try_from(id).ok().and_then(Pid::from_raw))
        .collect()
}

/// Returns what the kernel says of every living process below `root`.
pub(super) fn living_below(root: Pid) -> Vec<Stat> {
    let all = procfs::process::all_processes();
    let mut others: Vec<Stat> = all
        .into_iter()
        .flatten()
        .filter_map(|process| process.ok()?.stat().ok())
        .filter(|stat| stat.state != 'Z' && stat.state != 'X')
        .collect();
    let mut below = HashSet::from([root.as_raw_pid()]);
    let mut found = Vec::new();
    loop {
        let (children, rest): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|stat| below.contains(&stat.ppid));
        if children.is_empty() {
            return found;
        }
        below.extend(children.iter().map(|stat| stat.pid));
        found.extend(children);
        others = rest;
    }
}
