//! STAND-IN for `crate::matrix::template`, with the part of its interface that a build uses. Pure.
//!
//! When that module is there: delete this file and put `use crate::matrix::template;` in place of `mod template;` in
//! `build/mod.rs`. Nothing else changes.

use std::collections::BTreeMap;

/// The values of variables by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables(BTreeMap<String, String>);

impl Variables {
    pub(super) fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let own = self.0.iter().filter(|(name, _)| !name.starts_with("env:"));
        own.map(|(name, value)| {
            (
                format!("HARNESS_{}", name.replace('.', "_").to_uppercase()),
                value.clone(),
            )
        })
        .collect()
    }
}

/// Fills a template.
pub(super) fn render(template: &str, variables: &Variables) -> Result<String, String> {
    let mut text = template.to_owned();
    for (name, value) in &variables.0 {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    if text.contains("{env:") {
        return Err(format!("{text} names a variable that is not set"));
    }
    Ok(text)
}

/// Lists the environment variables that templates use.
pub(super) fn used_environment<'a>(templates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let names = templates
        .into_iter()
        .flat_map(|template| template.split("{env:").skip(1));
    names
        .filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()))
        .collect()
}
