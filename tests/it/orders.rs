//! Orders agree with the tools that they are named after, where those are on the machine.

use std::path::PathBuf;
use std::process::Command;

use harness::version::{List, Order, Version};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Returns random versions in order: neighbours are what is hardest to tell apart, and the order of all follows from
/// theirs.
fn ordered(count: usize, order: Order, random: impl Fn(&mut Pcg64) -> String) -> Vec<String> {
    let mut source = Pcg64::seed_from_u64(20);
    let versions = (0..count).map(|_| Version::listed(random(&mut source)));
    let (list, placeless) = List::new(&versions.collect::<Vec<_>>(), order);
    assert_eq!(placeless, Vec::<String>::new());
    let versions = list.versions.into_iter();
    versions.map(|version| version.name).collect()
}

/// Joins up to `most` of some words.
fn some(random: &mut Pcg64, most: usize, words: &[&str]) -> String {
    let count = random.random_range(0..=most);
    let words = (0..count).filter_map(|_| words.choose(random).copied());
    words.collect()
}

fn debian_version(random: &mut Pcg64) -> String {
    let pieces = ["1", "0", "10", "02", ".", "~", "+", "a", "rc", "B"];
    let epoch = some(random, 1, &["0:", "1:"]);
    let upstream = some(random, 4, &pieces);
    let revision = some(random, 1, &["-0", "-1", "-1~bpo1", "-1+b1"]);
    format!("{epoch}1{upstream}{revision}")
}

#[test]
fn debian_versions_stand_as_dpkg_compares_them() {
    if Command::new("dpkg").arg("--version").output().is_err() {
        return;
    }
    let versions = ordered(150, Order::Debian, debian_version);
    for pair in versions.windows(2) {
        let (low, high) = (pair[0].as_str(), pair[1].as_str());
        let relation = if Order::Debian.same(low, high) {
            "eq"
        } else {
            "lt"
        };
        let arguments = ["--compare-versions", low, relation, high];
        let status = Command::new("dpkg").args(arguments).status().unwrap();
        assert!(
            status.success(),
            "dpkg does not say {low} {relation} {high}"
        );
    }
}

/// Returns the folder of the libraries of the Maven on the path.
fn maven_libraries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("mvn"));
    let program = programs.find(|program| program.is_file())?;
    let libraries = program.canonicalize().ok()?.parent()?.parent()?.join("lib");
    libraries.is_dir().then_some(libraries)
}

/// Left out are the two kinds of name of which Maven's documentation says one thing and its program does another: a
/// qualifier between a dot and another separator, and `final` before a number.
fn maven_version(random: &mut Pcg64) -> String {
    let qualifiers = [
        "alpha",
        "beta",
        "Beta",
        "a",
        "b",
        "M",
        "milestone",
        "rc",
        "CR",
        "SNAPSHOT",
        "sp",
        "SP",
        "jre",
        "foo",
    ];
    let numbers = some(random, 3, &[".0", ".1", ".2", ".10"]);
    let build = some(random, 1, &["-1", "-20240101"]);
    let qualified = match random.random_range(0..4) {
        0 => build,
        1 => {
            [".", "-", ""]
                .choose(random)
                .copied()
                .unwrap_or_default()
                .to_owned()
                + ["final", "Final", "ga", "RELEASE"]
                    .choose(random)
                    .copied()
                    .unwrap_or_default()
        }
        2 => format!(
            ".{}{}",
            qualifiers.choose(random).unwrap(),
            some(random, 2, &["1", "2", "10"])
        ),
        _ => {
            let number = some(random, 1, &["1", "2", "-1", ".2", "10"]);
            let separator = ["-", ""].choose(random).unwrap();
            format!(
                "{separator}{}{number}{build}",
                qualifiers.choose(random).unwrap()
            )
        }
    };
    format!("1{numbers}{qualified}")
}

#[test]
fn maven_versions_stand_as_maven_compares_them() {
    let Some(libraries) = maven_libraries() else {
        return;
    };
    let versions = ordered(400, Order::Maven, maven_version);
    // Before 3.8.7 these two were not the same, against what the documentation says.
    let fixed = ["1.foo1".to_owned(), "1-foo1".to_owned()];
    let said = Command::new("java")
        .arg("-cp")
        .arg(libraries.join("*"))
        .arg("org.apache.maven.artifact.versioning.ComparableVersion")
        .args(fixed.iter().chain(&versions))
        .output();
    let Ok(said) = said else { return };
    let said = String::from_utf8(said.stdout).unwrap();
    let said = said.lines().filter_map(|line| line.strip_prefix("   "));
    let said: Vec<&str> = said.collect();
    assert_eq!(said.len(), versions.len() + 1, "{said:?}");
    if said[0] != "1.foo1 == 1-foo1" {
        return;
    }
    for (pair, line) in versions.windows(2).zip(&said[2..]) {
        let same = Order::Maven.same(&pair[0], &pair[1]);
        let relation = if same { "==" } else { "<" };
        assert_eq!(*line, format!("{} {relation} {}", pair[0], pair[1]));
    }
}
