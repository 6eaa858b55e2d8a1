//! The process tree of a server: what is below its supervisors, and the socket it listens on. Edge.

use std::path::Path;

use procfs::process::Stat;
use rustix::process::Pid;

use super::counters::Counting;
use super::listening;
use crate::address::Address;
use crate::error::Result;
use crate::journal::Sharing;
use crate::process::below::family;
use crate::process::cgroup::Group;
use crate::process::{Child, Spec};

/// The processes of one server, which may have been started as several programs. By default there are none: those of a
/// server on another machine.
#[derive(Debug, Default)]
pub struct Tree {
    /// The supervisors, which do not belong to it themselves.
    roots: Vec<Pid>,
    /// The control group that all of it is in, where one was allowed.
    pub(super) group: Option<Group>,
    /// Its hardware counters, where the machine has them.
    pub(super) counting: Counting,
}

/// What the kernel says of a tree's processes at one moment.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) supervisors: Vec<Stat>,
    /// Those below them, with those that have ended and that nobody has waited for yet.
    pub(super) members: Vec<Stat>,
}

impl Look {
    /// Returns the members that live.
    pub(super) fn living(&self) -> impl Iterator<Item = &Stat> {
        let is_dead = |stat: &Stat| stat.state == 'Z' || stat.state == 'X';
        self.members.iter().filter(move |stat| !is_dead(stat))
    }
}

impl Tree {
    /// Makes a tree for a server that is to be started, with a control group of its own where that is allowed.
    pub fn new() -> Self {
        Self {
            group: Group::new(),
            ..Self::default()
        }
    }

    /// Starts a program of the server, with its output appended to the log.
    pub async fn spawn(
        &mut self,
        spec: &Spec,
        log: &Path,
    ) -> Result<std::result::Result<Child, String>> {
        Child::spawn_known(spec, (log, log), |root| self.take_in(root)).await
    }

    /// Takes in what is going to be started below `root`.
    fn take_in(&mut self, root: Pid) {
        if let Some(group) = &self.group {
            group.admit(root);
        }
        self.counting.add(root);
        self.roots.push(root);
    }

    /// Returns how the CPU is shared out between this server and others.
    pub fn sharing(&self) -> Sharing {
        self.group
            .as_ref()
            .map_or(Sharing::Sessions, Group::sharing)
    }

    /// Looks at all its processes.
    pub(super) fn look(&self) -> Look {
        let mut look = Look::default();
        for &root in &self.roots {
            let mut family = family(root).into_iter();
            look.supervisors.extend(family.next());
            look.members.extend(family);
        }
        look
    }

    /// Returns every address at which a process of the tree listens.
    pub fn listening(&self) -> Vec<Address> {
        let look = self.look();
        let living: Vec<i32> = look.living().map(|stat| stat.pid).collect();
        listening::addresses(&living)
    }
}

/// Returns how the CPU is shared out between servers: by groups only if each has one.
pub fn sharing<'a>(trees: impl IntoIterator<Item = &'a Tree>) -> Sharing {
    let mut kinds = trees.into_iter().map(Tree::sharing);
    let first = kinds.next().unwrap_or_default();
    if kinds.all(|kind| kind == first) {
        first
    } else {
        Sharing::Sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_without_groups_of_their_own_share_by_sessions() {
        let trees = [Tree::default(), Tree::default()];
        assert_eq!(sharing(&trees), Sharing::Sessions);
        assert_eq!(sharing(&[]), Sharing::Sessions);
    }
}
