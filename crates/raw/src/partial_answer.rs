//! An answer that arrives in pieces: its size so far, its beginning, and the state of the searches in it.

use brunt_contract::ProtocolError;
use regex_automata::util::primitives::StateID;

use super::field::FARTHEST;
use super::framing::AnswerEnd;
use super::rules::RawRules;
use brunt_values::pattern::SplitSearch;

/// The state of a partial answer. Its memory is bounded, however long the answer is.
#[derive(Debug, Default)]
pub struct PartialAnswer {
    /// The first bytes, which contain the fields and are shown in examples.
    pub beginning: Vec<u8>,
    /// Number of bytes received so far.
    pub got: u64,
    delimiter: SplitSearch,
    end: Option<StateID>,
    watch: SplitSearch,
    regex: Option<StateID>,
    has_bytes: bool,
    has_regex: bool,
}

impl PartialAnswer {
    /// Creates the state for a message that arrived whole, whose beginning is kept for examples.
    pub fn of(message: &[u8]) -> PartialAnswer {
        PartialAnswer { beginning: message[..message.len().min(FARTHEST)].to_vec(), ..PartialAnswer::default() }
    }

    /// Adds a piece. Returns how many of its bytes belong to the answer, or `None` if more bytes are needed.
    ///
    /// # Errors
    /// Fails if the bytes violate the declared framing.
    pub fn feed(&mut self, rules: &RawRules, bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let left = |total: u64, got: u64| {
            let left = total.saturating_sub(got);
            usize::try_from(left).ok().filter(|left| *left <= bytes.len())
        };
        let ended = match &rules.end {
            AnswerEnd::Bytes(total) => left(*total, self.got),
            AnswerEnd::Delimiter(text) => self.delimiter.find(text, bytes),
            AnswerEnd::Length(length) => match length.total(&self.beginning, bytes) {
                Ok(total) => total.and_then(|total| left(total, self.got)),
                Err(broken) => {
                    self.keep(bytes);
                    return Err(broken);
                }
            },
            AnswerEnd::Regex(regex) => regex.find(self.end.get_or_insert(regex.begin()), bytes),
            AnswerEnd::Close | AnswerEnd::Datagram | AnswerEnd::Never => None,
        };
        let of_it = &bytes[..ended.unwrap_or(bytes.len())];
        self.keep(of_it);
        self.got += of_it.len() as u64;
        if let (Some(text), false) = (&rules.checks.bytes, self.has_bytes) {
            self.has_bytes = self.watch.find(text, of_it).is_some();
        }
        if let (Some(regex), false) = (&rules.checks.regex, self.has_regex) {
            let state = self.regex.get_or_insert(regex.begin());
            // A match at the end of a piece counts only if the answer ends there, as the next byte may prevent it.
            self.has_regex = regex.find(state, of_it).is_some_and(|at| at < of_it.len());
        }
        Ok(ended)
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = FARTHEST - self.beginning.len();
        self.beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Returns whether the whole answer contains the required text, and whether it matches the pattern.
    pub fn content(&self, rules: &RawRules) -> [bool; 2] {
        let bytes = rules.checks.bytes.is_none() || self.has_bytes;
        let ends = |regex: &brunt_values::pattern::Regex| regex.matches_at_end(self.regex.unwrap_or(regex.begin()));
        [bytes, rules.checks.regex.as_ref().is_none_or(|regex| self.has_regex || ends(regex))]
    }
}
