//! A share that an agent has taken: its measuring process, and the handing in of what it reports.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brunt_cause::{Cause, agents};
use brunt_engine::{ShareProcess, ShareReport};
use brunt_measure::{Clock, Nanos};
use brunt_messenger::{FrameId, Messenger};
use brunt_plan::Change;

use super::Lending;
use super::spool::{ShareSpool, SpoolHead};
use crate::frame::Item;
use crate::protocol::{AgentAnswer, AgentOrder, PIECE, RunQuestion, ShareOffer, to_bytes};

/// Time for which an acknowledgement is awaited.
const ACKNOWLEDGED: Duration = Duration::from_secs(3);
/// Pause after a frame that was not acknowledged.
const AGAIN: Duration = Duration::from_millis(200);
/// Time for which a piece of the briefing is awaited, and how often it is asked for.
const PIECE_WITHIN: Duration = Duration::from_secs(5);
const PIECE_TRIES: u32 = 6;
/// Interval of looks at the clock of the orphan.
const LOOK: Duration = Duration::from_millis(100);
/// Difference of the times of two orders of one change (nanoseconds): clocks are compared anew by a coordinator that is started
/// again.
const SAME: u64 = 50_000_000;
/// Time without a report after which the coordinator is told that the measuring process works, and the part of a core that
/// it then uses at least: one that only waits uses less.
const QUIET: Duration = Duration::from_secs(1);
const WORKS: f64 = 0.05;
/// Time after which what nobody takes is given up.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// A share whose load runs.
pub(crate) struct ActiveShare {
    offer: ShareOffer,
    process: ShareProcess,
    /// Number of the next order.
    next_order: AtomicU64,
    /// Changes of the load that were followed.
    changes: Mutex<Vec<FollowedOrder>>,
    contact: Arc<Contact>,
    spool: Arc<ShareSpool>,
}

/// A change of the load that was ordered, and the time from which it is followed.
struct FollowedOrder {
    at_ns: u64,
    change: Change,
    from: Nanos,
}

/// The last sign of the coordinator.
pub(crate) struct Contact {
    last: Mutex<Instant>,
    over: AtomicBool,
}

impl Contact {
    fn note(&self) {
        *self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Instant::now();
    }

    fn silence(&self) -> Duration {
        self.last.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).elapsed()
    }
}

impl ActiveShare {
    /// Returns `true` once its measuring process has ended.
    pub fn is_over(&self) -> bool {
        self.contact.over.load(Ordering::Relaxed)
    }

    pub fn run(&self) -> &str {
        &self.offer.run
    }

    /// Follows an order, unless it was followed already.
    pub fn follow(&self, number: u64, order: AgentOrder) -> AgentAnswer {
        self.contact.note();
        let is_next = is_next(&self.next_order, number);
        match order {
            AgentOrder::Go { barrier, at_ns } if is_next => self.process.release(barrier, Nanos(at_ns)),
            AgentOrder::Stop if is_next => self.process.stop(),
            AgentOrder::Change { at_ns, change } => {
                return AgentAnswer::Follows { from_ns: self.change(at_ns, change).0 };
            }
            AgentOrder::Go { .. } | AgentOrder::Stop => {}
        }
        AgentAnswer::Yes
    }

    /// Follows a change of the load, and returns the time from which it does. Arrivals between the ordered time and one that has
    /// come late are what they were: they must not be made up for.
    fn change(&self, at_ns: u64, change: Change) -> Nanos {
        let mut changes = self.changes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // A coordinator that was started again repeats what may not have arrived.
        let is_same = |known: &&FollowedOrder| known.change == change && known.at_ns.abs_diff(at_ns) < SAME;
        if let Some(known) = changes.iter().rev().find(is_same) {
            return known.from;
        }
        let from = Nanos(at_ns).max(Clock.now());
        self.process.change(from, change);
        changes.push(FollowedOrder { at_ns, change, from });
        from
    }

    pub fn stop(&self) {
        self.process.stop();
    }

    /// Stops the load because the owner takes the machine back, and hands in what it measured; each takes at most `within`.
    pub fn take_back(&self, lending: &Lending, within: Duration) {
        let run = self.run();
        if !self.is_over() {
            let said = format!("run {run}: stopped, because this machine is taken back; handing in what it measured");
            (lending.settings.say)(&said, &format!("压测 {run}：本机被收回，已停止；正在上交测得的数据"));
            self.spool.push(&remark(agents::taken_back()));
            self.process.stop();
            if !is_so(within, || self.is_over()) {
                self.process.kill();
            }
        }
        if !is_so(within, || self.spool.is_removed()) {
            (lending.settings.say)(
                &format!("run {run}: not everything could be handed in; the next agent of this machine does it"),
                &format!("压测 {run}：数据未能全部上交；本机的下一个施压机会继续上交"),
            );
        }
    }
}

/// Says to its owner that a share is over, and why if its measuring process did not end in order.
fn ending(how: &str) -> [String; 2] {
    if how == brunt_cause::run::exited("0").to_string() {
        return ["its share is over", "份额已结束"].map(str::to_owned);
    }
    [format!("its share is over: its measuring process failed ({how})"), format!("份额已结束：测量进程失败（{how}）")]
}

/// Returns a remark, whose sentence reports find again.
fn remark(what: impl Into<Cause>) -> Item {
    Item::Remark(what.into().to_string())
}

/// Waits until something is so, for at most this time; returns whether it is.
fn is_so(within: Duration, what: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while !what() && since.elapsed() < within {
        std::thread::sleep(LOOK / 2);
    }
    what()
}

/// Returns `true` for the number of an order that was not followed yet, and notes it.
fn is_next(next: &AtomicU64, number: u64) -> bool {
    next.fetch_max(number.saturating_add(1), Ordering::Relaxed) <= number
}

/// Takes a share: starts the measuring process, which gets its briefing in pieces from the coordinator.
///
/// # Errors
/// The process cannot be started.
pub(super) fn take(lending: &Arc<Lending>, offer: ShareOffer) -> io::Result<Arc<ActiveShare>> {
    let link = (lending.settings.start_process)(&lending.settings.terms)?;
    let head = SpoolHead { run: offer.run.clone(), agent: lending.name.clone() };
    let spool = Arc::new(ShareSpool::create(&lending.settings.spool, head));
    let contact = Arc::new(Contact { last: Mutex::new(Instant::now()), over: AtomicBool::new(false) });
    let (messenger, wanted) = (Arc::clone(&lending.messenger), offer.clone());
    let heard = Arc::clone(&contact);
    let brief = move |to: &mut dyn Write| pull_briefing(&*messenger, &wanted, &heard, to);
    let heeded =
        HeededReports { lending: Arc::clone(lending), spool: Arc::clone(&spool), contact: Arc::clone(&contact) };
    let told = move |report: ShareReport| heeded.pass(report);
    let process = ShareProcess::start(link, brief, offer.task(), told)?;
    let ShareOffer { run, from, to, of, .. } = &offer;
    let first = from + 1;
    (lending.settings.say)(
        &format!("run {run}: this machine takes its workers {first} to {to} of {of}"),
        &format!("压测 {run}：本机承担第 {first} 至 {to} 个工作线程（共 {of} 个）"),
    );
    let active = Arc::new(ActiveShare {
        offer,
        process,
        next_order: AtomicU64::new(0),
        changes: Mutex::default(),
        contact,
        spool,
    });
    hand_in(lending, Arc::clone(&active.spool), Some(Arc::clone(&active)));
    watch(lending, Arc::clone(&active));
    Ok(active)
}

/// What the reports of a measuring process go through.
struct HeededReports {
    lending: Arc<Lending>,
    spool: Arc<ShareSpool>,
    contact: Arc<Contact>,
}

impl HeededReports {
    /// Keeps a report for the coordinator, and tells the owner of a refusal and of the end.
    fn pass(&self, report: ShareReport) {
        let (run, say) = (&self.spool.head.run, &self.lending.settings.say);
        let full = self.spool.is_overflowed();
        // What does not fit stops the share (see `watch`).
        self.spool.push(&match report {
            ShareReport::Ready(barrier) => Item::Ready(barrier),
            ShareReport::Refused(why) => {
                let shown = brunt_measure::sanitize::text(&why);
                say(&format!("run {run}: refused: {shown}"), &format!("压测 {run}：已拒绝：{shown}"));
                Item::Refused(why)
            }
            ShareReport::Event(event) => Item::Event(event),
            ShareReport::Ended(how) => {
                // Before the coordinator can know of it: it may offer the next share at once.
                self.contact.over.store(true, Ordering::Relaxed);
                let [en, zh] = ending(&how);
                say(&format!("run {run}: {en}"), &format!("压测 {run}：{zh}"));
                Item::Ended(match (full, self.lending.is_taken_back.load(Ordering::Relaxed)) {
                    (true, _) => agents::overflowed(how).to_string(),
                    (false, true) => agents::taken_back_with(how).to_string(),
                    (false, false) => how,
                })
            }
        });
        if let Some(trouble) = self.spool.take_trouble() {
            self.spool.push(&remark(agents::in_memory(trouble)));
        }
    }
}

/// Asks for the pieces of the briefing and writes them to the measuring process.
fn pull_briefing(
    messenger: &dyn Messenger,
    offer: &ShareOffer,
    contact: &Contact,
    to: &mut dyn Write,
) -> io::Result<()> {
    let address = format!("run/{}", offer.run);
    let mut left = offer.bytes;
    for number in 0..offer.bytes.div_ceil(PIECE as u64) {
        let expected = left.min(PIECE as u64) as usize;
        let question = to_bytes(&RunQuestion::Piece(number));
        let mut tries = 0;
        let piece = loop {
            match messenger.ask(&address, &question, PIECE_WITHIN) {
                Ok(piece) if piece.len() == expected => break piece,
                answer => {
                    tries += 1;
                    let why = answer.map_or_else(|why| why.0, |_| "it is not the briefing that was announced".into());
                    if tries >= PIECE_TRIES {
                        return Err(io::Error::other(agents::no_plan(why).to_string()));
                    }
                    std::thread::sleep(AGAIN);
                }
            }
        };
        contact.note();
        left -= expected as u64;
        to.write_all(&piece)?;
    }
    to.flush()
}

/// Hands in what a spool holds, on a thread of its own, until the coordinator has all of it.
pub(super) fn hand_in(lending: &Arc<Lending>, spool: Arc<ShareSpool>, active: Option<Arc<ActiveShare>>) {
    let messenger = Arc::clone(&lending.messenger);
    let deliver = move || {
        let mut tried_since = Instant::now();
        while !spool.is_handed_in() && tried_since.elapsed() < KEPT {
            let Some((seq, count, bytes)) = spool.next_batch(AGAIN) else { continue };
            let SpoolHead { run, agent } = spool.head.clone();
            match messenger.deliver(&FrameId { run, agent, epoch: 0, seq }, &bytes, ACKNOWLEDGED) {
                Ok(()) => {
                    spool.acknowledge(count);
                    tried_since = Instant::now();
                    active.iter().for_each(|active| active.contact.note());
                }
                Err(_) => std::thread::sleep(AGAIN),
            }
        }
        spool.remove();
    };
    // Without a thread, the spool stays on disk for the next agent.
    drop(std::thread::Builder::new().name("hand-in".into()).spawn(deliver));
}

/// Stops the load once the coordinator was silent for too long, and frees the machine once the share is over.
fn watch(lending: &Arc<Lending>, active: Arc<ActiveShare>) {
    let lending = Arc::clone(lending);
    let most = Duration::from_nanos(active.offer.orphan_timeout_ns);
    let look = move || {
        let mut orphaned = false;
        let mut signs = WorkSigns::of(&active);
        while !active.contact.over.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            signs.look(&active);
            if active.spool.is_overflowed() {
                active.process.stop();
            }
            if !orphaned && active.contact.silence() > most {
                orphaned = true;
                let why = agents::orphaned(format!("{} s", most.as_secs()));
                (lending.settings.say)(&why.en(), &why.zh().unwrap_or_default());
                active.spool.push(&remark(why));
                active.process.stop();
            }
        }
        let mut now = lending.active();
        if now.as_ref().is_some_and(|now| Arc::ptr_eq(now, &active)) {
            *now = None;
        }
    };
    drop(std::thread::Builder::new().name("share".into()).spawn(look));
}

/// The state of a share at the last look for signs of work.
struct WorkSigns {
    at: Instant,
    cpu: Nanos,
    pushed: u64,
}

impl WorkSigns {
    fn of(active: &ActiveShare) -> WorkSigns {
        let cpu = active.process.cpu_time().unwrap_or_default();
        WorkSigns { at: Instant::now(), cpu, pushed: active.spool.pushed() }
    }

    /// Tells the coordinator that the measuring process works, if it has reported nothing since the last look.
    fn look(&mut self, active: &ActiveShare) {
        if self.at.elapsed() < QUIET {
            return;
        }
        let now = WorkSigns::of(active);
        let used = now.cpu.0.saturating_sub(self.cpu.0) as f64;
        let quiet = now.pushed == self.pushed;
        if quiet && used >= WORKS * now.at.duration_since(self.at).as_nanos() as f64 {
            active.spool.push(&Item::Works);
        }
        // The sign itself is no report.
        *self = WorkSigns { pushed: active.spool.pushed(), ..now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_reads_of_a_process_only_if_it_failed() {
        assert_eq!(ending("exit code 0")[0], "its share is over");
        assert_eq!(ending("killed by SIGKILL")[1], "份额已结束：测量进程失败（killed by SIGKILL）");
    }

    #[test]
    fn an_order_is_followed_once_whatever_its_number() {
        let next = AtomicU64::new(0);
        assert_eq!([0, 0, 3, 2, 3, u64::MAX, 4].map(|number| is_next(&next, number)), {
            [true, false, true, false, false, true, false]
        });
    }
}
