//! What a simulated network and a simulated processor are like.

use measure::{Nanos, Rng};

/// A delay: a fixed part and an exponential one on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// Never less than this.
    pub fixed: Nanos,
    /// Mean of the exponential part.
    pub jitter: Nanos,
}

impl Delay {
    /// Always the same delay.
    pub const fn fixed(fixed: Nanos) -> Delay {
        Delay { fixed, jitter: Nanos::ZERO }
    }

    pub(super) fn draw(self, rng: &mut Rng) -> Nanos {
        match self.jitter {
            Nanos::ZERO => self.fixed,
            Nanos(mean) => self.fixed + Nanos((mean as f64 * rng.exponential()) as u64),
        }
    }
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Its first moment.
    pub from: Nanos,
    /// The moment it is over.
    pub to: Nanos,
}

/// How the simulated network and processor behave. Chances are between 0 and 1; the default network is fast, faultless
/// and without limits, and the default processor costs nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSettings {
    /// The first reading of the clock; not zero, because a zero often means "not yet".
    pub starts_at: Nanos,
    /// One way, for each piece (at least 1 ns, so that time always passes).
    pub latency: Delay,
    /// From the call of connect to `Connected` or `Closed`.
    pub connect_delay: Delay,
    /// Bytes per second of each direction of a connection.
    pub bandwidth: Option<u64>,
    /// Chance that what is sent at once arrives in pieces, cut at random positions.
    pub split: f64,
    /// Mean time between such pieces.
    pub split_gap: Nanos,
    /// Chance that what is sent joins what is already on its way, and arrives with it.
    pub merge: f64,
    /// The most bytes one arrival holds.
    pub read_size: usize,
    /// Chance that a piece is lost on its way and arrives `rto` later, with everything behind it; a datagram never arrives.
    pub loss: f64,
    /// The retransmission timeout.
    pub rto: Nanos,
    /// Chance for each send of the client that the connection is reset instead.
    pub reset: f64,
    /// Chance for each connect that it is refused.
    pub refuse: f64,
    /// Nothing arrives within these stretches; it arrives at their end.
    pub outages: Vec<Span>,
    /// Connections that may stand at once; further ones get EMFILE.
    pub max_descriptors: Option<usize>,
    /// Local ports; further connections get EADDRNOTAVAIL. A port rests for `time_wait` where we closed first.
    pub max_ports: Option<usize>,
    /// How long a port rests.
    pub time_wait: Nanos,
    /// Bytes a connection takes before they count as unsent.
    pub window: Option<usize>,
    /// Cost of a reading of the clock.
    pub clock_cost: Nanos,
    /// Cost of each send.
    pub send_cost: Nanos,
    /// Cost of each connect.
    pub connect_cost: Nanos,
    /// Cost of each arrival.
    pub event_cost: Nanos,
    /// Cost of looking into what an arrival brought.
    pub look_cost: Nanos,
    /// Cost of each wait, slept or not.
    pub wait_cost: Nanos,
    /// How much later than asked for a sleep that nothing ended is over.
    pub oversleep: Delay,
    /// The client's thread does not run in these stretches (descheduled, stopped); in order and apart.
    pub pauses: Vec<Span>,
}

impl Default for SimSettings {
    fn default() -> Self {
        SimSettings {
            starts_at: Nanos::from_secs(1),
            latency: Delay::fixed(Nanos::from_micros(50)),
            connect_delay: Delay::fixed(Nanos::from_micros(100)),
            bandwidth: None,
            split: 0.0,
            split_gap: Nanos::from_micros(20),
            merge: 0.0,
            read_size: 64 * 1024,
            loss: 0.0,
            rto: Nanos::from_millis(200),
            reset: 0.0,
            refuse: 0.0,
            outages: Vec::new(),
            max_descriptors: None,
            max_ports: None,
            time_wait: Nanos::from_secs(60),
            window: None,
            clock_cost: Nanos::ZERO,
            send_cost: Nanos::ZERO,
            connect_cost: Nanos::ZERO,
            event_cost: Nanos::ZERO,
            look_cost: Nanos::ZERO,
            wait_cost: Nanos::ZERO,
            oversleep: Delay::fixed(Nanos::ZERO),
            pauses: Vec::new(),
        }
    }
}
