//! Prepared requests.

use brunt_contract::SlotContext;

use brunt_values::template::{SlotScope, Template};

/// The slots allowed in everything that is sent.
pub const SCOPE: SlotScope<'static> = SlotScope { sequence: true, captured: None, variables: &[] };

/// Maximum payload of a UDP datagram over IPv4: 65,535 less the headers of IP and UDP.
pub const DATAGRAM_BOUND: usize = 65_507;

/// A request ready to be filled and sent.
#[derive(Debug)]
pub struct RawRequest {
    pub(super) template: Template,
    /// Set if any answer is accepted, as for a request before or after the run.
    pub(super) unchecked: bool,
}

impl RawRequest {
    /// Returns the bytes of the request with its slots filled.
    pub fn bytes(&self, context: &SlotContext) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.template.fill(context, &mut bytes);
        bytes
    }
}
