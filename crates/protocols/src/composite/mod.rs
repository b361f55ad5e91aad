//! Several protocols in one flow: a composite protocol whose requests, origins and names are those of its member
//! protocols.
//!
//! Each member prepares its URLs and behaves as if it were alone; the composite only dispatches to the members. The
//! composite is used only for flows with protocols other than HTTP. The protocol of a connection is stored in
//! [`brunt_contract::Origin::bound`], and the protocol of a status code in the code's high bits; HTTP is the first
//! member, so both are unchanged for it.

mod member_ids;
mod session;
mod workload;

pub use workload::{CompositeProtocol, NAME};
