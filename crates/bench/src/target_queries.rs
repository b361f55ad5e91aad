//! Queries that a protocol sends to the target before it can prepare requests, such as for a schema by reflection.
//!
//! Each query is sent by the probe, as one request on its own connection, before the run and outside its results.

use brunt_cause::complaint;
use std::sync::Arc;

use brunt_contract::{FaultKind, Protocol, ProtocolConfig, UsageError};
use brunt_engine::{PreparedRun, ProbeFailure, Setup, Stop};

/// Maximum number of queries; a protocol that sends more is in a loop.
const MOST: usize = 64;
/// Maximum size of all answers in bytes: their parsed form takes several times as much memory.
const MOST_BYTES: usize = 8 << 20;

/// The prepared run, and the failure if the target could not be reached.
pub type InquiryOutcome = (Arc<PreparedRun>, Option<Box<ProbeFailure>>);

/// Sends the queries of a protocol, then prepares the requests. If the target is unreachable, returns that failure
/// and the prepared query in place of the requests.
///
/// # Errors
/// Returns an error that names the wrong option or says that the target cannot be queried.
pub fn prepare(
    protocol: &dyn Protocol,
    asked: &mut ProtocolConfig,
    setup: &Setup,
) -> Result<InquiryOutcome, UsageError> {
    let mut learnt = 0;
    for _ in 0..MOST {
        let Some(inquiry) = PreparedRun::inquiry(protocol, asked)? else { break };
        let failure = match inquiry.probe(setup, &Stop::default()) {
            Ok(_) => None,
            // A missing or silent server is not a mistake in the command line.
            Err(mut failure)
                if failure.unreachable || matches!(failure.fault, None | Some(FaultKind::BrokenProtocol)) =>
            {
                failure.unreachable = true;
                return Ok((inquiry, Some(failure)));
            }
            Err(failure) => Some(failure),
        };
        match (inquiry.inquiry_result(), failure) {
            (Some(answer), _) => {
                learnt += answer.len();
                if learnt > MOST_BYTES {
                    let trouble = complaint!(
                        "the target's reflection responses are larger than the limit of 8 MiB; add \
                        --proto FILE",
                        "目标的反射响应超过 8 MiB 的上限；请加上 --proto FILE"
                    );
                    return Err(UsageError::new("URL", trouble));
                }
                asked.inquiry_responses.push(answer);
            }
            (None, failure) => {
                let why = failure.and_then(|f| f.probe.failure).unwrap_or_else(|| "it sent nothing".into());
                let trouble =
                    complaint!("the target did not respond to reflection: {why}", "目标没有响应反射请求：{why}");
                return Err(UsageError::new("URL", trouble));
            }
        }
    }
    PreparedRun::of(protocol, asked).map(|prepared| (prepared, None))
}
