//! Versions in a git repository: tags out of order, a merge, an unbuildable stretch, a checkout that is somebody's work,
//! and everything that can happen to a mirror.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::world::{Ended, World, until};

/// Commits on the line but for the merge.
const LINE: u32 = 50;
/// Those on the branch that leaves the line after one of its commits and comes back after another: 60 in all.
const SIDE: u32 = 9;
const LEFT: u32 = 20;
const MERGED: u32 = 25;

/// The stretch of the line that does not build.
const BROKEN: std::ops::RangeInclusive<u32> = 31..=35;

/// The tags and where on the line they stand; `v1.10.0` was made before `v1.9.1`.
const TAGS: [(&str, u32); 6] = [
    ("1.8.0", 10),
    ("v1.9.0", 20),
    ("v1.10.0", 40),
    ("v1.9.1", 45),
    ("v1.11.0", 48),
    ("nightly", 50),
];

/// The steps write down that they ran, so that a second build can be seen to do nothing.
const BUILD: &str = r#"
[build]
steps = [
  { shell = 'echo "$HARNESS_VERSION" >> "$XDG_CACHE_HOME/built"' },
  ["./build.sh", "{out}"],
]
binary = "{out}/server"
[start]
cmd = ["{binary}", "{port}"]
"#;

/// A world with a repository in it.
struct Upstream {
    world: World,
}

impl Upstream {
    /// Makes the bare repository `project.git` of 60 commits, whose `HEAD` is an unrelated branch.
    fn new() -> Self {
        let world = World::new();
        let config = "[protocol \"file\"]\nallow = always\n[core]\nautocrlf = true\n";
        world.write("git.config", config);
        let upstream = Self { world };
        upstream.git(".", &["init", "--quiet", "--bare", "project.git"]);
        let stream = upstream.world.write("stream", &stream());
        let mut import = upstream.command("git");
        import.args(["-C", "project.git", "fast-import", "--quiet"]);
        let status = import.stdin(std::fs::File::open(stream).unwrap()).status();
        assert!(status.unwrap().success());
        for (name, line) in TAGS {
            let back = LINE - line + u32::from(line <= MERGED);
            upstream.git("project.git", &["tag", name, &format!("main~{back}")]);
        }
        upstream.git(
            "project.git",
            &["tag", "-f", "-a", "-m", "words", "v1.9.0", "v1.9.0"],
        );
        upstream.git("project.git", &["symbolic-ref", "HEAD", "refs/heads/moved"]);
        upstream
    }

    /// Returns a program that knows no configuration but the world's.
    fn command(&self, program: &str) -> Command {
        let mut command = self.world.harness(&[]);
        if program != crate::world::HARNESS {
            command = Command::new(program);
            command.current_dir(self.world.path());
        }
        let person = ["AUTHOR", "COMMITTER"];
        for role in person {
            command.env(format!("GIT_{role}_NAME"), "a");
            command.env(format!("GIT_{role}_EMAIL"), "a@example.org");
        }
        command
            .env("GIT_CONFIG_GLOBAL", self.world.path().join("git.config"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs git in a folder of the world and returns what it printed.
    fn git(&self, folder: &str, args: &[&str]) -> String {
        let mut command = self.command("git");
        let output = command.args(["-C", folder]).args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Writes a matrix with this in `[source]` and this in `[source.git]`.
    fn matrix(&self, source: &str, git: &str) {
        let text = format!("schema = 2\n[source]\n{source}\n[source.git]\n{git}\n{BUILD}");
        self.world.write("git.toml", &text);
    }

    /// Writes a matrix of the bare repository.
    fn bare(&self, source: &str, git: &str) {
        self.matrix(source, &format!("repository = \"project.git\"\n{git}"));
    }

    fn harness(&self, args: &[&str]) -> Ended {
        Ended::of(
            self.command(crate::world::HARNESS)
                .args(args)
                // The one place outside its own folder where a build may write.
                .env("XDG_CACHE_HOME", self.world.path().join("caches"))
                .output()
                .unwrap(),
        )
    }

    /// Returns the names that `harness list` gives, in its order.
    fn list(&self) -> Vec<String> {
        let ended = self.harness(&["list", "git.toml"]).expect(0);
        let word = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        ended.stdout.lines().map(word).collect()
    }

    /// Returns what `harness build` says of each version, by its name.
    fn build(&self) -> BTreeMap<String, String> {
        let ended = self.harness(&["build", "git.toml"]);
        let words = |line: &str| {
            let (what, rest) = line.split_once(' ')?;
            let (name, rest) = rest.trim_start().split_once(' ')?;
            Some((name.to_owned(), format!("{what} {}", rest.trim_start())))
        };
        ended.stdout.lines().filter_map(words).collect()
    }

    /// Returns how many builds have run their steps so far.
    fn steps_run(&self) -> usize {
        let text = std::fs::read_to_string(self.world.path().join("caches/built"));
        text.unwrap_or_default().lines().count()
    }

    /// Returns the only mirror in the cache.
    fn mirror(&self) -> PathBuf {
        let folder = self.world.path().join(".harness/git");
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut mirrors: Vec<_> = entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(mirrors.len(), 1, "{mirrors:?}");
        mirrors.remove(0)
    }
}

/// Returns the whole history as `git fast-import` reads it.
fn stream() -> String {
    let mut stream = String::new();
    for line in 1..=MERGED {
        change(&mut stream, ("main", line), &format!("line {line}"), "");
        if line == LEFT {
            change(&mut stream, ("side", 1), "side 1", "from refs/heads/main\n");
        }
    }
    for side in 2..=SIDE {
        change(&mut stream, ("side", side), &format!("side {side}"), "");
    }
    let merge = "merge refs/heads/side\n";
    change(&mut stream, ("main", MERGED), "merge", merge);
    for line in MERGED + 1..=LINE {
        change(&mut stream, ("main", line), &format!("line {line}"), "");
    }
    for note in 1..=2 {
        change(&mut stream, ("moved", note), "gone elsewhere", "");
    }
    stream
}

/// Adds a commit: a program that says its number, a script that builds it, a link, and late on the line a submodule.
fn change(stream: &mut String, (branch, number): (&str, u32), message: &str, parents: &str) {
    let build = if branch == "main" && BROKEN.contains(&number) {
        format!("#!/bin/sh\necho 'error: broken by change {number}' >&2\nexit 1\n")
    } else {
        "#!/bin/sh\nset -e\ngit describe --tags --always > \"$1/described\"\ncp -P current number.txt \"$1/\"\n\
         cp server \"$1/server\"\n"
            .to_owned()
    };
    let time = 1_400_000_000 + number;
    writeln!(stream, "commit refs/heads/{branch}").unwrap();
    writeln!(stream, "committer a <a@example.org> {time} +0000").unwrap();
    write!(stream, "data {}\n{message}\n{parents}", message.len()).unwrap();
    let files = [
        ("100755", "build.sh", build),
        (
            "100755",
            "server",
            format!("#!/bin/sh\necho {branch} {number}\n"),
        ),
        ("100644", "number.txt", format!("{branch} {number}\n")),
        ("120000", "current", "number.txt".to_owned()),
    ];
    for (mode, name, text) in files {
        writeln!(
            stream,
            "M {mode} inline {name}\ndata {}\n{text}",
            text.len()
        )
        .unwrap();
    }
    if branch == "main" && number > 45 {
        let text = "[submodule \"dep\"]\npath = deps/dep\nurl = ../dep.git\n";
        writeln!(
            stream,
            "M 100644 inline .gitmodules\ndata {}\n{text}",
            text.len()
        )
        .unwrap();
        writeln!(stream, "M 160000 {} deps/dep", "1".repeat(40)).unwrap();
    }
    stream.push('\n');
}

/// Returns everything that can be seen of the files below a folder: content, rights and times.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_dir() {
            found.extend(everything(&path));
            Vec::new()
        } else {
            std::fs::read(&path).unwrap_or_default()
        };
        let seen = (
            content,
            metadata.mode(),
            metadata.mtime_nsec(),
            metadata.ctime_nsec(),
        );
        found.insert(path, seen);
    }
    found
}

#[test]
fn tags_branches_and_commits_are_listed_in_their_orders() {
    let upstream = Upstream::new();
    upstream.bare("", "");
    assert_eq!(
        upstream.list(),
        ["1.8.0", "1.9.0", "1.9.1", "1.10.0", "1.11.0"]
    );
    upstream.bare("versions = \"~1.9\"", "tags = \"^v(.*)$\"");
    assert_eq!(upstream.list(), ["1.9.0", "1.9.1"]);
    upstream.bare("order = \"topo\"", "");
    assert_eq!(
        upstream.list(),
        ["1.8.0", "1.9.0", "1.10.0", "1.9.1", "1.11.0"]
    );
    upstream.bare("", "branches = [\"side\", \"main\"]");
    assert_eq!(upstream.list(), ["side", "main"]);

    let count = |range: &str| {
        upstream.git(
            "project.git",
            &["rev-list", "--count", "--first-parent", range],
        )
    };
    assert_eq!(count("HEAD"), "2");
    for (first_parent, option, expected) in
        [(true, "--first-parent", 31), (false, "--topo-order", 40)]
    {
        let range = "v1.9.0..main";
        upstream.bare(
            "",
            &format!("commits = \"{range}\"\nfirst_parent = {first_parent}"),
        );
        let found = upstream.list();
        let hashes = upstream.git("project.git", &["rev-list", option, range]);
        let mut hashes: Vec<_> = hashes.lines().map(|hash| hash[..10].to_owned()).collect();
        hashes.push(upstream.git("project.git", &["rev-parse", "v1.9.0^0"])[..10].to_owned());
        assert_eq!(found.len(), expected + 1);
        assert_eq!(
            (&found[0], found.last()),
            (&hashes[expected], hashes.first())
        );
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        assert_eq!(sorted(found), sorted(hashes));
    }
}

#[test]
fn an_unbuildable_stretch_is_gaps_with_their_errors_and_nothing_is_built_twice() {
    let upstream = Upstream::new();
    upstream.bare("", "commits = \"main~20..main~14\"");
    let names = upstream.list();
    let built = upstream.build();
    for (line, name) in (30..=36).zip(&names) {
        let outcome = &built[name];
        if BROKEN.contains(&line) {
            assert!(
                outcome.starts_with("gap build: failed: "),
                "{line}: {outcome}"
            );
            assert!(
                outcome.contains(&format!("broken by change {line}")),
                "{line}: {outcome}"
            );
            let log = upstream
                .harness(&["log", "--matrix", "git.toml", name])
                .expect(0);
            assert!(log.stdout.contains("$ ./build.sh"), "{}", log.stdout);
            continue;
        }
        let server = upstream
            .world
            .path()
            .join(outcome.strip_prefix("built ").unwrap());
        let said = Command::new(&server).output().unwrap().stdout;
        assert_eq!(String::from_utf8_lossy(&said), format!("main {line}\n"));
        let out = server.parent().unwrap();
        assert_eq!(
            std::fs::read_link(out.join("current")).unwrap(),
            Path::new("number.txt")
        );
        let text = std::fs::read_to_string(out.join("number.txt")).unwrap();
        assert_eq!(text, format!("main {line}\n"));
        let described = std::fs::read_to_string(out.join("described")).unwrap();
        assert!(described.starts_with("v1.9.0-"), "{described}");
    }
    assert_eq!(upstream.steps_run(), 7);
    assert_eq!(upstream.build(), built);
    assert_eq!(upstream.steps_run(), 7);
}

#[test]
fn a_checkout_with_work_in_it_is_left_as_it_is() {
    let upstream = Upstream::new();
    upstream.git(
        ".",
        &[
            "clone",
            "--quiet",
            "--branch",
            "main",
            "project.git",
            "mine",
        ],
    );
    upstream.git("mine", &["branch", "fix", "v1.9.0"]);
    upstream.world.write("mine/server", "half an idea");
    upstream.world.write("mine/staged", "half another");
    upstream.git("mine", &["add", "staged"]);
    upstream.matrix(
        "",
        "repository = \"mine\"\nbranches = [\"fix\", \"origin/side\"]",
    );
    let mine = upstream.world.path().join("mine");
    let before = everything(&mine);
    assert_eq!(upstream.list(), ["fix", "origin/side"]);
    let built = upstream.build();
    assert!(
        built.values().all(|outcome| outcome.starts_with("built")),
        "{built:?}"
    );
    assert!(
        before == everything(&mine),
        "something in the checkout was touched"
    );
}

#[test]
fn a_mirror_follows_tags_that_are_moved_or_deleted_and_outlives_its_repository() {
    let upstream = Upstream::new();
    upstream.bare("versions = [\"1.9.0\", \"1.10.0\"]", "");
    let first = upstream.build();
    // What a killed fetch leaves.
    std::fs::write(upstream.mirror().join("packed-refs.lock"), "").unwrap();
    upstream.git("project.git", &["tag", "-f", "v1.10.0", "main~9"]);
    upstream.git("project.git", &["tag", "-d", "v1.9.0"]);
    let second = upstream.build();
    assert_ne!(first["1.10.0"], second["1.10.0"]);
    let server = upstream
        .world
        .path()
        .join(second["1.10.0"].strip_prefix("built ").unwrap());
    let said = Command::new(server).output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&said), "main 41\n");
    assert!(
        second["1.9.0"].starts_with("gap fetch: not-found"),
        "{second:?}"
    );

    upstream.bare("", "");
    let names = upstream.list();
    assert_eq!(names, ["1.8.0", "1.9.1", "1.10.0", "1.11.0"]);
    std::fs::rename(
        upstream.world.path().join("project.git/objects"),
        upstream.world.path().join("gone"),
    )
    .unwrap();
    let list = upstream.harness(&["list", "git.toml"]).expect(0);
    assert!(
        list.stderr
            .contains("warning: could not refresh the mirror"),
        "{}",
        list.stderr
    );
    assert_eq!(upstream.list(), names);
}

#[test]
fn a_clone_that_was_killed_is_never_taken_for_a_whole_one() {
    let upstream = Upstream::new();
    let path = upstream.world.path().join("project.git");
    upstream.matrix(
        "",
        &format!("repository = \"ssh://nowhere{}\"", path.display()),
    );
    let ssh = "#!/bin/sh\ntest \"$1\" != -G || exit 1\ntouch asked\nexec sleep 600\n";
    let ssh = upstream.world.write("carrier", ssh);
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let list = || {
        let mut command = upstream.command(crate::world::HARNESS);
        command
            .args(["list", "git.toml"])
            .env("GIT_SSH_COMMAND", &ssh);
        command
    };
    let mut killed = list().spawn().unwrap();
    until("git asks the server", || upstream.mirror_asked());
    killed.kill().unwrap();
    killed.wait().unwrap();
    upstream.world.expect_no_process();
    assert!(
        upstream
            .mirror()
            .extension()
            .is_some_and(|extension| extension == "half")
    );

    // Two at once: one makes the mirror, the other waits for it.
    std::fs::write(
        &ssh,
        "#!/bin/sh\ntest \"$1\" != -G || exit 1\nexec sh -c \"$2\"\n",
    )
    .unwrap();
    let both = [(); 2].map(|()| list().stdout(Stdio::piped()).spawn().unwrap());
    let both = both.map(|child| {
        Ended::of(child.wait_with_output().unwrap())
            .expect(0)
            .stdout
    });
    assert_eq!(both[0], both[1]);
    assert!(both[0].contains("1.10.0"), "{}", both[0]);
    assert!(upstream.mirror().join("HEAD").is_file());

    // A deletion that was killed as well.
    std::fs::remove_file(upstream.mirror().join("HEAD")).unwrap();
    let again = Ended::of(list().output().unwrap()).expect(0).stdout;
    assert_eq!(again, both[0]);
    let cleaned = upstream.harness(&["clean", "--all"]).expect(0).stdout;
    assert!(cleaned.contains("deleted  git/project-"), "{cleaned}");
    assert!(
        !upstream
            .world
            .path()
            .join(".harness/git")
            .read_dir()
            .unwrap()
            .flatten()
            .any(|entry| entry.path().is_dir())
    );
}

impl Upstream {
    fn mirror_asked(&self) -> bool {
        let folder = self.world.path().join(".harness/git");
        let half = std::fs::read_dir(folder).into_iter().flatten().flatten();
        half.map(|entry| entry.path())
            .any(|path| path.join("asked").is_file())
    }
}

#[test]
fn submodules_are_fetched_where_asked_for_and_a_missing_one_is_named() {
    let upstream = Upstream::new();
    upstream.git(".", &["init", "--quiet", "dep.git"]);
    upstream.world.write("dep.git/lib.txt", "lib");
    upstream.git("dep.git", &["add", "lib.txt"]);
    upstream.git("dep.git", &["commit", "--quiet", "-m", "lib"]);
    let lib = upstream.git("dep.git", &["rev-parse", "HEAD"]);
    let project = [
        "clone",
        "--quiet",
        "--branch",
        "main",
        "project.git",
        "mine",
    ];
    upstream.git(".", &project);
    let link = format!("160000,{lib},deps/dep");
    upstream.git("mine", &["update-index", "--cacheinfo", &link]);
    upstream.git("mine", &["commit", "--quiet", "-m", "mend"]);
    upstream.git("mine", &["tag", "v1.12.0"]);
    upstream.git("mine", &["push", "--quiet", "origin", "v1.12.0"]);

    let versions = "versions = [\"1.9.1\", \"1.11.0\", \"1.12.0\"]";
    let build = |submodules: bool| {
        upstream.bare(versions, &format!("submodules = {submodules}"));
        let needs = "test ! -f .gitmodules || test -f deps/dep/lib.txt || exit 1; echo";
        upstream
            .world
            .change("git.toml", "'echo", &format!("'{needs}"));
        upstream.build()
    };
    let with = build(true);
    assert!(
        with["1.9.1"].starts_with("built") && with["1.12.0"].starts_with("built"),
        "{with:?}"
    );
    let missing = &with["1.11.0"];
    assert!(
        missing.starts_with("gap fetch: not-found: the submodule `deps/dep` could not"),
        "{missing}"
    );
    let without = build(false);
    assert!(without["1.9.1"].starts_with("built"), "{without:?}");
    for version in ["1.11.0", "1.12.0"] {
        assert!(
            without[version].ends_with("`submodules = true` in `[source.git]` would do"),
            "{without:?}"
        );
    }
}

#[test]
fn what_is_wrong_with_a_repository_is_said() {
    let upstream = Upstream::new();
    let said = |verb: &str, code| {
        let ended = upstream.harness(&[verb, "git.toml"]).expect(code);
        ended.stdout + &ended.stderr
    };
    upstream.bare("", "commits = \"v1.9.0..mian\"");
    let text = said("list", 128);
    assert!(
        text.contains("no commit `mian`") && text.contains("did you mean `main`?"),
        "{text}"
    );
    upstream.bare("", "tags = \"^release-\"");
    let text = said("list", 128);
    assert!(
        text.contains("6 tags, such as `1.8.0` and `v1.9.1`"),
        "{text}"
    );
    upstream.matrix("", "repository = \"nowhere\"");
    let text = said("list", 128);
    assert!(
        text.contains("/nowhere' does not appear to be a git repository"),
        "{text}"
    );
    assert!(text.contains("relative to the matrix"), "{text}");

    let address = format!("file://{}/project.git", upstream.world.path().display());
    let shallow = [
        "clone",
        "--quiet",
        "--depth=3",
        "--branch=main",
        &address,
        "shallow",
    ];
    upstream.git(".", &shallow);
    upstream.matrix("", "repository = \"shallow\"\nbranches = [\"main\"]");
    let text = said("check", 0);
    assert!(
        text.contains("warning: the repository is shallow"),
        "{text}"
    );
    upstream.matrix("", "repository = \"shallow\"\ncommits = \"main~2..main\"");
    let text = said("list", 128);
    assert!(
        text.contains("the repository is shallow") && text.contains("--unshallow"),
        "{text}"
    );
    upstream.git("shallow", &["fetch", "--quiet", "--unshallow"]);
    let text = said("check", 0);
    assert!(
        text.contains("3 cells in") && !text.contains("shallow:"),
        "{text}"
    );
}

#[test]
fn a_repository_of_another_user_is_read_once_git_is_told_to() {
    if !rustix::process::geteuid().is_root() {
        // Nobody else can give a repository away.
        return;
    }
    let upstream = Upstream::new();
    upstream.git(
        ".",
        &["clone", "--quiet", "--branch=main", "project.git", "theirs"],
    );
    for folder in ["theirs", "theirs/.git"] {
        std::os::unix::fs::chown(upstream.world.path().join(folder), Some(12345), None).unwrap();
    }
    upstream.matrix("", "repository = \"theirs\"");
    let refused = upstream.harness(&["list", "git.toml"]).expect(128).stderr;
    let (_, hint) = refused.split_once("try: ").unwrap();
    let told = upstream.command("sh").args(["-c", hint]).status().unwrap();
    assert!(told.success(), "{refused}");
    assert_eq!(upstream.list().len(), 5);
}
