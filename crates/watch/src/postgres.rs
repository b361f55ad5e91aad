//! `pg_stat_database`, `pg_stat_activity`, `pg_stat_user_tables` and a few settings of PostgreSQL, over one connection: four questions a
//! second, one after the other.

mod questions;

use std::io;

use probe::Sink;
use wire::Row;

use super::client::{Client, Tongue, invalid, responded, sql};
use super::place::Place;
use super::{asks_for_tls, escaped, unescaped};
use questions::{ALL, Answer};

const TONGUE: Tongue =
    Tongue { name: "PostgreSQL", refusal: |kept, _| protocols::postgres::refusal_shown(kept).map(responded) };

const RIGHT: &str = "write postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE, followed by ?sslmode=require for TLS";

/// What it told: an answer to each question.
pub type Told = Vec<Answer>;

/// Reads `postgres://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?sslmode=require]`, also with `postgresql://`; the scheme may be left out. The database is
/// called like the user where none is named.
///
/// # Errors
/// What is wrong with it.
pub fn client(text: &str) -> Result<Client, String> {
    let rest = ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    if rest.contains("://") {
        return Err(format!("its URL must start with postgres://; {RIGHT}"));
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let tls = asks_for_tls(query).map_err(|trouble| format!("{trouble}; {RIGHT}"))?;
    let (rest, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (who, place) = rest.rsplit_once('@').ok_or_else(|| format!("it has no user; {RIGHT}"))?;
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    let (user, password, database) = (unescaped(user), unescaped(password), unescaped(database));
    if user.is_empty() {
        return Err(format!("it has no user; {RIGHT}"));
    }
    // All of them end at a zero byte on the way.
    if [&user, &password, &database].iter().any(|text| text.contains(&0)) {
        return Err(format!("it has a zero byte (%00) in a name or the password; {RIGHT}"));
    }
    let database = if database.is_empty() { user.clone() } else { database };
    let place = Place::parse(place, 5432)?.over_tls(tls);
    let [who, password, path] = [&user, &password, &database].map(|text| escaped(text));
    let url = (&*format!("postgres://{who}:{password}@"), &*format!("/{path}"));
    let mut client = sql(TONGUE, &protocols::postgres::Postgres, place, url, &ALL.map(|question| question.sql))?;
    let database = String::from_utf8_lossy(&database);
    client.name = format!("{}/{}", client.name, measure::plain::line(&database));
    Ok(client)
}

/// All it counts now.
///
/// # Errors
/// It answered no question; why the first was not.
pub fn ask(client: &mut Client) -> io::Result<Told> {
    let told = (0..ALL.len()).map(|question| Ok(client.rows(question)?.and_then(only_row)));
    let told = told.collect::<io::Result<Told>>()?;
    match told.iter().find_map(|answer| answer.as_ref().err()) {
        Some(why) if told.iter().all(Result::is_err) => Err(invalid(why)),
        _ => Ok(told),
    }
}

/// The texts of the row that an answer is, or why it is none.
fn only_row(rows: Vec<Row>) -> Answer {
    let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
    match <[Row; 1]>::try_from(rows) {
        Ok([row]) => Ok(row.into_iter().map(|value| value.map(text)).collect()),
        Err(none) if none.is_empty() => Err("it returns no row".to_owned()),
        Err(_) => Err("it returns more than one row".to_owned()),
    }
}

/// Puts every number under `postgres.`, its view and its name as the server spells it. False where there is none.
pub fn put(told: &Told, sink: &mut Sink) -> bool {
    let before = sink.count();
    ALL.iter().zip(told).for_each(|(question, answer)| question.put(answer, sink));
    sink.count() > before
}

#[cfg(test)]
mod tests;
