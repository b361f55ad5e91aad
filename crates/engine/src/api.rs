//! What the program sees of the engine: protocols with their types erased, and runs.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use measure::Nanos;
use plan::flow::Known;
use plan::{Bundle, Plan};
use record::{Host, RunEvent};
use wire::{Asked, ByOrder, Complaint, FaultKind, OptionSpec, Origin, Place, Security};

use crate::Walked;
use crate::control::Control;
use crate::processes::{Assignment, Launcher};

/// A protocol with its types erased: made by [`crate::runner`], listed by the program.
pub trait Runner: Send + Sync {
    /// The name in plans and reports.
    fn name(&self) -> &'static str;
    /// The URL schemes it answers to.
    fn schemes(&self) -> &'static [&'static str];
    /// True where `-c` is a number of connections, which a rate may stand beside.
    fn fixed_connections(&self) -> bool;
    /// Its options.
    fn options(&self) -> &'static [OptionSpec];
    /// Those of them that one URL of a run may have for itself.
    fn options_of_one_url(&self) -> &'static [&'static str];
    /// Whether connections of this run have heartbeats.
    ///
    /// # Errors
    /// Why not, and what would be right.
    fn heartbeats(&self, asked: &Asked) -> Result<(), String>;
    /// What must be asked of the target before requests can be prepared, given `asked.learnt`: its probe asks, and
    /// [`PreparedRun::learnt`] tells the answer.
    ///
    /// # Errors
    /// The user's mistake, naming the option.
    fn inquire(&self, asked: &Asked) -> Result<Option<Arc<dyn PreparedRun>>, Complaint>;
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
    /// Of an inquiry after its probe: what came back.
    fn learnt(&self) -> Option<Vec<u8>> {
        None
    }
    /// As [`wire::Dialogue::silent`].
    fn silent(&self) -> bool {
        false
    }

    /// Where the plan has more connections than the descriptor tables of a run hold: how many it has, and how many they hold.
    fn too_many(&self, _plan: &Plan) -> Option<(u64, u64)> {
        None
    }
    /// Workers that the run takes: as many as the plan says, or more where the connections need more descriptor tables.
    fn workers(&self, plan: &Plan) -> u32 {
        plan.workers
    }
    /// As [`wire::Dialogue::requests_at_most`].
    fn requests_at_most(&self) -> Option<u64> {
        None
    }
    /// As [`wire::Dialogue::by_order`].
    fn by_order(&self) -> Option<ByOrder> {
        None
    }
    /// Sends what the plan asks for once before the run.
    ///
    /// # Errors
    /// Which request failed and why; the run must not begin.
    fn before(&self, setup: &Setup, stop: &Stop) -> Result<(), OneShotFailure>;
    /// Sends what the plan asks for once after the run; the first failure, in a sentence. All of it takes no longer than
    /// `within`, and ends with a stop that is asked for meanwhile: one that ended the run does not end this.
    fn after(&self, setup: &Setup, stop: &Stop, within: Option<Nanos>) -> Option<AfterFailure>;
    /// Goes once through the `setup` of the plan's flow; what it captured, for all users.
    ///
    /// # Errors
    /// Which step failed and why; the run must not begin.
    fn set_up(&self, _setup: &Setup, _stop: &Stop) -> Result<Vec<Known>, OneShotFailure> {
        Ok(Vec::new())
    }
    /// Goes once through its `teardown`, as [`PreparedRun::after`] does what that asks for.
    fn tear_down(&self, _setup: &Setup, _stop: &Stop, _within: Option<Nanos>) -> Option<AfterFailure> {
        None
    }
    /// Goes once, alone and without pauses, through the flow of the plan, where it has one.
    fn walk(&self, _setup: &Setup, _stop: &Stop, _told: &mut dyn FnMut(Walked)) {}
    /// What its requests are called in figures.
    fn names(&self) -> &[String] {
        &[]
    }
    /// What its checks are called in figures.
    fn check_names(&self) -> &[String] {
        &[]
    }
    /// Runs the plan to its end; events are handed to `sink` on the calling thread as they happen, at least one a second.
    fn run(self: Arc<Self>, setup: &Setup, stop: &Stop, sink: &mut dyn FnMut(RunEvent));
    /// Runs the workers of a share, for a run that another process holds together.
    fn take_share(self: Arc<Self>, setup: &Setup, assignment: Assignment);
}

/// Why not all of what a plan asks for after the run was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// A stop was asked for meanwhile.
    Interrupted,
    /// The first that failed, in a sentence.
    Failed(String),
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
    /// Run the workers in processes of their own.
    pub processes: Option<Processes>,
    /// Changes the load on the way.
    pub control: Control,
    /// Where it is collected how late responses are read (on epoll).
    pub read_late: Option<net::Lateness>,
}

/// Processes that take the workers of a run.
#[derive(Clone)]
pub struct Processes {
    /// How many; each takes its share of the workers.
    pub number: u32,
    /// Starts one.
    pub launcher: Arc<dyn Launcher>,
    /// What all of them are told.
    pub briefing: Arc<Briefing>,
}

/// What every process of a run is told, whatever its share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Briefing {
    /// What is run, in words that the engine does not read: whoever writes them reads them in [`Assignment::words`].
    pub words: String,
    /// What the plan names and does not hold.
    pub bundle: Bundle,
}

/// Which workers of a run a process takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The first worker it takes.
    pub from: u32,
    /// The one after its last.
    pub to: u32,
    /// Workers of the whole run.
    pub of: u32,
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
    pub probe: record::FirstAnswer,
    /// What went over the wire.
    pub transcript: Transcript,
}

/// What went over the wire, before TLS: its bytes, or what people read instead where a protocol's bytes are no text.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// What was sent, up to [`wire::SHOWN`].
    pub sent: Vec<u8>,
    /// What was received, up to [`wire::SHOWN`].
    pub received: Vec<u8>,
    /// How many bytes they really were.
    pub bytes: [u64; 2],
    /// How many of them are not shown.
    pub left_out: [u64; 2],
    /// Which checks of the response failed, by bit in the order of its request; None where none was looked at.
    pub failed_checks: Option<u32>,
    /// The checks of the response by name, and whether each passed.
    pub checks: Vec<(String, bool)>,
}

/// Why a probe got no answer.
#[derive(Clone, Debug)]
pub struct ProbeFailure {
    /// As recorded (`failure` is set).
    pub probe: record::FirstAnswer,
    /// What went over the wire.
    pub transcript: Transcript,
    /// True where nobody can be talked to at all (name, connect, TLS): the run would be in vain.
    pub unreachable: bool,
    /// What a run would count the answer as, where there is one.
    pub fault: Option<FaultKind>,
}

/// Why a request before or after a run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneShotFailure {
    /// In a sentence.
    pub why: String,
    /// True where nobody can be talked to at all.
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
