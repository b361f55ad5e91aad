//! The server side of a probe: sends the counters of this host to connected clients.
//!
//! A thread accepts clients and enforces that they send their hello in time; each client has a thread that reads this
//! host for it.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use measure::{Clock, Nanos};
use record::Changes;
use record::frames::Pieces;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::speech::{ASKED, Ask, Asked, Challenge, Facts, Place, TOLD, Told, is_proved};
use super::{Line, PATIENCE, Seal, gave_up};
use crate::{Host, Service, Source};

/// Maximum number of clients served at once, and of open connections, including those that have not sent a hello.
const CLIENTS: usize = 8;
const CONNECTIONS: usize = 2 * CLIENTS;
/// Interval of samples.
const EVERY: Nanos = Nanos::from_secs(1);
/// Maximum number of requests of a client per interval.
const QUESTIONS: u32 = 100;
/// Timeout of a client's requests. A client requests the time once a second.
const SILENCE: Nanos = Nanos::from_secs(30);

/// Selection of the service that is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// The listener at the address that a client loads, if that is on this host.
    #[default]
    Target,
    /// The listener at this port.
    Port(u16),
    /// A process and its descendants.
    Process(u32),
}

impl Follow {
    /// Returns the service; `None` if there is none to watch, or none yet.
    ///
    /// # Errors
    /// Returns why the selected service was not found.
    pub fn service(self, host: &Host, target: Option<SocketAddr>) -> Result<Option<Service>, String> {
        match self {
            Follow::Target => Ok(target.and_then(|target| Service::of(host, target))),
            Follow::Port(port) => Service::at_port(host, port).map(Some).map_err(|why| format!("port {port}: {why}")),
            Follow::Process(pid) => {
                Service::of_process(host, pid, target).map(Some).map_err(|why| format!("process {pid}: {why}"))
            }
        }
    }
}

/// Configuration of a probe.
pub struct Granting {
    /// Token required of clients; `None` if any client may connect.
    pub token: Option<String>,
    /// Service that is watched.
    pub follow: Follow,
    /// Description of this host sent to clients; the fields that depend on the client are filled in.
    pub facts: Facts,
    /// TLS for connections.
    pub seal: Seal,
}

/// A running probe server. Dropping it ends it.
pub struct Serving {
    address: SocketAddr,
    end: Option<io::PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Serves the clients that connect to this listener.
    ///
    /// # Errors
    /// Returns an error if no thread could be started, or the socket is not listening.
    pub fn start(listener: TcpListener, granting: Granting) -> io::Result<Serving> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (ended, end) = io::pipe()?;
        let door = Door { listener, granting: Arc::new(granting), told: Arc::default(), clients: Vec::new() };
        let thread = thread::Builder::new().name("probe".into()).spawn(move || door.keep(&ended))?;
        Ok(Serving { address, end: Some(end), thread: Some(thread) })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end = None;
        // A thread that panicked has already reported it.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The accept loop of a probe.
struct Door {
    listener: TcpListener,
    granting: Arc<Granting>,
    /// Number of clients that receive counters.
    told: Arc<AtomicUsize>,
    clients: Vec<Client>,
}

/// A connected client.
struct Client {
    socket: TcpStream,
    since: Nanos,
    greeted: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Door {
    /// Runs until the other end of the pipe is closed.
    fn keep(mut self, ended: &io::PipeReader) {
        loop {
            let mut look =
                [PollFd::new(&self.listener, PollFlags::IN), PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN)];
            let _ = poll(&mut look, self.next_deadline().as_ref());
            if !look[1].revents().is_empty() {
                break;
            }
            self.send_off();
            match self.listener.accept() {
                Ok((socket, _)) => self.admit(socket),
                Err(error) if gave_up(&error) => {}
                // For example, no descriptor is left; one may be free again in a moment.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
        for client in &self.clients {
            let _ = client.socket.shutdown(std::net::Shutdown::Both);
        }
        self.clients.into_iter().for_each(|client| drop(client.thread.join()));
    }

    /// Returns the time until the next hello is overdue.
    fn next_deadline(&self) -> Option<Timespec> {
        let waiting = self.clients.iter().filter(|client| !client.greeted.load(Ordering::Relaxed));
        let since = waiting.map(|client| client.since).min()?;
        let rest = PATIENCE.saturating_sub(Duration::from_nanos(Clock.now().0.saturating_sub(since.0)));
        Timespec::try_from(rest + Duration::from_millis(1)).ok()
    }

    /// Removes clients that have disconnected, and closes connections whose hello is overdue.
    fn send_off(&mut self) {
        let now = Clock.now();
        self.clients.retain(|client| !client.thread.is_finished());
        for client in &self.clients {
            let waited = Duration::from_nanos(now.0.saturating_sub(client.since.0));
            if !client.greeted.load(Ordering::Relaxed) && waited >= PATIENCE {
                let _ = client.socket.shutdown(std::net::Shutdown::Both);
            }
        }
    }

    fn admit(&mut self, socket: TcpStream) {
        if self.clients.len() >= CONNECTIONS || socket.set_nonblocking(false).is_err() {
            return;
        }
        let (Ok(theirs), greeted) = (socket.try_clone(), Arc::new(AtomicBool::default())) else { return };
        let attending = Attending {
            granting: Arc::clone(&self.granting),
            told: Arc::clone(&self.told),
            greeted: Arc::clone(&greeted),
        };
        let started = thread::Builder::new().name("client".into()).spawn(move || attending.to(theirs));
        if let Ok(thread) = started {
            self.clients.push(Client { socket, since: Clock.now(), greeted, thread });
        }
    }
}

/// The state of a client's thread.
struct Attending {
    granting: Arc<Granting>,
    told: Arc<AtomicUsize>,
    greeted: Arc<AtomicBool>,
}

impl Attending {
    /// Serves the client until it disconnects, or has to.
    fn to(&self, socket: TcpStream) {
        if let Ok(mut line) = Line::over(socket, &self.granting.seal) {
            let outcome = self.greet(&mut line).and_then(|ask| self.serve(&mut line, &ask));
            if let Err(Parting::Refused(why)) = outcome {
                let _ = say(&mut line, &Told::Refused(why));
            }
            let _ = line.socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Exchanges hellos and authenticates the client.
    fn greet(&self, line: &mut Line) -> Result<Ask, Parting> {
        let mut challenge: Challenge = [0; 32];
        aws_lc_rs::rand::fill(&mut challenge).map_err(|_| Parting::Gone)?;
        TOLD.write_hello(line.to())?;
        say(line, &Told::Challenge(challenge))?;
        ASKED.read_hello(&mut line.clear).map_err(|error| match error.kind() {
            io::ErrorKind::Other => Parting::Refused(error.to_string()),
            _ => Parting::Gone,
        })?;
        let frame = ASKED.whole(&mut line.clear)?.ok_or(Parting::Gone)?;
        let Some(Asked::Ask(ask)) = Asked::parse(&frame) else {
            return Err(refused("the first message was not a request for counters"));
        };
        match &self.granting.token {
            Some(_) if ask.proof.is_empty() => Err(refused("it requires a token")),
            Some(token) if !is_proved(token, &challenge, &ask.proof) => Err(refused("the token is wrong")),
            _ => Ok(ask),
        }
    }

    /// Sends the counters.
    fn serve(&self, line: &mut Line, ask: &Ask) -> Result<(), Parting> {
        let _place = Taken::of(&self.told).ok_or_else(|| refused("it already serves eight clients"))?;
        self.greeted.store(true, Ordering::Relaxed);
        let mut host = Host::new(Source::here());
        let here = place(host.source());
        let shares_kernel = !here.boot.is_empty() && here.boot == ask.place.boot;
        // A loopback address of the client refers to this host only if both share the network namespace.
        let is_ours =
            |target: &SocketAddr| !target.ip().to_canonical().is_loopback() || (shares_kernel && here == ask.place);
        let target = ask.target.filter(is_ours);
        let holds_target = target.is_some_and(|target| Service::of(&host, target).is_some());
        let service = self.granting.follow.service(&host, target.filter(|_| holds_target)).map_err(Parting::Refused)?;
        service.into_iter().for_each(|service| host.watch(service));
        say(line, &Told::Welcome(Facts { holds_target, shares_kernel, ..self.granting.facts.clone() }))?;
        let mut changes = Changes::new(self.granting.facts.host.clone());
        let mut sample = || host.read().tell(&mut changes, Nanos::ZERO);
        let (mut pieces, mut heard, mut questions) = (Pieces::default(), Clock.now(), 0);
        let mut due = Some(heard);
        loop {
            let now = Clock.now();
            if let Some(at) = due.filter(|at| now >= *at) {
                say(line, &Told::Sample(sample()))?;
                // Samples that a busy machine missed are skipped.
                due = Some(Nanos(at.0 + EVERY.0 * ((now.0 - at.0) / EVERY.0 + 1)));
                questions = 0;
            }
            let rest = due.map_or(SILENCE, |at| Nanos(at.0.saturating_sub(Clock.now().0)));
            line.wait_at_most(Duration::from_nanos(rest.0))?;
            let frame = match pieces.whole(&ASKED, &mut line.clear) {
                Ok(frame) => frame.ok_or(Parting::Gone)?,
                Err(error) if gave_up(&error) && Clock.now().0.saturating_sub(heard.0) < SILENCE.0 => continue,
                Err(error) => return Err(error.into()),
            };
            heard = Clock.now();
            questions += 1;
            match Asked::parse(&frame) {
                _ if questions > QUESTIONS => return Err(refused("it gets too many requests")),
                Some(Asked::When(asked)) => say(line, &Told::Stamps([asked, heard, Clock.now()]))?,
                Some(Asked::Last) if due.is_some() => {
                    due = None;
                    say(line, &Told::Last(sample()))?;
                }
                _ => return Err(refused("it got an invalid request")),
            }
        }
    }
}

/// A slot among the clients that receive counters; freed on drop.
struct Taken<'a>(&'a AtomicUsize);

impl Taken<'_> {
    fn of(all: &AtomicUsize) -> Option<Taken<'_>> {
        let taken = all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < CLIENTS).then_some(n + 1));
        taken.ok().map(|_| Taken(all))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The reason why a client is no longer served.
enum Parting {
    /// Disconnected or timed out.
    Gone,
    /// Refused, with the reason to send.
    Refused(String),
}

impl From<io::Error> for Parting {
    fn from(_: io::Error) -> Parting {
        Parting::Gone
    }
}

fn refused(why: &str) -> Parting {
    Parting::Refused(why.to_owned())
}

fn say(line: &mut Line, told: &Told) -> io::Result<()> {
    let (kind, body) = told.body();
    TOLD.put(line.to(), 0, kind, &body)
}

/// Returns the kernel and the network namespace of this process; empty if they cannot be read, and then they match no
/// other.
pub(super) fn place(source: &Source) -> Place {
    let boot = source.text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    let network = source.link("/proc/self/ns/net").map(|link| link.display().to_string()).unwrap_or_default();
    Place { boot, network }
}
