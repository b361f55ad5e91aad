//! Tests of bodies that wait for `100 Continue`: when they are sent, when they never are, and whether the connection is
//! reused.

use brunt_measure::Nanos;
use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, Origin, OutputBuffer, Protocol, Session, SlotContext,
    SubmitOutcome, Workload,
};

use super::{Http1, asked, dialogue};

const ID: ExchangeId = ExchangeId(3);
const GO_ON: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";

/// An exchange in flight.
struct DeferredExchange {
    session: Box<dyn Session>,
    out: OutputBuffer,
    done: EventBuffer,
}

impl DeferredExchange {
    /// Submits a request; also returns the bytes sent at once.
    fn begin(workload: &Arc<dyn Workload>, context: &SlotContext) -> (DeferredExchange, String, SubmitOutcome) {
        let (mut session, mut out) =
            (workload.session(&Origin::default(), &EstablishedConnection::default()), OutputBuffer::default());
        let sent = session.submit(ID, &workload.requests()[0].request, context, &mut out).expect("room");
        let mut talk = DeferredExchange { session, out, done: EventBuffer::default() };
        let left = talk.take_sent();
        (talk, left, sent)
    }

    /// Takes the bytes sent since the last call.
    fn take_sent(&mut self) -> String {
        let bytes = [self.out.bytes(), self.out.tail().map(|tail| &**tail).unwrap_or_default()].concat();
        self.out.clear();
        String::from_utf8(bytes).expect("text")
    }

    fn receive(&mut self, bytes: &[u8]) -> String {
        self.session.receive(bytes, &mut self.out, &mut self.done).expect("nothing is broken");
        self.take_sent()
    }

    /// Formats the events.
    fn events(&mut self) -> Vec<String> {
        let said = |event: &Event| match event {
            Event::FirstByte(_) => "first byte".to_owned(),
            Event::RestNotSent(_) => "declined".to_owned(),
            Event::Ended(e) => {
                format!("{} {:?} {}", e.code, e.fault, e.cause.as_ref().map(|why| why.to_string()).unwrap_or_default())
            }
            other => format!("{other:?}"),
        };
        self.done.events.drain(..).map(|event| said(&event)).collect()
    }
}

fn expecting(more: &[&str]) -> Arc<dyn Workload> {
    dialogue("http://h/", &[&["expect-continue", "data=hello"], more].concat())
}

#[test]
fn the_body_leaves_when_it_is_asked_for_however_the_leave_is_cut() {
    let dialogue = expecting(&[]);
    for cut in 0..GO_ON.len() {
        let (mut talk, head, sent) = DeferredExchange::begin(&dialogue, &SlotContext::default());
        assert!(head.ends_with("\r\nExpect: 100-continue\r\n\r\n") && head.contains("Content-Length: 5\r\n"), "{head}");
        assert_eq!(sent, SubmitOutcome::AwaitingContinue(Nanos::from_secs(1)));
        assert_eq!(talk.receive(&GO_ON[..cut]), "", "at {cut}");
        assert_eq!(talk.receive(&GO_ON[cut..]), "hello", "at {cut}");
        assert_eq!(talk.receive(OK), "");
        let told = talk.events();
        assert_eq!(told.last().map(String::as_str), Some("200 None "), "at {cut}");
        assert!(!told.contains(&"declined".to_owned()));
        assert!(!talk.session.continue_request(ID, &mut talk.out), "it has left");
        assert_eq!(talk.session.room(), 1, "the connection goes on");
    }
}

#[test]
fn leave_to_go_on_is_not_the_first_byte_of_the_response() {
    let (mut talk, ..) = DeferredExchange::begin(&expecting(&[]), &SlotContext::default());
    talk.receive(b"HTTP/1.1 103 Early Hints\r\n\r\n");
    talk.receive(GO_ON);
    assert_eq!(talk.events(), [""; 0]);
    talk.receive(&OK[..30]);
    talk.receive(&OK[30..]);
    assert_eq!(talk.events(), ["first byte", "200 None "]);
}

#[test]
fn what_nobody_asked_for_leaves_after_the_wait() {
    let (mut talk, _, sent) = DeferredExchange::begin(&expecting(&["continue-wait=50ms"]), &SlotContext::default());
    assert_eq!(sent, SubmitOutcome::AwaitingContinue(Nanos::from_millis(50)));
    assert!(!talk.session.continue_request(ExchangeId(4), &mut talk.out), "another's wait is over");
    assert!(talk.session.continue_request(ID, &mut talk.out));
    assert_eq!(talk.take_sent(), "hello");
    assert!(!talk.session.continue_request(ID, &mut talk.out), "once");
    assert_eq!((talk.receive(GO_ON), talk.receive(OK)), (String::new(), String::new()), "leave that comes late");
    assert_eq!((talk.events().pop(), talk.session.room()), (Some("200 None ".to_owned()), 1));
}

/// RFC 9110 10.1.1: the server may still wait for the body it declined, so the connection cannot be reused.
#[test]
fn a_response_instead_of_leave_counts_and_ends_the_connection() {
    let instead = "a response came instead of 100 Continue, so the body was not sent";
    for (response, ended) in [(OK, "200 None ".to_owned()), (TOO_LARGE, format!("413 Some(WrongStatus) {instead}"))] {
        for cut in 0..response.len() {
            let (mut talk, ..) = DeferredExchange::begin(&expecting(&[]), &SlotContext::default());
            let left = talk.receive(&response[..cut]) + &talk.receive(&response[cut..]);
            assert_eq!(left, "");
            let told: Vec<String> = talk.events().into_iter().filter(|said| said != "first byte").collect();
            assert_eq!(told, ["declined", &ended]);
            assert_eq!(talk.session.room(), 0, "nothing more is sent on it");
            assert!(!talk.session.continue_request(ID, &mut talk.out));
        }
    }
}

/// The server asked for the body, so it is sent, whatever follows `100 Continue` in the same piece.
#[test]
fn leave_and_response_in_one_piece() {
    let (mut talk, ..) = DeferredExchange::begin(&expecting(&[]), &SlotContext::default());
    assert_eq!(talk.receive(&[GO_ON, OK].concat()), "hello");
    assert_eq!((talk.events(), talk.session.room()), (vec!["200 None ".to_owned()], 1));
}

#[test]
fn slots_in_head_and_body_are_filled_before_the_wait() {
    let fill = SlotContext { number: 41, ..SlotContext::default() };
    for (options, body) in [
        (&["data={\"n\":{counter}}"][..], "{\"n\":41}"),
        (&["data=same", "header=X-Id: {counter}"], "same"),
        (&["data={env PATH}"], &*std::env::var("PATH").expect("every process has one")),
    ] {
        let dialogue = dialogue("http://h/", &[&["expect-continue"], options].concat());
        let (mut talk, head, _) = DeferredExchange::begin(&dialogue, &fill);
        assert!(
            head.ends_with("\r\n\r\n") && head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())),
            "{head}"
        );
        assert_eq!(talk.receive(GO_ON), body);
    }
}

#[test]
fn a_line_of_the_users_has_the_same_meaning_where_there_is_a_body() {
    let said = |options: &[&str]| DeferredExchange::begin(&dialogue("http://h/", options), &SlotContext::default());
    let (_, head, sent) = said(&["header=Expect: 100-Continue", "data=x"]);
    assert!(head.ends_with("\r\n\r\n") && head.matches("Expect").count() == 1, "{head}");
    assert_eq!(sent, SubmitOutcome::AwaitingContinue(Nanos::from_secs(1)));
    // No body to hold back, or a server that does not know `Expect`.
    assert_eq!(said(&["header=Expect: 100-continue"]).2, SubmitOutcome::AwaitingResponse);
    assert_eq!(said(&["header=Expect: 100-continue", "data=x", "http=1.0"]).2, SubmitOutcome::AwaitingResponse);
    // An empty line removes the field, as with curl.
    let (_, head, sent) = said(&["header=Expect:", "data=x"]);
    assert!(
        !head.contains("Expect") && head.ends_with("\r\n\r\nx") && sent == SubmitOutcome::AwaitingResponse,
        "{head}"
    );
    assert!(Http1.prepare(&asked(&["http://h/"], &["header=Expect:", "data=x", "expect-continue"])).is_err());
}

#[test]
fn a_hop_without_a_body_expects_nothing() {
    let dialogue = dialogue("http://h/", &["data=x", "header=Expect: 100-continue", "redirects=1"]);
    let (mut talk, ..) = DeferredExchange::begin(&dialogue, &SlotContext::default());
    talk.receive(b"HTTP/1.1 303 See Other\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
    let follow = talk.done.events.iter().find_map(|event| match event {
        Event::Ended(ended) => ended.follow_up.as_ref(),
        _ => None,
    });
    let hop = String::from_utf8(dialogue.encoded(&follow.expect("a hop").request)).expect("text");
    assert!(hop.starts_with("GET /b ") && !hop.contains("Expect"), "{hop}");
}

#[test]
fn mistakes_are_named() {
    for (options, complaint) in [
        (
            &["expect-continue"][..],
            "--expect-continue: it has no effect: no request has a body, or -H removes Expect; add --data, or leave \
                it out",
        ),
        (
            &["expect-continue", "data=x", "http=1.0"],
            "--expect-continue: HTTP/1.0 has no 100 Continue; leave it out, or use --http 1.1",
        ),
        (
            &["expect-continue", "data=x", "http2"],
            "--expect-continue: it works with HTTP/1.1 only; leave it out, or use --http 1.1",
        ),
        (&["continue-wait=1s", "data=x"], "--continue-wait: needs --expect-continue; add it, or leave it out"),
        (
            &["expect-continue", "data=x", "continue-wait=soon"],
            "--continue-wait: \"soon\" is not a time from 1ms to 1h; use, for example, 1s",
        ),
    ] {
        let said = Http1.prepare(&asked(&["http://h/"], options)).map_err(crate::bilingual).expect_err("a mistake");
        assert_eq!(said, complaint);
    }
}
