//! An agent's way to its coordinator, tried again and again: the name is resolved at each attempt, each of its addresses is
//! tried for a bounded time, and why none is reached is said.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use brunt_cause::Complaint;
use brunt_messenger::{Messenger, ReplaceableMessenger, Undelivered};

use crate::probe::{self, Listener};
use crate::unreached::{Unreached, Way, WorthSaying};
use crate::zenoh_messenger::ZenohMessenger;

/// Time for which an agent waits to be greeted by whoever listens at an address. It keeps its place among those who join, and
/// gives it up with a word: QUIC gives up a connection after 30 s without one.
pub(crate) const PATIENCE: Duration = Duration::from_secs(25);
/// Pause between attempts.
const AGAIN: Duration = Duration::from_millis(500);
/// Longest pause after an attempt that was held up, by chance: those who waited together come again one by one.
const APART: Duration = Duration::from_secs(10);
/// Time without a connection that is worth saying, and after which it is looked again why.
const UNCONNECTED: Duration = Duration::from_secs(10);
/// Interval of looks at a connection.
const LOOK: Duration = Duration::from_millis(100);

/// What an agent proves itself with, as PEM.
#[derive(Clone)]
pub struct AgentIdentity {
    /// Certificate of the fleet's authority.
    pub ca: String,
    /// Certificate of the agent.
    pub cert: String,
    /// Private key of the agent.
    pub key: String,
    /// Name of the agent.
    pub name: String,
}

/// What became of the way to a coordinator.
#[derive(Debug)]
pub enum FleetContact {
    /// The coordinator is there, and knows this agent. Told at first, and after it was told that it is not reached.
    Connected,
    /// The coordinator is not reached. Told once for each reason, and only if it is worth it.
    Unreached(Unreached),
}

/// Finds the addresses of a coordinator (`host:7447`).
pub type Resolve = Box<dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send>;

/// An agent's way to its coordinator, which is tried again and again until it is there.
pub struct JoinedFleet {
    messenger: Arc<ReplaceableMessenger>,
    is_connected: Arc<AtomicBool>,
}

/// The thread that keeps up the connection.
struct Joining {
    messenger: Weak<ReplaceableMessenger>,
    is_connected: Arc<AtomicBool>,
    coordinator: String,
    identity: AgentIdentity,
    resolve: Resolve,
    tell: Box<dyn Fn(FleetContact) + Send>,
}

impl JoinedFleet {
    /// Joins the fleet of a coordinator (`host:7447`), in the background; `tell` is told what becomes of it.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn join(
        coordinator: &str,
        identity: AgentIdentity,
        tell: impl Fn(FleetContact) + Send + 'static,
    ) -> Result<JoinedFleet, Undelivered> {
        let resolve = |coordinator: &str| Ok(coordinator.to_socket_addrs()?.collect());
        JoinedFleet::join_by(Box::new(resolve), coordinator, identity, tell)
    }

    /// Joins a fleet as [`JoinedFleet::join`] does, with another way to find the coordinator's addresses.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn join_by(
        resolve: Resolve,
        coordinator: &str,
        identity: AgentIdentity,
        tell: impl Fn(FleetContact) + Send + 'static,
    ) -> Result<JoinedFleet, Undelivered> {
        let joined = JoinedFleet { messenger: Arc::default(), is_connected: Arc::default() };
        let joining = Joining {
            messenger: Arc::downgrade(&joined.messenger),
            is_connected: Arc::clone(&joined.is_connected),
            coordinator: coordinator.to_owned(),
            identity,
            resolve,
            tell: Box::new(tell),
        };
        let started = std::thread::Builder::new().name("join".into()).spawn(move || joining.keep_up());
        started.map_err(|why| Undelivered(why.to_string()))?;
        Ok(joined)
    }

    /// Returns the messenger, whose questions and frames fail until the coordinator is reached.
    pub fn messenger(&self) -> Arc<dyn Messenger> {
        Arc::clone(&self.messenger) as Arc<dyn Messenger>
    }

    /// Returns `true` while the coordinator is reached.
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }
}

/// An attempt at which no coordinator took this agent for one of its fleet.
enum FailedAttempt {
    NoAddress(io::Error),
    /// The address that tells most, and what it tells.
    At(SocketAddr, Way),
}

impl FailedAttempt {
    fn why(&self, coordinator: &str, identity: &AgentIdentity) -> Unreached {
        match self {
            FailedAttempt::NoAddress(error) => Unreached::no_address(coordinator, error),
            FailedAttempt::At(address, way) => Unreached::at(coordinator, *address, identity, *way),
        }
    }

    fn pause(&self) -> Duration {
        let by_chance = RandomState::new().hash_one(AGAIN) as u32;
        match self {
            FailedAttempt::At(_, Way::HeldUp) => AGAIN + APART.mul_f64(f64::from(by_chance) / f64::from(u32::MAX)),
            _ => AGAIN,
        }
    }
}

impl Joining {
    fn keep_up(self) {
        let (mut since, mut was_connected) = (Instant::now(), false);
        let (mut asked, mut said): (Option<Instant>, Option<Complaint>) = (None, None);
        while self.messenger.strong_count() > 0 {
            let failed = match self.attempt() {
                Ok(session) => {
                    if !was_connected || said.is_some() {
                        (self.tell)(FleetContact::Connected);
                    }
                    self.hold(session);
                    (since, was_connected) = (Instant::now(), true);
                    (asked, said) = (None, None);
                    continue;
                }
                Err(failed) => failed,
            };
            // To find out why takes as long as an attempt.
            if asked.is_none_or(|asked| asked.elapsed() > UNCONNECTED) {
                asked = Some(Instant::now());
                let why = failed.why(&self.coordinator, &self.identity);
                let lasts = since.elapsed() > UNCONNECTED;
                let is_due = match why.worth {
                    WorthSaying::Always => true,
                    WorthSaying::IfItLasts => lasts,
                    WorthSaying::IfItLastsAtFirst => lasts && !was_connected,
                };
                if is_due && said.as_ref() != Some(&why.complaint) {
                    said = Some(why.complaint.clone());
                    (self.tell)(FleetContact::Unreached(why));
                }
            }
            std::thread::sleep(failed.pause());
        }
    }

    /// Tries each address once.
    fn attempt(&self) -> Result<ZenohMessenger, FailedAttempt> {
        let mut failed = FailedAttempt::NoAddress(io::ErrorKind::NotFound.into());
        for address in (self.resolve)(&self.coordinator).map_err(FailedAttempt::NoAddress)? {
            let way = match self.try_at(address) {
                Ok(session) => return Ok(session),
                Err(way) => way,
            };
            if !matches!(failed, FailedAttempt::At(_, most) if most >= way) {
                failed = FailedAttempt::At(address, way);
            }
        }
        Err(failed)
    }

    fn try_at(&self, address: SocketAddr) -> Result<ZenohMessenger, Way> {
        match probe::look(address) {
            Listener::Silent => return Err(Way::Silent),
            Listener::Nobody => return Err(Way::Nobody),
            Listener::Quic => {}
        }
        let begun = Instant::now();
        let opened = ZenohMessenger::agent(address, &self.identity);
        let way = if begun.elapsed() < PATIENCE { Way::Refused } else { Way::HeldUp };
        let session = opened.map_err(|_| way)?;
        if session.is_member(&self.identity.name) { Ok(session) } else { Err(Way::Greeted) }
    }

    /// Lets everything go through a session until its connection is lost.
    fn hold(&self, session: ZenohMessenger) {
        let session = Arc::new(session);
        let replace = |with: Option<Arc<dyn Messenger>>| {
            if let Some(messenger) = self.messenger.upgrade() {
                // Without another there is none, which is no failure.
                let _ = messenger.replace(|| with.ok_or(()));
            }
        };
        replace(Some(Arc::clone(&session) as Arc<dyn Messenger>));
        self.is_connected.store(true, Ordering::Relaxed);
        while self.messenger.strong_count() > 0 && session.is_connected() {
            std::thread::sleep(LOOK);
        }
        self.is_connected.store(false, Ordering::Relaxed);
        replace(None);
    }
}
