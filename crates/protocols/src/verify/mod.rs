//! What an answer must hold beside its status: header lines and places in a JSON body (`--expect-header`, `--expect-json`).
//!
//! For every protocol whose answers have such parts. A body is kept only where something is expected of the whole of it,
//! up to a bound, and decoded by its `Content-Encoding`; all other runs never copy a byte.

mod coding;
mod header;
mod json;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
#[cfg(test)]
mod tests;

use memchr::memmem::Finder;
use wire::{Asked, Complaint, FaultKind, OptionSpec, Takes, Text};

use coding::Coding;
use header::Header;
use json::Json;

/// The most of a body that is kept, as it arrives; a longer one cannot be checked and counts as wrong.
pub const KEPT_BOUND: usize = 1024 * 1024;

/// The options, for protocols that have headers and bodies.
pub const OPTIONS: [OptionSpec; 2] = [
    OptionSpec {
        name: "expect-header",
        short: None,
        takes: Takes::Many("NAME: VALUE"),
        help: Text {
            en: "Count an answer as failed unless it has this header; * in VALUE is any text, NAME alone any value",
            zh: "响应缺少该头则计为失败；VALUE 中 * 代表任意文本，只写 NAME 表示任意值",
        },
    },
    OptionSpec {
        name: "expect-json",
        short: None,
        takes: Takes::Many("RULE"),
        help: Text {
            en: "Count an answer as failed unless its JSON body keeps the rule: '$.code == 200', '$.items[0].id'",
            zh: "JSON 响应体不符合规则则计为失败：'$.code == 200'、'$.items[0].id'",
        },
    },
];

/// What is expected of every answer of a run.
#[derive(Debug)]
pub struct Expectations {
    headers: Vec<Header>,
    json: Vec<Json>,
}

impl Expectations {
    /// Reads the options; None where nothing is expected.
    ///
    /// # Errors
    /// A rule that is none.
    pub fn read(asked: &Asked) -> Result<Option<Expectations>, Complaint> {
        let complain = |option: &'static str| move |trouble: String| Complaint::new(option, trouble);
        let headers =
            asked.values("expect-header").iter().map(|text| Header::parse(text)).collect::<Result<Vec<_>, _>>();
        let json = asked.values("expect-json").iter().map(|text| Json::parse(text)).collect::<Result<Vec<_>, _>>();
        let (headers, json) = (headers.map_err(complain("--expect-header"))?, json.map_err(complain("--expect-json"))?);
        Ok((!headers.is_empty() || !json.is_empty()).then_some(Expectations { headers, json }))
    }

    /// True where nothing but the whole body decides.
    fn needs_body(&self) -> bool {
        !self.json.is_empty()
    }
}

/// What was seen of one answer.
#[derive(Debug)]
pub struct Seen {
    wrong_header: bool,
    /// None: nothing is expected of the whole body.
    body: Option<Vec<u8>>,
    coding: Coding,
    too_long: bool,
}

impl Seen {
    /// The head is there, in the notation of HTTP/1. `text`: the body must hold a text, which a coded body hides.
    /// None: nothing about this answer needs a closer look.
    pub fn head(expected: Option<&Expectations>, text: bool, head: &[u8]) -> Option<Box<Seen>> {
        let coding = Coding::of(header::values(head, "content-encoding"));
        let body = expected.is_some_and(Expectations::needs_body) || (text && coding != Coding::None);
        let wrong_header = expected.is_some_and(|e| !e.headers.iter().all(|header| header.holds(head)));
        (body || wrong_header)
            .then(|| Box::new(Seen { wrong_header, body: body.then(Vec::new), coding, too_long: false }))
    }

    /// True where the whole body is kept, so that it need not be searched as it comes.
    pub fn keeps_body(&self) -> bool {
        self.body.is_some()
    }

    /// A piece of the body, as it arrives.
    pub fn feed(&mut self, piece: &[u8]) {
        let Some(body) = &mut self.body else { return };
        let room = KEPT_BOUND - body.len();
        self.too_long |= piece.len() > room;
        body.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// What is wrong with the answer, once its body is whole.
    pub fn verdict(&self, expected: Option<&Expectations>, text: Option<&Finder<'static>>) -> Option<FaultKind> {
        if self.wrong_header {
            return Some(FaultKind::WrongHeader);
        }
        let body = self.body.as_ref()?;
        let good = || {
            let plain = self.coding.decode(body)?;
            if text.is_some_and(|text| text.find(&plain).is_none()) {
                return None;
            }
            let rules = expected.map_or(&[][..], |e| &e.json);
            if rules.is_empty() {
                return Some(());
            }
            let value = serde_json::from_slice(&plain).ok()?;
            rules.iter().all(|rule| rule.holds(&value)).then_some(())
        };
        (self.too_long || good().is_none()).then_some(FaultKind::WrongBody)
    }
}
