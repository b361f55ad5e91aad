//! Arrival times: latency, bandwidth, loss, outages, and splitting of sends.
//!
//! Each kind of random event has its own random stream, so that enabling one leaves the others unchanged.

use brunt_measure::{Nanos, Rng};

use super::settings::SimSettings;
use super::stream::SimStream;

/// Random streams of one simulation.
#[derive(Debug)]
pub(super) struct SimPath {
    latency: Rng,
    cuts: Rng,
    loss: Rng,
    faults: Rng,
    joins: Rng,
    /// Ends of the pieces of the last split; the last one is its length.
    pub(super) ends: Vec<usize>,
}

impl SimPath {
    pub(super) fn new(seed: u64) -> SimPath {
        let root = Rng::new(seed);
        SimPath {
            latency: root.fork(1),
            cuts: root.fork(2),
            loss: root.fork(3),
            faults: root.fork(4),
            joins: root.fork(5),
            ends: Vec::new(),
        }
    }

    /// Returns the arrival time of something sent at `now`, after everything else on `stream`.
    pub(super) fn due(
        &mut self,
        settings: &SimSettings,
        now: Nanos,
        len: usize,
        datagrams: bool,
        stream: &mut SimStream,
    ) -> Nanos {
        let mut left = now;
        if let (Some(rate), true) = (settings.bandwidth, len > 0) {
            let took = (len as u128 * 1_000_000_000 / u128::from(rate.max(1))) as u64;
            left = stream.line_free.max(now) + Nanos(took);
            stream.line_free = left;
        }
        let mut due = left + settings.latency.draw(&mut self.latency).max(Nanos(1));
        if len > 0 && !datagrams && chance(&mut self.loss, settings.loss) {
            due += settings.rto;
        }
        outage(settings, due.max(stream.last_due))
    }

    /// Returns whether a datagram is lost.
    pub(super) fn loses(&mut self, settings: &SimSettings) -> bool {
        chance(&mut self.loss, settings.loss)
    }

    /// Returns when a connection request made at `now` reaches the peer, and how long the reply takes.
    pub(super) fn handshake(&mut self, settings: &SimSettings, now: Nanos) -> (Nanos, Nanos) {
        let whole = settings.connect_delay.draw(&mut self.latency).max(Nanos(2));
        let there = outage(settings, now + Nanos(whole.0 / 2));
        (there, Nanos(whole.0 - whole.0 / 2))
    }

    /// Splits `len` bytes into pieces: stores their end offsets in `ends` and returns their number.
    pub(super) fn cut(&mut self, settings: &SimSettings, len: usize) -> usize {
        self.ends.clear();
        if len > 1 && chance(&mut self.cuts, settings.split) {
            for _ in 0..1 + self.cuts.below(7) {
                self.ends.push(1 + self.cuts.below(len as u64 - 1) as usize);
            }
            self.ends.sort_unstable();
            self.ends.dedup();
        }
        self.ends.push(len);
        self.ends.len()
    }

    /// Returns the time between two pieces.
    pub(super) fn gap(&mut self, settings: &SimSettings) -> Nanos {
        Nanos(1 + (settings.split_gap.0 as f64 * self.cuts.exponential()) as u64)
    }

    pub(super) fn joins(&mut self, settings: &SimSettings) -> bool {
        chance(&mut self.joins, settings.merge)
    }

    pub(super) fn resets(&mut self, settings: &SimSettings) -> bool {
        chance(&mut self.faults, settings.reset)
    }

    pub(super) fn refuses(&mut self, settings: &SimSettings) -> bool {
        chance(&mut self.faults, settings.refuse)
    }
}

/// Returns the arrival time, moved to the end of the outage in which it falls, if any.
pub(super) fn outage(settings: &SimSettings, due: Nanos) -> Nanos {
    settings.outages.iter().fold(due, |due, o| if o.from <= due && due < o.to { o.to } else { due })
}

/// Returns `true` with probability `p`; draws a random number only if `p` is positive.
fn chance(rng: &mut Rng, p: f64) -> bool {
    p > 0.0 && rng.f64() < p
}
