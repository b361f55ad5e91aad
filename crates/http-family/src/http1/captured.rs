//! Captures from responses (`capture`), and the state update that a response makes for its user.

use cause::Cause;
use wire::{Asked, Complaint, FaultKind};

use crate::cache;
use crate::cookies;
use crate::resources::Heard;
use values::capture::{self, Answer, Capture, Documents, Part, Taken};
use values::verify::Expectations;

/// Sources of captures that HTTP responses have.
const KNOWN: &[&str] = &["json", "css", "xpath", "regex", "between", "header", "trailer", "cookie", "status", "body"];

/// Returns the requested captures, each with the index of its variable.
///
/// # Errors
/// Returns an error for an unknown source or variable.
pub fn wished(asked: &Asked) -> Result<Vec<(u16, Capture)>, Complaint> {
    capture::wished(asked, ("an HTTP response", KNOWN))
}

/// Returns `true` if trailers are checked or captured from.
pub fn look_behind(expected: Option<&Expectations>, captures: &[(u16, Capture)]) -> bool {
    expected.is_some_and(|expected| !expected.trailers.is_empty())
        || captures.iter().any(|(_, capture)| capture.part() == Part::Trailers)
}

/// Updates that a response makes to the state of its user.
#[derive(Debug)]
pub struct Lesson {
    /// Cookies.
    pub cookies: Option<Box<cookies::Lesson>>,
    /// Captured values.
    pub values: Taken,
    /// Resources to fetch.
    pub heard: Option<Heard>,
    /// Effect on the user's cache.
    pub cache: Option<cache::Heard>,
}

/// The captures of one response.
#[derive(Debug, Default)]
pub struct Captured {
    values: Taken,
    /// Set while captures from the body are outstanding.
    body: bool,
    /// Set while captures from the trailers are outstanding.
    trailers: bool,
    /// The first capture that failed, and why.
    missing: Option<(FaultKind, Cause)>,
}

impl Captured {
    /// Captures from the head. Returns `true` if the whole body is needed.
    pub fn head(&mut self, captures: &[(u16, Capture)], status: u16, head: &[u8], random: u64) -> bool {
        let any = |part| captures.iter().any(|(_, capture)| capture.part() == part);
        (self.body, self.trailers) = (any(Part::Body), any(Part::Trailers));
        self.all((captures, Part::Head), &Answer { status, head, ..Answer::default() }, random);
        self.body
    }

    /// Returns `true` if the body must be complete first.
    pub fn wants_body(&self) -> bool {
        self.body
    }

    /// Returns `true` if the trailers must be complete first.
    pub fn wants_trailers(&self) -> bool {
        self.trailers
    }

    /// Captures from the complete body.
    pub fn body(&mut self, captures: &[(u16, Capture)], body: &[u8], random: u64) {
        self.all((captures, Part::Body), &Answer { body, ..Answer::default() }, random);
    }

    /// Captures from the trailers.
    pub fn trailers(&mut self, captures: &[(u16, Capture)], trailers: &[u8], random: u64) {
        self.all((captures, Part::Trailers), &Answer { trailers, ..Answer::default() }, random);
    }

    /// Records that the body or the trailers are not available.
    pub fn lost(&mut self, kind: FaultKind, why: Cause) {
        self.missing.get_or_insert((kind, why));
    }

    fn all(&mut self, (captures, part): (&[(u16, Capture)], Part), answer: &Answer<'_>, random: u64) {
        let kind = if part == Part::Body { FaultKind::WrongBody } else { FaultKind::WrongHeader };
        let documents = Documents::of(answer.body);
        for one in captures.iter().filter(|(_, capture)| capture.part() == part) {
            if let Err(why) = self.values.add_one(one, (answer, &documents), random) {
                self.missing.get_or_insert((kind, why));
            }
        }
    }

    /// Returns the fault of a response from which a capture failed.
    pub fn missing(&self) -> Option<FaultKind> {
        self.missing.as_ref().map(|(kind, _)| *kind)
    }

    /// Returns the cause of that fault.
    pub fn why(&self) -> Option<Cause> {
        self.missing.as_ref().map(|(_, why)| why.clone())
    }

    /// Takes the captured values.
    pub fn take(&mut self) -> Taken {
        std::mem::take(&mut self.values)
    }
}
