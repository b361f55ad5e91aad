//! Looking for runs.

use std::collections::BTreeMap;

use rusqlite::{Connection, ToSql};
use serde::{Deserialize, Serialize};

use super::{Run, is_id, rows};
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
fn place(after: &str) -> Option<(i64, &str)> {
    let (ms, id) = after.split_once('.')?;
    Some((ms.parse().ok()?, is_id(id).then_some(id)?))
}

/// A text without what is only capital or small in it, in every language. SQLite's own `lower` knows ASCII.
pub(super) fn folded(text: &str) -> String {
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

/// Conditions and what they are filled with.
#[derive(Default)]
struct Where {
    texts: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Where {
    fn and(&mut self, text: &str, values: impl IntoIterator<Item = Box<dyn ToSql>>) {
        self.texts.push(format!("({text})"));
        self.values.extend(values);
    }

    fn sql(&self) -> String {
        if self.texts.is_empty() { "1".into() } else { self.texts.join(" AND ") }
    }

    fn values(&self) -> Vec<&dyn ToSql> {
        self.values.iter().map(|value| &**value).collect()
    }
}

/// Looks for runs.
pub(super) fn list(database: &Connection, query: &Query) -> rusqlite::Result<Page> {
    let mut fits = Where::default();
    for word in query.q.split_whitespace().take(WORDS) {
        let text = "instr(folded(name || char(10) || notes || tags || target || char(10) || id), ?)";
        fits.and(text, [Box::new(folded(word)) as Box<dyn ToSql>]);
    }
    if let Some(tag) = &query.tag {
        fits.and("instr(tags, char(10) || ? || char(10))", [Box::new(tag.clone()) as Box<dyn ToSql>]);
    }
    if query.favourite {
        fits.and("favourite", []);
    }
    let count = format!("SELECT count(*) FROM run WHERE {}", fits.sql());
    let total = database.prepare_cached(&count)?.query_row(&*fits.values(), |row| row.get(0))?;
    if let Some((ms, id)) = query.after.as_deref().and_then(place) {
        let values: [Box<dyn ToSql>; 2] = [Box::new(ms), Box::new(id.to_owned())];
        fits.and("(started_ms, id) < (?, ?)", values);
    }
    let limit = query.limit.unwrap_or(LIMIT).clamp(1, MOST) as usize;
    let sql = format!(
        "SELECT {} FROM run WHERE {} ORDER BY started_ms DESC, id DESC LIMIT {}",
        rows::COLUMNS,
        fits.sql(),
        limit + 1
    );
    let mut found = database.prepare_cached(&sql)?;
    let mut runs: Vec<Run> = found.query_map(&*fits.values(), rows::run)?.collect::<rusqlite::Result<_>>()?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    let next = runs.last().filter(|_| more).map(|last| format!("{}.{}", last.started_ms, last.id));
    let bytes = database.prepare_cached("SELECT coalesce(sum(bytes), 0) FROM run")?.query_row([], |row| row.get(0))?;
    Ok(Page { runs, next, total, bytes, tags: tags(database)? })
}

fn tags(database: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let mut found = database.prepare_cached("SELECT tags, count(*) FROM run WHERE tags <> '' GROUP BY tags")?;
    let rows = found.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?)))?;
    let mut all = BTreeMap::new();
    for row in rows {
        let (tags, runs) = row?;
        tags.split('\n').filter(|tag| !tag.is_empty()).for_each(|tag| *all.entry(tag.to_owned()).or_default() += runs);
    }
    Ok(all)
}
