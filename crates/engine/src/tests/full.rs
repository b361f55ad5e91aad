//! A session that refuses a request it was thought to have room for: the request has failed, and was never sent.

use std::sync::Arc;

use measure::Nanos;
use sim::{Peer, Say};
use wire::{
    About, Asked, Broken, Complaint, Dialogue, Done, Established, ExchangeId, Fill, Full, Memory, Names, Origin, Out,
    Prepared, Protocol, Request, Sent, Session, Weighted,
};

use super::harness::{MS, SECOND, Scene};

/// A protocol whose sessions claim to have room and take nothing.
struct Stubborn;

impl Protocol for Stubborn {
    fn about(&self) -> About<'_> {
        About::new("stubborn", &[], &[], &[])
    }
    fn prepare(&self, _asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        let (requests, origins) = (vec![Weighted::new((), 0, 1.0)], vec![Origin::tcp("test", 80, false)]);
        Ok(Arc::new(Said(Prepared::new(requests, origins, Names::default()))))
    }
}

struct Said(Prepared);

impl Dialogue for Said {
    fn prepared(&self) -> &Prepared {
        &self.0
    }
    fn sent_with(&self, _request: &Request, _fill: &Fill, _memory: Option<&Memory>) -> Vec<u8> {
        b"never".to_vec()
    }
    fn session(&self, _origin: &Origin, _established: &Established) -> Box<dyn Session> {
        Box::new(Refuses)
    }
}

struct Refuses;

impl Session for Refuses {
    fn submit(&mut self, _id: ExchangeId, _request: &Request, _fill: &Fill, _out: &mut Out) -> Result<Sent, Full> {
        Err(Full)
    }
    fn receive(&mut self, _bytes: &[u8], _out: &mut Out, _done: &mut Done) -> Result<(), Broken> {
        Ok(())
    }
    fn goodbye(&self) -> Option<cause::Plain> {
        Some(cause::response::refusing())
    }
    fn room(&self) -> usize {
        1
    }
}

/// A peer that neither reads nor writes.
struct Silent;

impl Peer for Silent {
    fn opened(&mut self, _now: Nanos, _conn: u32) {}
    fn received(&mut self, _now: Nanos, _conn: u32, _bytes: &[u8], _say: &mut Say) {}
    fn closed(&mut self, _now: Nanos, _conn: u32) {}
}

#[test]
fn a_request_that_no_session_takes_has_failed_and_was_not_sent() {
    let closed = Scene::closed(2, SECOND).with(|p| (p.requests, p.duration) = (Some(6), None));
    let open = Scene::open(10.0, plan::Arrivals::Constant, SECOND);
    for (scene, due) in [(closed, 6), (open, 10)] {
        let played = scene.speak(&Stubborn, Arc::default(), |_| Box::new(Silent));
        played.check();
        let s = &played.sum;
        assert_eq!((s.due, s.failed, s.sent, s.finished, s.censored), (due, due, 0, 0, 0));
        assert_eq!(s.failures("closed/"), due);
        assert_eq!((&*played.examples[0].detail, &*played.examples[0].sent), ("the target kept refusing it", ""));
        assert!(s.opened <= due && played.ended.elapsed >= Nanos(10 * MS.0), "{:?}", played.ended);
    }
}
