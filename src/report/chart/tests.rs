//! Charts of runs made by hand, read by an XML parser.

use roxmltree::{Document, Node};

use super::*;
use crate::journal::Run;
use crate::report::tests::{all_well, everything_a_gap, regression_across_a_gap, two_axes};
use crate::report::{CellReport, Past, Step};
use crate::verdict::fixture::window;
use crate::verdict::judge;

fn report(run: &Run) -> Report {
    Report::new(run, &judge(run), &Past::default())
}

fn pictures(run: &Run) -> Vec<Picture> {
    report(run).pictures()
}

fn named(report: &Report, name: &str) -> Picture {
    let mut pictures = report.pictures().into_iter();
    pictures.find(|picture| picture.name == name).unwrap()
}

/// Returns the elements of a class, in order.
fn of_class<'a>(chart: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    let nodes = chart.root_element().descendants();
    let is = |node: &Node<'_, '_>| {
        let classes = node.attribute("class").unwrap_or_default();
        classes.split(' ').any(|own| own == class)
    };
    nodes.filter(is).collect()
}

fn number(node: &Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).unwrap().parse().unwrap()
}

fn corners(node: &Node<'_, '_>) -> Vec<(f64, f64)> {
    let points = node.attribute("points").unwrap().split(' ');
    let point = |point: &str| {
        let (x, y) = point.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    points.map(point).collect()
}

/// Asserts that every shape and every text begins or ends inside the chart.
fn assert_inside(chart: &Document<'_>) {
    let root = chart.root_element();
    let size = (number(&root, "width"), number(&root, "height"));
    let view = root.attribute("viewBox").unwrap();
    assert_eq!(view, format!("0 0 {} {}", size.0, size.1));
    for node in root.descendants().filter(Node::is_element) {
        let across = ["x", "x1", "x2", "cx"].map(|name| node.attribute(name));
        let down = ["y", "y1", "y2", "cy"].map(|name| node.attribute(name));
        let mut places: Vec<(f64, f64)> = Vec::new();
        for (values, of_x) in [(across, true), (down, false)] {
            let values = values
                .into_iter()
                .flatten()
                .map(|value| value.parse().unwrap());
            places.extend(values.map(|value: f64| if of_x { (value, 0.0) } else { (0.0, value) }));
        }
        if node.has_attribute("points") {
            places.extend(corners(&node));
        }
        for (x, y) in places {
            let inside = (0.0..=size.0).contains(&x) && (0.0..=size.1).contains(&y);
            assert!(inside, "{x},{y} of {node:?}");
        }
    }
}

/// The report of so many versions: every tenth is a gap, and one step is flagged.
fn many(count: usize, flagged: usize) -> Report {
    let mut report = report(&regression_across_a_gap());
    let (measured, gap) = (report.cells[3].clone(), report.cells[1].clone());
    let (worse, same) = (report.pairs[0].clone(), report.pairs[1].clone());
    let name = |place: usize| format!("1.{place}.0-beta.{place}");
    let cell = |place: usize| {
        let is_gap = place % 10 == 9;
        let like = if is_gap { &gap } else { &measured };
        CellReport {
            version: name(place),
            pair: (!is_gap).then_some(place),
            ..like.clone()
        }
    };
    let pair = |place: usize| Step {
        candidate: name(place),
        ..(if place == flagged { &worse } else { &same }).clone()
    };
    report.cells = (0..count).map(cell).collect();
    report.pairs = (0..count).map(pair).collect();
    report
}

#[test]
fn every_chart_is_xml_with_its_words_and_everything_inside() {
    for run in [all_well(), regression_across_a_gap(), two_axes()] {
        let pictures = pictures(&run);
        assert_eq!(pictures.len(), 2);
        for picture in pictures {
            let chart = Document::parse(&picture.svg).unwrap();
            let root = chart.root_element();
            assert_eq!(root.attribute("role"), Some("img"));
            let words: Vec<&str> = ["title", "desc"]
                .map(|tag| {
                    root.children()
                        .find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", tag)))
                })
                .map(|node| node.unwrap().text().unwrap())
                .to_vec();
            assert_eq!(picture.alternative, words.join(". "));
            assert!(picture.svg.contains("@media (prefers-color-scheme:dark)"));
            assert_inside(&chart);
        }
    }
    assert_eq!(pictures(&everything_a_gap()), []);
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    assert_eq!(
        pictures(&regression_across_a_gap()),
        pictures(&regression_across_a_gap())
    );
}

#[test]
fn versions_stand_in_order_and_gaps_between_them_are_hatched_and_break_the_line() {
    let picture = named(&report(&regression_across_a_gap()), "series");
    let chart = Document::parse(&picture.svg).unwrap();
    let dots: Vec<f64> = of_class(&chart, "dot")
        .iter()
        .map(|dot| number(dot, "cx"))
        .collect();
    assert_eq!(dots.len(), 3);
    assert!(dots.is_sorted(), "{dots:?}");
    let gaps = of_class(&chart, "gap");
    let [gap] = gaps.as_slice() else {
        panic!("{gaps:?}");
    };
    let xs = corners(gap).into_iter().map(|(x, _)| x);
    assert!(
        xs.clone().all(|x| dots[0] < x && x < dots[1]),
        "{:?}",
        corners(gap)
    );
    let lines = of_class(&chart, "line");
    assert_eq!(lines.len(), 1);
    let ends: Vec<f64> = corners(&lines[0]).into_iter().map(|(x, _)| x).collect();
    assert_eq!(ends, dots[1..]);
    let flags = of_class(&chart, "worse");
    assert_eq!(flags.len(), 1);
    assert!(
        corners(&flags[0])
            .iter()
            .any(|(x, _)| (x - dots[1]).abs() < 0.1)
    );
    let levels: Vec<f64> = of_class(&chart, "dot")
        .iter()
        .map(|dot| number(dot, "cy"))
        .collect();
    assert!(levels[0] < levels[1], "more is higher: {levels:?}");
}

#[test]
fn effects_stand_inside_their_intervals_with_worse_on_the_left() {
    let picture = named(&report(&regression_across_a_gap()), "effects");
    let chart = Document::parse(&picture.svg).unwrap();
    let zero = number(&of_class(&chart, "zero")[0], "x1");
    let worse = of_class(&chart, "worse");
    assert!(corners(&worse[0]).iter().all(|(x, _)| *x < zero));
    let same = number(&of_class(&chart, "same")[0], "cx");
    let interval = of_class(&chart, "zero")[2];
    assert!(number(&interval, "x1") <= same && same <= number(&interval, "x2"));
}

#[test]
fn names_of_five_hundred_versions_are_thinned_until_none_touch() {
    let report = many(500, 251);
    for (name, across) in [("series", "x"), ("effects", "y")] {
        let picture = named(&report, name);
        let chart = Document::parse(&picture.svg).unwrap();
        assert_inside(&chart);
        let names = of_class(&chart, "name");
        let places: Vec<f64> = names.iter().map(|name| number(name, across)).collect();
        assert!(places.len() > 40, "{name}: {}", places.len());
        assert!(
            places.windows(2).all(|two| two[1] - two[0] > 13.9),
            "{name}: {places:?}"
        );
    }
    let series = named(&report, "series");
    let chart = Document::parse(&series.svg).unwrap();
    assert_eq!(of_class(&chart, "dot").len(), 450);
    assert_eq!(of_class(&chart, "gap").len(), 50);
    let names = of_class(&chart, "name");
    assert_eq!(names.last().unwrap().text(), Some("1.499.0-beta.499"));
    let flagged = of_class(&chart, "strong")
        .into_iter()
        .filter_map(|name| name.text().map(str::to_owned));
    assert!(
        flagged
            .collect::<Vec<_>>()
            .contains(&"1.251.0-beta.251".to_owned())
    );
}

#[test]
fn no_name_becomes_markup() {
    let mut run = regression_across_a_gap();
    let name = "<script>alert('\"&]]>')</script>\u{7}\n--";
    run.header.cells[3].version.name = name.to_owned();
    run.header.cells[3].id = name.to_owned();
    run.header.matrix.title = name.to_owned();
    for picture in pictures(&run) {
        let chart = Document::parse(&picture.svg).unwrap();
        let scripts = chart
            .descendants()
            .filter(|node| node.tag_name().name() == "script");
        assert_eq!(scripts.count(), 0);
        let title = chart.root_element().first_element_child().unwrap();
        assert!(
            title
                .text()
                .unwrap()
                .starts_with("<script>alert('\"&]]>')</script>  --")
        );
    }
}

#[test]
fn the_windows_of_a_session_are_a_line_for_each_server() {
    let mut run = regression_across_a_gap();
    for answers in [[2000, 1900, 1890], [2100, 2000, 1990], [1500, 1400, 1390]] {
        window(&mut run, &answers[..2]);
    }
    let picture = named(&report(&run), "windows");
    let chart = Document::parse(&picture.svg).unwrap();
    assert_inside(&chart);
    let lines: Vec<Node<'_, '_>> = chart
        .descendants()
        .filter(|node| node.has_attribute("points"))
        .collect();
    assert_eq!(lines.len(), 2);
    let [first, second] = [corners(&lines[0]), corners(&lines[1])];
    assert_eq!(first.len(), 3);
    assert!(
        std::iter::zip(&first, &second)
            .all(|(one, other)| (one.0 - other.0).abs() < 0.1 && one.1 < other.1)
    );
    assert!(
        picture
            .alternative
            .contains("0.12.18 and 6.0.0 in 3 windows")
    );
    assert!(
        picture.alternative.contains("session "),
        "{}",
        picture.alternative
    );
}
