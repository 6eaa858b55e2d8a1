//! A control group for each server, where that is allowed, and none left afterwards.

use std::io::Write;
use std::path::{Path, PathBuf};

use harness::process::cgroup::Group;
use rustix::fs::{Access, access};
use rustix::process::Signal;

use crate::world::{World, send, until};

const GROUPS: &str = "/sys/fs/cgroup";

/// Returns whether groups can be made here, and says so if not. Where the usual place can be written to, they must.
fn are_allowed() -> bool {
    if Group::new().is_some() {
        return true;
    }
    let usual = Path::new(GROUPS).join("cpu");
    assert!(
        access(&usual, Access::WRITE_OK).is_err(),
        "{} may be written to, but no group was made",
        usual.display()
    );
    // The test runner keeps to itself what `eprintln` says.
    let mut terminal = std::io::stderr();
    let skipped = b"skipped: no control group can be made here\n";
    terminal.write_all(skipped).unwrap();
    false
}

/// Returns the groups that a process has made, wherever they are.
fn groups_of(process: u32) -> Vec<PathBuf> {
    let prefix = format!("harness-{process}-");
    let mut folders = vec![PathBuf::from(GROUPS)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                found.push(entry.path());
            }
            folders.push(entry.path());
        }
    }
    found
}

#[test]
fn each_server_has_a_group_and_none_is_left_even_by_a_killed_harness() {
    if !are_allowed() {
        return;
    }
    let world = World::new();
    world.write_faults(
        &["steady", "forks_a_child"],
        "[sessions]\ncount = 4\nsolo = 1\n[verdict]\nconfirm = false",
    );
    let mut killed = world.start(&["run", "faults.toml"]);
    until("two servers have a group each", || {
        let ended = killed.try_wait().unwrap();
        assert!(ended.is_none(), "{ended:?}: {:#?}", world.records("faults"));
        let groups = groups_of(killed.id());
        groups.iter().filter(|group| shares_out(group)).count() == 2
    });
    send(&killed, Signal::KILL);
    killed.wait().unwrap();
    world.expect_no_process();

    let next = world.start(&["run", "faults.toml"]);
    let process = next.id();
    let ended = next.wait_with_output().unwrap();
    assert!(
        matches!(ended.status.code(), Some(0 | 1 | 125)),
        "{ended:?}"
    );
    assert_eq!(groups_of(killed.id()), Vec::<PathBuf>::new());
    assert_eq!(groups_of(process), Vec::<PathBuf>::new());
    for record in world.records("faults") {
        if record["record"] == "session" {
            let sharing = record["sharing"].as_str().unwrap();
            assert!(sharing.starts_with("cgroup-v"), "{record}");
        }
    }
}

/// Returns whether a group is in the hierarchy that shares out the CPU: there may be another one that accounts for it.
fn shares_out(group: &Path) -> bool {
    group.join("cpu.shares").exists() || group.join("cpu.weight").exists()
}
