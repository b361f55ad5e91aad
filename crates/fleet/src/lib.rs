//! Many machines as one run.
//!
//! An *agent* lends its machine: it takes a share of a run (a range of its workers), makes an ordinary record of it, and
//! hands the events in as numbered frames. The *coordinator* keeps the frames of each agent on disk, and merges the records
//! into one. Both speak through a [`brunt_messenger::Messenger`] and do not know what carries it. See
//! docs/decisions/0057-many-machines.md.

mod agent;
mod coordinator;
mod frame;
mod identity;
mod protocol;
mod shares;

pub use agent::{AgentSettings, LentMachine};
pub use coordinator::{AgentGroup, AgentPresence, Fleet, ResumedRun, RunDirectory, RunOutput, unfinished_runs_of};
pub use identity::{AgentToken, FleetDirectory, check_name};
pub use protocol::{AgentDescription, AgentState};
