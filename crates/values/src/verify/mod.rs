//! Expected properties of a response besides its status: header lines, values in a JSON body and trailers
//! (`--expect-header`, `--expect-json`, `--expect-trailer`).
//!
//! For protocols whose responses have these parts. A body is kept, up to a maximum size, and decoded according to its
//! `Content-Encoding` only if a check needs all of it; other runs do not copy any bytes.

pub mod coding;
mod decimal;
mod filled;
mod filter;
pub mod header;
pub mod json;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
pub mod raw_json;
mod slice;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use brunt_cause::{Cause, CauseArgument, checks};
use brunt_contract::{FailedChecks, FaultKind, OptionSpec, ProtocolConfig, UsageError, many};
use memchr::memmem::Finder;

pub use filled::{CheckTexts, FilledChecks};

use coding::{ContentCoding, DecodeFailure, DecodedBody};
use header::ExpectedHeader;
use json::JsonRule;

use crate::budget::{BudgetedBuffer, MemoryBudget, NO_ROOM};
use crate::steps::{OutOfSteps, StepBudget};
use crate::text_search::SHOWN;

/// Maximum size of a kept body before decoding, in bytes; a longer body cannot be checked and counts as wrong.
pub const KEPT_BOUND: usize = 1024 * 1024;

/// The options of protocols with headers and bodies.
pub const OPTIONS: [OptionSpec; 3] = [
    many(
        "expect-header",
        "NAME: VALUE",
        "Fail a response unless it has this header; * in VALUE is any text, NAME alone any value",
        "响应缺少该响应头则计为失败；VALUE 中 * 代表任意文本，只写 NAME 表示任意值",
    ),
    many(
        "expect-json",
        "RULE",
        "Fail a response unless its JSON body matches the rule: '$.code == 200', '$.items[0].id'",
        "JSON 响应正文不符合规则即计为失败：'$.code == 200'、'$.items[0].id'",
    ),
    many(
        "expect-trailer",
        "NAME: VALUE",
        "Fail a response unless it has this trailer; * in VALUE is any text, NAME alone any value",
        "响应缺少该尾部字段则计为失败；VALUE 中 * 代表任意文本，只写 NAME 表示任意值",
    ),
];

/// The expectations for every response of a run.
#[derive(Debug)]
pub struct Expectations {
    headers: Vec<ExpectedHeader>,
    json: Vec<JsonRule>,
    /// Expected trailers; checked after everything else.
    pub trailers: Vec<ExpectedHeader>,
}

impl Expectations {
    /// Returns `true` if a check reads the body.
    pub fn reads_body(&self) -> bool {
        !self.json.is_empty()
    }

    /// Parses the texts of checks; `None` if nothing is expected besides a text in the body.
    ///
    /// # Errors
    /// A rule is invalid.
    pub fn parse(texts: &CheckTexts) -> Result<Option<Expectations>, UsageError> {
        let headers = |texts: &[String], option| {
            let all: Result<Vec<_>, _> = texts.iter().map(|text| ExpectedHeader::parse(text)).collect();
            all.map_err(|trouble| UsageError::new(option, trouble))
        };
        let json = texts.json.iter().map(|text| JsonRule::parse(text)).collect::<Result<Vec<_>, _>>();
        Ok(Expectations::of(
            headers(&texts.headers, "--expect-header")?,
            json.map_err(|trouble| UsageError::new("--expect-json", trouble))?,
            headers(&texts.trailers, "--expect-trailer")?,
        ))
    }

    fn of(headers: Vec<ExpectedHeader>, json: Vec<JsonRule>, trailers: Vec<ExpectedHeader>) -> Option<Expectations> {
        let any = !headers.is_empty() || !json.is_empty() || !trailers.is_empty();
        any.then_some(Expectations { headers, json, trailers })
    }

    /// Returns `true` if the whole body is needed for the checks.
    fn needs_body(&self) -> bool {
        !self.json.is_empty()
    }
}

/// Reads the header lines that an option expects.
///
/// # Errors
/// A header line is invalid.
pub fn parse_headers(config: &ProtocolConfig, option: &str) -> Result<Vec<ExpectedHeader>, UsageError> {
    let all = config.values(option).iter().map(|text| ExpectedHeader::parse(text)).collect::<Result<_, _>>();
    all.map_err(|trouble| UsageError::new(format!("--{option}"), trouble))
}

/// The state of the checks of one response.
#[derive(Debug)]
pub struct AnswerChecks {
    wrong_header: bool,
    /// The expected header lines that are missing.
    headers: FailedChecks,
    /// Kept body; `None` if no check needs the whole body.
    body: Option<BudgetedBuffer>,
    coding: ContentCoding,
    /// Maximum number of body bytes to keep.
    max_body: usize,
    not_kept: Option<BodyNotKept>,
    /// The verdict on the kept body, and the length of which it is the verdict.
    judged: Cell<Option<(usize, BodyVerdict)>>,
}

/// The result of the checks on a kept body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyVerdict {
    Good,
    Wrong,
    /// Not known: a limit of brunt was reached before the end of the checks.
    Unknown,
}

impl BodyVerdict {
    fn of(holds: bool) -> BodyVerdict {
        if holds { BodyVerdict::Good } else { BodyVerdict::Wrong }
    }

    fn fault(self) -> Option<FaultKind> {
        match self {
            BodyVerdict::Good => None,
            BodyVerdict::Wrong => Some(FaultKind::WrongBody),
            BodyVerdict::Unknown => Some(FaultKind::Unchecked),
        }
    }
}

/// The reason why a body is not kept completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyNotKept {
    /// The body is longer than this number of bytes.
    TooLong(usize),
    OverBudget,
}

impl BodyNotKept {
    fn cause(self) -> Cause {
        match self {
            BodyNotKept::TooLong(most) => checks::too_long(brunt_measure::format_bytes(most as u64)),
            BodyNotKept::OverBudget => checks::unchecked(NO_ROOM),
        }
    }
}

impl AnswerChecks {
    /// Checks the head, in HTTP/1 format. `text` is set if the body must contain a text, which requires decoding if the
    /// body is coded; `whole` is set if captures need the whole body. Returns `None` if this response needs no further
    /// checks.
    pub fn from_head(
        expected: Option<&Expectations>,
        (text, whole): (bool, bool),
        head: &[u8],
    ) -> Option<Box<AnswerChecks>> {
        let coding = ContentCoding::of(header::field_values(head, "content-encoding"));
        let body = whole || expected.is_some_and(Expectations::needs_body) || (text && coding != ContentCoding::None);
        let wrong = expected.into_iter().flat_map(|e| &e.headers).map(|header| !header.holds(head));
        let headers = FailedChecks::default().extend(wrong);
        let wrong_header = headers.any();
        (body || wrong_header).then(|| {
            Box::new(AnswerChecks {
                wrong_header,
                headers,
                body: body.then(BudgetedBuffer::default),
                coding,
                max_body: KEPT_BOUND,
                not_kept: None,
                judged: Cell::new(None),
            })
        })
    }

    /// Sets the maximum number of body bytes to keep.
    pub fn set_body_limit(&mut self, most: usize) {
        self.max_body = most;
    }

    /// Returns `true` if the whole body is kept, so that it need not be searched as it arrives.
    pub fn keeps_body(&self) -> bool {
        self.body.is_some()
    }

    /// Adds a piece of the body as it arrives.
    pub fn feed(&mut self, piece: &[u8], budget: &MemoryBudget) {
        let Some(body) = self.body.as_mut().filter(|_| self.not_kept.is_none()) else { return };
        if body.len() + piece.len() > self.max_body {
            self.not_kept = Some(BodyNotKept::TooLong(self.max_body));
        } else if !body.extend(piece, budget) {
            self.not_kept = Some(BodyNotKept::OverBudget);
        }
        if self.not_kept.is_some() {
            // The body will not be checked, so its memory is released.
            *body = BudgetedBuffer::default();
        }
    }

    /// Returns the fault of the response once its body is complete.
    pub fn verdict(
        &self,
        expected: Option<&Expectations>,
        text: Option<&Finder<'static>>,
        budget: &MemoryBudget,
    ) -> Option<FaultKind> {
        if self.wrong_header {
            return Some(FaultKind::WrongHeader);
        }
        let body = self.body.as_ref()?;
        if self.not_kept.is_some() {
            return Some(FaultKind::Unchecked);
        }
        // Asked again for the same body, because captures wait for the verdict and then change it.
        let known = self.judged.get().filter(|(length, _)| *length == body.len());
        let verdict = known.map_or_else(|| self.judge(body, (expected, text), budget), |(_, verdict)| verdict);
        self.judged.set(Some((body.len(), verdict)));
        verdict.fault()
    }

    /// Checks a complete body.
    fn judge(
        &self,
        body: &[u8],
        (expected, text): (Option<&Expectations>, Option<&Finder<'static>>),
        budget: &MemoryBudget,
    ) -> BodyVerdict {
        let plain = match self.coding.decode(body, budget) {
            Ok(plain) => plain,
            Err(DecodeFailure::Malformed) => return BodyVerdict::Wrong,
            Err(DecodeFailure::TooLong | DecodeFailure::OverBudget) => return BodyVerdict::Unknown,
        };
        if text.is_some_and(|text| text.find(&plain).is_none()) {
            return BodyVerdict::Wrong;
        }
        let rules = expected.map_or(&[][..], |e| &e.json);
        if rules.is_empty() {
            return BodyVerdict::Good;
        }
        let steps = StepBudget::default();
        let holds = raw_json::parse_whole(&plain).is_some_and(|read| rules.iter().all(|rule| rule.holds(read, &steps)));
        steps.result().map_or(BodyVerdict::Unknown, |()| BodyVerdict::of(holds))
    }

    /// Appends the failed checks of a wrong response to `failed` and returns the result. `streamed` is the result of
    /// searching for the expected text as the body arrived, if it was searched for.
    #[cold]
    pub fn failed_checks(
        seen: Option<&AnswerChecks>,
        expected: Option<&Expectations>,
        (text, streamed): (Option<&Finder<'static>>, bool),
        budget: &MemoryBudget,
        failed: FailedChecks,
    ) -> FailedChecks {
        let of = expected.map_or((0, &[][..]), |expected| (expected.headers.len(), &expected.json));
        let mut failed = match seen {
            Some(seen) => failed.append(seen.headers, of.0),
            None => failed.extend(std::iter::repeat_n(false, of.0)),
        };
        let kept = seen.filter(|seen| seen.keeps_body());
        let plain = kept.map(|seen| match (seen.not_kept, &seen.body) {
            (None, Some(body)) => seen.coding.decode(body, budget).ok(),
            _ => None,
        });
        if let Some(text) = text {
            failed.push(match &plain {
                Some(plain) => plain.as_ref().is_none_or(|plain| text.find(plain).is_none()),
                None => !streamed,
            });
        }
        let read = plain.flatten();
        let read = read.as_ref().and_then(|plain| raw_json::parse_whole(plain));
        let steps = StepBudget::default();
        failed.extend(of.1.iter().map(|rule| read.is_none_or(|read| !rule.holds(read, &steps))))
    }

    /// Returns the whole decoded body.
    ///
    /// # Errors
    /// The body was not kept completely or cannot be decoded.
    pub fn decoded_body(&self, budget: &MemoryBudget) -> Result<DecodedBody<'_>, Cause> {
        match self.not_kept {
            Some(missed) => Err(missed.cause()),
            None => {
                let body = self.body.as_deref().unwrap_or_default();
                self.coding.decode(body, budget).map_err(|undecoded| undecoded.cause(body.len()))
            }
        }
    }

    /// Returns the cause of a wrong body reported by [`AnswerChecks::verdict`]: what was expected and what was found.
    pub fn mismatch(
        &self,
        expected: Option<&Expectations>,
        text: Option<&Finder<'static>>,
        budget: &MemoryBudget,
    ) -> Option<Cause> {
        if let Some(missed) = self.not_kept {
            return Some(missed.cause());
        }
        let body = self.body.as_deref().unwrap_or_default();
        let plain = match self.coding.decode(body, budget) {
            Ok(plain) => plain,
            Err(undecoded) => return Some(undecoded.cause(body.len())),
        };
        let size = plain.len() as u64;
        if let Some(text) = text.filter(|text| text.find(&plain).is_none()) {
            return Some(missing_text(checks::body_lacks, text.needle(), &plain, size));
        }
        let Some(read) = raw_json::parse_whole(&plain) else {
            return Some(checks::no_json(describe_body(&plain, size)));
        };
        let steps = StepBudget::default();
        let broken = expected.and_then(|e| e.json.iter().find(|rule| !rule.holds(read, &steps)));
        let told = broken.map(|rule| rule.mismatch(read, &steps));
        steps.result().map_or_else(|OutOfSteps| Some(checks::out_of_steps().into()), |()| told)
    }
}

/// Returns the cause for a missing text, created by `what` (such as `checks::body_lacks`), with the beginning and the
/// length of the actual text.
pub fn missing_text(what: fn(String, CauseArgument) -> Cause, text: &[u8], beginning: &[u8], size: u64) -> Cause {
    what(quoted(text, false), describe_body(beginning, size))
}

/// Like [`missing_text`], for a response that does not match the pattern of an option.
pub fn pattern_mismatch(option: &str, beginning: &[u8], size: u64) -> Cause {
    checks::no_match(option, describe_body(beginning, size))
}

fn describe_body(beginning: &[u8], size: u64) -> CauseArgument {
    match size {
        0 => checks::nothing().into(),
        _ => {
            let quoted = quoted(beginning, size > beginning.len() as u64);
            format!("{quoted} ({})", brunt_measure::format_bytes(size)).into()
        }
    }
}

/// Returns a rule or JSON value shortened and on one line.
fn one_line(text: &str) -> String {
    let cut = text.floor_char_boundary(2 * SHOWN);
    let line = brunt_measure::sanitize::line(&text[..cut]).into_owned();
    if cut < text.len() { line + "…" } else { line }
}

/// Returns bytes quoted, shortened and on one line; `goes_on` is set if they are only the beginning of a text.
fn quoted(bytes: &[u8], goes_on: bool) -> String {
    let goes_on = goes_on || bytes.len() > SHOWN;
    let mut shown = &bytes[..bytes.len().min(SHOWN)];
    // A character cut off at the end is not shown as invalid.
    if let Some(last) = shown.utf8_chunks().last().filter(|_| goes_on) {
        shown = &shown[..shown.len() - last.invalid().len()];
    }
    let text = brunt_measure::sanitize::bytes(shown);
    format!("\"{}{}", brunt_measure::sanitize::line(&text), if goes_on { "…\"" } else { "\"" })
}

/// Decodes the body of a response with this head. Returns its `Content-Encoding` and the decoded body; `None` if the
/// body is not coded or cannot be decoded.
pub fn decode_body(head: &[u8], body: &[u8]) -> Option<(String, Vec<u8>)> {
    let coding = ContentCoding::of(header::field_values(head, "content-encoding"));
    let named: Vec<_> = header::field_values(head, "content-encoding").map(String::from_utf8_lossy).collect();
    match coding {
        ContentCoding::By(_) => Some((named.join(", "), coding.decode(body, &MemoryBudget::default()).ok()?.to_vec())),
        ContentCoding::None | ContentCoding::Unknown => None,
    }
}
