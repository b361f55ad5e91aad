//! What came of what was wanted: told by connections, heard by users.

use measure::Nanos;
use scenario::News;
use wire::{Follow, Found};

use crate::failing::Cause;
use crate::ids::UserId;
use crate::sort::Sort;

/// What happened to a user by way of connections.
pub(crate) enum Outcome {
    /// A request is over.
    Over(Over),
    /// The connection that a user opened for itself stands.
    Connected {
        /// Whose it is.
        user: UserId,
    },
    /// A message came unasked on a user's connection.
    Heard {
        /// Whose it is.
        user: UserId,
        /// Its bytes.
        message: Box<[u8]>,
    },
    /// The connection of a user who has nothing in flight is gone, or never stood.
    Lost {
        /// Whose it was.
        user: UserId,
        /// It stood.
        stood: bool,
        /// It was of no use.
        in_vain: bool,
    },
    /// The connection that a user was about to speak on did not come to stand: what it would have said has failed.
    Unspoken {
        /// Who could not speak.
        user: UserId,
        /// Why.
        why: Unspoken,
    },
}

/// A request that is over.
pub(crate) struct Over {
    pub user: UserId,
    /// What the request was called; so are the hops that follow it.
    pub name: u16,
    pub hops: u8,
    /// The next hop, where a redirect asks for one.
    pub follow: Option<Box<Follow>>,
    /// What finds the resources that the response names.
    pub page: Option<Found>,
    /// What the hops that follow it, and the resources it names, may take.
    pub within: Nanos,
    pub news: News,
    /// Nothing could be reached: wait before the next attempt.
    pub back_off: bool,
}

/// Why something could not be said.
pub(crate) struct Unspoken {
    pub sort: Sort,
    /// The status code with which the peer refused; 0: none.
    pub code: u32,
    pub why: Option<cause::Cause>,
}

impl Unspoken {
    /// What is known of a failure.
    pub fn of(cause: &Cause<'_>) -> Unspoken {
        Unspoken { sort: cause.sort, code: cause.code, why: cause.why.cloned() }
    }

    /// The same as why a request failed.
    pub fn cause(&self) -> Cause<'_> {
        Cause { sort: self.sort, code: self.code, why: self.why.as_ref() }
    }
}

impl Over {
    /// One that asks for nothing more.
    pub fn of(user: UserId, news: News) -> Over {
        Over { user, name: 0, hops: 0, follow: None, page: None, within: Nanos::ZERO, news, back_off: false }
    }
}
