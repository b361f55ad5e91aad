//! What a protocol has to ask of the target before it can prepare requests: a schema, by reflection.
//!
//! An inquiry is asked by the probe, one request on a connection of its own, before the run and outside its figures.

use std::sync::Arc;

use engine::{PreparedRun, ProbeFailure, Setup, Stop};
use wire::{Asked, Complaint, FaultKind, Protocol};

/// A protocol that asks more often than this goes round in circles.
const MOST: usize = 64;
/// The most bytes of all answers: what is read of them takes several times as much.
const MOST_BYTES: usize = 8 << 20;

/// What was prepared, and why nobody could be talked to, if so.
pub type Answered = (Arc<PreparedRun>, Option<Box<ProbeFailure>>);

/// Asks what must be asked, then prepares the requests. Where nobody can be talked to, that comes back beside the inquiry,
/// which is then all that was prepared.
///
/// # Errors
/// The user's mistake, naming the option; or a target that cannot be asked.
pub fn prepare(protocol: &dyn Protocol, asked: &mut Asked, setup: &Setup) -> Result<Answered, Complaint> {
    let mut learnt = 0;
    for _ in 0..MOST {
        let Some(inquiry) = PreparedRun::inquiry(protocol, asked)? else { break };
        let failure = match inquiry.probe(setup, &Stop::default()) {
            Ok(_) => None,
            // Nobody there, or nobody who answers: that is no mistake of the command line.
            Err(mut failure)
                if failure.unreachable || matches!(failure.fault, None | Some(FaultKind::BrokenProtocol)) =>
            {
                failure.unreachable = true;
                return Ok((inquiry, Some(failure)));
            }
            Err(failure) => Some(failure),
        };
        match (inquiry.learnt(), failure) {
            (Some(answer), _) => {
                learnt += answer.len();
                if learnt > MOST_BYTES {
                    let trouble = "the target's reflection responses are larger than the limit of 8 MiB; add \
                        --proto FILE";
                    return Err(Complaint::new("URL", trouble));
                }
                asked.learnt.push(answer);
            }
            (None, failure) => {
                let why = failure.and_then(|f| f.probe.failure).unwrap_or_else(|| "it sent nothing".into());
                let trouble = format!("the target did not respond to reflection: {why}");
                return Err(Complaint::new("URL", trouble));
            }
        }
    }
    PreparedRun::of(protocol, asked).map(|prepared| (prepared, None))
}
