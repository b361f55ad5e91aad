//! Properties that hold for arbitrary response bytes: no panic, one end for each call, and the same outcome wherever
//! the bytes are split. Called by the property tests and the fuzz target; panics if a property is violated.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, Origin, OutputBuffer, Protocol, ProtocolConfig,
    ProtocolError, RequestedUrl, SlotContext, Workload,
};

use super::GrpcProtocol;
use brunt_values::capture::CapturedValues;

/// A call whose metadata is examined.
const BEHIND: (&str, &[(&str, &str)]) = ("Unary", &[("expect-header", "a: *"), ("expect-trailer", "b: c*")]);

/// Calls with captures from metadata and messages.
const TAKEN: [(&str, &[(&str, &str)]); 3] = [
    ("Unary", &[("capture", "a header a | default -")]),
    ("Unary", &[("capture", "a trailer b"), ("expect-status", "NOT_FOUND")]),
    ("Bidi", &[("capture", "a json $[*].text | all")]),
];

/// Feeds these bytes to the client as a server's output, whole and split at `at`.
pub fn answer(bytes: &[u8], at: usize) {
    let plain: [(&str, &[(&str, &str)]); 4] =
        [("Unary", &[]), ("Bidi", &[("lockstep", "")]), ("Unary", &[("expect-json", "$.text == a")]), BEHIND];
    for (method, options) in plain.into_iter().chain(TAKEN) {
        let dialogue = dialogue(method, options);
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        let whole = played(&dialogue, [bytes].into_iter());
        assert_eq!(played(&dialogue, [a, b].into_iter()), whole);
        assert_eq!(played(&dialogue, bytes.chunks(1)), whole);
    }
}

fn dialogue(method: &str, options: &[(&str, &str)]) -> Arc<dyn Workload> {
    let mut asked = ProtocolConfig { variables: ["a".to_owned()].into(), ..ProtocolConfig::default() };
    asked.urls.push(RequestedUrl { url: format!("grpc://h/brunt.Target/{method}"), weight: 1.0 });
    asked.options.insert("streams".into(), vec!["2".into()]);
    asked.options.insert("data".into(), vec!["{\"text\": \"a\"} {} {}".into()]);
    options.iter().for_each(|(name, value)| drop(asked.options.insert((*name).into(), vec![(*value).into()])));
    GrpcProtocol.prepare(&asked).expect("a good plan")
}

/// The events of two calls, and why the connection broke.
type GrpcOutcome = (Vec<String>, Option<ProtocolError>);

fn played<'a>(workload: &Arc<dyn Workload>, mut pieces: impl Iterator<Item = &'a [u8]>) -> GrpcOutcome {
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.open(&mut out);
    for id in 0..2 {
        let request = &workload.requests()[0].request;
        session.submit(ExchangeId(id), request, &SlotContext::default(), &mut out).expect("room");
    }
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    session.peer_closed(&mut done);
    let mut ends = [0; 2];
    let mut events = Vec::new();
    for event in done.events.drain(..) {
        match event {
            // Whether the first byte is reported separately depends on how the bytes are split.
            Event::FirstByte(_) => {}
            Event::Message(id, size) => events.push(format!("message {} {size}", id.0)),
            Event::Ended(ended) => {
                ends[ended.id.0 as usize] += 1;
                events.push(format!(
                    "{} {:?} {} {}",
                    ended.id.0,
                    (ended.fault, &ended.cause),
                    ended.code,
                    ended.payload
                ));
            }
            Event::Refused(id) => {
                ends[id.0 as usize] += 1;
                events.push(format!("{} refused", id.0));
            }
            Event::StateUpdate(id, lesson) => {
                events.push(format!("{} {:?}", id.0, lesson.downcast_ref::<CapturedValues>()))
            }
            Event::PeerCode(word) => events.push(format!("word {word}")),
            Event::Heartbeat
            | Event::Unsolicited(..)
            | Event::ReplyDue
            | Event::SurplusResponse(_)
            | Event::Released(_)
            | Event::RestNotSent(_) => {
                events.push("unasked".to_owned());
            }
        }
    }
    assert!(ends.iter().all(|n| *n <= 1), "a call ends once");
    (events, broken)
}
