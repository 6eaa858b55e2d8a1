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
