//! Replies as outcomes: a code for each first word of an error, and what the words mean.
//!
//! Words that no list has (modules and scripts make their own) get codes as they are seen, up to a bound, without a lock.

use std::sync::OnceLock;

/// A reply that is no error.
pub const OK: u32 = 1;
/// A reply that says: there is nothing.
pub const NIL: u32 = 2;
/// An error whose word is none, or one too many.
const OTHER: u32 = 3;
const FIRST_KNOWN: u32 = 10;
const FIRST_NEW: u32 = 100;
/// Words that no list has, at most.
const MOST_NEW: usize = 32;
/// The longest word.
const LONGEST: usize = 24;

/// The words of Redis 7 and of its cluster and sentinel, with what they mean where the word does not say it.
const KNOWN: [(&str, &str); 27] = [
    ("ERR", ""),
    ("WRONGTYPE", "the key holds a value of the wrong type for the command"),
    (
        "MOVED",
        "MOVED: this cluster node does not serve the key's slot; the one named in the reply does. Target that node, \
            or put the keys in one slot with a hash tag ({{tag}} in a command)",
    ),
    ("ASK", "ASK: the key's slot is migrating to the node named in the reply, which has to serve this one command"),
    (
        "NOAUTH",
        "the server requires a password; put it in the URL: redis://:password@host, or redis://name:password@host",
    ),
    ("WRONGPASS", "the name or the password in the URL is wrong"),
    ("NOPERM", "the user's ACL does not permit the command, the key or the channel"),
    ("OOM", "the server is at maxmemory and cannot evict anything for this command"),
    ("BUSY", "a script on the server has exceeded its time limit"),
    ("LOADING", "the server is still loading its dataset from disk"),
    ("READONLY", "this server is a read-only replica"),
    ("CLUSTERDOWN", "the cluster does not serve the slot: part of it is down, or slots are unassigned"),
    (
        "CROSSSLOT",
        "the command's keys are in different cluster slots; give them the same hash tag ({{tag}} in a command)",
    ),
    ("TRYAGAIN", "the command's keys are migrating to another cluster node"),
    ("NOSCRIPT", "the server does not know the script; load it with --before 'SCRIPT LOAD …'"),
    ("EXECABORT", "the transaction was discarded because one of its commands was rejected"),
    ("MISCONF", "the server rejects writes because it cannot persist them to disk"),
    ("NOREPLICAS", "not enough replicas for a write"),
    ("MASTERDOWN", "this replica lost its master and must not serve stale data"),
    ("UNKILLABLE", ""),
    ("BUSYGROUP", ""),
    ("NOGROUP", ""),
    ("BUSYKEY", ""),
    ("NOPROTO", "the server does not support this RESP version"),
    ("DENIED", "the server is in protected mode and only accepts local connections"),
    ("INPROG", ""),
    ("NOTBUSY", ""),
];

/// Words seen that no list has.
#[derive(Debug, Default)]
pub struct Words([OnceLock<Box<str>>; MOST_NEW]);

impl Words {
    /// The code of an error, given without its type byte.
    pub fn code(&self, error: &[u8]) -> u32 {
        let end = error.iter().position(|b| *b == b' ').unwrap_or(error.len());
        let word = &error[..end];
        if let Some(known) = KNOWN.iter().position(|(known, _)| known.as_bytes() == word) {
            return FIRST_KNOWN + known as u32;
        }
        match std::str::from_utf8(word) {
            Ok(word) if (1..=LONGEST).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_graphic()) => {
                self.seen(word)
            }
            _ => OTHER,
        }
    }

    /// The place of a word among those seen; another thread may take the same place at the same moment.
    fn seen(&self, word: &str) -> u32 {
        let place = self.0.iter().position(|slot| &**slot.get_or_init(|| word.into()) == word);
        place.map_or(OTHER, |place| FIRST_NEW + place as u32)
    }

    /// The word of a code.
    pub fn name(&self, code: u32) -> String {
        match code {
            OK => "ok".to_owned(),
            NIL => "nil".to_owned(),
            FIRST_NEW.. => {
                let word = self.0.get((code - FIRST_NEW) as usize).and_then(OnceLock::get);
                word.map_or_else(|| "other error".to_owned(), |word| word.to_string())
            }
            _ => known(code).map_or("other error", |(word, _)| word).to_owned(),
        }
    }
}

/// What a code means; empty where its word says it.
pub fn meaning(code: u32) -> &'static str {
    known(code).map_or("", |(_, meaning)| meaning)
}

fn known(code: u32) -> Option<&'static (&'static str, &'static str)> {
    KNOWN.get(code.checked_sub(FIRST_KNOWN)? as usize)
}
