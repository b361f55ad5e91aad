//! Operations on an open connection: submitting, releasing and cancelling exchanges, and heartbeats.

use brunt_contract::{ConnId, ExchangeId, Network, Request, SessionFull, SlotContext, SubmitOutcome, UserState};

use super::Links;

impl<N: Network> Links<N> {
    /// Submits an exchange; [`Links::flush`] sends its bytes.
    ///
    /// # Errors
    /// The session has no room.
    #[inline]
    pub fn submit(
        &mut self,
        conn: ConnId,
        id: ExchangeId,
        request: &Request,
        context: &SlotContext,
    ) -> Result<SubmitOutcome, SessionFull> {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut().ok_or(SessionFull)?;
        session.submit(id, request, context, &mut self.out)
    }

    /// Like [`Links::submit`], for a user that keeps state from earlier responses.
    ///
    /// # Errors
    /// The session has no room.
    pub fn submit_with(
        &mut self,
        conn: ConnId,
        id: ExchangeId,
        request: &Request,
        context: &SlotContext,
        memory: &UserState,
    ) -> Result<SubmitOutcome, SessionFull> {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut().ok_or(SessionFull)?;
        session.submit_with(id, request, context, memory, &mut self.out)
    }

    /// Makes the session report a response that arrived before its request ([`SubmitOutcome::AlreadyComplete`]).
    #[cold]
    pub fn report_early_answer(&mut self, conn: ConnId) {
        self.aim(conn);
        if let Some(session) = &mut self.conns[conn.at()].session {
            // Without bytes there is nothing that could be malformed.
            let _ = session.receive(&[], &mut self.out, &mut self.done);
        }
    }

    /// Cancels an exchange. Returns `true` if its connection stays usable.
    pub fn cancel(&mut self, conn: ConnId, id: ExchangeId) -> bool {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut();
        let lives = session.is_some_and(|session| session.cancel(id, &mut self.out));
        if lives {
            self.flush();
        }
        lives
    }

    /// Sends the withheld part of an exchange; returns `false` if nothing is withheld any more.
    pub fn release(&mut self, conn: ConnId, id: ExchangeId) -> bool {
        self.aim(conn);
        let session = self.conns[conn.at()].session.as_mut();
        let released = session.is_some_and(|session| session.continue_request(id, &mut self.out));
        if released {
            self.flush();
        }
        released
    }

    /// Sends a heartbeat; returns `false` if the protocol has none, or does not permit one at this point.
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
