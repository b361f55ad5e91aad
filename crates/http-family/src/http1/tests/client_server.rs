//! Tests of client and server against each other, with the bytes split anywhere in both directions.

use brunt_contract::{
    BodyFraming, EstablishedConnection, Event, EventBuffer, ExchangeId, Origin, OutputBuffer, ServerRequest,
    ServerResponse, ServerSession, SlotContext,
};
use proptest::prelude::*;

use super::dialogue;
use crate::http1::Http1Server;

fn shape() -> impl Strategy<Value = BodyFraming> {
    prop_oneof![Just(BodyFraming::Length), (1usize..40).prop_map(BodyFraming::Chunked), Just(BodyFraming::UntilClose)]
}

/// Splits bytes into pieces whose sizes cycle through `sizes`.
fn cut<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at((*size).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

#[derive(Clone, Debug)]
struct RandomReply {
    status: u16,
    body: Vec<u8>,
    shape: BodyFraming,
    close: bool,
}

prop_compose! {
    fn turn()(
        status in prop_oneof![Just(200u16), Just(204), Just(304), Just(404), 200u16..600],
        body in prop::collection::vec(any::<u8>(), 0..300),
        shape in shape(),
        close in prop::bool::weighted(0.1),
    ) -> RandomReply {
        RandomReply { status, body, shape, close }
    }
}

proptest! {
    #[test]
    fn what_one_half_says_the_other_understands(
        turns in prop::collection::vec(turn(), 1..6),
        method in prop::sample::select(vec!["GET", "HEAD", "POST", "PUT"]),
        data in proptest::option::of("[a-z]{0,200}"),
        sizes in prop::collection::vec(prop_oneof![1usize..8, 1usize..400], 1..6),
    ) {
        let mut options = vec![format!("method={method}"), "expect-status=200-599".to_owned()];
        options.extend(data.iter().map(|d| format!("data={d}")));
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let dialogue = dialogue("http://h/p?q", &options);
        let (mut client, mut server) = (dialogue.session(&Origin::default(), &EstablishedConnection::default()), Http1Server::new());
        let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
        for (n, turn) in turns.iter().enumerate() {
            client.submit(ExchangeId(n as u32), &dialogue.requests()[0].request, &SlotContext::default(), &mut out).expect("room");
            let mut heard = Vec::new();
            for piece in cut(out.bytes(), &sizes) {
                let hear = &mut |ask: ServerRequest<'_>| heard.push((ask.id, ask.method.to_owned(), ask.body.to_vec()));
                server.receive(piece, hear).expect("good");
            }
            out.clear();
            prop_assert_eq!(heard, vec![(n as u32, method.to_owned(), data.clone().unwrap_or_default().into_bytes())]);
            let RandomReply { status, body, shape, close } = turn;
            let reply = ServerResponse { status: *status, headers: b"X: y\r\n", body, framing: *shape, close: *close };
            server.respond(n as u32, &reply, &mut out);
            let answer = out.bytes().to_vec();
            out.clear();
            for piece in cut(&answer, &sizes) {
                client.receive(piece, &mut out, &mut done).expect("good");
            }
            if server.is_finished() {
                client.peer_closed(&mut done);
            }
            let ended = match done.events.pop() {
                Some(Event::Ended(ended)) => ended,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            done.events.clear();
            let bodiless = method == "HEAD" || matches!(turn.status, 204 | 304);
            let payload = if bodiless { 0 } else { turn.body.len() as u64 };
            let expected = (ExchangeId(n as u32), None, u32::from(turn.status), payload);
            prop_assert_eq!((ended.id, ended.fault, ended.code, ended.payload), expected);
            prop_assert_eq!(client.room() == 0, server.is_finished());
            if server.is_finished() {
                break;
            }
        }
    }
}
