//! Unique type names: each is declared only once in the workspace.
//!
//! Test code is exempt, because its helpers are local to a file.

use std::collections::BTreeMap;
use std::path::Path;

/// Names that several types share, each with the reason.
const SHARED: [(&str, &str); 0] = [];

/// Reports type names declared in several places. `declared` yields pairs of a file and a name.
pub fn complaints<'a>(declared: impl Iterator<Item = (&'a Path, &'a str)>) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (file, name) in declared {
        places.entry(name).or_default().push(file.display().to_string());
    }
    let unused = SHARED.iter().filter(|(name, _)| places.get(name).is_none_or(|files| files.len() < 2));
    let unused = unused.map(|(name, _)| format!("xtask/src/names.rs: `{name}` is no longer shared: remove it"));
    let shared =
        places.iter().filter(|(name, files)| files.len() > 1 && SHARED.iter().all(|(known, _)| known != *name));
    let shared = shared
        .map(|(name, files)| format!("{}: the type name `{name}` is taken by {}: qualify one", files[1], files[0]));
    unused.chain(shared).collect()
}

/// Returns the name of the type that a line declares.
pub fn declared_type(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.strip_prefix('(').map_or(rest, |scope| scope.split_once(')').map_or(rest, |(_, rest)| rest)),
        None => line,
    };
    let (word, rest) = line.trim_start().split_once(' ')?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let name = &rest[..end];
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase());
    (matches!(word, "struct" | "enum" | "trait" | "union") && is_name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_declarations() {
        let cases = [
            ("pub struct Plan {", Some("Plan")),
            ("pub(crate) enum Mode<T> {", Some("Mode")),
            ("pub(in crate::users) trait Source: Send {", Some("Source")),
            ("struct Unit;", Some("Unit")),
            ("struct Tuple(u32);", Some("Tuple")),
            ("let struct_name = 1;", None),
            ("impl Plan {", None),
            ("type Item = u32;", None),
        ];
        for (line, expected) in cases {
            assert_eq!(declared_type(line), expected, "{line}");
        }
    }

    #[test]
    fn a_name_in_two_places_is_reported() {
        let (a, b) = (Path::new("a.rs"), Path::new("b.rs"));
        assert_eq!(complaints([(a, "Plan"), (b, "Mode")].into_iter()), Vec::<String>::new());
        assert_eq!(
            complaints([(a, "Plan"), (b, "Plan")].into_iter()),
            ["b.rs: the type name `Plan` is taken by a.rs: qualify one"]
        );
    }
}
