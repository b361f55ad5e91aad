//! CPU cost of one Redis exchange in user mode, without a network: encoding of commands and parsing of replies. Prints
//! the best and the median of many rounds, in nanoseconds per exchange: `cargo bench -p brunt-databases --bench redis`.

use std::hint::black_box;
use std::time::Instant;

use brunt_contract::{
    EstablishedConnection, EventBuffer, ExchangeId, OutputBuffer, Protocol, ProtocolConfig, RequestedUrl, SlotContext,
};
use brunt_databases::redis::RedisProtocol;

const ROUNDS: usize = 200;
const TURNS: u64 = 2_000;

fn main() {
    println!("{:<44}{:>10}{:>10}", "", "best ns", "median ns");
    measure("GET, three bytes", "GET key", 1, b"$3\r\nabc\r\n");
    measure("PING", "PING", 1, b"+PONG\r\n");
    measure("GET with a slot", "GET key:{counter}", 1, b"$3\r\nabc\r\n");
    measure("SET with two slots", "SET key:{counter} {random 16}", 1, b"+OK\r\n");
    measure("GET, 16 in a pipeline", "GET key", 16, b"$3\r\nabc\r\n");
    measure("LRANGE, 100 elements", "LRANGE l 0 99", 1, &[&b"*100\r\n"[..], &b"$3\r\nabc\r\n".repeat(100)].concat());
}

/// Measures batches of `pipeline` exchanges that are submitted together and whose replies are received together.
fn measure(name: &str, command: &str, pipeline: u32, reply: &[u8]) {
    let url = RequestedUrl { url: "redis://127.0.0.1".into(), weight: 1.0 };
    let mut asked = ProtocolConfig { urls: vec![url], ..ProtocolConfig::default() };
    asked.options.insert("command".into(), vec![command.into()]);
    asked.options.insert("pipeline".into(), vec![pipeline.to_string()]);
    let dialogue = RedisProtocol.prepare(&asked).expect("a good plan");
    let request = &dialogue.requests()[0].request;
    let mut session = dialogue.session(&dialogue.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let replies = reply.repeat(pipeline as usize);
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for turn in 0..TURNS {
            let fill = SlotContext { number: turn * 1000, random: turn, ..SlotContext::default() };
            for id in 0..pipeline {
                session.submit(ExchangeId(id), black_box(request), &fill, &mut out).expect("room");
            }
            black_box(out.bytes());
            out.clear();
            session.receive(black_box(&replies), &mut out, &mut done).expect("replies");
            assert_eq!(done.events.len(), pipeline as usize);
            done.events.clear();
        }
        times.push(began.elapsed().as_nanos() as f64 / (TURNS * u64::from(pipeline)) as f64);
    }
    times.sort_by(f64::total_cmp);
    println!("{name:<44}{:>10.1}{:>10.1}", times[0], times[ROUNDS / 2]);
}
