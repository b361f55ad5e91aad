//! Error words: a code for the first word of each error, and the meaning of known words.
//!
//! Unknown words (modules and scripts define their own) get codes in order of appearance, up to a bound, without a
//! lock.

use std::sync::OnceLock;

use brunt_cause::StaticCause;

/// The code of a reply that is not an error.
pub const OK: u32 = 1;
/// The code of a nil reply.
pub const NIL: u32 = 2;
/// The code of an error without a valid word, or with an unknown word beyond the first [`MOST_NEW`].
const OTHER: u32 = 3;
const FIRST_KNOWN: u32 = 10;
const FIRST_NEW: u32 = 100;
/// Maximum number of unknown words.
const MOST_NEW: usize = 32;
/// Maximum length of a word, in bytes.
const LONGEST: usize = 24;

/// The words of Redis 7 and of its cluster and sentinel, with their meanings unless the word is self-explanatory.
const KNOWN: [(&str, Option<StaticCause>); 27] = [
    ("ERR", None),
    ("WRONGTYPE", Some(brunt_cause::redis::wrong_type())),
    ("MOVED", Some(brunt_cause::redis::moved())),
    ("ASK", Some(brunt_cause::redis::ask())),
    ("NOAUTH", Some(brunt_cause::redis::auth_required())),
    ("WRONGPASS", Some(brunt_cause::redis::wrong_account())),
    ("NOPERM", Some(brunt_cause::redis::no_permission())),
    ("OOM", Some(brunt_cause::redis::out_of_memory())),
    ("BUSY", Some(brunt_cause::redis::busy())),
    ("LOADING", Some(brunt_cause::redis::loading())),
    ("READONLY", Some(brunt_cause::redis::read_only())),
    ("CLUSTERDOWN", Some(brunt_cause::redis::cluster_down())),
    ("CROSSSLOT", Some(brunt_cause::redis::cross_slot())),
    ("TRYAGAIN", Some(brunt_cause::redis::try_again())),
    ("NOSCRIPT", Some(brunt_cause::redis::no_script())),
    ("EXECABORT", Some(brunt_cause::redis::exec_aborted())),
    ("MISCONF", Some(brunt_cause::redis::misconfigured())),
    ("NOREPLICAS", Some(brunt_cause::redis::no_replicas())),
    ("MASTERDOWN", Some(brunt_cause::redis::master_down())),
    ("UNKILLABLE", None),
    ("BUSYGROUP", None),
    ("NOGROUP", None),
    ("BUSYKEY", None),
    ("NOPROTO", Some(brunt_cause::redis::no_protocol())),
    ("DENIED", Some(brunt_cause::redis::denied())),
    ("INPROG", None),
    ("NOTBUSY", None),
];

/// The unknown words seen so far.
#[derive(Debug, Default)]
pub struct ErrorWords([OnceLock<Box<str>>; MOST_NEW]);

impl ErrorWords {
    /// Returns the code of an error, given without its type byte.
    pub fn code(&self, error: &[u8]) -> u32 {
        let end = error.iter().position(|b| *b == b' ').unwrap_or(error.len());
        let word = &error[..end];
        if let Some(known) = KNOWN.iter().position(|(known, _)| known.as_bytes() == word) {
            return FIRST_KNOWN + known as u32;
        }
        match std::str::from_utf8(word) {
            Ok(word) if (1..=LONGEST).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_graphic()) => {
                self.code_of_unknown(word)
            }
            _ => OTHER,
        }
    }

    /// Returns the code of an unknown word; several threads may claim the same slot at the same time.
    fn code_of_unknown(&self, word: &str) -> u32 {
        let place = self.0.iter().position(|slot| &**slot.get_or_init(|| word.into()) == word);
        place.map_or(OTHER, |place| FIRST_NEW + place as u32)
    }

    /// Returns the word of a code.
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

/// Returns the meaning of a code; `None` if its word is self-explanatory.
pub fn meaning(code: u32) -> Option<StaticCause> {
    known(code).and_then(|(_, meaning)| *meaning)
}

fn known(code: u32) -> Option<&'static (&'static str, Option<StaticCause>)> {
    KNOWN.get(code.checked_sub(FIRST_KNOWN)? as usize)
}
