//! Connections in the document.

use record::Connections;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub(super) struct ConnectionReport {
    /// That stood.
    opened: u64,
    /// That did not.
    failed: u64,
    /// Requests on a connection that had served one before.
    reused: u64,
    /// TLS handshakes completed.
    handshakes: u64,
    /// Of these, resumed.
    resumed: u64,
    /// Open at the end.
    open: u32,
    /// Stood and were lost.
    lost: u64,
    /// Refusals of datagrams that nobody waited for an answer to.
    refused: u64,
}

impl From<&Connections> for ConnectionReport {
    fn from(c: &Connections) -> ConnectionReport {
        ConnectionReport {
            opened: c.opened,
            failed: c.failed,
            reused: c.reused,
            handshakes: c.handshakes,
            resumed: c.resumed,
            open: c.open,
            lost: c.lost,
            refused: c.refused,
        }
    }
}
