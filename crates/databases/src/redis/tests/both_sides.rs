//! Client and server against each other, with the bytes split anywhere in both directions.

use brunt_contract::{BodyFraming, ServerRequest, ServerResponse, ServerSession};
use proptest::prelude::*;

use super::*;
use crate::redis::RedisServer;

const LINES: [&str; 5] = ["PING", "GET k:{counter}", "SET k '{}'", "INCR n", "HELLO 3"];

fn turn() -> impl Strategy<Value = (u16, Vec<u8>)> {
    (prop::sample::select(vec![200u16, 404, 503]), prop::collection::vec(any::<u8>(), 0..300))
}

proptest! {
    #[test]
    fn what_one_half_says_the_other_understands(
        turns in prop::collection::vec(turn(), 1..9),
        line in prop::sample::select(&LINES[..]),
        size in 1usize..60,
        reversed in any::<bool>(),
    ) {
        let dialogue = dialogue("redis://h", &[&format!("command={line}"), "pipeline=9"]);
        let (mut client, _) = begun(&dialogue);
        let (mut server, mut out, mut done) = (RedisServer::new(), OutputBuffer::default(), EventBuffer::default());
        for id in 0..turns.len() as u32 {
            let fill = SlotContext { number: 10u64.pow(id), ..SlotContext::default() };
            client.submit(ExchangeId(id), &dialogue.requests()[0].request, &fill, &mut out).expect("room");
        }
        let mut heard = Vec::new();
        for piece in out.bytes().chunks(size) {
            server.receive(piece, &mut |ask: ServerRequest<'_>| heard.push((ask.id, ask.method.to_owned()))).expect("good");
        }
        out.clear();
        let name = line.split(' ').next().unwrap_or_default();
        prop_assert_eq!(&heard, &(0..turns.len() as u32).map(|id| (id, name.to_owned())).collect::<Vec<_>>());
        if reversed {
            heard.reverse();
        }
        for (id, _) in heard {
            let (status, body) = &turns[id as usize];
            let reply = ServerResponse { status: *status, headers: b"", body, framing: BodyFraming::Length, close: false };
            server.respond(id, &reply, &mut out);
        }
        let answer = out.bytes().to_vec();
        for piece in answer.chunks(size) {
            client.receive(piece, &mut out, &mut done).expect("good");
        }
        let ended: Vec<_> = done.events.iter().filter_map(|event| match event {
            Event::Ended(e) => Some((e.id.0, dialogue.code_name(e.code))),
            _ => None,
        }).collect();
        let code = |status: u16| match status { 200 => "ok", 404 => "nil", _ => "ERR" }.to_owned();
        let expected: Vec<_> = turns.iter().enumerate().map(|(id, (status, _))| (id as u32, code(*status))).collect();
        prop_assert_eq!(ended, expected);
    }
}

#[test]
fn commands_on_a_line_are_heard_too() {
    let (mut server, mut heard) = (RedisServer::new(), Vec::new());
    let hear = &mut |ask: ServerRequest<'_>| heard.push(format!("{} {} {}", ask.method, ask.path, ask.body_bytes));
    server.receive(b"PING\r\nset  k vv\n\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", hear).expect("good");
    assert_eq!(heard, ["PING  0", "set k 2", "GET k 0"]);
    let broken = RedisServer::new().receive(b"*1\r\n:1\r\n", &mut |_| {});
    assert_eq!(broken.map_err(|broken| broken.to_string()), Err("a command word without its length".to_string()));
}
