//! Requests nobody answers: over once their bytes are written, without a latency.

use wire::{ConnId, Dialogue, ExchangeId, Network};

use crate::exchange::{NONE, Standing};
use crate::worker::{Next, Worker};

impl<N: Network, D: Dialogue> Worker<N, D> {
    /// Ends those whose bytes the socket has taken; the others are looked at again next turn.
    pub fn end_one_way(&mut self) {
        let mut written = std::mem::take(&mut self.one_way);
        written.retain(|id| {
            let x = *self.exchanges.get(*id);
            if x.state != Standing::InFlight || !x.one_way || x.conn == NONE {
                // Its connection broke before: it failed, or is sent again.
                return false;
            }
            let waits = self.net.unsent(ConnId(x.conn)) > 0;
            if !waits {
                self.written(*id, x.conn);
            }
            waits
        });
        self.one_way.append(&mut written);
    }

    fn written(&mut self, id: ExchangeId, conn: u32) {
        let x = self.exchanges.remove(id);
        let c = &mut self.conns[conn as usize];
        c.in_flight -= 1;
        c.free_since = self.stamp;
        self.over_with(&x, false);
        if let Some(alarm) = &mut self.alarm {
            alarm.finished += 1;
        }
        if !x.warmup {
            self.tally.counts.finished += 1;
            self.tally.counts.one_way += 1;
        }
        self.offer(conn);
        if x.user == NONE {
            return;
        }
        if self.terms.think.is_none() {
            // In the next turn, so that what arrives is read in between.
            self.pauses.add(self.stamp, x.user);
        } else {
            self.next.push(Next { user: x.user, hops: 0, follow: None, back_off: false });
            self.go_on_without();
        }
    }
}
