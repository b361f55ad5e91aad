//! The settings shared by all exchanges of a run: how answers end, how they are matched with requests, and how they are
//! checked.

use brunt_cause::Cause;
use brunt_contract::{FailedChecks, FaultKind};
use memchr::memmem::Finder;

use super::field::RawField;
use super::framing::AnswerEnd;
use brunt_values::pattern::Regex;
use brunt_values::side_messages::SideMessages;
use brunt_values::template::Template;
use brunt_values::verify;

/// The settings of a run.
#[derive(Debug)]
pub struct RawRules {
    /// The end of an answer.
    pub end: AnswerEnd,
    /// The fields of request and answer that must be equal; `None` matches answers by order.
    pub matched: Option<(RawField, RawField)>,
    /// The checks of an answer.
    pub checks: RawChecks,
    /// Maximum number of exchanges in flight on a connection.
    pub pipeline: usize,
    /// Set if each connection carries one exchange.
    pub one_shot: bool,
    /// Set if requests are not answered: incoming messages are read for openings and replies only.
    pub one_way: bool,
    /// Rules for side messages.
    pub side_messages: SideMessages<Template>,
    /// Set if requests are datagrams, answered or not.
    pub datagrams: bool,
}

/// The checks of an answer.
#[derive(Debug, Default)]
pub struct RawChecks {
    /// Bytes that the answer must contain.
    pub bytes: Option<Finder<'static>>,
    /// A pattern that the answer must match.
    pub regex: Option<Box<Regex>>,
    /// A field of the answer, and the ranges of its accepted values.
    pub field: Option<(RawField, Vec<(u64, u64)>)>,
}

impl RawChecks {
    /// Returns `true` if any answer is accepted.
    #[inline]
    pub fn none(&self) -> bool {
        self.bytes.is_none() && self.regex.is_none() && self.field.is_none()
    }

    /// Checks an answer in memory; returns the fault, the code and the failed checks.
    pub fn judge(&self, answer: &[u8]) -> (Option<FaultKind>, u32, FailedChecks) {
        let bytes = self.bytes.as_ref().is_none_or(|text| text.find(answer).is_some());
        let regex = self.regex.as_ref().is_none_or(|regex| regex.find(&mut regex.begin(), answer).is_some());
        self.verdict(answer, [bytes, regex])
    }

    /// Returns the cause for an answer with wrong content; the cause quotes its beginning.
    #[cold]
    pub fn why(&self, beginning: &[u8], size: u64) -> Cause {
        match &self.bytes {
            // If both a text and a pattern are required, which of them failed is no longer known.
            Some(text) if self.regex.is_none() => {
                verify::missing_text(brunt_cause::checks::response_lacks, text.needle(), beginning, size)
            }
            _ => verify::pattern_mismatch("--expect-regex", beginning, size),
        }
    }

    /// Like [`RawChecks::judge`], for an answer whose text and pattern were checked before; `beginning` contains the
    /// field.
    pub fn verdict(&self, beginning: &[u8], content: [bool; 2]) -> (Option<FaultKind>, u32, FailedChecks) {
        let (mut fault, mut code) = (None, 0);
        if let Some((field, values)) = &self.field {
            let value = field.read(beginning, &[]);
            code = value.map_or(0, code_of);
            let right = value.is_some_and(|value| values.iter().any(|(low, high)| (*low..=*high).contains(&value)));
            fault = (!right).then_some(FaultKind::WrongStatus);
        }
        let asked = [self.bytes.is_some(), self.regex.is_some()];
        let of_content = asked.into_iter().zip(content).filter(|(asked, _)| *asked).map(|(_, holds)| !holds);
        let failed = FailedChecks::default().extend(of_content).extend(self.field.is_some().then_some(fault.is_some()));
        (fault.or((content != [true; 2]).then_some(FaultKind::WrongBody)), code, failed)
    }
}

/// Converts the value of a field to a code by adding one: code 0 means "no code", and a field may be 0.
fn code_of(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX).saturating_add(1)
}

/// Formats the field value that `code_of` converted to this code.
pub fn value_of(code: u32) -> String {
    match code {
        u32::MAX => format!("{} or more", u32::MAX - 1),
        code => code.saturating_sub(1).to_string(),
    }
}
