//! What lies in the sockets when a run ends: a run that stops reading with its last answer would never see it.
//!
//! Refusals of datagrams that nobody answers, and answers beyond those that were asked for: where answers belong to requests
//! by order alone, such a rest says that some were taken for another's.

use measure::Nanos;
use wire::{Arrival, Dialogue, Event, Network};

use crate::Stop;
use crate::pace::ATTENTION;
use crate::pool::Stage;
use crate::worker::{Heard, Worker, receive};

/// A socket may hold many datagrams, each of which takes a turn; a peer that never stops is not listened to for ever.
const ROUNDS: u32 = 64;
/// What a refusal from afar may take; an answer too many may take as long as the longest answer of the last second, too.
const GRACE: Nanos = Nanos::from_millis(50);

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// True where the run ends and this connection is to be looked at once more before it is closed.
    pub fn is_kept_for_final_read(&self, conn: u32) -> bool {
        let ending = self.closing || self.quota_spent();
        let origin = self.conns[conn as usize].origin as usize;
        ending && (self.pools[origin].origin.datagrams || self.dialogue.by_order().is_some())
    }

    /// Reads what is there; requests are over, and nothing goes on. A refusal, or an answer too many, is given a moment to come,
    /// unless there was one already: one that was doubled shifts all that come after it, so that the rest is on its way still.
    /// Whoever interrupts a run is not kept waiting for slow answers.
    pub fn read_finally(&mut self, stop: &Stop) {
        let refusals = self.one_way.were_any() && self.pools.iter().any(|pool| pool.origin.datagrams);
        if !refusals && self.dialogue.by_order().is_none() {
            return;
        }
        let slowest = if stop.requested() { Nanos::ZERO } else { Nanos(self.tally.latency.service.max()) };
        let mut until = self.stamp + GRACE.max(slowest).min(self.limits.drain);
        let grace = self.stamp + GRACE;
        let mut rounds = 0;
        while rounds < ROUNDS {
            let now = self.net.now();
            self.net.wait(until.min(now + ATTENTION));
            let heard = self.hear_the_rest();
            rounds += u32::from(heard);
            if stop.requested() {
                until = until.min(grace);
            }
            if self.tally.counts.connections.refused + self.tally.counts.unsolicited + self.net.refused() > 0 {
                until = self.stamp;
            }
            if !heard && self.net.now() >= until {
                return;
            }
        }
    }

    /// What has arrived; false where nothing has.
    fn hear_the_rest(&mut self) -> bool {
        let mut heard = false;
        while let Some(arrival) = self.net.next() {
            heard = true;
            match arrival {
                Arrival::Closed(conn, why) => self.see_refusal(conn.0, why),
                Arrival::Received(conn, bytes) => {
                    let c = &mut self.conns[conn.0 as usize];
                    // What came for requests that are unfinished may be their answer.
                    if c.stage == Stage::Open && c.in_flight == 0 {
                        let count = bytes.len();
                        let read = receive(c, bytes, &mut self.out, &mut self.cipher, &mut self.plain, &mut self.done);
                        self.strays(conn.0, count, read);
                    }
                }
                _ => {}
            }
        }
        heard
    }

    /// Nothing was in flight: each whole answer is one too many, and so is what no session reads.
    fn strays(&mut self, conn: u32, count: usize, heard: Heard) {
        self.tally.counts.bytes.received += count as u64;
        let read = match heard {
            Heard::Plain(read) => read,
            Heard::Secure(fed) => match self.fed(conn, fed) {
                Some(read) => read,
                None => return,
            },
        };
        let before = self.tally.counts.unsolicited;
        for event in self.done.events.drain(..) {
            match event {
                Event::Stray(_) => self.tally.counts.stray(),
                Event::Unsolicited(_) => self.tally.counts.unsolicited += 1,
                _ => {}
            }
        }
        self.tally.counts.unsolicited += u64::from(read.is_err() && self.tally.counts.unsolicited == before);
        self.out_for = conn;
        self.flush();
    }
}
