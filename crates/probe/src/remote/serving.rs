//! The probe: who connects is told the counters of this host, while they are connected.
//!
//! A thread waits for clients and sees that they say hello in time; each client has a thread that reads this host for it.

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

/// So many clients are told counters at once, and so many connections stand, those included that have not said hello.
const CLIENTS: usize = 8;
const CONNECTIONS: usize = 2 * CLIENTS;
/// How often counters are told.
const EVERY: Nanos = Nanos::from_secs(1);
/// So often a client may ask within that time.
const QUESTIONS: u32 = 100;
/// A client asks for the time once a second; one that has asked nothing for so long is gone.
const SILENCE: Nanos = Nanos::from_secs(30);

/// Which service is told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// Whoever listens at the address that a client loads, where that is one of this host.
    #[default]
    Target,
    /// Whoever listens at this port.
    Port(u16),
    /// This process and what it started.
    Process(u32),
}

impl Follow {
    /// The service; None where there is none to follow, or not yet.
    ///
    /// # Errors
    /// The service that was named is not there.
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

/// What a probe grants, and to whom.
pub struct Granting {
    /// Who does not have it is refused; None: anybody may connect.
    pub token: Option<String>,
    /// Which service is told of.
    pub follow: Follow,
    /// What a client is told of this host; what hangs on the client is filled in.
    pub facts: Facts,
    /// How connections are sealed.
    pub seal: Seal,
}

/// A probe that serves. Dropping it ends it.
pub struct Serving {
    address: SocketAddr,
    end: Option<io::PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Serves those who connect to this listener.
    ///
    /// # Errors
    /// No thread could be started, or the listener is none.
    pub fn start(listener: TcpListener, granting: Granting) -> io::Result<Serving> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (ended, end) = io::pipe()?;
        let door = Door { listener, granting: Arc::new(granting), told: Arc::default(), clients: Vec::new() };
        let thread = thread::Builder::new().name("probe".into()).spawn(move || door.keep(&ended))?;
        Ok(Serving { address, end: Some(end), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end = None;
        // A thread that panicked has said so already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Where clients come in.
struct Door {
    listener: TcpListener,
    granting: Arc<Granting>,
    /// How many are told counters.
    told: Arc<AtomicUsize>,
    clients: Vec<Client>,
}

/// Somebody who is connected.
struct Client {
    socket: TcpStream,
    since: Nanos,
    greeted: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Door {
    /// Until the other end of the pipe is closed.
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
                // No descriptor is left, say; it may be there again in a moment.
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
        for client in &self.clients {
            let _ = client.socket.shutdown(std::net::Shutdown::Both);
        }
        self.clients.into_iter().for_each(|client| drop(client.thread.join()));
    }

    /// How long until somebody should have said hello.
    fn next_deadline(&self) -> Option<Timespec> {
        let waiting = self.clients.iter().filter(|client| !client.greeted.load(Ordering::Relaxed));
        let since = waiting.map(|client| client.since).min()?;
        let rest = PATIENCE.saturating_sub(Duration::from_nanos(Clock.now().0.saturating_sub(since.0)));
        Timespec::try_from(rest + Duration::from_millis(1)).ok()
    }

    /// Those who have gone are forgotten, and those who do not say hello have to go.
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

/// What a client's thread needs.
struct Attending {
    granting: Arc<Granting>,
    told: Arc<AtomicUsize>,
    greeted: Arc<AtomicBool>,
}

impl Attending {
    /// Until the client goes, or has to.
    fn to(&self, socket: TcpStream) {
        if let Ok(mut line) = Line::over(socket, &self.granting.seal) {
            let outcome = self.greet(&mut line).and_then(|ask| self.serve(&mut line, &ask));
            if let Err(Parting::Refused(why)) = outcome {
                let _ = say(&mut line, &Told::Refused(why));
            }
            let _ = line.socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Says hello and hears who it is.
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

    /// Tells the counters.
    fn serve(&self, line: &mut Line, ask: &Ask) -> Result<(), Parting> {
        let _place = Taken::of(&self.told).ok_or_else(|| refused("it already serves eight clients"))?;
        self.greeted.store(true, Ordering::Relaxed);
        let mut host = Host::new(Source::here());
        let here = place(host.source());
        let shares_kernel = !here.boot.is_empty() && here.boot == ask.place.boot;
        // An address that means this host to whoever says it means another one to everybody else.
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
                // Those that a busy machine missed are left out.
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

/// A place among those who are told counters.
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

/// Why a client is served no longer.
enum Parting {
    /// It went, or says nothing.
    Gone,
    /// It is told why.
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

/// The kernel and the network this process is in; empty where that cannot be read, and then nobody is in the same.
pub(super) fn place(source: &Source) -> Place {
    let boot = source.text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    let network = source.link("/proc/self/ns/net").map(|link| link.display().to_string()).unwrap_or_default();
    Place { boot, network }
}
