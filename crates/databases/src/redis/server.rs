//! The server session on one connection: commands are reported as they complete, and replies are sent in the order of
//! the commands.
//!
//! It stores no data. The caller answers with a status and a body, which are encoded in RESP: the body as a string, 404
//! as nil, other statuses of 400 and above as an error. INCR counts per connection. This is not a real server; it
//! serves the simulation and the tests of the client.

use std::collections::{BTreeMap, VecDeque};

use brunt_contract::{OutputBuffer, ProtocolError, RequestPart, ServerRequest, ServerResponse, ServerSession};
use memchr::memchr;

/// Maximum size of a command, in bytes.
const COMMAND_BOUND: usize = 1 << 20;
/// Maximum number of words of a command.
const WORDS_BOUND: usize = 1024;

/// The kind of reply that a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyKind {
    /// `+PONG`
    Pong,
    /// A string.
    Text,
    /// A number that grows with each command.
    Count,
    /// The map in answer to HELLO.
    Hello,
    /// `+OK`
    Done,
}

/// The server side of a Redis connection.
#[derive(Debug, Default)]
pub struct RedisServer {
    /// Incomplete command.
    kept: Vec<u8>,
    /// Id of the next command received.
    next_id: u32,
    /// Id of the next reply to send.
    next_reply: u32,
    /// Kinds of the pending replies, oldest first.
    pending_kinds: VecDeque<ReplyKind>,
    /// Replies that wait for their turn.
    held_replies: BTreeMap<u32, Vec<u8>>,
    counted: u64,
    over: bool,
}

impl RedisServer {
    /// Creates the state of a fresh connection.
    pub fn new() -> RedisServer {
        RedisServer::default()
    }

    fn encode(&mut self, kind: ReplyKind, reply: &ServerResponse<'_>) -> Vec<u8> {
        match kind {
            _ if reply.status == 404 => b"$-1\r\n".to_vec(),
            _ if reply.status >= 400 => format!("-ERR status {}\r\n", reply.status).into_bytes(),
            ReplyKind::Pong => b"+PONG\r\n".to_vec(),
            ReplyKind::Done => b"+OK\r\n".to_vec(),
            ReplyKind::Hello => b"%1\r\n$5\r\nproto\r\n:3\r\n".to_vec(),
            ReplyKind::Text => [format!("${}\r\n", reply.body.len()).as_bytes(), reply.body, b"\r\n"].concat(),
            ReplyKind::Count => {
                self.counted += 1;
                format!(":{}\r\n", self.counted).into_bytes()
            }
        }
    }

    /// Reports the first command of `bytes` and returns its size, or `None` if it is incomplete.
    fn read(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<Option<usize>, ProtocolError> {
        let mut words = Vec::new();
        let Some(used) = command(bytes, &mut words)? else { return Ok(None) };
        let Some(name) = words.first() else { return Ok(Some(used)) };
        let kind = match &name.to_ascii_uppercase()[..] {
            b"PING" if words.len() == 1 => ReplyKind::Pong,
            b"GET" | b"ECHO" | b"PING" => ReplyKind::Text,
            b"INCR" | b"INCRBY" | b"DECR" => ReplyKind::Count,
            b"HELLO" => ReplyKind::Hello,
            _ => ReplyKind::Done,
        };
        let text = |at: usize| words.get(at).and_then(|word| std::str::from_utf8(word).ok()).unwrap_or_default();
        let body = words.get(2).copied().unwrap_or_default();
        self.pending_kinds.push_back(kind);
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let head = &bytes[..used];
        hear(ServerRequest {
            id,
            method: text(0),
            path: text(1),
            head,
            body_bytes: body.len() as u64,
            body,
            part: RequestPart::Whole,
        });
        Ok(Some(used))
    }
}

/// Parses a command in either form (an array of strings, or words on a line) and returns its size; `None` if it is
/// incomplete.
fn command<'a>(bytes: &'a [u8], words: &mut Vec<&'a [u8]>) -> Result<Option<usize>, ProtocolError> {
    let Some((line, mut at)) = line(bytes) else { return Ok(None) };
    let Some(count) = line.strip_prefix(b"*") else {
        words.extend(line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()));
        return Ok(Some(at));
    };
    let count = number(count).filter(|n| *n <= WORDS_BOUND).ok_or(ProtocolError(brunt_cause::redis::no_words()))?;
    for _ in 0..count {
        let Some((line, used)) = self::line(&bytes[at..]) else { return Ok(None) };
        let length = line.strip_prefix(b"$").and_then(number).filter(|n| *n <= COMMAND_BOUND);
        let length = length.ok_or(ProtocolError(brunt_cause::redis::no_word_length()))?;
        at += used;
        let Some(word) = bytes.get(at..at + length + 2) else { return Ok(None) };
        if !word.ends_with(b"\r\n") {
            return Err(ProtocolError(brunt_cause::redis::wrong_word_end()));
        }
        words.push(&word[..length]);
        at += length + 2;
    }
    Ok(Some(at))
}

/// Returns the first line without its end, and its size including the end.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = memchr(b'\n', bytes)?;
    let line = &bytes[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

fn number(digits: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    text.parse().ok()
}

impl ServerSession for RedisServer {
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(ServerRequest<'_>)) -> Result<(), ProtocolError> {
        let kept = std::mem::take(&mut self.kept);
        let joined;
        let mut rest = bytes;
        if !kept.is_empty() {
            joined = [&kept[..], bytes].concat();
            rest = &joined;
        }
        while !rest.is_empty() {
            match self.read(rest, hear) {
                Ok(Some(used)) => rest = &rest[used..],
                Ok(None) if rest.len() > COMMAND_BOUND => {
                    self.over = true;
                    return Err(ProtocolError(brunt_cause::redis::long_command()));
                }
                Ok(None) => break,
                Err(broken) => {
                    self.over = true;
                    return Err(broken);
                }
            }
        }
        self.kept.extend_from_slice(rest);
        Ok(())
    }

    fn respond(&mut self, id: u32, reply: &ServerResponse<'_>, out: &mut OutputBuffer) {
        let place = id.wrapping_sub(self.next_reply) as usize;
        let Some(kind) = self.pending_kinds.get(place).copied() else { return };
        let bytes = self.encode(kind, reply);
        self.over |= reply.close;
        self.held_replies.insert(id, bytes);
        while let Some(bytes) = self.held_replies.remove(&self.next_reply) {
            out.put(&bytes);
            self.pending_kinds.pop_front();
            self.next_reply = self.next_reply.wrapping_add(1);
        }
    }

    fn is_finished(&self) -> bool {
        self.over
    }
}
