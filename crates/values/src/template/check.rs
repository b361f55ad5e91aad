//! Checks of the possible bytes of slots, made before anything is sent: a value that ended a header line would turn the
//! rest of it into another request.

use super::emit::ends_line;
use super::format::Format;
use super::piece::{Function, Part, Piece, Program};
use super::rows::Order;
use super::value::Value;

/// Nesting depth of parts beyond which anything is assumed possible; cycles are rejected elsewhere.
const DEEPEST: usize = 64;

/// Returns `true` if filling these pieces, whose names are not resolved yet, may append a byte for which `bad` is true.
pub fn may_hold(pieces: &[Piece], parts: &[Part], bad: &dyn Fn(u8) -> bool) -> bool {
    within(pieces, parts, bad, 0)
}

fn within(pieces: &[Piece], parts: &[Part], bad: &dyn Fn(u8) -> bool, depth: usize) -> bool {
    let any = |bytes: &[u8]| bytes.iter().any(|b| bad(*b));
    let of_part = |part: Option<&Part>| part.is_none_or(|part| within(&part.pieces, parts, bad, depth + 1));
    depth > DEEPEST
        || pieces.iter().any(|piece| match piece {
            Piece::Bytes(bytes) => any(bytes),
            Piece::Value(value) => of_value(value, bad),
            Piece::Part(number) => of_part(parts.get(*number)),
            Piece::Name { name, .. } => of_part(parts.iter().find(|part| part.name == *name)),
            Piece::Made(made) => match &made.function {
                Function::Length { format, .. } | Function::Sum { format, .. } => of_format(*format, bad),
                Function::Hex | Function::Base64 | Function::Url => any(b"09afAFzZ+/=%-._~"),
                Function::UrlSafe => any(b"%") || within(&made.content, parts, &|b| b > b' ' && bad(b), depth + 1),
                Function::LineSafe => {
                    any(b" ") || within(&made.content, parts, &|b| !ends_line(b) && bad(b), depth + 1)
                }
                Function::Json => any(b"\\\"") || within(&made.content, parts, &|b| b >= b' ' && bad(b), depth + 1),
                Function::Change(change) => change.may_hold(bad, &|bad| within(&made.content, parts, bad, depth + 1)),
                Function::Pad { with, .. } => bad(*with) || within(&made.content, parts, bad, depth + 1),
                Function::Digest { .. } | Function::Xor { .. } => true,
            },
            // The place depends on an enclosing part that is not known yet, so it may be anything.
            Piece::Place { .. } | Piece::Captured(_) => true,
            Piece::Mark(_) => false,
        })
}

/// Returns `true` if the pieces depend on the number of messages sent on the connection before.
pub fn is_numbered(program: &Program) -> bool {
    holds(program, &|piece| matches!(piece, Piece::Value(Value::Sequence { .. })))
}

/// Returns the sampling threshold of the first trace header ([`Value::Trace`]).
pub fn traced(program: &Program) -> Option<u64> {
    let pieces = program.pieces.iter().chain(program.parts.iter().flat_map(|part| &part.pieces));
    let trace = |piece: &Piece| if let Piece::Value(Value::Trace { sampled }) = piece { Some(*sampled) } else { None };
    pieces.into_iter().find_map(trace)
}

/// Returns `true` if the program contains captured text of a pattern.
pub fn has_captured(program: &Program) -> bool {
    holds(program, &|piece| matches!(piece, Piece::Captured(_)))
}

/// Returns `true` if the pieces contain a variable of a flow.
pub fn holds_variable(pieces: &[Piece]) -> bool {
    among(pieces, &|piece| matches!(piece, Piece::Value(Value::Variable(_))))
}

/// Returns `true` if any piece of the program satisfies the predicate.
fn holds(program: &Program, is_so: &dyn Fn(&Piece) -> bool) -> bool {
    let patched = |part: &Part| part.patches.iter().any(|patch| among(patch.function.beside(), is_so));
    among(&program.pieces, is_so) || program.parts.iter().any(|part| among(&part.pieces, is_so) || patched(part))
}

/// Returns `true` if any of these pieces or of their function arguments satisfies the predicate; parts are checked
/// separately, once each.
fn among(pieces: &[Piece], is_so: &dyn Fn(&Piece) -> bool) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Made(made) => among(&made.content, is_so) || among(made.function.beside(), is_so),
        piece => is_so(piece),
    })
}

/// Switches all data files to sequential rows, whatever their slots say, and returns how many requests it takes to use
/// every row.
pub fn take_rows_in_turn(program: &mut Program) -> u64 {
    let of_parts = program.parts.iter_mut().flat_map(|part| &mut part.pieces);
    program.pieces.iter_mut().chain(of_parts).map(rows_in_turn).max().unwrap_or(0)
}

fn rows_in_turn(piece: &mut Piece) -> u64 {
    match piece {
        Piece::Value(Value::Row { column, choice, .. }) => {
            choice.order = Order::Sequential;
            column.count()
        }
        Piece::Made(made) => {
            let beside = match &mut made.function {
                Function::Xor { other } | Function::Digest { key: Some(other), .. } => other.as_mut_slice(),
                _ => &mut [],
            };
            made.content.iter_mut().chain(beside).map(rows_in_turn).max().unwrap_or(0)
        }
        _ => 0,
    }
}

fn of_format(format: Format, bad: &dyn Fn(u8) -> bool) -> bool {
    matches!(format, Format::Bytes { .. } | Format::Varint { .. }) || b"0123456789abcdef".iter().any(|b| bad(*b))
}

fn of_value(value: &Value, bad: &dyn Fn(u8) -> bool) -> bool {
    match value {
        Value::Counter { format, .. }
        | Value::Sequence { format, .. }
        | Value::Integer { format, .. }
        | Value::User { format }
        | Value::Time { format, .. }
        | Value::Row { format: Some(format), .. } => of_format(*format, bad),
        Value::Bytes { .. } | Value::Variable(_) => (0..=u8::MAX).any(bad),
        Value::Row { column, format: None, .. } => column.rows().any(|row| row.iter().any(|b| bad(*b))),
        Value::Later { of, .. } => of_value(of, bad),
        Value::Characters { .. }
        | Value::Iso
        | Value::Date
        | Value::FixTime
        | Value::Uuid { .. }
        | Value::Trace { .. } => b"09AZaz:-.".iter().any(|b| bad(*b)),
    }
}
