//! The histograms of a second or of a run.

use measure::Histogram;
use serde::{Deserialize, Serialize};

/// Declares a struct of histograms, which can be walked over.
macro_rules! histograms {
    ($(#[$meta:meta])* pub struct $Name:ident { $($(#[$doc:meta])* $name:ident),+ $(,)? }) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[$doc])* pub $name: Histogram,)+
        }

        impl $Name {
            /// All histograms with their names, in the order of the fields.
            pub fn all(&self) -> impl ExactSizeIterator<Item = (&'static str, &Histogram)> {
                [$((stringify!($name), &self.$name)),+].into_iter()
            }

            /// The same, to be changed.
            pub fn all_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Histogram> {
                [$(&mut self.$name),+].into_iter()
            }
        }
    };
}

histograms! {
    /// The histograms of a second or of a run. Finished requests only, but for `failed` and the `*_at_least` ones: the latter
    /// hold the lower bounds of requests that did not finish (censored at the end, or timed out), and rank as later than all.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub struct Latency {
        /// From the intended start to the last byte (open load only).
        response,
        /// From the actual start to the last byte.
        service,
        /// The server (or the bound of connections) made the request wait (open load only).
        wait_conn,
        /// The generator was late (open load, and steps of flows).
        gen_late,
        /// Opening of connections.
        connect,
        /// TLS handshakes.
        tls,
        /// Handshakes of the protocol itself (an upgrade, AUTH).
        #[serde(default)]
        greeting,
        /// From the write of the request to the first byte of the answer.
        first_byte,
        /// From the first byte to the last.
        transfer,
        /// Failures, from the intended start (open) or the actual one (closed) to the failure.
        failed,
        /// Of these, those that the server answered, however wrongly, to the end of the response.
        #[serde(default)]
        failed_responses,
        /// Lower bounds of `response` of requests that did not finish.
        response_at_least,
        /// Lower bounds of `service` of requests that did not finish.
        service_at_least,
        /// Lower bounds of `wait_conn` of requests that were never sent.
        wait_conn_at_least,
        /// Between the messages of a stream.
        #[serde(default)]
        message_gap,
        /// From a heartbeat to its answer.
        #[serde(default)]
        heartbeat,
        /// Lower bounds of `heartbeat` of those that were never answered.
        #[serde(default)]
        heartbeat_at_least,
        /// Stretches of 20 µs and more in which a worker did not look at its sockets: turns of its loop, and how much later
        /// than asked for its waits ended.
        #[serde(default)]
        loop_gap,
        /// How long a worker waited for a core when a wait was over, for a sample of the waits.
        #[serde(default)]
        wake_delay,
    }
}

impl Latency {
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Latency) {
        for (mine, (_, theirs)) in self.all_mut().zip(other.all()) {
            mine.merge(theirs);
        }
    }
}
