//! What the program sees of the engine: protocols with their types erased, and runs.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use plan::Plan;
use record::{Host, RunEvent};
use wire::{Asked, Complaint, OptionSpec, Origin, Place, Scheme, Security};

/// A protocol with its types erased: made by [`crate::runner`], listed by the program.
pub trait Runner: Send + Sync {
    /// The name in plans and reports.
    fn name(&self) -> &'static str;
    /// The URL schemes it answers to.
    fn schemes(&self) -> &'static [Scheme];
    /// Its options.
    fn options(&self) -> &'static [OptionSpec];
    /// Encodes everything that can be encoded before the run.
    ///
    /// # Errors
    /// The user's mistake, naming the option.
    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn PreparedRun>, Complaint>;
}

/// A run ready to start.
pub trait PreparedRun: Send + Sync {
    /// Where its requests go.
    fn origins(&self) -> &[Origin];
    /// Sends the first request once, alone, and tells what came back; gives up when a stop is asked for.
    ///
    /// # Errors
    /// Why there is no answer.
    fn probe(&self, setup: &Setup, stop: &Stop) -> Result<ProbeResult, Box<ProbeFailure>>;
    /// Runs the plan to its end; events are handed to `sink` on the calling thread as they happen, at least one a second.
    fn run(self: Arc<Self>, setup: &Setup, stop: &Stop, sink: &mut dyn FnMut(RunEvent));
}

/// What a run needs besides the prepared requests.
#[derive(Clone)]
pub struct Setup {
    /// What was asked.
    pub plan: Arc<Plan>,
    /// The plan as it may be shown: secrets masked.
    pub shown: Plan,
    /// The command line as it may be shown.
    pub command: Vec<String>,
    /// The machine.
    pub host: Host,
    /// Finds addresses.
    pub resolver: Arc<dyn Resolver>,
    /// Makes TLS channels.
    pub security: Arc<dyn Security>,
    /// Source addresses used in turn; empty: the system's choice.
    pub sources: Vec<IpAddr>,
}

/// Finds the addresses of an origin. May block: it is never called on a worker's thread.
pub trait Resolver: Send + Sync {
    /// The addresses, used in turn; at least one.
    ///
    /// # Errors
    /// A sentence saying why there is none.
    fn resolve(&self, origin: &Origin) -> Result<Vec<Place>, String>;
}

/// What a probe found.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// As recorded.
    pub probe: record::Probe,
    /// Everything sent, as it went (below TLS: plaintext).
    pub sent: Vec<u8>,
    /// Everything received, likewise.
    pub received: Vec<u8>,
}

/// Why a probe got no answer.
#[derive(Clone, Debug)]
pub struct ProbeFailure {
    /// As recorded (`failure` is set).
    pub probe: record::Probe,
    /// Everything sent, as it went.
    pub sent: Vec<u8>,
    /// Everything received.
    pub received: Vec<u8>,
    /// True where nobody can be talked to at all (name, connect, TLS): the run would be in vain.
    pub unreachable: bool,
}

/// Asks a run to stop, from a signal handler or another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicU8>);

impl Stop {
    /// Stop sending, count what is unfinished as censored and report: Ctrl-C.
    pub fn request(&self) {
        self.0.fetch_max(1, Ordering::Relaxed);
    }
    /// True once a stop was asked for.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}
