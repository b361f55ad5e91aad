//! A session that refuses a request although it seemed to have room: the request fails and is never sent.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, EventBuffer, ExchangeId, Origin, OutputBuffer, PreparedWorkload, Protocol, ProtocolConfig,
    ProtocolDescription, ProtocolError, Request, RequestNames, Session, SessionFull, SlotContext, SubmitOutcome,
    UsageError, UserState, WeightedRequest, Workload,
};
use brunt_measure::Nanos;
use brunt_sim::{PeerActions, SimPeer};

use super::harness::{MS, SECOND, SimPlan};

/// A protocol whose sessions claim to have room but accept nothing.
struct RefusingProtocol;

impl Protocol for RefusingProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription::new("stubborn", &[], &[], &[])
    }
    fn prepare(&self, _asked: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        let (requests, origins) = (vec![WeightedRequest::new((), 0, 1.0)], vec![Origin::tcp("test", 80, false)]);
        Ok(Arc::new(RefusingWorkload(PreparedWorkload::new(requests, origins, RequestNames::default()))))
    }
}

struct RefusingWorkload(PreparedWorkload);

impl Workload for RefusingWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.0
    }
    fn encoded_with(&self, _request: &Request, _fill: &SlotContext, _memory: Option<&UserState>) -> Vec<u8> {
        b"never".to_vec()
    }
    fn session(&self, _origin: &Origin, _established: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(RefusingSession)
    }
}

struct RefusingSession;

impl Session for RefusingSession {
    fn submit(
        &mut self,
        _id: ExchangeId,
        _request: &Request,
        _fill: &SlotContext,
        _out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        Err(SessionFull)
    }
    fn receive(
        &mut self,
        _bytes: &[u8],
        _out: &mut OutputBuffer,
        _done: &mut EventBuffer,
    ) -> Result<(), ProtocolError> {
        Ok(())
    }
    fn close_reason(&self) -> Option<brunt_cause::StaticCause> {
        Some(brunt_cause::response::refusing())
    }
    fn room(&self) -> usize {
        1
    }
}

/// A peer that neither reads nor writes.
struct SilentPeer;

impl SimPeer for SilentPeer {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, _conn: u32, _bytes: &[u8], _say: &mut PeerActions) {}
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn a_request_that_no_session_takes_has_failed_and_was_not_sent() {
    let closed = SimPlan::closed(2, SECOND).with(|p| (p.requests, p.duration) = (Some(6), None));
    let open = SimPlan::open(10.0, brunt_plan::Arrivals::Constant, SECOND);
    for (scene, due) in [(closed, 6), (open, 10)] {
        let played = scene.play_protocol(&RefusingProtocol, Arc::default(), |_| Box::new(SilentPeer));
        played.check();
        let s = &played.sum;
        assert_eq!((s.due, s.failed, s.sent, s.finished, s.censored), (due, due, 0, 0, 0));
        assert_eq!(s.failures("closed/"), due);
        assert_eq!((&*played.examples[0].detail, &*played.examples[0].sent), ("the target kept refusing it", ""));
        assert!(s.opened <= due && played.ended.elapsed >= Nanos(10 * MS.0), "{:?}", played.ended);
    }
}
