//! The histograms of a second or of a run.

use brunt_measure::Histogram;
use serde::{Deserialize, Serialize};

/// Declares a struct of histograms that can be iterated over.
macro_rules! histograms {
    ($(#[$meta:meta])* pub struct $Name:ident { $($(#[$doc:meta])* $name:ident),+ $(,)? }) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[$doc])* pub $name: Histogram,)+
        }

        impl $Name {
            /// Iterates over all histograms with their names, in the order of the fields.
            pub fn all(&self) -> impl ExactSizeIterator<Item = (&'static str, &Histogram)> {
                [$((stringify!($name), &self.$name)),+].into_iter()
            }

            /// Iterates over all histograms mutably.
            pub fn all_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Histogram> {
                [$(&mut self.$name),+].into_iter()
            }
        }
    };
}

histograms! {
    /// The histograms of a second or of a run. Finished requests only, except for `failed` and the `*_at_least` ones:
    /// the latter hold the lower bounds of requests that did not finish (censored at the end, or timed out), and rank
    /// above all others.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Latency {
        /// Time from the intended start to the last byte (open load only).
        response,
        /// Time from the actual start to the last byte.
        service,
        /// Time for which the server (or the connection limit) made the request wait for a connection (open load only).
        wait_conn,
        /// Time by which the generator was late (open load, and steps of flows).
        gen_late,
        /// Time to open connections.
        connect,
        /// Time of TLS handshakes.
        tls,
        /// Time of the protocol's own handshakes (an upgrade, AUTH).
        #[serde(default)]
        greeting,
        /// Time from the write of the request to the first byte of the response.
        first_byte,
        /// Time from the first byte to the last.
        transfer,
        /// Time to failure, from the intended start (open) or the actual one (closed).
        failed,
        /// The subset of `failed` for which the server sent a complete response, however wrong.
        #[serde(default)]
        failed_responses,
        /// Lower bounds of `response` of requests that did not finish.
        response_at_least,
        /// Lower bounds of `service` of requests that did not finish.
        service_at_least,
        /// Lower bounds of `wait_conn` of requests that were never sent.
        wait_conn_at_least,
        /// `response` of the requests that brunt itself may have delayed by more than a bucket: a subset.
        #[serde(default)]
        response_delayed,
        /// The same requests without the delay that may be brunt's own; response time is at least that.
        #[serde(default)]
        response_undelayed,
        /// `service` of the requests that brunt itself may have delayed by more than a bucket: a subset.
        #[serde(default)]
        service_delayed,
        /// The same requests without the delay that may be brunt's own; service time is at least that.
        #[serde(default)]
        service_undelayed,
        /// Time between the messages of a stream.
        #[serde(default)]
        message_gap,
        /// Time from a heartbeat to its response.
        #[serde(default)]
        heartbeat,
        /// Lower bounds of `heartbeat` for those that were never answered.
        #[serde(default)]
        heartbeat_at_least,
        /// Intervals of 20 µs and more in which a worker did not check its sockets: turns of its loop, and delays at
        /// the end of its waits.
        #[serde(default)]
        loop_gap,
        /// Time for which a worker waited for a core at the end of a wait, for a sample of the waits.
        #[serde(default)]
        wake_delay,
    }
}

impl Latency {
    /// Adds the counts of another set of histograms.
    pub fn merge(&mut self, other: &Latency) {
        for (mine, (_, theirs)) in self.all_mut().zip(other.all()) {
            mine.merge(theirs);
        }
    }
}
