//! Incremental searches in bytes that arrive in pieces; the state is a few bytes instead of all bytes seen so far.
//!
//! A regular expression is compiled to a dense DFA of bounded size, so that a server cannot make the search expensive
//! by sending small pieces. Patterns match bytes: `.` is one byte, `\d` and `\w` are ASCII.

use brunt_cause::{Complaint, complaint};
use memchr::memmem::Finder;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};

/// Maximum size of the DFA of a regular expression, in bytes.
const TABLE_BOUND: usize = 4 << 20;
/// Maximum size of the intermediate NFA, in bytes: `((a{1000}){1000}){1000}` is short, but has a billion states.
const STATES_BOUND: usize = 4 << 20;
/// Maximum length of a delimiter or expected text, in bytes.
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
    /// The expression is invalid or too large; the error describes why.
    pub fn new(text: &str) -> Result<Regex, Complaint> {
        let table = dense::Builder::new()
            .configure(
                dense::Config::new()
                    .match_kind(MatchKind::All)
                    .start_kind(StartKind::Unanchored)
                    .dfa_size_limit(Some(TABLE_BOUND))
                    .determinize_size_limit(Some(4 * TABLE_BOUND)),
            )
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(STATES_BOUND)))
            .build(text);
        let table = table.map_err(|_| fault(text))?;
        let start = table.start_state(&start::Config::new().anchored(Anchored::No));
        let start = start.map_err(|_| fault(text))?;
        Ok(Regex { table, start })
    }

    /// Returns the state before the first byte.
    pub fn begin(&self) -> StateID {
        self.start
    }

    /// Continues the search in `bytes` and returns the number of bytes up to the end of the first match, if there is
    /// one. A match that ends at the last byte is found as well.
    pub fn find(&self, state: &mut StateID, bytes: &[u8]) -> Option<usize> {
        for (index, &byte) in bytes.iter().enumerate() {
            *state = self.table.next_state(*state, byte);
            // The DFA reports a match one byte late.
            if self.table.is_special_state(*state) && self.table.is_match_state(*state) {
                return Some(index);
            }
        }
        self.matches_at_end(*state).then_some(bytes.len())
    }

    /// Returns `true` if the input matches when it ends in this state.
    pub fn matches_at_end(&self, state: StateID) -> bool {
        self.table.is_match_state(self.table.next_eoi_state(state))
    }

    /// Returns `true` if a match depends on what follows it (`$`, `\b`): input that arrives in pieces could then match
    /// at the end of any piece.
    pub fn looks_ahead(text: &str) -> bool {
        use regex_syntax::hir::{Look, LookSet};
        let parsed = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(text);
        let harmless = LookSet::singleton(Look::Start).insert(Look::StartLF);
        parsed.is_ok_and(|hir| !hir.properties().look_set().subtract(harmless).is_empty())
    }

    /// Returns `true` if the expression matches empty input.
    pub fn matches_empty(&self) -> bool {
        self.matches_at_end(self.start)
    }
}

/// Returns why a regular expression cannot be compiled: it is invalid, or else it is too large.
pub(crate) fn fault(text: &str) -> Complaint {
    use regex_syntax::Error;
    use regex_syntax::ast::ErrorKind;
    let parsed = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(text);
    let why = match parsed.err() {
        None => {
            return complaint!(
                "\"{text}\" compiles to too many states; use a shorter one, or one that repeats less ({{N}})",
                "“{text}”编译后状态过多；请写得更短，或减少重复次数（{{N}}）"
            );
        }
        Some(Error::Parse(error)) if *error.kind() == ErrorKind::UnsupportedLookAround => {
            complaint!(
                "looking ahead or behind, as with (?=…) or (?<=…), is not supported, because its time has no bound; write \
                what stands before and after the value, and a group around the value: before(value)after",
                "不支持 (?=…)、(?<=…) 这样的前后查找，因为其耗时没有上限；请写出该值前后的文本，并把值放进分组：before(value)after"
            )
        }
        Some(Error::Parse(error)) if *error.kind() == ErrorKind::UnsupportedBackreference => {
            complaint!(
                "references to groups, as with \\1, are not supported, because their time has no bound; write the text \
                again",
                "不支持 \\1 这样的反向引用，因为其耗时没有上限；请把文本再写一遍"
            )
        }
        Some(Error::Parse(error)) => error.kind().to_string().into(),
        Some(Error::Translate(error)) => error.kind().to_string().into(),
        Some(error) => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").into(),
    };
    let zh = why.zh();
    complaint!("\"{text}\" is not a valid regular expression ({why})", "“{text}”不是有效的正则表达式（{zh}）")
}

/// A search for a text that may span pieces. Keeps the end of the previous pieces, one byte less than the text at most.
#[derive(Debug, Default)]
pub struct SplitSearch(Vec<u8>);

impl SplitSearch {
    /// Returns the number of `bytes` up to the end of the first occurrence, if there is one.
    pub fn find(&mut self, text: &Finder<'_>, bytes: &[u8]) -> Option<usize> {
        let length = text.needle().len();
        let before = self.0.len();
        if before > 0 {
            self.0.extend_from_slice(&bytes[..bytes.len().min(length - 1)]);
            if let Some(at) = text.find(&self.0) {
                // The text was not complete before this piece, so it ends within it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_that_comes_to_too_much_is_refused_before_it_does() {
        for text in [
            "((a{1000}){1000}){1000}",
            "(([a-z]{0,1000}){0,1000}){0,1000}",
            "((a?){1,1000}){1,1000}{1,1000}",
            "(((){1000}b){1000}){1000}",
            "((\\b{1000}c){1000}){1000}",
            // Few NFA states, but too many DFA states.
            "a.{200}",
        ] {
            let said = Regex::new(text).map(|_| ()).expect_err(text);
            let wanted = format!(
                "\"{text}\" compiles to too many states; use a shorter one, or one that repeats less \
                    ({{N}})"
            );
            assert_eq!(said, wanted);
            assert!(said.is_translated(), "{text}");
        }
        for text in ["a{1000}", "((){1000}){1000}", "[0-9]{1,200}\\r\\n"] {
            assert!(Regex::new(text).is_ok(), "{text}");
        }
    }
}
