//! What users want: the seam between those who decide and the connections that it goes by.

use measure::Nanos;
use plan::flow::OnFailure;
use wire::Follow;

use crate::ids::{RequestId, UserId};

/// A request that is wanted.
pub(crate) struct Want {
    pub user: UserId,
    /// When it is due.
    pub due: Nanos,
    pub request: Wanted,
    /// Of one of several that are due together: what its user does where it fails.
    pub on_failure: Option<OnFailure>,
    /// As many of those were under way as may be: it is sent later than it was due, and not by our fault.
    pub held_back: bool,
}

/// Which request it is.
pub(crate) enum Wanted {
    /// One that was prepared, by its index.
    Prepared(RequestId),
    /// One that a response asked for.
    Made(Made),
}

/// A request that a response asked for: a hop of a redirect, or what a page names.
pub(crate) struct Made {
    pub follow: Follow,
    /// What it is called in figures.
    pub name: u16,
    /// Redirects before it.
    pub hops: u8,
    /// What it may take.
    pub within: Nanos,
    /// A page names it, or what led to it.
    pub of_page: bool,
}

impl Want {
    /// A prepared request.
    #[inline]
    pub fn prepared(user: UserId, due: Nanos, request: RequestId) -> Want {
        Want { user, due, request: Wanted::Prepared(request), on_failure: None, held_back: false }
    }
}
