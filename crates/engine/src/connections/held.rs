//! Connections that are part of the plan (WebSocket, `--hold`): how many are on their way, and whose they are.

use wire::Network;

use super::Connections;
use super::failing::Cause;

impl<N: Network> Connections<N> {
    /// True where another connection may be begun now.
    pub(crate) fn may_come(&self) -> bool {
        self.held.as_ref().is_none_or(|held| held.may_come(self.pools.opening()))
    }

    /// A user takes a connection that was opened ahead, for a common start; false: there is none.
    pub fn takes_one_opened_ahead(&mut self, user: u32) -> bool {
        let Some(conn) = self.pools.all().iter().find_map(|pool| pool.idle.last().copied()) else { return false };
        let origin = self.links.conn(conn).origin;
        self.pools.get_mut(origin).unmake_idle(self.links.conns_mut(), conn);
        self.own(user, conn);
        true
    }

    /// Opens the connection of a user who says something on its own.
    ///
    /// # Errors
    /// Why it cannot even be begun.
    pub fn connect_for(&mut self, user: u32, origin: u32) -> Result<(), Cause<'static>> {
        self.mark();
        match self.dial(origin) {
            Ok(conn) => {
                self.pools.get_mut(origin).opening += 1;
                self.own(user, conn);
                Ok(())
            }
            Err(errno) => {
                self.books.counts().connections.failed += 1;
                let cause = self.not_dialled(origin, errno);
                self.consider_lookup(origin);
                Err(cause)
            }
        }
    }

    /// What a user would have said on a connection that did not come to stand has failed.
    pub fn fail_unsaid(&mut self, user: u32, cause: &Cause<'_>) {
        let id = self.new_exchange(self.stamp, 0, self.dialogue.names().of(0), user, 0);
        self.fail_now(id, cause, true);
    }

    /// A connection is a user's own from now on.
    fn own(&mut self, user: u32, conn: u32) {
        self.links.conn_mut(conn).user = user;
        self.own.set(user, conn);
    }

    /// True of a connection that is part of the plan. Nobody needs that of a user who is done: it is kept for a final read.
    pub(crate) fn is_wanted(&self, conn: u32) -> bool {
        self.held.as_ref().is_some_and(|held| !held.is_done(self.links.conn(conn).user))
    }

    /// A connection that is part of the plan is lost: counted by what ended it. The peer's own words say more than ours.
    pub(crate) fn count_loss(&mut self, conn: u32, cause: &Cause<'_>) {
        let words = self.links.session(conn).and_then(|session| session.farewell());
        self.books.connection_lost(cause.sort.kind, cause.sort.errno, words.as_ref().or(cause.why));
    }

    /// True where a user opens its connection to say something, again and again: then what it could not say is a request.
    pub(crate) fn users_speak(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !held.holds()) && !self.limits.open && !self.dialogue.prepared().silent
    }
}
