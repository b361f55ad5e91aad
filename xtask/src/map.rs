//! The map of the code, ARCHITECTURE.md: each file and each type it names exists.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places;

/// Checks that every file and type named by the map exists.
pub fn check() -> Result<(), String> {
    let root = places::root();
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()));
    let map = read(&root.join("ARCHITECTURE.md"))?;
    let mut files = Vec::new();
    for folder in ["crates", "examples", "tests", "xtask", "web/src", "fuzz", "docs"] {
        collect(&root.join(folder), &mut files);
    }
    let mut sources = String::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "rs")) {
        sources.push_str(&read(file)?);
    }
    let wrong = missing(&map, &files, &sources);
    if wrong.is_empty() {
        println!("every file and type named by the map exists");
        return Ok(());
    }
    Err(wrong.join("\n  "))
}

/// Collects all files and folders below a folder, without build output.
fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("target") {
            collect(&path, into);
        }
        into.push(path);
    }
}

/// Finds names in backticks that do not exist: paths are compared by suffix, types by their last segment.
fn missing(map: &str, files: &[PathBuf], sources: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, line) in map.lines().enumerate() {
        for word in line.split('`').skip(1).step_by(2) {
            let there = match kind(word) {
                MapName::Path => files.iter().any(|file| file.ends_with(word)),
                MapName::Type(name) => contains_word(sources, name),
                MapName::Other => true,
            };
            if !there {
                wrong.push(format!("ARCHITECTURE.md:{}: `{word}` does not exist", number + 1));
            }
        }
    }
    wrong
}

/// The kind of name in backticks.
enum MapName<'a> {
    Path,
    Type(&'a str),
    Other,
}

fn kind(word: &str) -> MapName<'_> {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | ':'));
    let name = word.rsplit("::").next().unwrap_or(word);
    if !plain || word.starts_with(['/', '-']) {
        MapName::Other
    } else if word.ends_with(".rs") || word.trim_end_matches('/').contains('/') {
        MapName::Path
    } else if name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase()) {
        MapName::Type(name)
    } else {
        MapName::Other
    }
}

fn contains_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_not_there() {
        let files = [PathBuf::from("/r/crates/engine/src/users.rs"), PathBuf::from("/r/crates/report/src/rules")];
        let map = "`engine/src/users.rs` `users.rs` `src/rules/` `sers.rs`\n`Users` `contract::Sess` `/proc` `--hold` `p99<50ms`\n";
        assert_eq!(
            missing(map, &files, "struct Users; trait Session;"),
            ["ARCHITECTURE.md:1: `sers.rs` does not exist", "ARCHITECTURE.md:2: `contract::Sess` does not exist"]
        );
    }
}
