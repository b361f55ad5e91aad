//! The final read: what lies in the sockets when a run ends would be missed by a run that stops reading with its last
//! answer.
//!
//! It finds refusals of unanswered datagrams, and surplus answers: where answers are matched to requests by order
//! alone, such a rest means that some answers were matched to the wrong request.

use measure::Nanos;
use wire::{Broken, Event, Network};

use crate::Stop;
use crate::ids::ConnId;
use crate::links::Arrived;
use crate::pool::Stage;

use super::Connections;
use super::clock::ATTENTION;

/// Maximum number of rounds: a socket may hold many datagrams, each of which takes a turn, and a peer may never stop.
const ROUNDS: u32 = 64;
/// Time allowed for a refusal from a remote host; a surplus answer may also take as long as the longest answer of the
/// last second.
const GRACE: Nanos = Nanos::from_millis(50);

impl<N: Network> Connections<N> {
    /// Returns `true` if the run ends (`ending`: all its requests were started) and this connection is to be read once
    /// more before it is closed.
    pub(crate) fn is_kept_for_final_read(&self, conn: ConnId, ending: bool) -> bool {
        let ending = ending || self.closing;
        let pool_id = self.links.conn(conn).pool;
        ending && (self.pools.get(pool_id).origin.datagrams || self.traffic.dialogue.prepared().by_order.is_some())
    }

    /// Reads what is left; requests are over, and no user goes on. A refusal or a surplus response is given a moment to
    /// come, unless there was one already: a duplicated response shifts all later ones, so the rest is still on its
    /// way. An interrupted run does not wait for slow responses.
    pub(crate) fn read_finally(&mut self, stop: &Stop) {
        let refusals = self.one_way.were_any() && self.pools.all().iter().any(|pool| pool.origin.datagrams);
        if !refusals && self.traffic.dialogue.prepared().by_order.is_none() {
            return;
        }
        let slowest = if stop.requested() { Nanos::ZERO } else { Nanos(self.traffic.books.times().service.max()) };
        let mut until = self.traffic.stamp + GRACE.max(slowest).min(self.traffic.limits.drain);
        let grace = self.traffic.stamp + GRACE;
        let mut rounds = 0;
        while rounds < ROUNDS {
            let now = self.links.net().now();
            self.links.net().wait(until.min(now + ATTENTION));
            let heard = self.read_the_rest();
            rounds += u32::from(heard);
            if stop.requested() {
                until = until.min(grace);
            }
            let (_, refused) = self.links.sent_and_refused();
            let counts = self.traffic.books.counts();
            if counts.connections.refused + counts.unsolicited + refused > 0 {
                until = self.traffic.stamp;
            }
            if !heard && self.links.net().now() >= until {
                return;
            }
        }
    }

    /// Reads what has arrived; returns `false` if nothing has.
    fn read_the_rest(&mut self) -> bool {
        let mut heard = false;
        while let Some(arrived) = self.links.next() {
            heard = true;
            match arrived {
                Arrived::Closed(conn, why) => self.see_refusal(conn, why),
                Arrived::Read(conn, count, read) => {
                    if self.expects_nothing(conn) {
                        self.strays(count, read);
                    }
                }
                Arrived::Secure(conn, count, fed) => {
                    let expects_nothing = self.expects_nothing(conn);
                    let read = self.unsealed(conn, fed);
                    if let Some(read) = read.filter(|_| expects_nothing) {
                        self.strays(count, read);
                    }
                }
                Arrived::Connected(_) | Arrived::Sent(_) => {}
            }
            // Bytes that came for unfinished requests may be their response.
            self.links.done().events.clear();
            self.links.flush();
        }
        heard
    }

    /// Returns `true` if a connection has nothing in flight.
    fn expects_nothing(&self, conn: ConnId) -> bool {
        let c = self.links.conn(conn);
        c.stage == Stage::Open && c.in_flight() == 0
    }

    /// Counts surplus responses (nothing was in flight), and bytes that no session can parse.
    fn strays(&mut self, count: usize, read: Result<(), Broken>) {
        let counts = self.traffic.books.counts();
        counts.bytes.received += count as u64;
        let before = counts.unsolicited;
        for event in self.links.done().events.drain(..) {
            match event {
                Event::Stray(_) => counts.stray(),
                Event::Unsolicited(..) => counts.unsolicited += 1,
                _ => {}
            }
        }
        counts.unsolicited += u64::from(read.is_err() && counts.unsolicited == before);
    }
}
