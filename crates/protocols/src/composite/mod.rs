//! Several protocols in one flow: a composite protocol whose requests, origins and names are those of its member
//! protocols.
//!
//! Each member prepares its URLs as it would alone and behaves as it would alone; the composite only dispatches to the
//! members. It is used only for flows with protocols other than HTTP; all other runs do without it. The protocol of a
//! connection is stored in [`brunt_contract::Origin::bound`], and the protocol of a status code in the code's high
//! bits; HTTP is the first member, so that both are unchanged for it.

mod member_ids;
mod session;
mod workload;

pub use workload::{CompositeProtocol, NAME};
