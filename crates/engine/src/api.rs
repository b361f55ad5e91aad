//! What the program hands to a run, and what comes back of it.

use std::net::IpAddr;
use std::sync::Arc;

use cause::Cause;
use plan::Plan;
use record::GeneratorHost;
use scenario::Scenario;
use wire::{FaultKind, Origin, PeerAddress, SecureChannelFactory};

use crate::control::Control;
use crate::processes::Processes;

/// Why not all of what a plan asks for after the run was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// A stop was asked for meanwhile.
    Interrupted,
    /// The first that failed, in a sentence.
    Failed(Cause),
}

/// Makes what the users of one worker do, of a seed of its own.
pub type MakeScenario = Arc<dyn Fn(u64) -> Box<dyn Scenario> + Send + Sync>;

/// Why a flow can be compiled where it is to be played.
pub(crate) const CHECKED: &str = "the conditions of a flow were read when its plan was checked";

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
    pub host: GeneratorHost,
    /// Finds addresses.
    pub resolver: Arc<dyn Resolver>,
    /// Makes TLS channels.
    pub security: Arc<dyn SecureChannelFactory>,
    /// Source addresses used in turn; empty: the system's choice.
    pub sources: Vec<IpAddr>,
    /// Run the workers in processes of their own.
    pub processes: Option<Processes>,
    /// Changes the load on the way.
    pub control: Control,
    /// Where it is collected how late responses are read (on epoll).
    pub read_late: Option<net::Lateness>,
    /// What users do in the place of the plan's own flow: a script's. None: what the plan says.
    pub scenario: Option<MakeScenario>,
}

/// Finds the addresses of an origin. May block: it is never called on a worker's thread.
pub trait Resolver: Send + Sync {
    /// The addresses, used in turn; at least one.
    ///
    /// # Errors
    /// Why there is none.
    fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, Cause>;
}

/// What a probe found.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// As recorded.
    pub probe: record::FirstResponse,
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
    pub probe: record::FirstResponse,
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
    /// What is known of it.
    pub why: Cause,
    /// True where nobody can be talked to at all.
    pub unreachable: bool,
}
