//! `pg_stat_database`, `pg_stat_activity`, `pg_stat_user_tables` and a few settings of PostgreSQL, over one connection: four questions a
//! second, asked and answered at once.

mod login;
mod messages;
mod questions;
mod scram;

use std::io;

use super::conversation::Place;
use super::{asks_for_tls, unescaped};
use login::Account;
use messages::{Talk, invalid, message, refusal, row, strange};
use probe::Sink;
use questions::{ALL, Answer};

const RIGHT: &str = "write postgres=postgres://USER:PASSWORD@HOST:PORT/DATABASE, followed by ?sslmode=require for TLS";

/// Where it is, who asks, and the connection to it.
#[derive(Debug)]
pub struct Postgres {
    pub(super) place: Place,
    account: Account,
    talk: Option<Talk>,
}

/// What it told: an answer to each question.
pub type Told = Vec<Answer>;

impl Postgres {
    /// Reads `postgres://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?sslmode=require]`, also with `postgresql://`; the scheme may be left out. The database is
    /// called like the user where none is named.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Postgres, String> {
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
        Ok(Postgres { place, account: Account { user, password, database }, talk: None })
    }

    /// `host:port/database`.
    pub fn authority(&self) -> String {
        let database = String::from_utf8_lossy(&self.account.database);
        format!("{}/{}", self.place.authority(), measure::plain::line(&database))
    }

    /// All it counts now. A connection that broke is made anew the next time.
    ///
    /// # Errors
    /// It answered no question; why the first was not.
    pub fn ask(&mut self) -> io::Result<Told> {
        let mut talk = match self.talk.take() {
            Some(talk) => talk,
            None => {
                let mut talk = Talk::new(login::opened(&mut self.place)?);
                login::enter(&mut talk, &self.account)?;
                talk
            }
        };
        let all = ALL.iter().flat_map(|question| message(b'Q', &[question.sql.as_bytes(), &[0]].concat()));
        talk.say(&all.collect::<Vec<u8>>())?;
        let told = ALL.iter().map(|_| answer(&mut talk)).collect::<io::Result<Told>>()?;
        self.talk = Some(talk);
        match told.iter().find_map(|answer| answer.as_ref().err()) {
            Some(why) if told.iter().all(Result::is_err) => Err(invalid(why)),
            _ => Ok(told),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(talk) = &mut self.talk {
            // "Terminate"; it may be gone already.
            let _ = talk.say(&message(b'X', &[]));
        }
    }
}

/// Reads the answer to a question ("Simple Query"): one row, or why there is none.
fn answer(talk: &mut Talk) -> io::Result<Answer> {
    let mut answer = Err("it returns no row".to_owned());
    let mut rows = 0;
    loop {
        let (kind, body) = talk.next()?;
        match kind {
            // The columns, which we chose; the end of the rows.
            b'T' | b'C' => {}
            b'D' if rows == 0 => (answer, rows) = (Ok(row(&body)?), 1),
            b'D' => answer = Err("it returns more than one row".to_owned()),
            b'E' => answer = Err(refusal(&body)),
            b'Z' => return Ok(answer),
            _ => return Err(strange()),
        }
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
