//! Versions from addresses: servers that drop, change, stall or lie, and archives that mean harm.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

use crate::site::{Reply, Site, answer, rest, status, whole};
use crate::world::{Ended, World, send, until};

/// Returns an archive of a server: one top folder, a program, and enough beside it to be cut in two.
fn archive() -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut add = |name: &str, mode: u32, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, content).unwrap();
    };
    add("server-1.0.0/bin/serve", 0o755, b"#!/bin/sh\necho hello\n");
    let noise = (0..3000_u32).flat_map(|n| Sha256::digest(n.to_le_bytes()).to_vec());
    add("server-1.0.0/data", 0o644, &noise.collect::<Vec<_>>());
    builder.into_inner().unwrap().finish().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Writes a matrix of one version at this address.
fn write(world: &World, url: &str, sha256: &str, more: &str) {
    let text = format!(
        r#"schema = 2
[source]
versions = ["1.0.0"]
[source.url]
url = "{url}"
sha256 = {{ "1.0.0" = "{sha256}" }}
[build]
retry = {{ attempts = 1, wait = "1ms" }}
{more}
[start]
cmd = ["{{binary}}"]
"#
    );
    world.write("site.toml", &text);
}

/// The program of the archive.
const BINARY: &str = r#"binary = "{src}/bin/serve""#;

/// A world with a matrix of the archive, and a server that follows a plan.
fn served(plan: Vec<Reply>) -> (World, Site) {
    let (world, site) = (World::new(), Site::start(plan));
    write(
        &world,
        &site.url("server-{version}.tar.gz"),
        &sha256(&archive()),
        BINARY,
    );
    (world, site)
}

/// Builds, and returns what came of the only cell.
fn build(world: &World) -> serde_json::Value {
    build_with(world, &[("NO_PROXY", "127.0.0.1")])
}

fn build_with(world: &World, environment: &[(&str, &str)]) -> serde_json::Value {
    let mut harness = world.harness(&["build", "site.toml", "--format", "json"]);
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
    ] {
        harness.env_remove(name);
    }
    let output = harness.envs(environment.iter().copied()).output().unwrap();
    let ended = Ended::of(output);
    let line: serde_json::Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    line["outcome"].clone()
}

/// Builds, and fails unless the cell's program is there and runs; returns where it is.
#[track_caller]
fn expect_built(world: &World) -> PathBuf {
    let outcome = build(world);
    let binary = outcome["artifact"]["binary"].as_str();
    let binary = world
        .path()
        .join(binary.unwrap_or_else(|| panic!("{outcome}")));
    let said = std::process::Command::new(&binary).output().unwrap();
    assert_eq!(said.stdout, b"hello\n");
    binary
}

/// Fails unless the outcome is a gap of this kind; returns its cause.
#[track_caller]
fn expect_gap<'a>(outcome: &'a serde_json::Value, kind: &str) -> &'a str {
    assert_eq!(outcome["gap"]["kind"], kind, "{outcome}");
    outcome["gap"]["cause"].as_str().unwrap()
}

/// Returns the cache's folder of the file with this checksum.
fn download(world: &World, sha256: &str) -> PathBuf {
    world.path().join(".harness/downloads").join(sha256)
}

#[test]
fn a_broken_download_goes_on_where_it_stopped_and_is_kept() {
    let file = archive();
    let half = file.len() / 2;
    let head = whole("v1", &file).len() - file.len();
    let plan = vec![
        Reply::Bytes(whole("v1", &file)[..head + half].to_vec()),
        Reply::Bytes(rest("v1", &file, half)),
    ];
    let (world, site) = served(plan);
    expect_built(&world);
    let requests = site.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[0].starts_with("get /server-1.0.0.tar.gz "),
        "{requests:?}"
    );
    assert!(!requests[0].contains("range:"), "{requests:?}");
    assert!(
        requests[1].contains(&format!("\nrange: bytes={half}-")),
        "{requests:?}"
    );
    assert!(requests[1].contains("\nif-range: \"v1\""), "{requests:?}");
    let kept = download(&world, &sha256(&file));
    assert_eq!(std::fs::read(kept.join("file")).unwrap(), file);
    assert!(!kept.join("part").exists());

    expect_built(&world);
    std::fs::remove_dir_all(world.path().join(".harness/builds")).unwrap();
    expect_built(&world);
    assert_eq!(site.requests().len(), 2, "nothing is asked for twice");
    let cleaned = world.run(&["clean", "--all"]).expect(0);
    let name = format!("deleted  downloads/{}", sha256(&file));
    assert!(cleaned.stdout.contains(&name), "{}", cleaned.stdout);
    assert!(!kept.exists());
    let listed = world.run(&["list", "site.toml"]).expect(0);
    assert!(listed.stdout.contains("1.0.0"), "{}", listed.stdout);
}

#[test]
fn a_server_that_knows_no_parts_sends_the_file_again() {
    let file = archive();
    let cut = file.len() * 3 / 4;
    let plan = vec![
        Reply::Bytes(whole("v1", &file)[..cut].to_vec()),
        Reply::Bytes(whole("v1", &file)),
    ];
    let (world, site) = served(plan);
    expect_built(&world);
    assert!(site.requests()[1].contains("\nrange:"));
}

#[test]
fn a_file_that_has_changed_is_fetched_from_its_beginning() {
    let file = archive();
    let old = whole("v1", &file.iter().map(|byte| !byte).collect::<Vec<_>>());
    let torn = Reply::Bytes(old[..file.len() / 2].to_vec());
    // The first server says so as it should; the second sends the rest of another file, which its tag gives away; the
    // third lies, which only the checksum shows.
    let honest = vec![torn.clone(), Reply::Bytes(whole("v2", &file))];
    let head = whole("v1", &file).len() - file.len();
    let from = file.len() / 2 - head;
    let careless = |tag| Reply::Bytes(rest(tag, &file, from));
    let whole = Reply::Bytes(whole("v2", &file));
    let confused = vec![torn.clone(), careless("v2"), whole.clone()];
    let lying = vec![torn, careless("v1"), whole];
    for plan in [honest, confused, lying] {
        let count = plan.len();
        let (world, site) = served(plan);
        expect_built(&world);
        let requests = site.requests();
        assert_eq!(requests.len(), count);
        assert!(requests[1].contains("\nif-range: \"v1\""));
        assert!(
            count == 2 || !requests[2].contains("range:"),
            "{requests:?}"
        );
    }
}

#[test]
fn a_wrong_file_is_a_gap_with_both_checksums_and_the_right_one_heals_it() {
    let wrong = b"something else".to_vec();
    let (world, site) = served(vec![Reply::Bytes(whole("v1", &wrong))]);
    let outcome = build(&world);
    let cause = expect_gap(&outcome, "checksum");
    for part in [&sha256(&wrong), &sha256(&archive()), "(14 bytes came)"] {
        assert!(cause.contains(part), "{cause}");
    }
    let kept = download(&world, &sha256(&archive()));
    assert!(!kept.join("file").exists() && !kept.join("part").exists());
    site.then(Reply::Bytes(whole("v2", &archive())));
    expect_built(&world);
    assert!(!site.requests()[1].contains("range:"));
}

#[test]
fn what_the_server_refuses_is_asked_for_once() {
    for (said, kind) in [("404 Not Found", "not-found"), ("403 Forbidden", "network")] {
        let (world, site) = served(vec![status(said)]);
        world.change("site.toml", "attempts = 1", "attempts = 3");
        let outcome = build(&world);
        let cause = expect_gap(&outcome, kind);
        assert!(
            cause.contains(&said[..3]) && cause.contains(&site.url("server-1.0.0")),
            "{cause}"
        );
        assert_eq!(outcome["gap"]["class"], "permanent");
        assert_eq!(site.requests().len(), 1);
    }
}

#[test]
fn a_server_that_is_away_for_a_moment_is_asked_again() {
    let plan = vec![
        status("503 Service Unavailable"),
        Reply::Bytes(Vec::new()),
        Reply::Bytes(whole("v1", &archive())),
    ];
    let (world, site) = served(plan);
    world.change("site.toml", "attempts = 1", "attempts = 3");
    expect_built(&world);
    assert_eq!(site.requests().len(), 3);
}

#[test]
fn a_server_that_falls_silent_is_a_gap_when_the_time_is_over() {
    let file = archive();
    let (world, site) = served(vec![Reply::Silence(whole("v1", &file)[..1000].to_vec())]);
    world.change(
        "site.toml",
        "attempts = 1",
        "attempts = 1, wait = \"1ms\" }\ntimeout = \"1s\" #",
    );
    let outcome = build(&world);
    let cause = expect_gap(&outcome, "network");
    assert!(
        cause.contains("the time that a build may take was over"),
        "{cause}"
    );
    assert_eq!(site.requests().len(), 1);
}

#[test]
fn an_interrupt_ends_a_download_at_once_and_the_next_build_goes_on_with_it() {
    let file = archive();
    let torn = whole("v1", &file)[..file.len() / 2].to_vec();
    let come = torn.len() + file.len() - whole("v1", &file).len();
    let (world, site) = served(vec![Reply::Silence(torn)]);
    let mut harness = world.harness(&["build", "site.toml"]);
    let harness = harness.env("NO_PROXY", "127.0.0.1");
    let mut harness = harness.stderr(Stdio::null()).spawn().unwrap();
    let part = download(&world, &sha256(&file)).join("part");
    let length = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    until("half of the file came", || length(&part) == come as u64);
    send(&harness, rustix::process::Signal::INT);
    let asked = Instant::now();
    assert_eq!(harness.wait().unwrap().code(), Some(130));
    assert!(asked.elapsed() < Duration::from_secs(5));

    site.then(Reply::Bytes(rest("v1", &file, come)));
    expect_built(&world);
    assert!(site.requests()[1].contains(&format!("\nrange: bytes={come}-")));
}

#[test]
fn a_server_may_lead_to_another_address_but_not_for_ever() {
    let moved = |to: &str| {
        let location = format!("location: {to}");
        Reply::Bytes(answer("302 Found", &[&location, "content-length: 0"], b""))
    };
    let (world, site) = served(vec![
        moved("/elsewhere"),
        Reply::Bytes(whole("v1", &archive())),
    ]);
    expect_built(&world);
    assert!(site.requests()[1].starts_with("get /elsewhere "));

    let (world, site) = served(vec![moved("/again"); 30]);
    let outcome = build(&world);
    assert!(expect_gap(&outcome, "network").contains("without end"));
    assert!(site.requests().len() < 20);
}

#[test]
fn only_a_proxy_for_addresses_of_this_kind_is_asked() {
    let (world, site) = served(vec![Reply::Bytes(whole("v1", &archive()))]);
    let proxy = Site::start(vec![status("502 Bad Gateway")]);
    let proxied = build_with(&world, &[("http_proxy", &proxy.url(""))]);
    expect_gap(&proxied, "network");
    let connect = site.url("").replace("http://", "connect ");
    assert!(proxy.requests()[0].starts_with(connect.trim_end_matches('/')));
    assert_eq!(site.requests().len(), 0);
    let direct = build_with(&world, &[("HTTPS_PROXY", &proxy.url(""))]);
    assert!(direct["artifact"].is_object(), "{direct}");
}

#[test]
fn a_file_that_is_no_archive_is_the_program() {
    let program = b"#!/bin/sh\necho hello\n";
    let site = Site::start(vec![Reply::Bytes(whole("v1", program))]);
    let world = World::new();
    write(
        &world,
        &site.url("get/serve-{version}?from=here"),
        &sha256(program),
        "",
    );
    let binary = expect_built(&world);
    assert!(binary.ends_with("src/serve-1.0.0"), "{}", binary.display());
}

#[test]
fn an_archive_that_means_harm_leaves_nothing_behind() {
    let mut builder = tar::Builder::new(Vec::new());
    for name in ["good", "../../../../evil"] {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(0o644);
        header.set_size(4);
        header.set_cksum();
        builder.append(&header, &b"evil"[..]).unwrap();
    }
    let evil = builder.into_inner().unwrap();
    let site = Site::start(vec![Reply::Bytes(whole("v1", &evil))]);
    let world = World::new();
    write(&world, &site.url("x.tar"), &sha256(&evil), BINARY);
    let outcome = build(&world);
    let cause = expect_gap(&outcome, "unpack");
    assert!(
        cause.contains("the path ../../../../evil leads out of it"),
        "{cause}"
    );
    let builds = std::fs::read_dir(world.path().join(".harness/builds/site")).unwrap();
    for build in builds
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        let src = std::fs::read_dir(build.join("src")).unwrap();
        assert_eq!(src.count(), 0, "{}", build.display());
    }
    assert!(!world.path().join("evil").exists() && !world.path().join(".harness/evil").exists());
}
