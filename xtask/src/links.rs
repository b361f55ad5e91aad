//! Links between the documents: each leads to a file that exists, and each anchor to a heading.
//!
//! Documents below `docs/` are also an mdBook (`docs/book.toml`), whose table of contents is `docs/SUMMARY.md`: it
//! lists every page of the guide, and every page that another page of the book links to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::places;

/// The table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";
/// The directory whose pages must all be in the table of contents.
const GUIDE: &str = "docs/guide";

/// The text of each document, by its path from the root.
type Documents = BTreeMap<PathBuf, String>;

/// Checks all documents and reports all errors together.
pub fn check() -> Result<(), String> {
    let root = places::root();
    let mut documents = Documents::new();
    for path in documents_of(&root) {
        let text = fs::read_to_string(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        documents.insert(path.strip_prefix(&root).unwrap_or(&path).to_owned(), text);
    }
    let mut wrong = dead(&documents, &|path| root.join(path).exists());
    wrong.extend(outside_the_book(&documents));
    if wrong.is_empty() {
        println!("the links of {} documents resolve", documents.len());
        return Ok(());
    }
    Err(wrong.join("\n  "))
}

/// Returns the documents for readers: those at the root and all below `docs/`.
pub fn documents_of(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.extend(entries(root));
    found.retain(|path| path.is_file() && path.extension().is_some_and(|e| e == "md"));
    found.sort();
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|found| found.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// Finds dead links.
fn dead(documents: &Documents, exists: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let anchors: BTreeMap<&PathBuf, BTreeSet<String>> =
        documents.iter().map(|(path, text)| (path, anchors_in(text))).collect();
    let mut wrong = Vec::new();
    for (path, text) in documents {
        for (line, link) in links_in(text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let file = if file.is_empty() { path.clone() } else { beside(path, file) };
            let place = format!("{}:{line}: {link}", path.display());
            if !exists(&file) {
                wrong.push(format!("{place} is not a file"));
            } else if !anchor.is_empty() && !anchors.get(&file).is_some_and(|known| known.contains(anchor)) {
                wrong.push(format!("{place} is not a heading of {}", file.display()));
            }
        }
    }
    wrong
}

/// Finds pages missing from the table of contents, and links to pages outside the book.
fn outside_the_book(documents: &Documents) -> Vec<String> {
    let links_of = |path: &Path, text: &str| -> Vec<(usize, PathBuf)> {
        let links = links_in(text).into_iter();
        links.map(|(line, link)| (line, beside(path, link.split('#').next().unwrap_or_default()))).collect()
    };
    let summary = Path::new(SUMMARY);
    let contents: BTreeSet<PathBuf> = documents
        .get(summary)
        .map(|text| links_of(summary, text).into_iter().map(|(_, page)| page).collect())
        .unwrap_or_default();
    let guide = documents.keys().filter(|path| path.starts_with(GUIDE) && !contents.contains(*path));
    let mut wrong: Vec<String> = guide.map(|path| format!("{SUMMARY} lacks {}", path.display())).collect();
    for page in &contents {
        let Some(text) = documents.get(page) else { continue };
        for (line, link) in links_of(page, text) {
            let place = format!("{}:{line}: {}", page.display(), link.display());
            if !link.starts_with("docs") {
                wrong.push(format!("{place} is outside docs/, which the book cannot link to"));
            } else if link.extension().is_some_and(|e| e == "md") && !contents.contains(&link) {
                wrong.push(format!("{place} is not in {SUMMARY}"));
            }
        }
    }
    wrong
}

/// Resolves a link of a document to a path from the root.
fn beside(document: &Path, link: &str) -> PathBuf {
    let mut path = if link.is_empty() { document.to_owned() } else { document.parent().unwrap_or(document).to_owned() };
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}

/// Returns the targets of links to files and headings, with their line numbers; links in code and
/// to the web are ignored.
fn links_in(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, prose) in prose_of(text) {
        let prose = without_code(prose);
        for rest in prose.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") && !target.is_empty() {
                found.push((line, target.to_owned()));
            }
        }
    }
    found
}

/// Returns the anchors of the headings, as GitHub and mdBook generate them.
fn anchors_in(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose_of(text) {
        let Some(heading) = line.strip_prefix('#') else { continue };
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let name: String = heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect();
        let anchor = name.replace(' ', "-");
        let again = (1..).map(|n| format!("{anchor}-{n}"));
        let free = std::iter::once(anchor.clone()).chain(again).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// Returns the lines outside fenced blocks, with their numbers.
fn prose_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((number + 1, line))
    })
}

/// Returns a line without the text between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(of: &[(&str, &str)]) -> Documents {
        of.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
    }

    #[test]
    fn every_link_of_the_documents_resolves() {
        if let Err(wrong) = check() {
            panic!("{wrong}");
        }
    }

    #[test]
    fn finds_dead_links() {
        let documents = documents(&[
            (
                "a.md",
                "# A `b`: c\n## A\n[x](b/c.md#a) [y](#a-b-c) `[z](no.md)` [w](https://h/no.md)\n```\n[v](no.md)\n```\n",
            ),
            ("b/c.md", "# A\n# A\n[x](../a.md#a) [y](../a.md#b)\n[z](d.md) [w](c.md#a-1)\n"),
        ]);
        let known: BTreeSet<PathBuf> = documents.keys().cloned().collect();
        assert_eq!(
            dead(&documents, &|path| known.contains(path)),
            ["b/c.md:3: ../a.md#b is not a heading of a.md", "b/c.md:4: d.md is not a file"]
        );
    }

    #[test]
    fn finds_pages_that_the_book_lacks() {
        let documents = documents(&[
            (SUMMARY, "[a](guide/a.md)\n"),
            ("docs/guide/a.md", "[b](../b.md) [r](../../README.md) [s](../schema/plan.json)\n"),
            ("docs/guide/c.md", ""),
        ]);
        assert_eq!(
            outside_the_book(&documents),
            [
                "docs/SUMMARY.md lacks docs/guide/c.md",
                "docs/guide/a.md:1: docs/b.md is not in docs/SUMMARY.md",
                "docs/guide/a.md:1: README.md is outside docs/, which the book cannot link to",
            ]
        );
    }
}
