//! Checks with slots: their texts are filled with the values of a request, and are then checks like any other.

use memchr::memmem::Finder;

use super::Expectations;
use super::header::ExpectedHeader;
use super::json::JsonRule;

/// The texts of the checks of a request.
#[derive(Clone, Debug, Default)]
pub struct CheckTexts {
    /// Text that the body must contain.
    pub body: Option<String>,
    /// Header lines (`--expect-header`).
    pub headers: Vec<String>,
    /// Rules for a JSON body (`--expect-json`).
    pub json: Vec<String>,
    /// Trailer lines (`--expect-trailer`).
    pub trailers: Vec<String>,
}

/// The checks of the response to one request.
#[derive(Debug)]
pub struct FilledChecks {
    /// Text that the body must contain.
    pub text: Option<Finder<'static>>,
    /// Everything else; `None` if nothing else is expected.
    pub expected: Option<Expectations>,
}

impl CheckTexts {
    /// Returns all texts, in the order that [`CheckTexts::filled`] takes.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let rest = [&self.headers, &self.json, &self.trailers].into_iter().flatten();
        self.body.iter().chain(rest).map(String::as_str)
    }

    /// Returns the same texts, each changed.
    pub fn map(&self, change: impl Fn(&str) -> String) -> CheckTexts {
        let all = |texts: &[String]| texts.iter().map(|text| change(text)).collect();
        CheckTexts {
            body: self.body.as_deref().map(&change),
            headers: all(&self.headers),
            json: all(&self.json),
            trailers: all(&self.trailers),
        }
    }

    /// Returns the checks of these texts once they are filled.
    pub fn filled<'a>(&self, mut texts: impl Iterator<Item = &'a [u8]>) -> FilledChecks {
        let text = self.body.as_ref().and_then(|_| texts.next()).map(|text| Finder::new(text).into_owned());
        let mut next = |count: usize| -> Vec<String> {
            texts.by_ref().take(count).map(|text| String::from_utf8_lossy(text).into_owned()).collect()
        };
        let header = |text: &String| ExpectedHeader::parse(text).unwrap_or_else(|_| ExpectedHeader::never(text));
        let headers = next(self.headers.len()).iter().map(header).collect();
        let json = |text: String| JsonRule::parse(&text).unwrap_or_else(|why| JsonRule::never(&text, why.into()));
        let json = next(self.json.len()).into_iter().map(json).collect();
        let trailers = next(self.trailers.len()).iter().map(header).collect();
        FilledChecks { text, expected: Expectations::of(headers, json, trailers) }
    }
}
