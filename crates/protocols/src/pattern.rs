//! Looking for something in bytes that come in pieces, with a state of a few bytes instead of the bytes seen so far.
//!
//! A regular expression becomes a table (a dense DFA, bounded in size), so that a server cannot make its answers dear by
//! cutting them small. It is about bytes: `.` is one byte, `\d` and `\w` are ASCII.

use memchr::memmem::Finder;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};

/// Largest table of a regular expression, in bytes.
const TABLE_BOUND: usize = 4 << 20;
/// Longest delimiter or expected text, in bytes.
pub const TEXT_BOUND: usize = 1024;

/// A compiled regular expression.
#[derive(Debug)]
pub struct Regex {
    table: dense::DFA<Vec<u32>>,
    start: StateID,
}

impl Regex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: &str) -> Result<Regex, String> {
        let table = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .start_kind(StartKind::Unanchored)
                    .dfa_size_limit(Some(TABLE_BOUND))
                    .determinize_size_limit(Some(4 * TABLE_BOUND)),
            )
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().utf8(false))
            .build(text);
        let wrong = |trouble: String| {
            let line = trouble.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
            format!(
                "\"{text}\" is no regular expression that can be used ({})",
                line.trim().trim_start_matches("error: ")
            )
        };
        let table = table.map_err(|error| {
            // The innermost cause is the one that says what is wrong.
            let mut cause: &dyn std::error::Error = &error;
            while let Some(inner) = cause.source() {
                cause = inner;
            }
            wrong(cause.to_string())
        })?;
        let start = table.start_state(&start::Config::new().anchored(Anchored::No));
        let start = start.map_err(|error| wrong(error.to_string()))?;
        Ok(Regex { table, start })
    }

    /// The state before the first byte.
    pub fn begin(&self) -> StateID {
        self.start
    }

    /// Goes on through `bytes`: how many of them there are up to the end of the first match, once there is one. A match
    /// that ends with the last of them is found too.
    pub fn find(&self, state: &mut StateID, bytes: &[u8]) -> Option<usize> {
        for (index, &byte) in bytes.iter().enumerate() {
            *state = self.table.next_state(*state, byte);
            // The table tells of a match one byte late.
            if self.table.is_special_state(*state) && self.table.is_match_state(*state) {
                return Some(index);
            }
        }
        self.ends(*state).then_some(bytes.len())
    }

    /// Whether there is a match where the bytes end here.
    pub fn ends(&self, state: StateID) -> bool {
        self.table.is_match_state(self.table.next_eoi_state(state))
    }

    /// Whether what follows a match is part of it (`$`, `\b`), so that bytes in pieces could match at the end of any.
    pub fn looks_ahead(text: &str) -> bool {
        use regex_syntax::hir::{Look, LookSet};
        let parsed = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(text);
        let harmless = LookSet::singleton(Look::Start).insert(Look::StartLF);
        parsed.is_ok_and(|hir| !hir.properties().look_set().subtract(harmless).is_empty())
    }

    /// Whether nothing at all matches.
    pub fn matches_nothing(&self) -> bool {
        self.ends(self.start)
    }
}

/// What was seen of a text that may lie across pieces: at most its length less one byte.
#[derive(Debug, Default)]
pub struct Overlap(Vec<u8>);

impl Overlap {
    /// How many of `bytes` there are up to the end of the first occurrence, once there is one.
    pub fn find(&mut self, text: &Finder<'_>, bytes: &[u8]) -> Option<usize> {
        let length = text.needle().len();
        let before = self.0.len();
        if before > 0 {
            self.0.extend_from_slice(&bytes[..bytes.len().min(length - 1)]);
            if let Some(at) = text.find(&self.0) {
                // Nothing before the piece was whole, so it ends within it.
                return Some((at + length).saturating_sub(before));
            }
            self.0.truncate(before);
        }
        if let Some(at) = text.find(bytes) {
            return Some(at + length);
        }
        self.0.extend_from_slice(&bytes[bytes.len().saturating_sub(length - 1)..]);
        let surplus = self.0.len().saturating_sub(length - 1);
        self.0.drain(..surplus);
        None
    }
}
