//! What is taken out of a response for requests to come (`capture`), and what its user is to keep.

use cause::Cause;
use wire::{Asked, Complaint, FaultKind};

use crate::cache;
use crate::cookies;
use crate::resources::Heard;
use values::capture::{self, Answer, Capture, Documents, Part, Taken};
use values::verify::Expectations;

/// What responses of HTTP have.
const KNOWN: &[&str] = &["json", "css", "xpath", "regex", "between", "header", "trailer", "cookie", "status", "body"];

/// What is taken out of a response, each with the index of the variable it becomes.
///
/// # Errors
/// A source that is none, or a name that no flow has.
pub fn wished(asked: &Asked) -> Result<Vec<(u16, Capture)>, Complaint> {
    capture::wished(asked, ("an HTTP response", KNOWN))
}

/// True where what comes behind a body is looked into.
pub fn look_behind(expected: Option<&Expectations>, captures: &[(u16, Capture)]) -> bool {
    expected.is_some_and(|expected| !expected.trailers.is_empty())
        || captures.iter().any(|(_, capture)| capture.part() == Part::Trailers)
}

/// What a response asks its user to keep.
#[derive(Debug)]
pub struct Lesson {
    /// Cookies.
    pub cookies: Option<Box<cookies::Lesson>>,
    /// Values.
    pub values: Taken,
    /// What there is to fetch beside.
    pub heard: Option<Heard>,
    /// What it is to its user's cache.
    pub cache: Option<cache::Heard>,
}

/// What was taken out of one response.
#[derive(Debug, Default)]
pub struct Captured {
    values: Taken,
    /// What the body has is not taken yet.
    body: bool,
    /// Nor is what comes behind it.
    trailers: bool,
    /// What could not be found, and where it was looked for.
    missing: Option<(FaultKind, Cause)>,
}

impl Captured {
    /// The head is there: takes what stands in it. True where the whole body is needed.
    pub fn head(&mut self, captures: &[(u16, Capture)], status: u16, head: &[u8], random: u64) -> bool {
        let any = |part| captures.iter().any(|(_, capture)| capture.part() == part);
        (self.body, self.trailers) = (any(Part::Body), any(Part::Trailers));
        self.all((captures, Part::Head), &Answer { status, head, ..Answer::default() }, random);
        self.body
    }

    /// True where the body must be whole first.
    pub fn wants_body(&self) -> bool {
        self.body
    }

    /// True where what comes behind the body must be there first.
    pub fn wants_trailers(&self) -> bool {
        self.trailers
    }

    /// The body is whole: takes what stands in it.
    pub fn body(&mut self, captures: &[(u16, Capture)], body: &[u8], random: u64) {
        self.all((captures, Part::Body), &Answer { body, ..Answer::default() }, random);
    }

    /// Takes what stands behind the body.
    pub fn trailers(&mut self, captures: &[(u16, Capture)], trailers: &[u8], random: u64) {
        self.all((captures, Part::Trailers), &Answer { trailers, ..Answer::default() }, random);
    }

    /// There is no whole body, or not all that comes behind it.
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

    /// What is wrong with a response in which something was not found.
    pub fn missing(&self) -> Option<FaultKind> {
        self.missing.as_ref().map(|(kind, _)| *kind)
    }

    /// Why that is wrong.
    pub fn why(&self) -> Option<Cause> {
        self.missing.as_ref().map(|(_, why)| why.clone())
    }

    /// The values.
    pub fn take(&mut self) -> Taken {
        std::mem::take(&mut self.values)
    }
}
