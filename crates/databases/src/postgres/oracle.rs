//! Invariants for arbitrary bytes from a server: the result is the same wherever they are split. Called by the property
//! tests and by the fuzz target; panics on a violation.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, OutputBuffer, Protocol, ProtocolConfig,
    ProtocolError, RequestedUrl, Session, SlotContext, Workload,
};

use super::PostgresProtocol;
use brunt_values::capture::CapturedValues;

/// The server's bytes that accept a login without a password.
pub const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

/// Feeds arbitrary bytes to the client, as its welcome and as an answer, whole and split at `at`.
pub fn check_answers(bytes: &[u8], at: usize) {
    for (sql, prepared) in [("SELECT 1", false), ("SELECT {counter}; SELECT 2", true)] {
        let dialogue = dialogue(sql, prepared);
        for welcome in [&[][..], WELCOME] {
            let (a, b) = bytes.split_at(at.min(bytes.len()));
            let whole = played(&dialogue, welcome, [bytes].into_iter());
            assert_eq!(played(&dialogue, welcome, [a, b].into_iter()), whole);
            assert_eq!(played(&dialogue, welcome, bytes.chunks(1)), whole);
        }
    }
}

/// Feeds arbitrary bytes as the answer to a query with captures, whole and split at `at`: the captured values must be
/// the same.
pub fn check_captures(bytes: &[u8], at: usize) {
    for capture in ["a column 1 | all", "a column id", "a rows"] {
        let mut asked = asked("SELECT id FROM t");
        asked.options.insert("capture".to_owned(), vec![capture.to_owned()]);
        let dialogue = PostgresProtocol.prepare(&asked).expect("a good plan");
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        let whole = played(&dialogue, WELCOME, [bytes].into_iter());
        assert_eq!(played(&dialogue, WELCOME, [a, b].into_iter()), whole);
        assert_eq!(played(&dialogue, WELCOME, bytes.chunks(1)), whole);
    }
}

fn asked(sql: &str) -> ProtocolConfig {
    let url = RequestedUrl { url: "postgres://me:pw@h/db".to_owned(), weight: 1.0 };
    let mut asked = ProtocolConfig { urls: vec![url], variables: ["a".to_owned()].into(), ..ProtocolConfig::default() };
    asked.options.insert("sql".to_owned(), vec![sql.to_owned()]);
    asked
}

fn dialogue(sql: &str, prepared: bool) -> Arc<dyn Workload> {
    let mut asked = asked(sql);
    asked.options.insert("expect-rows".to_owned(), vec!["1..".to_owned()]);
    if prepared {
        asked.options.insert("prepared".to_owned(), vec![String::new()]);
    }
    PostgresProtocol.prepare(&asked).expect("a good plan")
}

/// The events of an answer, the protocol error, the bytes sent, and the number of further exchanges accepted.
type PostgresTranscript = (Vec<String>, Option<ProtocolError>, Vec<u8>, usize);

fn played<'a>(
    workload: &Arc<dyn Workload>,
    welcome: &[u8],
    mut pieces: impl Iterator<Item = &'a [u8]>,
) -> PostgresTranscript {
    let mut session: Box<dyn Session> = workload.session(&workload.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.open(&mut out);
    session.receive(welcome, &mut out, &mut done).expect("a welcome");
    if session.room() > 0 {
        let request = &workload.requests()[0].request;
        session.submit(ExchangeId(1), request, &SlotContext::default(), &mut out).expect("room");
    }
    done.mark_example(FaultKind::BrokenProtocol);
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    // The size reported for a stray answer depends on the pieces.
    let told = |event: &Event| match event {
        Event::FirstByte(_) => None,
        Event::SurplusResponse(_) => Some("stray".to_owned()),
        Event::StateUpdate(id, lesson) => Some(format!("{} {:?}", id.0, lesson.downcast_ref::<CapturedValues>())),
        event => Some(format!("{event:?}")),
    };
    (done.events.iter().filter_map(told).collect(), broken, out.bytes().to_vec(), session.room())
}
