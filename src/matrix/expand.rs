//! From a matrix and the versions that its source has to the cells that are measured, and why the others are not. Pure.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::diagnostic::{did_you_mean, nearest};
use super::layer::{self, Held, Layer, Scope};
use super::{Axis, Compare, Include, Matrix, Range, Select, SourceKind, Wanted, values};
use crate::error::{Error, Kind, Result};
use crate::version::{self, Cell, List, Order, Parsed, Unlisted, Version};

/// What the command line wants of a matrix. Nothing given is what the matrix says itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Which versions, in place of the matrix's `versions`; its `select` then counts only if `select` is given too.
    pub wanted: Option<Wanted>,
    /// Which of them, in place of the matrix's `select`.
    pub select: Option<Select>,
    /// Only the last so many of what is selected then.
    pub last: Option<usize>,
    /// At most so many versions, the last ones.
    pub limit: Option<usize>,
    /// Axis values to keep: `(axis, value)`. Values of one axis add up, axes narrow one another.
    pub only: Vec<(String, String)>,
    /// Versions, cells or `axis=value` to leave out.
    pub skip: Vec<String>,
}

/// The cells of a matrix.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expansion {
    /// The cells: for each combination of axis values a chain, its versions in order.
    pub cells: Vec<Cell>,
    /// Cells whose version was asked for by name and is not in the source: `not-found` gaps in their place.
    pub missing: Vec<usize>,
    /// Versions, or cells, that are left out, and why.
    pub left_out: Vec<(String, String)>,
    /// Which version each is compared with; the reference by the name that its cells have.
    pub compare: Compare,
    /// Cells that the matrix excludes, and why: `excluded` gaps in their place.
    pub excluded: BTreeMap<usize, String>,
    /// For each cell the tables that are laid over the matrix for it.
    pub layers: Vec<Vec<Layer>>,
    /// What a user should know of them, and what is written in the matrix and has no effect.
    pub warnings: Vec<String>,
}

impl Expansion {
    /// Returns for each cell the matrix as it is for that cell. Cells for which it is the same share one.
    pub fn variants(&self, matrix: &Matrix) -> Result<Vec<Arc<Matrix>>> {
        let mut made: BTreeMap<&[Layer], Arc<Matrix>> = BTreeMap::new();
        let mut variants = Vec::new();
        for layers in &self.layers {
            let variant = match made.get(layers.as_slice()) {
                Some(variant) => Arc::clone(variant),
                None => Arc::new(matrix.variant(layers)?),
            };
            made.insert(layers, Arc::clone(&variant));
            variants.push(variant);
        }
        Ok(variants)
    }
}

/// Reads versions as the command line gives them, for a matrix in that order: nothing for all, one range (`^18`,
/// `20.0.0..22.0.0`), or names.
pub fn parse_selector(words: &[String], order: Order) -> Result<Wanted> {
    match words {
        [] => Ok(Wanted::All),
        [only] if is_range(only, order) => {
            let range = values::range(only, order).map_err(|wrong| {
                let message = format!("`{only}` {}", wrong.what);
                Error::new(Kind::Usage, message)
                    .because(wrong.why)
                    .hint(wrong.help)
            });
            range.map(Wanted::Range)
        }
        names => match names.iter().find(|name| is_range(name, order)) {
            Some(range) => {
                let message = format!("`{range}` is a range among {} words", names.len());
                let hint = "give one range, in quotes if it has spaces, or the names of versions";
                Err(Error::new(Kind::Usage, message).hint(hint))
            }
            None => Ok(Wanted::Names(names.to_vec())),
        },
    }
}

/// Reads a selection as the command line gives it: `all`, `last-patch-per-minor`, `last-per-major`, `last:N`, `every:N`.
pub fn parse_select(word: &str) -> Result<Select> {
    values::select(word).map_err(|wrong| {
        Error::new(Kind::Usage, format!("`{word}` {}", wrong.what))
            .because(wrong.why)
            .hint(wrong.help)
    })
}

fn is_range(word: &str, order: Order) -> bool {
    let wildcard = || word.split('.').any(|part| ["*", "x", "X"].contains(&part));
    let operator = word.starts_with(['^', '~', '=', '<', '>', '*', '!']);
    operator
        || word.contains("..")
        || word.contains(',')
        || (wildcard() && values::range(word, order).is_ok())
}

/// Makes the cells of a matrix from the versions that its source has, in the source's order.
///
/// It is an error if no version or no combination of axis values is left, or if the selection names what there is not.
pub fn expand(matrix: &Matrix, available: &[Version], selection: &Selection) -> Result<Expansion> {
    let mut chooser = Chooser::new(matrix, available, selection);
    let mut versions = chooser.versions()?;
    let compare = chooser.add_reference(&mut versions)?;
    let held = chooser.held(&versions)?;
    let mut expansion = Expansion {
        cells: Vec::new(),
        missing: Vec::new(),
        left_out: std::mem::take(&mut chooser.left_out),
        compare,
        excluded: BTreeMap::new(),
        layers: Vec::new(),
        warnings: Vec::new(),
    };
    for combination in combinations(matrix, selection)? {
        let named = |entry: &Entry| cell(&entry.version, &combination.axes, &matrix.axes);
        let is_one = |entry: &&Entry| {
            let regular = entry.regular && combination.regular;
            regular || matrix.is_included(&named(entry), &held)
        };
        let mut chain: Vec<Entry> = versions.iter().filter(is_one).cloned().collect();
        expansion.skip(&mut chain, &named, selection);
        chooser.find_parents(&mut chain);
        for entry in &chain {
            expansion.add((matrix, &held), (named(entry), entry.exists));
        }
    }
    if expansion.cells.is_empty() {
        return Err(no_cell(matrix, selection));
    }
    let facts = (matrix.source.order, &expansion.compare);
    expansion.warnings = warnings(&versions, &expansion.cells, facts);
    if *selection == Selection::default() {
        let idle = idle((matrix, &held), available, &expansion.cells);
        expansion.warnings.extend(idle);
    }
    Ok(expansion)
}

impl Expansion {
    /// Leaves out the cells that the command line skips by name.
    fn skip(
        &mut self,
        chain: &mut Vec<Entry>,
        named: &dyn Fn(&Entry) -> Cell,
        selection: &Selection,
    ) {
        chain.retain(|entry| {
            let id = named(entry).id;
            let skipped = selection.skip.contains(&id);
            if skipped {
                self.left_out.push((id, "skipped".to_owned()));
            }
            !skipped
        });
    }

    fn add(&mut self, (matrix, held): (&Matrix, &Held), (cell, exists): (Cell, bool)) {
        let index = self.cells.len();
        if let Some(reason) = matrix.excluded(&cell, held) {
            self.excluded.insert(index, reason.to_owned());
        } else if !exists {
            self.missing.push(index);
        }
        self.layers.push(matrix.layers(&cell, held));
        self.cells.push(cell);
    }
}

/// The error for a selection that leaves no cell.
fn no_cell(matrix: &Matrix, selection: &Selection) -> Error {
    let file = matrix.file.display();
    if selection.skip.is_empty() {
        let message = format!("no selected version of {file} has such axis values");
        return Error::new(Kind::Usage, message).hint("leave out `--only`, or name other versions");
    }
    let message = format!("every cell of {file} is skipped");
    Error::new(Kind::Usage, message).hint("leave out one `--skip`")
}

/// Says which versions were taken back, and where no two will be compared although there are two.
fn warnings(entries: &[Entry], cells: &[Cell], (order, compare): (Order, &Compare)) -> Vec<String> {
    let withdrawn = entries.iter().filter_map(|entry| {
        let why = entry.version.withdrawn.as_ref()?;
        Some(format!("{} is withdrawn: {why}", entry.version.name))
    });
    let alone = order == Order::Topo
        && entries.len() > 1
        && version::pairs(cells, order, compare, &|_| true).is_empty();
    let nothing = "no two versions will be compared: none grew out of another by first parents; \
                   `compare = \"previous\"` in `[source]` compares each with the one before it";
    withdrawn.chain(alone.then(|| nothing.to_owned())).collect()
}

fn cell(version: &Version, axes: &BTreeMap<String, String>, order: &[Axis]) -> Cell {
    let mut id = version.name.clone();
    for axis in order {
        if let Some(value) = axes.get(&axis.name) {
            id = format!("{id} {}={value}", axis.name);
        }
    }
    Cell {
        id,
        version: version.clone(),
        axes: axes.clone(),
    }
}

/// A version on its way through the selection.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    version: Version,
    /// Its place in the source's list; none if the source does not have it.
    place: Option<usize>,
    /// Whether it can be had: a list has whatever the matrix names.
    exists: bool,
    /// Whether it is measured with all values of the axes, and not only where a cell is included by name.
    regular: bool,
}

struct Chooser<'a> {
    matrix: &'a Matrix,
    available: &'a [Version],
    selection: &'a Selection,
    wanted: &'a Wanted,
    /// Those that have a place in the matrix's order.
    list: List,
    /// The places of those that the command line skips.
    skipped: HashSet<usize>,
    left_out: Vec<(String, String)>,
}

impl<'a> Chooser<'a> {
    fn new(matrix: &'a Matrix, available: &'a [Version], selection: &'a Selection) -> Self {
        let order = matrix.source.order;
        let (list, placeless) = List::new(available, order);
        let list = match &matrix.source.versions {
            // The matrix's own names are an order; those typed on the command line are not.
            Wanted::Names(names) if order == Order::Listed => list.led_by(names),
            Wanted::Names(_) | Wanted::All | Wanted::Range(_) => list,
        };
        let skipped = selection.skip.iter().filter_map(|word| list.find(word));
        let placeless = placeless.into_iter();
        Self {
            matrix,
            available,
            selection,
            wanted: selection.wanted.as_ref().unwrap_or(&matrix.source.versions),
            skipped: skipped.collect(),
            list,
            left_out: placeless
                .map(|name| (name, order.no_place().to_owned()))
                .collect(),
        }
    }

    /// Returns the versions that are selected, in order.
    fn versions(&mut self) -> Result<Vec<Entry>> {
        self.check_skip()?;
        let entries = self.wanted()?;
        let entries = self.skip(entries);
        let entries = self.select(entries)?;
        let entries = self.include(entries)?;
        let entries = self.keep_last(entries, self.selection.last, "--last");
        let entries = self.keep_last(entries, self.selection.limit, "--limit");
        if entries.iter().any(|entry| entry.exists) {
            Ok(entries)
        } else {
            Err(self.nothing_selected(&entries))
        }
    }

    /// Adds the versions of included cells that are not among the others. The matrix's `versions` and `select` do not
    /// count for them; what the command line asks for does.
    fn include(&mut self, mut entries: Vec<Entry>) -> Result<Vec<Entry>> {
        let order = self.matrix.source.order;
        let before = entries.len();
        for Include { version: name, .. } in &self.matrix.includes {
            let is = |version: &str| order.same(version, name);
            let known = entries.iter().any(|entry| is(&entry.version.name));
            let skipped = self.selection.skip.iter().any(|word| is(word));
            if known || skipped || !self.asks_for(name)? {
                continue;
            }
            let entry = match self.list.find(name) {
                Some(place) => self.at(place),
                None => self.missing(name)?,
            };
            self.left_out.retain(|(version, _)| !is(version));
            let entry = Entry {
                exists: entry.exists || self.lists_names(),
                regular: false,
                ..entry
            };
            // A list as the matrix has it is not sorted again, but what is added still has its place among what there is.
            let place = entry.place.filter(|_| order == Order::Listed);
            let after = |other: &Entry| other.place > place;
            let at = place.and_then(|_| entries.iter().position(after));
            entries.insert(at.unwrap_or(entries.len()), entry);
        }
        if entries.len() > before {
            self.sort(&mut entries);
        }
        Ok(entries)
    }

    /// Returns whether the command line asks for a version that the matrix includes by name.
    fn asks_for(&self, name: &str) -> Result<bool> {
        let order = self.matrix.source.order;
        Ok(match &self.selection.wanted {
            None | Some(Wanted::All) => true,
            Some(Wanted::Names(names)) => names.iter().any(|asked| order.same(asked, name)),
            Some(Wanted::Range(range)) => {
                let reasons = self.list.unwanted(Some(range), true);
                let reasons = reasons.map_err(|unlisted| self.unlisted(unlisted))?;
                let place = self.list.find(name);
                place.is_some_and(|place| reasons[place].is_none())
            }
        })
    }

    /// Returns whether the source has whatever the matrix names.
    fn lists_names(&self) -> bool {
        let list = super::List { command: None };
        self.matrix.source.kind == SourceKind::List(list)
    }

    /// Finds the versions that each table of the matrix is for, among all that there are or are named.
    fn held(&self, entries: &[Entry]) -> Result<Held> {
        let order = self.matrix.source.order;
        let names: &[String] = match &self.matrix.source.versions {
            Wanted::Names(names) => names,
            Wanted::All | Wanted::Range(_) => &[],
        };
        let missing = names.iter().filter(|name| self.list.find(name).is_none());
        let missing = missing.map(Version::listed);
        let placeless = entries.iter().filter(|entry| entry.place.is_none());
        let placeless = placeless.map(|entry| entry.version.clone());
        let there = self.list.versions.iter().cloned();
        let mut versions: Vec<Version> = there.chain(missing).chain(placeless).collect();
        for version in &mut versions {
            version.withdrawn = None;
        }
        let (list, _) = List::new(&versions, order);
        let list = if order == Order::Listed && !names.is_empty() {
            list.led_by(names)
        } else {
            list
        };
        Held::new(self.matrix, &list).map_err(|(layer, unlisted)| {
            let error = self.unlisted(unlisted);
            error.because(format!("this is a range of {layer}"))
        })
    }

    /// Returns the wanted versions in order, with those that are asked for by name and do not exist.
    fn wanted(&mut self) -> Result<Vec<Entry>> {
        match self.wanted {
            Wanted::All => self.in_range(None),
            Wanted::Range(range) => self.in_range(Some(range)),
            Wanted::Names(names) => self.named(names),
        }
    }

    fn in_range(&mut self, range: Option<&Range>) -> Result<Vec<Entry>> {
        let prerelease = self.matrix.source.prerelease;
        let reasons = self.list.unwanted(range, prerelease);
        let reasons = reasons.map_err(|unlisted| self.unlisted(unlisted))?;
        let mut entries = Vec::new();
        for (place, reason) in reasons.into_iter().enumerate() {
            match reason {
                Some(why) => self.leave_out(&self.list.versions[place].name.clone(), &why),
                None => entries.push(self.at(place)),
            }
        }
        Ok(entries)
    }

    fn at(&self, place: usize) -> Entry {
        Entry {
            version: self.list.versions[place].clone(),
            place: Some(place),
            exists: true,
            regular: true,
        }
    }

    fn named(&mut self, names: &[String]) -> Result<Vec<Entry>> {
        let mut asked = vec![false; self.list.versions.len()];
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        for name in names.iter().filter(|name| seen.insert(name.as_str())) {
            match self.list.find(name) {
                Some(place) if std::mem::replace(&mut asked[place], true) => {}
                Some(place) => entries.push(self.at(place)),
                None => entries.push(self.missing(name)?),
            }
        }
        for (place, _) in asked.iter().enumerate().filter(|(_, asked)| !**asked) {
            self.leave_out(&self.list.versions[place].name.clone(), "not asked for");
        }
        self.sort(&mut entries);
        Ok(entries)
    }

    /// Puts entries in order; those that do not exist where their names have a place, else last.
    fn sort(&self, entries: &mut [Entry]) {
        let order = self.matrix.source.order;
        if order.is_by_name() {
            entries.sort_by_cached_key(|entry| entry.version.parsed(order));
        } else if order != Order::Listed || self.selection.wanted.is_some() {
            entries.sort_by_key(|entry| entry.place.unwrap_or(usize::MAX));
        }
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        self.available.iter().map(|version| version.name.as_str())
    }

    fn missing(&self, name: &str) -> Result<Entry> {
        let order = self.matrix.source.order;
        let version = Version::semantic(name).filter(|_| order == Order::Semver);
        let entry = Entry {
            version: version.unwrap_or_else(|| Version::listed(name)),
            place: None,
            exists: false,
            regular: true,
        };
        if !order.is_by_name() || order.parse(name).is_some() {
            return Ok(entry);
        }
        let message = format!(
            "`{name}` is not a version, and has no place in the order `{}`",
            order.name()
        );
        let error = Error::new(Kind::Usage, message);
        let range = values::instead_of(name, order);
        Err(match self.suggestions(name).as_slice() {
            [] => error.hint(format!("give a whole version, or {range}")),
            near => error.hint(format!("{}, or {range}", near.join(", "))),
        })
    }

    /// Adds the version that all others are compared with: it is measured whatever else is selected.
    fn add_reference(&mut self, entries: &mut Vec<Entry>) -> Result<Compare> {
        let Compare::Reference(word) = &self.matrix.source.compare else {
            return Ok(self.matrix.source.compare.clone());
        };
        let found = self.list.find(word);
        let reference = self.at(found.ok_or_else(|| self.no_reference(word))?);
        if self.is_skipped(&reference) {
            let message = format!("`--skip` leaves out the reference {word}");
            return Err(Error::new(Kind::Usage, message)
                .because("all others are compared with it")
                .hint("leave out that `--skip`, or change `reference` in `[source]`"));
        }
        let name = reference.version.name.clone();
        if let Some(entry) = entries.iter_mut().find(|entry| entry.place == found) {
            // It may be there for an included cell alone; it is for all of them.
            entry.regular = true;
        } else {
            self.left_out.retain(|(left, _)| *left != name);
            let after = |entry: &Entry| entry.place.is_some() && entry.place > found;
            let index = entries.iter().position(after).unwrap_or(entries.len());
            entries.insert(index, reference);
        }
        Ok(Compare::Reference(name))
    }

    /// Makes the parent of each version the nearest of those that are selected.
    fn find_parents(&self, entries: &mut [Entry]) {
        if self.matrix.source.order != Order::Topo {
            return;
        }
        let chosen = entries.iter().filter_map(|entry| entry.place).collect();
        let nearest = self.list.nearest_chosen(&chosen);
        for entry in entries {
            let parent = entry.place.and_then(|place| nearest[place]);
            entry.version.parent = parent.map(|parent| self.list.versions[parent].name.clone());
        }
    }

    fn no_reference(&self, name: &str) -> Error {
        let message = format!("the source does not have the reference {name}");
        let error =
            Error::new(Kind::Configuration, message).because("all others are compared with it");
        error.hint(match self.suggestions(name).as_slice() {
            [] => "change `reference` in `[source]`; `harness list` shows what there is".to_owned(),
            near => format!(
                "change `reference` in `[source]`, to one of the nearest: {}",
                near.join(", ")
            ),
        })
    }

    /// The error for a range whose ends are not in the list, or not in its order.
    fn unlisted(&self, unlisted: Unlisted) -> Error {
        let (kind, place) = match self.selection.wanted {
            Some(_) => (Kind::Usage, ""),
            None => (Kind::Configuration, " in `versions` of `[source]`"),
        };
        match unlisted {
            Unlisted::Missing(end) => {
                let message =
                    format!("the source does not have `{end}`, an end of the range{place}");
                let order = self.matrix.source.order.name();
                let why = format!("in the order `{order}` a range goes by places in the list");
                let error = Error::new(kind, message).because(why);
                let error = self
                    .available_in_words()
                    .into_iter()
                    .fold(error, Error::because);
                let suggestion = did_you_mean(&end, self.names());
                let other = || "name two versions that the source has".to_owned();
                error.hint(suggestion.unwrap_or_else(other))
            }
            Unlisted::Backwards(first, last) => {
                let message = format!("the range `{first}..{last}`{place} is empty");
                let why = format!("`{first}` comes after `{last}` in the list");
                let hint = format!("write \"{last}..{first}\"");
                Error::new(kind, message).because(why).hint(hint)
            }
        }
    }

    fn skip(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let skipped = |entry: &Entry| self.is_skipped(entry);
        let (out, kept): (Vec<_>, Vec<_>) = entries.into_iter().partition(skipped);
        for entry in out {
            self.leave_out(&entry.version.name, "skipped");
        }
        kept
    }

    fn is_skipped(&self, entry: &Entry) -> bool {
        let same = |word: &String| self.list.order.same(word, &entry.version.name);
        match entry.place {
            Some(place) => self.skipped.contains(&place),
            None => self.selection.skip.iter().any(same),
        }
    }

    /// Versions that do not exist are no part of the selection: they stay, to be shown as gaps.
    fn select(&mut self, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        let select = match (self.selection.select, &self.selection.wanted) {
            (Some(select), _) => select,
            (None, Some(_)) => Select::All,
            (None, None) => self.matrix.source.select,
        };
        let order = self.matrix.source.order;
        if select.needs_lines() && !order.has_lines() {
            let message = format!(
                "versions in the order `{}` have no lines to select the last of",
                order.name()
            );
            return Err(Error::new(Kind::Usage, message).hint("select with `last:N` or `every:N`"));
        }
        let existing = entries.iter().filter(|entry| entry.place.is_some());
        let existing: Vec<&Version> = existing.map(|entry| &entry.version).collect();
        let mut reasons = version::select(&existing, order, select).into_iter();
        let mut kept = Vec::new();
        for entry in entries {
            let reason = entry.place.and_then(|_| reasons.next().flatten());
            match reason {
                Some(why) => self.leave_out(&entry.version.name, why),
                None => kept.push(entry),
            }
        }
        Ok(kept)
    }

    fn keep_last(
        &mut self,
        mut entries: Vec<Entry>,
        count: Option<usize>,
        option: &str,
    ) -> Vec<Entry> {
        let Some(count) = count else {
            return entries;
        };
        let kept = entries.split_off(entries.len().saturating_sub(count));
        for entry in entries {
            self.leave_out(
                &entry.version.name,
                &format!("not among the last {count} (`{option}`)"),
            );
        }
        kept
    }

    fn leave_out(&mut self, name: &str, why: &str) {
        self.left_out.push((name.to_owned(), why.to_owned()));
    }

    /// A word that skips nothing anywhere is a typing error.
    fn check_skip(&self) -> Result<()> {
        let pairs = pairs_of(self.matrix);
        for word in &self.selection.skip {
            let name = word.split(' ').next().unwrap_or_default();
            let version = self.list.find(name).is_some()
                || self.names().any(|version| {
                    let rest = word.strip_prefix(version);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
                });
            let named = matches!(self.wanted, Wanted::Names(names) if names.contains(word))
                || self.matrix.includes.iter().any(|it| it.version == *word);
            if version || named || pairs.contains(word) {
                continue;
            }
            let message = format!("`--skip {word}` names no version, cell or axis value");
            let candidates = self.names().chain(pairs.iter().map(String::as_str));
            let error = Error::new(Kind::Usage, message);
            return Err(match did_you_mean(word, candidates) {
                Some(suggestion) => error.hint(suggestion),
                None => error.hint("`harness list` shows what there is"),
            });
        }
        Ok(())
    }

    fn nothing_selected(&self, missing: &[Entry]) -> Error {
        let file = self.matrix.file.display();
        let message = format!("no version to measure in {file}");
        let error = Error::new(Kind::Configuration, message).because(self.why_nothing(missing));
        let error = match self.available_in_words() {
            Some(available) => error.because(available),
            None => error,
        };
        error.hint(match (self.available.is_empty(), &self.selection.wanted) {
            (true, _) => "correct `[source]`: its name, its folder or its registry".to_owned(),
            (false, Some(_)) => self.ask_for("ask for"),
            (false, None) => self.ask_for("change `versions` in `[source]`, to"),
        })
    }

    fn why_nothing(&self, missing: &[Entry]) -> String {
        if self.available.is_empty() {
            return "the source has no versions at all".to_owned();
        }
        if !missing.is_empty() {
            let names: Vec<&str> = missing
                .iter()
                .map(|entry| entry.version.name.as_str())
                .collect();
            return format!("the source does not have {}", names.join(", "));
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, why) in &self.left_out {
            *counts.entry(why.as_str()).or_default() += 1;
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(why, count)| format!("{count} ({why})"))
            .collect();
        let all = self.available.len();
        format!(
            "of the source's {all} versions all are left out: {}",
            counts.join(", ")
        )
    }

    fn available_in_words(&self) -> Option<String> {
        let first = &self.list.versions.first()?.name;
        let last = &self.list.versions.last()?.name;
        Some(format!("the source's versions go from {first} to {last}"))
    }

    fn ask_for(&self, verb: &str) -> String {
        let word = match self.wanted {
            Wanted::Names(names) => names.first().cloned(),
            Wanted::Range(Range::Between(first, _)) => Some(first.clone()),
            Wanted::Range(Range::Specifiers(specifiers)) => {
                specifiers.first().map(|one| one.version().to_string())
            }
            Wanted::Range(Range::Compared(all)) => all.first().map(|(_, name)| name.clone()),
            Wanted::Range(Range::Requirement(requirement)) => {
                requirement.comparators.first().map(|comparator| {
                    let or_zero = Option::unwrap_or_default;
                    format!(
                        "{}.{}.{}",
                        comparator.major,
                        or_zero(comparator.minor),
                        or_zero(comparator.patch)
                    )
                })
            }
            Wanted::All => None,
        };
        match self.suggestions(&word.unwrap_or_default()).as_slice() {
            [] if self.left_out.iter().any(|(_, why)| why == "pre-release") => {
                "write `prerelease = true` in `[source]` if you want them".to_owned()
            }
            [] => "`harness list` shows what there is".to_owned(),
            near => format!("{verb} one of the nearest: {}", near.join(", ")),
        }
    }

    /// Returns up to four available versions around a version, or the one nearest to a word.
    fn suggestions(&self, word: &str) -> Vec<String> {
        let order = self.matrix.source.order;
        let Some(pivot) = order.parse(word) else {
            let near = nearest(word, self.names());
            return near.map(str::to_owned).into_iter().collect();
        };
        let prerelease = self.matrix.source.prerelease || pivot.is_prerelease();
        let versions = self.available.iter().filter_map(|version| {
            let parsed = version.parsed(order)?;
            let usual = version.withdrawn.is_none() && (prerelease || !parsed.is_prerelease());
            usual.then_some((parsed, &version.name))
        });
        let versions: BTreeSet<(Parsed, &String)> = versions.collect();
        let before = versions.iter().rev().filter(|(parsed, _)| *parsed < pivot);
        let after = versions.iter().filter(|(parsed, _)| *parsed >= pivot);
        let mut near: Vec<&(Parsed, &String)> = before.take(2).chain(after.take(2)).collect();
        near.sort();
        near.into_iter().map(|(_, name)| (*name).clone()).collect()
    }
}

/// Returns every `axis=value` of a matrix, those of included cells among them.
fn pairs_of(matrix: &Matrix) -> Vec<String> {
    let pairs = matrix.axes.iter().flat_map(|axis| {
        let values = layer::values(axis, &matrix.includes).into_iter();
        values.map(|value| format!("{}={value}", axis.name))
    });
    pairs.collect()
}

/// One value of each axis.
#[derive(Debug, Clone, Default, PartialEq)]
struct Combination {
    axes: BTreeMap<String, String>,
    /// Whether every version is measured with it, and not only a cell that is included by name.
    regular: bool,
}

/// Returns every combination of axis values that the selection keeps, then those that only included cells have; one
/// empty one where there are no axes.
fn combinations(matrix: &Matrix, selection: &Selection) -> Result<Vec<Combination>> {
    check_only(matrix, &selection.only)?;
    let mut combinations = regular_combinations(&matrix.axes, selection);
    for include in &matrix.includes {
        let kept = |axis: &Axis| {
            let value = include.axes.get(&axis.name);
            value.is_some_and(|value| is_kept(axis, value, selection))
        };
        let known = combinations.iter().any(|it| it.axes == include.axes);
        if !known && matrix.axes.iter().all(kept) {
            combinations.push(Combination {
                axes: include.axes.clone(),
                regular: false,
            });
        }
    }
    if combinations.is_empty() {
        return Err(no_combination(matrix, selection));
    }
    Ok(combinations)
}

fn regular_combinations(axes: &[Axis], selection: &Selection) -> Vec<Combination> {
    let mut combinations = vec![Combination {
        regular: true,
        ..Combination::default()
    }];
    for axis in axes {
        let values = axis.values.iter();
        let values = values.filter(|value| is_kept(axis, value, selection));
        let longer = |shorter: &Combination| {
            let with = |value: &String| {
                let mut longer = shorter.clone();
                longer.axes.insert(axis.name.clone(), value.clone());
                longer
            };
            values.clone().map(with).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    combinations
}

fn no_combination(matrix: &Matrix, selection: &Selection) -> Error {
    let empty = |axis: &&Axis| {
        let mut values = layer::values(axis, &matrix.includes).into_iter();
        !values.any(|value| is_kept(axis, &value, selection))
    };
    let message = match matrix.axes.iter().find(empty) {
        Some(axis) => format!("no value of the axis `{}` is left", axis.name),
        None => "no combination of axis values is left".to_owned(),
    };
    let hint = format!("keep one of {}", pairs_of(matrix).join(", "));
    Error::new(Kind::Usage, message).hint(hint)
}

fn is_kept(axis: &Axis, value: &str, selection: &Selection) -> bool {
    let mut only = selection
        .only
        .iter()
        .filter(|(name, _)| *name == axis.name)
        .peekable();
    let kept = only.peek().is_none() || only.any(|(_, kept)| kept == value);
    kept && !selection.skip.contains(&format!("{}={value}", axis.name))
}

fn check_only(matrix: &Matrix, only: &[(String, String)]) -> Result<()> {
    let known: BTreeSet<String> = pairs_of(matrix).into_iter().collect();
    for (axis, value) in only {
        let word = format!("{axis}={value}");
        if known.contains(&word) {
            continue;
        }
        let error = Error::new(Kind::Usage, format!("`--only {word}` names no axis value"));
        let suggestion = did_you_mean(&word, known.iter().map(String::as_str));
        let list: Vec<&str> = known.iter().map(String::as_str).collect();
        return Err(error.hint(match (suggestion, list.as_slice()) {
            (_, []) => "the matrix has no axes: leave `--only` out".to_owned(),
            (Some(suggestion), _) => suggestion,
            (None, list) => format!("there are {}", list.join(", ")),
        }));
    }
    Ok(())
}

/// Says of each `[[override]]` and `[[exclude]]` that is for none of a whole matrix's cells that it is idle.
fn idle((matrix, held): (&Matrix, &Held), available: &[Version], cells: &[Cell]) -> Vec<String> {
    let idle = held.idle(matrix, cells).into_iter();
    idle.map(|(table, scope, measured)| {
        let line = scope.line;
        let why = mistyped(scope, available, matrix.source.order).unwrap_or_else(|| {
            let why = if measured {
                "none of these versions is measured with such axis values"
            } else {
                "none of these versions is measured"
            };
            why.to_owned()
        });
        format!("`[[{table}]]` of line {line} matches nothing: {why}")
    })
    .collect()
}

/// Returns what a name of a version that does not exist was probably meant to be.
fn mistyped(scope: &Scope, available: &[Version], order: Order) -> Option<String> {
    let Wanted::Names(names) = &scope.versions else {
        return None;
    };
    let exists = |name: &str| available.iter().any(|it| order.same(&it.name, name));
    let name = names.iter().find(|name| !exists(name))?;
    let all = available.iter().map(|version| version.name.as_str());
    let guess = did_you_mean(name, all).map_or_else(String::new, |guess| format!(", {guess}"));
    Some(format!("there is no version {name}{guess}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::matrix::parse;

    const AVAILABLE: [&str; 7] = [
        "2.0.0-rc.1",
        "0.14.1",
        "0.14.2",
        "nightly",
        "1.10.0",
        "1.9.0",
        "1.9.1",
    ];

    fn listed(names: &[&str]) -> Vec<Version> {
        names.iter().map(|name| Version::listed(*name)).collect()
    }

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    /// A matrix of npm versions with something more in `[source]`, and something more at the end.
    fn matrix(source: &str, more: &str) -> Matrix {
        let text = format!(
            "schema = 1\n[source]\nnpm.package = \"node\"\n{source}\n[start]\ncmd = [\"{{binary}}\"]\n{more}\n"
        );
        parse(&text, Path::new("/m/node.toml"), None).unwrap()
    }

    fn ids(expansion: &Expansion) -> Vec<&str> {
        expansion
            .cells
            .iter()
            .map(|cell| cell.id.as_str())
            .collect()
    }

    fn left_out(expansion: &Expansion) -> Vec<(&str, &str)> {
        let pairs = expansion.left_out.iter();
        pairs
            .map(|(name, why)| (name.as_str(), why.as_str()))
            .collect()
    }

    fn expanded(matrix: &Matrix, selection: &Selection) -> Expansion {
        expand(matrix, &listed(&AVAILABLE), selection).unwrap()
    }

    fn refused(matrix: &Matrix, available: &[&str], selection: &Selection) -> String {
        expand(matrix, &listed(available), selection)
            .unwrap_err()
            .to_string()
    }

    fn asked(words: &[&str]) -> Selection {
        Selection {
            wanted: Some(parse_selector(&strings(words), Order::Semver).unwrap()),
            ..Selection::default()
        }
    }

    /// A matrix of the entries of a folder, which are in the order in which they are listed.
    fn folder(source: &str, more: &str) -> Matrix {
        let text = format!(
            "schema = 2\n[source]\npath.dir = \"versions\"\n{source}\n[start]\ncmd = [\"{{binary}}\"]\n{more}\n"
        );
        parse(&text, Path::new("/m/folder.toml"), None).unwrap()
    }

    #[test]
    fn an_included_version_has_its_place_in_a_list() {
        let matrix = folder("select = \"last:2\"", "[[include]]\nversion = \"v1\"\n");
        let expansion = expand(
            &matrix,
            &listed(&["v1", "v2", "v3", "v4"]),
            &Selection::default(),
        );
        assert_eq!(ids(&expansion.unwrap()), ["v1", "v3", "v4"]);
    }

    #[test]
    fn a_range_by_place_counts_a_named_version_that_is_missing_where_it_is_named() {
        let matrix = folder(
            "versions = [\"v1\", \"v2\", \"v3\", \"v4\"]",
            "[[exclude]]\nversions = \"v1..v2\"\n",
        );
        let there = listed(&["v1", "v3", "v4"]);
        for selection in [Selection::default(), asked_for(&["v3"])] {
            let expansion = expand(&matrix, &there, &selection).unwrap();
            let excluded = expansion.excluded.keys();
            let excluded: Vec<&str> = excluded.map(|index| ids(&expansion)[*index]).collect();
            let expected: &[&str] = if selection == Selection::default() {
                &["v1", "v2"]
            } else {
                &[]
            };
            assert_eq!(excluded, expected);
        }
    }

    fn asked_for(names: &[&str]) -> Selection {
        Selection {
            wanted: Some(Wanted::Names(strings(names))),
            ..Selection::default()
        }
    }

    #[test]
    fn a_reference_is_measured_with_all_values_though_it_is_included_for_one() {
        let matrix = matrix(
            "versions = \">=1.9\"\ncompare = \"reference\"\nreference = \"0.14.1\"",
            "[axes]\nbody = { values = [\"a\"] }\n[[include]]\nversion = \"0.14.1\"\naxes.body = \"b\"\n",
        );
        let expansion = expanded(&matrix, &Selection::default());
        assert_eq!(ids(&expansion)[0], "0.14.1 body=a");
        assert!(ids(&expansion).contains(&"0.14.1 body=b"));
    }

    /// Commits of which each grew out of the one before it.
    fn chain_of_commits(names: &[&str]) -> Vec<Version> {
        let parents =
            std::iter::once(None).chain(names.iter().map(|name| Some((*name).to_owned())));
        let commit = |(name, parent): (&&str, Option<String>)| Version {
            commit: Some(format!("{name}{}", "0".repeat(30))),
            parent,
            ..Version::listed(*name)
        };
        names.iter().zip(parents).map(commit).collect()
    }

    #[test]
    fn a_commit_that_is_included_for_one_value_parts_no_other_chain_and_may_be_called_by_its_hash()
    {
        let text = "schema = 2\n[source]\nversions = [\"a123456789\", \"c123456789\"]\n[source.git]\n\
                    repository = \"r\"\ncommits = \"a..c\"\n[start]\ncmd = [\"x\"]\n[axes]\n\
                    node = { values = [\"10\"] }\n[[include]]\nversion = \"b123456789000\"\naxes.node = \"14\"\n";
        let matrix = parse(text, Path::new("/m/git.toml"), None).unwrap();
        let available = chain_of_commits(&["a123456789", "b123456789", "c123456789"]);
        let expansion = expand(&matrix, &available, &Selection::default()).unwrap();
        let expected = [
            "a123456789 node=10",
            "c123456789 node=10",
            "b123456789 node=14",
        ];
        assert_eq!(ids(&expansion), expected);
        let pairs = version::pairs(&expansion.cells, Order::Topo, &expansion.compare, &|_| true);
        assert_eq!((pairs[0].baseline, pairs[0].candidate), (0, 1));
        assert_eq!(expansion.layers[2], [Layer::Include(0)]);
    }

    #[test]
    fn every_version_is_in_or_out_with_a_reason() {
        let matrix = matrix("versions = \"<2\"\nselect = \"last-patch-per-minor\"", "");
        let expansion = expanded(&matrix, &Selection::default());
        assert_eq!(ids(&expansion), ["0.14.2", "1.9.1", "1.10.0"]);
        let expected = [
            ("nightly", "not a semantic version"),
            ("2.0.0-rc.1", "outside the range"),
            ("0.14.1", "not the last patch of its minor version"),
            ("1.9.0", "not the last patch of its minor version"),
        ];
        assert_eq!(left_out(&expansion), expected);
        assert!(expansion.missing.is_empty());
    }

    #[test]
    fn a_version_asked_for_by_name_and_not_there_keeps_its_place() {
        let matrix = matrix(
            "versions = [\"1.10.0\", \"v1.9.0\", \"1.9.5\"]",
            "[axes]\nn.values = [1, 2]",
        );
        let expansion = expanded(&matrix, &Selection::default());
        assert_eq!(
            ids(&expansion),
            [
                "1.9.0 n=1",
                "1.9.5 n=1",
                "1.10.0 n=1",
                "1.9.0 n=2",
                "1.9.5 n=2",
                "1.10.0 n=2"
            ]
        );
        assert_eq!(expansion.missing, [1, 4]);
        assert!(left_out(&expansion).contains(&("1.9.1", "not asked for")));
    }

    #[test]
    fn the_command_line_replaces_versions_and_select() {
        let matrix = matrix("versions = \"^0.14\"\nselect = \"last:1\"", "");
        assert_eq!(
            ids(&expanded(&matrix, &asked(&["^1"]))),
            ["1.9.0", "1.9.1", "1.10.0"]
        );
        assert_eq!(
            ids(&expanded(&matrix, &asked(&["0.14.1..1.9.0"]))),
            ["0.14.1", "0.14.2", "1.9.0"]
        );
        let selection = Selection {
            select: Some(Select::LastPerMajor),
            ..asked(&["<2"])
        };
        assert_eq!(ids(&expanded(&matrix, &selection)), ["0.14.2", "1.10.0"]);
        let selection = Selection {
            select: Some(Select::All),
            ..Selection::default()
        };
        assert_eq!(ids(&expanded(&matrix, &selection)), ["0.14.1", "0.14.2"]);
    }

    #[test]
    fn last_and_limit_keep_the_last_and_skip_takes_out_before_them() {
        let selection = Selection {
            last: Some(3),
            limit: Some(2),
            skip: strings(&["1.10.0"]),
            ..Selection::default()
        };
        let expansion = expanded(&matrix("", ""), &selection);
        assert_eq!(ids(&expansion), ["1.9.0", "1.9.1"]);
        assert!(left_out(&expansion).contains(&("1.10.0", "skipped")));
        assert!(left_out(&expansion).contains(&("0.14.1", "not among the last 3 (`--last`)")));
        assert!(left_out(&expansion).contains(&("0.14.2", "not among the last 2 (`--limit`)")));
    }

    #[test]
    fn axes_make_chains_in_the_order_of_the_file() {
        let matrix = matrix(
            "versions = \"^0.14\"",
            "[axes]\nsize = { values = [1, 2] }\nbody = { values = [\"b\", \"a\"] }",
        );
        let expansion = expanded(&matrix, &asked(&["0.14.1"]));
        assert_eq!(
            ids(&expansion),
            [
                "0.14.1 size=1 body=b",
                "0.14.1 size=1 body=a",
                "0.14.1 size=2 body=b",
                "0.14.1 size=2 body=a"
            ]
        );
        let pair = |axis: &str, value: &str| (axis.to_owned(), value.to_owned());
        let selection = Selection {
            only: vec![pair("size", "1"), pair("size", "2"), pair("body", "a")],
            skip: strings(&["0.14.2 size=2 body=a"]),
            ..Selection::default()
        };
        let expansion = expanded(&matrix, &selection);
        assert_eq!(
            ids(&expansion),
            [
                "0.14.1 size=1 body=a",
                "0.14.2 size=1 body=a",
                "0.14.1 size=2 body=a"
            ]
        );
        assert!(left_out(&expansion).contains(&("0.14.2 size=2 body=a", "skipped")));
        let selection = Selection {
            skip: strings(&["body=a", "size=1"]),
            ..asked(&["0.14.1"])
        };
        assert_eq!(
            ids(&expanded(&matrix, &selection)),
            ["0.14.1 size=2 body=b"]
        );
    }

    #[test]
    fn a_listed_order_is_that_of_the_matrix_and_not_of_the_command_line() {
        let matrix = matrix(
            "order = \"listed\"\nversions = [\"1.10.0\", \"nightly\", \"gone\"]",
            "",
        );
        let expansion = expanded(&matrix, &Selection::default());
        assert_eq!(ids(&expansion), ["1.10.0", "nightly", "gone"]);
        assert_eq!(expansion.missing, [2]);
        assert_eq!(expansion.cells[0].version.semver, None);
        assert_eq!(
            ids(&expanded(&matrix, &asked(&["nightly", "1.10.0"]))),
            ["1.10.0", "nightly"]
        );
    }

    /// A matrix of Python packages.
    fn python(source: &str) -> Matrix {
        let text = format!(
            "schema = 2\n[source]\npypi.package = \"flask\"\n{source}\n[start]\ncmd = [\"{{binary}}\"]\n"
        );
        parse(&text, Path::new("/m/flask.toml"), None).unwrap()
    }

    fn asked_in(order: Order, words: &[&str]) -> Selection {
        Selection {
            wanted: Some(parse_selector(&strings(words), order).unwrap()),
            ..Selection::default()
        }
    }

    #[test]
    fn another_order_has_its_own_names_ranges_and_lines() {
        let matrix = python("versions = \">=2, <4\"\nselect = \"last-per-major\"");
        let available = ["3.1", "2.0", "3.0rc1", "2004d", "2.1.0", "3.2.dev1", "4.0"];
        let expansion = expand(&matrix, &listed(&available), &Selection::default()).unwrap();
        assert_eq!(ids(&expansion), ["2.1.0", "3.1"]);
        let expected = [
            ("2004d", "not a version of PEP 440"),
            ("3.0rc1", "pre-release"),
            ("3.2.dev1", "pre-release"),
            ("4.0", "outside the range"),
            ("2.0", "not the last of its line"),
        ];
        assert_eq!(left_out(&expansion), expected);
        let named = asked_in(Order::Pep440, &["2.1", "v3.0.0.RC1", "3.0.5"]);
        let expansion = expand(&matrix, &listed(&available), &named).unwrap();
        assert_eq!(ids(&expansion), ["2.1.0", "3.0rc1", "3.0.5"]);
        assert_eq!(expansion.missing, [2]);
        let ends = asked_in(Order::Pep440, &["2.0.5..3.0rc1"]);
        let expansion = expand(&matrix, &listed(&available), &ends).unwrap();
        assert_eq!(ids(&expansion), ["2.1.0", "3.0rc1"]);
    }

    #[test]
    fn a_withdrawn_version_is_measured_only_by_name_and_with_a_warning() {
        let mut available = listed(&["1.0.0", "1.1.0", "1.2.0"]);
        available[1].withdrawn = Some("yanked".to_owned());
        let matrix = matrix("", "");
        let expansion = expand(&matrix, &available, &Selection::default()).unwrap();
        assert_eq!(ids(&expansion), ["1.0.0", "1.2.0"]);
        assert_eq!(left_out(&expansion), [("1.1.0", "withdrawn: yanked")]);
        assert!(expansion.warnings.is_empty());
        let expansion = expand(&matrix, &available, &asked(&["1.0.0", "1.1.0"])).unwrap();
        assert_eq!(ids(&expansion), ["1.0.0", "1.1.0"]);
        assert_eq!(expansion.warnings, ["1.1.0 is withdrawn: yanked"]);
    }

    #[test]
    fn the_reference_is_measured_whatever_is_selected() {
        let matrix = matrix(
            "compare = \"reference\"\nreference = \"v0.14.1\"\nversions = \"^1\"",
            "",
        );
        let selection = Selection {
            limit: Some(2),
            ..Selection::default()
        };
        let expansion = expanded(&matrix, &selection);
        assert_eq!(ids(&expansion), ["0.14.1", "1.9.1", "1.10.0"]);
        assert_eq!(expansion.compare, Compare::Reference("0.14.1".to_owned()));
        assert!(
            !left_out(&expansion)
                .iter()
                .any(|(name, _)| *name == "0.14.1")
        );
        let expansion = expanded(&matrix, &asked(&["0.14.1", "2.0.0-rc.1"]));
        assert_eq!(ids(&expansion), ["0.14.1", "2.0.0-rc.1"]);

        let skipped = Selection {
            skip: strings(&["0.14.1"]),
            ..Selection::default()
        };
        let messages = [
            refused(&matrix, &AVAILABLE, &skipped),
            refused(&matrix, &AVAILABLE[2..], &Selection::default()),
        ];
        insta::assert_snapshot!(messages.join("\n\n"), @r"
        `--skip` leaves out the reference v0.14.1
          because: all others are compared with it
          try: leave out that `--skip`, or change `reference` in `[source]`

        the source does not have the reference v0.14.1
          because: all others are compared with it
          try: change `reference` in `[source]`, to one of the nearest: 0.14.2, 1.9.0
        ");
    }

    /// A matrix of commits, and these commits, each after the one before it.
    fn commits(source: &str, names: &[&str]) -> (Matrix, Vec<Version>) {
        let text = format!(
            "schema = 2\n[source]\n{source}\ngit.repository = \".\"\ngit.commits = \"a..b\"\n\
             [build]\nbinary = \"x\"\n[start]\ncmd = [\"{{binary}}\"]\n"
        );
        let mut versions = listed(names);
        for (place, name) in (1..).zip(&names[..names.len().saturating_sub(1)]) {
            versions[place].parent = Some((*name).to_owned());
        }
        let matrix = parse(&text, Path::new("/m/git.toml"), None).unwrap();
        (matrix, versions)
    }

    #[test]
    fn a_span_of_commits_goes_by_their_places_and_skipped_parents_are_passed_over() {
        let (matrix, versions) = commits("select = \"every:2\"", &["b0", "a1", "d2", "c3", "e4"]);
        let expansion = expand(&matrix, &versions, &Selection::default()).unwrap();
        assert_eq!(ids(&expansion), ["b0", "d2", "e4"]);
        let parents = expansion
            .cells
            .iter()
            .map(|cell| cell.version.parent.as_deref());
        assert_eq!(parents.collect::<Vec<_>>(), [None, Some("b0"), Some("d2")]);
        let expansion = expand(&matrix, &versions, &asked_in(Order::Topo, &["a1..c3"])).unwrap();
        assert_eq!(ids(&expansion), ["a1", "d2", "c3"]);
        assert_eq!(expansion.cells[0].version.parent, None);
        let refused = |words: &[&str]| {
            let selection = asked_in(Order::Topo, words);
            expand(&matrix, &versions, &selection)
                .unwrap_err()
                .to_string()
        };
        let messages = [
            refused(&["a1..c4"]),
            refused(&["a1..main"]),
            refused(&["c3..a1"]),
        ];
        insta::assert_snapshot!(messages.join("\n\n"), @r#"
        the source does not have `c4`, an end of the range
          because: in the order `topo` a range goes by places in the list
          because: the source's versions go from b0 to e4
          try: did you mean `c3`?

        the source does not have `main`, an end of the range
          because: in the order `topo` a range goes by places in the list
          because: the source's versions go from b0 to e4
          try: name two versions that the source has

        the range `c3..a1` is empty
          because: `c3` comes after `a1` in the list
          try: write "a1..c3"
        "#);
    }

    #[test]
    fn where_none_grew_out_of_another_it_is_said_that_nothing_will_be_compared() {
        let (matrix, mut versions) = commits("", &["one", "two"]);
        versions[1].parent = None;
        let warned = |matrix: &Matrix| {
            expand(matrix, &versions, &Selection::default())
                .unwrap()
                .warnings
        };
        assert_eq!(warned(&matrix).len(), 1);
        assert!(warned(&matrix)[0].contains("compare = \"previous\""));
        assert!(warned(&commits("compare = \"previous\"", &["one"]).0).is_empty());
    }

    #[test]
    fn twenty_thousand_commits_expand_in_well_under_a_second() {
        let names: Vec<String> = (0..20_000).map(|number| format!("{number:010x}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (matrix, versions) = commits("select = \"every:10\"", &names);
        let selection = Selection {
            skip: strings(&["0000000063", "000000006d"]),
            ..Selection::default()
        };
        assert_eq!(
            expand(&matrix, &versions, &selection).unwrap().cells.len(),
            2000
        );
        let all = asked_in(Order::Topo, &names);
        assert_eq!(
            expand(&matrix, &versions, &all).unwrap().cells.len(),
            20_000
        );
    }

    #[test]
    fn selectors_are_ranges_or_names() {
        let read = |words: &[&str]| parse_selector(&strings(words), Order::Semver);
        assert_eq!(read(&[]).unwrap(), Wanted::All);
        assert_eq!(
            read(&["20.11.0"]).unwrap(),
            Wanted::Names(strings(&["20.11.0"]))
        );
        assert_eq!(
            read(&["box", "22"]).unwrap(),
            Wanted::Names(strings(&["box", "22"]))
        );
        assert!(matches!(
            read(&["^18"]).unwrap(),
            Wanted::Range(Range::Requirement(_))
        ));
        assert!(matches!(
            read(&["18.x"]).unwrap(),
            Wanted::Range(Range::Requirement(_))
        ));
        assert!(matches!(
            read(&["20.0.0..22.0.0"]).unwrap(),
            Wanted::Range(Range::Between(..))
        ));
        assert_eq!(read(&["20..22"]).unwrap_err().kind, Kind::Usage);
        assert_eq!(read(&["^18", "20.11.0"]).unwrap_err().kind, Kind::Usage);
    }

    #[test]
    fn nothing_selected_says_what_there_is() {
        let named = matrix("versions = [\"1.9.7\"]", "");
        let all = matrix("", "");
        let none = Selection::default();
        let messages = [
            refused(&all, &AVAILABLE, &asked(&[">=1.9.5, <1.10"])),
            refused(&named, &AVAILABLE, &none),
            refused(&all, &["1.0.0-rc.1", "1.0.0-rc.2"], &none),
            refused(&all, &[], &none),
        ];
        insta::assert_snapshot!(messages.join("\n\n"), @r#"
        no version to measure in /m/node.toml
          because: of the source's 7 versions all are left out: 1 (not a semantic version), 6 (outside the range)
          because: the source's versions go from 0.14.1 to 2.0.0-rc.1
          try: ask for one of the nearest: 1.9.0, 1.9.1, 1.10.0

        no version to measure in /m/node.toml
          because: the source does not have 1.9.7
          because: the source's versions go from 0.14.1 to 2.0.0-rc.1
          try: change `versions` in `[source]`, to one of the nearest: 1.9.0, 1.9.1, 1.10.0

        no version to measure in /m/node.toml
          because: of the source's 2 versions all are left out: 2 (pre-release)
          because: the source's versions go from 1.0.0-rc.1 to 1.0.0-rc.2
          try: write `prerelease = true` in `[source]` if you want them

        no version to measure in /m/node.toml
          because: the source has no versions at all
          try: correct `[source]`: its name, its folder or its registry
        "#);
    }

    #[test]
    fn words_of_the_command_line_that_name_nothing_are_refused() {
        let matrix = matrix("", "[axes]\nbody.values = [\"string\", \"buffer\"]");
        let only = |axis: &str, value: &str| Selection {
            only: vec![(axis.to_owned(), value.to_owned())],
            ..Selection::default()
        };
        let skip = |words: &[&str]| Selection {
            skip: strings(words),
            ..Selection::default()
        };
        let messages = [
            refused(&matrix, &AVAILABLE, &only("body", "bufer")),
            refused(&matrix, &AVAILABLE, &skip(&["1.9.9"])),
            refused(&matrix, &AVAILABLE, &skip(&["body=string", "body=buffer"])),
            refused(&matrix, &AVAILABLE, &asked(&["1.9"])),
            expand(
                &python(""),
                &listed(&["1.0"]),
                &asked_in(Order::Pep440, &["1.x"]),
            )
            .unwrap_err()
            .to_string(),
        ];
        insta::assert_snapshot!(messages.join("\n\n"), @r#"
        `--only body=bufer` names no axis value
          try: did you mean `body=buffer`?

        `--skip 1.9.9` names no version, cell or axis value
          try: did you mean `1.9.0`?

        no value of the axis `body` is left
          try: keep one of body=string, body=buffer

        `1.9` is not a version, and has no place in the order `semver`
          try: give a whole version, or a range such as `^1.9`

        `1.x` is not a version, and has no place in the order `pep440`
          try: 1.0, or a range of the order `pep440` such as ">=2, <3", "~=2.1" or "2.0..3.0"
        "#);
    }

    const SPECIAL: &str = r#"[axes]
node.values = ["10", "12"]
[[override]]
versions = "<1"
build.env.OLD = "1"
[[override]]
versions = ["v0.14.2", "1.9.1"]
axes.node = "12"
build.env.ODD = "1"
[[include]]
version = "2.0.0-rc.1"
axes.node = "12"
build.env.RC = "1"
[[include]]
version = "1.9.0"
axes.node = "14"
[[include]]
version = "1.9.1"
axes.node = "10"
[[exclude]]
versions = ">=1.9.1"
axes = { node = ["10"] }
reason = "it needs 12"
"#;

    #[test]
    fn included_cells_have_their_place_in_the_order_and_chains_of_their_own() {
        let matrix = matrix("versions = \">=0.14.2, <2\"", SPECIAL);
        let expansion = expanded(&matrix, &Selection::default());
        assert_eq!(
            ids(&expansion),
            [
                "0.14.2 node=10",
                "1.9.0 node=10",
                "1.9.1 node=10",
                "1.10.0 node=10",
                "0.14.2 node=12",
                "1.9.0 node=12",
                "1.9.1 node=12",
                "1.10.0 node=12",
                "2.0.0-rc.1 node=12",
                "1.9.0 node=14"
            ]
        );
        let out: Vec<&str> = left_out(&expansion).iter().map(|(name, _)| *name).collect();
        assert_eq!(out, ["nightly", "0.14.1"]);
        assert!(expansion.warnings.is_empty(), "{:?}", expansion.warnings);
    }

    #[test]
    fn an_excluded_cell_keeps_its_place_unless_it_is_included_by_name() {
        let matrix = matrix("versions = \">=0.14.2, <2\"", SPECIAL);
        let expansion = expanded(&matrix, &Selection::default());
        let expected = BTreeMap::from([(3, "it needs 12".to_owned())]);
        assert_eq!(expansion.excluded, expected);
        let named = self::matrix(
            "versions = [\"1.9.5\"]",
            "[[exclude]]\nversions = [\"1.9.5\"]\n[[include]]\nversion = \"1.9.0\"",
        );
        let expansion = expanded(&named, &Selection::default());
        assert_eq!(expansion.excluded[&1], "excluded by the matrix");
        assert!(expansion.missing.is_empty(), "it is not looked for");
    }

    #[test]
    fn each_cell_has_its_own_layers_and_those_with_the_same_share_a_matrix() {
        let matrix = matrix("versions = \">=0.14.2, <2\"", SPECIAL);
        let expansion = expanded(&matrix, &Selection::default());
        let (one, other) = (Layer::Override(0), Layer::Override(1));
        let (first, last) = (Layer::Include(1), Layer::Include(2));
        let expected: [&[Layer]; 10] = [
            &[one],
            &[],
            &[last],
            &[],
            &[one, other],
            &[],
            &[other],
            &[],
            &[Layer::Include(0)],
            &[first],
        ];
        assert_eq!(expansion.layers, expected);
        let variants = expansion.variants(&matrix).unwrap();
        assert!(Arc::ptr_eq(&variants[1], &variants[5]));
        let env = |cell: usize| -> Vec<&String> { variants[cell].build.env.keys().collect() };
        assert_eq!(env(4), ["ODD", "OLD"]);
        assert_eq!(env(8), ["RC"]);
        assert_eq!(*variants[1], matrix);
    }

    #[test]
    fn the_command_line_selects_among_included_cells_as_well() {
        let matrix = matrix("versions = \">=0.14.2, <2\"", SPECIAL);
        let only = |value: &str| Selection {
            only: vec![("node".to_owned(), value.to_owned())],
            ..Selection::default()
        };
        assert_eq!(ids(&expanded(&matrix, &only("14"))), ["1.9.0 node=14"]);
        let selection = Selection {
            skip: strings(&["2.0.0-rc.1", "node=10", "1.9.0 node=14"]),
            last: Some(2),
            ..Selection::default()
        };
        let expansion = expanded(&matrix, &selection);
        assert_eq!(ids(&expansion), ["1.9.1 node=12", "1.10.0 node=12"]);
        assert_eq!(
            ids(&expanded(&matrix, &asked(&["^2"]))),
            ["2.0.0-rc.1 node=12"]
        );
        assert_eq!(
            ids(&expanded(&matrix, &asked(&["1.9.0"]))),
            ["1.9.0 node=10", "1.9.0 node=12", "1.9.0 node=14"]
        );
        let gone = refused(&matrix, &AVAILABLE, &only("16"));
        assert!(gone.contains("names no axis value"), "{gone}");
    }

    #[test]
    fn an_included_version_that_does_not_exist_is_a_gap_in_its_place_unless_names_are_listed() {
        let include = "[[include]]\nversion = \"1.9.5\"";
        let expansion = expanded(&matrix("versions = \"^1\"", include), &Selection::default());
        assert_eq!(ids(&expansion), ["1.9.0", "1.9.1", "1.9.5", "1.10.0"]);
        assert_eq!(expansion.missing, [2]);
        let text = format!(
            "schema = 2\n[source]\nlist = {{}}\nversions = [\"b\", \"a\"]\n[start]\ncmd = [\"x\"]\n{include}\n"
        );
        let listed_names = parse(&text, Path::new("/m/list.toml"), None).unwrap();
        let available = listed(&["b", "a"]);
        let expansion = expand(&listed_names, &available, &Selection::default()).unwrap();
        assert_eq!(ids(&expansion), ["b", "a", "1.9.5"]);
        assert!(expansion.missing.is_empty());
    }

    #[test]
    fn a_table_for_no_cell_is_warned_of_where_the_whole_matrix_is_meant() {
        let more = "[axes]\nn.values = [1, 2]\n\
                    [[override]]\nversions = [\"1.9.0\", \"1.9.2\"]\n\
                    [[override]]\nversions = [\"1.9.2\"]\n\
                    [[override]]\nversions = \">=3\"\n\
                    [[override]]\nversions = \"^0.14\"\naxes.n = [1, 3]\n\
                    [[exclude]]\nversions = \"^0.14\"\naxes.n = 3\n\
                    [[include]]\nversion = \"1.10.0\"\naxes.n = 3\n";
        let matrix = matrix("", more);
        let warnings = expanded(&matrix, &Selection::default()).warnings;
        insta::assert_snapshot!(warnings.join("\n"), @r"
        `[[override]]` of line 11 matches nothing: there is no version 1.9.2, did you mean `1.9.0`?
        `[[override]]` of line 13 matches nothing: none of these versions is measured
        `[[exclude]]` of line 18 matches nothing: none of these versions is measured with such axis values
        ");
        assert!(expanded(&matrix, &asked(&["^1"])).warnings.is_empty());
    }
}
