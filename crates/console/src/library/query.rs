//! Search of runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::index::RunMap;
use super::{LibraryRun, is_id};
use crate::problem::Problem;

/// The query of a search.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunQuery {
    /// Words, each of which must occur in the name, the notes, the tags or the target, or be the id.
    pub q: String,
    /// Required tag.
    pub tag: Option<String>,
    /// Set to return only favourites.
    pub favourite: bool,
    /// Cursor: [`RunPage::next`] of the previous page.
    pub after: Option<String>,
    /// Maximum number of results.
    pub limit: Option<u32>,
}

impl RunQuery {
    /// Validates the query.
    ///
    /// # Errors
    /// Returns an error if `after` is not a valid cursor.
    pub fn validated(self) -> Result<RunQuery, Problem> {
        match &self.after {
            Some(after) if parse_cursor(after).is_none() => {
                let shown: String = after.chars().take(40).collect();
                Err(Problem::bad(format!(
                    "after: `{shown}` is not a position in the list; use the `next` value of a page"
                )))
            }
            _ => Ok(self),
        }
    }
}

/// Parses a cursor: the start time and id of the last run of the previous page.
fn parse_cursor(after: &str) -> Option<(u64, &str)> {
    let (ms, id) = after.split_once('.')?;
    Some((ms.parse().ok()?, is_id(id).then_some(id)?))
}

/// Folds the case of a text, for all languages.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Default and maximum number of runs on a page.
const LIMIT: u32 = 50;
const MOST: u32 = 200;
/// Maximum number of words in a search.
const WORDS: usize = 8;

/// A page of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPage {
    pub runs: Vec<LibraryRun>,
    /// Cursor of the next page; `None` on the last one.
    pub next: Option<String>,
    /// Total number of matching runs.
    pub total: u64,
    /// Total size of all records of the library in bytes.
    pub bytes: u64,
    /// All tags with the number of their runs.
    pub tags: BTreeMap<String, u64>,
}

/// Searches the runs.
pub(super) fn list(runs: &RunMap, query: &RunQuery) -> RunPage {
    let words: Vec<String> = query.q.split_whitespace().take(WORDS).map(folded).collect();
    let has_words = |run: &LibraryRun| {
        words.is_empty() || {
            let text = searchable_text(run);
            words.iter().all(|word| text.contains(word) || *word == run.id)
        }
    };
    let tagged = |run: &LibraryRun| query.tag.as_ref().is_none_or(|tag| run.tags.contains(tag));
    let fits = |run: &&LibraryRun| (run.favourite || !query.favourite) && tagged(run) && has_words(run);
    let mut found: Vec<&LibraryRun> = runs.values().filter(fits).collect();
    let total = found.len() as u64;
    found.sort_unstable_by(|a, b| (b.started_ms, &b.id).cmp(&(a.started_ms, &a.id)));
    if let Some((ms, id)) = query.after.as_deref().and_then(parse_cursor) {
        found.retain(|run| (run.started_ms, &*run.id) < (ms, id));
    }
    let limit = query.limit.unwrap_or(LIMIT).clamp(1, MOST) as usize;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| format!("{}.{}", last.started_ms, last.id));
    let mut tags = BTreeMap::new();
    runs.values().flat_map(|run| &run.tags).for_each(|tag| *tags.entry(tag.clone()).or_default() += 1);
    let bytes = runs.values().map(|run| run.bytes).sum();
    RunPage { runs: found.into_iter().cloned().collect(), next, total, bytes, tags }
}

/// Returns the text in which words are searched.
fn searchable_text(run: &LibraryRun) -> String {
    let target = run.figures.as_ref().map_or("", |figures| &figures.target);
    folded(&[&run.name, &run.notes, &run.tags.join("\n"), target].join("\n"))
}
