//! Numbers by which one protocol of a flow is told from the others: in requests, origins and status codes.

use std::sync::Arc;

use wire::{Dialogue, Origin};

/// The bits of [`Origin::bound`] that are a protocol's own.
const BOUND: u32 = 24;
/// The bits of a status code that are a protocol's own: five letters and digits of PostgreSQL need 26.
const CODE: u32 = 27;

/// A request of one of the protocols.
#[derive(Debug)]
pub(super) struct Request {
    /// The number of its protocol.
    pub part: usize,
    /// What that protocol made, and when.
    pub own: Made,
}

/// When a protocol made a request.
#[derive(Debug)]
pub(super) enum Made {
    /// Before the run: that of this number.
    Prepared(usize),
    /// During the run.
    During(Arc<wire::Request>),
}

impl Request {
    /// What the protocol of this dialogue made.
    pub fn own<'a>(&'a self, dialogue: &'a dyn Dialogue) -> &'a wire::Request {
        match &self.own {
            Made::Prepared(at) => &dialogue.requests()[*at].request,
            Made::During(own) => own,
        }
    }
}

/// Where a protocol's connection leads, among those of all.
pub(super) fn outer(part: usize, origin: &Origin) -> Origin {
    Origin { bound: (part as u32) << BOUND | origin.bound, ..origin.clone() }
}

/// The same as its protocol knows it, and the number of that.
pub(super) fn inner(origin: &Origin) -> (usize, Origin) {
    let own = Origin { bound: origin.bound & ((1 << BOUND) - 1), ..origin.clone() };
    (part_of_bound(origin.bound), own)
}

/// The number of the protocol that a connection speaks.
pub(super) fn part_of_bound(bound: u32) -> usize {
    (bound >> BOUND) as usize
}

/// A protocol's status code among those of all; none stays none.
pub(super) fn outer_code(part: usize, code: u32) -> u32 {
    if code == 0 { 0 } else { (part as u32) << CODE | code }
}

/// The number of the protocol whose status code it is, and the code as that knows it.
pub(super) fn inner_code(code: u32) -> (usize, u32) {
    ((code >> CODE) as usize, code & ((1 << CODE) - 1))
}
