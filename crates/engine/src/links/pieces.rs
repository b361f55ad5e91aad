//! Large sends through TLS: sealed a piece at a time, each once the socket has taken the piece before, so that no body
//! keeps the loop from the other connections.

use brunt_contract::{ConnId, Network, OutputBuffer};
use brunt_net::SendBacklog;

use super::Links;

/// Maximum number of bytes sealed together: with what four records add, one write of the network.
pub(super) const SEALED_PIECE: usize = brunt_net::PIECE - 1024;

impl<N: Network> Links<N> {
    /// Queues the appended bytes of a TLS connection behind those that wait to be sealed.
    #[cold]
    pub(super) fn seal_in_pieces(&mut self, conn: ConnId) {
        let Some(channel) = &mut self.conns[conn.at()].secure else { return };
        let first = channel.unsealed.is_none();
        channel.unsealed.get_or_insert_default().append(&mut self.out);
        if first {
            self.seal_piece(conn);
        }
    }

    /// Seals and sends the next piece of what waits; returns `true` if there was one.
    pub(super) fn seal_piece(&mut self, conn: ConnId) -> bool {
        let Some(channel) = &mut self.conns[conn.at()].secure else { return false };
        let Some(mut waiting) = channel.unsealed.take() else { return false };
        let mut piece = OutputBuffer::default();
        loop {
            waiting.take(SEALED_PIECE, &mut piece);
            channel.channel.seal(&piece, &mut self.cipher);
            piece.clear();
            self.net.send(conn, &mut self.cipher);
            if self.net.report_sent(conn) || waiting.is_empty() {
                channel.unsealed = (!waiting.is_empty()).then_some(waiting);
                return true;
            }
        }
    }

    /// Returns the number of bytes that the socket has not accepted yet.
    pub fn unsent(&self, conn: ConnId) -> usize {
        let unsealed = self.conns[conn.at()].secure.as_ref().and_then(|channel| channel.unsealed.as_deref());
        self.net.unsent(conn) + unsealed.map_or(0, SendBacklog::len)
    }
}
