//! User-mode cost of one HTTP/2 exchange, without a network: ten requests in one write, their ten responses in one
//! read, with header blocks as nginx writes them; and HTTP/1.1 through the same entry point. Prints the best and the
//! median of many rounds in nanoseconds per exchange; `cargo bench -p brunt-http-family --bench http2`.

use std::hint::black_box;
use std::time::Instant;

use brunt_http_family::http::Http;
use brunt_http_family::http2::frames::{self, END_HEADERS, END_STREAM};
use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, Origin, OutputBuffer, Protocol, ProtocolConfig,
    RequestedUrl, Session, SlotContext, Workload,
};

const ROUNDS: usize = 300;
const TURNS: usize = 500;
const TOGETHER: u32 = 10;

const HTTP1: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sat, 21 Nov 2026 06:24:27 GMT\r\n\
    Content-Type: application/octet-stream\r\nContent-Length: 1\r\nLast-Modified: Sat, 21 Nov 2026 06:00:00 GMT\r\n\
    Connection: keep-alive\r\nETag: \"691ffd00-1\"\r\nAccept-Ranges: bytes\r\n\r\nx";

fn main() {
    println!("{:<44}{:>10}{:>10}", "", "best ns", "median ns");
    http2("HTTP/2: identical response headers", 1, &[]);
    http2("HTTP/2: two header blocks in turn", 2, &[]);
    http2("HTTP/2: different headers in each response", 16, &[]);
    http2("HTTP/2: a POST", 1, &[("data", PLAIN)]);
    http2("HTTP/2: a POST of four slots", 1, &[("data", SLOTS)]);
    http1("HTTP/1.1 through `Http`", &[]);
    http1("HTTP/1.1: a POST", &[("data", PLAIN)]);
    http1("HTTP/1.1: a POST of four slots", &[("data", SLOTS)]);
}

const PLAIN: &str =
    r#"{"id":1234567,"name":"abcdefghijklmnop","u":"01234567-89ab-4cde-8f01-23456789abcd","t":1795253195123}"#;
const SLOTS: &str = r#"{"id":{counter},"name":"{random 16}","u":"{uuid}","t":{time ms}}"#;

/// Slot context of request `number`, as an engine would provide it.
fn fill(number: u64) -> SlotContext<'static> {
    SlotContext {
        number,
        user: 0,
        random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        unix_ns: 1_795_253_195_123_456_789,
        run: 1,
        sequence: 0,
        values: brunt_contract::UserValues::NONE,
    }
}

fn prepare(options: &[(&str, &str)]) -> (Arc<dyn Workload>, Box<dyn Session>) {
    let url = RequestedUrl { url: "http://127.0.0.1:8080/".into(), weight: 1.0 };
    let mut asked = ProtocolConfig { urls: vec![url], ..ProtocolConfig::default() };
    for (name, value) in options {
        asked.options.insert((*name).to_owned(), vec![(*value).to_owned()]);
    }
    let dialogue = Http.prepare(&asked).expect("a good plan");
    let session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
    (dialogue, session)
}

/// A header block as nginx writes it: every field a literal with incremental indexing, for a table of size 0.
fn block(number: u32) -> Vec<u8> {
    let mut block = vec![0x88];
    let etag = format!("\"691ffd00-{number:08}\"");
    let date = "Sat, 21 Nov 2026 06:24:27 GMT";
    for (index, value) in
        [(54, "nginx/1.22.1"), (33, date), (31, "text/plain"), (28, "1"), (44, date), (34, &etag), (18, "bytes")]
    {
        block.push(0x40 | index);
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    block
}

/// Measures HTTP/2 with `heads` different header blocks in turn.
fn http2(name: &str, heads: u32, options: &[(&str, &str)]) {
    let (dialogue, mut session) = prepare(&[&[("http", "2"), ("streams", "10")], options].concat());
    let request = &dialogue.requests()[0].request;
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.open(&mut out);
    let mut answers = Vec::new();
    frames::put_settings(&[(1, 4096)], &mut answers);
    session.receive(&answers, &mut out, &mut done).expect("settings");
    // nginx begins with a table size update to 0.
    let (mut stream, mut number, mut first) = (1, 0, true);
    measure(name, TOGETHER, || {
        answers.clear();
        for _ in 0..TOGETHER {
            number += 1;
            let mut head = if std::mem::take(&mut first) { vec![0x20] } else { Vec::new() };
            head.extend(block(number % heads + 1));
            frames::put(frames::HEADERS, END_HEADERS, stream, &head, &mut answers);
            frames::put(frames::DATA, END_STREAM, stream, b"x", &mut answers);
            // Stream ids are skipped only while an older exchange is still open.
            stream += 2;
        }
        let start = Instant::now();
        for id in 0..TOGETHER {
            session.submit(ExchangeId(id), black_box(request), &fill(u64::from(number + id)), &mut out).expect("room");
        }
        black_box(out.bytes());
        out.clear();
        session.receive(black_box(&answers), &mut out, &mut done).expect("answers");
        let spent = start.elapsed();
        assert_eq!(done.events.len(), TOGETHER as usize);
        done.events.clear();
        spent.as_nanos() as u64
    });
}

fn http1(name: &str, options: &[(&str, &str)]) {
    let (dialogue, mut session) = prepare(options);
    let request = &dialogue.requests()[0].request;
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let mut number = 0;
    measure(name, 1, || {
        number += 1;
        let start = Instant::now();
        session.submit(ExchangeId(1), black_box(request), &fill(number), &mut out).expect("room");
        black_box(out.bytes());
        out.clear();
        session.receive(black_box(HTTP1), &mut out, &mut done).expect("an answer");
        assert!(matches!(done.events.last(), Some(Event::Ended(ended)) if ended.fault.is_none()));
        done.events.clear();
        start.elapsed().as_nanos() as u64
    });
}

/// Measures `turn`, which performs `together` exchanges and returns the nanoseconds they took.
fn measure(name: &str, together: u32, mut turn: impl FnMut() -> u64) {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| (0..TURNS).map(|_| turn()).sum::<u64>() as f64 / (TURNS as f64 * f64::from(together)))
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<44}{:>10.1}{:>10.1}", rounds[0], rounds[rounds.len() / 2]);
}
