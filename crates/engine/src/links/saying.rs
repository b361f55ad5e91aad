//! What is said on a connection that stands: exchanges begun, gone on with and given up, and heartbeats.

use wire::{ConnId, ExchangeId, Fill, Full, Memory, Network, Request, Sent};

use super::Links;

impl<N: Network> Links<N> {
    /// Submits an exchange; its bytes leave with [`Links::flush`].
    ///
    /// # Errors
    /// The session has no room.
    #[inline]
    pub fn submit(&mut self, conn: ConnId, id: ExchangeId, request: &Request, fill: &Fill) -> Result<Sent, Full> {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut().ok_or(Full)?;
        session.submit(id, request, fill, &mut self.out)
    }

    /// The same for a user who keeps something of earlier responses.
    ///
    /// # Errors
    /// The session has no room.
    pub fn submit_with(
        &mut self,
        conn: ConnId,
        id: ExchangeId,
        request: &Request,
        fill: &Fill,
        memory: &Memory,
    ) -> Result<Sent, Full> {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut().ok_or(Full)?;
        session.submit_with(id, request, fill, memory, &mut self.out)
    }

    /// The session tells of what came before it was asked for ([`Sent::There`]).
    #[cold]
    pub fn tell(&mut self, conn: ConnId) {
        self.aim(conn);
        if let Some(session) = &mut self.conns[conn.at()].session {
            // Nothing came that could be wrong.
            let _ = session.receive(&[], &mut self.out, &mut self.done);
        }
    }

    /// The time of an exchange passed. True: its connection lives on.
    pub fn cancel(&mut self, conn: ConnId, id: ExchangeId) -> bool {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut();
        let lives = session.is_some_and(|session| session.cancel(id, &mut self.out));
        if lives {
            self.flush();
        }
        lives
    }

    /// Sends what was withheld of an exchange; false where nothing is any more.
    pub fn release(&mut self, conn: ConnId, id: ExchangeId) -> bool {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut();
        let released = session.is_some_and(|session| session.release(id, &mut self.out));
        if released {
            self.flush();
        }
        released
    }

    /// Sends a heartbeat, where the protocol has one now.
    pub fn heartbeat(&mut self, conn: ConnId) -> bool {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut();
        let beats = session.is_some_and(|session| session.heartbeat(&mut self.out));
        if beats {
            self.flush();
        }
        beats
    }
}
