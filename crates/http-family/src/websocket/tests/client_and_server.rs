//! Client and server against each other, with the bytes split anywhere in both directions.

use brunt_contract::{BodyFraming, ServerRequest, ServerResponse, ServerSession};
use proptest::prelude::*;

use super::*;
use crate::websocket::WebSocketServer;

/// Splits bytes into pieces whose sizes are taken from `sizes` in turn.
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

proptest! {
    #[test]
    fn what_one_half_says_the_other_understands(
        messages in prop::collection::vec(("[a-z\u{20ac}]{0,300}", any::<bool>()), 1..6),
        sizes in prop::collection::vec(prop_oneof![1usize..8, 1usize..400], 1..6),
    ) {
        let options: Vec<String> = messages
            .iter()
            .map(|(text, binary)| if *binary {
                format!("data-hex={}", text.bytes().map(|b| format!("{b:02x}")).collect::<String>())
            } else {
                format!("data={text}")
            })
            .collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let dialogue = dialogue(&options);
        let established = EstablishedConnection { seed: SEED, ..EstablishedConnection::default() };
        let mut client = dialogue.session(&dialogue.origins()[0], &established);
        let mut server = WebSocketServer::new();
        let (mut out, mut back, mut done) = (OutputBuffer::default(), OutputBuffer::default(), EventBuffer::default());
        client.open(&mut out);
        let mut heard = Vec::new();
        for turn in 0..=messages.len() {
            for piece in cut(out.bytes(), &sizes) {
                let mut asked = Vec::new();
                server.receive(piece, &mut |ask: ServerRequest<'_>| asked.push((ask.id, ask.body.to_vec()))).expect("good");
                server.write_due(&mut back);
                for (id, body) in asked {
                    let reply = ServerResponse { status: 200, headers: b"", body: &body, framing: BodyFraming::Length, close: false };
                    server.respond(id, &reply, &mut back);
                    heard.push(body);
                }
            }
            out.clear();
            for piece in cut(back.bytes(), &sizes) {
                client.receive(piece, &mut out, &mut done).expect("good");
            }
            back.clear();
            if turn < messages.len() {
                let request = &dialogue.requests()[turn].request;
                client.submit(ExchangeId(turn as u32), request, &SlotContext::default(), &mut out).expect("room");
            }
        }
        let sent: Vec<Vec<u8>> = dialogue.requests().iter().map(|r| dialogue.encoded(&r.request)).collect();
        prop_assert_eq!(&heard, &sent);
        let ended: Vec<String> = done.events.iter().filter_map(said).collect();
        let expected: Vec<String> = sent.iter().enumerate().map(|(n, s)| format!("{n} 0 of {}", s.len())).collect();
        prop_assert_eq!(ended, expected);
    }
}
