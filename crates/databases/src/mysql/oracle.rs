//! A whole session fed with arbitrary server bytes, for the tests and the fuzz target.
//!
//! However the bytes are split, the result must be the same: the bytes sent, the exchanges ended, and the error.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeEnd, ExchangeId, OutputBuffer, Protocol, ProtocolConfig,
    ProtocolError, RequestedUrl, SlotContext, Workload,
};

use super::MysqlProtocol;
use super::codec::put_packet;
use brunt_values::capture::CapturedValues;

/// The URL and account of these sessions.
pub const URL: &str = "mysql://user:password@127.0.0.1/db";

/// Feeds arbitrary bytes to the client, both from the beginning of a connection and as answers on an open one: whole,
/// split at `at`, and byte by byte.
pub fn check_answers(bytes: &[u8], at: usize) {
    let dialogue = dialogue(&[
        ("sql", "SELECT a FROM t WHERE id = {counter}"),
        ("sql", "BEGIN; INSERT INTO t VALUES ({counter}, '{random 4}'); COMMIT"),
        ("sql", "SELECT 1"),
        ("expect-rows", "0..2"),
    ]);
    for script in 0..4 {
        // The last script is a server that never sent a greeting.
        let turns = if script < 3 { vec![opening(), bytes.to_vec()] } else { vec![bytes.to_vec()] };
        let whole = play_turns(&dialogue, &turns, script, TurnSplit::Nowhere);
        let last = turns.len() - 1;
        assert_eq!(play_turns(&dialogue, &turns, script, TurnSplit::At(last, at.min(bytes.len()))), whole);
        assert_eq!(play_turns(&dialogue, &turns, script, TurnSplit::Everywhere), whole);
    }
}

/// Feeds arbitrary bytes as the answer to a statement with captures, whole and split at `at`: the captured values must
/// be the same.
pub fn check_captures(bytes: &[u8], at: usize) {
    for capture in ["a column 1 | all", "a column id", "a rows"] {
        let dialogue = dialogue(&[("sql", "SELECT id FROM t"), ("capture", capture)]);
        let turns = vec![
            [greeting("mysql_native_password", CAPABILITIES, 0), packet(2, &[0, 0, 0, 2, 0, 0, 0])].concat(),
            bytes.to_vec(),
        ];
        let whole = play_turns(&dialogue, &turns, 0, TurnSplit::Nowhere);
        assert_eq!(play_turns(&dialogue, &turns, 0, TurnSplit::At(1, at.min(bytes.len()))), whole);
        assert_eq!(play_turns(&dialogue, &turns, 0, TurnSplit::Everywhere), whole);
    }
}

/// How a server's turns are split into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnSplit {
    /// Each turn is one piece.
    Nowhere,
    /// One turn is split in two.
    At(usize, usize),
    /// Each byte is a piece.
    Everywhere,
}

impl TurnSplit {
    fn pieces(self, turn: usize, bytes: &[u8]) -> Vec<&[u8]> {
        match self {
            TurnSplit::At(cut, at) if cut == turn => {
                let (a, b) = bytes.split_at(at);
                vec![a, b]
            }
            TurnSplit::Everywhere => bytes.chunks(1).collect(),
            _ => vec![bytes],
        }
    }
}

/// Prepares a workload with these options.
///
/// # Panics
/// Panics if the options are not valid.
pub fn dialogue(options: &[(&str, &str)]) -> Arc<dyn Workload> {
    let urls = vec![RequestedUrl { url: URL.to_owned(), weight: 1.0 }];
    let mut asked = ProtocolConfig { urls, variables: ["a".to_owned()].into(), ..ProtocolConfig::default() };
    for (name, value) in options {
        asked.options.entry((*name).to_owned()).or_default().push((*value).to_owned());
    }
    MysqlProtocol.prepare(&asked).expect("valid options")
}

/// Returns the greeting of a server with these capabilities. `plugin` is the authentication method it proposes.
pub fn greeting(plugin: &str, capabilities: u32, further: u32) -> Vec<u8> {
    let mut text = b"\x0a8.0.36\0\x07\0\0\0abcdefgh\0".to_vec();
    text.extend_from_slice(&capabilities.to_le_bytes()[..2]);
    text.extend_from_slice(b"\x2d\x02\0");
    text.extend_from_slice(&capabilities.to_le_bytes()[2..]);
    text.extend_from_slice(b"\x15\0\0\0\0\0\0");
    text.extend_from_slice(&further.to_le_bytes());
    text.extend_from_slice(b"ijklmnopqrst\0");
    text.extend_from_slice(plugin.as_bytes());
    text.push(0);
    packet(0, &text)
}

/// MySQL's relevant capabilities without TLS, including DEPRECATE_EOF.
pub const CAPABILITIES: u32 = 0x0109_820f;

/// Returns one packet.
pub fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_packet(number, payload, &mut bytes);
    bytes
}

/// Returns the server's bytes until the connection is open, with the two statements of [`check_answers`] prepared.
fn opening() -> Vec<u8> {
    let mut bytes = greeting("mysql_native_password", CAPABILITIES, 0);
    bytes.extend(packet(2, &[0, 0, 0, 2, 0, 0, 0]));
    bytes.extend(packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]));
    bytes.extend(packet(2, b"parameter"));
    bytes.extend(packet(3, b"column"));
    bytes.extend(packet(1, &[0, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]));
    bytes.extend(packet(2, b"parameter"));
    bytes.extend(packet(3, b"parameter"));
    bytes
}

/// The result of a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MysqlTranscript {
    /// Bytes sent by the session.
    pub sent: Vec<u8>,
    /// Descriptions of the ended exchanges.
    pub ended: Vec<String>,
    /// Protocol error, if any.
    pub broken: Option<ProtocolError>,
    /// Error message of the server.
    pub error_text: String,
    /// Number of further exchanges that the session accepts.
    pub room: usize,
    /// Set if the session is still opening.
    pub opening: bool,
}

/// Plays a server's turns. Before each turn, the next request is submitted if there is room, beginning with number
/// `first`.
pub fn play_turns(workload: &Arc<dyn Workload>, turns: &[Vec<u8>], first: usize, cut: TurnSplit) -> MysqlTranscript {
    let mut session = workload.session(&workload.origins()[0], &EstablishedConnection::default());
    let (mut out, mut done, mut outcome) =
        (OutputBuffer::default(), EventBuffer::default(), MysqlTranscript::default());
    session.open(&mut out);
    let mut next = first;
    for (turn, bytes) in turns.iter().enumerate() {
        if session.room() > 0 {
            let request = &workload.requests()[next % workload.requests().len()].request;
            let fill = SlotContext { number: next as u64, random: 7 * next as u64, ..SlotContext::default() };
            assert_eq!(
                session.submit(ExchangeId(next as u32), request, &fill, &mut out),
                Ok(brunt_contract::SubmitOutcome::AwaitingResponse)
            );
            next += 1;
        }
        for piece in cut.pieces(turn, bytes) {
            if outcome.broken.is_none() {
                outcome.broken = session.receive(piece, &mut out, &mut done).err();
            }
        }
        if session.starts_tls() && outcome.broken.is_none() {
            session.tls_established(&mut out);
        }
        for event in done.events.drain(..) {
            if let Event::StateUpdate(id, lesson) = &event {
                outcome.ended.push(format!("{} {:?}", id.0, lesson.downcast_ref::<CapturedValues>()));
            }
            if let Event::Ended(ExchangeEnd { id, fault, code, payload, excerpt, .. }) = event {
                let excerpt = String::from_utf8_lossy(excerpt.as_deref().unwrap_or_default()).into_owned();
                outcome.ended.push(format!("{} {fault:?} {code} {payload} {excerpt}", id.0).trim_end().to_owned());
            }
        }
    }
    outcome.sent = out.bytes().to_vec();
    outcome.error_text = String::from_utf8_lossy(session.partial_response()).into_owned();
    (outcome.room, outcome.opening) = (session.room(), session.is_opening());
    outcome
}
