//! Conformance of all protocols to their contract, whatever a server sends: one exchange of each protocol is split at
//! every position and byte by byte, closed too early, followed by garbage, and never ended. The tests fail for a
//! protocol without an example here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, OutputBuffer, Protocol, ProtocolConfig, ProtocolError,
    RequestedUrl, Session, SlotContext, UserState, Workload,
};
use brunt_measure::Rng;
use brunt_protocols::http2::frames;

/// An allocator that counts the bytes that this thread has allocated.
struct ConformanceAllocator;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: forwards everything to the system allocator.
unsafe impl GlobalAlloc for ConformanceAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = HELD.try_with(|held| held.set(held.get() + layout.size() as isize));
        // SAFETY: upheld by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let _ = HELD.try_with(|held| held.set(held.get() - layout.size() as isize));
        // SAFETY: upheld by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: ConformanceAllocator = ConformanceAllocator;

/// One turn of a server: its answer to everything the client has sent so far.
type ServerTurn = fn(&[u8]) -> Vec<u8>;

/// A connection with one exchange that succeeds.
struct ExampleExchange {
    url: &'static str,
    options: &'static [(&'static str, &'static str)],
    /// Turns of the server; the last one is the response.
    turns: &'static [ServerTurn],
    /// Beginning of an endless response, and the part that is repeated.
    endless: (ServerTurn, ServerTurn),
}

/// Returns the example of a protocol, by its name.
fn example(name: &str) -> Option<ExampleExchange> {
    Some(match name {
        "http" | "mixed" => ExampleExchange {
            url: "http://h/",
            options: &[],
            turns: &[|_| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\n\r\nhi".to_vec()],
            endless: (|_| b"HTTP/1.1 200 OK\r\nX: ".to_vec(), |_| vec![b'y'; PIECE]),
        },
        "websocket" => ExampleExchange {
            url: "ws://h/",
            options: &[("data", "hello")],
            turns: &[upgrade_response, |_| b"\x81\x05hello".to_vec()],
            endless: (|_| [&[0x02, 127][..], &(1_u64 << 40).to_be_bytes()].concat(), |_| vec![b'y'; PIECE]),
        },
        "grpc" => ExampleExchange {
            url: "grpc://h/grpc.health.v1.Health/Check",
            options: &[],
            turns: &[settings, status],
            endless: (
                |_| {
                    let mut bytes = Vec::new();
                    frames::put(frames::HEADERS, 0, 1, &[0x88], &mut bytes);
                    bytes
                },
                |_| {
                    let mut bytes = Vec::new();
                    frames::put(frames::CONTINUATION, 0, 1, &[b'y'; PIECE], &mut bytes);
                    bytes
                },
            ),
        },
        "redis" => ExampleExchange {
            url: "redis://h",
            options: &[],
            turns: &[|_| b"+PONG\r\n".to_vec()],
            endless: (|_| b"$999999999999\r\n".to_vec(), |_| vec![b'y'; PIECE]),
        },
        "mysql" => ExampleExchange {
            url: "mysql://user@h/db",
            options: &[("sql", "DO 1")],
            turns: &[greeting, |_| packet(2, OK), |_| packet(1, OK)],
            endless: (|_| packet(1, &[1]), |_| [&[0xff, 0xff, 0xff, 2][..], &[b'y'; PIECE][..]].concat()),
        },
        "postgres" => ExampleExchange {
            url: "postgres://me@h/db",
            options: &[],
            turns: &[
                |_| b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I".to_vec(),
                |_| b"C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I".to_vec(),
            ],
            endless: (|_| b"D\x7f\xff\xff\xff".to_vec(), |_| vec![b'y'; PIECE]),
        },
        "raw" => ExampleExchange {
            url: "tcp://h:1",
            options: &[("send", "hi\\n"), ("until", "\\n"), ("expect-bytes", "ho")],
            turns: &[|_| b"ho\n".to_vec()],
            endless: (|_| Vec::new(), |_| vec![b'y'; PIECE]),
        },
        _ => return None,
    })
}

/// Returns an exchange of a flow whose response yields a captured list of two values, the first of which contains a
/// comma.
fn listing(name: &str) -> Option<ExampleExchange> {
    let example = example(name)?;
    let (options, turns): (&'static [(&str, &str)], &'static [ServerTurn]) = match name {
        "http" => (
            &[("capture", "v json $[*] | all")],
            &[|_| b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n[\"a,b\",\"c\"]".to_vec()],
        ),
        "websocket" => (
            &[("capture", "v json $[*] | all"), ("await", "any")],
            &[upgrade_response, |_| b"\x81\x0b[\"a,b\",\"c\"]".to_vec()],
        ),
        "grpc" => (&[("capture", "v header x | all")], &[settings, two_lines]),
        "redis" => (&[("capture", "v json $[*] | all")], &[|_| b"*2\r\n$3\r\na,b\r\n$1\r\nc\r\n".to_vec()]),
        "mysql" => (
            &[("sql", "SELECT a FROM t"), ("capture", "v column a | all")],
            &[
                greeting,
                |_| packet(2, OK),
                |_| {
                    let column = b"\x03def\0\0\0\x01a\0\x0c\x2d\0\0\0\0\0\xfd\0\0\0\0\0";
                    let end = [&[0xfe][..], &OK[1..]].concat();
                    let packets: [&[u8]; 5] = [&[1], column, b"\x03a,b", b"\x01c", &end];
                    packets.iter().zip(1..).flat_map(|(payload, number)| packet(number, payload)).collect()
                },
            ],
        ),
        "postgres" => (
            &[("capture", "v column a | all")],
            &[
                |_| b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I".to_vec(),
                |_| {
                    let column = b"T\0\0\0\x1a\0\x01a\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
                    let rows = b"D\0\0\0\x0d\0\x01\0\0\0\x03a,bD\0\0\0\x0b\0\x01\0\0\0\x01c";
                    [&column[..], rows, b"C\0\0\0\x0dSELECT 2\0Z\0\0\0\x05I"].concat()
                },
            ],
        ),
        // The other protocols capture nothing from their messages.
        _ => return None,
    };
    Some(ExampleExchange { options, turns, ..example })
}

/// Returns a response with the same metadata twice, the first value of which contains a comma.
fn two_lines(_: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let head = b"\x88\x5f\x10application/grpc\x40\x01x\x03a,b\x40\x01x\x01c";
    frames::put(frames::HEADERS, 4, 1, head, &mut bytes);
    frames::put(frames::DATA, 0, 1, &[0; 5], &mut bytes);
    frames::put(frames::HEADERS, 5, 1, b"\x40\x0bgrpc-status\x010", &mut bytes);
    bytes
}

const PIECE: usize = 16 * 1024;
/// Length of the endless response in bytes.
const ENDLESS: usize = 96 << 20;
/// Maximum number of bytes that a session may hold in memory: as many as are kept of searched responses.
const MOST: isize = 24 << 20;

/// An OK packet of MySQL.
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_le_bytes()[..3], &[number], payload].concat()
}

fn greeting(_: &[u8]) -> Vec<u8> {
    let capabilities = 0x0109_820f_u32.to_le_bytes();
    let text = b"\x0a8.0.36\0\x07\0\0\0abcdefgh\0";
    let middle = [&capabilities[..2], b"\x2d\x02\0", &capabilities[2..], b"\x15\0\0\0\0\0\0\0\0\0\0"].concat();
    packet(0, &[&text[..], &middle, b"ijklmnopqrst\0mysql_native_password\0"].concat())
}

fn upgrade_response(upgrade: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(upgrade);
    let key = text.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).expect("a key").trim();
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes());
    let accept = base64::engine::general_purpose::STANDARD.encode(digest);
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
    .into_bytes()
}

fn settings(_: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames::put_settings(&[], &mut bytes);
    bytes
}

/// Returns an empty message and an OK status.
fn status(_: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let head = [b"\x88\x5f\x10application/grpc".as_slice()].concat();
    frames::put(frames::HEADERS, 4, 1, &head, &mut bytes);
    frames::put(frames::DATA, 0, 1, &[0; 5], &mut bytes);
    frames::put(frames::HEADERS, 5, 1, b"\x40\x0bgrpc-status\x010", &mut bytes);
    bytes
}

/// A session in progress.
struct ConformanceSession {
    session: Box<dyn Session>,
    workload: Arc<dyn Workload>,
    out: OutputBuffer,
    done: EventBuffer,
    submitted: bool,
    broken: Option<ProtocolError>,
}

impl ConformanceSession {
    fn of(protocol: &dyn Protocol, example: &ExampleExchange) -> ConformanceSession {
        let mut asked = ProtocolConfig { is_composite_flow: protocol.name() == "mixed", ..ProtocolConfig::default() };
        asked.urls.push(RequestedUrl { url: example.url.to_owned(), weight: 1.0 });
        asked.variables = ["v".to_owned()].into();
        asked.url_options.push(brunt_contract::OptionValues::default());
        for (name, value) in example.options {
            // In a flow, all options belong to the step.
            let to = if asked.is_composite_flow { &mut asked.url_options[0] } else { &mut asked.options };
            to.entry((*name).to_owned()).or_default().push((*value).to_owned());
        }
        let dialogue = protocol.prepare(&asked).expect("a good plan");
        let origin = dialogue.origins()[0].clone();
        let established = EstablishedConnection { bound: origin.bound, ..EstablishedConnection::default() };
        let (session, out) = (dialogue.session(&origin, &established), OutputBuffer::default());
        let mut talk = ConformanceSession {
            session,
            workload: dialogue,
            out,
            done: EventBuffer::default(),
            submitted: false,
            broken: None,
        };
        talk.session.open(&mut talk.out);
        talk.submit_request();
        talk
    }

    /// Submits the request as soon as the session accepts it.
    fn submit_request(&mut self) {
        if !self.submitted && !self.session.is_opening() && self.session.room() > 0 {
            let request = &self.workload.requests()[0].request;
            self.session.submit(ExchangeId(1), request, &SlotContext::default(), &mut self.out).expect("room");
            self.submitted = true;
        }
    }

    fn receive_piece(&mut self, piece: &[u8]) {
        if self.broken.is_none() {
            self.broken = self.session.receive(piece, &mut self.out, &mut self.done).err();
            self.submit_request();
        }
    }

    /// Plays all turns except the response.
    fn play_opening(&mut self, example: &ExampleExchange) {
        for turn in &example.turns[..example.turns.len() - 1] {
            let said = turn(self.out.bytes());
            self.receive_piece(&said);
        }
        assert!(self.submitted && self.broken.is_none(), "{}: the conversation does not open", example.url);
    }

    /// Returns how often the exchange ended, and how often it succeeded.
    fn end_counts(&self) -> (usize, usize) {
        let ended = self.done.events.iter().filter_map(|event| match event {
            Event::Ended(ended) => Some(ended.fault.is_none()),
            Event::Refused(_) => Some(false),
            _ => None,
        });
        let ended: Vec<bool> = ended.collect();
        (ended.len(), ended.iter().filter(|succeeded| **succeeded).count())
    }

    /// Returns all events (except first bytes, which depend on the pieces), the protocol error and the bytes sent.
    fn outcome(&self) -> (Vec<String>, Option<ProtocolError>, Vec<u8>) {
        let told = self.done.events.iter().filter(|event| !matches!(event, Event::FirstByte(_)));
        let told = told.map(|event| match event {
            Event::StateUpdate(id, _) => format!("{id:?} taught"),
            event => format!("{event:?}"),
        });
        (told.collect(), self.broken.clone(), self.out.bytes().to_vec())
    }
}

/// Plays the example with each turn in pieces of `length` bytes, and one more split at `cut` bytes from the beginning.
fn play_example(
    protocol: &dyn Protocol,
    example: &ExampleExchange,
    (length, cut): (usize, usize),
) -> ConformanceSession {
    let mut talk = ConformanceSession::of(protocol, example);
    let mut before = 0;
    for turn in example.turns {
        let said = turn(talk.out.bytes());
        let (first, second) = said.split_at(cut.saturating_sub(before).min(said.len()));
        before += said.len();
        [first, second].iter().flat_map(|part| part.chunks(length)).for_each(|piece| talk.receive_piece(piece));
    }
    talk
}

/// Returns the number of bytes of all turns.
fn length(protocol: &dyn Protocol, example: &ExampleExchange) -> usize {
    let mut talk = ConformanceSession::of(protocol, example);
    let each = example.turns.iter().map(|turn| {
        let said = turn(talk.out.bytes());
        talk.receive_piece(&said);
        said.len()
    });
    each.sum()
}

fn each(test: impl Fn(&dyn Protocol, &ExampleExchange)) {
    for protocol in brunt_protocols::all() {
        let example = example(protocol.name());
        let example = example.unwrap_or_else(|| panic!("{} has no example: write one", protocol.name()));
        test(&*protocol, &example);
    }
}

#[test]
fn a_response_is_the_same_wherever_it_is_cut_and_however_slowly_it_comes() {
    each(|protocol, example| {
        let whole = play_example(protocol, example, (usize::MAX, 0));
        assert_eq!((whole.end_counts(), &whole.broken), ((1, 1), &None), "{}: {:?}", protocol.name(), whole.outcome());
        for cut in 1..length(protocol, example) {
            let parted = play_example(protocol, example, (usize::MAX, cut));
            assert_eq!(parted.outcome(), whole.outcome(), "{} cut at {cut}", protocol.name());
        }
        assert_eq!(
            play_example(protocol, example, (1, 0)).outcome(),
            whole.outcome(),
            "{} byte by byte",
            protocol.name()
        );
    });
}

#[test]
fn a_connection_that_closes_early_is_never_a_success() {
    each(|protocol, example| {
        for until in 0..length(protocol, example) {
            let mut talk = ConformanceSession::of(protocol, example);
            let mut left = until;
            for turn in example.turns {
                let said = turn(talk.out.bytes());
                talk.receive_piece(&said[..left.min(said.len())]);
                left = left.saturating_sub(said.len());
            }
            talk.session.peer_closed(&mut talk.done);
            let (ends, succeeded) = talk.end_counts();
            assert!(ends <= 1 && succeeded == 0, "{} closed after {until}: {:?}", protocol.name(), talk.outcome());
        }
    });
}

#[test]
fn garbage_ends_an_exchange_once_at_most() {
    each(|protocol, example| {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut talk = ConformanceSession::of(protocol, example);
            talk.play_opening(example);
            let mut response = example.turns[example.turns.len() - 1](talk.out.bytes());
            // Some responses are valid up to a point.
            response.truncate(rng.below(response.len() as u64 + 1) as usize * usize::from(seed % 2 == 0));
            response.extend((0..4096).map(|_| rng.next_u64() as u8));
            for piece in response.chunks(1 + rng.below(700) as usize) {
                talk.receive_piece(piece);
            }
            talk.session.peer_closed(&mut talk.done);
            assert!(talk.end_counts().0 <= 1, "{} seed {seed}: {:?}", protocol.name(), talk.outcome());
        }
    });
}

#[test]
fn an_endless_response_is_held_within_a_bound() {
    each(|protocol, example| {
        let before = HELD.get();
        let mut talk = ConformanceSession::of(protocol, example);
        talk.play_opening(example);
        let (start, more) = example.endless;
        talk.receive_piece(&start(&[]));
        let piece = more(&[]);
        let mut fed = 0;
        while fed < ENDLESS && talk.broken.is_none() {
            talk.receive_piece(&piece);
            fed += piece.len();
            let held = HELD.get() - before;
            assert!(held < MOST, "{} holds {held} bytes after {fed}", protocol.name());
        }
        assert_eq!(talk.end_counts().1, 0, "{}: {:?}", protocol.name(), talk.outcome());
    });
}

#[test]
fn the_values_of_a_list_stay_apart_whatever_stands_in_them() {
    let mixed = brunt_protocols::all().pop().expect("flows of several protocols");
    let names = ["http", "websocket", "grpc", "redis", "mysql", "postgres"];
    for example in names.map(|name| listing(name).expect(name)) {
        let talk = play_example(&*mixed, &example, (usize::MAX, 0));
        assert_eq!((talk.end_counts(), &talk.broken), ((1, 1), &None), "{}: {:?}", example.url, talk.outcome());
        let mut memory = UserState::default();
        for event in talk.done.events {
            if let Event::StateUpdate(_, lesson) = event {
                let request = &talk.workload.requests()[0].request;
                talk.workload.update_state(request, &SlotContext::default(), lesson, &mut memory);
            }
        }
        let values: Vec<_> = (0..).map_while(|nth| memory.values.element(0, nth)).collect();
        assert_eq!(values, [&b"a,b"[..], b"c"], "{}", example.url);
    }
}
