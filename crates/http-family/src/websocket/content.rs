//! The messages a run sends: from `--data`, `--data-file`, `--data-hex` and `--data-base64`.
//!
//! Text may have slots (`{counter}`, `{random 16}`), unless `--no-slots` is given. A brace that begins none is itself, so that JSON is
//! written as it is. With `--escapes` a backslash begins an escape in all of them.

use base64::Engine as _;
use wire::{Asked, Complaint};

use crate::marks::NO_SLOTS;
use values::file;
use values::template::{Notation, Scope, Source, Template};

/// The slots that messages may have.
pub const SCOPE: Scope<'static> = Scope { sequence: true, captured: None, variables: &[] };
const NO_TEXT: &str = "is not UTF-8, as a text message must be; add --binary";

/// How the texts of messages are written.
pub fn notation(asked: &Asked) -> Notation {
    if asked.switch("escapes") { Notation::Escaped } else { Notation::Plain }
}

/// One message as asked for, and the option or line it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where it came from.
    pub place: String,
    /// It is sent as a binary message.
    pub binary: bool,
    /// It may have slots.
    pub slots: bool,
    /// How its bytes are written.
    pub notation: Notation,
}

impl Content {
    /// Stands where no message was asked for; never sent.
    pub fn placeholder() -> Content {
        Content { bytes: Vec::new(), place: String::new(), binary: false, slots: false, notation: Notation::Plain }
    }

    /// A text of an option as a message.
    pub fn of_text(text: &str, place: &str, asked: &Asked) -> Content {
        Content {
            bytes: text.as_bytes().to_vec(),
            place: place.into(),
            binary: asked.switch("binary"),
            slots: !asked.switch(NO_SLOTS.name),
            notation: notation(asked),
        }
    }

    /// The message with its slots compiled; behind a mark what its answer must hold, where that has slots (`expected`).
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn template(&self, scope: Scope<'_>, expected: Option<&str>) -> Result<Template, Complaint> {
        let text = std::str::from_utf8(&self.bytes).ok().filter(|_| self.slots);
        let bytes = match text {
            Some(text) if expected.is_none() => return Template::of_text(text, &self.place, self.notation, scope),
            Some(text) => text.as_bytes().to_vec(),
            None => self.plain()?,
        };
        let Some(expected) = expected else { return Ok(Template::fixed(bytes)) };
        let own = Source { bytes: &bytes, slots: text.is_some(), place: &self.place };
        let behind = Source { bytes: expected.as_bytes(), slots: true, place: "--expect-body" };
        Template::of_two([own, behind], self.notation, scope)
    }

    /// Its bytes where it has no slots.
    fn plain(&self) -> Result<Vec<u8>, Complaint> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => self.notation.bytes(text).map_err(|trouble| Complaint::new(&self.place, trouble)),
            Err(_) => Ok(self.bytes.clone()),
        }
    }

    /// Looks at what escapes came to: `payload` is the message as it is sent.
    ///
    /// # Errors
    /// A text message that is no text.
    pub fn check(&self, payload: &[u8]) -> Result<(), Complaint> {
        let odd = !self.binary && self.notation == Notation::Escaped && std::str::from_utf8(payload).is_err();
        if odd { Err(Complaint::new(&self.place, NO_TEXT)) } else { Ok(()) }
    }
}

/// All messages of a run; none where connections are only to be held.
///
/// # Errors
/// The user's mistake, naming option or line.
pub fn contents(asked: &Asked) -> Result<Vec<Content>, Complaint> {
    let mut all: Vec<Content> =
        asked.values("data").iter().map(|data| Content::of_text(data, "--data", asked)).collect();
    let fixed = |bytes, place: &str| Content { bytes, binary: true, place: place.into(), ..Content::placeholder() };
    for hex in asked.values("data-hex") {
        all.push(fixed(from_hex(hex)?, "--data-hex"));
    }
    for base64 in asked.values("data-base64") {
        let bytes = base64::engine::general_purpose::STANDARD.decode(base64).map_err(|trouble| {
            Complaint::new("--data-base64", format!("\"{base64}\" is not base64 ({trouble}); write for instance AAEC"))
        })?;
        all.push(fixed(bytes, "--data-base64"));
    }
    if let Some(path) = asked.value("data-file") {
        all.extend(from_file(path, asked)?);
    }
    Ok(all)
}

/// One message a line; empty lines are left out.
fn from_file(path: &str, asked: &Asked) -> Result<Vec<Content>, Complaint> {
    let bytes = file::body("--data-file", path)?;
    let mut all = Vec::new();
    for (number, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let place = format!("{path} line {}", number + 1);
        if !asked.switch("binary") && std::str::from_utf8(line).is_err() {
            return Err(Complaint::new(place, NO_TEXT));
        }
        if !line.is_empty() {
            all.push(Content { bytes: line.to_vec(), ..Content::of_text("", &place, asked) });
        }
    }
    if all.is_empty() {
        return Err(Complaint::new("--data-file", format!("{path} has no messages; write one per line")));
    }
    Ok(all)
}

fn from_hex(text: &str) -> Result<Vec<u8>, Complaint> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let wrong = || {
        Complaint::new("--data-hex", format!("\"{text}\" is not hexadecimal; write two digits per byte, as in 00ff1a"))
    };
    let pairs = digits.chunks(2).map(|pair| {
        let digit = |b: &u8| (*b as char).to_digit(16);
        match pair {
            [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
            _ => None,
        }
    });
    pairs.collect::<Option<Vec<u8>>>().ok_or_else(wrong)
}
