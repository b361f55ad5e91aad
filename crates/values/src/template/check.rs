//! Checks of the bytes that slots may produce, made before anything is sent: a value that ends a header line could
//! inject another request.

use super::emit::is_line_breaking;
use super::format::NumberFormat;
use super::piece::{TemplateFunction, TemplatePart, TemplatePiece, TemplateProgram};
use super::rows::RowOrder;
use super::value::SlotValue;

/// Nesting depth of parts beyond which any byte is assumed to be possible; cycles are rejected elsewhere.
const DEEPEST: usize = 64;

/// Returns `true` if filling these pieces, whose names are not resolved yet, may append a byte for which `bad` is true.
pub fn may_hold(pieces: &[TemplatePiece], parts: &[TemplatePart], bad: &dyn Fn(u8) -> bool) -> bool {
    may_hold_within(pieces, parts, bad, 0)
}

fn may_hold_within(pieces: &[TemplatePiece], parts: &[TemplatePart], bad: &dyn Fn(u8) -> bool, depth: usize) -> bool {
    let any = |bytes: &[u8]| bytes.iter().any(|b| bad(*b));
    let of_part =
        |part: Option<&TemplatePart>| part.is_none_or(|part| may_hold_within(&part.pieces, parts, bad, depth + 1));
    depth > DEEPEST
        || pieces.iter().any(|piece| match piece {
            TemplatePiece::Bytes(bytes) => any(bytes),
            TemplatePiece::Value(value) => value_may_hold(value, bad),
            TemplatePiece::Part(number) => of_part(parts.get(*number)),
            TemplatePiece::Name { name, .. } => of_part(parts.iter().find(|part| part.name == *name)),
            TemplatePiece::Call(made) => match &made.function {
                TemplateFunction::Length { format, .. } | TemplateFunction::Sum { format, .. } => {
                    format_may_hold(*format, bad)
                }
                TemplateFunction::Hex | TemplateFunction::Base64 | TemplateFunction::Url => any(b"09afAFzZ+/=%-._~"),
                TemplateFunction::UrlSafe(_) => {
                    any(b"%0123456789ABCDEF")
                        || may_hold_within(&made.content, parts, &|b| b > b' ' && bad(b), depth + 1)
                }
                TemplateFunction::LineSafe => {
                    any(b" ") || may_hold_within(&made.content, parts, &|b| !is_line_breaking(b) && bad(b), depth + 1)
                }
                TemplateFunction::Json => {
                    any(b"\\\"") || may_hold_within(&made.content, parts, &|b| b >= b' ' && bad(b), depth + 1)
                }
                TemplateFunction::Change(change) => {
                    change.may_hold(bad, &|bad| may_hold_within(&made.content, parts, bad, depth + 1))
                }
                TemplateFunction::Pad { with, .. } => {
                    bad(*with) || may_hold_within(&made.content, parts, bad, depth + 1)
                }
                TemplateFunction::Digest { .. } | TemplateFunction::Xor { .. } => true,
            },
            // The value depends on an enclosing part that is not known yet, so any byte is possible.
            TemplatePiece::Place { .. } | TemplatePiece::Captured(_) => true,
            TemplatePiece::Mark(_) => false,
        })
}

/// Returns `true` if the program contains the number of the message on its connection (`{sequence}`).
pub fn is_numbered(program: &TemplateProgram) -> bool {
    any_piece(program, &|piece| matches!(piece, TemplatePiece::Value(SlotValue::Sequence { .. })))
}

/// Returns the sampling threshold of the first trace header ([`SlotValue::Trace`]).
pub fn trace_sampling(program: &TemplateProgram) -> Option<u64> {
    let pieces = program.pieces.iter().chain(program.parts.iter().flat_map(|part| &part.pieces));
    let trace = |piece: &TemplatePiece| {
        if let TemplatePiece::Value(SlotValue::Trace { sampled }) = piece { Some(*sampled) } else { None }
    };
    pieces.into_iter().find_map(trace)
}

/// Returns `true` if the program contains captured groups of a pattern.
pub fn has_captured(program: &TemplateProgram) -> bool {
    any_piece(program, &|piece| matches!(piece, TemplatePiece::Captured(_)))
}

/// Returns `true` if the pieces contain a variable of a flow.
pub fn holds_variable(pieces: &[TemplatePiece]) -> bool {
    any_of(pieces, &|piece| matches!(piece, TemplatePiece::Value(SlotValue::Variable(_))))
}

/// Returns `true` if the program contains a variable of a flow.
pub fn program_holds_variable(program: &TemplateProgram) -> bool {
    any_piece(program, &|piece| matches!(piece, TemplatePiece::Value(SlotValue::Variable(_))))
}

/// Returns `true` if any piece of the program satisfies the predicate.
fn any_piece(program: &TemplateProgram, is_so: &dyn Fn(&TemplatePiece) -> bool) -> bool {
    let patched = |part: &TemplatePart| part.patches.iter().any(|patch| any_of(patch.function.extra_argument(), is_so));
    any_of(&program.pieces, is_so) || program.parts.iter().any(|part| any_of(&part.pieces, is_so) || patched(part))
}

/// Returns `true` if any of these pieces or their function arguments satisfies the predicate. Parts are not entered,
/// because the caller checks each of them once.
fn any_of(pieces: &[TemplatePiece], is_so: &dyn Fn(&TemplatePiece) -> bool) -> bool {
    pieces.iter().any(|piece| match piece {
        TemplatePiece::Call(made) => any_of(&made.content, is_so) || any_of(made.function.extra_argument(), is_so),
        piece => is_so(piece),
    })
}

/// Switches all data files to sequential rows and returns the number of requests needed to use every row.
pub fn take_rows_in_turn(program: &mut TemplateProgram) -> u64 {
    let of_parts = program.parts.iter_mut().flat_map(|part| &mut part.pieces);
    program.pieces.iter_mut().chain(of_parts).map(rows_in_turn).max().unwrap_or(0)
}

fn rows_in_turn(piece: &mut TemplatePiece) -> u64 {
    match piece {
        TemplatePiece::Value(SlotValue::Row { column, choice, .. }) => {
            choice.order = RowOrder::Sequential;
            column.count()
        }
        TemplatePiece::Call(made) => {
            let beside = match &mut made.function {
                TemplateFunction::Xor { other } | TemplateFunction::Digest { key: Some(other), .. } => {
                    other.as_mut_slice()
                }
                _ => &mut [],
            };
            made.content.iter_mut().chain(beside).map(rows_in_turn).max().unwrap_or(0)
        }
        _ => 0,
    }
}

fn format_may_hold(format: NumberFormat, bad: &dyn Fn(u8) -> bool) -> bool {
    matches!(format, NumberFormat::Bytes { .. } | NumberFormat::Varint { .. })
        || b"0123456789abcdef".iter().any(|b| bad(*b))
}

fn value_may_hold(value: &SlotValue, bad: &dyn Fn(u8) -> bool) -> bool {
    match value {
        SlotValue::Counter { format, .. }
        | SlotValue::Sequence { format, .. }
        | SlotValue::Integer { format, .. }
        | SlotValue::User { format }
        | SlotValue::Time { format, .. }
        | SlotValue::Row { format: Some(format), .. } => format_may_hold(*format, bad),
        SlotValue::Bytes { .. } | SlotValue::Variable(_) => (0..=u8::MAX).any(bad),
        SlotValue::Row { column, format: None, .. } => column.may_hold(bad),
        SlotValue::Shifted { of, .. } => value_may_hold(of, bad),
        SlotValue::Characters { .. }
        | SlotValue::Iso
        | SlotValue::Date
        | SlotValue::FixTime
        | SlotValue::Uuid { .. }
        | SlotValue::Trace { .. } => b"09AZaz:-.".iter().any(|b| bad(*b)),
    }
}
