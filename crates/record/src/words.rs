//! Words of a record on which something hangs: each is spelled here and nowhere else.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares an enum and the word of each of its values.
macro_rules! words {
    ($(#[$meta:meta])* $Name:ident { $($(#[$doc:meta])* $Value:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name { $($(#[$doc])* $Value),+ }

        impl $Name {
            /// Every value, in the order of the enum.
            pub const ALL: &'static [$Name] = &[$($Name::$Value),+];

            /// Its word in records and documents.
            pub fn name(self) -> &'static str {
                match self { $($Name::$Value => $word),+ }
            }

            /// The value of a word.
            pub fn of(word: &str) -> Option<$Name> {
                Self::ALL.iter().copied().find(|value| value.name() == word)
            }
        }
    };
}

words! {
    /// How a run ended.
    #[derive(Default)]
    End {
        /// As planned.
        #[default]
        Completed = "completed",
        /// By the user or a signal.
        Interrupted = "interrupted",
        /// Workers of it were lost; the others went on.
        Partial = "partial",
        /// It could not go on (or not begin).
        Aborted = "aborted",
        /// Nobody knows: the record stops before its end.
        CutOff = "cut_off",
    }
}

impl Serialize for End {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for End {
    /// What a later brunt says of an end was no completion: this one would know that.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<End, D::Error> {
        let word = Cow::<'de, str>::deserialize(from)?;
        Ok(End::of(&word).unwrap_or(End::Aborted))
    }
}

words! {
    /// What a notice is about. A record of another version may hold others.
    Subject {
        /// `--after` could not be sent or answered.
        AfterFailed = "after_failed",
        /// `--after` was interrupted: not all of it was done.
        AfterInterrupted = "after_interrupted",
        /// Arrivals waited at the limit of connections.
        ConnectionLimit = "connection_limit",
        /// A curl command is not followed to the letter.
        Curl = "curl",
        /// The run ends where its data does.
        DataEnd = "data_end",
        /// The same of a flow.
        DataEndIterations = "data_end_iterations",
        /// The same of scenarios, each for itself.
        DataEndScenario = "data_end_scenario",
        /// Datagrams that nobody waited for came, and answers are told apart by their order alone.
        DatagramsByOrder = "datagrams_by_order",
        /// The record asked for cannot be written any more.
        DiskFull = "disk_full",
        /// Certificates were not verified.
        Insecure = "insecure",
        /// Messages that nobody waited for came, and answers are told apart by their order alone.
        MessagesByOrder = "messages_by_order",
        /// Every request opened a connection of its own.
        NoKeepalive = "no_keepalive",
        /// The run is not kept for `brunt report`.
        NotKept = "not_kept",
        /// Nothing but failures came back at the beginning.
        OnlyErrors = "only_errors",
        /// An objective that asks for it stopped the run where it was missed.
        ObjectiveStop = "objective_stop",
        /// A step of `teardown` failed.
        TeardownFailed = "teardown_failed",
        /// A step of a flow failed that was to end the run.
        StepStop = "step_stop",
        /// Every answer was a redirect, and none was followed.
        OnlyRedirects = "only_redirects",
        /// A collector of OpenTelemetry did not take some of the exports.
        OtlpAway = "otlp_away",
        /// Nor the last of them.
        OtlpIncomplete = "otlp_incomplete",
        /// A collector of OpenTelemetry did not take some spans.
        OtlpSpansLost = "otlp_spans_lost",
        /// Of some sampled or failed requests there is no span of brunt's own.
        OtlpSpansLeftOut = "otlp_spans_left_out",
        /// Probes of machines under test broke off: what they count is not observable from then on.
        ProbeLost = "probe_lost",
        /// Processes of the run ended early.
        ProcessLost = "process_lost",
        /// A proxy was between.
        Proxy = "proxy",
        /// Redirects led to a public address that nobody was asked about.
        PublicRefused = "public_refused",
        /// `--run-timeout` ended it.
        RunTimeout = "run_timeout",
        /// The seconds cannot be kept for the documents.
        SecondsLost = "seconds_lost",
        /// The process that `--watch-pid` names ended while the run went on.
        ServiceEnded = "service_ended",
        /// A name took a second or more to look up.
        SlowLookup = "slow_lookup",
        /// io_uring carries no datagrams here.
        UringStreamsOnly = "uring_streams_only",
        /// There is no io_uring here.
        UringUnavailable = "uring_unavailable",
        /// A watched service told nothing for a while, or from some moment on.
        WatchedLost = "watched_lost",
        /// A worker thread was lost.
        WorkerLost = "worker_lost",
    }
}

words! {
    /// Why a request failed, or a connection was lost: the words of `wire::FaultKind`, which a test of the engine holds. A record of
    /// another version may hold others.
    Kind {
        /// The host's name did not resolve.
        Resolve = "resolve",
        /// Nobody listens.
        Refused = "refused",
        /// No way there.
        Unreachable = "unreachable",
        /// No local port or address left.
        NoPorts = "no_ports",
        /// No descriptor left.
        NoDescriptors = "no_descriptors",
        /// The peer reset the connection.
        Reset = "reset",
        /// The peer closed before the response was complete.
        Closed = "closed",
        /// The time allowed passed.
        Timeout = "timeout",
        /// TLS failed.
        Tls = "tls",
        /// The response does not follow the protocol.
        BrokenProtocol = "broken_protocol",
        /// Its status is not a success.
        WrongStatus = "wrong_status",
        /// Its body is not what was expected.
        WrongBody = "wrong_body",
        /// More redirects than allowed.
        TooManyRedirects = "too_many_redirects",
        /// Any other error of the operating system.
        Io = "io",
        /// It lacks a header line that was expected.
        WrongHeader = "wrong_header",
        /// The proxy on the way refused, or broke off.
        Proxy = "proxy",
    }
}

words! {
    /// Where in its life it failed: the words of `wire::Phase`, likewise.
    Phase {
        /// Looking up the name.
        Resolve = "resolve",
        /// Waiting for a connection to become free.
        Wait = "wait",
        /// Opening the connection.
        Connect = "connect",
        /// The TLS handshake.
        Tls = "tls",
        /// The protocol's own handshake.
        Greeting = "greeting",
        /// Up to the first byte of the response.
        FirstByte = "first_byte",
        /// From its first byte to its last.
        Transfer = "transfer",
        /// A connection that is part of the plan, while nothing is asked on it.
        Hold = "hold",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_written_as_their_words_and_unknown_ones_are_read_as_aborted() {
        for end in End::ALL {
            let written = serde_json::to_string(end).unwrap();
            assert_eq!(written, format!("{:?}", end.name()));
            assert_eq!(serde_json::from_str::<End>(&written).unwrap(), *end);
        }
        assert_eq!(serde_json::from_str::<End>("\"evaporated\"").unwrap(), End::Aborted);
    }

    #[test]
    fn every_word_is_one_value() {
        for subject in Subject::ALL {
            assert_eq!(Subject::of(subject.name()), Some(*subject));
        }
        assert_eq!(Subject::of("weather"), None);
    }
}
