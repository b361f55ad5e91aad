//! Filling of templates: pieces are appended in order. The argument of a function is appended temporarily and then
//! replaced by the result, so that no separate buffer is needed.

use base64::Engine as _;
use brunt_contract::SlotContext;

use super::UrlPlace;
use super::encoding::{json_escape, percent_encode};
use super::piece::{MOST_PATCHES, TemplateFunction, TemplatePart, TemplatePiece, TemplateProgram};

/// The state of filling one request.
struct TemplateFiller<'a> {
    parts: &'a [TemplatePart],
    context: &'a SlotContext<'a>,
    /// Offset of each place, for patches.
    patch_offsets: [usize; MOST_PATCHES],
    /// Offset of each mark.
    marks: &'a mut [usize],
    captured: CapturedGroups<'a>,
}

/// The captured groups of a pattern in a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapturedGroups<'a> {
    /// Bytes of the message.
    pub text: &'a [u8],
    /// Start and end offset of each group; the first is the whole match.
    pub groups: &'a [(u32, u32)],
}

impl<'a> CapturedGroups<'a> {
    /// Returns the text of a group, empty if the group did not take part in the match.
    fn group(self, number: usize) -> &'a [u8] {
        let span = self.groups.get(number);
        span.and_then(|(from, to)| self.text.get(*from as usize..*to as usize)).unwrap_or_default()
    }
}

/// Appends a filled template.
pub fn fill(program: &TemplateProgram, context: &SlotContext, out: &mut Vec<u8>) {
    fill_marked(program, (context, CapturedGroups::default()), out, &mut []);
}

/// Like [`fill`], but also records the offset of each mark.
#[inline]
pub fn fill_marked(
    program: &TemplateProgram,
    (fill, captured): (&SlotContext, CapturedGroups<'_>),
    out: &mut Vec<u8>,
    marks: &mut [usize],
) {
    TemplateFiller { parts: &program.parts, context: fill, patch_offsets: [0; MOST_PATCHES], marks, captured }
        .append(&program.pieces, out);
}

impl TemplateFiller<'_> {
    fn append(&mut self, pieces: &[TemplatePiece], out: &mut Vec<u8>) {
        for piece in pieces {
            match piece {
                TemplatePiece::Bytes(bytes) => out.extend_from_slice(bytes),
                TemplatePiece::Value(value) => value.append(self.context, out),
                TemplatePiece::Part(number) => self.append_part(*number, out),
                TemplatePiece::Call(made) => {
                    let from = out.len();
                    self.append(&made.content, out);
                    self.apply_function(&made.function, from, out);
                }
                TemplatePiece::Place { place, size } => {
                    self.patch_offsets[*place] = out.len();
                    out.resize(out.len() + size, 0);
                }
                TemplatePiece::Mark(mark) => {
                    if let Some(mark) = self.marks.get_mut(*mark) {
                        *mark = out.len();
                    }
                }
                TemplatePiece::Captured(group) => out.extend_from_slice(self.captured.group(*group)),
                // Compiled templates contain no names.
                TemplatePiece::Name { .. } => {}
            }
        }
    }

    fn append_part(&mut self, number: usize, out: &mut Vec<u8>) {
        let parts = self.parts;
        let part = &parts[number];
        let from = out.len();
        self.append(&part.pieces, out);
        for patch in &part.patches {
            let at = self.patch_offsets[patch.place];
            let end = out.len();
            out.extend_from_within(from..end);
            self.apply_function(&patch.function, end, out);
            // Only the low digits are kept if the number does not fit.
            let low = out.len() - patch.size;
            out.copy_within(low.., at);
            out.truncate(end);
        }
    }

    /// Applies a function to the bytes from `from` on and replaces them with the result.
    fn apply_function(&mut self, function: &TemplateFunction, from: usize, out: &mut Vec<u8>) {
        match function {
            TemplateFunction::Length { format, add } => {
                let length = ((out.len() - from) as i64).saturating_add(*add).max(0);
                out.truncate(from);
                format.append(length as u64, out);
            }
            TemplateFunction::Sum { sum, format } => {
                let sum = sum.of(&out[from..]);
                out.truncate(from);
                format.append(sum, out);
            }
            TemplateFunction::Digest { digest, key: None } => {
                let sum = digest.of(&out[from..], &[]);
                out.truncate(from);
                out.extend_from_slice(&sum[..digest.size()]);
            }
            TemplateFunction::Digest { digest, key: Some(key) } => {
                let end = out.len();
                self.append(key, out);
                let (content, key) = out[from..].split_at(end - from);
                let sum = digest.hmac(key, content);
                out.truncate(from);
                out.extend_from_slice(&sum[..digest.size()]);
            }
            TemplateFunction::Hex => hex(from, out),
            TemplateFunction::Base64 => base64(from, out),
            TemplateFunction::Url => {
                percent_encode(from, out, |b, _| !b.is_ascii_alphanumeric() && !b"-._~".contains(&b))
            }
            TemplateFunction::UrlSafe(place) => url_safe(*place, from, out),
            TemplateFunction::LineSafe => {
                out[from..].iter_mut().filter(|b| is_line_breaking(**b)).for_each(|b| *b = b' ')
            }
            TemplateFunction::Json => json_escape(from, out),
            TemplateFunction::Change(change) => change.apply(from, out),
            TemplateFunction::Pad { size, with } => out.resize(out.len().max(from + size), *with),
            TemplateFunction::Xor { other } => {
                let second = out.len();
                self.append(other, out);
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
pub fn is_line_breaking(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

/// Encodes the bytes from `from` on that are not allowed in a URL or would end the part of it at this place, except what
/// is encoded already.
pub fn url_safe(place: UrlPlace, from: usize, out: &mut Vec<u8>) {
    let changes = changes_url(place);
    let is_code = |byte: u8, behind: [u8; 2]| byte == b'%' && behind.iter().all(u8::is_ascii_hexdigit);
    percent_encode(from, out, |byte, behind| changes(byte) && !is_code(byte, behind));
}

/// Returns a predicate for bytes that are not allowed in a URL, or would end the part of it at this place.
pub fn changes_url(place: UrlPlace) -> impl Fn(u8) -> bool {
    let ends: &[u8] = match place {
        UrlPlace::Whole => b"",
        UrlPlace::Path => b"?%",
        UrlPlace::Query => b"&+;=%",
    };
    move |byte| !(b'!'..=b'~').contains(&byte) || b"\"<>#".contains(&byte) || ends.contains(&byte)
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
    // Encoding fails only if the buffer is too small, and this one is large enough.
    let size = base64::engine::general_purpose::STANDARD.encode_slice(&plain[from..], coded).unwrap_or(0);
    out.copy_within(end..end + size, from);
    out.truncate(from + size);
}
