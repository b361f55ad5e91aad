//! A body as documents: read when the first capture asks, and once for all of them.

use std::borrow::Cow;
use std::cell::OnceCell;

use cause::{Cause, captures};
use scraper::Html;
use uppsala::Document;

use super::{html, xpath};

/// Documents are looked into up to so many bytes.
const LONGEST: usize = 1_000_000;

/// One body, as whatever it is read.
pub struct Documents<'a> {
    body: &'a [u8],
    html: OnceCell<Result<Html, Cause>>,
    tree: OnceCell<Result<Document<'a>, Cause>>,
}

impl<'a> Documents<'a> {
    /// Nothing is read yet.
    pub fn of(body: &'a [u8]) -> Documents<'a> {
        Documents { body, html: OnceCell::new(), tree: OnceCell::new() }
    }

    /// It as HTML, which anything can be read as.
    ///
    /// # Errors
    /// It is more than can be looked into.
    pub(super) fn html(&self) -> Result<&Html, Cause> {
        let read = || html::read(&self.text()?);
        self.html.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// It as a tree: XML where it is some, or says so; HTML otherwise.
    ///
    /// # Errors
    /// It is no XML although it says so, or more than can be looked into.
    pub(super) fn tree(&self) -> Result<&Document<'a>, Cause> {
        let read = || {
            let begins = |with: &str| {
                let from = self.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self.body).trim_ascii_start();
                from.get(..with.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(with.as_bytes()))
            };
            let of_html = || xpath::of_html(self.html()?);
            if !begins("<?xml") && (begins("<!doctype html") || begins("<html")) {
                return of_html();
            }
            let xml = match self.text()? {
                Cow::Borrowed(text) => xpath::read(text),
                Cow::Owned(text) => xpath::read(&text).map(Document::into_static),
            };
            if xml.is_ok() || begins("<?xml") { xml } else { of_html() }
        };
        self.tree.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    fn text(&self) -> Result<Cow<'a, str>, Cause> {
        if self.body.len() > LONGEST {
            let (long, longest) =
                (measure::format_bytes(self.body.len() as u64), measure::format_bytes(LONGEST as u64));
            return Err(captures::document_too_long(long, longest));
        }
        Ok(String::from_utf8_lossy(self.body))
    }
}
