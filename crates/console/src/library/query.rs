//! Looking for runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::index::Runs;
use super::{Run, is_id};
use crate::problem::Problem;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Query {
    /// Words that stand in the name, the notes, the tags, the target or the id, all of them.
    pub q: String,
    /// A tag.
    pub tag: Option<String>,
    /// Favourites alone.
    pub favourite: bool,
    /// What [`Page::next`] said of the page before.
    pub after: Option<String>,
    /// So many at most.
    pub limit: Option<u32>,
}

impl Query {
    /// The same, where it can be looked for.
    ///
    /// # Errors
    /// `after` is none that was told.
    pub fn checked(self) -> Result<Query, Problem> {
        match &self.after {
            Some(after) if place(after).is_none() => {
                let shown: String = after.chars().take(40).collect();
                Err(Problem::bad(format!("after: `{shown}` is not a position in the list; write the `next` of a page")))
            }
            _ => Ok(self),
        }
    }
}

/// Where a page begins: behind the run of this moment and this name.
fn place(after: &str) -> Option<(u64, &str)> {
    let (ms, id) = after.split_once('.')?;
    Some((ms.parse().ok()?, is_id(id).then_some(id)?))
}

/// A text without what is only capital or small in it, in every language.
fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// So many runs are on a page, and at most.
const LIMIT: u32 = 50;
const MOST: u32 = 200;
/// So many words are looked for.
const WORDS: usize = 8;

/// Some of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    pub runs: Vec<Run>,
    /// Where the next page begins; None: this was the last.
    pub next: Option<String>,
    /// How many fit in all.
    pub total: u64,
    /// Bytes of all records of the library.
    pub bytes: u64,
    /// Every tag there is, and how many runs have it.
    pub tags: BTreeMap<String, u64>,
}

/// Looks for runs.
pub(super) fn list(runs: &Runs, query: &Query) -> Page {
    let words: Vec<String> = query.q.split_whitespace().take(WORDS).map(folded).collect();
    let has_words = |run: &Run| {
        words.is_empty() || {
            let text = searched(run);
            words.iter().all(|word| text.contains(word))
        }
    };
    let tagged = |run: &Run| query.tag.as_ref().is_none_or(|tag| run.tags.contains(tag));
    let fits = |run: &&Run| (run.favourite || !query.favourite) && tagged(run) && has_words(run);
    let mut found: Vec<&Run> = runs.values().filter(fits).collect();
    let total = found.len() as u64;
    found.sort_unstable_by(|a, b| (b.started_ms, &b.id).cmp(&(a.started_ms, &a.id)));
    if let Some((ms, id)) = query.after.as_deref().and_then(place) {
        found.retain(|run| (run.started_ms, &*run.id) < (ms, id));
    }
    let limit = query.limit.unwrap_or(LIMIT).clamp(1, MOST) as usize;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| format!("{}.{}", last.started_ms, last.id));
    let mut tags = BTreeMap::new();
    runs.values().flat_map(|run| &run.tags).for_each(|tag| *tags.entry(tag.clone()).or_default() += 1);
    let bytes = runs.values().map(|run| run.bytes).sum();
    Page { runs: found.into_iter().cloned().collect(), next, total, bytes, tags }
}

/// What words are looked for in.
fn searched(run: &Run) -> String {
    let target = run.figures.as_ref().map_or("", |figures| &figures.target);
    folded(&[&run.name, &run.notes, &run.tags.join("\n"), target, &run.id].join("\n"))
}
