//! Filling: pieces are appended in order; what is made from other pieces lets them be appended at the end for a moment,
//! so that no buffer of its own is needed.

use base64::Engine as _;
use wire::Fill;

use super::encoding::{json, percent};
use super::piece::{Function, MOST_PATCHES, Part, Piece, Program};

/// What is known while one request is filled.
struct Filling<'a> {
    parts: &'a [Part],
    fill: &'a Fill<'a>,
    /// Where the bytes of patches begin.
    places: [usize; MOST_PATCHES],
    /// Where each mark came to stand.
    marks: &'a mut [usize],
    captured: Captured<'a>,
}

/// What the groups of a pattern found in a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Captured<'a> {
    /// Bytes of the message.
    pub text: &'a [u8],
    /// From where to where in it, for each group; the first is all that the pattern matched.
    pub groups: &'a [(u32, u32)],
}

impl<'a> Captured<'a> {
    /// What this group found; nothing where it found nothing.
    fn group(self, number: usize) -> &'a [u8] {
        let span = self.groups.get(number);
        span.and_then(|(from, to)| self.text.get(*from as usize..*to as usize)).unwrap_or_default()
    }
}

/// Appends a whole template.
pub fn program(program: &Program, fill: &Fill, out: &mut Vec<u8>) {
    marked(program, (fill, Captured::default()), out, &mut []);
}

/// The same, and where each mark came to stand.
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
                // Compiled templates have none.
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
            // Of a number with more digits than it has room for, the low ones.
            let low = out.len() - patch.size;
            out.copy_within(low.., at);
            out.truncate(end);
        }
    }

    /// Replaces what stands from `from` on by what is made from it.
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

/// True for bytes that end a header line, or stand in none.
pub fn ends_line(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

/// True for bytes that stand in no URL.
pub fn no_url(byte: u8) -> bool {
    !(b'!'..=b'~').contains(&byte) || b"\"<>#".contains(&byte)
}

/// From the last byte to the first, so that it needs no room of its own.
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
    // There is room for it, which is all that can go wrong.
    let size = base64::engine::general_purpose::STANDARD.encode_slice(&plain[from..], coded).unwrap_or(0);
    out.copy_within(end..end + size, from);
    out.truncate(from + size);
}
