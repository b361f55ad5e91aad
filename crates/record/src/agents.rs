//! Agents: the machines that each take a share of a run, and what a record of the whole says of one of them.
//!
//! Each agent makes a record of its share, and the whole is merged from these records. What is an agent's alone — its
//! machine's counters, its seconds without names, its notices — stands beside the whole, wrapped as an [`AgentEvent`].

use serde::{Deserialize, Serialize};

use crate::{GeneratorHost, RunEvent, Second};

/// Workers of a run, by number: from the first up to the last, which is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerRange {
    /// Number of the first worker.
    pub from: u32,
    /// Number after the last worker.
    pub to: u32,
}

impl WorkerRange {
    /// Returns the number of workers.
    pub fn count(self) -> u32 {
        self.to.saturating_sub(self.from)
    }
}

/// An agent of a run: a machine with a share of its workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentHead {
    /// Name, unique in the run.
    pub name: String,
    /// Labels, by which figures are summed up: `eu`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The machine.
    pub host: GeneratorHost,
    /// Workers of the run that are its share.
    pub workers: WorkerRange,
    /// Version of brunt.
    pub brunt: String,
    /// Offset of its monotonic clock ahead of the coordinator's (nanoseconds); the start of its window is given on the
    /// coordinator's clock.
    pub clock_ahead_ns: i64,
    /// Maximum error of that offset (nanoseconds) when it was measured. That of the start of the window may be another:
    /// see [`AgentEvent`].
    pub clock_within_ns: u64,
}

/// An event of one agent's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentEvent {
    /// Index into the agents of [`crate::RunStarted`].
    pub agent: u16,
    /// The event: `began`, `second` (see [`Second::slim`]), `counters`, `notice` or `ended`.
    #[serde(rename = "told")]
    pub event: Box<RunEvent>,
    /// Maximum error of the start of the window on the coordinator's clock (nanoseconds), if another comparison of clocks
    /// than that of [`AgentHead`] tells it, or time went by since: clocks drift.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_within_ns: Option<u64>,
}

impl AgentEvent {
    /// Wraps an event of an agent's record, if it is one that stands beside the whole; seconds are slimmed.
    pub fn of(agent: u16, event: &RunEvent) -> Option<AgentEvent> {
        let event = match event {
            RunEvent::Second(second) => RunEvent::Second(Box::new(second.slim())),
            other if AgentEvent::may_hold(other) => other.clone(),
            _ => return None,
        };
        Some(AgentEvent { agent, event: Box::new(event), clock_within_ns: None })
    }

    /// Sets the maximum error of the start of the window on the coordinator's clock.
    pub fn within(self, clock_within_ns: u64) -> AgentEvent {
        AgentEvent { clock_within_ns: Some(clock_within_ns), ..self }
    }

    /// Returns `true` for the kinds of events that may be told of one agent.
    pub(crate) fn may_hold(event: &RunEvent) -> bool {
        matches!(
            event,
            RunEvent::Began(_)
                | RunEvent::Second(_)
                | RunEvent::Counters(_)
                | RunEvent::Notice(_)
                | RunEvent::Ended(_)
                | RunEvent::Unknown
        )
    }
}

impl Second {
    /// Returns what is kept of an agent's second: without names, checks and traces, whose figures are in the whole, and
    /// without the histograms that neither its row of a table nor the judgement of its machine reads.
    pub fn slim(&self) -> Second {
        let mut slim = Second {
            words: Default::default(),
            failed_addresses: Vec::new(),
            named: Vec::new(),
            checks: Vec::new(),
            slowest: Vec::new(),
            ..self.clone()
        };
        let latency = &mut slim.latency;
        let unread = [
            &mut latency.wait_conn,
            &mut latency.wait_conn_at_least,
            &mut latency.first_byte,
            &mut latency.transfer,
            &mut latency.tls,
            &mut latency.greeting,
            &mut latency.failed,
            &mut latency.failed_responses,
            &mut latency.message_gap,
            &mut latency.heartbeat,
            &mut latency.heartbeat_at_least,
        ];
        unread.into_iter().for_each(|histogram| histogram.clear());
        slim
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{a_run, second};
    use crate::{Notice, RecordReader, RecordWriter, RunPart, Subject};

    /// Returns a run of two agents, the second of which has told these events.
    fn told(events: Vec<RunEvent>) -> Vec<RunEvent> {
        let mut run = a_run(2);
        let RunEvent::Started(started) = &mut run[0] else { panic!("a run begins with its start") };
        started.agents = vec![AgentHead::default(), AgentHead { name: "eu-1".into(), ..AgentHead::default() }];
        let wrapped = events
            .into_iter()
            .map(|event| RunEvent::OfAgent(AgentEvent { agent: 1, event: Box::new(event), clock_within_ns: None }));
        let end = run.split_off(run.len() - 1);
        run.into_iter().chain(wrapped).chain(end).collect()
    }

    /// Writes events to a file and reads them back, up to the first fault.
    fn read_back(events: &[RunEvent]) -> Result<Vec<RunEvent>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.zst");
        let mut writer = RecordWriter::create(&path).unwrap();
        events.iter().for_each(|event| writer.write(event).unwrap());
        RecordReader::open(&path).unwrap().collect::<Result<_, _>>().map_err(|fault| fault.sentence)
    }

    #[test]
    fn what_agents_told_is_read_back_and_what_only_passes_by_is_not_written() {
        let all = [second(0), second(1), RunEvent::Notice(Notice::new(Subject::SlowLookup, []))];
        let slim = all.iter().filter_map(|event| AgentEvent::of(1, event)).map(|told| *told.event).collect();
        let run = told(slim);
        let mut live = run.clone();
        let RunEvent::Second(part) = second(0) else { panic!("a second") };
        live.insert(3, RunEvent::Provisional(part.clone()));
        live.insert(
            4,
            RunEvent::OfAgent(AgentEvent {
                agent: 0,
                event: Box::new(RunEvent::Provisional(part)),
                clock_within_ns: None,
            }),
        );
        assert_eq!(read_back(&live), Ok(run));
    }

    #[test]
    fn the_error_of_a_start_is_read_back_and_may_be_absent() {
        let began = RunEvent::Began(crate::WindowStart { clock_ns: 7, unix_ns: 1 });
        let mut run = told(vec![began.clone(), began]);
        let RunEvent::OfAgent(event) = &mut run[4] else { panic!("an event of an agent") };
        *event = event.clone().within(9);
        assert_eq!(read_back(&run), Ok(run));
    }

    #[test]
    fn only_what_an_agent_may_tell_is_told_of_it() {
        assert!(AgentEvent::of(0, &a_run(0)[0]).is_none());
        let started = a_run(0).swap_remove(0);
        let example = RunEvent::Example(crate::FailureExample::default());
        let nested = RunEvent::OfAgent(AgentEvent { agent: 0, event: Box::new(second(0)), clock_within_ns: None });
        for event in [started, example, nested] {
            let said = read_back(&told(vec![event])).unwrap_err();
            assert!(said.starts_with("it tells something of an agent that only a whole run has"), "{said}");
        }
        let mut run = told(vec![second(0)]);
        let RunEvent::OfAgent(event) = &mut run[4] else { panic!("an event of an agent") };
        event.agent = 2;
        assert_eq!(read_back(&run).unwrap_err(), "it tells of agent 2, which the start of the run does not list");
    }

    #[test]
    fn seconds_of_each_agent_follow_one_another_and_add_up_within_reason() {
        assert!(read_back(&told(vec![second(0), second(1)])).is_ok());
        let said = read_back(&told(vec![second(1), second(0)])).unwrap_err();
        assert!(said.contains("before the one above ends"), "{said}");
        let huge = |n| {
            let RunEvent::Second(mut s) = second(n) else { panic!("a second") };
            s.finished = 1 << 59;
            RunEvent::Second(s)
        };
        assert!(read_back(&told(vec![huge(0)])).is_ok());
        assert!(read_back(&told(vec![huge(0), huge(1)])).unwrap_err().contains("larger than any run's"));
        let RunEvent::Second(mut s) = second(2) else { panic!("a second") };
        (s.missing_share, s.part) = (1.5, RunPart::Window);
        let mut run = told(Vec::new());
        run.insert(4, RunEvent::Second(s));
        assert!(read_back(&run).unwrap_err().starts_with("a share of a run is between 0 and 1"));
    }

    #[test]
    fn a_slim_second_keeps_what_an_agent_is_judged_by() {
        let mut all = Second { due: 5, ..Second::default() };
        all.latency.all_mut().for_each(|histogram| histogram.record(brunt_measure::Nanos(7)));
        all.named.push(crate::NamedFigures::default());
        let slim = all.slim();
        let kept: Vec<&str> =
            slim.latency.all().filter(|(_, histogram)| !histogram.is_empty()).map(|(name, _)| name).collect();
        for name in ["response", "service", "gen_late", "loop_gap", "service_delayed", "service_at_least"] {
            assert!(kept.contains(&name), "{name}");
        }
        assert!((slim.due, slim.named.len()) == (5, 0) && !kept.contains(&"first_byte"), "{kept:?}");
    }
}
