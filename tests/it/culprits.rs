//! The repositories that bisection is tried on hold what their generator promises.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with a repository of one seed and what is true of it.
struct Generated {
    folder: tempfile::TempDir,
    truth: Value,
}

impl Generated {
    fn new(seed: u64, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("python3")
            .arg(source().join("repository.py"))
            .arg(seed.to_string())
            .arg(folder.path())
            .args(more)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", text(&made.stderr));
        let truth = std::fs::read(folder.path().join("truth.json")).unwrap();
        let truth = serde_json::from_slice(&truth).unwrap();
        Self { folder, truth }
    }

    fn git(&self, words: &[&str]) -> String {
        let repository = self.folder.path().join("repository");
        let done = Command::new("git")
            .arg("-C")
            .arg(repository)
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{words:?}: {}", text(&done.stderr));
        text(&done.stdout).trim().to_owned()
    }

    /// Returns the hashes under a name of the truth.
    fn hashes(&self, name: &str) -> Vec<&str> {
        let all = self.truth[name].as_array().unwrap().iter();
        all.map(|hash| hash.as_str().unwrap()).collect()
    }

    /// Returns how many commits git lists.
    fn count(&self, words: &[&str]) -> usize {
        let list = [&["rev-list", "bad"], words].concat();
        self.git(&list).lines().count()
    }

    /// Compiles a commit.
    fn compile(&self, commit: &str) -> Output {
        let folder = self.folder.path().join(commit);
        std::fs::create_dir(&folder).unwrap();
        for file in ["server.c", "work.c", "work.h", "types.c", "types.h"] {
            let content = self.git(&["show", &format!("{commit}:{file}")]);
            std::fs::write(folder.join(file), content + "\n").unwrap();
        }
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o", "server"]);
        compiler.args(["server.c", "work.c", "types.c"]);
        compiler.current_dir(&folder).output().unwrap()
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/bisect")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_has_128_commits_two_merges_and_28_that_are_broken() {
    for seed in 1..=8 {
        let generated = Generated::new(seed, &[]);
        assert_eq!(generated.count(&[]), 128, "seed {seed}");
        assert_eq!(generated.count(&["--merges"]), 2, "seed {seed}");
        let broken = generated.hashes("unbuildable");
        assert_eq!(broken.len(), 28, "seed {seed}");
        let culprit = generated.truth["culprit"].as_str().unwrap();
        assert!(generated.hashes("alike").contains(&culprit), "seed {seed}");
        for end in ["good", "bad"] {
            let end = generated.git(&["rev-parse", end]);
            assert!(!broken.contains(&end.as_str()) && end != generated.truth["crash"]);
        }
    }
}

#[test]
fn one_seed_makes_one_repository_and_without_a_change_only_the_culprit_is_missing() {
    let bad = |seed, more: &[&str]| Generated::new(seed, more).git(&["rev-parse", "bad"]);
    assert_eq!(bad(7, &[]), bad(7, &[]));
    assert_ne!(bad(7, &[]), bad(8, &[]));
    let (with, without) = (Generated::new(7, &[]), Generated::new(7, &["--no-change"]));
    assert!(without.truth["culprit"].is_null() && without.hashes("alike").is_empty());
    let turns = |generated: &Generated, commit: &str| {
        let header = generated.git(&["show", &format!("{commit}:work.h")]);
        let line = header.lines().find(|line| line.contains("TURNS "));
        line.unwrap().to_owned()
    };
    assert_eq!(turns(&with, "good"), turns(&without, "good"));
    assert_eq!(turns(&without, "good"), turns(&without, "bad"));
    assert_ne!(turns(&with, "good"), turns(&with, "bad"));
    assert_ne!(
        turns(&without, "good"),
        turns(&without, without.truth["decoy"].as_str().unwrap())
    );
}

#[test]
fn what_is_said_not_to_build_does_not_and_the_rest_does() {
    let generated = Generated::new(3, &[]);
    let broken = generated.hashes("unbuildable");
    let runs = ["culprit", "decoy", "crash"].map(|name| generated.truth[name].as_str().unwrap());
    // The culprit itself may lie in a stretch.
    for commit in runs.into_iter().filter(|commit| !broken.contains(commit)) {
        let compiled = generated.compile(commit);
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    }
    for commit in &broken {
        let compiled = generated.compile(commit);
        assert!(!compiled.status.success(), "{commit}");
    }
}
