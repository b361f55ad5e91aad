//! Captures from responses (`capture`), and the updates that a response makes to its user's state.

use brunt_cause::Cause;
use brunt_contract::{FaultKind, ProtocolConfig, UsageError};

use crate::cache;
use crate::cookies;
use crate::resources::ResourceOutcome;
use brunt_values::capture::{self, BodyDocuments, Capture, CaptureInput, CapturedValues, ResponsePart};
use brunt_values::verify::Expectations;

/// Capture sources that HTTP responses offer.
const KNOWN: &[&str] = &["json", "css", "xpath", "regex", "between", "header", "trailer", "cookie", "status", "body"];

/// Returns the requested captures, each with the index of its variable.
///
/// # Errors
/// Returns an error for an unknown source or variable.
pub fn requested(config: &ProtocolConfig) -> Result<Vec<(u16, Capture)>, UsageError> {
    capture::parse_captures(config, (["an HTTP response", "HTTP 响应"], KNOWN))
}

/// Returns `true` if trailers are checked or used by a capture.
pub fn uses_trailers(expected: Option<&Expectations>, captures: &[(u16, Capture)]) -> bool {
    expected.is_some_and(|expected| !expected.trailers.is_empty())
        || captures.iter().any(|(_, capture)| capture.part() == ResponsePart::Trailers)
}

/// The updates that a response makes to its user's state.
#[derive(Debug)]
pub struct HttpStateUpdate {
    /// Cookies.
    pub cookies: Option<Box<cookies::CookieUpdates>>,
    /// Captured values.
    pub values: CapturedValues,
    /// Resources to fetch.
    pub resources: Option<ResourceOutcome>,
    /// Effect on the user's cache.
    pub cache: Option<cache::CacheEffect>,
}

/// The captures of one response.
#[derive(Debug, Default)]
pub struct ResponseCaptures {
    values: CapturedValues,
    /// Set while captures from the body are outstanding.
    body: bool,
    /// Set while captures from the trailers are outstanding.
    trailers: bool,
    /// The first capture that failed, and why.
    missing: Option<(FaultKind, Cause)>,
}

impl ResponseCaptures {
    /// Captures values from the head. Returns `true` if the whole body is needed.
    pub fn head(&mut self, captures: &[(u16, Capture)], status: u16, head: &[u8], random: u64) -> bool {
        let any = |part| captures.iter().any(|(_, capture)| capture.part() == part);
        (self.body, self.trailers) = (any(ResponsePart::Body), any(ResponsePart::Trailers));
        self.capture_part(
            (captures, ResponsePart::Head),
            &CaptureInput { status, head, ..CaptureInput::default() },
            random,
        );
        self.body
    }

    /// Returns `true` if captures wait for the complete body.
    pub fn wants_body(&self) -> bool {
        self.body
    }

    /// Returns `true` if captures wait for the trailers.
    pub fn wants_trailers(&self) -> bool {
        self.trailers
    }

    /// Captures values from the complete body.
    pub fn body(&mut self, captures: &[(u16, Capture)], body: &[u8], random: u64) {
        self.capture_part((captures, ResponsePart::Body), &CaptureInput { body, ..CaptureInput::default() }, random);
    }

    /// Captures values from the trailers.
    pub fn trailers(&mut self, captures: &[(u16, Capture)], trailers: &[u8], random: u64) {
        self.capture_part(
            (captures, ResponsePart::Trailers),
            &CaptureInput { trailers, ..CaptureInput::default() },
            random,
        );
    }

    /// Records that the body or the trailers are not available.
    pub fn fail(&mut self, kind: FaultKind, why: Cause) {
        self.missing.get_or_insert((kind.unless_own_limit(&why), why));
    }

    fn capture_part(
        &mut self,
        (captures, part): (&[(u16, Capture)], ResponsePart),
        answer: &CaptureInput<'_>,
        random: u64,
    ) {
        let kind = if part == ResponsePart::Body { FaultKind::WrongBody } else { FaultKind::WrongHeader };
        let documents = BodyDocuments::of(answer.body);
        for one in captures.iter().filter(|(_, capture)| capture.part() == part) {
            if let Err(why) = self.values.add_one(one, (answer, &documents), random) {
                self.fail(kind, why);
            }
        }
    }

    /// Returns the fault of a response from which a capture failed.
    pub fn fault(&self) -> Option<FaultKind> {
        self.missing.as_ref().map(|(kind, _)| *kind)
    }

    /// Returns the cause of that fault.
    pub fn why(&self) -> Option<Cause> {
        self.missing.as_ref().map(|(_, why)| why.clone())
    }

    /// Takes the captured values.
    pub fn take(&mut self) -> CapturedValues {
        std::mem::take(&mut self.values)
    }
}
