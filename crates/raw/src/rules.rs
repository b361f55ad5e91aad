//! What holds for every exchange of a run: where answers end, whose they are, and which of them count as a success.

use cause::Cause;
use memchr::memmem::Finder;
use wire::{Failed, FaultKind};

use super::field::Field;
use super::framing::End;
use values::beside::Beside;
use values::pattern::Regex;
use values::template::Template;
use values::verify;

/// The rules of a run.
#[derive(Debug)]
pub struct Rules {
    /// Where an answer ends.
    pub end: End,
    /// Where request and answer hold what tells whose the answer is.
    pub matched: Option<(Field, Field)>,
    /// What an answer must be like.
    pub checks: Checks,
    /// Exchanges in flight on a connection.
    pub pipeline: usize,
    /// One exchange a connection.
    pub one_shot: bool,
    /// Nobody answers requests: what comes is read for openings and replies only.
    pub one_way: bool,
    /// What connections say beside requests.
    pub beside: Beside<Template>,
    /// Requests travel as datagrams, whether or not anybody answers.
    pub datagrams: bool,
}

/// What an answer must be like.
#[derive(Debug, Default)]
pub struct Checks {
    /// It holds these bytes.
    pub bytes: Option<Finder<'static>>,
    /// It has a match of this.
    pub regex: Option<Box<Regex>>,
    /// A field of it has one of these values.
    pub field: Option<(Field, Vec<(u64, u64)>)>,
}

impl Checks {
    /// True where any answer will do.
    #[inline]
    pub fn none(&self) -> bool {
        self.bytes.is_none() && self.regex.is_none() && self.field.is_none()
    }

    /// What is wrong with an answer that lies in memory, and its code.
    pub fn judge(&self, answer: &[u8]) -> (Option<FaultKind>, u32, Failed) {
        let bytes = self.bytes.as_ref().is_none_or(|text| text.find(answer).is_some());
        let regex = self.regex.as_ref().is_none_or(|regex| regex.find(&mut regex.begin(), answer).is_some());
        self.verdict(answer, [bytes, regex])
    }

    /// What an answer lacks whose content is wrong, and what begins it instead.
    #[cold]
    pub fn why(&self, beginning: &[u8], size: u64) -> Cause {
        match &self.bytes {
            // Where both a text and a pattern are asked for, nobody knows any more which it was.
            Some(text) if self.regex.is_none() => {
                verify::lacks(cause::checks::response_lacks, text.needle(), beginning, size)
            }
            _ => verify::unlike("--expect-regex", beginning, size),
        }
    }

    /// The same where it was looked at before whether its content holds the text and the pattern; `beginning` holds the field. And which of
    /// the checks by name failed.
    pub fn verdict(&self, beginning: &[u8], content: [bool; 2]) -> (Option<FaultKind>, u32, Failed) {
        let (mut fault, mut code) = (None, 0);
        if let Some((field, values)) = &self.field {
            let value = field.read(beginning, &[]);
            code = value.map_or(0, code_of);
            let right = value.is_some_and(|value| values.iter().any(|(low, high)| (*low..=*high).contains(&value)));
            fault = (!right).then_some(FaultKind::WrongStatus);
        }
        let asked = [self.bytes.is_some(), self.regex.is_some()];
        let of_content = asked.into_iter().zip(content).filter(|(asked, _)| *asked).map(|(_, holds)| !holds);
        let failed = Failed::default().all(of_content).all(self.field.is_some().then_some(fault.is_some()));
        (fault.or((content != [true; 2]).then_some(FaultKind::WrongBody)), code, failed)
    }
}

/// Codes of an exchange are 0 where there is none, and a field may well be 0.
fn code_of(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX).saturating_add(1)
}

/// The value of a field that became this code.
pub fn value_of(code: u32) -> String {
    match code {
        u32::MAX => format!("{} or more", u32::MAX - 1),
        code => code.saturating_sub(1).to_string(),
    }
}
