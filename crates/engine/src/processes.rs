//! Runs in several processes: each takes a share of the workers, whose counts are merged as if they were threads of one
//! process.
//!
//! Each process receives the briefing (the plan with the files it names) and a task, followed by orders (the release of
//! a barrier, a stop), and returns frames with counts. The run begins once all processes are prepared. The death of a
//! process is reported, and its counts up to then are kept, so there is never a silent gap. Runs on several machines
//! can use the same structure.

mod assignment;
mod child;
mod link;
mod share_process;
mod task;
#[cfg(test)]
mod tests;

pub use assignment::{Assignment, ShareOutput};
pub(crate) use assignment::{serve, serve_with};
pub use child::child;
pub use link::{ClockOffset, Launcher, ProcessHandle, ProcessLink};
pub use share_process::{ShareProcess, ShareReport};
pub use task::{Briefing, Task};

use std::io::{self, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Scope;
use std::time::Duration;

use brunt_measure::{Clock, Nanos};

use crate::barrier::NOTICE;
use crate::control::{Control, ScheduledChange};
use crate::frames::{self, Order, ProcessFrame};
use crate::resource_errors::no_thread;
use crate::stragglers::{AwaitedWorkers, Stragglers, WatchedProcess};
use crate::worker_message::WorkerMessage;
use crate::{Stop, tally};

/// Delay between the decision to start and the start, in which all processes receive the order and their workers create
/// their networks.
const LEAD: Nanos = Nanos::from_millis(50);
/// Interval at which the stop flag is checked.
const STOP_LOOKS: Duration = Duration::from_millis(20);
/// Number of barriers of a run: before a common start, before connections are held, and before the run begins.
pub const BARRIERS: usize = 3;
/// The barrier that all processes reach once their requests are prepared.
pub const PREPARED: usize = 2;
/// Maximum number of bytes of a file or of the description in one frame.
const PIECE: usize = 256 << 10;

/// The processes that run the workers of a run.
#[derive(Clone)]
pub struct Processes {
    /// Number of processes, each of which takes a share of the workers.
    pub number: u32,
    /// The launcher of the processes.
    pub launcher: Arc<dyn Launcher>,
    /// The briefing for all of them.
    pub briefing: Arc<Briefing>,
}

/// Links to the processes, and the processes missing at each barrier.
struct ProcessLinks {
    outboxes: Mutex<Vec<OrderQueue>>,
    missing: Mutex<[u32; BARRIERS]>,
    stragglers: Mutex<Stragglers>,
}

/// The order queue of one process. Each has its own writer thread, so that a process that does not read delays no
/// other.
struct OrderQueue {
    orders: Sender<Order>,
    clock: ClockOffset,
}

impl ProcessLinks {
    fn broadcast(&self, order: impl Fn(ClockOffset) -> Order) {
        for outbox in self.outboxes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).iter() {
            // The thread that reads a process detects its end.
            let _ = outbox.orders.send(order(outbox.clock));
        }
    }

    fn stragglers(&self) -> MutexGuard<'_, Stragglers> {
        self.stragglers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Marks a process as ready for a barrier; the last one determines the time of release.
    fn ready(&self, barrier: usize) {
        let last = {
            let mut missing = self.missing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let Some(missing) = missing.get_mut(barrier) else { return };
            *missing = missing.saturating_sub(1);
            *missing == 0
        };
        if last {
            let at = Clock.now() + if barrier == PREPARED { LEAD } else { NOTICE };
            self.broadcast(|clock| Order::Go(barrier as u32, clock.to_process(at)));
        }
    }
}

/// Starts the processes, which share `workers` workers and whose messages go to `report`.
pub(crate) fn start<'s>(
    scope: &'s Scope<'s, '_>,
    Processes { number, launcher, briefing }: &Processes,
    workers: u32,
    report: &Sender<(usize, WorkerMessage)>,
    (stop, control): (&Stop, &Control),
    awaited: &AwaitedWorkers,
) {
    let number = (*number).clamp(1, workers);
    let missing = Mutex::new([number; BARRIERS]);
    let links =
        Arc::new(ProcessLinks { outboxes: Mutex::default(), missing, stragglers: Mutex::new(Stragglers::of(awaited)) });
    let mut from = 0;
    for index in 0..number {
        let to = from + brunt_plan::Share { index, of: number }.of_total(u64::from(workers)) as u32;
        let task = Task { from, to, of: workers };
        from = to;
        match launcher.launch(&task) {
            Ok(link) => {
                let (report, links, briefing) = (report.clone(), Arc::clone(&links), Arc::clone(briefing));
                let (orders, told) = channel();
                links
                    .outboxes
                    .lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner())
                    .push(OrderQueue { orders, clock: link.clock });
                let member = links.stragglers().watch(link.process.clone(), task.from..task.to);
                let to = link.to;
                // Not joined: a process that does not read is killed, which ends the write.
                let orders = move || write(to, &briefing, task, &told);
                let (from, clock, taken) = (link.from, link.clock, links.clone());
                let (lost, ending) = (report.clone(), link.process);
                let answers = move || receive(&member, (from, clock), &task, &report, &taken);
                let started = std::thread::Builder::new().spawn(orders);
                let started = started.and_then(|_| std::thread::Builder::new().spawn_scoped(scope, answers));
                if let Err(why) = started {
                    ending.kill();
                    (0..BARRIERS).for_each(|barrier| links.ready(barrier));
                    report_lost(&task, &lost, no_thread(&why).to_string());
                }
            }
            Err(why) => {
                (0..BARRIERS).for_each(|barrier| links.ready(barrier));
                report_lost(&task, report, format!("not started: {why}"));
            }
        }
    }
    let (weak, ended, control) = (Arc::downgrade(&links), stop.clone(), control.clone());
    let watch = move || {
        let (mut stopping, mut seen) = (false, 0);
        while let Some(links) = weak.upgrade() {
            for ScheduledChange { at, change } in control.since(seen) {
                seen += 1;
                links.broadcast(|clock| Order::Change(ScheduledChange { at: clock.to_process(at), change }));
            }
            if ended.requested() && !std::mem::replace(&mut stopping, true) {
                links.broadcast(|_| Order::Stop);
                links.stragglers().stopping();
            }
            links.stragglers().check();
            drop(links);
            std::thread::sleep(STOP_LOOKS);
        }
    };
    if std::thread::Builder::new().spawn_scoped(scope, watch).is_err() {
        // Otherwise nobody would pass a stop on to them.
        stop.request();
        links.broadcast(|_| Order::Stop);
    }
}

/// Writes to one process: the hello, the briefing, its task, and orders until the run is over.
fn write(mut to: impl Write, briefing: &Briefing, task: Task, orders: &Receiver<Order>) {
    let briefed = |to: &mut dyn Write| briefing.write(to).and_then(|()| Order::Task(task).write(to));
    let written = frames::write_hello(&mut to).and_then(|()| briefed(&mut to));
    if written.is_ok() {
        // The thread that reads a process detects its end.
        for order in orders {
            if order.write(&mut to).is_err() {
                return;
            }
        }
    }
}

impl Briefing {
    /// Writes the briefing as frames.
    ///
    /// # Errors
    /// The error of the write.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let Briefing { description, bundle } = self;
        for (path, content) in &bundle.files {
            Order::File(path.clone(), content.len() as u64).write(to)?;
            content.chunks(PIECE).try_for_each(|piece| Order::Piece(piece.to_vec()).write(to))?;
        }
        let mut variables = bundle.variables.iter();
        variables.try_for_each(|(name, value)| Order::Variable(name.clone(), value.clone()).write(to))?;
        description.as_bytes().chunks(PIECE).try_for_each(|piece| Order::Description(piece.to_vec()).write(to))
    }
}

/// Reads one process to its end.
fn receive(
    member: &WatchedProcess,
    (from, clock): (impl Read, ClockOffset),
    task: &Task,
    report: &Sender<(usize, WorkerMessage)>,
    links: &ProcessLinks,
) {
    let mut waited_for = [true; BARRIERS];
    let mut ready = |barrier: usize| {
        // Each process counts once at each barrier.
        if waited_for.get_mut(barrier).is_some_and(std::mem::take) {
            links.ready(barrier);
        }
    };
    let mut open: Vec<bool> = (task.from..task.to).map(|_| true).collect();
    let why = read(member, BufReader::new(from), |frame| match frame {
        ProcessFrame::Ready(barrier) => {
            if barrier as usize == PREPARED {
                links.stragglers().prepared(member);
            }
            ready(barrier as usize);
        }
        ProcessFrame::Worker(worker, mut message) => {
            let over = matches!(message, WorkerMessage::Over { .. } | WorkerMessage::Broken(_));
            if let Some(open) = worker.checked_sub(task.from).and_then(|at| open.get_mut(at as usize)) {
                *open &= !over;
                if let WorkerMessage::Snapshot(bytes) = &mut message {
                    tally::translate(bytes, |window| clock.to_coordinator(window));
                }
                let _ = report.send((worker as usize, message));
            }
            if over && !open.contains(&true) {
                member.set_over();
            }
        }
        // No share of a run merged here makes a record of its own.
        ProcessFrame::Refused(_) | ProcessFrame::Event(_) => {}
    });
    if open.contains(&true) {
        (0..BARRIERS).for_each(&mut ready);
        report_lost(task, report, why);
    }
}

/// Reads frames up to the end; returns how the process ended.
fn read(member: &WatchedProcess, mut from: impl io::BufRead, mut take: impl FnMut(ProcessFrame)) -> String {
    let mut refused = None;
    let outcome = (|| -> io::Result<()> {
        frames::read_hello(&mut from)?;
        member.note_message();
        while let Some(frame) = frames::read(&mut from)? {
            member.note_message();
            if let ProcessFrame::Refused(why) = &frame {
                refused = Some(format!("it could not take its share: {why}"));
            }
            take(frame);
        }
        Ok(())
    })();
    if let Err(error) = outcome
        && error.kind() == io::ErrorKind::Other
    {
        // No later frame could be understood.
        member.kill();
        return error.to_string();
    }
    match (refused, member.end()) {
        (Some(why), _) => why,
        (None, Ok(how)) => member.why_killed().map_or(how, str::to_owned),
        (None, Err(error)) => error.to_string(),
    }
}

fn report_lost(task: &Task, report: &Sender<(usize, WorkerMessage)>, how: String) {
    let _ = report.send((task.from as usize, WorkerMessage::Lost { workers: task.from..task.to, how }));
}
