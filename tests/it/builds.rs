//! Builds whose steps are a few lines of shell: what is tried again, what is proved, what is kept.

use std::io::Write;
use std::net::TcpListener;

use crate::world::World;

/// A matrix whose versions are built by one line of bash, and what more is asked of the build.
fn write(world: &World, versions: &[&str], line: &str, more: &str) {
    let text = format!(
        r#"schema = 2
[source]
versions = {versions:?}
[source.list]
[build]
steps = [["bash", "-c", '''{line}''']]
binary = "{{out}}/server"
timeout = "60s"
retry = {{ attempts = 3, wait = "1ms" }}
{more}
[start]
cmd = ["{{binary}}"]
"#
    );
    world.write("built.toml", &text);
}

/// A step that leaves a program which says its version.
const SAYS_ITS_VERSION: &str = r#"printf '#!/bin/sh\necho "server v%s"\n' "$HARNESS_VERSION" > "$HARNESS_OUT/server"; chmod +x "$HARNESS_OUT/server""#;

fn outcomes(world: &World) -> Vec<serde_json::Value> {
    let ended = world.run(&["build", "built.toml", "--format", "json"]);
    let lines = ended.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Answers each connection with the next of the words, then listens no more. Returns how many came.
fn answering(words: &[&'static str]) -> (u16, std::thread::JoinHandle<usize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let words = words.to_vec();
    let thread = std::thread::spawn(move || {
        let mut count = 0;
        for word in words {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(word.as_bytes()).unwrap();
            count += 1;
        }
        count
    });
    (port, thread)
}

#[test]
fn what_fails_for_the_network_is_tried_again_until_it_passes() {
    let world = World::new();
    let (port, answers) = answering(&["no\n", "no\n", "yes\n"]);
    let line = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; read -r word <&3; test $word = yes || {{{{ echo Could not resolve host: example >&2; exit 1; }}}}; {SAYS_ITS_VERSION}"
    );
    write(&world, &["1.0.0"], &line, "");
    assert!(outcomes(&world)[0]["outcome"]["artifact"].is_object());
    assert_eq!(answers.join().unwrap(), 3);
}

#[test]
fn what_never_passes_is_a_gap_that_says_how_often_it_was_tried() {
    let world = World::new();
    let (port, answers) = answering(&["no\n", "no\n", "no\n"]);
    let line = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; echo Could not resolve host: example >&2; exit 1"
    );
    write(&world, &["1.0.0"], &line, "");
    let gap = &outcomes(&world)[0]["outcome"]["gap"];
    assert_eq!(gap["kind"], "network");
    assert!(
        gap["cause"].as_str().unwrap().ends_with("(tried 3 times)"),
        "{gap}"
    );
    assert_eq!(answers.join().unwrap(), 3);
}

#[test]
fn a_failure_that_will_not_pass_is_tried_once_and_kept() {
    let world = World::new();
    let (port, answers) = answering(&["no\n"]);
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo 'error: no' >&2; exit 1");
    write(&world, &["1.0.0"], &line, "");
    assert_eq!(outcomes(&world)[0]["outcome"]["gap"]["kind"], "failed");
    answers.join().unwrap();
    // Nobody listens any more: a second build would say so.
    assert_eq!(
        outcomes(&world)[0]["outcome"]["gap"]["errors"][0],
        "error: no"
    );
}

#[test]
fn a_program_that_is_another_version_is_a_gap() {
    let world = World::new();
    let proof = r#"version_cmd = ["{binary}"]"#;
    let lying = SAYS_ITS_VERSION.replace(r#""$HARNESS_VERSION""#, "1.0.1");
    write(&world, &["1.0.0", "1.0.1"], &lying, proof);
    let outcomes = outcomes(&world);
    let gap = &outcomes[0]["outcome"]["gap"];
    assert_eq!(gap["kind"], "wrong-version");
    assert!(
        gap["cause"].as_str().unwrap().contains("server v1.0.1"),
        "{gap}"
    );
    assert!(
        outcomes[1]["outcome"]["artifact"].is_object(),
        "{}",
        outcomes[1]
    );
}

#[test]
fn a_pattern_of_the_matrix_decides_what_a_version_is() {
    let world = World::new();
    let proof = "version_cmd = [\"{binary}\"]\nversion_match = '^server v{version}$'";
    write(&world, &["1.0.0"], SAYS_ITS_VERSION, proof);
    assert!(outcomes(&world)[0]["outcome"]["artifact"].is_object());
    world.change("built.toml", "^server", "^Server");
    assert_eq!(
        outcomes(&world)[0]["outcome"]["gap"]["kind"],
        "wrong-version"
    );
}

#[test]
fn equal_programs_are_known_as_such() {
    let world = World::new();
    // Something that is no script, and differs only where the minor version does.
    let line = r#"cp "$(type -P true)" "$HARNESS_OUT/server"; echo "${{HARNESS_VERSION%.*}}" >> "$HARNESS_OUT/server""#;
    write(&world, &["1.0.0", "1.0.1", "1.1.0"], line, "");
    let contents: Vec<String> = outcomes(&world)
        .iter()
        .map(|outcome| outcome["outcome"]["artifact"]["content"].to_string())
        .collect();
    assert_eq!(contents[0], contents[1]);
    assert_ne!(contents[1], contents[2]);
}

#[test]
fn a_second_build_of_a_full_cache_runs_no_step() {
    let world = World::new();
    let (port, answers) = answering(&["one\n", "two\n"]);
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; read -r word <&3; {SAYS_ITS_VERSION}");
    write(&world, &["1.0.0", "1.0.1"], &line, "");
    let first = outcomes(&world);
    assert_eq!(answers.join().unwrap(), 2);
    for (before, after) in first.iter().zip(outcomes(&world)) {
        assert_eq!(after["outcome"]["artifact"]["cached"], true);
        assert_eq!(
            before["outcome"]["artifact"]["key"],
            after["outcome"]["artifact"]["key"]
        );
    }
}

#[test]
fn clean_deletes_builds_and_logs_and_nothing_else() {
    let world = World::new();
    write(&world, &["1.0.0", "1.0.1"], SAYS_ITS_VERSION, "");
    outcomes(&world);
    world.write(".harness/builds/built/own/file", "of the user's");
    let kept = world.run(&["clean"]).expect(0).stdout;
    assert!(kept.contains("0 MiB freed"), "{kept}");
    let shown = world.run(&["clean", "--all", "--dry-run"]).expect(0).stdout;
    assert_eq!(
        shown.matches("would delete  builds/built/1.0.").count(),
        2,
        "{shown}"
    );
    let deleted = world.run(&["clean", "--all"]).expect(0).stdout;
    assert_eq!(
        deleted.matches("deleted  builds/built/1.0.").count(),
        2,
        "{deleted}"
    );
    assert!(
        world
            .path()
            .join(".harness/builds/built/own/file")
            .is_file()
    );
    assert_eq!(outcomes(&world)[0]["outcome"]["artifact"]["cached"], false);
    world.run(&["clean", "--keep", "20"]).expect(129);
}

/// Makes a repository with two tags, of which the second has another text in its only file.
fn repository(world: &World) {
    world.write("repository/server", "#!/bin/sh\necho old\n");
    let git = |arguments: &[&str]| {
        let folder = world.path().join("repository");
        let own = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
        let mut git = std::process::Command::new("git");
        git.args(own).args(arguments).current_dir(folder);
        assert!(git.output().unwrap().status.success(), "git {arguments:?}");
    };
    git(&["init", "--quiet"]);
    for (tag, text) in [("1.0.0", "old"), ("1.1.0", "new")] {
        world.write("repository/server", &format!("#!/bin/sh\necho {text}\n"));
        git(&["add", "server"]);
        git(&["commit", "--quiet", "--message", tag]);
        git(&["tag", tag]);
    }
}

#[test]
fn a_patch_is_applied_to_the_versions_own_source_and_one_that_does_not_fit_is_a_gap() {
    let world = World::new();
    repository(&world);
    let patch =
        "--- a/server\n+++ b/server\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo old\n+echo patched\n";
    world.write("{odd} name.patch", patch);
    let matrix = r#"schema = 2
[source.git]
repository = "repository"
[build]
patches = ["{odd} name.patch"]
steps = [["install", "server", "{out}/server"]]
binary = "{out}/server"
version_cmd = ["{binary}"]
version_match = "patched"
[start]
cmd = ["{binary}"]
"#;
    world.write("built.toml", matrix);
    let before = outcomes(&world);
    assert!(
        before[0]["outcome"]["artifact"].is_object(),
        "{}",
        before[0]
    );
    let gap = &before[1]["outcome"]["gap"];
    let cause = gap["cause"].as_str().unwrap();
    assert!(
        cause.starts_with("the patch {odd} name.patch does not fit this version"),
        "{gap}"
    );

    world.change("{odd} name.patch", "patched", "patched again");
    assert_eq!(outcomes(&world)[0]["outcome"]["artifact"]["cached"], false);
    world.change(
        "built.toml",
        "[source.git]\nrepository = \"repository\"",
        "[source.path]\ndir = \"repository\"",
    );
    let ended = world.run(&["check", "built.toml"]).expect(128);
    assert!(
        ended.stderr.contains("there is nothing to patch"),
        "{}",
        ended.stderr
    );
}
