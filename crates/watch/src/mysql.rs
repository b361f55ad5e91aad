//! `SHOW GLOBAL STATUS` of MySQL and MariaDB, and the settings that bound it, over one connection: two questions a second.

mod login;
mod packets;

use std::io;

use super::conversation::{Conversation, Place};
use super::{asks_for_tls, is_name, number, unescaped};
use packets::{Packets, invalid};
use probe::Sink;

const STATUS: &str = "SHOW GLOBAL STATUS";
/// What counters are held against. All settings would be six hundred more, which nothing asks for.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_connections', 'max_user_connections', \
    'thread_cache_size', 'thread_pool_size', 'back_log', 'open_files_limit', 'table_open_cache', 'tmp_table_size', \
    'innodb_buffer_pool_size', 'innodb_flush_log_at_trx_commit', 'innodb_lock_wait_timeout', 'innodb_page_size', \
    'innodb_thread_concurrency', 'sync_binlog', 'long_query_time', 'version')";
/// `COM_QUERY`.
const QUERY: u8 = 0x03;
/// `COM_QUIT`: a connection that ends without it is counted among the aborted ones.
const QUIT: u8 = 0x01;
/// No server has more counters in earnest.
const MOST_ROWS: usize = 20_000;

const RIGHT: &str = "write mysql=mysql://USER:PASSWORD@HOST:PORT, followed by ?ssl for TLS";

/// Where it is, who asks, and the connection to it.
#[derive(Debug)]
pub struct Mysql {
    pub(super) place: Place,
    user: Vec<u8>,
    password: Vec<u8>,
    talk: Option<Conversation>,
}

/// What it told: names and values as it spells them.
#[derive(Debug, Default)]
pub struct Told {
    status: Vec<(String, String)>,
    settings: Vec<(String, String)>,
}

impl Mysql {
    /// Reads `mysql://USER[:PASSWORD]@HOST[:PORT][?ssl]`; the scheme may be left out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Mysql, String> {
        let rest = text.strip_prefix("mysql://").unwrap_or(text);
        if rest.contains("://") {
            return Err(format!("its URL must start with mysql://; {RIGHT}"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let tls = asks_for_tls(query).map_err(|trouble| format!("{trouble}; {RIGHT}"))?;
        let rest = rest.split('/').next().unwrap_or_default();
        let (who, place) = rest.rsplit_once('@').ok_or_else(|| format!("it has no user; {RIGHT}"))?;
        let (user, password) = who.split_once(':').unwrap_or((who, ""));
        let (user, password) = (unescaped(user), unescaped(password));
        // Both end at a zero byte on the way.
        if user.is_empty() || user.contains(&0) || password.contains(&0) {
            return Err(format!("it has no user; {RIGHT}"));
        }
        Ok(Mysql { place: Place::parse(place, 3306)?.over_tls(tls), user, password, talk: None })
    }

    /// `host:port`.
    pub fn authority(&self) -> String {
        self.place.authority()
    }

    /// All it counts now. A connection that broke is made anew the next time.
    pub fn ask(&mut self) -> io::Result<Told> {
        let mut talk = match self.talk.take() {
            Some(talk) => talk,
            None => {
                let talk = self.place.open()?;
                login::enter(&self.place, talk, &self.user, &self.password)?
            }
        };
        let told = Told { status: rows(&mut talk, STATUS)?, settings: rows(&mut talk, SETTINGS)? };
        self.talk = Some(talk);
        Ok(told)
    }
}

impl Drop for Mysql {
    fn drop(&mut self) {
        if let Some(talk) = &mut self.talk {
            // It may be gone already.
            let _ = talk.say(&packets::packet(0, &[QUIT]));
        }
    }
}

/// Asks, and reads the rows of two texts each ("COM_QUERY Response", with EOF packets).
fn rows(talk: &mut Conversation, question: &str) -> io::Result<Vec<(String, String)>> {
    let mut command = vec![QUERY];
    command.extend_from_slice(question.as_bytes());
    talk.say(&packets::packet(0, &command))?;
    let mut packets = Packets::default();
    let mut next = || packets.next(talk);
    if packets::columns(&next()?.1)? != 2 {
        return Err(invalid("it returns SHOW GLOBAL STATUS with columns other than a name and a value"));
    }
    while !packets::is_end(&next()?.1)? {}
    let mut rows = Vec::new();
    loop {
        let packet = next()?.1;
        if packets::is_end(&packet)? {
            return Ok(rows);
        }
        if rows.len() == MOST_ROWS {
            return Err(invalid("it reports more counters than any server has"));
        }
        rows.push(packets::pair(&packet)?);
    }
}

/// Puts every number under `mysql.` and its name as the server spells it, settings under `mysql.variable.`. False where there is none.
pub fn put(told: &Told, sink: &mut Sink) -> bool {
    let before = sink.count();
    for (name, value) in told.status.iter().filter(|(name, _)| is_name(name)) {
        if let Some(number) = number(value) {
            sink.put_number(&["mysql", name], number);
        }
    }
    let found = sink.count() > before;
    for (name, value) in told.settings.iter().filter(|(name, _)| is_name(name)) {
        if name == "version" {
            sink.label(&["mysql", "variable", name], &value.chars().take(100).collect::<String>());
        } else if let Some(number) = number(value) {
            sink.put_number(&["mysql", "variable", name], number);
        }
    }
    found
}

#[cfg(test)]
mod tests;
