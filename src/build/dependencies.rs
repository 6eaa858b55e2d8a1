//! The packages that were built into an artifact, as build tools list them. Pure.

use std::collections::BTreeMap;

use crate::version::{Order, Version};

/// Gathers packages by name; of one that is there in several versions all are told, `2.6.9, 4.4.1`.
pub(super) fn gather(
    packages: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in packages {
        versions.entry(name).or_default().push(version);
    }
    let join = |mut versions: Vec<String>| {
        versions
            .sort_by_cached_key(|name| (Version::listed(name).parsed(Order::Semver), name.clone()));
        versions.dedup();
        versions.join(", ")
    };
    versions
        .into_iter()
        .map(|(name, versions)| (name, join(versions)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_in_several_versions_tells_each_once_in_order() {
        let packages = [
            ("b", "10.0.0"),
            ("a", "1.0"),
            ("b", "9.1.0"),
            ("b", "10.0.0"),
        ];
        let packages = packages.map(|(name, version)| (name.to_owned(), version.to_owned()));
        let gathered = gather(packages);
        assert_eq!(gathered["a"], "1.0");
        assert_eq!(gathered["b"], "9.1.0, 10.0.0");
    }
}
