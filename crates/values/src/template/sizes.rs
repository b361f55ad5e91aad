//! Checks that every length fits its format, made before anything is sent: a truncated length would make every request
//! invalid, and filling never fails.
//!
//! Sizes are the maximum that slots can reach. A counter without `below` counts with all its digits.

use super::format::Format;
use super::piece::{Function, MOST_CAPTURED, MOST_OF_A_VALUE, Made, Part, Piece};
use super::value::Value;

/// Checks all lengths.
///
/// # Errors
/// The first length that may be larger than its format holds.
pub fn check(pieces: &[Piece], parts: &[Part]) -> Result<(), String> {
    let mut sizes = Sizes { parts, known: vec![None; parts.len()] };
    sizes.lengths(pieces)?;
    for part in parts {
        sizes.lengths(&part.pieces)?;
        for patch in &part.patches {
            sizes.lengths(patch.function.beside())?;
            // A place has a fixed size, while a number elsewhere takes as many digits as it needs.
            let room = match &patch.function {
                Function::Length { format, .. } => format.largest_in(patch.size),
                _ => continue,
            };
            let size = sizes.of(&part.pieces);
            fits(&patch.function, size, room)?;
        }
    }
    Ok(())
}

fn fits(function: &Function, size: u64, room: u64) -> Result<(), String> {
    let Function::Length { add, .. } = function else { return Ok(()) };
    let largest = size.saturating_add_signed(*add);
    if largest <= room {
        return Ok(());
    }
    Err(format!(
        "a length may reach {largest}, and this format ends at {room}; write it wider, such as u32, or make the \
            part shorter ({{counter below N}} has fewer digits than {{counter}})"
    ))
}

struct Sizes<'a> {
    parts: &'a [Part],
    /// Sizes of the parts computed so far.
    known: Vec<Option<u64>>,
}

impl Sizes<'_> {
    /// Checks the lengths among these pieces, at any depth except within parts.
    fn lengths(&mut self, pieces: &[Piece]) -> Result<(), String> {
        for piece in pieces {
            let Piece::Made(made) = piece else { continue };
            self.lengths(&made.content)?;
            self.lengths(made.function.beside())?;
            if let Function::Length { format: format @ Format::Bytes { count, .. }, .. } = &made.function {
                let size = self.of(&made.content);
                fits(&made.function, size, format.largest_in((*count).into()))?;
            }
        }
        Ok(())
    }

    /// Returns the maximum size of pieces in bytes. Parts do not contain each other; this was checked before.
    fn of(&mut self, pieces: &[Piece]) -> u64 {
        pieces.iter().fold(0, |sum: u64, piece| sum.saturating_add(self.one(piece)))
    }

    fn one(&mut self, piece: &Piece) -> u64 {
        match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Value(value) => of_value(value),
            Piece::Part(number) => match self.known[*number] {
                Some(size) => size,
                None => {
                    let parts = self.parts;
                    let size = self.of(&parts[*number].pieces);
                    self.known[*number] = Some(size);
                    size
                }
            },
            Piece::Made(made) => self.made(made),
            Piece::Place { size, .. } => *size as u64,
            Piece::Captured(_) => MOST_CAPTURED as u64,
            Piece::Mark(_) | Piece::Name { .. } => 0,
        }
    }

    fn made(&mut self, made: &Made) -> u64 {
        let content = self.of(&made.content);
        match &made.function {
            Function::Length { format, add } => format.most_bytes(content.saturating_add_signed(*add)),
            Function::Sum { format, .. } => format.most_bytes(u64::MAX),
            Function::Digest { digest, .. } => digest.size() as u64,
            Function::Hex => content.saturating_mul(2),
            Function::Url | Function::UrlSafe => content.saturating_mul(3),
            Function::Json => content.saturating_mul(6),
            Function::Base64 => content.div_ceil(3).saturating_mul(4),
            Function::Change(change) => change.most(content),
            Function::LineSafe => content,
            Function::Pad { size, .. } => content.max(*size as u64),
            Function::Xor { other } => content.max(self.of(other)),
        }
    }
}

fn of_value(value: &Value) -> u64 {
    match value {
        Value::Counter { below, format, .. } => format.most_bytes(below.map_or(u64::MAX, |below| below - 1)),
        Value::Sequence { below, format, .. } => format.most_bytes(below.map_or(u64::MAX, |below| below - 1)),
        Value::Characters { count, .. } | Value::Bytes { count, .. } => *count as u64,
        Value::Integer { from, span, format, .. } => match span {
            0 => format.most_bytes(u64::MAX),
            span => format.most_bytes(from.saturating_add(span - 1)),
        },
        // Users are numbered in 32 bits.
        Value::User { format } => format.most_bytes(u32::MAX.into()),
        Value::Time { unit, format } => format.most_bytes(u64::MAX / unit),
        Value::Iso => "2026-11-21T09:26:35.123Z".len() as u64,
        Value::Date => "2026-11-21".len() as u64,
        Value::Later { of, .. } => of_value(of),
        Value::FixTime => "20261121-09:26:35.123".len() as u64,
        Value::Uuid { .. } => 36,
        Value::Trace { .. } => 55,
        Value::Variable(_) => MOST_OF_A_VALUE as u64,
        Value::Row { column, format: None, .. } => column.rows().map(<[u8]>::len).max().unwrap_or(0) as u64,
        Value::Row { format: Some(format), .. } => format.most_bytes(u64::MAX),
    }
}
