//! Outcomes of wanted requests: produced by connections, consumed by users.

use measure::Nanos;
use scenario::News;
use wire::{Follow, Found};

use crate::failing::Cause;
use crate::ids::UserId;
use crate::sort::Sort;

/// An event of a user's connection or request.
pub(crate) enum Outcome {
    /// A request is over.
    Over(Over),
    /// The connection that a user opened for itself is open.
    Connected {
        /// The user.
        user: UserId,
    },
    /// An unsolicited message came on a user's connection.
    Heard {
        /// The user.
        user: UserId,
        /// The bytes of the message.
        message: Box<[u8]>,
    },
    /// The connection of a user with nothing in flight is gone, or failed to open.
    Lost {
        /// The user.
        user: UserId,
        /// Set if it was open.
        stood: bool,
        /// Set if it was of no use.
        in_vain: bool,
    },
    /// The connection that a user was about to use failed to open: the request it would have sent has failed.
    Unspoken {
        /// The user.
        user: UserId,
        /// The cause.
        why: Unspoken,
    },
}

/// A request that is over.
pub(crate) struct Over {
    pub user: UserId,
    /// The name of the request in figures, shared by the hops that follow it.
    pub name: u16,
    pub hops: u8,
    /// The next hop, if the response is a redirect.
    pub follow: Option<Box<Follow>>,
    /// The finder of the resources that the response names.
    pub page: Option<Found>,
    /// Timeout of the hops that follow it, and of the resources it names.
    pub within: Nanos,
    pub news: News,
    /// Set if nothing could be reached: the user waits before the next attempt.
    pub back_off: bool,
}

/// The cause of a request that could not be sent.
pub(crate) struct Unspoken {
    pub sort: Sort,
    /// The status code with which the peer refused, or 0.
    pub code: u32,
    pub why: Option<cause::Cause>,
}

impl Unspoken {
    /// Creates it from the cause of a failure.
    pub fn of(cause: &Cause<'_>) -> Unspoken {
        Unspoken { sort: cause.sort, code: cause.code, why: cause.why.cloned() }
    }

    /// Returns it as the cause of a failed request.
    pub fn cause(&self) -> Cause<'_> {
        Cause { sort: self.sort, code: self.code, why: self.why.as_ref() }
    }
}

impl Over {
    /// Creates the end of a request that leads to no further one.
    pub fn of(user: UserId, news: News) -> Over {
        Over { user, name: 0, hops: 0, follow: None, page: None, within: Nanos::ZERO, news, back_off: false }
    }
}
