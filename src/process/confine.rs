//! Holding a program in: where it may write, and whether it reaches the network. Edge.
//!
//! Both are given up by the process that starts the program, and no program can get back what its parent gave up:
//! [Landlock](https://landlock.io) for files, a network of its own for the network, so that no rights and no other
//! program are needed.
#![expect(
    clippy::disallowed_methods,
    reason = "a new user namespace is told through files who its user is"
)]

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags, path_beneath_rules,
};
use nix::sched::{CloneFlags, unshare};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use serde::{Deserialize, Serialize};

/// What programs write to wherever they run.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Where the C library keeps the semaphores that processes share; Python's compiler needs them.
const SHARED_MEMORY: &str = "/dev/shm";

/// What a program may do to the rest of the machine. It may read and execute everything that its user may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// The files and folders that it may change; those that are not there are left out.
    pub writable: Vec<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
}

/// How far this machine lets a program be confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// Whether it can be kept from writing outside.
    pub files: bool,
    /// How it can be kept from the network.
    pub network: Closing,
}

/// How a program can be kept from the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Closing {
    /// It has a network of its own, in which there is nothing but itself.
    Whole,
    /// It can neither connect by TCP nor listen; UDP stays open, and with it the names of hosts.
    Tcp,
    /// Not at all.
    Not,
}

/// What a supervisor gives up before it starts its program.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Walls {
    /// All that may be changed; none leaves everything writable.
    pub(super) writable: Option<Vec<PathBuf>>,
    /// How the network is closed; none leaves it open.
    pub(super) network: Option<Closing>,
}

/// Returns whether the kernel can keep a program from writing outside.
pub(super) fn holds_files() -> bool {
    ruleset(false).is_ok()
}

/// Returns whether the kernel can keep a program from TCP.
pub(super) fn holds_tcp() -> bool {
    ruleset(true).is_ok()
}

/// Restricts this thread, and with it all that it will start.
///
/// They can no longer become another user by a setuid program, nor (newer kernels) signal processes outside.
pub(super) fn restrict(walls: &Walls) -> io::Result<()> {
    let Some(writable) = &walls.writable else {
        return Ok(());
    };
    let is_tcp_closed = walls.network == Some(Closing::Tcp);
    write_only_below(writable, is_tcp_closed).map_err(io::Error::other)
}

fn write_only_below(writable: &[PathBuf], is_tcp_closed: bool) -> Result<(), RulesetError> {
    // A device made there would be a way around everything.
    let change = AccessFs::from_write(ABI::V5)
        & !make_bitflags!(AccessFs::{MakeChar | MakeBlock | IoctlDev});
    let use_device = make_bitflags!(AccessFs::{WriteFile | Truncate | IoctlDev});
    let folders = writable.iter().map(PathBuf::as_path);
    ruleset(is_tcp_closed)?
        .add_rules(path_beneath_rules(
            folders.chain([Path::new(SHARED_MEMORY)]),
            change,
        ))?
        .add_rules(path_beneath_rules(DEVICES, use_device))?
        .restrict_self()?;
    Ok(())
}

/// Makes the list of what will be refused unless a rule allows it. Newer kernels refuse more.
fn ruleset(is_tcp_closed: bool) -> Result<RulesetCreated, RulesetError> {
    // The first kernels with Landlock let nobody move a file to another folder, which all package managers do.
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V2))?;
    if is_tcp_closed {
        rules = rules.handle_access(
            BitFlags::<AccessNet>::from(AccessNet::BindTcp) | AccessNet::ConnectTcp,
        )?;
    }
    rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(ABI::V5))?
        .scope(Scope::Signal)?
        .create()
}

/// Moves this process into a network of its own. It must not have a second thread.
pub(super) fn leave_network() -> io::Result<()> {
    // Root needs no new user namespace; in one the owners of other people's files would have no names.
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?;
        std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    raise_loopback()
}

/// Brings up `lo`, over which build tools talk to their own daemons.
fn raise_loopback() -> io::Result<()> {
    // No protocol is that of routes.
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &link_up(), SendFlags::empty(), &kernel)?;
    let mut answer = [0_u8; 64];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // A message's head, and the error's number, which is 0 for none.
    match answer.get(16..20) {
        Some(&[0, 0, 0, 0]) if length >= 20 => Ok(()),
        Some(_) | None => Err(io::Error::other(
            "the loopback network cannot be brought up",
        )),
    }
}

/// Returns the message that brings up the first interface: `nlmsghdr` and `ifinfomsg` of the kernel's headers.
fn link_up() -> Vec<u8> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_WITH_ANSWER: u16 = 1 | 4;
    const LOOPBACK: u32 = 1;
    const UP: u32 = 1;
    let mut message = LENGTH.to_ne_bytes().to_vec();
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_WITH_ANSWER.to_ne_bytes());
    // Neither a sequence number, nor a sender, nor an address family, nor a type.
    message.extend([0; 12]);
    for word in [LOOPBACK, UP, UP] {
        message.extend(word.to_ne_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    #[test]
    fn a_restricted_thread_writes_only_below_and_the_others_everywhere() {
        if !holds_files() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        std::fs::create_dir(&inside).unwrap();
        let walls = Walls {
            writable: Some(vec![inside.clone(), PathBuf::from("/nowhere/at/all")]),
            network: None,
        };
        let kinds = thread::scope(|scope| {
            let restricted = scope.spawn(|| {
                restrict(&walls).unwrap();
                std::fs::write(inside.join("a"), "").unwrap();
                std::fs::create_dir(inside.join("folder")).unwrap();
                std::fs::rename(inside.join("a"), inside.join("folder/a")).unwrap();
                std::fs::write("/dev/null", "gone").unwrap();
                [
                    std::fs::write(&outside, ""),
                    std::fs::create_dir(&outside),
                    std::fs::remove_dir_all(dir.path()),
                ]
                .map(|done| done.unwrap_err().kind())
            });
            restricted.join().unwrap()
        });
        assert_eq!(kinds, [ErrorKind::PermissionDenied; 3]);
        std::fs::write(&outside, "").unwrap();
    }

    #[test]
    fn where_only_tcp_can_be_closed_it_is() {
        if !holds_tcp() {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let walls = |network| Walls {
            writable: Some(Vec::new()),
            network,
        };
        let connects = |network| {
            thread::scope(|scope| {
                let restricted = scope.spawn(|| {
                    restrict(&walls(network)).unwrap();
                    let listens = TcpListener::bind("127.0.0.1:0").is_ok();
                    (listens, TcpStream::connect(address).is_ok())
                });
                restricted.join().unwrap()
            })
        };
        assert_eq!(connects(None), (true, true));
        assert_eq!(connects(Some(Closing::Tcp)), (false, false));
    }

    #[test]
    fn the_message_that_brings_up_the_loopback_has_its_own_length() {
        let message = link_up();
        assert_eq!(message.len(), 32);
        assert_eq!(message[..4], 32_u32.to_ne_bytes());
    }
}
