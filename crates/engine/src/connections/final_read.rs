//! The final read of data that is still in the sockets when a run ends, and that would be missed if the run stopped
//! reading at its last answer.
//!
//! It detects refusals of unanswered datagrams, and surplus answers: if answers are matched to requests by order alone,
//! leftover bytes mean that some answers were matched to the wrong request.

use brunt_contract::{Event, Network, ProtocolError};
use brunt_measure::Nanos;

use crate::Stop;
use crate::ids::ConnId;
use crate::links::LinkEvent;
use crate::pool::ConnStage;

use super::WorkerConnections;
use super::clock::STOP_CHECK_INTERVAL;

/// Maximum number of rounds. A socket may hold many datagrams, each of which takes a turn, and a peer may send
/// indefinitely.
const ROUNDS: u32 = 64;
/// Time allowed for a refusal from a remote host; a surplus answer may also take as long as the longest answer of the
/// last second.
const GRACE: Nanos = Nanos::from_millis(50);

impl<N: Network> WorkerConnections<N> {
    /// Returns `true` if the run is ending (`ending`: all its requests were started) and this connection must be read
    /// once more before it is closed.
    pub(crate) fn is_kept_for_final_read(&self, conn: ConnId, ending: bool) -> bool {
        let ending = ending || self.closing;
        let pool_id = self.links.conn(conn).pool;
        let of_order = self.traffic.workload.prepared().by_order.is_some();
        ending && (self.pools.get(pool_id).origin.datagrams || of_order || self.one_way.any_sent())
    }

    /// Reads the remaining data, once all requests have ended and no user continues. It waits briefly for a refusal or
    /// a surplus response, unless one was already seen: a duplicate response shifts all later ones, so one is always
    /// left over. An interrupted run does not wait for slow responses.
    pub(crate) fn read_finally(&mut self, stop: &Stop) {
        let refusals = self.one_way.any_sent() && self.pools.all().iter().any(|pool| pool.origin.datagrams);
        if !refusals && self.traffic.workload.prepared().by_order.is_none() {
            return;
        }
        let slowest = if stop.requested() { Nanos::ZERO } else { Nanos(self.traffic.recorder.times().service.max()) };
        let mut until = self.traffic.stamp + GRACE.max(slowest).min(self.traffic.limits.drain);
        let grace = self.traffic.stamp + GRACE;
        let mut rounds = 0;
        while rounds < ROUNDS {
            let now = self.links.net().now();
            self.links.net().wait(until.min(now + STOP_CHECK_INTERVAL));
            let heard = self.read_rest();
            rounds += u32::from(heard);
            if stop.requested() {
                until = until.min(grace);
            }
            let (_, refused) = self.links.sent_and_refused();
            let counts = self.traffic.recorder.counts();
            if counts.connections.refused + counts.unsolicited + refused > 0 {
                until = self.traffic.stamp;
            }
            if !heard && self.links.net().now() >= until {
                return;
            }
        }
    }

    /// Reads what has arrived; returns `false` if nothing has.
    fn read_rest(&mut self) -> bool {
        let mut heard = false;
        while let Some(arrived) = self.links.next() {
            heard = true;
            match arrived {
                LinkEvent::Closed(conn, why) => self.count_refusal(conn, why),
                LinkEvent::Read(conn, count, read) => {
                    if self.is_idle_open(conn) {
                        self.count_strays(count, read);
                    }
                }
                LinkEvent::TlsRead(conn, count, fed) => {
                    let expects_nothing = self.is_idle_open(conn);
                    let read = self.read_tls(conn, fed);
                    if let Some(read) = read.filter(|_| expects_nothing) {
                        self.count_strays(count, read);
                    }
                }
                LinkEvent::Connected(_) | LinkEvent::Sent(_) => {}
            }
            // Bytes received while requests are unfinished may belong to their responses.
            self.links.done().events.clear();
            self.links.flush();
        }
        heard
    }

    /// Returns `true` if a connection is open and has nothing in flight.
    fn is_idle_open(&self, conn: ConnId) -> bool {
        let c = self.links.conn(conn);
        c.stage == ConnStage::Open && c.in_flight() == 0
    }

    /// Counts surplus responses, and bytes that the session cannot parse.
    fn count_strays(&mut self, count: usize, read: Result<(), ProtocolError>) {
        let counts = self.traffic.recorder.counts();
        counts.bytes.received += count as u64;
        let before = counts.unsolicited;
        for event in self.links.done().events.drain(..) {
            match event {
                Event::SurplusResponse(_) => counts.stray(),
                Event::Unsolicited(..) => counts.unsolicited += 1,
                _ => {}
            }
        }
        counts.unsolicited += u64::from(read.is_err() && counts.unsolicited == before);
    }
}
