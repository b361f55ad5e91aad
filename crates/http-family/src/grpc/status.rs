//! gRPC status codes (`doc/statuscodes.md` of the grpc project): names, and mappings from other codes.
//!
//! The engine uses 0 for "no code", so a status is counted as its number plus one.

use brunt_cause::{StaticCause, grpc};

/// Names, by number.
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

/// Explanations, by number.
const MEANINGS: [Option<StaticCause>; 17] = [
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

/// Returns the name of a status.
pub fn name(status: u32) -> String {
    NAMES.get(status as usize).map_or_else(|| format!("STATUS_{status}"), |name| (*name).to_owned())
}

/// Explains a status; `None` if the name is enough.
pub fn meaning(status: u32) -> Option<StaticCause> {
    MEANINGS.get(status as usize).copied().unwrap_or(Some(grpc::no_such_status()))
}

/// Parses a status given by name or number.
pub fn parse(text: &str) -> Option<u32> {
    let by_name = NAMES.iter().position(|name| name.eq_ignore_ascii_case(text)).map(|at| at as u32);
    by_name.or_else(|| text.parse().ok().filter(|n| *n < NAMES.len() as u32))
}

/// Converts a status to the engine's code, which is never 0.
#[inline]
pub fn counted(status: u32) -> u32 {
    status.saturating_add(1)
}

/// Converts the engine's code back to the status.
pub fn of_counted(code: u32) -> u32 {
    code.saturating_sub(1)
}

/// Returns the status that an HTTP status implies for a response without `grpc-status`
/// (`doc/http-grpc-status-mapping.md`).
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

/// Returns the status that the error code of a reset stream implies (`doc/PROTOCOL-HTTP2.md`, "Errors").
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

/// A set of statuses that count as success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrpcStatusSet(u32);

impl GrpcStatusSet {
    /// The default, `OK` alone.
    pub const USUAL: GrpcStatusSet = GrpcStatusSet(1);

    /// Parses `OK,NOT_FOUND` or numbers.
    ///
    /// # Errors
    /// Fails with the part that is not a status.
    pub fn parse(text: &str) -> Result<GrpcStatusSet, String> {
        let mut set = GrpcStatusSet(0);
        for part in text.split(',').map(str::trim) {
            set.0 |= 1 << parse(part).ok_or_else(|| part.to_owned())?;
        }
        Ok(set)
    }

    /// Returns `true` if the set contains the status.
    #[inline]
    pub fn has(self, status: u32) -> bool {
        status < 32 && self.0 >> status & 1 != 0
    }
}
