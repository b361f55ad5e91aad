//! Side messages on a connection, wherever the server's bytes are split.

use super::*;

/// An open session and everything it sent.
struct OpenedSession<'a> {
    workload: &'a Arc<dyn Workload>,
    session: Box<dyn Session>,
    out: OutputBuffer,
    done: EventBuffer,
    replies: u32,
}

impl<'a> OpenedSession<'a> {
    fn new(workload: &'a Arc<dyn Workload>) -> OpenedSession<'a> {
        let fill = SlotContext { number: 7, user: 4, ..SlotContext::default() };
        let established = EstablishedConnection { context: fill, ..EstablishedConnection::default() };
        let mut session = workload.session(&workload.origins()[0], &established);
        let mut out = OutputBuffer::default();
        session.open(&mut out);
        OpenedSession { workload, session, out, done: EventBuffer::default(), replies: 0 }
    }

    /// Feeds pieces, and sends the replies due after each.
    fn hear(&mut self, pieces: &[&[u8]]) -> Result<(), &'static str> {
        for piece in pieces {
            let read = self.session.receive(piece, &mut self.out, &mut self.done);
            self.replies += self.session.write_replies(0, &mut self.out);
            read.map_err(|broken| &*broken.to_string().leak())?;
        }
        Ok(())
    }

    fn submit(&mut self, number: u32) -> u64 {
        submit(self.workload, &mut self.session, number, &mut self.out);
        self.session.sequence()
    }

    /// Returns the bytes sent since the last call, as text.
    fn said(&mut self) -> String {
        let said = String::from_utf8_lossy(self.out.bytes()).into_owned();
        self.out.clear();
        said
    }
}

/// Returns every split of the bytes into two pieces, and the split into single bytes.
fn cuts(bytes: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut all: Vec<Vec<&[u8]>> = (0..=bytes.len())
        .map(|at| [&bytes[..at], &bytes[at..]].into_iter().filter(|piece| !piece.is_empty()).collect())
        .collect();
    all.push(bytes.chunks(1).collect());
    all
}

const LOGIN: [(&str, &str); 5] = [
    ("send", "GET {sequence}\\n"),
    ("until", "\\n"),
    ("greeting", ""),
    ("on-connect", "LOGIN {counter} {user} {sequence}\\n=>^OK"),
    ("reply", "^PING ?(.*)\\n=>PONG {captured} {sequence}\\n"),
];

#[test]
fn a_login_on_every_connection_then_requests_and_pings() {
    let dialogue = dialogue("tcp", &LOGIN);
    for opening in cuts(b"220 hello\nOK 4\n") {
        let mut line = OpenedSession::new(&dialogue);
        assert_eq!((line.session.is_opening(), line.session.room(), line.said()), (true, 0, String::new()));
        line.hear(&opening).expect("good");
        assert_eq!((line.session.is_opening(), line.session.room()), (false, 1));
        assert_eq!((line.said(), line.session.opening_messages()), ("LOGIN 7 4 1\n".into(), 1));
        assert_eq!(line.submit(0), 2);
        for answer in cuts(b"PING a b\nresult\n") {
            line.hear(&answer).expect("good");
            line.submit(1);
            assert_eq!(events(&mut line.done).len(), 1);
        }
        let said = line.said();
        assert!(said.starts_with("GET 2\nPONG a b 3\nGET 4\nPONG a b 5\nGET 6\n"), "{said}");
        assert_eq!(line.replies, 18);
    }
}

#[test]
fn another_answer_is_a_refusal_and_shown() {
    let dialogue = dialogue("tcp", &LOGIN);
    for pieces in cuts(b"220\nPING x\nNO, you\nOK\n") {
        let mut line = OpenedSession::new(&dialogue);
        let why = line.hear(&pieces).expect_err("it was refused");
        assert_eq!(why, "the response to the opening message is not what --on-connect waits for");
        assert_eq!(
            (line.session.refusal_kind(), line.session.partial_response()),
            (FaultKind::WrongBody, &b"NO, you\n"[..])
        );
        assert_eq!((line.session.room(), line.session.opening_messages()), (0, 1));
    }
}

#[test]
fn messages_that_nobody_knows_break_the_connection_as_before() {
    let dialogue = dialogue("tcp", &[("until", "\\n"), ("reply", "^a=>b"), ("on-connect", "hi")]);
    for pieces in cuts(b"a\nx\n") {
        let mut line = OpenedSession::new(&dialogue);
        assert_eq!((line.said(), line.session.room()), ("hi".into(), 1), "nothing is awaited");
        assert_eq!(line.hear(&pieces), Err("unsolicited bytes"));
        assert_eq!(events(&mut line.done), ["stray"]);
        assert_eq!(line.session.refusal_kind(), FaultKind::BrokenProtocol);
    }
}

#[test]
fn with_a_field_answers_are_known_before_prompts() {
    let options = [
        ("until-length", "at 1, 1 byte"),
        ("match", "at 0, 1 byte"),
        ("pipeline", "2"),
        ("reply", "^(.)=>{captured}!"),
    ];
    let dialogue = dialogue("tcp", &options);
    for pieces in cuts(b"\x09\x01x\x01\x01y\x00\x01z\x08\x00") {
        let mut line = OpenedSession::new(&dialogue);
        line.submit(0);
        line.submit(1);
        line.said();
        line.hear(&pieces).expect("good");
        assert_eq!(events(&mut line.done), ["1 - 0 3", "0 - 0 3"]);
        assert_eq!((line.said(), line.replies), ("\x09!\x08!".into(), 2));
    }
}

/// Covers MQTT at its lowest quality of service: a connection is accepted, and published messages are not answered.
#[test]
fn messages_are_read_where_nobody_answers() {
    let options = [
        ("send", "0{length varint {b}}{b=\\x00\\x01t{pad 130 x}}"),
        ("no-answer", ""),
        ("until-length", "at 1, varint"),
        (
            "on-connect",
            "\\x10{length varint {b}}{b=\\x00\\x04MQTT\\x04\\x02\\x00\\x00\\x00\\x01a}=>^\\x20\\x02\\x00\\x00$",
        ),
        ("reply", "(?s)^\\x32.\\x00\\x01t(..)=>\\x40\\x02{captured}"),
    ];
    let dialogue = dialogue("tcp", &options);
    for accepted in cuts(b"\x20\x02\x00\x00") {
        let mut line = OpenedSession::new(&dialogue);
        assert_eq!(line.said(), "\x10\x0d\0\x04MQTT\x04\x02\0\0\0\x01a");
        line.hear(&accepted).expect("accepted");
        assert_eq!(submit(&dialogue, &mut line.session, 0, &mut line.out), SubmitOutcome::OneWay);
        assert_eq!((line.out.bytes().len(), &line.out.bytes()[..3]), (136, &b"0\x85\x01"[..]));
    }
    for pieces in cuts(b"\x20\x02\x00\x00\x32\x06\x00\x01t\x00\x07.\x30\x03\x00\x01t") {
        let mut line = OpenedSession::new(&dialogue);
        line.said();
        line.hear(&pieces).expect("good");
        assert_eq!(line.out.bytes(), b"\x40\x02\x00\x07");
        assert_eq!(events(&mut line.done), ["unsolicited 5"]);
    }
}

#[test]
fn what_was_sent_is_known_by_its_number() {
    let dialogue =
        dialogue("tcp", &[("send", "{sequence} {sequence below 3} {sequence from 10 u8 below 12}"), ("until", "\\n")]);
    let request = &dialogue.requests()[0].request;
    let mut line = OpenedSession::new(&dialogue);
    for number in 1..=4 {
        assert_eq!(line.submit(0), number);
        let fill = SlotContext { sequence: number, ..SlotContext::default() };
        assert_eq!(dialogue.encoded_with(request, &fill, None), line.out.bytes());
        line.said();
        line.hear(&[&b"\n"[..]]).expect("good");
    }
    assert_eq!(dialogue.encoded(request), b"1 1 \x0a");
    let fill = SlotContext { sequence: 4, ..SlotContext::default() };
    assert_eq!(dialogue.encoded_with(request, &fill, None), b"4 2 \x0b");
}
