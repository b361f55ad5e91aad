//! The conducting of a run: barriers, stops and changes go out; records come in and are merged; whoever is silent is
//! named, and in the end given up.

mod changes;
mod silence;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use brunt_cause::agents;
use brunt_engine::{BARRIERS, ClockOffset, Control, PREPARED, Stop};
use brunt_measure::{Clock, Nanos};
use brunt_messenger::Held;
use brunt_plan::{Change, LossPolicy};
use brunt_record::{Notice, RunEvent, Subject};

use super::clock::{self, ClockComparison};
use super::directory::{CarriedLoad, LostAgent, RunDirectory, RunHead};
use super::group::lead;
use super::merge::{RecordMerger, RunTime};
use super::wires::Wires;
use super::{Fleet, at_once};
use crate::frame::Item;
use changes::PassedChange;

/// Interval of looks at stops, changes and silences.
const LOOK: Duration = Duration::from_millis(50);
/// Time from the common start to the second comparison of clocks, well before the first second is told.
const AFTER_START: Duration = Duration::from_millis(100);
/// Time without a loss after which an agent that was silent is said to be back: one that was started again only hands in
/// what its spool holds, and is lost then.
const SETTLED: Duration = Duration::from_secs(1);
/// Time for which agents are waited for that have told all and not left.
const FAREWELL: Duration = Duration::from_secs(3);
/// Time for which agents are waited for whose records are whole, and which close their connections.
const CLOSES_WHOLE: Duration = Duration::from_secs(60);
/// Remarks of an agent that are told.
const REMARKS: u32 = 100;

/// The clock of an agent, by its index.
type ComparedClock = (usize, ClockComparison);

/// Items that an agent has handed in, in their order.
pub(crate) struct Incoming {
    pub agent: usize,
    pub items: Vec<Item>,
}

/// A share that an agent refused before the run began.
pub(super) struct RefusedShare {
    pub agent: String,
    pub why: String,
}

/// What is known of an agent beside its record.
struct AgentStatus {
    ready: [bool; BARRIERS],
    /// Barriers that were released to it.
    released: [bool; BARRIERS],
    heard: Instant,
    /// Time of its last sign of work, which is no progress while it should load.
    worked: Instant,
    /// Time of the record at which it fell silent, once that was said.
    silent_since: Option<String>,
    /// Time at which it was heard again, and how long it was away, until that is said.
    heard_again: Option<(Instant, Duration)>,
    refused: Option<String>,
    /// Time at which it was given up because it was silent, if it was.
    given_up: Option<Instant>,
    /// Number of its remarks.
    remarks: u32,
    /// Set once it was said that it closes its connections.
    closes: bool,
    /// Set once its last item came.
    has_left: bool,
    /// Set once another of its name was told of.
    is_twice: bool,
    /// Number of its items that were taken.
    items: u64,
}

/// The conductor of a run.
pub(super) struct Conductor {
    head: RunHead,
    directory: RunDirectory,
    wires: Wires,
    status: Vec<AgentStatus>,
    merger: RecordMerger,
    /// The level of the load that others take over, if they shall.
    level: Option<Change>,
    first_ready: Option<Instant>,
    stopped: Option<Instant>,
    /// Number of changes that were passed on, and those that are not recorded yet.
    changes_seen: usize,
    unrecorded: Vec<(Nanos, Change)>,
    /// Comparisons of clocks after the start: agents started as far apart as the two comparisons differ.
    clocks: (Sender<ComparedClock>, Receiver<ComparedClock>),
    fleet: Arc<Fleet>,
    /// Part of the workers whose load was given to the others.
    taken_over: f64,
    /// Changes of the load that were passed on.
    passed: Vec<PassedChange>,
    aborted: bool,
    /// Time at which a record grew last.
    grew: Instant,
    /// Time since which no record grows any more.
    over_since: Option<Instant>,
    /// Set while items are taken of an agent that an earlier coordinator gave up.
    is_replaying: bool,
    /// Set if this coordinator begins the run, so that it can be called off.
    may_be_refused: bool,
    refused: Option<RefusedShare>,
    /// Why an agent was given up whose figures this machine could not keep.
    unkept: Option<String>,
}

impl Conductor {
    pub fn new(
        fleet: Arc<Fleet>,
        (head, directory): (RunHead, RunDirectory),
        level: Option<Change>,
        wires: Wires,
    ) -> Conductor {
        let agents = &head.started.agents;
        let all = agents.iter().map(|agent| agent.workers.count()).sum::<u32>().max(1);
        let records = agents.iter().map(|agent| {
            let share = f64::from(agent.workers.count()) / f64::from(all);
            (agent.name.clone(), share, ClockOffset(agent.clock_ahead_ns))
        });
        let merger = RecordMerger::new(records, head.is_open).lasting(head.started.plan.duration);
        let now = Instant::now();
        let status = agents.iter().map(|_| AgentStatus {
            ready: [false; BARRIERS],
            released: [false; BARRIERS],
            heard: now,
            worked: now,
            silent_since: None,
            heard_again: None,
            refused: None,
            given_up: None,
            remarks: 0,
            closes: false,
            has_left: false,
            is_twice: false,
            items: 0,
        });
        Conductor {
            status: status.collect(),
            merger,
            head,
            directory,
            wires,
            level,
            first_ready: None,
            stopped: None,
            changes_seen: 0,
            unrecorded: Vec::new(),
            clocks: channel(),
            fleet,
            taken_over: 0.0,
            passed: Vec::new(),
            aborted: false,
            grew: now,
            over_since: None,
            is_replaying: false,
            may_be_refused: false,
            refused: None,
            unkept: None,
        }
    }

    /// Stops the agents that took a share although the run does not begin.
    pub fn abandon(mut self) {
        self.wires.orders.iter_mut().for_each(|line| line.stop());
        // What is not delivered by then, the agents do by themselves: their briefing never comes.
        std::thread::sleep(LOOK * 4);
    }

    /// Conducts the run to its end. `answers` (the briefing) is needed until the load begins. Returns `false` if agents still
    /// have figures for whoever goes on with the run: this machine could not keep them, or all fell silent.
    ///
    /// # Errors
    /// An agent refused its share before anybody loaded anything: a run that is begun here does not begin then.
    pub fn conduct(
        mut self,
        (stop, control): (&Stop, &Control),
        answers: Option<Held>,
        sink: &mut dyn FnMut(RunEvent),
    ) -> Result<bool, RefusedShare> {
        self.may_be_refused = answers.is_some();
        self.replay(sink);
        while !self.is_over() {
            let incoming = self.wires.incoming.recv_timeout(LOOK);
            // What an agent carries is known before the seconds in which it does.
            self.heed_followers(sink);
            match incoming {
                Ok(incoming) => self.take(incoming, sink),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Ok(incoming) = self.wires.incoming.try_recv() {
                self.take(incoming, sink);
            }
            if let Some(refused) = self.refused.take() {
                self.dismiss();
                return Err(refused);
            }
            while let Ok((agent, clock)) = self.clocks.1.try_recv() {
                // Two clocks drift apart by a thousandth of the time at most (500 ppm each).
                let drift = Nanos(AFTER_START.as_nanos() as u64 / 1000);
                self.merger.set_clock(agent, clock.ahead, clock.within.saturating_add(drift));
            }
            self.pass_on_stop(stop);
            self.pass_on_changes(control, sink);
            self.release_barriers();
            self.look_at_silence(sink);
            self.look_for_twins(sink);
        }
        drop(answers);
        let is_whole = self.unkept.is_none() && self.await_silent(sink);
        if let Some(why) = self.unkept.take() {
            let facts = [("why", why), ("run", self.directory.run.clone())];
            sink(RunEvent::Notice(Notice::new(Subject::CoordinatorDisk, facts)));
        }
        let stopped = self.stopped.is_some() && !self.aborted;
        self.merger.finish(stopped, sink);
        Ok(is_whole)
    }

    /// Returns `true` unless the run ended because its agents fell silent, after which nobody went on: what these still hold
    /// is missing here alone, so their losses are forgotten, and whoever goes on with the run waits for them.
    fn await_silent(&self, sink: &mut dyn FnMut(RunEvent)) -> bool {
        let agents = || 0..self.status.len();
        let is_last = |agent: &usize| self.status[*agent].given_up.is_some_and(|at| at > self.grew);
        let silent: Vec<usize> = agents().filter(is_last).filter(|agent| self.owes_figures(*agent)).collect();
        // Without a disk, whoever goes on would take nothing more from them.
        let is_awaited = !silent.is_empty()
            && agents().all(|agent| self.merger.is_lost(agent))
            && self.directory.forget_losses(&silent).is_ok();
        if is_awaited {
            let names: Vec<String> = silent.iter().map(|agent| self.name(*agent)).collect();
            let facts = [("agents", names.join(", ")), ("run", self.directory.run.clone())];
            sink(RunEvent::Notice(Notice::new(Subject::AgentsAwaited, facts)));
        }
        !is_awaited
    }

    /// Stops agents that prepared a run that does not begin, and takes what they still say, so that they are free.
    fn dismiss(&mut self) {
        self.stop_all();
        let since = Instant::now();
        while !self.status.iter().all(|status| status.has_left) && since.elapsed() < FAREWELL {
            let Ok(Incoming { agent, items }) = self.wires.incoming.recv_timeout(LOOK) else { continue };
            if let Some(status) = self.status.get_mut(agent) {
                status.has_left |= items.iter().any(|item| matches!(item, Item::Ended(_)));
            }
        }
    }

    /// Returns `true` while no agent can have loaded anything.
    fn is_before_load(&self) -> bool {
        self.may_be_refused && !self.status.iter().any(|status| status.released[PREPARED])
    }

    /// Comes to where a coordinator before this one was: its changes, what the agents handed in to it, and whom it gave up.
    fn replay(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        self.directory.changes().into_iter().for_each(|change| sink(RunEvent::Changed(change)));
        let losses = self.directory.losses();
        for CarriedLoad { agent, since_ns, multiple } in self.directory.carried() {
            self.merger.carries(agent, RunTime::Since(since_ns), multiple);
        }
        for (agent, mut items) in std::mem::take(&mut self.wires.known).into_iter().enumerate() {
            let loss = losses.iter().find(|loss| loss.agent == agent);
            let late = loss.map(|loss| items.split_off(items.len().min(loss.items as usize)));
            // What it handed in after it was given up does not count.
            let has_left = late.is_some_and(|late| late.iter().any(|item| matches!(item, Item::Ended(_))));
            self.status[agent].has_left |= has_left;
            self.is_replaying = loss.is_some();
            self.take(Incoming { agent, items }, sink);
            self.is_replaying = false;
        }
        for loss in &losses {
            self.give_up(loss.agent, &loss.why, sink);
            if let Some(since) = loss.taken_over_ns {
                self.say_replaced(loss.agent, since, sink);
            }
        }
        match self.directory.stop() {
            Some(aborted) => {
                self.aborted = aborted;
                self.stop_all();
            }
            None => self.order_again(&losses, sink),
        }
    }

    /// Returns `true` once no record grows any more, and every agent whose record is whole has taken its leave: one whose
    /// last item nobody acknowledges would hand it in for ever.
    fn is_over(&mut self) -> bool {
        if !self.merger.is_over() {
            return false;
        }
        let since = *self.over_since.get_or_insert_with(Instant::now);
        let most = if self.stopped.is_some() { FAREWELL } else { CLOSES_WHOLE };
        let stays = |(agent, status): (usize, &AgentStatus)| {
            let quiet = status.worked.max(since).elapsed();
            self.merger.is_whole(agent) && !status.has_left && quiet <= FAREWELL
        };
        since.elapsed() > most || !self.status.iter().enumerate().any(stays)
    }

    /// Takes what an agent has handed in.
    fn take(&mut self, Incoming { agent, items }: Incoming, sink: &mut dyn FnMut(RunEvent)) {
        let name = self.name(agent);
        if let Some(status) = self.status.get_mut(agent).filter(|_| items.contains(&Item::Works)) {
            status.worked = Instant::now();
        }
        let before = self.progress(agent);
        for item in items {
            self.status.get_mut(agent).into_iter().for_each(|status| status.items += 1);
            match item {
                Item::Ready(barrier) => self.ready(agent, barrier),
                Item::Event(event) => {
                    if let Err(why) = self.merger.add(agent, &event, sink) {
                        self.lose(agent, &why, sink);
                    }
                }
                Item::Remark(remark) if self.may_remark(agent) => {
                    self.merger.note_remark(agent, &remark);
                    let facts = [("agent", name.clone()), ("remark", remark)];
                    sink(RunEvent::Notice(Notice::new(Subject::AgentRemark, facts)));
                }
                Item::Works | Item::Remark(_) => {}
                Item::Refused(why) if self.is_before_load() => {
                    self.refused.get_or_insert(RefusedShare { agent: name.clone(), why });
                }
                Item::Refused(why) => {
                    self.status.get_mut(agent).into_iter().for_each(|of| of.refused = Some(why.clone()))
                }
                Item::Ended(how) => {
                    self.status.get_mut(agent).into_iter().for_each(|status| status.has_left = true);
                    if self.refused.is_some() {
                        continue;
                    }
                    let refused = self.status.get_mut(agent).and_then(|status| status.refused.take());
                    let why = refused.map_or(how, |why| agents::refused(why).to_string());
                    self.lose(agent, &why, sink);
                }
            }
        }
        if self.progress(agent) != before {
            self.note_progress(agent);
        }
        if self.merger.is_whole(agent) {
            self.say_back(agent, sink);
        }
    }

    /// Returns how far an agent is. One whose items change nothing of it is as silent as one that hands in none.
    fn progress(&self, agent: usize) -> (i64, bool, bool, [bool; BARRIERS]) {
        let ready = self.status.get(agent).map(|status| status.ready).unwrap_or_default();
        (self.merger.reached_ns(agent), self.merger.has_begun(agent), self.merger.grows(agent), ready)
    }

    fn note_progress(&mut self, agent: usize) {
        let grows = self.merger.grows(agent) || self.merger.is_whole(agent);
        let Some(status) = self.status.get_mut(agent).filter(|_| grows) else { return };
        let (away, now) = (status.heard.elapsed(), Instant::now());
        // A release may be ahead: from then on it owes figures.
        status.heard = status.heard.max(now);
        if status.silent_since.take().is_some() {
            status.heard_again = Some((now, away));
        }
        self.grew = now;
    }

    /// Counts a remark; returns `false` beyond what anybody would read.
    fn may_remark(&mut self, agent: usize) -> bool {
        let Some(status) = self.status.get_mut(agent) else { return false };
        status.remarks += 1;
        status.remarks <= REMARKS
    }

    /// Says that an agent that was silent takes part again.
    fn say_back(&mut self, agent: usize, sink: &mut dyn FnMut(RunEvent)) {
        let again = self.status.get_mut(agent).and_then(|status| status.heard_again.take());
        if let Some((_, away)) = again {
            let facts = [("agent", self.name(agent)), ("away", format!("{} s", away.as_secs()))];
            sink(RunEvent::Notice(Notice::new(Subject::AgentBack, facts)));
        }
    }

    fn name(&self, agent: usize) -> String {
        self.head.started.agents.get(agent).map(|head| head.name.clone()).unwrap_or_default()
    }

    fn ready(&mut self, agent: usize, barrier: u32) {
        if let Some(ready) = self.status.get_mut(agent).and_then(|status| status.ready.get_mut(barrier as usize)) {
            *ready = true;
            if barrier as usize == PREPARED {
                self.first_ready.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Releases each barrier at which all agents are ready that still have a record to write, to those to which it was
    /// not released yet.
    fn release_barriers(&mut self) {
        for barrier in 0..BARRIERS {
            let growing = || (0..self.status.len()).filter(|agent| self.merger.grows(*agent));
            let waits = |agent: &usize| {
                let status = &self.status[*agent];
                let passed = barrier == PREPARED && self.merger.has_begun(*agent);
                status.ready[barrier] && !status.released[barrier] && !passed
            };
            let here: Vec<usize> = growing().filter(waits).collect();
            let all_ready = growing().all(|agent| self.status[agent].ready[barrier]);
            if here.is_empty() || !all_ready {
                continue;
            }
            let at = Clock.now() + lead(&self.head.started.agents);
            if barrier == PREPARED {
                self.compare_clocks(&here, at);
            }
            for agent in here {
                let status = &mut self.status[agent];
                status.released[barrier] = true;
                // From here on it owes figures.
                status.heard = Instant::now() + Duration::from_nanos(at.0.saturating_sub(Clock.now().0));
                if let Some(line) = self.wires.orders.get_mut(agent) {
                    line.release(barrier as u32, at);
                }
            }
        }
    }

    /// Compares the clocks of these agents again, shortly after their common start.
    fn compare_clocks(&self, agents: &[usize], start: Nanos) {
        let agents: Vec<(usize, String)> = agents.iter().map(|agent| (*agent, self.name(*agent))).collect();
        let (messenger, told) = (Arc::clone(&self.fleet.messenger), self.clocks.0.clone());
        let compare = move || {
            let wait = start.0.saturating_sub(Clock.now().0);
            std::thread::sleep(Duration::from_nanos(wait) + AFTER_START);
            // Each as it comes: one that does not answer must not hold up the others.
            at_once(&agents, |(agent, name)| {
                if let Ok(clock) = clock::compare(&*messenger, name) {
                    let _ = told.send((*agent, clock));
                }
            });
        };
        // Without it, the first comparison counts.
        drop(std::thread::Builder::new().name("clocks".into()).spawn(compare));
    }

    fn pass_on_stop(&mut self, stop: &Stop) {
        if stop.requested() && self.stopped.is_none() {
            self.stop_all();
        }
    }

    fn stop_all(&mut self) {
        self.stopped = Some(Instant::now());
        // Without a disk, a coordinator that is started again would let them go on.
        let _ = self.directory.add_stop(self.aborted);
        self.merger.stop();
        self.wires.orders.iter_mut().for_each(|line| line.stop());
    }

    /// Gives up an agent whose record is not whole, and does what the policy says.
    fn lose(&mut self, agent: usize, why: &str, sink: &mut dyn FnMut(RunEvent)) {
        if !self.merger.grows(agent) {
            return;
        }
        self.give_up(agent, why, sink);
        if self.is_replaying {
            return;
        }
        // What was not kept is missing here alone: whoever goes on with the run waits for it.
        if let Some(trouble) = self.wires.troubles.of(agent) {
            self.unkept.get_or_insert(trouble);
            return;
        }
        let taken_over_ns = if self.stopped.is_none() { self.follow_policy(agent, sink) } else { None };
        let items = self.status.get(agent).map_or(0, |status| status.items);
        // Without a disk, a coordinator that is started again would wait for the agent once more.
        let _ = self.directory.add_loss(&LostAgent { agent, items, why: why.to_owned(), taken_over_ns });
    }

    /// Gives up an agent, and stops it: one that is out of reach may load the service still.
    fn give_up(&mut self, agent: usize, why: &str, sink: &mut dyn FnMut(RunEvent)) {
        self.merger.lose(agent, why, sink);
        self.wires.orders.get_mut(agent).into_iter().for_each(|line| line.stop());
    }

    /// Does what the policy says of a lost agent; returns the time from which the others carry its load.
    fn follow_policy(&mut self, agent: usize, sink: &mut dyn FnMut(RunEvent)) -> Option<i64> {
        match (self.head.terms.on_lost, self.level) {
            (LossPolicy::Abort, _) => {
                self.aborted = true;
                self.stop_all();
                None
            }
            (LossPolicy::Redistribute, Some(level)) if !self.merger.is_over() && !self.is_past(Clock.now()) => {
                Some(self.redistribute(agent, level, sink))
            }
            _ => None,
        }
    }
}
