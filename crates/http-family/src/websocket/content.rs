//! The messages that a run sends: from `--data`, `--data-file`, `--data-hex` and `--data-base64`.
//!
//! Text may have slots (`{counter}`, `{random 16}`), unless `--no-slots` is given. A brace that does not begin a slot
//! is literal, so JSON needs no quoting. With `--escapes`, a backslash begins an escape.

use base64::Engine as _;
use brunt_cause::{Complaint, complaint};
use brunt_contract::{ProtocolConfig, UsageError};

use crate::placeholders::NO_SLOTS;
use brunt_values::file;
use brunt_values::template::{Notation, SlotScope, Template, TemplateText};

/// The slots allowed in messages.
pub const SCOPE: SlotScope<'static> = SlotScope { sequence: true, captured: None, variables: &[] };
/// Returns the notation of message texts.
pub fn notation(config: &ProtocolConfig) -> Notation {
    if config.switch("escapes") { Notation::Escaped } else { Notation::Plain }
}

/// A message as given by the user, and the option or line that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageSource {
    /// Content of the message.
    pub bytes: Vec<u8>,
    /// The option or line that the message came from.
    pub place: String,
    /// Set if the bytes are sent as a binary message.
    pub binary: bool,
    /// Set if the bytes may have slots.
    pub slots: bool,
    /// Notation of the bytes.
    pub notation: Notation,
}

impl MessageSource {
    /// Creates a placeholder for runs without messages; it is never sent.
    pub fn placeholder() -> MessageSource {
        MessageSource {
            bytes: Vec::new(),
            place: String::new(),
            binary: false,
            slots: false,
            notation: Notation::Plain,
        }
    }

    /// Creates a message from the text of an option.
    pub fn of_text(text: &str, place: &str, config: &ProtocolConfig) -> MessageSource {
        MessageSource {
            bytes: text.as_bytes().to_vec(),
            place: place.into(),
            binary: config.switch("binary"),
            slots: !config.switch(NO_SLOTS.name),
            notation: notation(config),
        }
    }

    /// Compiles the message with its slots. If the text expected in the answer has slots (`expected`), it follows after
    /// a mark.
    ///
    /// # Errors
    /// Fails if a slot is invalid.
    pub fn template(&self, scope: SlotScope<'_>, expected: Option<&str>) -> Result<Template, UsageError> {
        let text = std::str::from_utf8(&self.bytes).ok().filter(|_| self.slots);
        let bytes = match text {
            Some(text) if expected.is_none() => return Template::parse_text(text, &self.place, self.notation, scope),
            Some(text) => text.as_bytes().to_vec(),
            None => self.plain()?,
        };
        let Some(expected) = expected else { return Ok(Template::fixed(bytes)) };
        let own = TemplateText { bytes: &bytes, slots: text.is_some(), place: &self.place };
        let behind = TemplateText { bytes: expected.as_bytes(), slots: true, place: "--expect-body" };
        Template::parse_pair([own, behind], self.notation, scope)
    }

    /// Returns the bytes of a message without slots.
    fn plain(&self) -> Result<Vec<u8>, UsageError> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => self.notation.decode(text).map_err(|trouble| UsageError::new(&self.place, trouble)),
            Err(_) => Ok(self.bytes.clone()),
        }
    }

    /// Checks the result of escapes: `payload` is the message as sent.
    ///
    /// # Errors
    /// Fails for a text message that is not UTF-8.
    pub fn check(&self, payload: &[u8]) -> Result<(), UsageError> {
        let odd = !self.binary && self.notation == Notation::Escaped && std::str::from_utf8(payload).is_err();
        if odd { Err(UsageError::new(&self.place, no_text())) } else { Ok(()) }
    }
}

/// Returns all messages of a run; empty if connections are only held open.
///
/// # Errors
/// Fails with the first invalid option or line.
pub fn contents(config: &ProtocolConfig) -> Result<Vec<MessageSource>, UsageError> {
    let mut all: Vec<MessageSource> =
        config.values("data").iter().map(|data| MessageSource::of_text(data, "--data", config)).collect();
    let fixed =
        |bytes, place: &str| MessageSource { bytes, binary: true, place: place.into(), ..MessageSource::placeholder() };
    for hex in config.values("data-hex") {
        all.push(fixed(from_hex(hex)?, "--data-hex"));
    }
    for base64 in config.values("data-base64") {
        let bytes = base64::engine::general_purpose::STANDARD.decode(base64).map_err(|trouble| {
            UsageError::new(
                "--data-base64",
                complaint!(
                    "\"{base64}\" is not base64 ({trouble}); use, for example, AAEC",
                    "“{base64}”不是 base64（{trouble}）；请写，例如 AAEC"
                ),
            )
        })?;
        all.push(fixed(bytes, "--data-base64"));
    }
    if let Some(path) = config.value("data-file") {
        all.extend(from_file(path, config)?);
    }
    Ok(all)
}

/// Reads one message per line; empty lines are skipped.
fn from_file(path: &str, config: &ProtocolConfig) -> Result<Vec<MessageSource>, UsageError> {
    let bytes = file::body("--data-file", path)?;
    let mut all = Vec::new();
    for (number, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let place = format!("{path} line {}", number + 1);
        if !config.switch("binary") && std::str::from_utf8(line).is_err() {
            return Err(UsageError::new(place, no_text()));
        }
        if !line.is_empty() {
            all.push(MessageSource { bytes: line.to_vec(), ..MessageSource::of_text("", &place, config) });
        }
    }
    if all.is_empty() {
        return Err(UsageError::new(
            "--data-file",
            complaint!("{path} has no messages; write one per line", "{path} 中没有消息；请每行写一条"),
        ));
    }
    Ok(all)
}

fn from_hex(text: &str) -> Result<Vec<u8>, UsageError> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let wrong = || {
        UsageError::new(
            "--data-hex",
            complaint!(
                "\"{text}\" is not hexadecimal; write two digits per byte, as in 00ff1a",
                "“{text}”不是十六进制；每字节写两位，例如 00ff1a"
            ),
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

fn no_text() -> Complaint {
    complaint!("is not UTF-8, as a text message must be; add --binary", "不是 UTF-8，而文本消息必须是；请加上 --binary")
}
