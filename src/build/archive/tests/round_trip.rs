//! Archives that mean well: their content comes out as it went in.

use super::*;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn files_folders_and_links_are_unpacked_without_the_leading_folder() {
    let world = World::new();
    let bytes = gzip(&tar(&[
        ("package/bin/node", FILE, "#!"),
        ("package/lib", FOLDER, ""),
        ("package/lib/a.js", FILE, "one"),
        ("package/lib/b.js", LINK, "a.js"),
        ("package/bin/again", HARD, "package/bin/node"),
        ("readme", FILE, "beside the folder"),
    ]));
    world.unpack(&bytes, Some(1)).unwrap();
    assert_eq!(world.read("lib/b.js"), "one");
    assert_eq!(world.read("bin/again"), "#!");
    let program = mode(&world.folder().join("bin/node"));
    assert_eq!(program & 0o7700, 0o700, "without its special bits");
    let script = mode(&world.folder().join("lib/a.js"));
    assert_eq!(script & 0o700, 0o600, "its owner can change it");
    assert!(!world.folder().join("readme").exists());
}

#[test]
fn a_single_top_folder_is_cut_off_by_itself() {
    let world = World::new();
    let bytes = tar(&[
        ("./top", FOLDER, ""),
        ("./top/top/a", FILE, "one"),
        ("top/l", LINK, "top/a"),
    ]);
    world.unpack(&bytes, None).unwrap();
    assert_eq!(world.read("top/a"), "one");
    assert_eq!(world.read("l"), "one");
}

#[test]
fn more_than_one_top_entry_is_left_as_it_is() {
    let world = World::new();
    let bytes = tar(&[("top/a", FILE, "one"), ("readme", FILE, "two")]);
    world.unpack(&bytes, None).unwrap();
    assert_eq!(world.read("top/a"), "one");
    let world = World::new();
    world.unpack(&tar(&[("a", FILE, "one")]), None).unwrap();
    assert_eq!(world.read("a"), "one");
}

#[test]
fn the_last_of_two_entries_of_one_name_counts() {
    let world = World::new();
    let parts = [("a", FILE, "one"), ("./a", FILE, "two")];
    world.unpack(&tar(&parts), Some(0)).unwrap();
    assert_eq!(world.read("a"), "two");
    let files = [Zipped::file("b", b"one"), Zipped::file("b", b"two")];
    world.unpack(&zip(&files), Some(0)).unwrap();
    assert_eq!(world.read("b"), "two");
}

#[test]
fn a_file_replaces_a_link_of_its_name_and_not_what_it_points_to() {
    let world = World::new();
    let parts = [("evil", LINK, "../canary"), ("evil", FILE, "x")];
    world.unpack(&tar(&parts), Some(0)).unwrap();
    assert_eq!(world.read("evil"), "x");
}

#[test]
fn a_second_name_does_not_change_what_the_first_one_holds() {
    let world = World::new();
    let parts = [
        ("a", FILE, "one"),
        ("b", HARD, "a"),
        ("b", FILE, "two"),
        ("a", HARD, "a"),
    ];
    world.unpack(&tar(&parts), Some(0)).unwrap();
    assert_eq!(
        (world.read("a"), world.read("b")),
        ("one".into(), "two".into())
    );
}

#[test]
fn harmless_links_are_kept() {
    let world = World::new();
    let parts = [
        ("a/b/c", FILE, "deep"),
        ("a/up", LINK, "../a/b"),
        ("here", LINK, "."),
        ("through", LINK, "a/up/c"),
        ("nowhere", LINK, "a/missing/../x"),
        ("circle", LINK, "circle"),
        ("one", LINK, "two"),
        ("two", LINK, "one"),
    ];
    world.unpack(&tar(&parts), Some(0)).unwrap();
    assert_eq!(world.read("through"), "deep");
    assert_eq!(world.read("here/a/b/c"), "deep");
    assert!(world.folder().join("circle").is_symlink());
}

#[test]
fn names_that_differ_by_case_or_are_no_text_are_fine() {
    let world = World::new();
    let mut odd = entry(&("odd", FILE, "bytes"));
    let mut renamed = header(b"\xff\xfe", FILE, 5);
    renamed.set_cksum();
    odd[..512].copy_from_slice(renamed.as_bytes());
    let parts = [
        entry(&("a", FILE, "small")),
        entry(&("A", FILE, "large")),
        odd,
    ];
    world.unpack(&tar_of(&parts), Some(0)).unwrap();
    assert_eq!(
        (world.read("a"), world.read("A")),
        ("small".into(), "large".into())
    );
    let path = world
        .folder()
        .join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    assert_eq!(fs::read_to_string(path).unwrap(), "bytes");
}

#[test]
fn a_gzip_in_several_parts_is_read_whole() {
    let world = World::new();
    let whole = tar(&[("a", FILE, "one"), ("b", FILE, "two")]);
    let (first, second) = whole.split_at(700);
    let bytes = [gzip(first), gzip(second)].concat();
    world.unpack(&bytes, Some(0)).unwrap();
    assert_eq!(world.read("b"), "two");
}

#[test]
fn a_program_of_java_is_no_archive_to_unpack() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x");
    let manifest = Zipped::file("META-INF/MANIFEST.MF", b"");
    let class = Zipped::file("Main.class", b"");
    for (bytes, expected) in [
        (zip(&[manifest, class.clone()]), false),
        (zip(&[class]), true),
        (gzip(b""), true),
        (b"BZh9".to_vec(), true),
        (b"#!/bin/sh\n".to_vec(), false),
    ] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(is_archive(&path).unwrap(), expected);
    }
}

/// Makes a folder with a program, a text, a folder in a folder, and a link.
fn sample() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("server-1.0");
    fs::create_dir_all(top.join("lib/deep")).unwrap();
    fs::write(top.join("run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(top.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(top.join("lib/deep/ünï.txt"), "text\n".repeat(1000)).unwrap();
    symlink("../run", top.join("lib/link")).unwrap();
    dir
}

/// Lets a program of this machine make an archive; none if it has no such program.
fn made_by(program: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let dir = sample();
    let ended = Command::new(program)
        .args(arguments)
        .current_dir(dir.path())
        .output()
        .ok()?;
    assert!(ended.status.success(), "{ended:?}");
    // `zip` gives the name an ending.
    let made = ["made", "made.zip"].map(|name| dir.path().join(name));
    let made = made.iter().find(|path| path.exists()).unwrap();
    Some(fs::read(made).unwrap())
}

#[test]
fn what_the_usual_programs_make_comes_out_again() {
    let top = "server-1.0";
    let commands: [(&str, &[&str]); 7] = [
        ("tar", &["-cf", "made", top]),
        ("tar", &["--format=posix", "-czf", "made", top]),
        ("tar", &["--format=v7", "-cf", "made", top]),
        ("tar", &["-cJf", "made", top]),
        ("zip", &["-qry", "made", top]),
        ("zip", &["-qry0", "made", top]),
        ("python3", &["-m", "zipfile", "-c", "made", top]),
    ];
    for (program, arguments) in commands {
        let Some(bytes) = made_by(program, arguments) else {
            continue;
        };
        let world = World::new();
        world.unpack(&bytes, None).unwrap();
        let said = format!("{program} {arguments:?}");
        assert_eq!(world.read("run"), "#!/bin/sh\n", "{said}");
        assert_eq!(mode(&world.folder().join("run")) & 0o700, 0o700, "{said}");
        assert_eq!(world.read("lib/deep/ünï.txt").len(), 5000, "{said}");
        assert_eq!(world.read("lib/link"), "#!/bin/sh\n", "{said}");
        // Python writes what a link leads to in its place.
        let is_link = world.folder().join("lib/link").is_symlink();
        assert_eq!(is_link, program != "python3", "{said}");
    }
}
