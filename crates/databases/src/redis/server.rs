//! The server's conversation on one connection: commands heard as they complete, replies in the order of the commands.
//!
//! It keeps no data: whoever answers says by a status and a body what a command came to, and this half says it in RESP: a
//! body as a string, 404 as nil, 400 and above as an error. INCR counts per connection. For the simulation and the tests of
//! the other half; left out: everything that a real server is for.

use std::collections::{BTreeMap, VecDeque};

use memchr::memchr;
use wire::{Ask, Broken, Extent, Out, Reply, ServerSession};

/// The largest command.
const COMMAND_BOUND: usize = 1 << 20;
/// The most words of a command.
const WORDS_BOUND: usize = 1024;

/// What kind of reply a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `+PONG`
    Pong,
    /// A string.
    Text,
    /// A number that grows.
    Count,
    /// The map that answers HELLO.
    Hello,
    /// `+OK`
    Done,
}

/// A conversation with a client of Redis, server side.
#[derive(Debug, Default)]
pub struct RedisServer {
    /// A command that is not whole.
    kept: Vec<u8>,
    /// The id of the next command heard.
    heard: u32,
    /// The id of the next reply to leave.
    due: u32,
    /// Kinds of the replies owed, the oldest first.
    owed: VecDeque<Kind>,
    /// Replies that wait for their turn.
    held: BTreeMap<u32, Vec<u8>>,
    counted: u64,
    over: bool,
}

impl RedisServer {
    /// A conversation on a fresh connection.
    pub fn new() -> RedisServer {
        RedisServer::default()
    }

    fn encode(&mut self, kind: Kind, reply: &Reply<'_>) -> Vec<u8> {
        match kind {
            _ if reply.status == 404 => b"$-1\r\n".to_vec(),
            _ if reply.status >= 400 => format!("-ERR status {}\r\n", reply.status).into_bytes(),
            Kind::Pong => b"+PONG\r\n".to_vec(),
            Kind::Done => b"+OK\r\n".to_vec(),
            Kind::Hello => b"%1\r\n$5\r\nproto\r\n:3\r\n".to_vec(),
            Kind::Text => [format!("${}\r\n", reply.body.len()).as_bytes(), reply.body, b"\r\n"].concat(),
            Kind::Count => {
                self.counted += 1;
                format!(":{}\r\n", self.counted).into_bytes()
            }
        }
    }

    /// Tells of the first command of `bytes`; tells how many bytes it took, or None where it is not whole.
    fn read(&mut self, bytes: &[u8], hear: &mut dyn FnMut(Ask<'_>)) -> Result<Option<usize>, Broken> {
        let mut words = Vec::new();
        let Some(used) = command(bytes, &mut words)? else { return Ok(None) };
        let Some(name) = words.first() else { return Ok(Some(used)) };
        let kind = match &name.to_ascii_uppercase()[..] {
            b"PING" if words.len() == 1 => Kind::Pong,
            b"GET" | b"ECHO" | b"PING" => Kind::Text,
            b"INCR" | b"INCRBY" | b"DECR" => Kind::Count,
            b"HELLO" => Kind::Hello,
            _ => Kind::Done,
        };
        let text = |at: usize| words.get(at).and_then(|word| std::str::from_utf8(word).ok()).unwrap_or_default();
        let body = words.get(2).copied().unwrap_or_default();
        self.owed.push_back(kind);
        let id = self.heard;
        self.heard = id.wrapping_add(1);
        let head = &bytes[..used];
        hear(Ask {
            id,
            method: text(0),
            path: text(1),
            head,
            body_bytes: body.len() as u64,
            body,
            extent: Extent::Whole,
        });
        Ok(Some(used))
    }
}

/// Reads a command in either form (an array of strings, or words on a line); None where it is not whole.
fn command<'a>(bytes: &'a [u8], words: &mut Vec<&'a [u8]>) -> Result<Option<usize>, Broken> {
    let Some((line, mut at)) = line(bytes) else { return Ok(None) };
    let Some(count) = line.strip_prefix(b"*") else {
        words.extend(line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()));
        return Ok(Some(at));
    };
    let count = number(count).filter(|n| *n <= WORDS_BOUND).ok_or(Broken(cause::redis::no_words()))?;
    for _ in 0..count {
        let Some((line, used)) = self::line(&bytes[at..]) else { return Ok(None) };
        let length = line.strip_prefix(b"$").and_then(number).filter(|n| *n <= COMMAND_BOUND);
        let length = length.ok_or(Broken(cause::redis::no_word_length()))?;
        at += used;
        let Some(word) = bytes.get(at..at + length + 2) else { return Ok(None) };
        if !word.ends_with(b"\r\n") {
            return Err(Broken(cause::redis::wrong_word_end()));
        }
        words.push(&word[..length]);
        at += length + 2;
    }
    Ok(Some(at))
}

/// The first line without its end, and how many bytes it takes.
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
    fn receive(&mut self, bytes: &[u8], hear: &mut dyn FnMut(Ask<'_>)) -> Result<(), Broken> {
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
                    return Err(Broken(cause::redis::long_command()));
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

    fn answer(&mut self, id: u32, reply: &Reply<'_>, out: &mut Out) {
        let place = id.wrapping_sub(self.due) as usize;
        let Some(kind) = self.owed.get(place).copied() else { return };
        let bytes = self.encode(kind, reply);
        self.over |= reply.close;
        self.held.insert(id, bytes);
        while let Some(bytes) = self.held.remove(&self.due) {
            out.put(&bytes);
            self.owed.pop_front();
            self.due = self.due.wrapping_add(1);
        }
    }

    fn over(&self) -> bool {
        self.over
    }
}
