//! Requests: command lines encoded once, with words containing slots filled at every submission.
//!
//! A command is sent as an array of bulk strings (RESP2, "Sending commands to a Redis server"). The length of a word
//! with slots is known only once it is filled, so room is reserved for the likely number of digits, and the bytes after
//! it are moved in the rare case that the number differs.

use brunt_cause::complaint;
use brunt_contract::{OutputBuffer, SlotContext, UsageError};

use super::commands::{self, CommandWord, QuoteStyle};
use brunt_values::template::reserved_digits::{TRIAL, digit_count, write_number};
use brunt_values::template::{Notation, SlotScope, Template};

/// Commands that receive no reply, or more than one.
const STREAMING: [&str; 9] = [
    "SUBSCRIBE",
    "PSUBSCRIBE",
    "SSUBSCRIBE",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SUNSUBSCRIBE",
    "MONITOR",
    "SYNC",
    "PSYNC",
];

/// An exchange ready to be sent: one command or several.
#[derive(Debug)]
pub struct RedisRequest {
    /// Bytes up to the first word with slots.
    start: Box<[u8]>,
    /// Words with slots, and the bytes after each.
    filled: Box<[WordTemplate]>,
    /// Number of replies that end the exchange.
    pub(super) replies: u32,
    /// Index of the checks of its replies.
    pub(super) checks: u16,
}

/// A word with slots.
#[derive(Debug)]
struct WordTemplate {
    pieces: Box<[Template]>,
    /// Likely number of digits of its length, found by filling the word once in advance.
    digits: usize,
    /// Salt that makes the random slots of different words differ.
    salt: u64,
    /// Bytes after the word, up to the next one with slots.
    after: Box<[u8]>,
}

impl RedisRequest {
    /// Compiles a command line; `place` is the option or line that it comes from.
    ///
    /// # Errors
    /// Returns what is wrong with the line or with a slot.
    pub fn compile(line: &str, place: &str) -> Result<RedisRequest, UsageError> {
        RedisRequest::compile_with(line, place, &[])
    }

    /// Like [`RedisRequest::compile`], with the variables of a flow.
    ///
    /// # Errors
    /// See [`RedisRequest::compile`].
    pub fn compile_with(line: &str, place: &str, variables: &[String]) -> Result<RedisRequest, UsageError> {
        let scope = SlotScope { variables, ..SlotScope::default() };
        let commands = commands::split_commands(line, place)?;
        let mut building = RedisRequestBuilder::default();
        for command in &commands {
            reject_streaming(command, line, place)?;
            building.constant_bytes().extend_from_slice(format!("*{}\r\n", command.len()).as_bytes());
            for word in command {
                building.word(word, place, scope)?;
            }
        }
        building.end_filled();
        let RedisRequestBuilder { start, filled, .. } = building;
        let mut request =
            RedisRequest { start: start.into(), filled: filled.into(), replies: commands.len() as u32, checks: 0 };
        let mut scratch = Vec::new();
        for word in &mut request.filled {
            scratch.clear();
            word.fill(&TRIAL, &mut scratch);
            word.digits = digit_count(scratch.len());
        }
        Ok(request)
    }

    /// Encodes a command of these words, without slots.
    pub fn encode_words(words: &[&[u8]]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        words.iter().for_each(|word| put_bulk_string(word, &mut bytes));
        bytes
    }

    /// Returns the number of requests after which the data of its slots is used up.
    pub fn data_end(&self) -> Option<u64> {
        self.filled.iter().flat_map(|word| &word.pieces).filter_map(Template::data_end).min()
    }

    /// Appends the bytes with the slots filled.
    #[inline]
    pub fn append(&self, context: &SlotContext, out: &mut OutputBuffer) {
        out.put(&self.start);
        if !self.filled.is_empty() {
            let out = out.buffer();
            for word in &self.filled {
                word.append(context, out);
                out.extend_from_slice(&word.after);
            }
        }
    }
}

impl RedisRequest {
    /// Formats the commands for display, separated by backquotes: `SET a b`; `AUTH "a b"`. Masking must find secrets in
    /// the result, so each command begins with its canonical name, and no word contains a backquote or a line break.
    pub fn readable(&self) -> String {
        let mut out = OutputBuffer::default();
        self.append(&SlotContext::default(), &mut out);
        let (mut said, mut rest) = (String::new(), out.bytes());
        while let Some((kind, length, behind)) = head_of(rest) {
            rest = behind;
            if kind == b'*' {
                said += if said.is_empty() { "" } else { "`; `" };
                continue;
            }
            let (word, behind) = rest.split_at(length.min(rest.len()));
            rest = behind.strip_prefix(b"\r\n").unwrap_or_default();
            let word = String::from_utf8_lossy(word);
            let is_name = said.is_empty() || said.ends_with('`');
            said += if is_name { "" } else { " " };
            let is_plain = |b: u8| b.is_ascii_graphic() && !b"`\"';\\".contains(&b);
            said += &match () {
                () if word.is_empty() || !word.bytes().all(is_plain) => {
                    format!("\"{}\"", word.escape_debug()).replace('`', "\\x60")
                }
                () if is_name => word.to_ascii_uppercase(),
                () => word.into_owned(),
            };
        }
        said
    }
}

impl RedisRequest {
    /// Returns the kind of the request for metrics: `SET`; `MULTI + SET + EXEC`. Repeated commands of one kind are
    /// merged.
    pub fn kind(&self) -> String {
        let named = self.readable();
        let mut kinds: Vec<&str> = named.split("`; `").filter_map(|command| command.split(' ').next()).collect();
        kinds.dedup();
        kinds.join(" + ")
    }
}

/// Parses a line such as `$3`; returns the type, the number and the remaining bytes.
fn head_of(bytes: &[u8]) -> Option<(u8, usize, &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let number = std::str::from_utf8(bytes.get(1..end)?).ok()?.parse().ok()?;
    Some((bytes[0], number, &bytes[end + 2..]))
}

impl WordTemplate {
    #[inline]
    fn fill(&self, context: &SlotContext, out: &mut Vec<u8>) {
        let mut fill = SlotContext { random: context.random ^ self.salt, ..*context };
        for piece in &self.pieces {
            piece.fill(&fill, out);
            fill.random = fill.random.rotate_left(23);
        }
    }

    /// Appends `$LENGTH CR LF` and the word.
    #[inline]
    fn append(&self, context: &SlotContext, out: &mut Vec<u8>) {
        out.push(b'$');
        let length_at = out.len();
        out.resize(length_at + self.digits, 0);
        out.extend_from_slice(b"\r\n");
        let from = out.len();
        self.fill(context, out);
        write_number(out.len() - from, length_at, self.digits, out);
    }
}

#[derive(Default)]
struct RedisRequestBuilder {
    start: Vec<u8>,
    filled: Vec<WordTemplate>,
    /// Constant bytes after the last word with slots.
    after: Vec<u8>,
}

impl RedisRequestBuilder {
    /// Returns the buffer to which constant bytes are appended.
    fn constant_bytes(&mut self) -> &mut Vec<u8> {
        if self.filled.is_empty() { &mut self.start } else { &mut self.after }
    }

    fn word(&mut self, word: &CommandWord, place: &str, scope: SlotScope<'_>) -> Result<(), UsageError> {
        let pieces = word
            .iter()
            .map(|piece| match piece.quote {
                QuoteStyle::Bare => Template::parse_scoped(&piece.text, place, Notation::Plain, scope),
                QuoteStyle::Double => Template::parse_scoped(&piece.text, place, Notation::Escaped, scope),
                QuoteStyle::Single => Ok(Template::fixed(piece.text.as_bytes())),
            })
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(parts) = pieces.iter().map(Template::fixed_bytes).collect::<Option<Vec<_>>>() {
            put_bulk_string(&parts.concat(), self.constant_bytes());
            return Ok(());
        }
        self.end_filled();
        let salt = (self.filled.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.filled.push(WordTemplate { pieces: pieces.into(), digits: 1, salt, after: Box::default() });
        self.after = b"\r\n".to_vec();
        Ok(())
    }

    fn end_filled(&mut self) {
        if let Some(last) = self.filled.last_mut() {
            last.after = std::mem::take(&mut self.after).into();
        }
    }
}

fn put_bulk_string(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn reject_streaming(command: &[CommandWord], line: &str, place: &str) -> Result<(), UsageError> {
    let text = |at: usize| {
        let word: Option<String> = command.get(at).map(|word| word.iter().map(|piece| piece.text.as_str()).collect());
        word.unwrap_or_default().to_ascii_uppercase()
    };
    let (name, second) = (text(0), text(1));
    if name.is_empty() {
        return Err(UsageError::new(
            place,
            complaint!(
                "\"{line}\": a command has no name; use, for example, GET key",
                "“{line}”：命令没有名称；请写，例如 GET key"
            ),
        ));
    }
    if STREAMING.contains(&name.as_str()) {
        let trouble = complaint!(
            "\"{line}\": {name} gets an endless stream of messages and cannot be measured as an exchange; use \
                another command",
            "“{line}”：{name} 会收到无尽的消息流，无法作为一次请求应答来测量；请用其他命令"
        );
        return Err(UsageError::new(place, trouble));
    }
    if name == "CLIENT" && second == "REPLY" {
        let trouble = complaint!(
            "\"{line}\": CLIENT REPLY makes the server silent, and every exchange would time out; leave it out",
            "“{line}”：CLIENT REPLY 会让服务器不再应答，每次请求都会超时；请去掉"
        );
        return Err(UsageError::new(place, trouble));
    }
    Ok(())
}

/// Returns the command of a heartbeat.
pub fn heartbeat() -> &'static [u8] {
    b"*1\r\n$4\r\nPING\r\n"
}
