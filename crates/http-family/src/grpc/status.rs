//! Status codes of gRPC (`doc/statuscodes.md` of the grpc project): their names, and what stands in for one.
//!
//! The engine takes 0 for «no code», so that a status is counted by its number plus one.

use cause::{Plain, grpc};

/// The names, by number.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// What each means, in a sentence.
const MEANINGS: [Option<Plain>; 17] = [
    None,
    Some(grpc::cancelled()),
    Some(grpc::unknown()),
    Some(grpc::invalid_argument()),
    Some(grpc::deadline_exceeded()),
    Some(grpc::not_found()),
    Some(grpc::already_exists()),
    Some(grpc::permission_denied()),
    Some(grpc::resource_exhausted()),
    Some(grpc::failed_precondition()),
    Some(grpc::aborted()),
    Some(grpc::beyond_range()),
    Some(grpc::unimplemented()),
    Some(grpc::internal()),
    Some(grpc::unavailable()),
    Some(grpc::data_loss()),
    Some(grpc::unauthenticated()),
];

/// `OK`.
pub const OK: u32 = 0;
/// `UNIMPLEMENTED`.
pub const UNIMPLEMENTED: u32 = 12;
/// `CANCELLED`.
pub const CANCELLED: u32 = 1;
/// `DEADLINE_EXCEEDED`.
pub const DEADLINE_EXCEEDED: u32 = 4;
/// `INVALID_ARGUMENT`.
pub const INVALID_ARGUMENT: u32 = 3;
/// `NOT_FOUND`.
pub const NOT_FOUND: u32 = 5;
const UNKNOWN: u32 = 2;
const PERMISSION_DENIED: u32 = 7;
/// `RESOURCE_EXHAUSTED`.
pub const RESOURCE_EXHAUSTED: u32 = 8;
/// `INTERNAL`.
pub const INTERNAL: u32 = 13;
/// `UNAVAILABLE`.
pub const UNAVAILABLE: u32 = 14;
const UNAUTHENTICATED: u32 = 16;

/// The name of a status.
pub fn name(status: u32) -> String {
    NAMES.get(status as usize).map_or_else(|| format!("STATUS_{status}"), |name| (*name).to_owned())
}

/// What a status means; None where the name says it all.
pub fn meaning(status: u32) -> Option<Plain> {
    MEANINGS.get(status as usize).copied().unwrap_or(Some(grpc::no_such_status()))
}

/// The status of a name or a number.
pub fn parse(text: &str) -> Option<u32> {
    let by_name = NAMES.iter().position(|name| name.eq_ignore_ascii_case(text)).map(|at| at as u32);
    by_name.or_else(|| text.parse().ok().filter(|n| *n < NAMES.len() as u32))
}

/// A status as the engine counts it: never 0.
#[inline]
pub fn counted(status: u32) -> u32 {
    status.saturating_add(1)
}

/// The status that was [`counted`] so.
pub fn of_counted(code: u32) -> u32 {
    code.saturating_sub(1)
}

/// What an answer without `grpc-status` means by its HTTP status (`doc/http-grpc-status-mapping.md`).
pub fn of_http(status: u16) -> u32 {
    match status {
        400 => INTERNAL,
        401 => UNAUTHENTICATED,
        403 => PERMISSION_DENIED,
        404 => UNIMPLEMENTED,
        429 | 502 | 503 | 504 => UNAVAILABLE,
        _ => UNKNOWN,
    }
}

/// What a reset stream means by its error code (`doc/PROTOCOL-HTTP2.md`, «Errors»).
pub fn of_reset(code: u32) -> u32 {
    match code {
        7 => UNAVAILABLE,
        8 => CANCELLED,
        11 => RESOURCE_EXHAUSTED,
        12 => PERMISSION_DENIED,
        5 | 13.. => UNKNOWN,
        _ => INTERNAL,
    }
}

/// A set of statuses: which answers are a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statuses(u32);

impl Statuses {
    /// `OK` alone.
    pub const USUAL: Statuses = Statuses(1);

    /// Reads `OK,NOT_FOUND` or numbers.
    ///
    /// # Errors
    /// The part that is no status.
    pub fn parse(text: &str) -> Result<Statuses, String> {
        let mut set = Statuses(0);
        for part in text.split(',').map(str::trim) {
            set.0 |= 1 << parse(part).ok_or_else(|| part.to_owned())?;
        }
        Ok(set)
    }

    /// True where the set holds it.
    #[inline]
    pub fn has(self, status: u32) -> bool {
        status < 32 && self.0 >> status & 1 != 0
    }
}
