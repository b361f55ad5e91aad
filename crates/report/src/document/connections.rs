//! Connections in the document.

use brunt_record::ConnectionFigures;
use serde::Serialize;

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ConnectionReport {
    /// Connections opened.
    opened: u64,
    /// Connection attempts that failed.
    failed: u64,
    /// Requests on a reused connection.
    reused: u64,
    /// TLS handshakes completed.
    handshakes: u64,
    /// TLS handshakes that resumed a session.
    resumed: u64,
    /// Connections open at the end.
    open: u32,
    /// Connections opened, then lost.
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
