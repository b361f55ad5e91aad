//! The collector, which merges the reports of the workers into the events of the run. It runs on the thread that
//! started the run.

use std::collections::{BTreeMap, HashSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use brunt_measure::{Clock, Nanos};
use brunt_record::{
    End, Failure, FailureExample, LoadChange, Notice, OpenRequests, RunEnd, RunEvent, Second, Subject, UsedValue,
    WindowStart,
};

use crate::control::{Control, ScheduledChange};
use crate::early_failures::OnlyErrorsDetector;
use crate::examples::EXAMPLES_BY_NAME;
use crate::failure_class::{FailureClass, errno_name};
use crate::lost_processes::{LostProcesses, add_snapshot};
use crate::name_rows::OTHER;
use crate::stragglers::AwaitedWorkers;
use crate::tally::{LossCount, Snapshot, decode};
use crate::traces;
use crate::worker_message::{EXCERPT, RawExample, WorkerMessage};

/// Interval between checks for changes of the load.
const LOOK: Duration = Duration::from_millis(50);
/// Number of seconds held for workers that have not reported them; each takes up to 1.5 MB. Workers further behind are
/// reported to [`AwaitedWorkers`], and are given up at twice that number.
pub(crate) const HELD: usize = 60;
/// Maximum number of failure classes with an example.
const SORTS: usize = 1 << 10;

pub(crate) struct Collector<'a> {
    is_open: bool,
    /// Set if requests have names.
    by_name: bool,
    code_name: &'a dyn Fn(u32) -> String,
    sink: &'a mut dyn FnMut(RunEvent),
    /// End of the last reported second of each worker; `None` once the worker is done.
    reported_until: Vec<Option<i64>>,
    /// Unfinished work of each worker, as of its last report.
    open: Vec<OpenRequests>,
    losses: LostProcesses,
    seconds: BTreeMap<i64, Second>,
    /// Failure classes for which an example was passed on.
    sorts: Vec<FailureClass>,
    named: HashSet<(u16, u32, FailureClass)>,
    /// Names of the status codes distinguished in this run.
    codes: BTreeMap<String, u64>,
    dead_end: OnlyErrorsDetector,
    ended: RunEnd,
    last_ns: i64,
    interrupted: bool,
    /// Start of the window, once known.
    window: Option<Nanos>,
    control: Control,
    /// Number of changes already reported.
    changes: usize,
    /// Set if workers were lost.
    partial: bool,
    awaited: AwaitedWorkers,
    /// Number in the run of the first worker.
    first_worker: usize,
}

impl<'a> Collector<'a> {
    /// Creates the collector for a number of workers; `open` is set if arrivals do not wait for responses.
    pub fn new(
        workers: usize,
        open: bool,
        code_name: &'a dyn Fn(u32) -> String,
        sink: &'a mut dyn FnMut(RunEvent),
    ) -> Self {
        Collector {
            is_open: open,
            by_name: false,
            code_name,
            sink,
            reported_until: vec![Some(i64::MIN); workers],
            open: vec![OpenRequests::default(); workers],
            losses: LostProcesses::default(),
            seconds: BTreeMap::new(),
            sorts: Vec::new(),
            named: HashSet::new(),
            codes: BTreeMap::new(),
            dead_end: OnlyErrorsDetector::new(),
            ended: RunEnd::default(),
            last_ns: i64::MIN,
            interrupted: false,
            window: None,
            control: Control::default(),
            changes: 0,
            partial: false,
            awaited: AwaitedWorkers::default(),
            first_worker: 0,
        }
    }

    /// Reports the workers for which the collector has waited too long to `awaited`.
    pub fn with_awaited(mut self, awaited: &AwaitedWorkers) -> Self {
        self.awaited = awaited.clone();
        self
    }

    /// Reports counts by request name if there are several names.
    pub fn by_name(mut self, names: usize) -> Self {
        self.by_name = names > 1;
        self
    }

    /// Reports the changes of the load as well.
    pub fn with_control(mut self, control: &Control) -> Self {
        self.control = control.clone();
        self
    }

    /// Sets the number of the first worker, for a share of a run.
    pub fn numbered_from(mut self, first: u32) -> Self {
        self.first_worker = first as usize;
        self
    }

    /// Receives messages until every worker is done. The elapsed time is `warmup` plus the last reported time.
    pub fn listen(mut self, told: &Receiver<(usize, WorkerMessage)>, warmup: Nanos) {
        while self.reported_until.iter().any(Option::is_some) {
            match told.recv_timeout(LOOK) {
                Ok((worker, message)) => self.receive(worker - self.first_worker, message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.report_changes(warmup);
        }
        self.end(warmup);
    }

    /// Reports new changes once the start of the window is known. Changes requested before the run began take effect at
    /// its beginning.
    fn report_changes(&mut self, warmup: Nanos) {
        let Some(window) = self.window else { return };
        for ScheduledChange { at, change } in self.control.since(self.changes) {
            self.changes += 1;
            let at_ns = (at.0 as i64).saturating_sub(window.0 as i64).max(-(warmup.0 as i64));
            (self.sink)(RunEvent::Changed(LoadChange { at_ns, change }));
        }
    }

    /// Handles one message of one worker.
    pub fn receive(&mut self, worker: usize, message: WorkerMessage) {
        match message {
            WorkerMessage::Snapshot(bytes) => {
                // A worker that is done or was given up is no longer waited for: its seconds were already passed on.
                let Some(reached) = self.reported_until[worker] else { return };
                match decode(&bytes).filter(|snapshot| snapshot.from_ns >= reached) {
                    Some(snapshot) => {
                        self.reported_until[worker] = Some(snapshot.to_ns);
                        self.set_window(snapshot.window);
                        add_snapshot(&mut self.open[worker], &snapshot);
                        self.merge(snapshot);
                    }
                    None => self.give_up_silent([worker], "it reported an impossible second"),
                }
            }
            WorkerMessage::Early(early) => {
                self.dead_end.early(&early, self.reported_until.len()).into_iter().for_each(|said| self.notify(said));
            }
            WorkerMessage::Example(example) => self.example(example),
            WorkerMessage::Over { window, interrupted } => {
                self.reported_until[worker] = None;
                self.ended.window = self.ended.window.max(window);
                self.interrupted |= interrupted;
            }
            WorkerMessage::Broken(why) => self.give_up_silent([worker], &why),
            WorkerMessage::Lost { workers, how } => {
                if self
                    .reported_until
                    .get(workers.start as usize..workers.end as usize)
                    .is_none_or(|of| of.iter().all(Option::is_none))
                {
                    return;
                }
                let (mut requests, mut until) = (0, None);
                for (told_until, open) in workers.filter_map(|worker| self.give_up(worker as usize)) {
                    requests += open;
                    until = until.max(Some(told_until));
                }
                let notice = self.losses.add(&how, requests, until);
                self.notify(notice);
            }
        }
        self.release();
    }

    /// Records the start of the window, which is known from the first second.
    fn set_window(&mut self, window: Nanos) {
        if self.window.replace(window).is_none() {
            let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let since = i128::from(Clock.now().0) - i128::from(window.0);
            let unix_ns = u64::try_from(unix.as_nanos() as i128 - since).unwrap_or(0);
            (self.sink)(RunEvent::Began(WindowStart { clock_ns: window.0, unix_ns }));
        }
    }

    /// Ends the run: no more messages follow.
    pub fn end(mut self, warmup: Nanos) {
        self.reported_until.clear();
        self.release();
        // A drained run ended as requested: the change is recorded, and nothing was cut.
        self.ended.reason = match (self.interrupted, self.partial) {
            (true, _) => End::Interrupted,
            (false, true) => End::Partial,
            (false, false) => End::Completed,
        };
        self.ended.elapsed = Nanos(self.last_ns.saturating_add(warmup.0 as i64).max(0) as u64);
        (self.sink)(RunEvent::Ended(self.ended));
    }

    /// Passes on the seconds to which no worker can still add.
    fn release(&mut self) {
        let complete = self.reported_until.iter().flatten().min().copied().unwrap_or(i64::MAX);
        while let Some(entry) = self.seconds.first_entry() {
            // Requests left open by lost workers are counted in a second of zero length until other workers report that
            // second.
            let ends = entry.get().to_ns.max(entry.get().from_ns.saturating_add(1));
            if ends > complete {
                break;
            }
            let second = entry.remove();
            self.last_ns = self.last_ns.max(second.to_ns);
            let said = self.dead_end.second(&second);
            (self.sink)(RunEvent::Second(Box::new(second)));
            said.into_iter().for_each(|said| self.notify(said));
        }
        if self.seconds.len() > HELD {
            self.enforce_limit();
        }
    }

    /// Bounds the memory that silent workers cost: those that reported none of the later half of the held seconds are
    /// reported as awaited, and finally given up.
    #[cold]
    fn enforce_limit(&mut self) {
        let Some(middle) = self.seconds.keys().nth(self.seconds.len() / 2).copied() else { return };
        let behind = |reached: &Option<i64>| reached.is_some_and(|reached| reached <= middle);
        let behind: Vec<usize> =
            (0..self.reported_until.len()).filter(|worker| behind(&self.reported_until[*worker])).collect();
        if self.seconds.len() > 2 * HELD {
            self.give_up_silent(behind, "it reported nothing for two minutes while others went on");
            self.release();
        } else {
            self.awaited.name(behind);
        }
    }

    /// Gives up workers that report nothing although their process is not known to have ended.
    fn give_up_silent(&mut self, workers: impl IntoIterator<Item = usize>, why: &str) {
        for worker in workers {
            self.give_up(worker);
        }
        self.notify(Notice::new(Subject::WorkerLost, [("why", why.to_owned())]));
    }

    /// Returns the number of held seconds.
    #[cfg(any(test, feature = "oracle"))]
    pub fn held(&self) -> usize {
        self.seconds.len()
    }

    /// Gives up a worker that ended without a final message: the requests in flight at its last report count as
    /// unfinished. Returns the time of that report and their number; `None` if the worker is already done.
    fn give_up(&mut self, worker: usize) -> Option<(i64, u64)> {
        let until = self.reported_until.get_mut(worker)?.take()?;
        self.partial = true;
        let open = std::mem::take(&mut self.open[worker]);
        self.ended.window = self.ended.window.max(Nanos(open.window_ns.max(0) as u64));
        if open.is_any() {
            let second = self.seconds.entry(until).or_insert_with(|| Second {
                from_ns: until,
                to_ns: until,
                part: open.part,
                ..Second::default()
            });
            open.count_unfinished(second, self.is_open);
        }
        Some((until, open.requests))
    }

    fn merge(&mut self, s: Snapshot) {
        let spans = s.traces.spans(self.code_name);
        if !spans.spans.is_empty() {
            (self.sink)(RunEvent::Spans(spans));
        }
        let second = self.seconds.entry(s.from_ns).or_insert_with(|| Second {
            from_ns: s.from_ns,
            to_ns: s.to_ns,
            part: s.part,
            ..Second::default()
        });
        if second.to_ns == second.from_ns {
            second.part = s.part;
        }
        second.to_ns = second.to_ns.max(s.to_ns);
        let c = &s.counts;
        second.count(&c.sums);
        second.bytes.add(&c.bytes);
        second.connections.add(&c.connections);
        second.heartbeats.add(&c.heartbeats);
        let a = &c.apart;
        second.users = second.users.saturating_add(a.users as u32);
        second.in_flight = second.in_flight.saturating_add(a.in_flight as u32);
        second.waiting = second.waiting.saturating_add(a.waiting as u32);
        second.connections.open = second.connections.open.saturating_add(a.open as u32);
        second.connections.ahead_ns = second.connections.ahead_ns.max(a.ahead_ns);
        second.in_flight_ns += u128::from(a.area_ns);
        second.service_ns += i128::from(a.service_ns) + i128::from(a.after_ns as i64) - i128::from(a.before_ns as i64);
        second.generator.merge_worker(a.busiest_cpu_ns, a.ready_ns, (a.throttled, a.periods), a.resolution_ns);
        let time = |since: u64| (since > 0).then(|| s.from_ns + since as i64 - 1);
        let earlier = |known: Option<i64>, since| [known, time(since)].into_iter().flatten().min();
        second.first_success_ns = earlier(second.first_success_ns, a.first_success);
        second.last_success_ns = second.last_success_ns.max(time(a.last_success));
        second.first_failure_ns = earlier(second.first_failure_ns, a.first_failure);
        second.last_failure_ns = second.last_failure_ns.max(time(a.last_failure));
        let looked = time(a.first_success).unwrap_or(s.to_ns);
        let busy = (a.busy_for > 0).then(|| looked - (a.busy_for as i64 - 1));
        second.busy_since_ns = [second.busy_since_ns, busy].into_iter().flatten().min();
        for (code, n) in s.codes {
            let name = if code == OTHER { brunt_record::OTHER_CODES.to_owned() } else { (self.code_name)(code) };
            let name = brunt_record::counted_name(&self.codes, &name);
            brunt_record::add_code(&mut self.codes, name, n);
            brunt_record::add_code(&mut second.status, name, n);
        }
        for (word, n) in s.words {
            let name = if word == OTHER { brunt_record::OTHER_CODES.to_owned() } else { (self.code_name)(word) };
            brunt_record::add_code(&mut second.words, &name, n);
        }
        for (sort, n) in s.failures {
            add_failure(&mut second.failures, sort, n);
        }
        add_losses(&mut second.losses, s.losses);
        add_losses(&mut second.unopened, s.unopened);
        add_losses(&mut second.failed_addresses, s.failed_addresses);
        second.latency.merge(&s.latency);
        s.checks.iter().for_each(|told| brunt_record::CheckResults::add(&mut second.checks, *told));
        for told in &s.traces.slowest {
            brunt_record::keep_slowest(&mut second.slowest, told.traced(self.by_name, self.code_name), traces::SLOWEST);
        }
        for told in s.named {
            let named = brunt_record::NamedFigures::entry(&mut second.named, told.name);
            named.counts.add(&told.counts);
            named.latency.merge(&told.latency);
            named.at_least.merge(&told.at_least);
            named.latency_delayed.merge(&told.latency_delayed);
            named.latency_undelayed.merge(&told.latency_undelayed);
            for (code, n) in told.codes {
                let name = if code == OTHER { brunt_record::OTHER_CODES.to_owned() } else { (self.code_name)(code) };
                brunt_record::add_code(&mut named.status, brunt_record::counted_name(&self.codes, &name), n);
            }
        }
    }

    fn notify(&mut self, notice: Notice) {
        (self.sink)(RunEvent::Notice(notice));
    }

    fn example(&mut self, raw: RawExample) {
        let first = self.sorts.len() < SORTS && !self.sorts.contains(&raw.sort);
        if first {
            self.sorts.push(raw.sort);
        }
        let name = raw.name.filter(|_| self.named.len() < EXAMPLES_BY_NAME);
        if !name.is_some_and(|name| self.named.insert((name, raw.code, raw.sort))) && !first {
            return;
        }
        let status = if raw.code == 0 { String::new() } else { (self.code_name)(raw.code) };
        (self.sink)(RunEvent::Example(FailureExample {
            kind: raw.sort.kind.name().into(),
            phase: raw.sort.phase.name().into(),
            errno: raw.sort.errno.map(errno_name),
            detail: raw.why.as_ref().map_or(String::new(), |why| clipped(why.en().into_owned())),
            cause: raw.why.map(|why| why.truncated(EXCERPT)),
            sent: readable(&raw.sent),
            received: readable(&raw.received),
            reused: raw.reused,
            name: raw.name,
            status,
            at_ns: Some(raw.at_ns),
            trace: raw.trace.map(traces::id),
            values: raw
                .values
                .into_iter()
                .map(|(name, value)| UsedValue { name, value: value.as_deref().map(readable) })
                .collect(),
        }));
    }
}

/// Limits the length of a text chosen by a peer.
fn clipped(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(EXCERPT));
    detail
}

fn add_losses(all: &mut Vec<brunt_record::ConnectionLoss>, told: Vec<LossCount>) {
    for loss in told {
        let (kind, phase) = (loss.kind.name().into(), loss.phase.name().into());
        let errno = loss.errno.map(errno_name);
        brunt_record::ConnectionLoss::add(
            all,
            &brunt_record::ConnectionLoss {
                kind,
                phase,
                errno,
                detail: loss.detail,
                cause: loss.cause,
                count: loss.count,
            },
        );
    }
}

fn add_failure(failures: &mut Vec<Failure>, sort: FailureClass, count: u64) {
    let errno = sort.errno.map(errno_name);
    let same = |f: &&mut Failure| f.kind == sort.kind.name() && f.phase == sort.phase.name() && f.errno == errno;
    match failures.iter_mut().find(same) {
        Some(known) => known.count += count,
        None => {
            failures.push(Failure { kind: sort.kind.name().into(), phase: sort.phase.name().into(), errno, count });
        }
    }
}

/// Returns bytes as text, truncated after 4 KiB.
pub fn readable(bytes: &[u8]) -> String {
    let mut text = brunt_measure::sanitize::bytes(&bytes[..bytes.len().min(EXCERPT)]);
    if bytes.len() > EXCERPT {
        text.push('…');
    }
    text
}
