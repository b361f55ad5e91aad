//! A target in threads: a listening socket for each core, all on the same port, with one or more
//! workers each.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use brunt_contract::{Network, PeerAddress};
use brunt_net::tls::TlsNetwork;

use crate::arrivals::ArrivalLogWriter;
use crate::detect::DetectingSession;
use crate::lanes::{Foreman, ForemanMessage, WorkerSettings};
use crate::protocol_session::TargetSession;
use crate::{Config, SharedState, Stats, Tallies};

/// A running target; dropping it stops it.
#[derive(Debug)]
pub struct TargetServer {
    place: PeerAddress,
    tallies: Arc<Tallies>,
    stop: Arc<AtomicBool>,
    foreman_sender: Option<Sender<ForemanMessage>>,
    foreman: Option<JoinHandle<usize>>,
    writer: Option<ArrivalLogWriter>,
    socket_file: Option<PathBuf>,
}

impl TargetServer {
    /// Binds and serves every protocol on epoll, with TLS if configured, until [`TargetServer::stop`].
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, with the option that it concerns.
    pub fn start(config: Config) -> io::Result<TargetServer> {
        match config.tls.clone() {
            None => TargetServer::start_with(config, brunt_net::Epoll::new, DetectingSession::new),
            Some(serving) => {
                let network = move || Ok(TlsNetwork::new(brunt_net::Epoll::new()?, serving.clone()));
                TargetServer::start_with(config, network, DetectingSession::new)
            }
        }
    }

    /// Like [`TargetServer::start`], on another network or with another session type; both are created by the worker
    /// that uses them.
    ///
    /// # Errors
    ///
    /// See [`TargetServer::start`].
    pub fn start_with<N, S>(
        config: Config,
        network: impl Fn() -> io::Result<N> + Send + Sync + 'static,
        session: fn() -> S,
    ) -> io::Result<TargetServer>
    where
        N: Network + 'static,
        S: TargetSession + 'static,
    {
        let lanes = lanes(&config);
        let writer = config.log_arrivals.as_deref().map(ArrivalLogWriter::create).transpose()?;
        let socket_file = prepare(&config, lanes)?;
        let (place, listeners) = listen(&config, lanes)?;
        let tallies = Tallies::new(lanes);
        let works = WorkerSettings {
            shop: SharedState::new(&config),
            config,
            tallies: Arc::clone(&tallies),
            stop: Arc::default(),
            network: Box::new(network),
            session,
        };
        let stop = Arc::clone(&works.stop);
        let logs = writer.as_ref().map(ArrivalLogWriter::logs);
        let (ready, told) = channel();
        let foreman = std::thread::Builder::new().name("target".into()).spawn(move || {
            let foreman = match Foreman::start(works, logs, listeners) {
                Ok(foreman) => foreman,
                Err(e) => {
                    let _ = ready.send(Err(e));
                    return 0;
                }
            };
            // The receiver is gone if the start was given up.
            let _ = ready.send(Ok(foreman.sender()));
            foreman.run()
        })?;
        let told = told.recv().unwrap_or_else(|_| Err(io::Error::other("the first thread died while starting")));
        let mut target =
            TargetServer { place, tallies, stop, foreman_sender: None, foreman: Some(foreman), writer, socket_file };
        target.foreman_sender = Some(told?);
        Ok(target)
    }

    /// Returns the address it listens on, with the actual port.
    pub fn place(&self) -> &PeerAddress {
        &self.place
    }

    /// Returns the socket address it listens on, with the actual port; `0.0.0.0:0` on a Unix socket (use
    /// [`TargetServer::place`] for that).
    pub fn addr(&self) -> SocketAddr {
        match &self.place {
            PeerAddress::Tcp(addr) | PeerAddress::Udp(addr) => *addr,
            PeerAddress::Unix(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
        }
    }

    /// Returns the counts so far.
    pub fn stats(&self) -> Stats {
        self.tallies.read()
    }

    /// Stops all workers, finishes the log, and returns the counts.
    ///
    /// # Errors
    ///
    /// Returns an error if the log could not be written.
    pub fn stop(mut self) -> io::Result<Stats> {
        self.end()?;
        Ok(self.stats())
    }

    fn end(&mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(ear) = self.foreman_sender.take() {
            // The foreman is gone only if it died.
            let _ = ear.send(ForemanMessage::Stop);
        }
        let died = self.foreman.take().map_or(0, |foreman| foreman.join().unwrap_or(1));
        if let Some(file) = self.socket_file.take() {
            let _ = std::fs::remove_file(file);
        }
        self.writer.take().map_or(Ok(()), ArrivalLogWriter::finish)?;
        if died > 0 { Err(io::Error::other(format!("{died} workers died"))) } else { Ok(()) }
    }
}

impl Drop for TargetServer {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Serves until `stop` is set (by a signal, for example); `announce` is called once the target listens.
///
/// # Errors
///
/// See [`TargetServer::start`] and [`TargetServer::stop`].
pub fn run_until(config: Config, stop: &AtomicBool, announce: impl FnOnce(&TargetServer)) -> io::Result<Stats> {
    raise_descriptor_limit();
    let target = TargetServer::start(config)?;
    announce(&target);
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
    target.stop()
}

/// Raises the descriptor limit as far as allowed: a server with many connections needs it.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If refused, the old limit applies, and connections beyond it are not accepted.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Returns the number of listening sockets.
fn lanes(config: &Config) -> usize {
    match (&config.listen, config.workers) {
        // A path can be bound only once.
        (PeerAddress::Unix(_) | PeerAddress::Udp(_), _) => 1,
        (PeerAddress::Tcp(_), 0) => std::thread::available_parallelism().map_or(1, usize::from),
        (PeerAddress::Tcp(_), n) => n as usize,
    }
}

/// Checks that the address is free; returns the path to remove at the end, if there is one.
fn prepare(config: &Config, lanes: usize) -> io::Result<Option<PathBuf>> {
    match &config.listen {
        // Sockets that share a port would also share it with another process, which a bind without
        // sharing detects.
        PeerAddress::Tcp(addr) if lanes > 1 && addr.port() != 0 => {
            std::net::TcpListener::bind(addr).map(drop).map_err(|e| cannot_listen(&config.listen, &e))?;
            Ok(None)
        }
        PeerAddress::Tcp(_) | PeerAddress::Udp(_) => Ok(None),
        PeerAddress::Unix(path) => {
            // A socket without a listener is left over from a server that was killed.
            let refused = |e: io::Error| e.kind() == io::ErrorKind::ConnectionRefused;
            if std::os::unix::net::UnixStream::connect(&**path).is_err_and(refused) {
                std::fs::remove_file(&**path).map_err(|e| cannot_listen(&config.listen, &e))?;
            }
            Ok(Some(path.to_path_buf()))
        }
    }
}

fn cannot_listen(place: &PeerAddress, why: &io::Error) -> io::Error {
    let name = match place {
        PeerAddress::Tcp(addr) | PeerAddress::Udp(addr) => addr.to_string(),
        PeerAddress::Unix(path) => path.display().to_string(),
    };
    io::Error::new(why.kind(), format!("cannot listen on {name}: {why}"))
}

/// Opens all listening sockets at one address; returns that address with the actual port.
fn listen(config: &Config, lanes: usize) -> io::Result<(PeerAddress, Vec<OwnedFd>)> {
    let (mut place, mut listeners) = (config.listen.clone(), Vec::new());
    for _ in 0..lanes {
        let listener = brunt_net::listener(&place, config.backlog, lanes > 1)
            .map_err(|errno| cannot_listen(&place, &io::Error::from_raw_os_error(errno.0)))?;
        if let (PeerAddress::Tcp(place), Some(bound)) = (&mut place, brunt_net::address(&listener)) {
            *place = bound;
        }
        listeners.push(listener);
    }
    Ok((place, listeners))
}
