//! What comes after an exchange: a hop of a redirect, or whatever its user does next.

use measure::Nanos;
use scenario::News;
use wire::Follow;

/// What comes after an exchange.
pub(super) struct Next {
    pub user: u32,
    /// What the request was called; so are the hops that follow it.
    pub name: u16,
    pub hops: u8,
    pub follow: Option<Box<Follow>>,
    /// What the hops that follow it may take.
    pub within: Nanos,
    pub news: News,
    /// Nothing could be reached: wait before the next attempt.
    pub back_off: bool,
}
