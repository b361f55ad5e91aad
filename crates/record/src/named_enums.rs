//! Enumerations whose names in records affect behavior; each name is defined here and nowhere else.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares an enum and the name of each of its values.
macro_rules! words {
    ($(#[$meta:meta])* $Name:ident { $($(#[$doc:meta])* $Value:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name { $($(#[$doc])* $Value),+ }

        impl $Name {
            /// All values, in declaration order.
            pub const ALL: &'static [$Name] = &[$($Name::$Value),+];

            /// Returns the name used in records and documents.
            pub fn name(self) -> &'static str {
                match self { $($Name::$Value => $word),+ }
            }

            /// Returns the value with this name; `None` if there is none.
            pub fn of(word: &str) -> Option<$Name> {
                Self::ALL.iter().copied().find(|value| value.name() == word)
            }
        }
    };
}

words! {
    /// The way a run ended.
    #[derive(Default)]
    End {
        /// Ended as planned.
        #[default]
        Completed = "completed",
        /// Ended by the user or a signal.
        Interrupted = "interrupted",
        /// Workers were lost; the others went on.
        Partial = "partial",
        /// The run could not go on, or could not start.
        Aborted = "aborted",
        /// Unknown: the record stops before the end of the run.
        CutOff = "cut_off",
    }
}

impl Serialize for End {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for End {
    /// Reads an end that only a later version knows as aborted, because every version knows a completed run.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<End, D::Error> {
        let word = Cow::<'de, str>::deserialize(from)?;
        Ok(End::of(&word).unwrap_or(End::Aborted))
    }
}

words! {
    /// The subject of a notice. Records of other versions may contain others.
    Subject {
        /// The addresses of a name changed during the run.
        AddressesChanged = "addresses_changed",
        /// The request of `--after` could not be sent or got no response.
        AfterFailed = "after_failed",
        /// The requests of `--after` were interrupted before all were done.
        AfterInterrupted = "after_interrupted",
        /// An agent that was lost is there again; facts: `agent`, `away`.
        AgentBack = "agent_back",
        /// An agent has told nothing for a while, and the seconds of the run wait for it; facts: `agent`, `silent`.
        AgentLate = "agent_late",
        /// An agent was lost; facts: `agent`, `why`, `until`, `requests`, `share`.
        AgentLost = "agent_lost",
        /// An agent took no part; facts: `agent`, `why`.
        AgentRefused = "agent_refused",
        /// An agent remarks on its share; facts: `agent`, `remark`.
        AgentRemark = "agent_remark",
        /// A change of the load reached an agent late; facts: `agent`, and `late` in seconds (`4.8 s`).
        AgentChangedLate = "agent_changed_late",
        /// An agent has no load left and closes its connections; facts: `agent`.
        AgentCloses = "agent_closes",
        /// Another machine has the token of an agent; facts: `agent`.
        AgentTwice = "agent_twice",
        /// All agents were lost, and those that were silent may still hold figures; facts: `agents`, `run`.
        AgentsAwaited = "agents_awaited",
        /// The share of lost agents went to others; facts: `agents`, `to`, `at`.
        AgentsReplaced = "agents_replaced",
        /// Arrivals waited because the limit of connections was reached.
        ConnectionLimit = "connection_limit",
        /// A curl command is not reproduced exactly.
        Curl = "curl",
        /// The run ends at the end of its data.
        DataEnd = "data_end",
        /// A flow ends at the end of its data.
        DataEndIterations = "data_end_iterations",
        /// The coordinator could not keep what agents handed in; facts: `why`, `run`.
        CoordinatorDisk = "coordinator_disk",
        /// Each scenario ends at the end of its data.
        DataEndScenario = "data_end_scenario",
        /// Unsolicited datagrams arrived, and responses are matched by order alone.
        DatagramsByOrder = "datagrams_by_order",
        /// The requested record can no longer be written.
        DiskFull = "disk_full",
        /// An objective on the rate was missed because fewer arrivals were drawn than planned.
        FewArrivals = "few_arrivals",
        /// Certificates were not verified.
        Insecure = "insecure",
        /// Unsolicited messages arrived, and responses are matched by order alone.
        MessagesByOrder = "messages_by_order",
        /// Each request opened its own connection.
        NoKeepalive = "no_keepalive",
        /// Notices were left out, because there may be any number of them; facts: `n`.
        NoticesLeftOut = "notices_left_out",
        /// The run is not stored for `brunt report`.
        NotKept = "not_kept",
        /// All responses at the beginning were failures.
        OnlyErrors = "only_errors",
        /// A missed objective stopped the run.
        ObjectiveStop = "objective_stop",
        /// A step of `teardown` failed.
        TeardownFailed = "teardown_failed",
        /// A run that went on with another coordinator could not do its teardown.
        TeardownLeftOut = "teardown_left_out",
        /// A failed step of a flow ended the run.
        StepStop = "step_stop",
        /// All responses were redirects, and none was followed.
        OnlyRedirects = "only_redirects",
        /// All responses were redirects without a `Location` to follow.
        NoLocation = "no_location",
        /// An OpenTelemetry collector did not accept some of the exports.
        OtlpAway = "otlp_away",
        /// An OpenTelemetry collector did not accept the last export.
        OtlpIncomplete = "otlp_incomplete",
        /// An OpenTelemetry collector did not accept some spans.
        OtlpSpansLost = "otlp_spans_lost",
        /// Some sampled or failed requests were not exported as spans.
        OtlpSpansLeftOut = "otlp_spans_left_out",
        /// Probes of machines under test disconnected; their counters are not observable from then on.
        ProbeLost = "probe_lost",
        /// Processes of the run ended early.
        ProcessLost = "process_lost",
        /// A proxy was used.
        Proxy = "proxy",
        /// Redirects led to a public address that the user had not confirmed.
        PublicRefused = "public_refused",
        /// `--run-timeout` ended the run.
        RunTimeout = "run_timeout",
        /// The seconds cannot be stored for the documents.
        SecondsLost = "seconds_lost",
        /// The process named by `--watch-pid` ended during the run.
        ServiceEnded = "service_ended",
        /// A name lookup took a second or more.
        SlowLookup = "slow_lookup",
        /// io_uring does not support datagrams here.
        UringStreamsOnly = "uring_streams_only",
        /// io_uring is not available here.
        UringUnavailable = "uring_unavailable",
        /// A watched service returned no counters for a while, or stopped returning them.
        WatchedLost = "watched_lost",
        /// A worker thread was lost.
        WorkerLost = "worker_lost",
    }
}

words! {
    /// Kind of a request's failure, or of a connection's loss: the names of `brunt_contract::FaultKind`, as a test of
    /// the engine checks. A record of another version may contain others.
    Kind {
        /// The host's name did not resolve.
        Resolve = "resolve",
        /// No process listens.
        Refused = "refused",
        /// No route to the host.
        Unreachable = "unreachable",
        /// No local port or address is left.
        NoPorts = "no_ports",
        /// No descriptor is left.
        NoDescriptors = "no_descriptors",
        /// The peer reset the connection.
        Reset = "reset",
        /// The peer closed the connection before the response was complete.
        Closed = "closed",
        /// The timeout elapsed.
        Timeout = "timeout",
        /// TLS failed.
        Tls = "tls",
        /// The response violates the protocol.
        BrokenProtocol = "broken_protocol",
        /// The response's status is not a success.
        WrongStatus = "wrong_status",
        /// The response's body is not as expected.
        WrongBody = "wrong_body",
        /// Too many redirects.
        TooManyRedirects = "too_many_redirects",
        /// Any other error of the operating system.
        Io = "io",
        /// The response lacks an expected header.
        WrongHeader = "wrong_header",
        /// The proxy refused or closed the connection.
        Proxy = "proxy",
        /// The response was not checked: a limit of brunt was reached.
        Unchecked = "unchecked",
        /// A captured value does not fit where it is used: the request was not sent.
        BadValue = "bad_value",
    }
}

words! {
    /// Phase in which a request failed: the names of `brunt_contract::Phase`.
    Phase {
        /// Resolving the name.
        Resolve = "resolve",
        /// Waiting for a free connection.
        Wait = "wait",
        /// Opening the connection.
        Connect = "connect",
        /// The TLS handshake.
        Tls = "tls",
        /// The protocol's own handshake.
        Greeting = "greeting",
        /// Waiting for the first byte of the response.
        FirstByte = "first_byte",
        /// Receiving the response, from its first byte to its last.
        Transfer = "transfer",
        /// Holding an idle connection that is part of the plan.
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
