//! The messages a run sends: from `--data`, `--data-file`, `--data-hex` and `--data-base64`.
//!
//! Text may have slots (`{counter}`, `{random 16}`), unless `--no-slots` is given. A brace that begins none is itself, so that JSON is
//! written as it is.

use base64::Engine as _;
use wire::{Asked, Complaint};

use crate::file;
use crate::marks::NO_SLOTS;
use crate::template::Template;

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
}

impl Content {
    /// Stands where no message was asked for; never sent.
    pub fn placeholder() -> Content {
        Content { bytes: Vec::new(), place: String::new(), binary: false, slots: false }
    }

    /// The message with its slots compiled.
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn template(&self) -> Result<Template, Complaint> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) if self.slots => Template::of_text(text, &self.place),
            _ => Ok(Template::fixed(self.bytes.clone())),
        }
    }
}

/// All messages of a run; none where connections are only to be held.
///
/// # Errors
/// The user's mistake, naming option or line.
pub fn contents(asked: &Asked) -> Result<Vec<Content>, Complaint> {
    let (binary, slots) = (asked.switch("binary"), !asked.switch(NO_SLOTS.name));
    let text = |text: &str, place: String| Content { bytes: text.as_bytes().to_vec(), place, binary, slots };
    let mut all: Vec<Content> = asked.values("data").iter().map(|data| text(data, "--data".into())).collect();
    for hex in asked.values("data-hex") {
        all.push(Content { bytes: from_hex(hex)?, place: "--data-hex".into(), binary: true, slots: false });
    }
    for base64 in asked.values("data-base64") {
        let bytes = base64::engine::general_purpose::STANDARD.decode(base64).map_err(|trouble| {
            Complaint::new("--data-base64", format!("\"{base64}\" is no base64 ({trouble}); write for instance AAEC"))
        })?;
        all.push(Content { bytes, place: "--data-base64".into(), binary: true, slots: false });
    }
    if let Some(path) = asked.value("data-file") {
        all.extend(from_file(path, binary, slots)?);
    }
    Ok(all)
}

/// One message a line; empty lines are left out.
fn from_file(path: &str, binary: bool, slots: bool) -> Result<Vec<Content>, Complaint> {
    let bytes = file::body("--data-file", path)?;
    let mut all = Vec::new();
    for (number, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let place = format!("{path} line {}", number + 1);
        if !binary && std::str::from_utf8(line).is_err() {
            return Err(Complaint::new(place, "is not UTF-8, as a text message must be; add --binary"));
        }
        if !line.is_empty() {
            all.push(Content { bytes: line.to_vec(), place, binary, slots });
        }
    }
    if all.is_empty() {
        return Err(Complaint::new("--data-file", format!("{path} holds no message; write one on each line")));
    }
    Ok(all)
}

fn from_hex(text: &str) -> Result<Vec<u8>, Complaint> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let wrong = || {
        Complaint::new(
            "--data-hex",
            format!("\"{text}\" is no hexadecimal text; write two digits a byte, as in 00ff1a"),
        )
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
