//! A target in threads: one worker each, one network each, one listening socket each on the same port.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use measure::Nanos;
use protocols::http1::Http1Server;
use wire::{ListenerId, Network, Place, ServerSession};

use crate::arrivals::{Log, Writer};
use crate::{Brain, Config, Shop, Stats, Tallies, Worker};

/// A worker looks so often whether it is to stop.
const STOP_LOOKS: Nanos = Nanos(20_000_000);

/// A running target; dropping it stops it.
#[derive(Debug)]
pub struct Target {
    place: Place,
    tallies: Arc<Tallies>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    writer: Option<Writer>,
    socket_file: Option<PathBuf>,
}

impl Target {
    /// Binds and serves HTTP/1.1 on epoll, until [`Target::stop`].
    ///
    /// # Errors
    /// What the operating system refused, with the option it concerns.
    pub fn start(config: Config) -> io::Result<Target> {
        Target::start_with(config, net::Epoll::new, Http1Server::new)
    }

    /// As [`Target::start`], on another network or in another protocol; both are made by the worker that uses them.
    ///
    /// # Errors
    /// As [`Target::start`].
    pub fn start_with<N, S>(config: Config, network: fn() -> io::Result<N>, session: fn() -> S) -> io::Result<Target>
    where
        N: Network + 'static,
        S: ServerSession + 'static,
    {
        let workers = workers(&config);
        let writer = config.log_arrivals.as_deref().map(Writer::create).transpose()?;
        let socket_file = prepare(&config, workers)?;
        let mut target = Target {
            place: config.listen.clone(),
            tallies: Tallies::new(workers),
            stop: Arc::default(),
            threads: Vec::new(),
            writer,
            socket_file,
        };
        let shop = Shop::new(&config);
        for number in 0..workers {
            let post = Post {
                config: Config { listen: target.place.clone(), ..config.clone() },
                shop: Arc::clone(&shop),
                tallies: Arc::clone(&target.tallies),
                stop: Arc::clone(&target.stop),
                log: target.writer.as_ref().map(Writer::log),
                number,
                workers,
            };
            let (ready, told) = channel();
            let thread = std::thread::Builder::new().name(format!("target-{number}"));
            target.threads.push(thread.spawn(move || post.man(network, session, &ready))?);
            let bound = told.recv().unwrap_or_else(|_| Err(io::Error::other("a worker died at its start")))?;
            if let (Place::Tcp(place), Some(bound)) = (&mut target.place, bound) {
                *place = bound;
            }
        }
        Ok(target)
    }

    /// Where it listens, with the port it got.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The address it listens on, with the port it got; `0.0.0.0:0` on a Unix socket ([`Target::place`] knows that).
    pub fn addr(&self) -> SocketAddr {
        match &self.place {
            Place::Tcp(addr) => *addr,
            Place::Unix(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        }
    }

    /// What was counted so far.
    pub fn stats(&self) -> Stats {
        self.tallies.read()
    }

    /// Stops all workers, writes the log to its end, and tells what was counted.
    ///
    /// # Errors
    /// Where the log could not be written.
    pub fn stop(mut self) -> io::Result<Stats> {
        self.end()?;
        Ok(self.stats())
    }

    fn end(&mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let died = self.threads.drain(..).map(JoinHandle::join).filter(Result::is_err).count();
        if let Some(file) = self.socket_file.take() {
            let _ = std::fs::remove_file(file);
        }
        self.writer.take().map_or(Ok(()), Writer::finish)?;
        if died > 0 { Err(io::Error::other(format!("{died} workers died"))) } else { Ok(()) }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Serves until `stop` is set (by a signal, say); `announce` is called once the target listens.
///
/// # Errors
/// As [`Target::start`] and [`Target::stop`].
pub fn run_until(config: Config, stop: &AtomicBool, announce: impl FnOnce(&Target)) -> io::Result<Stats> {
    raise_descriptor_limit();
    let target = Target::start(config)?;
    announce(&target);
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
    target.stop()
}

/// A server of many connections needs as many descriptors as it may have.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the old limit holds, and its end shows as connections not accepted.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The bound asked for, and no more than there are descriptors: accepting without one would spin.
fn most_connections(config: &Config) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let descriptors = limit.map_or(usize::MAX, |limit| (limit as usize).saturating_sub(64).max(1));
    config.max_connections.map_or(descriptors, |most| descriptors.min(most as usize))
}

/// One worker's part of a bound; parts differ by at most one.
fn share(most: usize, number: usize, workers: usize) -> u32 {
    u32::try_from(most / workers + usize::from(number < most % workers)).unwrap_or(u32::MAX)
}

fn workers(config: &Config) -> usize {
    match (&config.listen, config.workers) {
        // A path can be bound once.
        (Place::Unix(_), _) => 1,
        (Place::Tcp(_), 0) => std::thread::available_parallelism().map_or(1, usize::from),
        (Place::Tcp(_), n) => n as usize,
    }
}

/// Makes sure that the place is free; the path to remove at the end, if there is one.
fn prepare(config: &Config, workers: usize) -> io::Result<Option<PathBuf>> {
    match &config.listen {
        // Sockets that share a port would share it with a stranger's too: a bind that does not share finds that out.
        Place::Tcp(addr) if workers > 1 && addr.port() != 0 => {
            std::net::TcpListener::bind(addr).map(drop).map_err(|e| cannot_listen(&config.listen, &e))?;
            Ok(None)
        }
        Place::Tcp(_) => Ok(None),
        Place::Unix(path) => {
            // A socket that nobody listens on is left over from a server that was killed.
            let refused = |e: io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
            if std::os::unix::net::UnixStream::connect(&**path).is_err_and(refused) {
                std::fs::remove_file(&**path).map_err(|e| cannot_listen(&config.listen, &e))?;
            }
            Ok(Some(path.to_path_buf()))
        }
    }
}

fn cannot_listen(place: &Place, why: &io::Error) -> io::Error {
    let name = match place {
        Place::Tcp(addr) => addr.to_string(),
        Place::Unix(path) => path.display().to_string(),
    };
    io::Error::new(why.kind(), format!("{name} cannot be listened on: {why}"))
}

/// What a worker's thread is given.
struct Post {
    config: Config,
    shop: Arc<Shop>,
    tallies: Arc<Tallies>,
    stop: Arc<AtomicBool>,
    log: Option<Log>,
    number: usize,
    workers: usize,
}

/// The address bound, or why there is none.
type Bound = io::Result<Option<SocketAddr>>;

impl Post {
    fn man<N: Network, S: ServerSession>(
        self,
        network: fn() -> io::Result<N>,
        session: fn() -> S,
        ready: &Sender<Bound>,
    ) {
        let (net, listener) = match self.open(network) {
            Ok(opened) => opened,
            Err(e) => return drop(ready.send(Err(e))),
        };
        // Nobody waits for the answer where the start was given up.
        let _ = ready.send(Ok(net.listening_at(listener)));
        let brain = Brain::new(&self.config, &self.shop, self.number as u32);
        let mut worker = Worker::new(net, listener, session, brain, &self.tallies, self.number)
            .logging(self.log)
            .bounded(share(most_connections(&self.config), self.number, self.workers));
        while !self.stop.load(Ordering::Relaxed) {
            worker.turn(STOP_LOOKS);
        }
        worker.finish();
    }

    fn open<N: Network>(&self, network: fn() -> io::Result<N>) -> io::Result<(N, ListenerId)> {
        let mut net = network()?;
        let listener = net
            .listen(&self.config.listen, self.config.backlog, self.workers > 1)
            .map_err(|errno| cannot_listen(&self.config.listen, &io::Error::from_raw_os_error(errno.0)))?;
        Ok((net, listener))
    }
}
