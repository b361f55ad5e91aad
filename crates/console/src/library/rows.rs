//! Runs as rows of the database.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Run;

/// The version of the database; a later one is not touched.
const VERSION: i64 = 1;

const SCHEMA: &str = "
CREATE TABLE run (
    id TEXT PRIMARY KEY,
    origin TEXT NOT NULL,
    state TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    notes TEXT NOT NULL DEFAULT '',
    favourite INTEGER NOT NULL DEFAULT 0,
    tags TEXT NOT NULL DEFAULT '',
    target TEXT NOT NULL DEFAULT '',
    bytes INTEGER NOT NULL DEFAULT 0,
    figures TEXT,
    fault TEXT
) STRICT;
CREATE INDEX run_started ON run (started_ms DESC, id DESC);
CREATE INDEX run_state ON run (state) WHERE state = 'running';
";

/// What [`run`] reads, in this order.
pub(super) const COLUMNS: &str = "id, origin, state, started_ms, name, notes, favourite, tags, bytes, figures, fault";

/// Makes a new database what it must be, and checks one that was there.
pub(super) fn prepare(database: &Connection) -> rusqlite::Result<()> {
    database.busy_timeout(std::time::Duration::from_secs(5))?;
    database.pragma_update(None, "journal_mode", "wal")?;
    database.pragma_update(None, "synchronous", "normal")?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    database.create_scalar_function("folded", 1, flags, |call| {
        call.get_raw(0).as_str().map(super::query::folded).map_err(rusqlite::Error::from)
    })?;
    let version: i64 = database.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match version {
        0 => database.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT")),
        VERSION => Ok(()),
        _ => Err(rusqlite::Error::InvalidParameterName(format!("it was written by a later brunt: version {version}"))),
    }
}

/// A run of a row.
pub(super) fn run(row: &Row<'_>) -> rusqlite::Result<Run> {
    let figures: Option<String> = row.get(9)?;
    let tags: String = row.get(7)?;
    Ok(Run {
        id: row.get(0)?,
        origin: of_word(&row.get::<_, String>(1)?)?,
        state: of_word(&row.get::<_, String>(2)?)?,
        started_ms: row.get(3)?,
        name: row.get(4)?,
        notes: row.get(5)?,
        favourite: row.get(6)?,
        tags: tags.split('\n').filter(|tag| !tag.is_empty()).map(String::from).collect(),
        bytes: row.get(8)?,
        figures: figures.and_then(|text| serde_json::from_str(&text).ok()),
        fault: row.get(10)?,
    })
}

/// Tags as a text in which each is between two line ends.
pub(super) fn tags_text(tags: &[String]) -> String {
    tags.iter().fold(String::from("\n"), |all, tag| all + tag + "\n")
}

/// The word of a plain variant.
pub(super) fn word(of: &impl Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|value| value.as_str().map(String::from)).unwrap_or_default()
}

fn of_word<T: DeserializeOwned>(word: &str) -> rusqlite::Result<T> {
    let unknown = || rusqlite::Error::InvalidParameterName(word.to_owned());
    serde_json::from_value(serde_json::Value::String(word.to_owned())).map_err(|_| unknown())
}
