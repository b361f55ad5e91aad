//! Due requests of users: the interface between users and connections.

use brunt_contract::FollowUp;
use brunt_measure::Nanos;
use brunt_plan::flow::OnFailure;

use crate::ids::{RequestId, UserId};
use crate::outcome::NextHop;

/// A request that a user wants to send.
pub(crate) struct DueRequest {
    pub user: UserId,
    /// Time when it is due.
    pub due: Nanos,
    pub request: RequestRef,
    /// The reaction of the user to a failure, for a request of a batch.
    pub on_failure: Option<OnFailure>,
    /// Set if the concurrency limit of its batch delayed it; that delay does not count as our lateness.
    pub held_back: bool,
}

/// The request itself.
pub(crate) enum RequestRef {
    /// A prepared request, by its index.
    Prepared(RequestId),
    /// A request derived from a response.
    Derived(DerivedRequest),
    /// The next hop of a visit.
    Hop(Box<NextHop>),
}

/// A request derived from a response, such as a resource of a page.
pub(crate) struct DerivedRequest {
    pub follow: FollowUp,
    /// Index of its name in the figures.
    pub name: u16,
    /// Timeout of the request.
    pub timeout: Nanos,
    /// Set if it is a resource of a page.
    pub of_page: bool,
}

impl DueRequest {
    /// Creates a due request for a prepared request.
    #[inline]
    pub fn prepared(user: UserId, due: Nanos, request: RequestId) -> DueRequest {
        DueRequest { user, due, request: RequestRef::Prepared(request), on_failure: None, held_back: false }
    }
}
