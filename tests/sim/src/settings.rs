//! The settings of the simulated network and processor.

use brunt_measure::{Nanos, Rng};

/// A delay: a fixed part plus an exponential one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimDelay {
    /// Fixed part.
    pub fixed: Nanos,
    /// Mean of the exponential part.
    pub jitter: Nanos,
}

impl SimDelay {
    /// Creates a constant delay.
    pub const fn fixed(fixed: Nanos) -> SimDelay {
        SimDelay { fixed, jitter: Nanos::ZERO }
    }

    pub(super) fn draw(self, rng: &mut Rng) -> Nanos {
        match self.jitter {
            Nanos::ZERO => self.fixed,
            Nanos(mean) => self.fixed + Nanos((mean as f64 * rng.exponential()) as u64),
        }
    }
}

/// An interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimInterval {
    /// Start, inclusive.
    pub from: Nanos,
    /// End, exclusive.
    pub to: Nanos,
}

/// Behaviour of the simulated network and processor. Probabilities are between 0 and 1; the default network is fast,
/// faultless and without limits, and the default processor costs nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSettings {
    /// First reading of the clock; not zero, because zero often means "not yet".
    pub starts_at: Nanos,
    /// One-way latency of each piece (at least 1 ns, so that time always passes).
    pub latency: SimDelay,
    /// Time from the call to connect until `Connected` or `Closed`.
    pub connect_delay: SimDelay,
    /// Bytes per second in each direction of a connection.
    pub bandwidth: Option<u64>,
    /// Probability that one send arrives in pieces, split at random positions.
    pub split: f64,
    /// Mean time between the pieces of a split send.
    pub split_gap: Nanos,
    /// Probability that a send is merged with data in flight, and arrives with it.
    pub merge: f64,
    /// Maximum number of bytes in one arrival.
    pub read_size: usize,
    /// Probability that a piece is lost and arrives `rto` later, with everything after it; a lost datagram never
    /// arrives.
    pub loss: f64,
    /// Retransmission timeout.
    pub rto: Nanos,
    /// Probability that a send of the client resets the connection instead.
    pub reset: f64,
    /// Probability that a connection attempt is refused.
    pub refuse: f64,
    /// Intervals without arrivals; anything due in one arrives at its end.
    pub outages: Vec<SimInterval>,
    /// Maximum number of concurrent connections; further ones get EMFILE.
    pub max_descriptors: Option<usize>,
    /// Number of local ports; further connections get EADDRNOTAVAIL. If the client closed first, the port stays
    /// unavailable for `time_wait`.
    pub max_ports: Option<usize>,
    /// Time that a port stays in TIME_WAIT.
    pub time_wait: Nanos,
    /// Maximum number of bytes in flight; those beyond it count as unsent.
    pub window: Option<usize>,
    /// Cost of a clock reading.
    pub clock_cost: Nanos,
    /// Cost of each send.
    pub send_cost: Nanos,
    /// Cost of each connect.
    pub connect_cost: Nanos,
    /// Cost of each arrival.
    pub event_cost: Nanos,
    /// Cost of examining the contents of an arrival.
    pub look_cost: Nanos,
    /// Cost of each wait, whether it sleeps or not.
    pub wait_cost: Nanos,
    /// Delay after the intended end of an uninterrupted sleep.
    pub oversleep: SimDelay,
    /// Intervals in which the client's thread does not run (descheduled, stopped), in order and without overlaps.
    pub pauses: Vec<SimInterval>,
    /// Set if others had the core in the pauses, so that the scheduler counts them as time ready to run; otherwise the
    /// thread was stopped.
    pub pauses_count: bool,
    /// Set if a wait in which a pause falls ends without an arrival, as signals end it; the next wait finds what came.
    pub pauses_interrupt: bool,
}

impl Default for SimSettings {
    fn default() -> Self {
        SimSettings {
            starts_at: Nanos::from_secs(1),
            latency: SimDelay::fixed(Nanos::from_micros(50)),
            connect_delay: SimDelay::fixed(Nanos::from_micros(100)),
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
            oversleep: SimDelay::fixed(Nanos::ZERO),
            pauses: Vec::new(),
            pauses_count: false,
            pauses_interrupt: false,
        }
    }
}
