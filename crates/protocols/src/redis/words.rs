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
    ("WRONGTYPE", "the key holds a value of another type than the command works on"),
    (
        "MOVED",
        "MOVED: this node of the cluster does not serve the key's slot, and never will; the address in the reply does. \
         Load that node, or use keys of one slot by a hash tag ({{tag}} in a command)",
    ),
    (
        "ASK",
        "ASK: the key's slot is being moved to the node in the reply, which must be asked for this key only this time",
    ),
    (
        "NOAUTH",
        "the server wants a password; write it into the URL: redis://:password@host, or redis://name:password@host",
    ),
    ("WRONGPASS", "the name or the password in the URL is wrong"),
    ("NOPERM", "the user's ACL does not permit the command, the key or the channel"),
    ("OOM", "the server is at its maxmemory and may evict nothing for this command"),
    ("BUSY", "a script runs on the server for longer than its limit"),
    ("LOADING", "the server still loads its data set from disk"),
    ("READONLY", "this server is a replica and takes no writes"),
    ("CLUSTERDOWN", "the cluster does not serve the slot: a part of it is down, or slots belong to nobody"),
    (
        "CROSSSLOT",
        "the command's keys are of several slots of the cluster; give them one hash tag ({{tag}} in a command)",
    ),
    ("TRYAGAIN", "the command's keys are being moved to another node of the cluster"),
    ("NOSCRIPT", "the server does not know the script; load it with --before 'SCRIPT LOAD …'"),
    ("EXECABORT", "the transaction was dropped because one of its commands was refused"),
    ("MISCONF", "the server takes no writes because it cannot save them to disk"),
    ("NOREPLICAS", "too few replicas are there for a write"),
    ("MASTERDOWN", "this replica has lost its master and may not answer with old data"),
    ("UNKILLABLE", ""),
    ("BUSYGROUP", ""),
    ("NOGROUP", ""),
    ("BUSYKEY", ""),
    ("NOPROTO", "the server does not speak this version of RESP"),
    ("DENIED", "the server is in protected mode and takes connections of its own machine only"),
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
