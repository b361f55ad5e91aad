//! Readable transcripts of HTTP/2 connections: control frames one per line, header lists decoded, bodies as shown by a
//! [`ContentReader`].
//!
//! A line that begins with a star describes a frame, as in curl; the other lines are its content. Bytes at the end that
//! do not form a whole frame are shown unchanged, after a line with their number. A few bytes may expand to a long
//! header list or body, so output beyond the limit is cut off.

use std::collections::BTreeMap;

use brunt_contract::MAX_SHOWN_BYTES;

use super::frames::{self, FrameHead, HEAD, PREFACE, code, setting};
use super::hpack::HpackDecoder;
use brunt_values::verify;

/// Renders the content of streams.
pub trait ContentReader {
    /// Receives a field of a header list.
    fn field(&mut self, _stream: u32, _name: &[u8], _value: &[u8]) {}
    /// Returns a remark on the header list just read, in one line.
    fn note(&mut self) -> Option<String> {
        None
    }
    /// Appends a piece of a body in readable form.
    fn body(&mut self, stream: u32, bytes: &[u8], text: &mut Vec<u8>);
    /// Appends what can only be rendered from a whole body, for a stream that is over, or for all streams (`None`).
    fn end(&mut self, _stream: Option<u32>, _text: &mut Vec<u8>) {}
}

/// Maximum length of a `content-encoding` that is recognized, in bytes, and maximum number of such streams at a time.
const CODING: usize = 64;
const STREAMS: usize = 1024;

/// Renders bodies unchanged, except that compressed bodies are decompressed.
#[derive(Clone, Debug, Default)]
pub struct DecodedBodies {
    /// Per stream with a compressed body: its content-encoding field in HTTP/1 syntax, and the body so far.
    coded: BTreeMap<u32, (Vec<u8>, Vec<u8>)>,
}

impl ContentReader for DecodedBodies {
    fn field(&mut self, stream: u32, name: &[u8], value: &[u8]) {
        if name == b"content-encoding" && value.len() <= CODING && self.coded.len() < STREAMS {
            let head = [b"\ncontent-encoding: ", value, b"\n"].concat();
            self.coded.insert(stream, (head, Vec::new()));
        }
    }

    fn body(&mut self, stream: u32, bytes: &[u8], text: &mut Vec<u8>) {
        match self.coded.get_mut(&stream) {
            Some((_, body)) => body.extend_from_slice(bytes),
            None => text.extend_from_slice(bytes),
        }
    }

    fn end(&mut self, stream: Option<u32>, text: &mut Vec<u8>) {
        let over: Vec<u32> = stream.map_or_else(|| self.coded.keys().copied().collect(), |stream| vec![stream]);
        for (head, body) in over.into_iter().filter_map(|stream| self.coded.remove(&stream)) {
            match verify::decode_body(&head, &body) {
                Some((coding, plain)) => {
                    let line = format!("* {} bytes of {coding}, decoded to {}:\n", body.len(), plain.len());
                    text.extend(line.bytes().chain(plain));
                }
                None => text.extend_from_slice(&body),
            }
        }
    }
}

/// Renders all bytes that one end sent, from the first one on.
pub fn readable(bytes: &[u8], reader: &mut impl ContentReader) -> Vec<u8> {
    readable_on(bytes, &mut HpackDecoder::default(), reader)
}

/// Renders the next bytes that one end sent, on a connection whose header lists `decoder` has decoded so far.
pub fn readable_on(bytes: &[u8], decoder: &mut HpackDecoder, reader: &mut impl ContentReader) -> Vec<u8> {
    let mut shown = FrameTranscript { text: Vec::new(), decoder, block: Vec::new(), reader };
    let mut rest = bytes;
    if let Some(more) = rest.strip_prefix(PREFACE) {
        shown.line("the preface of HTTP/2");
        rest = more;
    }
    while let Some((head, more)) = rest.split_first_chunk::<HEAD>() {
        let head = FrameHead::read(head);
        let Some((payload, more)) = more.split_at_checked(head.length).filter(|_| shown.text.len() < MAX_SHOWN_BYTES)
        else {
            break;
        };
        shown.frame(head, payload);
        rest = more;
    }
    shown.reader.end(None, &mut shown.text);
    shown.end_line();
    if shown.text.len() >= MAX_SHOWN_BYTES {
        shown.text.truncate(MAX_SHOWN_BYTES);
        shown.line("the rest is not shown");
    } else if !rest.is_empty() {
        shown.line(&format!("{} bytes of an incomplete frame:", rest.len()));
        shown.text.extend_from_slice(rest);
        shown.end_line();
    }
    shown.text
}

struct FrameTranscript<'a, R> {
    text: Vec<u8>,
    decoder: &'a mut HpackDecoder,
    /// The beginning of a header block.
    block: Vec<u8>,
    reader: &'a mut R,
}

impl<R: ContentReader> FrameTranscript<'_, R> {
    fn line(&mut self, text: &str) {
        self.text.extend_from_slice(format!("* {text}\n").as_bytes());
    }

    fn end_line(&mut self) {
        if self.text.last().is_some_and(|&byte| byte != b'\n') {
            self.text.push(b'\n');
        }
    }

    fn frame(&mut self, head: FrameHead, payload: &[u8]) {
        self.line(&title(head, payload));
        match head.kind {
            frames::HEADERS | frames::CONTINUATION => {
                let content = match head.kind {
                    frames::HEADERS => frames::without_padding(head, payload).unwrap_or_default(),
                    _ => payload,
                };
                let skipped = if head.kind == frames::HEADERS && head.has(frames::PRIORITIZED) { 5 } else { 0 };
                self.block.extend_from_slice(content.get(skipped..).unwrap_or_default());
                if head.has(frames::END_HEADERS) {
                    self.list(head.stream);
                }
            }
            frames::DATA => {
                let content = frames::without_padding(head, payload).unwrap_or_default();
                self.reader.body(head.stream, content, &mut self.text);
                self.end_line();
            }
            _ => {}
        }
        if matches!(head.kind, frames::DATA | frames::HEADERS) && head.has(frames::END_STREAM) {
            self.reader.end(Some(head.stream), &mut self.text);
            self.end_line();
        }
    }

    /// Renders a header list, with its pseudo-header fields as an HTTP/1.1 start line.
    fn list(&mut self, stream: u32) {
        let block = std::mem::take(&mut self.block);
        let (mut first, mut lines) = ([const { String::new() }; 3], Vec::new());
        let mut fields = self.decoder.read(&block);
        let trouble = loop {
            if self.text.len() + lines.len() > MAX_SHOWN_BYTES {
                break Some("the list goes on".into());
            }
            let (name, value) = match fields.next() {
                Ok(Some(field)) => field,
                Ok(None) => break None,
                Err(malformed) => break Some(malformed.0.en()),
            };
            self.reader.field(stream, name, value);
            let text = String::from_utf8_lossy(value).into_owned();
            match name {
                b":method" => first[0] = text,
                b":path" => first[1] = text,
                b":status" => first[2] = text,
                _ => {
                    lines.extend_from_slice(name);
                    lines.extend_from_slice(format!(": {text}\n").as_bytes());
                }
            }
        };
        match first {
            [method, path, _] if !method.is_empty() => {
                self.text.extend_from_slice(format!("{method} {path} HTTP/2\n").as_bytes());
            }
            [_, _, status] if !status.is_empty() => {
                self.text.extend_from_slice(format!("HTTP/2 {status}\n").as_bytes());
            }
            _ => {}
        }
        self.text.extend_from_slice(&lines);
        if let Some(note) = self.reader.note() {
            self.line(&note);
        }
        match trouble {
            Some(why) => self.line(&why),
            None => self.text.push(b'\n'),
        }
    }
}

/// Describes a frame in one line.
fn title(head: FrameHead, payload: &[u8]) -> String {
    let number = |at: usize| payload.get(at..at + 4).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let acknowledged = if head.has(frames::ACK) { ", ACK" } else { "" };
    let text = match head.kind {
        frames::DATA => format!("DATA, {} bytes", head.length),
        frames::HEADERS => "HEADERS".to_owned(),
        frames::PRIORITY => "PRIORITY".to_owned(),
        frames::RST_STREAM => format!("RST_STREAM: {}", code::name(number(0))),
        frames::SETTINGS => format!("SETTINGS{acknowledged}{}", settings(payload)),
        frames::PUSH_PROMISE => "PUSH_PROMISE".to_owned(),
        frames::PING => format!("PING{acknowledged}"),
        frames::GOAWAY => {
            let said = String::from_utf8_lossy(payload.get(8..).unwrap_or_default());
            let said = if said.is_empty() { String::new() } else { format!(": {}", said.escape_default()) };
            format!("GOAWAY: {}, last stream {}{said}", code::name(number(4)), number(0) & 0x7fff_ffff)
        }
        frames::WINDOW_UPDATE => format!("WINDOW_UPDATE: {} more", number(0) & 0x7fff_ffff),
        frames::CONTINUATION => "CONTINUATION".to_owned(),
        other => format!("a frame of type {other}, {} bytes", head.length),
    };
    let ends = matches!(head.kind, frames::DATA | frames::HEADERS) && head.has(frames::END_STREAM);
    let place = if head.stream == 0 { String::new() } else { format!("stream {}: ", head.stream) };
    format!("{place}{text}{}", if ends { ", END_STREAM" } else { "" })
}

fn settings(payload: &[u8]) -> String {
    let all: Vec<String> = frames::settings(payload)
        .map(|(number, value)| match number {
            setting::HEADER_TABLE_SIZE => format!("HEADER_TABLE_SIZE={value}"),
            setting::ENABLE_PUSH => format!("ENABLE_PUSH={value}"),
            setting::MAX_CONCURRENT_STREAMS => format!("MAX_CONCURRENT_STREAMS={value}"),
            setting::INITIAL_WINDOW_SIZE => format!("INITIAL_WINDOW_SIZE={value}"),
            setting::MAX_FRAME_SIZE => format!("MAX_FRAME_SIZE={value}"),
            setting::MAX_HEADER_LIST_SIZE => format!("MAX_HEADER_LIST_SIZE={value}"),
            other => format!("{other}={value}"),
        })
        .collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
}
