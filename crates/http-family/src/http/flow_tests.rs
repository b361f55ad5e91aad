//! Tests of flow steps in both versions: checks per step, captures, and the use of captured values.

use std::sync::Arc;

use brunt_contract::Protocol;
use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, FaultKind, Origin, OutputBuffer, ProtocolConfig,
    RequestedUrl, SlotContext, UserState, Workload,
};

use super::Http;

/// A login that returns a token, a page that uses it, and a page that may be missing.
fn prepared(version: &str) -> Arc<dyn Workload> {
    let url = |url: &str| RequestedUrl { url: url.into(), weight: 1.0 };
    let own =
        |options: &[(&str, &str)]| options.iter().map(|(n, v)| ((*n).to_owned(), vec![(*v).to_owned()])).collect();
    let asked = ProtocolConfig {
        urls: vec![url("http://h/login"), url("http://h/page/{token}?{id | url}"), url("http://h/none")],
        url_options: vec![
            [("capture".to_owned(), vec!["token json $.token".to_owned(), "id header X-Id".to_owned()])].into(),
            own(&[("header", "Authorization: Bearer {token}"), ("data", "t={token}"), ("expect-body", "got {token}")]),
            own(&[("expect-status", "404")]),
        ],
        options: [(version.to_owned(), vec![String::new()])].into(),
        variables: Arc::from(["token".to_owned(), "id".to_owned()]),
        ..ProtocolConfig::default()
    };
    Http.prepare(&asked).unwrap_or_else(|complaint| panic!("{complaint}"))
}

const VERSIONS: [&str; 2] = ["no-slots-here", "http2"];

/// Returns the request with this index as HTTP/1 bytes or an HTTP/2 transcript, for a user with this state.
fn said(workload: &Arc<dyn Workload>, index: usize, memory: &UserState) -> String {
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    let mut out = OutputBuffer::default();
    session.open(&mut out);
    let fill = SlotContext { values: &memory.values, ..SlotContext::default() };
    session.submit_with(ExchangeId(1), &workload.requests()[index].request, &fill, memory, &mut out).expect("room");
    let sent = workload.display_bytes(&EstablishedConnection::default(), out.bytes(), &[]).map(|[sent, _]| sent);
    String::from_utf8(sent.unwrap_or_else(|| out.bytes().to_vec())).expect("text")
}

/// Plays an HTTP/1 response to the request with this index.
fn ended(
    workload: &Arc<dyn Workload>,
    index: usize,
    memory: &mut UserState,
    response: &str,
) -> (Option<FaultKind>, String) {
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let fill = SlotContext { random: 9, ..SlotContext::default() };
    let request = &workload.requests()[index].request;
    session
        .submit_with(ExchangeId(1), request, &SlotContext { values: &memory.values, ..fill }, memory, &mut out)
        .expect("room");
    // Two pieces, so that head and body are buffered.
    let (first, second) = response.split_at(response.len() / 2);
    for piece in [first, second] {
        session.receive(piece.as_bytes(), &mut out, &mut done).expect("well formed");
    }
    let mut what = None;
    for event in done.events {
        match event {
            Event::StateUpdate(_, lesson) => drop(workload.update_state(request, &fill, lesson, memory)),
            Event::Ended(ended) => {
                what = Some((ended.fault, ended.cause.map(|why| why.to_string()).unwrap_or_default()))
            }
            _ => {}
        }
    }
    what.expect("an end")
}

#[test]
fn a_value_is_carried_in_url_header_body_and_what_is_expected() {
    for version in VERSIONS {
        let dialogue = prepared(version);
        let mut memory = UserState::default();
        memory.values.set(0, b"a/b c\r\nX: y");
        memory.values.set(1, "é&".as_bytes());
        let text = said(&dialogue, 1, &memory);
        assert!(text.contains("/page/a/b%20c%0D%0AX:%20y?%C3%A9%26"), "{version}: {text}");
        assert!(text.contains("Bearer a/b c  X: y"), "no line of its own: {version}: {text}");
        let length = "t=a/b c\r\nX: y".len();
        assert!(text.to_ascii_lowercase().contains(&format!("content-length: {length}")), "{version}: {text}");
        let nobody = said(&dialogue, 1, &UserState::default());
        assert!(nobody.contains("/page/?"), "{version}: {nobody}");
    }
}

#[test]
fn what_a_response_gives_is_its_users() {
    let dialogue = prepared("no-slots-here");
    let mut memory = UserState::default();
    let body = r#"{"token": "tok-1"}"#;
    let response = format!("HTTP/1.1 200 OK\r\nX-Id: 7\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(ended(&dialogue, 0, &mut memory, &response), (None, String::new()));
    assert_eq!((memory.values.get(0), memory.values.get(1)), (Some(&b"tok-1"[..]), Some(&b"7"[..])));
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngot tok-1";
    assert_eq!(ended(&dialogue, 1, &mut memory, page).0, None);
    let other = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngot tok-2";
    assert_eq!(ended(&dialogue, 1, &mut memory, other).0, Some(FaultKind::WrongBody));
}

#[test]
fn what_is_missing_fails_the_request_and_gives_nothing() {
    let dialogue = prepared("no-slots-here");
    let mut memory = UserState::default();
    let (fault, why) = ended(&dialogue, 0, &mut memory, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{\"a\": 1}");
    assert_eq!(fault, Some(FaultKind::WrongHeader));
    assert_eq!(why, "header X-Id found nothing; the response has Content-Length");
    let (fault, why) =
        ended(&dialogue, 0, &mut memory, "HTTP/1.1 200 OK\r\nX-Id: 1\r\nContent-Length: 8\r\n\r\n{\"a\": 1}");
    assert_eq!((fault, &*why), (Some(FaultKind::WrongBody), "json $.token found nothing; the body is {\"a\": 1}"));
    assert_eq!((memory.values.get(0), memory.values.get(1)), (None, None));
}

#[test]
fn each_url_has_the_checks_it_asks_for() {
    let dialogue = prepared("no-slots-here");
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(ended(&dialogue, 2, &mut UserState::default(), missing).0, None);
    assert_eq!(ended(&dialogue, 0, &mut UserState::default(), missing).0, Some(FaultKind::WrongStatus));
    let there = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(ended(&dialogue, 2, &mut UserState::default(), there).0, Some(FaultKind::WrongStatus));
}

/// A request that captures from the trailers and requires some of them.
fn behind() -> Arc<dyn Workload> {
    let asked = ProtocolConfig {
        urls: vec![RequestedUrl { url: "http://h/".into(), weight: 1.0 }],
        url_options: vec![[("capture".to_owned(), vec!["token trailer X-Sum | last".to_owned()])].into()],
        options: [("expect-trailer".to_owned(), vec!["Server-Timing: db;*".to_owned()])].into(),
        variables: Arc::from(["token".to_owned()]),
        ..ProtocolConfig::default()
    };
    Http.prepare(&asked).unwrap_or_else(|complaint| panic!("{complaint}"))
}

#[test]
fn what_comes_behind_a_body_is_taken_and_must_be_there() {
    let response =
        |trailers: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n{trailers}\r\n");
    let cases = [
        ("x-sum: 1\r\nServer-Timing: db;dur=3\r\nX-Sum:  2 \r\n", None, ""),
        (
            "Server-Timing: db;dur=3\r\nX-Some: 2\r\n",
            Some(FaultKind::WrongHeader),
            "trailer X-Sum | last found nothing; the trailers are Server-Timing, X-Some",
        ),
        (
            "Server-Timing: cpu\r\nX-Sum: 2\r\n",
            Some(FaultKind::WrongHeader),
            "expected the trailer Server-Timing: db;*, found Server-Timing: cpu",
        ),
        ("", Some(FaultKind::WrongHeader), "expected the trailer Server-Timing: db;*, there are no trailers"),
    ];
    for (trailers, fault, why) in cases {
        let mut memory = UserState::default();
        assert_eq!(ended(&behind(), 0, &mut memory, &response(trailers)), (fault, why.to_owned()));
        let taken = fault.is_none().then_some(&b"2"[..]);
        assert_eq!(memory.values.get(0), taken, "{trailers}");
    }
    let sized = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(ended(&behind(), 0, &mut UserState::default(), sized).0, Some(FaultKind::WrongHeader));
}
