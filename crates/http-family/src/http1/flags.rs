//! What a session must know of a request, and of the response at hand: bits of one byte.

/// No exchange after this one.
pub const LAST: u8 = 1;
/// The answer to this request has no body, whatever its head says.
pub const NO_BODY: u8 = 2;
/// The request asked for another protocol, so 101 is an answer.
pub const UPGRADES: u8 = 4;
/// The first byte was told.
pub const BEGUN: u8 = 8;
/// What comes back is kept for an example.
pub const CAPTURES: u8 = 16;
/// The request has slots.
pub const SLOTS: u8 = 32;
/// The body waits until the server asks for it.
pub const EXPECTS: u8 = 64;
/// The request goes over TLS.
pub const SECURE: u8 = 128;
