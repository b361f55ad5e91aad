//! Checks before anything is sent that every length fits its format. A truncated length would make every request
//! invalid, and filling cannot report an error.
//!
//! Sizes are the maximum sizes of slots; for a counter without `below`, that is the maximum number of digits.

use super::format::NumberFormat;
use super::piece::{FunctionCall, MOST_CAPTURED, MOST_OF_A_VALUE, TemplateFunction, TemplatePart, TemplatePiece};
use super::value::SlotValue;
use brunt_cause::{Complaint, complaint};

/// Checks all lengths.
///
/// # Errors
/// A length may exceed the maximum of its format; the error reports the first.
pub fn check(pieces: &[TemplatePiece], parts: &[TemplatePart]) -> Result<(), Complaint> {
    let mut sizes = SizeCheck { parts, known: vec![None; parts.len()] };
    sizes.check_lengths(pieces)?;
    for part in parts {
        sizes.check_lengths(&part.pieces)?;
        for patch in &part.patches {
            sizes.check_lengths(patch.function.extra_argument())?;
            // A place has a fixed size, whereas a number elsewhere has as many digits as necessary.
            let room = match &patch.function {
                TemplateFunction::Length { format, .. } => format.max_in(patch.size),
                _ => continue,
            };
            let size = sizes.total(&part.pieces);
            check_fit(&patch.function, size, room)?;
        }
    }
    Ok(())
}

fn check_fit(function: &TemplateFunction, size: u64, room: u64) -> Result<(), Complaint> {
    let TemplateFunction::Length { add, .. } = function else { return Ok(()) };
    let largest = size.saturating_add_signed(*add);
    if largest <= room {
        return Ok(());
    }
    Err(complaint!(
        "a length may reach {largest}, and this format only goes up to {room}; write it wider, such as u32, or make the \
            part shorter ({{counter below N}} has fewer digits than {{counter}})",
        "长度可能达到 {largest}，而该格式最多表示 {room}；请用更宽的格式，例如 u32，或缩短该部分（{{counter below N}} 的位数少于 {{counter}}）"
    ))
}

struct SizeCheck<'a> {
    parts: &'a [TemplatePart],
    /// Sizes of the parts computed so far.
    known: Vec<Option<u64>>,
}

impl SizeCheck<'_> {
    /// Checks the lengths among these pieces, at any depth except within parts.
    fn check_lengths(&mut self, pieces: &[TemplatePiece]) -> Result<(), Complaint> {
        for piece in pieces {
            let TemplatePiece::Call(made) = piece else { continue };
            self.check_lengths(&made.content)?;
            self.check_lengths(made.function.extra_argument())?;
            if let TemplateFunction::Length { format: format @ NumberFormat::Bytes { count, .. }, .. } = &made.function
            {
                let size = self.total(&made.content);
                check_fit(&made.function, size, format.max_in((*count).into()))?;
            }
        }
        Ok(())
    }

    /// Returns the maximum size of pieces in bytes. Parts do not contain each other, as checked before.
    fn total(&mut self, pieces: &[TemplatePiece]) -> u64 {
        pieces.iter().fold(0, |sum: u64, piece| sum.saturating_add(self.piece_size(piece)))
    }

    fn piece_size(&mut self, piece: &TemplatePiece) -> u64 {
        match piece {
            TemplatePiece::Bytes(bytes) => bytes.len() as u64,
            TemplatePiece::Value(value) => value_size(value),
            TemplatePiece::Part(number) => match self.known[*number] {
                Some(size) => size,
                None => {
                    let parts = self.parts;
                    let size = self.total(&parts[*number].pieces);
                    self.known[*number] = Some(size);
                    size
                }
            },
            TemplatePiece::Call(made) => self.call_size(made),
            TemplatePiece::Place { size, .. } => *size as u64,
            TemplatePiece::Captured(_) => MOST_CAPTURED as u64,
            TemplatePiece::Mark(_) | TemplatePiece::Name { .. } => 0,
        }
    }

    fn call_size(&mut self, made: &FunctionCall) -> u64 {
        let content = self.total(&made.content);
        match &made.function {
            TemplateFunction::Length { format, add } => format.max_bytes(content.saturating_add_signed(*add)),
            TemplateFunction::Sum { format, .. } => format.max_bytes(u64::MAX),
            TemplateFunction::Digest { digest, .. } => digest.size() as u64,
            TemplateFunction::Hex => content.saturating_mul(2),
            TemplateFunction::Url | TemplateFunction::UrlSafe(_) => content.saturating_mul(3),
            TemplateFunction::Json => content.saturating_mul(6),
            TemplateFunction::Base64 => content.div_ceil(3).saturating_mul(4),
            TemplateFunction::Change(change) => change.max_len(content),
            TemplateFunction::LineSafe => content,
            TemplateFunction::Pad { size, .. } => content.max(*size as u64),
            TemplateFunction::Xor { other } => content.max(self.total(other)),
        }
    }
}

fn value_size(value: &SlotValue) -> u64 {
    match value {
        SlotValue::Counter { below, format, .. } => format.max_bytes(below.map_or(u64::MAX, |below| below - 1)),
        SlotValue::Sequence { below, format, .. } => format.max_bytes(below.map_or(u64::MAX, |below| below - 1)),
        SlotValue::Characters { count, .. } | SlotValue::Bytes { count, .. } => *count as u64,
        SlotValue::Integer { from, span, format, .. } => match span {
            0 => format.max_bytes(u64::MAX),
            span => format.max_bytes(from.saturating_add(span - 1)),
        },
        // User numbers have 32 bits.
        SlotValue::User { format } => format.max_bytes(u32::MAX.into()),
        SlotValue::Time { unit, format } => format.max_bytes(u64::MAX / unit),
        SlotValue::Iso => "2026-11-21T09:26:35.123Z".len() as u64,
        SlotValue::Date => "2026-11-21".len() as u64,
        SlotValue::Shifted { of, .. } => value_size(of),
        SlotValue::FixTime => "20261121-09:26:35.123".len() as u64,
        SlotValue::Uuid { .. } => 36,
        SlotValue::Trace { .. } => 55,
        SlotValue::Variable(_) => MOST_OF_A_VALUE as u64,
        SlotValue::Row { column, format: None, .. } => column.longest() as u64,
        SlotValue::Row { format: Some(format), .. } => format.max_bytes(u64::MAX),
    }
}
