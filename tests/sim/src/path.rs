//! When things arrive: latency, bandwidth, loss, outages, and where a send is cut into pieces.
//!
//! Each kind of chance has a random stream of its own, so that switching one on leaves the others as they were.

use measure::{Nanos, Rng};

use super::settings::SimSettings;
use super::stream::Stream;

/// The chances of one simulation.
#[derive(Debug)]
pub(super) struct Path {
    latency: Rng,
    cuts: Rng,
    loss: Rng,
    faults: Rng,
    joins: Rng,
    /// Where the pieces of the last cut end; the last of them is its length.
    pub(super) ends: Vec<usize>,
}

impl Path {
    pub(super) fn new(seed: u64) -> Path {
        let root = Rng::new(seed);
        Path {
            latency: root.fork(1),
            cuts: root.fork(2),
            loss: root.fork(3),
            faults: root.fork(4),
            joins: root.fork(5),
            ends: Vec::new(),
        }
    }

    /// When something sent at `now` behind everything else on `stream` arrives.
    pub(super) fn due(
        &mut self,
        settings: &SimSettings,
        now: Nanos,
        len: usize,
        datagrams: bool,
        stream: &mut Stream,
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

    /// Whether a datagram is lost.
    pub(super) fn loses(&mut self, settings: &SimSettings) -> bool {
        chance(&mut self.loss, settings.loss)
    }

    /// Half of the way to a peer and back, for a connection asked for at `now`.
    pub(super) fn handshake(&mut self, settings: &SimSettings, now: Nanos) -> (Nanos, Nanos) {
        let whole = settings.connect_delay.draw(&mut self.latency).max(Nanos(2));
        let there = outage(settings, now + Nanos(whole.0 / 2));
        (there, Nanos(whole.0 - whole.0 / 2))
    }

    /// Finds the pieces that `len` bytes arrive in, puts their ends into `ends` and returns how many they are.
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

    /// How long after the piece before it the next piece comes.
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

/// What would arrive within an outage arrives at its end.
pub(super) fn outage(settings: &SimSettings, due: Nanos) -> Nanos {
    settings.outages.iter().fold(due, |due, o| if o.from <= due && due < o.to { o.to } else { due })
}

/// Draws only where there is a chance.
fn chance(rng: &mut Rng, p: f64) -> bool {
    p > 0.0 && rng.f64() < p
}
