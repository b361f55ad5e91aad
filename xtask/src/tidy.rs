//! Rules of this repository that no compiler knows: words that may not be left behind, and the length of files.
//!
//! A plain search over the sources. Code after a file's `#[cfg(test)]`, and files that hold only tests, may `unwrap`.
//! Patterns are put together from halves so that this file does not find itself.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places;

/// A word that may not stand in a source file.
struct Ban {
    pattern: &'static str,
    instead: &'static str,
    /// Tests are held to it too.
    in_tests: bool,
}

const BANS: [Ban; 8] = [
    Ban { pattern: concat!("todo", "!("), instead: "finish it, or leave it out", in_tests: true },
    Ban { pattern: concat!("unimplemented", "!("), instead: "finish it, or leave it out", in_tests: true },
    Ban { pattern: concat!("dbg", "!("), instead: "remove it", in_tests: true },
    Ban { pattern: concat!("#[ig", "nore"), instead: "a test runs or is deleted", in_tests: true },
    Ban { pattern: concat!("allow(dead", "_code)"), instead: "delete what nobody calls", in_tests: true },
    Ban { pattern: concat!("println", "!(\"DEBUG"), instead: "remove it", in_tests: true },
    Ban {
        pattern: concat!(".unw", "rap()"),
        instead: "handle it, or `expect` with the reason it holds",
        in_tests: false,
    },
    Ban {
        pattern: concat!("thread::sl", "eep(Duration::from_secs("),
        instead: "wait for the event itself",
        in_tests: true,
    },
];

/// The longest a source file may be, in lines.
const LONGEST_FILE: usize = 500;

/// Checks every source file; all complaints come together.
pub fn check() -> Result<(), String> {
    let root = places::root();
    let mut files = Vec::new();
    for folder in ["crates", "tests", "xtask", "benches"] {
        collect(&root.join(folder), &mut files)?;
    }
    let mut wrong = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
        let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        wrong.extend(complaints(&name, &text));
    }
    if wrong.is_empty() {
        println!("{} files are tidy", files.len());
        return Ok(());
    }
    Err(format!("{} things to put right:\n  {}", wrong.len(), wrong.join("\n  ")))
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|e| format!("cannot list {}: {e}", folder.display()))?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target" && name != "node_modules") {
            collect(&path, into)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
    into.sort();
    Ok(())
}

/// What is wrong with one file.
fn complaints(name: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let lines = text.lines().count();
    if lines > LONGEST_FILE {
        wrong.push(format!("{name}: {lines} lines; a file holds one idea in at most {LONGEST_FILE}"));
    }
    if !text.starts_with("//!") && !text.starts_with("#!") {
        wrong.push(format!("{name}:1: begin with a `//!` header that says what the file is for"));
    }
    let mut in_tests = is_for_tests(name);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        in_tests |= line.starts_with("#[cfg(test)]");
        if line.starts_with("//") {
            continue;
        }
        for ban in BANS.iter().filter(|ban| ban.in_tests || !in_tests) {
            if line.contains(ban.pattern) {
                wrong.push(format!("{name}:{}: `{}`: {}", number + 1, ban.pattern, ban.instead));
            }
        }
    }
    wrong
}

/// Whether a file holds nothing but tests.
fn is_for_tests(name: &str) -> bool {
    name.starts_with("tests/") || name.contains("/tests/") || name.ends_with("tests.rs") || name.contains("/benches/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_left_behind() {
        let unwrap = concat!("//! A.\nfn a() { b().unw", "rap(); }\n");
        let ignored = concat!("//! A.\n#[ig", "nore]\nfn a() {}\n");
        let cases = [
            ("crates/a/src/lib.rs", unwrap.to_owned(), 1),
            ("crates/a/src/tests.rs", unwrap.to_owned(), 0),
            ("tests/tests/a.rs", unwrap.to_owned(), 0),
            ("crates/a/src/lib.rs", format!("//! A.\n#[cfg(test)]\nmod tests {{\n{unwrap}}}\n"), 0),
            ("crates/a/src/tests.rs", ignored.to_owned(), 1),
            ("crates/a/src/lib.rs", "fn a() {}\n".to_owned(), 1),
            ("crates/a/src/lib.rs", format!("//! A.\n{}", "\n".repeat(LONGEST_FILE)), 1),
            ("crates/a/src/lib.rs", "//! A.\nfn a() {}\n".to_owned(), 0),
        ];
        for (name, text, expected) in cases {
            let wrong = complaints(name, &text);
            assert_eq!(wrong.len(), expected, "{name}: {wrong:?}");
        }
    }
}
