//! Lanes: a listening socket, and the workers who take its connections one after the other.
//!
//! The descriptor limit bounds a table, and each worker leaves the process's table for one of its own ([`net::tables`]). A
//! worker whose table is nearly full stops accepting and tells the foreman, who starts the next one on the same listening
//! socket; what waits in its queue waits for that one. Listening sockets and workers are made by the foreman, whose table
//! stays small, because a new thread begins with a copy of the table it is started from. A worker that has room again
//! accepts again, beside its successor. Where the system refuses tables of one's own, workers share the limit and nobody
//! succeeds.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use measure::Nanos;
use net::tables;
use wire::Network;

use crate::arrivals::{Log, Logs};
use crate::conversation::Conversation;
use crate::{Config, Responder, Shop, Tallies, Worker};

/// A worker looks so often whether it is to stop …
const STOP_LOOKS: Nanos = Nanos(20_000_000);
/// … and so often where there may be dozens of them.
const LATE_LOOKS: Nanos = Nanos(200_000_000);

/// So many workers at most, each a thread with memory of its own.
const MOST_WORKERS: usize = 128;

/// What the foreman hears.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// A worker of this lane accepts no more.
    Full(usize),
    /// A worker of this lane accepts again.
    Room(usize),
    /// Everybody goes home.
    Stop,
}

/// What all workers of a target are given.
pub(crate) struct Works<N, S> {
    pub config: Config,
    pub shop: Arc<Shop>,
    pub tallies: Arc<Tallies>,
    pub stop: Arc<AtomicBool>,
    pub network: Box<dyn Fn() -> io::Result<N> + Send + Sync>,
    pub session: fn() -> S,
}

struct Lane {
    listener: OwnedFd,
    /// Workers that accept now.
    accepting: usize,
    /// Connections this lane may still give to further workers; None: any number.
    left: Option<usize>,
}

/// Starts workers and their successors.
pub(crate) struct Foreman<N, S> {
    works: Arc<Works<N, S>>,
    logs: Option<Logs>,
    lanes: Vec<Lane>,
    threads: Vec<JoinHandle<()>>,
    tell: Sender<News>,
    news: Receiver<News>,
}

impl<N: Network + 'static, S: Conversation + 'static> Foreman<N, S> {
    /// A foreman with one worker on each listener.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn start(works: Works<N, S>, logs: Option<Logs>, listeners: Vec<OwnedFd>) -> io::Result<Foreman<N, S>> {
        let (tell, news) = channel();
        let (count, most) = (listeners.len(), works.config.max_connections);
        let lanes = listeners.into_iter().enumerate().map(|(number, listener)| {
            let left = most.map(|most| share(most as usize, number, count));
            Lane { listener, accepting: 0, left }
        });
        let mut foreman =
            Foreman { lanes: lanes.collect(), works: Arc::new(works), logs, threads: Vec::new(), tell, news };
        for lane in 0..count {
            if let Err(e) = foreman.man(lane) {
                foreman.dismiss();
                return Err(e);
            }
        }
        Ok(foreman)
    }

    /// How to tell it something.
    pub fn ear(&self) -> Sender<News> {
        self.tell.clone()
    }

    /// Sees to it that each lane has somebody who accepts, until it is told to stop; then how many workers died.
    pub fn work(mut self) -> usize {
        loop {
            match self.news.recv() {
                Ok(News::Full(lane)) => {
                    self.lanes[lane].accepting -= 1;
                    let few = self.threads.len() < MOST_WORKERS.max(2 * self.lanes.len());
                    if self.lanes[lane].accepting == 0 && self.lanes[lane].left != Some(0) && few {
                        // Where it fails, who comes waits in the queue until a worker has room again.
                        let _ = self.man(lane);
                    }
                }
                Ok(News::Room(lane)) => self.lanes[lane].accepting += 1,
                Ok(News::Stop) | Err(_) => return self.dismiss(),
            }
        }
    }

    fn dismiss(&mut self) -> usize {
        self.works.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).map(JoinHandle::join).filter(Result::is_err).count()
    }

    /// Starts the next worker of a lane.
    fn man(&mut self, lane: usize) -> io::Result<()> {
        let number = self.threads.len();
        // Closed here once the worker has its own; used by it where it shares our table.
        let copy = self.lanes[lane].listener.try_clone()?;
        let post = Post {
            number,
            lane,
            lanes: self.lanes.len(),
            listener: copy.as_raw_fd(),
            left: self.lanes[lane].left,
            log: self.logs.as_ref().map(Logs::log),
            tell: self.tell.clone(),
        };
        let (ready, told) = channel();
        let works = Arc::clone(&self.works);
        let thread = std::thread::Builder::new().name(format!("target-{number}"));
        self.threads.push(thread.spawn(move || post.man(&works, &ready))?);
        let Ok(manned) = told.recv() else { return Err(io::Error::other("a worker died at its start")) };
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

/// What a worker says once it is ready, or is not.
struct Manned {
    owns_table: bool,
    /// The connections it takes at most, or why it takes none.
    takes: io::Result<usize>,
}

/// What a worker's thread is given.
struct Post {
    number: usize,
    lane: usize,
    lanes: usize,
    listener: RawFd,
    left: Option<usize>,
    log: Option<Log>,
    tell: Sender<News>,
}

impl Post {
    fn man<N: Network, S: Conversation>(self, works: &Works<N, S>, ready: &Sender<Manned>) {
        let owns_table = tables::own_only(&[self.listener]).is_ok();
        // SAFETY: the foreman's copy of the listener, which is ours in our own table, and given up by him in a shared one.
        let listener = unsafe { OwnedFd::from_raw_fd(self.listener) };
        let opened = (works.network)().and_then(|mut net| {
            let adopted = net.adopt(listener).map_err(|e| io::Error::from_raw_os_error(e.0))?;
            Ok((net, adopted))
        });
        let (net, listener) = match opened {
            Ok(opened) => opened,
            Err(e) => return drop(ready.send(Manned { owns_table, takes: Err(e) })),
        };
        let room = match owns_table {
            true => tables::capacity(),
            false => share(tables::capacity(), self.lane, self.lanes),
        };
        let takes = self.left.map_or(room, |left| left.min(room));
        // Nobody waits for the answer where the start was given up.
        let _ = ready.send(Manned { owns_table, takes: Ok(takes) });
        let succeeded = owns_table && self.left != Some(takes);
        let responder = Responder::new(&works.config, &works.shop, self.number as u32);
        let worker =
            Worker::new(net, listener, works.session, responder, &works.tallies, self.number).logging(self.log);
        let most = u32::try_from(takes).unwrap_or(u32::MAX);
        let mut worker = if succeeded { worker.relieved(most) } else { worker.bounded(most) };
        let first = self.number < self.lanes;
        let mut full = false;
        while !works.stop.load(Ordering::Relaxed) {
            worker.turn(if first && !full { STOP_LOOKS } else { LATE_LOOKS });
            if worker.is_full() != full {
                full = !full;
                // The foreman is gone only where everybody goes home.
                let _ = self.tell.send(if full { News::Full(self.lane) } else { News::Room(self.lane) });
            }
        }
        worker.finish();
    }
}

/// One of so many parts of a bound; parts differ by at most one.
fn share(most: usize, number: usize, parts: usize) -> usize {
    most / parts + usize::from(number < most % parts)
}
