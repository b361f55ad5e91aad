//! Encoding of the member protocol in requests, origins and status codes.

use std::sync::Arc;

use brunt_contract::{Origin, Workload};

/// Number of low bits of [`Origin::bound`] that belong to the member.
const BOUND: u32 = 24;
/// Number of low bits of a status code that belong to the member: PostgreSQL's five letters and digits need 26.
const CODE: u32 = 27;

/// A request of a member protocol.
#[derive(Debug)]
pub(super) struct CompositeRequest {
    /// Index of the protocol.
    pub member: usize,
    /// The member's request.
    pub request: MemberRequest,
}

/// The source of a member's request.
#[derive(Debug)]
pub(super) enum MemberRequest {
    /// Prepared before the run; holds its index.
    Prepared(usize),
    /// Created during the run.
    Created(Arc<brunt_contract::Request>),
}

impl CompositeRequest {
    /// Returns the request as the member knows it.
    pub fn member_request<'a>(&'a self, workload: &'a dyn Workload) -> &'a brunt_contract::Request {
        match &self.request {
            MemberRequest::Prepared(at) => &workload.requests()[*at].request,
            MemberRequest::Created(own) => own,
        }
    }
}

/// Converts an origin of a member to one of the composite.
pub(super) fn to_composite(part: usize, origin: &Origin) -> Origin {
    Origin { bound: (part as u32) << BOUND | origin.bound, ..origin.clone() }
}

/// Converts an origin of the composite to the index of the member and its origin.
pub(super) fn to_member(origin: &Origin) -> (usize, Origin) {
    let own = Origin { bound: origin.bound & ((1 << BOUND) - 1), ..origin.clone() };
    (member_of_bound(origin.bound), own)
}

/// Returns the index of the protocol that a connection uses.
pub(super) fn member_of_bound(bound: u32) -> usize {
    (bound >> BOUND) as usize
}

/// Converts a status code of a member to one of the composite; 0 (none) is unchanged.
pub(super) fn to_composite_code(part: usize, code: u32) -> u32 {
    if code == 0 { 0 } else { (part as u32) << CODE | code }
}

/// Converts a status code of the composite to the index of the member and its code.
pub(super) fn to_member_code(code: u32) -> (usize, u32) {
    ((code >> CODE) as usize, code & ((1 << CODE) - 1))
}
