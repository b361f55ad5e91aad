//! The input of a run and its results.

use std::net::IpAddr;
use std::sync::Arc;

use brunt_cause::Cause;
use brunt_contract::{FaultKind, Origin, PeerAddress, SecureChannelFactory};
use brunt_plan::Plan;
use brunt_record::GeneratorHost;
use brunt_scenario::Scenario;

use crate::control::Control;
use crate::processes::Processes;

/// The reason why the requests after a run were not completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// A stop was requested first.
    Interrupted,
    /// The first failure, as a sentence.
    Failed(Cause),
}

/// A factory for the scenario of one worker, given its seed.
pub type MakeScenario = Arc<dyn Fn(u64) -> Box<dyn Scenario> + Send + Sync>;

/// The panic message for a flow that fails to compile although it was validated with its plan.
pub(crate) const CHECKED: &str = "the conditions of a flow were read when its plan was checked";

/// The inputs of a run besides the prepared requests.
#[derive(Clone)]
pub struct Setup {
    /// The plan as requested.
    pub plan: Arc<Plan>,
    /// The plan for display, with secrets masked.
    pub shown: Plan,
    /// The command line for display.
    pub command: Vec<String>,
    /// The host on which the run is started.
    pub host: GeneratorHost,
    /// The resolver of target addresses.
    pub resolver: Arc<dyn Resolver>,
    /// The factory of TLS channels.
    pub security: Arc<dyn SecureChannelFactory>,
    /// Source addresses, used in turn; if empty, the system chooses.
    pub sources: Vec<IpAddr>,
    /// The processes in which the workers run; `None` for threads of this process.
    pub processes: Option<Processes>,
    /// The control that changes the load during the run.
    pub control: Control,
    /// The collector of delays in reading responses (epoll only).
    pub read_late: Option<brunt_net::ReadLateness>,
    /// The scenario that users run instead of the plan's own flow, if any.
    pub scenario: Option<MakeScenario>,
}

/// A resolver of origins. It may block, and is never called on a worker thread.
pub trait Resolver: Send + Sync {
    /// Returns at least one address; multiple addresses are used in turn.
    ///
    /// # Errors
    /// The reason why there is no address.
    fn resolve(&self, origin: &Origin) -> Result<Vec<PeerAddress>, Cause>;
}

/// The result of a probe.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The result as recorded.
    pub probe: brunt_record::FirstResponse,
    /// The bytes exchanged.
    pub transcript: Transcript,
}

/// The plaintext exchanged, in a readable form if the protocol is binary.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// Bytes sent, up to [`brunt_contract::MAX_SHOWN_BYTES`].
    pub sent: Vec<u8>,
    /// Bytes received, up to [`brunt_contract::MAX_SHOWN_BYTES`].
    pub received: Vec<u8>,
    /// Total number of bytes sent, and received.
    pub bytes: [u64; 2],
    /// Number of bytes omitted from `sent` and from `received`.
    pub left_out: [u64; 2],
    /// Failed checks of the response as a bit set, in the order of the request's checks; `None` if none was evaluated.
    pub failed_checks: Option<u32>,
    /// The checks of the response: name, and whether it passed.
    pub checks: Vec<(String, bool)>,
}

/// A probe without a response.
#[derive(Clone, Debug)]
pub struct ProbeFailure {
    /// The result as recorded, with `failure` set.
    pub probe: brunt_record::FirstResponse,
    /// The bytes exchanged.
    pub transcript: Transcript,
    /// Set if the target cannot be reached at all (name resolution, connecting, TLS), so that a run is pointless.
    pub unreachable: bool,
    /// The kind of failure that a run would count; `None` if there was no response.
    pub fault: Option<FaultKind>,
    /// Set if the target answered, but not in this protocol, or refused the connection (an upgrade, a login): every
    /// request of a run would fail in the same way.
    pub refused: bool,
}

/// A failed request before or after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneShotFailure {
    /// The cause of the failure.
    pub why: Cause,
    /// Set if the target cannot be reached at all.
    pub unreachable: bool,
}
