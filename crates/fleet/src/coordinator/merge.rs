//! The whole of a run, as a function of the records of its agents: seconds with the same beginning are added, and passed
//! on once every agent that is not lost has reported them. Agents that merge for others would use the same.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use brunt_cause::{Cause, agents};
use brunt_engine::ClockOffset;
use brunt_measure::{Clock, Nanos};
use brunt_record::{
    AgentEvent, End, EventDecoder, FailureExample, Notice, OpenRequests, RunBounds, RunEnd, RunEvent, Second, Subject,
    WindowStart,
};

/// Maximum number of sorts of failure with an example.
const EXAMPLES: usize = 1 << 10;

/// Kind, phase, error number, name and status of an example of a failure.
type ExampleSort = (String, String, Option<String>, Option<u16>, String);

/// The record of one agent, as far as it came.
struct AgentRecord {
    name: String,
    /// Its part of the workers.
    share: f64,
    clock: ClockOffset,
    /// Maximum error of the clock when the window began, if it was compared again.
    clock_within: Option<Nanos>,
    decoder: EventDecoder,
    state: RecordState,
    /// End of the last second that it reported; `i64::MIN` before the first.
    reached: i64,
    open: OpenRequests,
    /// Its own events, each with the end of the second that it stands before.
    queue: VecDeque<(i64, RunEvent)>,
    began: Option<WindowStart>,
    /// What it remarked last: if it stops by itself, this is why.
    remark: Option<String>,
    /// Multiples of its share that it carries for lost ones, each with the time from which it does.
    carries: Vec<(RunTime, f64)>,
    /// Number of its notices.
    notices: usize,
}

/// Maximum number of notices in an agent's record, and of bytes of the facts of each: they wait in memory for their second.
const NOTICES: usize = 200;
const NOTICE: usize = 64 << 10;
/// Length of the seconds of a record, in nanoseconds.
const SECOND: i64 = 1_000_000_000;
/// Time by which an agent may seem ahead of this machine's clock.
const AHEAD: Nanos = Nanos::from_secs(3600);

impl AgentRecord {
    /// Checks that an event fits into the record of the whole, which one that lies in time would make unreadable.
    fn check(&self, event: &RunEvent) -> Result<(), String> {
        match event {
            RunEvent::Second(second) => {
                let of = |ns: i64| ns.div_euclid(SECOND);
                let is_one = second.to_ns == second.from_ns || of(second.from_ns) == of(second.to_ns - 1);
                let lasted = self
                    .began
                    .and_then(|began| Some(Clock.now().0.checked_sub(began.clock_ns)?.saturating_add(AHEAD.0)));
                let is_past = lasted.is_none_or(|lasted| second.to_ns <= i64::try_from(lasted).unwrap_or(i64::MAX));
                if is_one && is_past { Ok(()) } else { Err(Cause::from(agents::off_the_clock()).to_string()) }
            }
            // Its last second may be told without its end.
            RunEvent::Ended(ended) if ended.window.0 as i64 > self.reached.max(0).saturating_add(SECOND) => {
                Err(Cause::from(agents::beyond_its_seconds()).to_string())
            }
            _ => Ok(()),
        }
    }

    /// Notes when its window began, by its own clock; returns that by this machine's.
    fn begin(&mut self, began: WindowStart) -> WindowStart {
        let clock_ns = self.clock.to_coordinator(Nanos(began.clock_ns)).0;
        *self.began.insert(WindowStart { clock_ns, ..began })
    }

    /// Returns why its load stopped before the end: its owner took it back, say, or a coordinator before this one gave it up.
    fn why_stopped(&self) -> String {
        self.remark.clone().unwrap_or_else(|| Cause::from(agents::stopped()).to_string())
    }

    /// Counts a notice; returns `false` for one that nobody would read.
    fn may_note(&mut self, notice: &Notice) -> bool {
        self.notices += 1;
        let bytes = notice.facts.iter().map(|(name, fact)| name.len() + fact.len()).sum::<usize>();
        self.notices <= NOTICES && bytes <= NOTICE
    }

    /// Returns the part of the run's load that the agent carries in a second, beyond its own share.
    fn carries_beyond(&self, second: &Second, window: Nanos) -> f64 {
        let has_begun = |from: &RunTime| from.since(window) <= second.from_ns;
        let multiple = self.carries.iter().rfind(|(from, _)| has_begun(from)).map_or(1.0, |(_, multiple)| *multiple);
        self.share * (multiple - 1.0)
    }
}

/// How far a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordState {
    Grows,
    /// It is whole.
    Whole,
    /// It ends with what was reported.
    Lost,
}

/// A time of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RunTime {
    /// On the coordinator's clock.
    At(Nanos),
    /// Since the start of the window, in nanoseconds.
    Since(i64),
}

impl RunTime {
    fn since(self, window: Nanos) -> i64 {
        match self {
            RunTime::At(at) => (at.0 as i64).saturating_sub(window.0 as i64),
            RunTime::Since(since) => since,
        }
    }
}

/// The merger of the records of a run's agents.
pub(crate) struct RecordMerger {
    agents: Vec<AgentRecord>,
    is_open: bool,
    seconds: BTreeMap<i64, Second>,
    bounds: RunBounds,
    examples: BTreeSet<ExampleSort>,
    began: Option<WindowStart>,
    ended: RunEnd,
    reasons: Vec<End>,
    /// Planned length of the window.
    lasts: Option<Nanos>,
    /// Set once the agents were told to stop.
    is_stopped: bool,
    /// End of the last second that was shown before all had reported it.
    provisional: i64,
    /// Start of the last second that was passed on.
    passed: i64,
}

impl RecordMerger {
    /// Creates the merger for agents with their names, shares and clocks; `is_open` if arrivals do not wait for responses.
    pub fn new(agents: impl IntoIterator<Item = (String, f64, ClockOffset)>, is_open: bool) -> RecordMerger {
        let record = |(name, share, clock)| AgentRecord {
            name,
            share,
            clock,
            clock_within: None,
            decoder: EventDecoder::default(),
            state: RecordState::Grows,
            reached: i64::MIN,
            open: OpenRequests::default(),
            queue: VecDeque::new(),
            began: None,
            remark: None,
            carries: Vec::new(),
            notices: 0,
        };
        RecordMerger {
            agents: agents.into_iter().map(record).collect(),
            is_open,
            seconds: BTreeMap::new(),
            bounds: RunBounds::default(),
            examples: BTreeSet::new(),
            began: None,
            ended: RunEnd::default(),
            reasons: Vec::new(),
            lasts: None,
            is_stopped: false,
            provisional: i64::MIN,
            passed: i64::MIN,
        }
    }

    /// Sets the planned length of the window.
    pub fn lasting(self, lasts: Option<Nanos>) -> RecordMerger {
        RecordMerger { lasts, ..self }
    }

    /// Adds the next event of an agent, as it encoded it; what is complete then goes to `sink`.
    ///
    /// # Errors
    /// It is no event that can follow, or the agent stopped by itself: it must be given up for this reason.
    pub fn add(&mut self, agent: usize, frame: &[u8], sink: &mut dyn FnMut(RunEvent)) -> Result<(), String> {
        let Some(record) = self.agents.get_mut(agent).filter(|record| record.state == RecordState::Grows) else {
            return Ok(());
        };
        let event = record.decoder.decode(frame).map_err(|fault| fault.to_string())?;
        record.check(&event)?;
        let own = |event: &RunEvent| AgentEvent::of(agent as u16, event).map(RunEvent::OfAgent);
        let reached = record.reached;
        match event {
            RunEvent::Began(began) => {
                let told = AgentEvent::of(agent as u16, &RunEvent::Began(record.begin(began)));
                let within = record.clock_within;
                let told = told.map(|told| match within {
                    Some(within) => told.within(within.0),
                    None => told,
                });
                record.queue.extend(told.map(|told| (reached, RunEvent::OfAgent(told))));
            }
            RunEvent::Second(second) => {
                record.open.add_second(&second);
                // What a worker tells when it ends has no length, and may lie inside the second before.
                record.reached = record.reached.max(second.to_ns);
                let event = RunEvent::Second(second);
                record.queue.extend(own(&event).map(|event| (record.reached, event)));
                let RunEvent::Second(second) = event else { return Ok(()) };
                // Others may have told later ones of no length, which were passed on: the record goes forward only.
                let is_behind = second.to_ns == second.from_ns && second.from_ns < self.passed;
                let from_ns = if is_behind { self.passed } else { second.from_ns };
                let whole = self.seconds.entry(from_ns).or_insert_with(|| Second {
                    from_ns,
                    to_ns: from_ns,
                    part: second.part,
                    ..Second::default()
                });
                whole.merge(&second);
            }
            RunEvent::Notice(notice) if !record.may_note(&notice) => {}
            event @ (RunEvent::Counters(_) | RunEvent::Notice(_)) => {
                record.queue.extend(own(&event).map(|event| (reached, event)));
            }
            RunEvent::Example(example) => {
                let FailureExample { kind, phase, errno, name, status, .. } = &example;
                let sort = (kind.clone(), phase.clone(), errno.clone(), *name, status.clone());
                if self.examples.len() < EXAMPLES && self.examples.insert(sort) {
                    sink(RunEvent::Example(example));
                }
            }
            RunEvent::Ended(mut ended) => {
                // It was told to stop when its load was over: it had been given up, and nobody wanted the end.
                let is_over = self.lasts.is_some_and(|lasts| ended.window >= lasts);
                if ended.reason == End::Interrupted && is_over && !self.is_stopped {
                    ended.reason = End::Completed;
                }
                record.queue.extend(own(&RunEvent::Ended(ended.clone())).map(|event| (i64::MAX, event)));
                self.ended.window = self.ended.window.max(ended.window);
                self.ended.elapsed = self.ended.elapsed.max(ended.elapsed);
                // All its figures are there, and its share is missing from then on.
                if ended.reason == End::Interrupted && !self.is_stopped {
                    return Err(record.why_stopped());
                }
                record.state = RecordState::Whole;
                self.reasons.push(ended.reason);
            }
            // Changes are those of the coordinator; its head is known.
            _ => {}
        }
        self.release(sink);
        Ok(())
    }

    /// Notes what an agent remarked.
    pub fn note_remark(&mut self, agent: usize, remark: &str) {
        self.agents.get_mut(agent).into_iter().for_each(|record| record.remark = Some(remark.to_owned()));
    }

    /// Notes that the agents were told to stop.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Takes a later comparison of an agent's clock, with which the start of its window is told.
    pub fn set_clock(&mut self, agent: usize, ahead: ClockOffset, within: Nanos) {
        let record = self.agents.get_mut(agent).into_iter();
        record.for_each(|record| (record.clock, record.clock_within) = (ahead, Some(within)));
    }

    /// Gives up an agent: its requests in progress count as unfinished, and its share is missing from then on.
    pub fn lose(&mut self, agent: usize, why: &str, sink: &mut dyn FnMut(RunEvent)) {
        let Some(record) = self.agents.get_mut(agent).filter(|record| record.state == RecordState::Grows) else {
            return;
        };
        record.state = RecordState::Lost;
        let open = std::mem::take(&mut record.open);
        let until = record.reached;
        self.ended.window = self.ended.window.max(Nanos(open.window_ns.max(0) as u64));
        self.ended.elapsed = self.ended.elapsed.max(self.ended.window);
        if open.is_any() {
            let second = self.seconds.entry(until).or_insert_with(|| Second {
                from_ns: until,
                to_ns: until,
                part: open.part,
                ..Second::default()
            });
            open.count_unfinished(second, self.is_open);
        }
        let facts = [
            ("agent", record.name.clone()),
            ("why", why.to_owned()),
            ("until", seconds_text(until.max(0))),
            ("requests", open.requests.to_string()),
            ("share", format!("{:.0} %", 100.0 * record.share)),
        ];
        sink(RunEvent::Notice(Notice::new(Subject::AgentLost, facts)));
        self.release(sink);
    }

    /// Notes that an agent carries this multiple of its share from this time on, because load of lost ones was given to it.
    pub fn carries(&mut self, agent: usize, from: RunTime, multiple: f64) {
        self.agents.get_mut(agent).into_iter().for_each(|record| record.carries.push((from, multiple)));
    }

    /// Returns the part of the run's workers that an agent has.
    pub fn share(&self, agent: usize) -> f64 {
        self.agents.get(agent).map_or(0.0, |record| record.share)
    }

    /// Returns the part of the run's workers that was lost.
    pub fn lost_share(&self) -> f64 {
        self.agents.iter().filter(|record| record.state == RecordState::Lost).map(|record| record.share).sum()
    }

    /// Returns `true` once no record grows any more.
    pub fn is_over(&self) -> bool {
        self.agents.iter().all(|record| record.state != RecordState::Grows)
    }

    /// Returns `true` if the record of an agent grows.
    pub fn grows(&self, agent: usize) -> bool {
        self.agents.get(agent).is_some_and(|record| record.state == RecordState::Grows)
    }

    /// Returns `true` if an agent was given up.
    pub fn is_lost(&self, agent: usize) -> bool {
        self.agents.get(agent).is_some_and(|record| record.state == RecordState::Lost)
    }

    /// Returns `true` if the record of an agent is whole.
    pub fn is_whole(&self, agent: usize) -> bool {
        self.agents.get(agent).is_some_and(|record| record.state == RecordState::Whole)
    }

    /// Returns `true` once an agent has begun its window.
    pub fn has_begun(&self, agent: usize) -> bool {
        self.agents.get(agent).is_some_and(|record| record.began.is_some() || record.reached > i64::MIN)
    }

    /// Returns the end of the last second that this agent reported, in nanoseconds since the start of the window;
    /// `i64::MIN` before the first.
    pub fn reached_ns(&self, agent: usize) -> i64 {
        self.agents.get(agent).map_or(i64::MIN, |record| record.reached)
    }

    /// Returns the same as text.
    pub fn reached(&self, agent: usize) -> String {
        seconds_text(self.reached_ns(agent).max(0))
    }

    /// Returns the start of the window on the coordinator's clock, once it was passed on.
    pub fn window(&self) -> Option<Nanos> {
        self.began.map(|began| Nanos(began.clock_ns))
    }

    /// Returns the next seconds that only these silent agents hold up, with the share that is missing from each.
    pub fn provisional(&mut self, is_silent: impl Fn(usize) -> bool) -> Vec<Second> {
        let growing = || self.agents.iter().enumerate().filter(|(_, record)| record.state == RecordState::Grows);
        let others = growing().filter(|(n, _)| !is_silent(*n)).map(|(_, record)| record.reached).min();
        let reached = others.unwrap_or(i64::MIN);
        let held = self.seconds.values().filter(|second| second.to_ns <= reached && second.to_ns > self.provisional);
        let seconds: Vec<Second> = held
            .map(|second| {
                let behind = self
                    .agents
                    .iter()
                    .filter(|record| record.state != RecordState::Whole && record.reached < second.to_ns);
                Second { missing_share: behind.map(|record| record.share).sum::<f64>().min(1.0), ..second.clone() }
            })
            .collect();
        self.provisional = seconds.last().map_or(self.provisional, |second| second.to_ns);
        seconds
    }

    /// Passes on the end of the run: no record grows any more.
    pub fn finish(mut self, stopped: bool, sink: &mut dyn FnMut(RunEvent)) {
        self.release(sink);
        self.pass_queues(i64::MAX, sink);
        let is_lost = self.agents.iter().any(|record| record.state == RecordState::Lost);
        let any = |reason| self.reasons.contains(&reason);
        self.ended.reason = match () {
            () if stopped || any(End::Interrupted) => End::Interrupted,
            () if is_lost || any(End::Partial) => End::Partial,
            () => self.reasons.first().copied().unwrap_or(End::Partial),
        };
        sink(RunEvent::Ended(self.ended));
    }

    /// Passes on the seconds to which no agent can still add, and what the agents said before them.
    fn release(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        let growing = self.agents.iter().filter(|record| record.state == RecordState::Grows);
        let complete = growing.map(|record| record.reached).min().unwrap_or(i64::MAX);
        while let Some(entry) = self.seconds.first_entry() {
            // What lost agents left open is counted in a second of no length until others report that second.
            let ends = entry.get().to_ns.max(entry.get().from_ns.saturating_add(1));
            if ends > complete {
                break;
            }
            let mut second = entry.remove();
            self.passed = second.from_ns;
            self.bounds.apply(&mut second);
            self.begin(sink);
            let window = self.window().unwrap_or_default();
            second.missing_share = self.missing_share(&second, window);
            self.pass_queues(second.to_ns, sink);
            sink(RunEvent::Second(Box::new(second)));
        }
    }

    /// Returns the part of the load that is missing from a second: that of lost agents, except for what others carry.
    fn missing_share(&self, second: &Second, window: Nanos) -> f64 {
        let is_lost = |record: &&AgentRecord| record.state == RecordState::Lost && record.reached < second.to_ns;
        let (lost, there): (Vec<_>, Vec<_>) = self.agents.iter().partition(is_lost);
        let missing: f64 = lost.iter().map(|record| record.share).sum();
        let carried: f64 = there.iter().map(|record| record.carries_beyond(second, window)).sum();
        // What is less is what is left of the arithmetic.
        Some((missing - carried).min(1.0)).filter(|missing| *missing > 1e-9).unwrap_or_default()
    }

    /// Passes on the start of the window, which is that of the first agent.
    fn begin(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        if self.began.is_none()
            && let Some(first) = self.agents.iter().filter_map(|record| record.began).min_by_key(|began| began.clock_ns)
        {
            self.began = Some(first);
            sink(RunEvent::Began(first));
        }
    }

    /// Passes on what the agents said up to this time.
    fn pass_queues(&mut self, until: i64, sink: &mut dyn FnMut(RunEvent)) {
        for record in &mut self.agents {
            while let Some((_, event)) = record.queue.pop_front_if(|(at, _)| *at <= until) {
                sink(event);
            }
        }
    }
}

/// Returns a time since the start of the window as text: `41 s`.
fn seconds_text(ns: i64) -> String {
    if ns < 0 { "the warm-up".to_owned() } else { format!("{} s", ns / 1_000_000_000) }
}
