//! Filling of templates: pieces are appended in order. Content that a function is applied to is appended temporarily
//! and then replaced by the result, so that no separate buffer is needed.

use base64::Engine as _;
use wire::Fill;

use super::encoding::{json, percent};
use super::piece::{Function, MOST_PATCHES, Part, Piece, Program};

/// The state of filling one request.
struct Filling<'a> {
    parts: &'a [Part],
    fill: &'a Fill<'a>,
    /// Offsets of the places for patches.
    places: [usize; MOST_PATCHES],
    /// Offset of each mark.
    marks: &'a mut [usize],
    captured: Captured<'a>,
}

/// The captured groups of a pattern in a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Captured<'a> {
    /// Bytes of the message.
    pub text: &'a [u8],
    /// Start and end offset of each group; the first is the whole match.
    pub groups: &'a [(u32, u32)],
}

impl<'a> Captured<'a> {
    /// Returns the text of a group, empty if the group did not take part in the match.
    fn group(self, number: usize) -> &'a [u8] {
        let span = self.groups.get(number);
        span.and_then(|(from, to)| self.text.get(*from as usize..*to as usize)).unwrap_or_default()
    }
}

/// Appends a filled template.
pub fn program(program: &Program, fill: &Fill, out: &mut Vec<u8>) {
    marked(program, (fill, Captured::default()), out, &mut []);
}

/// Like [`program`], and records the offset of each mark.
#[inline]
pub fn marked(program: &Program, (fill, captured): (&Fill, Captured<'_>), out: &mut Vec<u8>, marks: &mut [usize]) {
    Filling { parts: &program.parts, fill, places: [0; MOST_PATCHES], marks, captured }.put(&program.pieces, out);
}

impl Filling<'_> {
    fn put(&mut self, pieces: &[Piece], out: &mut Vec<u8>) {
        for piece in pieces {
            match piece {
                Piece::Bytes(bytes) => out.extend_from_slice(bytes),
                Piece::Value(value) => value.put(self.fill, out),
                Piece::Part(number) => self.part(*number, out),
                Piece::Made(made) => {
                    let from = out.len();
                    self.put(&made.content, out);
                    self.make(&made.function, from, out);
                }
                Piece::Place { place, size } => {
                    self.places[*place] = out.len();
                    out.resize(out.len() + size, 0);
                }
                Piece::Mark(mark) => {
                    if let Some(mark) = self.marks.get_mut(*mark) {
                        *mark = out.len();
                    }
                }
                Piece::Captured(group) => out.extend_from_slice(self.captured.group(*group)),
                // Compiled templates contain no names.
                Piece::Name { .. } => {}
            }
        }
    }

    fn part(&mut self, number: usize, out: &mut Vec<u8>) {
        let parts = self.parts;
        let part = &parts[number];
        let from = out.len();
        self.put(&part.pieces, out);
        for patch in &part.patches {
            let at = self.places[patch.place];
            let end = out.len();
            out.extend_from_within(from..end);
            self.make(&patch.function, end, out);
            // Only the low digits are kept if the number does not fit.
            let low = out.len() - patch.size;
            out.copy_within(low.., at);
            out.truncate(end);
        }
    }

    /// Replaces the bytes from `from` on by the result of a function of them.
    fn make(&mut self, function: &Function, from: usize, out: &mut Vec<u8>) {
        match function {
            Function::Length { format, add } => {
                let length = ((out.len() - from) as i64).saturating_add(*add).max(0);
                out.truncate(from);
                format.put(length as u64, out);
            }
            Function::Sum { sum, format } => {
                let sum = sum.of(&out[from..]);
                out.truncate(from);
                format.put(sum, out);
            }
            Function::Digest { digest, key: None } => {
                let sum = digest.of(&out[from..], &[]);
                out.truncate(from);
                out.extend_from_slice(&sum[..digest.size()]);
            }
            Function::Digest { digest, key: Some(key) } => {
                let end = out.len();
                self.put(key, out);
                let (content, key) = out[from..].split_at(end - from);
                let sum = digest.keyed(key, content);
                out.truncate(from);
                out.extend_from_slice(&sum[..digest.size()]);
            }
            Function::Hex => hex(from, out),
            Function::Base64 => base64(from, out),
            Function::Url => percent(from, out, |b| !b.is_ascii_alphanumeric() && !b"-._~".contains(&b)),
            Function::UrlSafe => percent(from, out, no_url),
            Function::LineSafe => out[from..].iter_mut().filter(|b| ends_line(**b)).for_each(|b| *b = b' '),
            Function::Json => json(from, out),
            Function::Change(change) => change.make(from, out),
            Function::Pad { size, with } => out.resize(out.len().max(from + size), *with),
            Function::Xor { other } => {
                let second = out.len();
                self.put(other, out);
                let (first, rest) = out[from..].split_at_mut(second - from);
                let (long, short) = if first.len() >= rest.len() { (first, rest) } else { (rest, first) };
                long.iter_mut().zip(short.iter()).for_each(|(a, b)| *a ^= b);
                let (first, rest) = (second - from, out.len() - second);
                if rest > first {
                    out.drain(from..second);
                } else {
                    out.truncate(second);
                }
            }
        }
    }
}

/// Returns `true` for bytes that end a header line or are not allowed in one.
pub fn ends_line(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

/// Returns `true` for bytes that are not allowed in a URL.
pub fn no_url(byte: u8) -> bool {
    !(b'!'..=b'~').contains(&byte) || b"\"<>#".contains(&byte)
}

/// Encodes in place, from the last byte to the first.
fn hex(from: usize, out: &mut Vec<u8>) {
    let count = out.len() - from;
    out.resize(from + 2 * count, 0);
    for index in (0..count).rev() {
        let byte = out[from + index];
        out[from + 2 * index] = b"0123456789abcdef"[usize::from(byte >> 4)];
        out[from + 2 * index + 1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
}

fn base64(from: usize, out: &mut Vec<u8>) {
    let end = out.len();
    out.resize(end + (end - from).div_ceil(3) * 4, 0);
    let (plain, coded) = out.split_at_mut(end);
    // The buffer is large enough, which is the only thing that can fail.
    let size = base64::engine::general_purpose::STANDARD.encode_slice(&plain[from..], coded).unwrap_or(0);
    out.copy_within(end..end + size, from);
    out.truncate(from + size);
}
