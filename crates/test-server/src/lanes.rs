//! Lanes. A lane is a listening socket with the workers that, one after another, accept its
//! connections.
//!
//! The descriptor limit applies to each descriptor table, and each worker has its own table
//! ([`brunt_net::tables`]). A worker whose table is nearly full stops accepting and notifies the
//! foreman, which starts the next one on the same listening socket; connections in the socket's
//! queue wait for it. Listening sockets and workers are created by the foreman, whose table stays
//! small, because a new thread starts with a copy of its parent's table. A worker that has room
//! again resumes accepting, alongside its successor. If the system refuses separate tables, workers
//! share the limit and have no successors.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use brunt_contract::Network;
use brunt_measure::Nanos;
use brunt_net::tables;

use crate::arrivals::{ArrivalLog, ArrivalLogs};
use crate::protocol_session::TargetSession;
use crate::{Config, Responder, SharedState, Tallies, TargetWorker};

/// Interval at which a worker checks whether it should stop.
const STOP_LOOKS: Nanos = Nanos(20_000_000);
/// The same interval if there may be dozens of workers.
const LATE_LOOKS: Nanos = Nanos(200_000_000);

/// Maximum number of workers, each a thread with its own memory.
const MOST_WORKERS: usize = 128;

/// A message to the foreman.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ForemanMessage {
    /// A worker of this lane stopped accepting.
    Full(usize),
    /// A worker of this lane accepts again.
    Room(usize),
    /// All workers must stop.
    Stop,
}

/// The parameters common to all workers of a target.
pub(crate) struct WorkerSettings<N, S> {
    pub config: Config,
    pub shop: Arc<SharedState>,
    pub tallies: Arc<Tallies>,
    pub stop: Arc<AtomicBool>,
    pub network: Box<dyn Fn() -> io::Result<N> + Send + Sync>,
    pub session: fn() -> S,
}

struct Lane {
    listener: OwnedFd,
    /// Number of workers that accept now.
    accepting: usize,
    /// Number of connections this lane may still assign to further workers; `None` for any number.
    left: Option<usize>,
}

/// The thread that starts workers and their successors.
pub(crate) struct Foreman<N, S> {
    works: Arc<WorkerSettings<N, S>>,
    logs: Option<ArrivalLogs>,
    lanes: Vec<Lane>,
    threads: Vec<JoinHandle<()>>,
    tell: Sender<ForemanMessage>,
    news: Receiver<ForemanMessage>,
}

impl<N: Network + 'static, S: TargetSession + 'static> Foreman<N, S> {
    /// Creates a foreman with one worker on each listener.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn start(
        works: WorkerSettings<N, S>,
        logs: Option<ArrivalLogs>,
        listeners: Vec<OwnedFd>,
    ) -> io::Result<Foreman<N, S>> {
        let (tell, news) = channel();
        let (count, most) = (listeners.len(), works.config.max_connections);
        let lanes = listeners.into_iter().enumerate().map(|(number, listener)| {
            let left = most.map(|most| share(most as usize, number, count));
            Lane { listener, accepting: 0, left }
        });
        let mut foreman =
            Foreman { lanes: lanes.collect(), works: Arc::new(works), logs, threads: Vec::new(), tell, news };
        for lane in 0..count {
            if let Err(e) = foreman.start_worker(lane) {
                foreman.join_all();
                return Err(e);
            }
        }
        Ok(foreman)
    }

    /// Returns a sender of messages to the foreman.
    pub fn sender(&self) -> Sender<ForemanMessage> {
        self.tell.clone()
    }

    /// Keeps at least one accepting worker on each lane until a stop is requested; returns the
    /// number of workers that died.
    pub fn run(mut self) -> usize {
        loop {
            match self.news.recv() {
                Ok(ForemanMessage::Full(lane)) => {
                    self.lanes[lane].accepting -= 1;
                    let few = self.threads.len() < MOST_WORKERS.max(2 * self.lanes.len());
                    if self.lanes[lane].accepting == 0 && self.lanes[lane].left != Some(0) && few {
                        // If it fails, new connections wait in the queue until a worker has room again.
                        let _ = self.start_worker(lane);
                    }
                }
                Ok(ForemanMessage::Room(lane)) => self.lanes[lane].accepting += 1,
                Ok(ForemanMessage::Stop) | Err(_) => return self.join_all(),
            }
        }
    }

    fn join_all(&mut self) -> usize {
        self.works.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).map(JoinHandle::join).filter(Result::is_err).count()
    }

    /// Starts the next worker of a lane.
    fn start_worker(&mut self, lane: usize) -> io::Result<()> {
        let number = self.threads.len();
        // Closed here once the worker has its own; used by the worker if it shares this table.
        let copy = self.lanes[lane].listener.try_clone()?;
        let post = WorkerThread {
            number,
            lane,
            lanes: self.lanes.len(),
            listener: copy.as_raw_fd(),
            left: self.lanes[lane].left,
            log: self.logs.as_ref().map(ArrivalLogs::log),
            tell: self.tell.clone(),
        };
        let (ready, told) = channel();
        let works = Arc::clone(&self.works);
        let thread = std::thread::Builder::new().name(format!("target-{number}"));
        self.threads.push(thread.spawn(move || post.run(&works, &ready))?);
        let Ok(manned) = told.recv() else { return Err(io::Error::other("a worker died while starting")) };
        if !manned.owns_table {
            let _ = copy.into_raw_fd();
        }
        let takes = manned.takes?;
        let lane = &mut self.lanes[lane];
        lane.accepting += 1;
        lane.left = lane.left.map(|left| left.saturating_sub(takes));
        Ok(())
    }
}

/// The result a worker reports once it has started, or failed to.
struct WorkerStart {
    owns_table: bool,
    /// Maximum number of connections it takes, or the error that kept it from starting.
    takes: io::Result<usize>,
}

/// The parameters of one worker's thread.
struct WorkerThread {
    number: usize,
    lane: usize,
    lanes: usize,
    listener: RawFd,
    left: Option<usize>,
    log: Option<ArrivalLog>,
    tell: Sender<ForemanMessage>,
}

impl WorkerThread {
    fn run<N: Network, S: TargetSession>(self, works: &WorkerSettings<N, S>, ready: &Sender<WorkerStart>) {
        let owns_table = tables::own_only(&[self.listener]).is_ok();
        // SAFETY: the descriptor is the foreman's copy of the listener, which this thread owns in a
        // table of its own, and which the foreman gives up in a shared table.
        let listener = unsafe { OwnedFd::from_raw_fd(self.listener) };
        let opened = (works.network)().and_then(|mut net| {
            let adopted = net.adopt(listener).map_err(|e| io::Error::from_raw_os_error(e.0))?;
            Ok((net, adopted))
        });
        let (net, listener) = match opened {
            Ok(opened) => opened,
            Err(e) => return drop(ready.send(WorkerStart { owns_table, takes: Err(e) })),
        };
        let room = match owns_table {
            true => tables::capacity(),
            false => share(tables::capacity(), self.lane, self.lanes),
        };
        let takes = self.left.map_or(room, |left| left.min(room));
        // The receiver is gone if the start was given up.
        let _ = ready.send(WorkerStart { owns_table, takes: Ok(takes) });
        let succeeded = owns_table && self.left != Some(takes);
        let responder = Responder::new(&works.config, &works.shop, self.number as u32);
        let worker =
            TargetWorker::new(net, listener, works.session, responder, &works.tallies, self.number).logging(self.log);
        let most = u32::try_from(takes).unwrap_or(u32::MAX);
        let mut worker = if succeeded { worker.relieved(most) } else { worker.bounded(most) };
        let first = self.number < self.lanes;
        let mut full = false;
        while !works.stop.load(Ordering::Relaxed) {
            worker.turn(if first && !full { STOP_LOOKS } else { LATE_LOOKS });
            if worker.is_full() != full {
                full = !full;
                // The foreman is gone only when all workers are stopping.
                let _ = self.tell.send(if full {
                    ForemanMessage::Full(self.lane)
                } else {
                    ForemanMessage::Room(self.lane)
                });
            }
        }
        worker.finish();
    }
}

/// Returns one of `parts` shares of a limit; shares differ by at most one.
fn share(most: usize, number: usize, parts: usize) -> usize {
    most / parts + usize::from(number < most % parts)
}
