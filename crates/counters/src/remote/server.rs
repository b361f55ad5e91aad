//! The server side of a probe: sends the counters of this host to connected clients.
//!
//! One thread accepts clients and closes connections whose hello is overdue; each client has a thread that reads this
//! host for it.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use brunt_measure::{Clock, Nanos};
use brunt_record::ChangeEncoder;
use brunt_record::frames::FrameBuffer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::messages::{
    CLIENT_FRAMES, Challenge, ClientMessage, CounterRequest, HostDescription, KernelNamespace, PROBE_FRAMES,
    ProbeMessage, verify_proof,
};
use super::{PATIENCE, ProbeConnection, TlsWrapper, timed_out};
use crate::{CounterSource, HostReader, Service};

/// Maximum number of clients served at once.
const CLIENTS: usize = 8;
/// Maximum number of open connections, including those that have not sent a hello.
const CONNECTIONS: usize = 2 * CLIENTS;
/// Minimum time between two remarks, and the time that a remark waits for more of the same.
const REMARKS: Nanos = Nanos::from_secs(10);
const GATHER: Nanos = Nanos::from_secs(1);
/// Interval of samples.
const EVERY: Nanos = Nanos::from_secs(1);
/// Maximum number of requests of a client per interval.
const QUESTIONS: u32 = 100;
/// Timeout for a client that sends no requests; a client requests the time once a second.
const SILENCE: Nanos = Nanos::from_secs(30);

/// Selection of the service that is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceSelector {
    /// The listener at the address that a client loads, if that is on this host.
    #[default]
    Target,
    /// The listener at this port.
    Port(u16),
    /// A process and its descendants.
    Process(u32),
}

impl ServiceSelector {
    /// Returns the service; `None` if there is nothing to watch, or nothing yet.
    ///
    /// # Errors
    /// Returns why the selected service was not found.
    pub fn service(self, host: &HostReader, target: Option<SocketAddr>) -> Result<Option<Service>, String> {
        match self {
            ServiceSelector::Target => Ok(target.and_then(|target| Service::listening_at(host, target))),
            ServiceSelector::Port(port) => {
                Service::at_port(host, port).map(Some).map_err(|why| format!("port {port}: {why}"))
            }
            ServiceSelector::Process(pid) => {
                Service::of_process(host, pid, target).map(Some).map_err(|why| format!("process {pid}: {why}"))
            }
        }
    }
}

/// Configuration of a probe.
pub struct ProbeServerOptions {
    /// Token required of clients; `None` if any client may connect.
    pub token: Option<String>,
    /// Service that is watched.
    pub service: ServiceSelector,
    /// Description of this host sent to clients; the fields that depend on the client are filled in.
    pub host: HostDescription,
    /// TLS for connections.
    pub tls: TlsWrapper,
    /// Called, at most once in a while, with what the operator of the probe should know.
    pub remark: Box<dyn Fn(ProbeRemark) + Send + Sync>,
}

/// A remark about the clients of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeRemark {
    /// This many connections that sent no valid request were closed since the last remark.
    ClosedSilent(u64),
}

/// A running probe server. Dropping it stops it.
pub struct ProbeServer {
    address: SocketAddr,
    end: Option<io::PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl ProbeServer {
    /// Serves the clients that connect to this listener.
    ///
    /// # Errors
    /// Returns an error if no thread could be started, or the socket is not listening.
    pub fn start(listener: TcpListener, granting: ProbeServerOptions) -> io::Result<ProbeServer> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (ended, end) = io::pipe()?;
        let door = AcceptLoop {
            listener,
            granting: Arc::new(granting),
            told: Arc::default(),
            clients: Vec::new(),
            closed: 0,
            remark_at: Nanos::ZERO,
        };
        let thread = thread::Builder::new().name("probe".into()).spawn(move || door.run(&ended))?;
        Ok(ProbeServer { address, end: Some(end), thread: Some(thread) })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ProbeServer {
    fn drop(&mut self) {
        self.end = None;
        // A thread that panicked has already reported it.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The accept loop of a probe.
struct AcceptLoop {
    listener: TcpListener,
    granting: Arc<ProbeServerOptions>,
    /// Number of clients that receive counters.
    told: Arc<AtomicUsize>,
    clients: Vec<ConnectedClient>,
    /// Number of connections closed without a request since the last remark.
    closed: u64,
    /// Time of the next remark, if there is one to make.
    remark_at: Nanos,
}

/// A connected client.
struct ConnectedClient {
    socket: TcpStream,
    since: Nanos,
    greeted: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl AcceptLoop {
    /// Runs until the other end of the pipe is closed.
    fn run(mut self, ended: &io::PipeReader) {
        loop {
            let mut look =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)];
            let _ = poll(&mut look, self.next_deadline().as_ref());
            if !look[1].revents().is_empty() {
                break;
            }
            self.drop_stale();
            match self.listener.accept() {
                Ok((socket, _)) => self.admit(socket),
                Err(error) if timed_out(&error) => {}
                // For example, no descriptor is left; one may become free in a moment.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
        for client in &self.clients {
            let _ = client.socket.shutdown(std::net::Shutdown::Both);
        }
        self.clients.into_iter().for_each(|client| drop(client.thread.join()));
    }

    /// Returns the time until the next hello is overdue or the next remark is due.
    fn next_deadline(&self) -> Option<Timespec> {
        let waiting = self.clients.iter().filter(|client| !client.greeted.load(Ordering::Relaxed));
        let overdue = waiting.map(|client| client.since + Nanos(PATIENCE.as_nanos() as u64));
        let next = overdue.chain((self.closed > 0).then_some(self.remark_at)).min()?;
        let rest = Duration::from_nanos(next.0.saturating_sub(Clock.now().0));
        Timespec::try_from(rest + Duration::from_millis(1)).ok()
    }

    /// Removes clients that have disconnected, and closes connections whose hello is overdue.
    fn drop_stale(&mut self) {
        let now = Clock.now();
        self.clients.retain(|client| !client.thread.is_finished());
        let overdue = |client: &ConnectedClient| {
            !client.greeted.load(Ordering::Relaxed)
                && Duration::from_nanos(now.0.saturating_sub(client.since.0)) >= PATIENCE
        };
        while let Some(at) = self.clients.iter().position(overdue) {
            self.close_silent(at);
        }
        if self.closed > 0 && now >= self.remark_at {
            (self.granting.remark)(ProbeRemark::ClosedSilent(std::mem::take(&mut self.closed)));
            self.remark_at = now + REMARKS;
        }
    }

    /// Closes a connection that has sent no valid request.
    fn close_silent(&mut self, at: usize) {
        let client = self.clients.swap_remove(at);
        let _ = client.socket.shutdown(std::net::Shutdown::Both);
        // Its thread only waits for bytes, and this ends the wait. A panic has been reported already.
        let _ = client.thread.join();
        if self.closed == 0 {
            self.remark_at = self.remark_at.max(Clock.now() + GATHER);
        }
        self.closed += 1;
    }

    /// Makes room for a connection: the one that has been silent for longest gives way, so that no number of silent ones
    /// keeps a client out.
    fn make_room(&mut self) {
        while self.clients.len() >= CONNECTIONS {
            let silent = self.clients.iter().enumerate().filter(|(_, of)| !of.greeted.load(Ordering::Relaxed));
            let Some((at, _)) = silent.min_by_key(|(_, of)| of.since) else { return };
            self.close_silent(at);
        }
    }

    fn admit(&mut self, socket: TcpStream) {
        self.make_room();
        if self.clients.len() >= CONNECTIONS || socket.set_nonblocking(false).is_err() {
            return;
        }
        let (Ok(theirs), greeted) = (socket.try_clone(), Arc::new(AtomicBool::default())) else { return };
        let attending = ClientHandler {
            granting: Arc::clone(&self.granting),
            told: Arc::clone(&self.told),
            greeted: Arc::clone(&greeted),
        };
        let started = thread::Builder::new().name("client".into()).spawn(move || attending.handle(theirs));
        if let Ok(thread) = started {
            self.clients.push(ConnectedClient { socket, since: Clock.now(), greeted, thread });
        }
    }
}

/// The state of a client's thread.
struct ClientHandler {
    granting: Arc<ProbeServerOptions>,
    told: Arc<AtomicUsize>,
    greeted: Arc<AtomicBool>,
}

impl ClientHandler {
    /// Serves the client until it disconnects or is refused.
    fn handle(&self, socket: TcpStream) {
        if let Ok(mut line) = ProbeConnection::new(socket, &self.granting.tls) {
            let outcome = self.handshake(&mut line).and_then(|ask| self.serve(&mut line, &ask));
            if let Err(ServingEnd::Refused(why)) = outcome {
                let _ = send(&mut line, &ProbeMessage::Refused(why));
            }
            let _ = line.socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Exchanges hellos and authenticates the client.
    fn handshake(&self, line: &mut ProbeConnection) -> Result<CounterRequest, ServingEnd> {
        let mut challenge: Challenge = [0; 32];
        aws_lc_rs::rand::fill(&mut challenge).map_err(|_| ServingEnd::Disconnected)?;
        PROBE_FRAMES.write_hello(line.writer())?;
        send(line, &ProbeMessage::Challenge(challenge))?;
        CLIENT_FRAMES.read_hello(&mut line.stream).map_err(|error| match error.kind() {
            io::ErrorKind::Other => ServingEnd::Refused(error.to_string()),
            _ => ServingEnd::Disconnected,
        })?;
        let frame = CLIENT_FRAMES.read_frame(&mut line.stream)?.ok_or(ServingEnd::Disconnected)?;
        let Some(ClientMessage::Ask(ask)) = ClientMessage::parse(&frame) else {
            return Err(refused("the first message was not a request for counters"));
        };
        match &self.granting.token {
            Some(_) if ask.proof.is_empty() => Err(refused("it requires a token")),
            Some(token) if !verify_proof(token, &challenge, &ask.proof) => Err(refused("the token is wrong")),
            _ => Ok(ask),
        }
    }

    /// Sends the counters.
    fn serve(&self, line: &mut ProbeConnection, ask: &CounterRequest) -> Result<(), ServingEnd> {
        let _place = ClientSlot::acquire(&self.told).ok_or_else(|| refused("it already serves eight clients"))?;
        self.greeted.store(true, Ordering::Relaxed);
        let mut host = HostReader::new(CounterSource::here());
        let here = kernel_namespace(host.source());
        let shares_kernel = !here.boot.is_empty() && here.boot == ask.place.boot;
        // A loopback address of the client refers to this host only if both share the network namespace.
        let is_ours =
            |target: &SocketAddr| !target.ip().to_canonical().is_loopback() || (shares_kernel && here == ask.place);
        let target = ask.target.filter(is_ours);
        let holds_target = target.is_some_and(|target| Service::listening_at(&host, target).is_some());
        let service =
            self.granting.service.service(&host, target.filter(|_| holds_target)).map_err(ServingEnd::Refused)?;
        service.into_iter().for_each(|service| host.watch(service));
        send(
            line,
            &ProbeMessage::Welcome(HostDescription { holds_target, shares_kernel, ..self.granting.host.clone() }),
        )?;
        let mut changes = ChangeEncoder::new(self.granting.host.host.clone());
        let mut sample = || host.read().into_event(&mut changes, Nanos::ZERO);
        let (mut pieces, mut heard, mut questions) = (FrameBuffer::default(), Clock.now(), 0);
        let mut due = Some(heard);
        loop {
            let now = Clock.now();
            if let Some(at) = due.filter(|at| now >= *at) {
                send(line, &ProbeMessage::Sample(sample()))?;
                // Samples that a busy machine missed are skipped.
                due = Some(Nanos(at.0 + EVERY.0 * ((now.0 - at.0) / EVERY.0 + 1)));
                questions = 0;
            }
            let rest = due.map_or(SILENCE, |at| Nanos(at.0.saturating_sub(Clock.now().0)));
            line.set_read_timeout(Duration::from_nanos(rest.0))?;
            let frame = match pieces.read_frame(&CLIENT_FRAMES, &mut line.stream) {
                Ok(frame) => frame.ok_or(ServingEnd::Disconnected)?,
                Err(error) if timed_out(&error) && Clock.now().0.saturating_sub(heard.0) < SILENCE.0 => continue,
                Err(error) => return Err(error.into()),
            };
            heard = Clock.now();
            questions += 1;
            match ClientMessage::parse(&frame) {
                _ if questions > QUESTIONS => return Err(refused("it gets too many requests")),
                Some(ClientMessage::Time(asked)) => send(line, &ProbeMessage::Timestamps([asked, heard, Clock.now()]))?,
                Some(ClientMessage::Last) if due.is_some() => {
                    due = None;
                    send(line, &ProbeMessage::LastSample(sample()))?;
                }
                _ => return Err(refused("it got an invalid request")),
            }
        }
    }
}

/// A slot among the clients that receive counters; freed on drop.
struct ClientSlot<'a>(&'a AtomicUsize);

impl ClientSlot<'_> {
    fn acquire(all: &AtomicUsize) -> Option<ClientSlot<'_>> {
        let taken = all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < CLIENTS).then_some(n + 1));
        taken.ok().map(|_| ClientSlot(all))
    }
}

impl Drop for ClientSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The reason why a client is no longer served.
enum ServingEnd {
    /// Disconnected or timed out.
    Disconnected,
    /// Refused, with the reason to send.
    Refused(String),
}

impl From<io::Error> for ServingEnd {
    fn from(_: io::Error) -> ServingEnd {
        ServingEnd::Disconnected
    }
}

fn refused(why: &str) -> ServingEnd {
    ServingEnd::Refused(why.to_owned())
}

fn send(line: &mut ProbeConnection, told: &ProbeMessage) -> io::Result<()> {
    let (kind, body) = told.body();
    PROBE_FRAMES.write_frame(line.writer(), 0, kind, &body)
}

/// Returns the kernel and the network namespace of this process; empty if they cannot be read, in which case they match
/// no others.
pub(super) fn kernel_namespace(source: &CounterSource) -> KernelNamespace {
    let boot = source.text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    let network = source.link("/proc/self/ns/net").map(|link| link.display().to_string()).unwrap_or_default();
    KernelNamespace { boot, network }
}
