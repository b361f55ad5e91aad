//! `pg_stat_database`, `pg_stat_activity`, `pg_stat_user_tables` and a few settings of PostgreSQL, over one
//! connection: four queries a second, one after the other.

mod queries;

use brunt_cause::Complaint;
use std::io;

use brunt_contract::DatabaseRow;
use brunt_counters::CounterSink;

use super::client::{ServerProtocol, WatchClient, invalid, server_error};
use super::database::DatabaseKind;
use queries::{ALL, RowAnswer};

/// Accepted form: `postgres://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?sslmode=require]`.
const POSTGRES: DatabaseKind = DatabaseKind {
    server_protocol: ServerProtocol {
        name: "PostgreSQL",
        refusal: |kept, _| brunt_protocols::postgres::parse_excerpt(kept).map(server_error),
    },
    protocol: &brunt_protocols::postgres::PostgresProtocol,
    schemes: &["postgres", "postgresql"],
    port: 5432,
    needs_database: true,
    example: [
        "write postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE, followed by ?sslmode=require for TLS",
        "请写 postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE，用 TLS 时在后面加 ?sslmode=require",
    ],
};

/// The server's answers, one to each query.
pub type PostgresAnswers = Vec<RowAnswer>;

/// Parses a URL of the form shown at [`POSTGRES`].
///
/// # Errors
///
/// Returns a message that says what is wrong with the text.
pub fn client(text: &str) -> Result<WatchClient, Complaint> {
    POSTGRES.client(text, &ALL.map(|question| question.sql))
}

/// Queries all current counters.
///
/// # Errors
///
/// Returns the reason for the first failure if every query failed.
pub fn ask(client: &mut WatchClient) -> io::Result<PostgresAnswers> {
    let told = (0..ALL.len()).map(|question| Ok(client.rows(question)?.and_then(only_row)));
    let told = told.collect::<io::Result<PostgresAnswers>>()?;
    match told.iter().find_map(|answer| answer.as_ref().err()) {
        Some(why) if told.iter().all(Result::is_err) => Err(invalid(why)),
        _ => Ok(told),
    }
}

/// Returns the values of an answer's only row, or an error if it does not have exactly one.
fn only_row(rows: Vec<DatabaseRow>) -> RowAnswer {
    let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
    match <[DatabaseRow; 1]>::try_from(rows) {
        Ok([row]) => Ok(row.into_iter().map(|value| value.map(text)).collect()),
        Err(none) if none.is_empty() => Err("it returns no row".to_owned()),
        Err(_) => Err("it returns more than one row".to_owned()),
    }
}

/// Adds every number under `postgres.`, its view and its name as the server spells it. Returns `false` if there
/// are none.
pub fn put(told: &PostgresAnswers, sink: &mut CounterSink) -> bool {
    let before = sink.count();
    ALL.iter().zip(told).for_each(|(question, answer)| question.put(answer, sink));
    sink.count() > before
}

#[cfg(test)]
mod tests;
