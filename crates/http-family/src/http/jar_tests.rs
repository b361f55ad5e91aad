//! Tests of cookies set by responses, in both versions: what is sent, by which user, and after which redirect.

use std::sync::Arc;

use brunt_contract::{
    Event, EventBuffer, ExchangeId, FaultKind, Origin, OutputBuffer, SlotContext, StateUpdate, UserState, Workload,
};

use super::tests::{established, prepare};
use crate::http2::frames;

const NOW: SlotContext<'static> = SlotContext {
    number: 5,
    user: 7,
    random: 3,
    unix_ns: 1_700_000_000_000_000_000,
    run: 1,
    sequence: 0,
    values: brunt_contract::UserValues::NONE,
};

/// Returns what a user with this state sends for a request, as a transcript.
fn sent(workload: &Arc<dyn Workload>, request: &brunt_contract::Request, memory: &UserState) -> String {
    let mut session = workload.session(&Origin::default(), &established(None));
    let mut out = OutputBuffer::default();
    session.open(&mut out);
    session.submit_with(ExchangeId(0), request, &NOW, memory, &mut out).expect("room");
    let bytes = [out.bytes(), out.tail().map(|tail| &**tail).unwrap_or_default()].concat();
    let shown = workload.display_bytes(&established(None), &bytes, &[]).map_or(bytes, |[sent, _]| sent);
    String::from_utf8(shown).expect("text")
}

/// Returns the `Cookie` lines of a text, in lower case.
fn cookies(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches(['>', ' ']).to_ascii_lowercase());
    lines.filter(|line| line.starts_with("cookie:")).collect()
}

/// Plays a response with these header lines.
fn answered(
    workload: &Arc<dyn Workload>,
    two: bool,
    request: &brunt_contract::Request,
    status: u16,
    lines: &[(&str, &str)],
) -> EventBuffer {
    let mut session = workload.session(&Origin::default(), &established(None));
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.open(&mut out);
    session.submit_with(ExchangeId(0), request, &NOW, &UserState::default(), &mut out).expect("room");
    let mut answer = Vec::new();
    if two {
        let mut block = Vec::new();
        crate::http2::hpack::literal(b":status", status.to_string().as_bytes(), &mut block);
        for (name, value) in lines {
            crate::http2::hpack::literal(name.as_bytes(), value.as_bytes(), &mut block);
        }
        frames::put(frames::SETTINGS, 0, 0, &[], &mut answer);
        frames::put(frames::HEADERS, frames::END_HEADERS | frames::END_STREAM, 1, &block, &mut answer);
    } else {
        let lines: String = lines.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        answer.extend_from_slice(format!("HTTP/1.1 {status} X\r\n{lines}Content-Length: 0\r\n\r\n").as_bytes());
    }
    session.receive(&answer, &mut out, &mut done).expect("a good answer");
    done
}

/// Applies the events like the engine: a state update comes directly before the end. Returns the redirected request.
fn kept(
    workload: &Arc<dyn Workload>,
    request: &brunt_contract::Request,
    done: EventBuffer,
    memory: &mut UserState,
) -> Option<std::sync::Arc<brunt_contract::Request>> {
    let mut update: Option<StateUpdate> = None;
    for event in done.events {
        match event {
            Event::StateUpdate(_, learnt) => update = Some(learnt),
            Event::Ended(ended) => {
                assert_eq!(ended.fault, None);
                if let Some(lesson) = update.take() {
                    workload.update_state(request, &NOW, lesson, memory);
                }
                return ended.follow_up.map(|follow| follow.request);
            }
            _ => {}
        }
    }
    None
}

const VERSIONS: [(&str, bool); 2] = [("http=1.1", false), ("http2", true)];

#[test]
fn what_an_answer_sets_is_sent_back_beside_what_the_request_says_itself() {
    for (version, two) in VERSIONS {
        for (own, expected) in [
            (&[][..], "cookie: sid=s1; x=2"),
            (&["header=Cookie: theme=dark; sid=0"], "cookie: theme=dark; sid=s1; x=2"),
            (&["header=Cookie: uid={user}", "data={\"n\":{counter}}"], "cookie: uid=7; sid=s1; x=2"),
            (&["header=Cookie: id={k={counter}}", "data={k}"], "cookie: id=5; sid=s1; x=2"),
        ] {
            let dialogue =
                prepare("http://h.example/a/{counter}?q", &[&[version, "cookie-jar"], own].concat()).unwrap();
            let request = &dialogue.requests()[0].request;
            assert!(dialogue.prepared().keeps_state && dialogue.prepared().has_slots);
            let mut memory = UserState::default();
            let before = cookies(&sent(&dialogue, request, &memory));
            assert_eq!(before.len(), own.len().min(1), "{version}: {before:?}");
            let lines = [
                ("set-cookie", "sid=s1; Path=/; HttpOnly"),
                ("set-cookie", "x=2; Path=/a"),
                ("set-cookie", "deep=3; Path=/a/6"),
            ];
            let done = answered(&dialogue, two, request, 200, &lines);
            assert!(kept(&dialogue, request, done, &mut memory).is_none());
            let text = sent(&dialogue, request, &memory);
            // The longer path comes first.
            let swapped = expected.replace("sid=s1; x=2", "x=2; sid=s1");
            assert_eq!(cookies(&text), [swapped], "{version}: {text}");
            let shown = String::from_utf8(dialogue.encoded_with(request, &NOW, Some(&memory))).expect("text");
            assert_eq!(cookies(&shown), cookies(&text), "an example shows what was sent");
            assert_eq!(cookies(&sent(&dialogue, request, &UserState::default())), before, "another user has none");
        }
    }
}

#[test]
fn a_hop_carries_what_the_answer_before_it_set_and_only_where_it_belongs() {
    for (version, two) in VERSIONS {
        for (location, expected) in [("/home", vec!["cookie: own=1; sid=s1"]), ("http://other.example/", vec![])] {
            let options = [version, "cookie-jar", "redirects=3", "header=Cookie: own=1"];
            let dialogue = prepare("http://h.example/login", &options).unwrap();
            let request = &dialogue.requests()[0].request;
            let mut memory = UserState::default();
            let done = answered(&dialogue, two, request, 302, &[("location", location), ("set-cookie", "sid=s1")]);
            let hop = kept(&dialogue, request, done, &mut memory).expect("a hop");
            assert_eq!(cookies(&sent(&dialogue, &hop, &memory)), expected, "{version} {location}");
        }
    }
}

/// Cookies are not added to the peer's HPACK table, so header blocks stay valid whatever the jar holds.
#[test]
fn the_peers_table_stays_right_whatever_the_jar_holds() {
    let dialogue = prepare("http://h/", &["http2", "cookie-jar", "streams=9", "header=X-A: b"]).unwrap();
    let request = &dialogue.requests()[0].request;
    let mut session = dialogue.session(&Origin::default(), &established(None));
    let (mut out, mut memory) = (OutputBuffer::default(), UserState::default());
    session.open(&mut out);
    let head = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=s1\r\n\r\n";
    for (id, expected) in [(0, 0), (1, 1), (2, 1)] {
        let from = out.bytes().len();
        session.submit_with(ExchangeId(id), request, &NOW, &memory, &mut out).expect("room");
        let [text, _] = dialogue.display_bytes(&established(None), out.bytes(), &[]).expect("readable");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(text.matches("x-a: b").count(), id as usize + 1, "{text}");
        assert_eq!(cookies(&text).len(), (0..=id).filter(|id| *id > 0).count(), "{text}");
        assert!(out.bytes().len() > from && cookies(&text).len() >= expected);
        let lesson =
            crate::cookies::read_set_cookies(head, &crate::cookies::budget()).expect("room").expect("a cookie");
        let lesson = crate::http1::captures::HttpStateUpdate {
            cookies: Some(lesson),
            values: Default::default(),
            resources: None,
            cache: None,
        };
        dialogue.update_state(request, &NOW, Box::new(lesson), &mut memory);
    }
}

#[test]
fn without_the_option_nobody_keeps_anything() {
    let dialogue = prepare("http://h/", &[]).unwrap();
    assert!(!dialogue.prepared().keeps_state && !dialogue.prepared().has_slots);
    let done = answered(&dialogue, false, &dialogue.requests()[0].request, 200, &[("Set-Cookie", "a=1")]);
    assert!(!done.events.iter().any(|event| matches!(event, Event::StateUpdate(..))));
}

#[test]
fn a_failure_still_sets_cookies() {
    let dialogue = prepare("http://h/", &["cookie-jar"]).unwrap();
    let request = &dialogue.requests()[0].request;
    let done = answered(&dialogue, false, request, 401, &[("Set-Cookie", "csrf=1")]);
    let kinds: Vec<Option<Option<FaultKind>>> = done
        .events
        .iter()
        .map(|event| match event {
            Event::Ended(ended) => Some(ended.fault),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, [None, Some(Some(FaultKind::WrongStatus))]);
}
