//! Rules of this repository that no compiler checks: banned patterns, and the header of a file.
//!
//! They are checked by a plain text search. Code after a file's `#[cfg(test)]`, modules with this
//! attribute, tests and examples may `unwrap`. Patterns are concatenated from halves so that this
//! file does not match them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{names, places};

/// A pattern that source files must not contain.
struct BannedPattern {
    pattern: &'static str,
    instead: &'static str,
    /// Set if it applies to tests too.
    in_tests: bool,
}

const BANS: [BannedPattern; 8] = [
    BannedPattern { pattern: concat!("todo", "!("), instead: "finish it, or leave it out", in_tests: true },
    BannedPattern { pattern: concat!("unimplemented", "!("), instead: "finish it, or leave it out", in_tests: true },
    BannedPattern { pattern: concat!("dbg", "!("), instead: "remove it", in_tests: true },
    BannedPattern { pattern: concat!("#[ig", "nore"), instead: "a test runs or is deleted", in_tests: true },
    BannedPattern { pattern: concat!("allow(dead", "_code)"), instead: "delete unused code", in_tests: true },
    BannedPattern { pattern: concat!("println", "!(\"DEBUG"), instead: "remove it", in_tests: true },
    BannedPattern {
        pattern: concat!(".unw", "rap()"),
        instead: "handle it, or use `expect` with the reason",
        in_tests: false,
    },
    BannedPattern {
        pattern: concat!("thread::sl", "eep(Duration::from_secs("),
        instead: "wait for the event itself",
        in_tests: true,
    },
];

/// Checks every source file and reports all violations together.
pub fn check() -> Result<(), String> {
    let root = places::root();
    let mut files = Vec::new();
    for folder in ["crates", "tests", "xtask", "benches"] {
        collect(&root.join(folder), &mut files)?;
    }
    let mut texts = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).map_err(|e| format!("cannot read {}: {e}", file.display()))?;
        texts.push((file.strip_prefix(&root).unwrap_or(file).to_owned(), text));
    }
    let test_modules: Vec<PathBuf> = texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let (mut wrong, mut types) = (Vec::new(), Vec::new());
    for (path, text) in &texts {
        let for_tests = test_modules.iter().any(|module| path.with_extension("").starts_with(module));
        let name = path.display().to_string();
        wrong.extend(complaints(&name, text, for_tests));
        let own = code(&name, text, for_tests).filter(|line| !line.in_tests && name.starts_with("crates/"));
        types.extend(own.filter_map(|line| Some((path.as_path(), names::declared_type(line.text)?))));
    }
    wrong.extend(names::complaints(types.into_iter()));
    if wrong.is_empty() {
        println!("{} files are tidy", files.len());
        return Ok(());
    }
    Err(format!("{} violations:\n  {}", wrong.len(), wrong.join("\n  ")))
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

/// Returns the modules that a file declares for tests only, as paths without extension.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let plain = path.file_stem().is_some_and(|stem| stem != "mod" && stem != "lib" && stem != "main");
    let folder = if plain { path.with_extension("") } else { path.parent().unwrap_or(path).to_owned() };
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let after_attribute = lines.windows(2).filter(|two| two[0] == "#[cfg(test)]").map(|two| two[1]);
    after_attribute.filter_map(declared).map(|name| folder.join(name)).collect()
}

/// Returns the name in `mod name;` of any visibility.
fn declared(line: &str) -> Option<&str> {
    let (_, name) = line.strip_suffix(';')?.split_once("mod ")?;
    Some(name)
}

/// Returns the violations in one file.
fn complaints(name: &str, text: &str, for_tests: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    if !text.starts_with("//!") && !text.starts_with("#!") && !name.ends_with("/tests.rs") {
        wrong.push(format!("{name}:1: begin with a `//!` header that says what the file is for"));
    }
    for line in code(name, text, for_tests) {
        for ban in BANS.iter().filter(|ban| ban.in_tests || !line.in_tests) {
            if line.text.contains(ban.pattern) {
                wrong.push(format!("{name}:{}: `{}`: {}", line.number, ban.pattern, ban.instead));
            }
        }
        if !line.in_tests && has_foreign_mark(line.text) {
            wrong.push(format!(
                "{name}:{}: Chinese sentences have marks of their own: `，` `、` `；` `：`",
                line.number
            ));
        }
    }
    wrong
}

/// Returns `true` for a mark of ASCII and a space between Chinese words, or before a placeholder.
fn has_foreign_mark(line: &str) -> bool {
    let is_chinese = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}' | '（' | '）' | '“' | '”');
    let all: Vec<char> = line.chars().collect();
    all.windows(4).any(|four| {
        let is_mark = matches!(four[1], ',' | ';' | ':') && four[2] == ' ';
        is_mark && is_chinese(four[0]) && (is_chinese(four[3]) || four[3] == '{')
    })
}

/// A line of a file that is not a comment.
struct CodeLine<'a> {
    number: usize,
    text: &'a str,
    in_tests: bool,
}

/// Returns the lines of a file that are not comments, without their indentation.
fn code<'a>(name: &str, text: &'a str, for_tests: bool) -> impl Iterator<Item = CodeLine<'a>> {
    let mut in_tests = for_tests || is_for_tests(name);
    let mut lines = text.lines().map(str::trim_start).enumerate().peekable();
    std::iter::from_fn(move || {
        let (number, text) = lines.next()?;
        // The rest of the file is for tests, unless the attribute is that of a module declaration.
        in_tests |= text.starts_with("#[cfg(test)]") && lines.peek().is_some_and(|(_, next)| declared(next).is_none());
        Some(CodeLine { number: number + 1, text, in_tests })
    })
    .filter(|line| !line.text.starts_with("//"))
}

/// Returns `true` if a file contains only tests.
fn is_for_tests(name: &str) -> bool {
    name.starts_with("tests/")
        || name.contains("/tests/")
        || name.ends_with("tests.rs")
        || ["/benches/", "/examples/"].iter().any(|folder| name.contains(folder))
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
            ("crates/a/src/lib.rs", format!("//! A.\n#[cfg(test)]\nmod tests;\n{unwrap}"), 1),
            ("crates/a/src/lib.rs", "fn a() {}\n".to_owned(), 1),
            ("crates/a/src/lib.rs", "//! A.\nfn a() {}\n".to_owned(), 0),
        ];
        for (name, text, expected) in cases {
            let wrong = complaints(name, &text, false);
            assert_eq!(wrong.len(), expected, "{name}: {wrong:?}");
        }
    }

    #[test]
    fn finds_marks_that_are_not_those_of_chinese_sentences() {
        let found = ["(\"a, b\", \"甲, 乙\")", "\"无法连接: {why}\"", "(\"a, {b}\", \"甲，{b}\")", "[\"甲\", \"乙\"]"];
        assert_eq!(found.map(has_foreign_mark), [true, true, false, false]);
    }

    #[test]
    fn finds_modules_for_tests() {
        let text =
            "#[cfg(test)]\npub(crate) mod server;\n#[cfg(test)]\nmod tests {\n#[cfg(test)]\nuse x;\nmod other;\n";
        let cases = [
            ("crates/net/src/tls/mod.rs", "crates/net/src/tls/server"),
            ("crates/net/src/lib.rs", "crates/net/src/server"),
            ("crates/net/src/tls.rs", "crates/net/src/tls/server"),
        ];
        for (path, expected) in cases {
            assert_eq!(test_modules(Path::new(path), text), [Path::new(expected)]);
        }
    }
}
