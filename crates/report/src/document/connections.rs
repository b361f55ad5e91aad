//! Connections in the document.

use record::ConnectionFigures;
use serde::Serialize;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ConnectionReport {
    /// That succeeded.
    opened: u64,
    /// That failed.
    failed: u64,
    /// Requests on a reused connection.
    reused: u64,
    /// TLS handshakes completed.
    handshakes: u64,
    /// Of these, resumed.
    resumed: u64,
    /// Open at the end.
    open: u32,
    /// Opened, then lost.
    lost: u64,
    /// Refused datagrams for which no response was awaited.
    refused: u64,
}

impl From<&ConnectionFigures> for ConnectionReport {
    fn from(c: &ConnectionFigures) -> ConnectionReport {
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
