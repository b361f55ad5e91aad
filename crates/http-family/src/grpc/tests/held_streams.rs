//! Steps on streams held open: sending, waiting, unread messages and `finish`, and streams that end early.

use brunt_contract::{ConnectionOwner, FaultKind, SubmitOutcome};

use super::*;
use crate::http2::frames::code;
use brunt_values::capture::CapturedValues;

/// The options of a step.
type StepOptions<'a> = &'a [(&'a str, &'a str)];

/// Returns a user's steps, each with its URL and options.
fn asked_steps(steps: &[(&str, StepOptions<'_>)]) -> ProtocolConfig {
    let mut asked = asked(BIDI, &[]);
    asked.urls = steps.iter().map(|(url, _)| RequestedUrl { url: (*url).into(), weight: 1.0 }).collect();
    (asked.is_composite_flow, asked.variables) = (true, vec!["v".to_owned()].into());
    let own = |(_, options): &(&str, StepOptions<'_>)| {
        options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect()
    };
    asked.url_options = steps.iter().map(own).collect();
    asked
}

fn steps(steps: &[(&str, StepOptions<'_>)]) -> GrpcClient {
    let dialogue = GrpcProtocol.prepare(&asked_steps(steps)).unwrap_or_else(|complaint| panic!("{complaint}"));
    assert_eq!(dialogue.origins().len(), 1, "streams to one server are on one connection");
    assert_eq!(dialogue.connection_owner(&dialogue.origins()[0]), ConnectionOwner::User);
    let mut talk = GrpcClient::new(dialogue);
    talk.hear(&settings(&[])).unwrap();
    talk.sent();
    talk
}

/// Begins a step, always as the same exchange, as the engine does for one user; returns its immediate result.
fn begin(talk: &mut GrpcClient, step: usize) -> (SubmitOutcome, Vec<String>) {
    let fill = SlotContext { number: step as u64, ..SlotContext::default() };
    let request = &talk.workload.requests()[step].request;
    let sent = talk.session.submit(ExchangeId(0), request, &fill, &mut talk.out).expect("room");
    let told = if sent == SubmitOutcome::AlreadyComplete { hear(talk, b"") } else { Vec::new() };
    (sent, told)
}

/// Feeds the server's bytes and returns the events as text.
fn hear(talk: &mut GrpcClient, bytes: &[u8]) -> Vec<String> {
    talk.hear(bytes).expect("good bytes");
    let word = |event: Event| match event {
        Event::Ended(ended) => Some(match ended.fault {
            None => format!("ends {} {}", ended.code, ended.payload),
            Some(kind) => {
                let status = ended.excerpt.map(|text| String::from_utf8_lossy(&text).into_owned());
                let said: Vec<String> = status.into_iter().chain(ended.cause.map(|why| why.to_string())).collect();
                format!("{kind:?} {}", said.join(": "))
            }
        }),
        Event::StateUpdate(_, lesson) => {
            let CapturedValues(values) = *lesson.downcast::<CapturedValues>().expect("values");
            Some(format!("takes {}", String::from_utf8_lossy(&values[0].bytes)))
        }
        Event::Unsolicited(size, _) => Some(format!("push of {size}")),
        Event::Refused(_) => Some("refused".to_owned()),
        Event::Released(_) => Some("released".to_owned()),
        _ => None,
    };
    talk.done.events.drain(..).filter_map(word).collect()
}

/// `Payload { text }`.
fn text(text: &str) -> Vec<u8> {
    [&[0x0a, text.len() as u8], text.as_bytes()].concat()
}

/// Returns the frames sent since the last call: type, stream, whether it ends the stream.
fn frames_sent(talk: &mut GrpcClient) -> Vec<(u8, u32, bool)> {
    let ends = |kind, flags: u8| (kind == frames::DATA || kind == frames::HEADERS) && flags & frames::END_STREAM != 0;
    talk.sent().into_iter().map(|(kind, flags, stream, _)| (kind, stream, ends(kind, flags))).collect()
}

const CHAT: &[(&str, StepOptions<'_>)] = &[
    (
        BIDI,
        &[
            ("stream", "chat"),
            ("data", "{\"text\": \"hi\"}"),
            ("await", "json $.text == \"hi\""),
            ("capture", "v json $.text"),
        ],
    ),
    (BIDI, &[("stream", "chat"), ("data", "{\"text\": \"a{counter}\"}"), ("one-way", "true")]),
    (BIDI, &[("stream", "chat"), ("await", "text late")]),
    (BIDI, &[("stream", "chat"), ("finish", "true"), ("expect-messages", "2"), ("expect-json", "$[0].text == early")]),
];

#[test]
fn a_stream_is_opened_once_and_held_until_it_is_finished() {
    let mut talk = steps(CHAT);
    assert_eq!(begin(&mut talk, 0), (SubmitOutcome::AwaitingResponse, vec![]));
    assert_eq!(frames_sent(&mut talk), [(frames::HEADERS, 1, false), (frames::DATA, 1, false)]);
    assert_eq!(talk.session.room(), 1, "a stream that is held is no exchange");
    let heard = hear(&mut talk, &[head(1), data(1, &[&text("other"), &text("hi")])].concat());
    assert_eq!(heard, ["takes hi", "ends 0 4"], "no status yet");
    assert_eq!(begin(&mut talk, 1).0, SubmitOutcome::OneWay);
    let (body, end) = talk.body(1);
    let mut said = Vec::new();
    framing::put(&text("a1"), &mut said);
    assert_eq!((body, end), (said, false), "on the same stream, with the values filled in");
    assert!(hear(&mut talk, &data(1, &[&text("early"), &text("late")])).is_empty());
    assert_eq!(begin(&mut talk, 2), (SubmitOutcome::AlreadyComplete, vec!["ends 0 6".to_owned()]), "it was there");
    assert_eq!(begin(&mut talk, 3).0, SubmitOutcome::AwaitingResponse);
    assert_eq!(frames_sent(&mut talk), [(frames::DATA, 1, true)]);
    let heard = hear(&mut talk, &trailers(1, "0"));
    assert_eq!(
        heard,
        ["WrongBody expected $[0].text == early, found \"other\""],
        "what nobody awaited is its response"
    );
    // The next round opens another stream.
    begin(&mut talk, 0);
    assert_eq!(frames_sent(&mut talk), [(frames::HEADERS, 3, false), (frames::DATA, 3, false)]);
}

#[test]
fn steps_count_the_messages_that_they_can_send() {
    let sent = |all: &[(&str, StepOptions<'_>)]| steps(all).workload.prepared().messages_per_request.clone();
    assert_eq!(sent(CHAT), [1, 1, 0, 0]);
    let finish: StepOptions<'_> = &[("stream", "chat"), ("finish", "true"), ("data", "{} {}")];
    assert_eq!(sent(&[CHAT[0], (BIDI, finish)]), [1, 2]);
    assert_eq!(sent(&[(BIDI, &[("stream", "chat"), ("finish", "true")])]), [1], "it opens the stream");
}

/// Begins a step, and keeps its events.
fn start(talk: &mut GrpcClient, step: usize) {
    let request = &talk.workload.requests()[step].request;
    let sent = talk.session.submit(ExchangeId(0), request, &SlotContext::default(), &mut talk.out).expect("room");
    if sent == SubmitOutcome::AlreadyComplete {
        talk.hear(b"").expect("nothing");
    }
}

/// Returns the number of messages reported as parts of responses while the server's bytes arrive and the steps begin.
fn counted(talk: &mut GrpcClient) -> usize {
    talk.done.events.drain(..).filter(|event| matches!(event, Event::Message(..))).count()
}

#[test]
fn messages_count_the_same_before_a_step_and_while_it_waits() {
    let messages = data(1, &[&text("late"), &text("z")]);
    for before in [false, true] {
        let mut talk = steps(CHAT);
        begin(&mut talk, 0);
        talk.hear(&[head(1), data(1, &[&text("hi")])].concat()).expect("good bytes");
        assert_eq!(counted(&mut talk), 1);
        if before {
            talk.hear(&messages).expect("good bytes");
        }
        start(&mut talk, 2);
        if !before {
            talk.hear(&messages).expect("good bytes");
        }
        assert_eq!(counted(&mut talk), 1, "the awaited one; before: {before}");
        start(&mut talk, 3);
        talk.hear(&trailers(1, "0")).expect("good bytes");
        assert_eq!(counted(&mut talk), 1, "the other, which the end reads; before: {before}");
    }
}

#[test]
fn what_comes_while_a_step_finishes_is_its_response_wherever_the_bytes_are_cut() {
    let bytes = [data(1, &[&text("early"), &text("z")]), trailers(1, "0")].concat();
    for cut in 0..=bytes.len() {
        let mut talk = steps(CHAT);
        begin(&mut talk, 0);
        hear(&mut talk, &[head(1), data(1, &[&text("hi")])].concat());
        begin(&mut talk, 3);
        let mut heard = hear(&mut talk, &bytes[..cut]);
        if cut < bytes.len() {
            heard.extend(hear(&mut talk, &bytes[cut..]));
        }
        assert_eq!(heard, ["ends 1 10"], "cut at {cut}");
        assert_eq!(talk.session.unread_messages(), 0);
    }
}

#[test]
fn a_stream_that_ends_early_fails_the_step_on_it_or_the_next_and_then_another_is_opened() {
    let mut talk = steps(CHAT);
    begin(&mut talk, 0);
    let refused = headers(1, &[("grpc-status", "7"), ("grpc-message", "not you")], true);
    assert_eq!(hear(&mut talk, &[head(1), refused].concat()), ["WrongStatus PERMISSION_DENIED: not you"]);
    begin(&mut talk, 0);
    hear(&mut talk, &[head(3), data(3, &[&text("hi"), &text("x")])].concat());
    assert!(hear(&mut talk, &trailers(3, "0")).is_empty(), "between two steps: the next hears of it");
    let told = begin(&mut talk, 2).1;
    assert_eq!(told, ["WrongBody the stream ended with OK before the message that this step waits for", "push of 3"]);
    let told = begin(&mut talk, 3).1;
    assert_eq!(told, ["Closed the stream is not open: it has already ended, or the step that opens it was skipped"]);
    talk.sent();
    begin(&mut talk, 0);
    assert_eq!(frames_sent(&mut talk)[0], (frames::HEADERS, 5, false));
}

#[test]
fn who_awaits_in_vain_gives_up_the_stream_where_what_comes_later_could_be_mistaken() {
    let any: &[(&str, StepOptions<'_>)] =
        &[(BIDI, &[("stream", "s"), ("data", "{}")]), (BIDI, &[("stream", "s"), ("await", "text x")])];
    let mut talk = steps(any);
    begin(&mut talk, 0);
    talk.sent();
    assert!(talk.session.cancel(ExchangeId(0), &mut talk.out), "the connection goes on");
    assert_eq!(frames_sent(&mut talk), [(frames::RST_STREAM, 1, false)]);
    let told = begin(&mut talk, 1).1;
    assert_eq!(told, ["WrongStatus CANCELLED: an earlier step did not get its message and gave up the stream"]);
    begin(&mut talk, 0);
    hear(&mut talk, &[head(3), data(3, &[&text("one")])].concat());
    begin(&mut talk, 1);
    talk.sent();
    assert!(talk.session.cancel(ExchangeId(0), &mut talk.out));
    assert!(frames_sent(&mut talk).is_empty(), "a message that comes later is told from what others await");
    hear(&mut talk, &data(3, &[&text("late")]));
    assert_eq!(talk.session.unread_messages(), 1, "left over: a push");
}

#[test]
fn client_and_server_streams_are_held_too() {
    let upload: &[(&str, StepOptions<'_>)] = &[
        (CLIENT, &[("stream", "up"), ("data", "{\"text\": \"a\"}"), ("one-way", "true")]),
        (
            CLIENT,
            &[("stream", "up"), ("data", "{\"text\": \"b\"}"), ("finish", "true"), ("expect-json", "$.messages == 2")],
        ),
    ];
    let mut talk = steps(upload);
    assert_eq!(begin(&mut talk, 0).0, SubmitOutcome::OneWay);
    assert_eq!(begin(&mut talk, 1).0, SubmitOutcome::AwaitingResponse);
    assert_eq!(frames_sent(&mut talk).last(), Some(&(frames::DATA, 1, true)));
    assert_eq!(hear(&mut talk, &[head(1), data(1, &[&[0x08, 2]]), trailers(1, "0")].concat()), ["ends 1 2"]);
    let feed: &[(&str, StepOptions<'_>)] = &[
        (SERVER, &[("stream", "feed"), ("data", "{\"count\": 3}"), ("await", "any")]),
        (
            SERVER,
            &[("stream", "feed"), ("finish", "true"), ("expect-messages", "1..2"), ("expect-status", "NOT_FOUND")],
        ),
    ];
    let mut talk = steps(feed);
    begin(&mut talk, 0);
    assert_eq!(frames_sent(&mut talk), [(frames::HEADERS, 1, false), (frames::DATA, 1, true)]);
    assert_eq!(hear(&mut talk, &[head(1), data(1, &[&text("1"), &text("2")])].concat()), ["ends 0 3"]);
    begin(&mut talk, 1);
    assert!(frames_sent(&mut talk).is_empty(), "our half was closed with the only message");
    assert_eq!(hear(&mut talk, &trailers(1, "5")), ["ends 6 3"]);
}

/// A one-way step and the step behind it, on a connection whose streams start with this window.
fn upload(window: u32) -> GrpcClient {
    let upload: &[(&str, StepOptions<'_>)] = &[
        (CLIENT, &[("stream", "up"), ("data", "{\"text\": \"aaaaaaaaaa\"}"), ("one-way", "true")]),
        (CLIENT, &[("stream", "up"), ("data", "{\"text\": \"b\"}"), ("finish", "true")]),
    ];
    let mut talk = steps(upload);
    hear(&mut talk, &settings(&[(frames::setting::INITIAL_WINDOW_SIZE, window)]));
    talk.sent();
    talk
}

#[test]
fn a_one_way_message_is_sent_once_the_window_let_all_of_it_pass() {
    let wider = |by: u32| frame(frames::WINDOW_UPDATE, 0, 1, &by.to_be_bytes());
    // Prefix, field head and text: 17 bytes.
    for window in [0, 5, 16] {
        let mut talk = upload(window);
        assert_eq!(begin(&mut talk, 0).0, SubmitOutcome::OneWayHeldBack, "{window}");
        if window < 16 {
            assert!(hear(&mut talk, &wider(16 - window)).is_empty(), "one byte is missing");
        }
        assert_eq!(hear(&mut talk, &wider(1)), ["released"]);
        assert_eq!(talk.body(1).0.len(), 17);
        assert!(hear(&mut talk, &wider(1)).is_empty(), "it is reported once");
    }
    let mut talk = upload(17);
    assert_eq!(begin(&mut talk, 0).0, SubmitOutcome::OneWay);
}

#[test]
fn a_one_way_message_fails_if_the_stream_ends_before_it_is_sent() {
    let ends: [(Vec<u8>, &str); 3] = [
        (trailers(1, "0"), "Closed the stream ended with OK before this message could be sent"),
        (trailers(1, "8"), "WrongStatus RESOURCE_EXHAUSTED"),
        (frame(frames::RST_STREAM, 0, 1, &code::CANCEL.to_be_bytes()), "WrongStatus CANCELLED"),
    ];
    for (end, told) in ends {
        let mut talk = upload(5);
        begin(&mut talk, 0);
        let heard = hear(&mut talk, &[head(1), data(1, &[&[0x08, 2]]), end].concat());
        assert!(heard[0].starts_with(told), "{heard:?}");
    }
}

#[test]
fn a_message_that_is_not_sent_in_time_takes_its_stream_along() {
    for step in [0, 1] {
        let mut talk = upload(5);
        begin(&mut talk, step);
        talk.sent();
        assert!(talk.session.cancel(ExchangeId(0), &mut talk.out), "the connection goes on");
        assert_eq!(frames_sent(&mut talk), [(frames::RST_STREAM, 1, false)]);
        let told = begin(&mut talk, 1).1;
        assert_eq!(
            told,
            ["WrongStatus CANCELLED: an earlier step could not send its message in time and gave up the stream"]
        );
    }
}

#[test]
fn what_the_server_did_nothing_for_is_sent_again_by_the_step_that_opened_it() {
    let mut talk = steps(CHAT);
    begin(&mut talk, 0);
    let refused = frame(frames::RST_STREAM, 0, 1, &code::REFUSED_STREAM.to_be_bytes());
    assert_eq!(hear(&mut talk, &refused), ["refused"]);
    begin(&mut talk, 1);
    let refused = frame(frames::RST_STREAM, 0, 3, &code::REFUSED_STREAM.to_be_bytes());
    assert!(hear(&mut talk, &refused).is_empty());
    let told = begin(&mut talk, 2).1;
    assert!(told[0].starts_with(&format!("{:?} the server refused the stream", FaultKind::Closed)), "{told:?}");
}

#[test]
fn mistakes_are_told_at_their_step() {
    let chat: (&str, StepOptions<'_>) = (BIDI, &[("stream", "chat"), ("data", "{}")]);
    let wrong: [(StepOptions<'_>, &str, &str); 12] = [
        (&[("await", "any")], BIDI, "URL 2, await: is for steps on a stream that is held open; write `stream: NAME`"),
        (&[("stream", "x"), ("data", "{}")], UNARY, "URL 2, stream: Unary is unary: there is no stream to hold open"),
        (
            &[("stream", "chat"), ("await", "any")],
            SERVER,
            "URL 2, stream: `chat` is already a stream of grpc://127.0.0.1:1/brunt.Target/Bidi",
        ),
        (
            &[("stream", "chat"), ("await", "any"), ("deadline", "1s")],
            BIDI,
            "URL 2, deadline: is for opening the stream",
        ),
        (&[("stream", "chat")], BIDI, "URL 2, stream: neither sends nor awaits anything"),
        (&[("stream", "chat"), ("await", "soon")], BIDI, "URL 2, await: `soon` is not a message to wait for"),
        (
            &[("stream", "chat"), ("await", "json $.txt == 1")],
            BIDI,
            "URL 2, await: \"$.txt == 1\": brunt.Payload has no field \"txt\"; write \"text\"",
        ),
        (
            &[("stream", "chat"), ("await", "any"), ("expect-status", "OK")],
            BIDI,
            "URL 2, expect-status: applies to the end of a stream",
        ),
        (
            &[("stream", "chat"), ("await", "any"), ("capture", "v status")],
            BIDI,
            "URL 2, capture: status is known only at the end of a stream",
        ),
        (
            &[("stream", "chat"), ("finish", "true"), ("await", "any")],
            BIDI,
            "URL 2, await: cannot be combined with `finish`",
        ),
        (&[("stream", "up"), ("data", "{}")], CLIENT, "URL 2, stream: responds once everything has been sent"),
        (
            &[("stream", "chat"), ("data", "{}"), ("one-way", "true"), ("await", "any")],
            BIDI,
            "URL 2, one-way: awaits no message",
        ),
    ];
    for (options, url, said) in wrong {
        let complaint =
            GrpcProtocol.prepare(&asked_steps(&[chat, (url, options)])).map_err(crate::bilingual).expect_err(said);
        assert!(complaint.starts_with(said), "{complaint}");
    }
    let mut outside = asked_steps(&[chat]);
    outside.is_composite_flow = false;
    let complaint = GrpcProtocol.prepare(&outside).map_err(crate::bilingual).expect_err("outside of a flow");
    assert_eq!(complaint, "URL 1, stream: is for steps of a flow; leave it out");
}
