//! Outcomes of requests: produced by connections, consumed by users.

use brunt_contract::{FollowUp, ResourceSearch};
use brunt_measure::Nanos;
use brunt_scenario::UserEvent;

use crate::exchange::Exchange;
use crate::failure_cause::FailureCause;
use crate::failure_class::FailureClass;
use crate::ids::UserId;

/// An event of a user's connection or request.
pub(crate) enum UserOutcome {
    /// A request has ended.
    Finished(FinishedRequest),
    /// The connection that a user opened for itself is open.
    Connected {
        /// The user.
        user: UserId,
    },
    /// An unsolicited message arrived on a user's connection.
    Message {
        /// The user.
        user: UserId,
        /// The bytes of the message.
        message: Box<[u8]>,
    },
    /// The connection of a user was lost with nothing in flight, or failed to open.
    Lost {
        /// The user.
        user: UserId,
        /// Set if the connection had been open.
        stood: bool,
        /// Set if the connection was useless: nothing was answered on it.
        in_vain: bool,
    },
    /// The connection that a user was about to use failed to open, so the request that it would have sent has failed.
    NotSent {
        /// The user.
        user: UserId,
        /// The cause.
        why: NotSentCause,
    },
}

/// A request that has ended.
pub(crate) struct FinishedRequest {
    pub user: UserId,
    /// The next hop, if the response is a redirect: the request goes on.
    pub follow: Option<Box<NextHop>>,
    /// The search for the resources that the response names, if it is a page.
    pub page_finder: Option<ResourceSearch>,
    /// Timeout of the hops that follow it and of its resources.
    pub timeout: Nanos,
    pub event: UserEvent,
    /// Set if the server could not be reached, so that the user waits before the next attempt.
    pub back_off: bool,
    /// Delay of the request that may be brunt's own.
    pub own: Nanos,
}

/// The next hop of a visit.
pub(crate) struct NextHop {
    pub follow: FollowUp,
    /// The exchange that was redirected.
    pub visit: Exchange,
    /// Timeout of the hop.
    pub timeout: Nanos,
}

/// The cause of a request that could not be sent.
pub(crate) struct NotSentCause {
    pub sort: FailureClass,
    /// The status code with which the peer refused, or 0.
    pub code: u32,
    pub why: Option<brunt_cause::Cause>,
}

impl NotSentCause {
    /// Creates the cause from that of a failure.
    pub fn of(cause: &FailureCause<'_>) -> NotSentCause {
        NotSentCause { sort: cause.sort, code: cause.code, why: cause.why.cloned() }
    }

    /// Returns the cause as that of a failed request.
    pub fn cause(&self) -> FailureCause<'_> {
        FailureCause { sort: self.sort, code: self.code, why: self.why.as_ref() }
    }
}

impl FinishedRequest {
    /// Creates the outcome of a request that causes no further request.
    pub fn of(user: UserId, event: UserEvent) -> FinishedRequest {
        FinishedRequest {
            user,
            follow: None,
            page_finder: None,
            timeout: Nanos::ZERO,
            event,
            back_off: false,
            own: Nanos::ZERO,
        }
    }
}
