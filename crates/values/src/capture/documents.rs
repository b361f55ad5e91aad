//! A response body parsed as HTML or XML on first use, at most once for all captures, and the budget of their work.

use std::borrow::Cow;
use std::cell::OnceCell;

use brunt_cause::{Cause, captures};
use scraper::Html;
use uppsala::Document;

use super::{html, xpath};
use crate::steps::StepBudget;

/// Maximum length of a body that is parsed as a document, in bytes.
const LONGEST: usize = 1_000_000;

/// One body and its parsed forms.
pub struct BodyDocuments<'a> {
    body: &'a [u8],
    /// Budget of all captures of the body.
    pub(super) steps: StepBudget,
    html: OnceCell<Result<Html, Cause>>,
    tree: OnceCell<Result<Document<'a>, Cause>>,
}

impl<'a> BodyDocuments<'a> {
    /// Creates the cache for a body; nothing is parsed yet.
    pub fn of(body: &'a [u8]) -> BodyDocuments<'a> {
        BodyDocuments { body, steps: StepBudget::default(), html: OnceCell::new(), tree: OnceCell::new() }
    }

    /// Returns the body parsed as HTML, which accepts any text.
    ///
    /// # Errors
    /// The document is too large.
    pub(super) fn html(&self) -> Result<&Html, Cause> {
        let read = || html::read(&self.text()?);
        self.html.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// Returns the body as a tree, parsed as XML if it is well-formed or declares itself as XML, otherwise as HTML.
    ///
    /// # Errors
    /// The body declares itself as XML but is not well-formed, or the document is too large.
    pub(super) fn tree(&self) -> Result<&Document<'a>, Cause> {
        let read = || {
            let begins = |with: &str| {
                let from = self.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.body).trim_ascii_start();
                from.get(..with.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(with.as_bytes()))
            };
            let of_html = || xpath::from_html(self.html()?);
            if !begins("<?xml") && (begins("<!doctype html") || begins("<html")) {
                return of_html();
            }
            let xml = match self.text()? {
                Cow::Borrowed(text) => xpath::parse_xml(text),
                Cow::Owned(text) => xpath::parse_xml(&text).map(Document::into_static),
            };
            if xml.is_ok() || begins("<?xml") { xml } else { of_html() }
        };
        self.tree.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    fn text(&self) -> Result<Cow<'a, str>, Cause> {
        if self.body.len() > LONGEST {
            let (long, longest) =
                (brunt_measure::format_bytes(self.body.len() as u64), brunt_measure::format_bytes(LONGEST as u64));
            return Err(captures::document_too_long(long, longest));
        }
        Ok(String::from_utf8_lossy(self.body))
    }
}
