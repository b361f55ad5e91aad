//! Readable transcripts of connections: frames as for HTTP/2, messages as JSON if their type is known.

use std::collections::BTreeMap;

use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor};

use super::compressed::MessageEncoding;
use super::framing::PREFIX;
use super::request::GrpcRequest;
use super::status;
use crate::http2::frames::PREFACE;
use crate::http2::hpack::HpackDecoder;
use crate::http2::transcript::{self, ContentReader};

/// State of a connection whose transcript is rendered piece by piece, step after step.
#[derive(Debug, Default)]
pub struct TranscriptState {
    methods: BTreeMap<u32, MethodDescriptor>,
    encodings: BTreeMap<(bool, u32), MessageEncoding>,
    decoders: [HpackDecoder; 2],
}

/// Renders both directions, the sent one first.
pub fn readable<'a>(
    requests: impl Iterator<Item = &'a GrpcRequest>,
    (sent, received): (&[u8], &[u8]),
    before: &mut TranscriptState,
) -> [Vec<u8>; 2] {
    if sent.starts_with(PREFACE) {
        *before = TranscriptState::default();
    }
    let known = requests.filter_map(|request| Some((&*request.path, request.method.clone()?))).collect();
    let TranscriptState { methods, encodings, decoders: [sending, receiving] } = before;
    let mut calls = CallReader { known, methods, encodings, partial: BTreeMap::new(), answers: false, status: None };
    let sent = transcript::readable_on(sent, sending, &mut calls);
    calls.partial.clear();
    calls.answers = true;
    [sent, transcript::readable_on(received, receiving, &mut calls)]
}

struct CallReader<'a> {
    known: BTreeMap<&'a str, MethodDescriptor>,
    /// The method of each stream.
    methods: &'a mut BTreeMap<u32, MethodDescriptor>,
    /// The beginning of a message, per stream.
    partial: BTreeMap<u32, Vec<u8>>,
    /// The compression of messages, by direction and stream.
    encodings: &'a mut BTreeMap<(bool, u32), MessageEncoding>,
    answers: bool,
    status: Option<u32>,
}

impl ContentReader for CallReader<'_> {
    fn field(&mut self, stream: u32, name: &[u8], value: &[u8]) {
        if name == b"grpc-status" {
            self.status = std::str::from_utf8(value).ok().and_then(|number| number.parse().ok());
        }
        if name == b"grpc-encoding" {
            self.encodings.insert((self.answers, stream), MessageEncoding::of(value));
        }
        if name == b":path"
            && let Ok(path) = std::str::from_utf8(value)
            && let Some(method) = self.known.get(path)
        {
            self.methods.insert(stream, method.clone());
        }
    }

    fn note(&mut self) -> Option<String> {
        let status = self.status.take()?;
        let (name, meaning) = (status::name(status), status::meaning(status));
        Some(match meaning {
            Some(meaning) => format!("the status is {name}: {}", meaning.en()),
            None => format!("the status is {name}"),
        })
    }

    fn body(&mut self, stream: u32, bytes: &[u8], text: &mut Vec<u8>) {
        let kind = self.methods.get(&stream).map(|m| if self.answers { m.output() } else { m.input() });
        let kept = self.partial.entry(stream).or_default();
        kept.extend_from_slice(bytes);
        while let Some(&[flag, a, b, c, d]) = kept.first_chunk::<PREFIX>() {
            let end = PREFIX + u32::from_be_bytes([a, b, c, d]) as usize;
            if kept.len() < end {
                break;
            }
            let encoding = self.encodings.get(&(self.answers, stream)).copied().unwrap_or_default();
            match (flag, encoding.decompress(&kept[PREFIX..end])) {
                (0, _) => text.extend(render(kind.as_ref(), &kept[PREFIX..end])),
                (_, Some(plain)) => text.extend(render(kind.as_ref(), &plain)),
                (_, None) => {
                    text.extend_from_slice(format!("* a compressed message of {} bytes", end - PREFIX).as_bytes());
                }
            }
            text.push(b'\n');
            kept.drain(..end);
        }
        if !kept.is_empty() {
            text.extend_from_slice(format!("* {} bytes of an incomplete message\n", kept.len()).as_bytes());
        }
    }
}

/// The largest message shown as JSON: a field of two bytes may take a hundred once decoded.
const DECODED: usize = 256 * 1024;

/// Renders a message as JSON, or unchanged if its type is unknown or it is large.
fn render(kind: Option<&MessageDescriptor>, message: &[u8]) -> Vec<u8> {
    let kind = kind.filter(|_| message.len() <= DECODED);
    let read = kind.and_then(|kind| DynamicMessage::decode(kind.clone(), message).ok());
    read.and_then(|message| serde_json::to_vec(&message).ok()).unwrap_or_else(|| message.to_vec())
}
