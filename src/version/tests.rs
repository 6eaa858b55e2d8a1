//! Tests of orders, ranges, selections and lineage together.

use proptest::prelude::*;

use super::*;
use crate::matrix::{Compare, Operator, Range, Select};

const BY_NAME: [Order; 4] = [Order::Semver, Order::Pep440, Order::Maven, Order::Debian];

fn listed<T: AsRef<str>>(names: &[T]) -> Vec<Version> {
    names
        .iter()
        .map(|name| Version::listed(name.as_ref()))
        .collect()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn list(names: &[&str], order: Order) -> List {
    List::new(&listed(names), order).0
}

fn ordered(names: &[&str], order: Order) -> Vec<String> {
    let versions = list(names, order).versions.into_iter();
    versions.map(|version| version.name).collect()
}

fn between(first: &str, last: &str) -> Range {
    Range::Between(first.to_owned(), last.to_owned())
}

fn requirement(text: &str) -> Range {
    Range::Requirement(semver::VersionReq::parse(text).unwrap())
}

fn specifiers(text: &str) -> Range {
    Range::Specifiers(text.parse().unwrap())
}

fn compared(all: &[(Operator, &str)]) -> Range {
    let all = all
        .iter()
        .map(|(operator, name)| (*operator, (*name).to_owned()));
    Range::Compared(all.collect())
}

fn kept(list: &List, range: Option<&Range>, prerelease: bool) -> Vec<String> {
    let reasons = list.unwanted(range, prerelease).unwrap();
    let versions = list.versions.iter().zip(reasons);
    let kept = versions.filter(|(_, reason)| reason.is_none());
    kept.map(|(version, _)| version.name.clone()).collect()
}

fn selected(names: &[&str], order: Order, choice: Select) -> Vec<String> {
    let list = list(names, order);
    let versions: Vec<&Version> = list.versions.iter().collect();
    let reasons = select(&versions, order, choice);
    let kept = versions.into_iter().zip(reasons);
    let kept = kept.filter(|(_, reason)| reason.is_none());
    kept.map(|(version, _)| version.name.clone()).collect()
}

#[test]
fn a_line_is_a_major_version_and_below_one_a_minor_version() {
    let line_of =
        |name: &str, order: Order| line(&Version::listed(name), order).unwrap_or_default();
    assert_eq!(line_of("20.11.0", Order::Semver), "20");
    assert_eq!(line_of("v1.2.3", Order::Listed), "1");
    assert_eq!(line_of("0.12.18", Order::Semver), "0.12");
    assert_eq!(line_of("nightly", Order::Semver), "");
    assert_eq!(line_of("3.12.0rc1", Order::Pep440), "3");
    assert_eq!(line_of("1!2.0", Order::Pep440), "1!2");
    assert_eq!(line_of("0.9", Order::Pep440), "0.9");
    assert_eq!(line_of("4.1.0.Beta3", Order::Maven), "4");
    assert_eq!(line_of("0.9.1.Final", Order::Maven), "0.9");
    assert_eq!(line_of("Finchley.SR2", Order::Maven), "");
}

#[test]
fn semantic_order_knows_numbers_and_pre_releases() {
    let names = ["1.10.0", "latest", "1.9.0", "1.10.0-rc.1", "1.9.0"];
    let (list, placeless) = List::new(&listed(&names), Order::Semver);
    let names: Vec<&str> = list
        .versions
        .iter()
        .map(|version| version.name.as_str())
        .collect();
    assert_eq!(names, ["1.9.0", "1.10.0-rc.1", "1.10.0"]);
    assert_eq!(placeless, ["latest"]);
    assert!(list.versions.iter().all(|version| version.semver.is_some()));
}

/// The examples of PEP 440, "Summary of permitted suffixes and relative ordering".
#[test]
fn pep440_orders_as_it_is_written() {
    let wanted = [
        "1.dev0",
        "1.0.dev456",
        "1.0a1",
        "1.0a2.dev456",
        "1.0a12.dev456",
        "1.0a12",
        "1.0b1.dev456",
        "1.0b2",
        "1.0b2.post345.dev456",
        "1.0b2.post345",
        "1.0rc1.dev456",
        "1.0rc1",
        "1.0",
        "1.0+abc.5",
        "1.0+abc.7",
        "1.0+5",
        "1.0.post456.dev34",
        "1.0.post456",
        "1.0.15",
        "1.1.dev1",
        "2013.10",
        "1!1.0",
    ];
    let mut names = wanted;
    names.reverse();
    assert_eq!(ordered(&names, Order::Pep440), wanted);
    let (_, placeless) = List::new(&listed(&["2004d", "1.0"]), Order::Pep440);
    assert_eq!(placeless, ["2004d"]);
}

/// The examples of Maven's "Version Order Specification".
#[test]
fn maven_orders_as_its_documentation_says() {
    let parse = |name: &str| Order::Maven.parse(name).unwrap();
    let rising = [
        ["1", "1.1"],
        ["1-snapshot", "1"],
        ["1", "1-sp"],
        ["1-foo2", "1-foo10"],
        ["1-foo", "1-1"],
        ["1-1", "1.1"],
        ["1-ga", "1-sp"],
        ["1-ga.1", "1-sp.1"],
        ["1-sp-1", "1-ga-1"],
        ["1.0-alpha-1", "1.0-beta-1"],
        ["1.0-m3", "1.0-rc1"],
        ["4.1.0.CR7", "4.1.0.Final"],
        ["10.1.0-M1", "10.1.0"],
        ["Finchley.SR2", "Greenwich.RELEASE"],
    ];
    for [low, high] in rising {
        assert!(parse(low) < parse(high), "{low} < {high}");
    }
    let equal = [
        ["1.foo", "1-foo"],
        ["1.ga", "1-0"],
        ["1.0", "1"],
        ["1.0.0-foo.0.0", "1-foo"],
        ["1.0.0-0.0.0", "1"],
        ["1-a1", "1-alpha-1"],
        ["1.0-CR2", "1-rc-2"],
        ["1.0.RELEASE", "1-final"],
        ["v1.2", "1.2"],
        ["1-1.foo-bar1baz-.1", "1-1.foo-bar-1-baz-0.1"],
    ];
    for [one, other] in equal {
        assert_eq!(parse(one), parse(other), "{one} = {other}");
    }
    assert_eq!(Order::Maven.parse(""), None);
}

#[test]
fn debian_puts_a_tilde_before_the_end_and_letters_before_signs() {
    let wanted = [
        "1.0~~", "1.0~~a", "1.0~", "1.0", "1.0a", "1.0+b", "1.0-1", "1.0-1+b1", "1.0.1", "1:0.5",
    ];
    let mut names = wanted;
    names.reverse();
    let ordered = ordered(&names, Order::Debian);
    // dpkg itself: 1.0-1 < 1.0a, for the upstream part is compared first.
    assert_eq!(
        ordered,
        [
            "1.0~~", "1.0~~a", "1.0~", "1.0", "1.0-1", "1.0-1+b1", "1.0a", "1.0+b", "1.0.1",
            "1:0.5"
        ]
    );
    for none in ["", "sid", "a:1", ":1", "1_2", "1.0-", "-1"] {
        assert_eq!(Order::Debian.parse(none), None, "{none}");
    }
    assert!(Order::Debian.same("1.01-0", "1.1"));
}

#[test]
fn the_source_orders_what_names_do_not() {
    let names = ["zebra", "1.0.0", "ape"];
    assert_eq!(ordered(&names, Order::Topo), names);
    assert_eq!(ordered(&names, Order::Listed), names);
    let dated = |name: &str, second: Option<i64>| Version {
        date: second.map(|second| jiff::Timestamp::from_second(second).unwrap()),
        ..Version::listed(name)
    };
    let versions = [
        dated("late", Some(9)),
        dated("b", Some(5)),
        dated("a", Some(5)),
        dated("none", None),
    ];
    let (list, placeless) = List::new(&versions, Order::Date);
    let names: Vec<&str> = list
        .versions
        .iter()
        .map(|version| version.name.as_str())
        .collect();
    assert_eq!(
        (names, placeless),
        (vec!["b", "a", "late"], strings(&["none"]))
    );
}

#[test]
fn a_version_is_found_by_name_tag_reading_and_commit() {
    let commit = |name: &str, tag: Option<&str>, commit: &str| Version {
        tag: tag.map(str::to_owned),
        commit: Some(commit.repeat(5)),
        ..Version::listed(name)
    };
    let versions = [
        commit("1.2.0", Some("release-1.2"), "abcdef01"),
        commit("1.3.0", Some("1.2.0"), "abcdef02"),
        commit("2.0.0", None, "12345678"),
    ];
    let list = List::new(&versions, Order::Semver).0;
    assert_eq!(list.find("1.2.0"), Some(0), "a name goes before a tag");
    assert_eq!(list.find("release-1.2"), Some(0));
    assert_eq!(list.find("v1.3.0"), Some(1));
    assert_eq!(list.find("1234567"), Some(2));
    assert_eq!(list.find("abcdef02ab"), Some(1));
    assert_eq!(list.find("abcdef0"), None, "two begin so");
    assert_eq!(list.find("123456"), None, "too short");
    assert_eq!(list.find("1.4.0"), None);
}

#[test]
fn two_names_of_one_version_are_the_same_as_the_order_reads_them() {
    assert!(Order::Semver.same("v1.2.3", "1.2.3"));
    assert!(!Order::Semver.same("1.0", "1.0.0"));
    assert!(Order::Pep440.same("1.0", "1.0.0"));
    assert!(Order::Pep440.same("1.0-RC1", "1.0rc1"));
    assert!(Order::Maven.same("4.1.0", "4.1.0.Final"));
    assert!(Order::Listed.same("main", "main"));
    assert!(!Order::Listed.same("main", "Main"));
}

#[test]
fn a_requirement_follows_cargo_and_a_span_includes_both_ends() {
    let list = list(
        &["0.14.0", "0.14.32", "1.0.0", "1.9.0", "2.0.0"],
        Order::Semver,
    );
    let kept = |range: &Range| kept(&list, Some(range), false);
    assert_eq!(
        kept(&requirement(">=0.14.1, <2")),
        ["0.14.32", "1.0.0", "1.9.0"]
    );
    assert_eq!(kept(&requirement("^1")), ["1.0.0", "1.9.0"]);
    assert_eq!(
        kept(&between("v1.0.0", "2.0.0")),
        ["1.0.0", "1.9.0", "2.0.0"]
    );
    assert_eq!(kept(&between("0.15.0", "1.5.0")), ["1.0.0"]);
}

#[test]
fn pre_releases_come_only_when_asked_for() {
    let list = list(
        &["1.0.0-rc.1", "1.0.0", "1.1.0-rc.1", "2.0.0-rc.1"],
        Order::Semver,
    );
    assert_eq!(kept(&list, None, false), ["1.0.0"]);
    assert_eq!(kept(&list, None, true).len(), 4);
    let kept = |range: &Range, prerelease: bool| kept(&list, Some(range), prerelease);
    assert_eq!(kept(&requirement("^1"), false), ["1.0.0"]);
    assert_eq!(
        kept(&requirement(">=1.0.0-rc.1, <2"), false),
        ["1.0.0-rc.1", "1.0.0"]
    );
    assert_eq!(
        kept(&requirement("^1"), true),
        ["1.0.0-rc.1", "1.0.0", "1.1.0-rc.1"]
    );
    assert_eq!(
        kept(&between("1.0.0-rc.1", "2.0.0"), false),
        ["1.0.0-rc.1", "1.0.0"]
    );
    assert_eq!(
        kept(&between("1.0.0-rc.1", "2.0.0"), true),
        ["1.0.0-rc.1", "1.0.0", "1.1.0-rc.1", "2.0.0-rc.1"]
    );
}

#[test]
fn specifiers_of_pep440_take_pre_releases_only_by_name() {
    let names = [
        "2", "2.0.1", "2.1.dev1", "2.1", "2.1.1rc1", "2.1.1", "3.0b2",
    ];
    let list = list(&names, Order::Pep440);
    assert_eq!(kept(&list, None, false), ["2", "2.0.1", "2.1", "2.1.1"]);
    let kept = |range: &Range| kept(&list, Some(range), false);
    assert_eq!(kept(&specifiers(">=2,<3,!=2.0.1")), ["2", "2.1", "2.1.1"]);
    assert_eq!(kept(&specifiers("~=2.1")), ["2.1", "2.1.1"]);
    assert_eq!(kept(&specifiers("==2.1.*")), ["2.1", "2.1.1"]);
    assert_eq!(kept(&specifiers(">=2.1.1rc1")), ["2.1.1rc1", "2.1.1"]);
    assert_eq!(kept(&between("2.1", "3.0b2")), ["2.1", "2.1.1", "3.0b2"]);
}

#[test]
fn comparisons_of_maven_take_what_leads_up_to_an_end_only_by_name() {
    let names = [
        "4.1.0.Beta3",
        "4.1.0.CR1",
        "4.1.0.Final",
        "4.1.1.Final",
        "4.2.0.CR1",
        "5.0.0-M1",
    ];
    let list = list(&names, Order::Maven);
    assert_eq!(kept(&list, None, false), ["4.1.0.Final", "4.1.1.Final"]);
    let range = compared(&[(Operator::GreaterOrEqual, "4.1"), (Operator::Less, "5")]);
    assert_eq!(
        kept(&list, Some(&range), false),
        ["4.1.0.Final", "4.1.1.Final"]
    );
    assert_eq!(
        kept(&list, Some(&range), true),
        ["4.1.0.Final", "4.1.1.Final", "4.2.0.CR1"]
    );
    let range = compared(&[
        (Operator::Greater, "4.1.0.Beta3"),
        (Operator::LessOrEqual, "4.1.0"),
    ]);
    assert_eq!(
        kept(&list, Some(&range), false),
        ["4.1.0.CR1", "4.1.0.Final"]
    );
    let range = between("4.1.0.Beta1", "4.1.0");
    assert_eq!(kept(&list, Some(&range), false), &names[..3]);
}

#[test]
fn a_tilde_of_the_packager_makes_no_pre_release() {
    let names = ["1.22~rc1-1", "1.22-1~bpo12+1", "1.22-1", "1:0.9"];
    let list = list(&names, Order::Debian);
    assert_eq!(kept(&list, None, false), &names[1..]);
    let range = compared(&[
        (Operator::GreaterOrEqual, "1.22~rc1"),
        (Operator::Less, "1:0"),
    ]);
    assert_eq!(kept(&list, Some(&range), false), &names[..3]);
}

#[test]
fn a_span_of_a_list_goes_by_places() {
    let list = list(
        &["v1.2", "2.0.0-rc.1", "main", "v1.5", "old"],
        Order::Listed,
    );
    assert_eq!(
        kept(&list, Some(&between("v1.2", "v1.5")), false),
        ["v1.2", "main", "v1.5"]
    );
    assert_eq!(kept(&list, Some(&between("v1.2", "v1.5")), true).len(), 4);
    assert_eq!(
        kept(&list, Some(&between("2.0.0-rc.1", "main")), false),
        ["2.0.0-rc.1", "main"]
    );
    assert_eq!(
        list.unwanted(Some(&between("v1.2", "v1.6")), false),
        Err(Unlisted::Missing("v1.6".to_owned()))
    );
    assert_eq!(
        list.unwanted(Some(&between("old", "v1.2")), false),
        Err(Unlisted::Backwards("old".to_owned(), "v1.2".to_owned()))
    );
}

#[test]
fn the_reason_tells_a_pre_release_from_a_version_outside_the_range_and_one_that_was_withdrawn() {
    let mut versions = listed(&["1.2.0-rc.1", "2.0.0", "nightly", "1.2.0", "1.3.0", "2.1.0"]);
    for place in [4, 5] {
        versions[place].withdrawn = Some("yanked".to_owned());
    }
    let list = List::new(&versions, Order::Listed).0;
    let reasons = list.unwanted(Some(&requirement("^1")), false).unwrap();
    let reasons: Vec<Option<&str>> = reasons.iter().map(Option::as_deref).collect();
    assert_eq!(
        reasons,
        [
            Some("pre-release"),
            Some("outside the range"),
            Some("not a semantic version"),
            None,
            Some("withdrawn: yanked"),
            Some("outside the range"),
        ]
    );
}

#[test]
fn a_selection_keeps_the_last_of_each_line() {
    let names = ["0.12.1", "0.12.2", "0.13.0", "1.0.0", "1.0.1", "1.1.0"];
    let of = |choice: Select| selected(&names, Order::Semver, choice);
    assert_eq!(of(Select::LastPerMajor), ["0.12.2", "0.13.0", "1.1.0"]);
    assert_eq!(
        of(Select::LastPatchPerMinor),
        ["0.12.2", "0.13.0", "1.0.1", "1.1.0"]
    );
    assert_eq!(of(Select::Last(2)), ["1.0.1", "1.1.0"]);
    assert_eq!(of(Select::Last(99)).len(), 6);
    assert_eq!(of(Select::Every(2)), ["0.12.2", "1.0.0", "1.1.0"]);
    assert_eq!(of(Select::Every(0)).len(), 6);
    assert!(selected(&[], Order::Semver, Select::Last(1)).is_empty());
    let python = ["2.0", "2.0.1", "2.1", "3.0", "1!2.0"];
    assert_eq!(
        selected(&python, Order::Pep440, Select::LastPerMajor),
        ["2.1", "3.0", "1!2.0"]
    );
    assert_eq!(
        selected(&python, Order::Pep440, Select::LastPatchPerMinor),
        ["2.0.1", "2.1", "3.0", "1!2.0"]
    );
    let java = ["4.0.9.Final", "4.1.0.Final", "4.1.2.Final", "5.0.0.Final"];
    assert_eq!(
        selected(&java, Order::Maven, Select::LastPatchPerMinor),
        ["4.0.9.Final", "4.1.2.Final", "5.0.0.Final"]
    );
}

fn cell(name: &str, body: &str) -> Cell {
    Cell {
        id: format!("{name} body={body}"),
        version: Version::listed(name),
        axes: BTreeMap::from([("body".to_owned(), body.to_owned())]),
    }
}

fn pair(baseline: usize, candidate: usize, skipped: &[usize]) -> Pair {
    Pair {
        baseline,
        candidate,
        skipped: skipped.to_vec(),
    }
}

fn by_lineage(cells: &[Cell], order: Order, measured: &dyn Fn(usize) -> bool) -> Vec<Pair> {
    pairs(cells, order, &Compare::Lineage, measured)
}

#[test]
fn neighbours_are_paired_across_gaps_inside_their_chain() {
    let cells = [
        cell("1", "a"),
        cell("2", "a"),
        cell("3", "a"),
        cell("1", "b"),
        cell("2", "b"),
    ];
    let pairs = |measured: &dyn Fn(usize) -> bool| by_lineage(&cells, Order::Listed, measured);
    assert_eq!(
        pairs(&|_| true),
        [pair(0, 1, &[]), pair(1, 2, &[]), pair(3, 4, &[])]
    );
    assert_eq!(
        pairs(&|index| index != 1),
        [pair(0, 2, &[1]), pair(3, 4, &[])]
    );
    assert_eq!(pairs(&|index| index > 1), [pair(3, 4, &[])]);
    assert!(pairs(&|_| false).is_empty());
}

#[test]
fn all_are_paired_with_the_reference_of_their_own_axes_wherever_it_stands() {
    let mut cells: Vec<Cell> = ["1", "2", "3"].map(|name| cell(name, "a")).to_vec();
    cells.extend([
        cell("1", "b"),
        cell("2", "b"),
        cell("1", "c"),
        cell("3", "c"),
    ]);
    let compare = Compare::Reference("2".to_owned());
    let pairs = |measured: &dyn Fn(usize) -> bool| pairs(&cells, Order::Semver, &compare, measured);
    assert_eq!(
        pairs(&|_| true),
        [pair(1, 0, &[]), pair(1, 2, &[]), pair(4, 3, &[])]
    );
    assert_eq!(
        pairs(&|index| index != 1),
        [pair(4, 3, &[])],
        "a gap compares with nothing"
    );
    assert_eq!(
        pairs(&|index| index != 0),
        [pair(1, 2, &[]), pair(4, 3, &[])]
    );
}

#[test]
fn in_a_list_by_date_a_version_follows_the_one_before_it_in_precedence() {
    let names = ["18.0.0", "20.19.0", "18.20.8", "20.19.1"];
    let cells = names.map(|name| cell(name, "a"));
    assert_eq!(
        by_lineage(&cells, Order::Date, &|_| true),
        [pair(0, 2, &[]), pair(2, 1, &[]), pair(1, 3, &[])]
    );
    assert_eq!(
        by_lineage(&cells, Order::Date, &|index| index != 1),
        [pair(0, 2, &[]), pair(2, 3, &[1])]
    );
    assert_eq!(
        pairs(&cells, Order::Date, &Compare::Previous, &|_| true),
        [pair(0, 1, &[]), pair(1, 2, &[]), pair(2, 3, &[])]
    );
    let unreadable = [cell("zebra", "a"), cell("1.0.0", "a"), cell("0.9.0", "a")];
    assert_eq!(
        by_lineage(&unreadable, Order::Date, &|_| true),
        [pair(0, 1, &[]), pair(1, 2, &[])]
    );
}

/// Makes cells of commits, each with its parent.
fn commits(commits: &[(&str, Option<&str>)]) -> Vec<Cell> {
    let commit = |(name, parent): &(&str, Option<&str>)| {
        let mut cell = cell(name, "a");
        cell.version.parent = parent.map(str::to_owned);
        cell
    };
    commits.iter().map(commit).collect()
}

#[test]
fn a_commit_follows_its_first_measured_ancestor() {
    let cells = commits(&[
        ("base", None),
        ("one", Some("base")),
        ("side", Some("base")),
        ("two", Some("one")),
        ("merge", Some("two")),
        ("foreign", Some("elsewhere")),
    ]);
    let pairs = |measured: &dyn Fn(usize) -> bool| by_lineage(&cells, Order::Topo, measured);
    assert_eq!(
        pairs(&|_| true),
        [
            pair(0, 1, &[]),
            pair(0, 2, &[]),
            pair(1, 3, &[]),
            pair(3, 4, &[])
        ]
    );
    assert_eq!(
        pairs(&|index| ![1, 3].contains(&index)),
        [pair(0, 2, &[]), pair(0, 4, &[1, 3])]
    );
    assert_eq!(pairs(&|index| index > 3), []);
}

#[test]
fn parents_that_lead_round_in_a_circle_lead_nowhere() {
    let cells = commits(&[("a", Some("b")), ("b", Some("a")), ("c", Some("c"))]);
    assert_eq!(
        by_lineage(&cells, Order::Topo, &|_| true),
        [pair(0, 1, &[])]
    );
    assert_eq!(by_lineage(&cells, Order::Topo, &|index| index != 0), []);
}

#[test]
fn the_nearest_chosen_ancestor_is_found_across_those_that_are_not() {
    let cells = commits(&[
        ("a", None),
        ("b", Some("a")),
        ("c", Some("b")),
        ("d", Some("c")),
        ("e", Some("b")),
    ]);
    let versions: Vec<Version> = cells.into_iter().map(|cell| cell.version).collect();
    let list = List::new(&versions, Order::Topo).0;
    let nearest = list.nearest_chosen(&[0, 3, 4].into());
    assert_eq!(nearest, [None, Some(0), Some(0), Some(0), Some(0)]);
    assert_eq!(
        list.nearest_chosen(&[2, 3].into()),
        [None, None, None, Some(2), None]
    );
}

#[test]
fn twenty_thousand_versions_are_listed_and_paired_at_once() {
    let names: Vec<String> = (0..20_000).map(|number| format!("{number:040x}")).collect();
    let mut versions = listed(&names);
    for (version, parent) in versions.iter_mut().skip(1).zip(&names) {
        version.parent = Some(parent.clone());
        version.commit = Some(version.name.clone());
    }
    let list = List::new(&versions, Order::Topo).0;
    assert_eq!(list.find(&names[7]), Some(7));
    let range = between(&names[1], &names[19_999]);
    let out = list.unwanted(Some(&range), false).unwrap();
    assert_eq!(out.iter().filter(|reason| reason.is_none()).count(), 19_999);
    let refs: Vec<&Version> = list.versions.iter().collect();
    assert_eq!(
        select(&refs, Order::Semver, Select::LastPerMajor).len(),
        20_000
    );
    let cells = versions.into_iter().map(|version| Cell {
        id: version.name.clone(),
        version,
        axes: BTreeMap::new(),
    });
    let cells: Vec<Cell> = cells.collect();
    assert_eq!(
        by_lineage(&cells, Order::Topo, &|index| index % 10 == 0).len(),
        1999
    );
}

/// Names that orders have to read: numbers and qualifiers in all their spellings.
const NAMES: &str = "v?[0-2](\\.[0-2]){0,3}([.~+-]?(a|b|rc|alpha|beta|dev|post|final|sp|foo|M)[.-]?[0-2]?)?([-+][0-2])?";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_order_by_name_is_total_and_that_of_the_input_does_not_matter(
        names in prop::collection::vec(NAMES, 0..12),
        swaps in prop::collection::vec((0_usize..12, 0_usize..12), 0..12),
    ) {
        let mut swapped = names.clone();
        for (a, b) in swaps {
            if a < names.len() && b < names.len() {
                swapped.swap(a, b);
            }
        }
        for order in BY_NAME {
            let (list, placeless) = List::new(&listed(&names), order);
            let (other, also_placeless) = List::new(&listed(&swapped), order);
            prop_assert_eq!(&list.versions, &other.versions);
            prop_assert_eq!(placeless.len(), also_placeless.len());
            for (place, low) in list.versions.iter().enumerate() {
                for high in &list.versions[place..] {
                    prop_assert!(low.parsed(order) <= high.parsed(order), "{} {} {:?}", low.name, high.name, order);
                }
            }
        }
    }

    #[test]
    fn a_pre_release_comes_before_its_release_and_a_release_is_none(name in NAMES) {
        for order in BY_NAME {
            let Some(parsed) = order.parse(&name) else { continue };
            let release = parsed.release();
            prop_assert!(!release.is_prerelease(), "{name} {order:?}");
            prop_assert_eq!(release.release(), release.clone());
            if parsed.is_prerelease() {
                prop_assert!(parsed < release, "{name} {order:?}");
            }
        }
    }

    #[test]
    fn no_name_whatever_it_holds_stops_an_order(name in any::<String>()) {
        for order in BY_NAME {
            let parsed = order.parse(&name);
            prop_assert!(order.same(&name, &name));
            prop_assert!(parsed.is_none_or(|parsed| parsed <= order.parse(&name).unwrap()));
        }
    }

    #[test]
    fn every_gap_lies_between_its_pair_and_every_measured_cell_but_a_first_is_a_candidate_once(
        chain in prop::collection::vec((0_usize..3, any::<bool>()), 0..24),
    ) {
        let cells: Vec<Cell> = chain.iter().enumerate().map(|(index, (axis, _))| cell(&index.to_string(), &axis.to_string())).collect();
        let pairs = by_lineage(&cells, Order::Listed, &|index| chain[index].1);
        for (index, (axis, measured)) in chain.iter().enumerate() {
            let earlier = |other: &usize| chain[*other].0 == *axis && chain[*other].1;
            let baseline = (0..index).rev().find(earlier);
            let found: Vec<Pair> = pairs.iter().filter(|pair| pair.candidate == index).cloned().collect();
            match baseline {
                Some(baseline) if *measured => {
                    let between: Vec<usize> = (baseline + 1..index).filter(|other| chain[*other].0 == *axis).collect();
                    prop_assert_eq!(found, vec![Pair { baseline, candidate: index, skipped: between }]);
                }
                Some(_) | None => prop_assert!(found.is_empty()),
            }
        }
    }
}
