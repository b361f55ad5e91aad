//! Tests of redirects.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, FollowUp, Origin, OutputBuffer,
    SlotContext, Workload,
};

use super::dialogue;

/// Responds to a request with a redirect, in two pieces split at `cut`.
fn hop(
    workload: &Arc<dyn Workload>,
    request: &brunt_contract::Request,
    answer: &str,
    cut: usize,
) -> (Option<FaultKind>, Option<Box<FollowUp>>) {
    let ended = visit(workload, request, answer.as_bytes().split_at(cut));
    (ended.fault, ended.follow_up)
}

/// Responds to a request in two pieces.
fn visit(workload: &Arc<dyn Workload>, request: &brunt_contract::Request, (a, b): (&[u8], &[u8])) -> ExchangeEnd {
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    session.submit(ExchangeId(3), request, &SlotContext::default(), &mut out).expect("room");
    for piece in [a, b] {
        session.receive(piece, &mut out, &mut done).expect("an answer");
    }
    assert_eq!(session.room(), 1);
    match done.events.pop() {
        Some(Event::Ended(ended)) => ended,
        other => panic!("{other:?}"),
    }
}

fn answer(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 3\r\n\r\nbye")
}

/// Returns origin, request line and the rest of the redirected request, shortened.
fn followed(url: &str, options: &[&str], status: u16, location: &str) -> (String, String) {
    let mut options = options.to_vec();
    options.push("redirects=2");
    options.extend(["header=User-Agent:", "header=Accept:"]);
    let dialogue = dialogue(url, &options);
    let answer = answer(status, location);
    let mut seen: Option<(String, String)> = None;
    for cut in 0..answer.len() {
        let (fault, follow) = hop(&dialogue, &dialogue.requests()[0].request, &answer, cut);
        assert_eq!(fault, None);
        let follow = follow.expect("a redirect");
        let scheme = if follow.origin.tls { "https" } else { "http" };
        let origin = format!("{scheme} {} {}", follow.origin.host, follow.origin.port);
        let sent = String::from_utf8(dialogue.encoded(&follow.request)).expect("text");
        let this = (origin, sent);
        assert!(seen.as_ref().is_none_or(|s| *s == this), "cut at {cut}");
        seen = Some(this);
    }
    seen.expect("cuts")
}

#[test]
fn locations_are_absolute_or_relative() {
    for (location, origin, target, host) in [
        ("/b", "http h 80", "/b", "h"),
        ("c?d", "http h 80", "/a/c?d", "h"),
        ("?q", "http h 80", "/a/b?q", "h"),
        ("http://h:81/x#y", "http h 81", "/x", "h:81"),
        ("//other/z", "http other 80", "/z", "other"),
        ("https://[::1]/", "https ::1 443", "/", "[::1]"),
        ("/sp ace", "http h 80", "/sp%20ace", "h"),
    ] {
        let (to, sent) = followed("http://h/a/b", &[], 302, location);
        assert_eq!((to.as_str(), sent), (origin, format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")));
    }
}

#[test]
fn methods_change_as_they_must() {
    let post =
        "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nx";
    let get = "GET /b HTTP/1.1\r\nHost: h\r\n\r\n";
    let (data, put, head): (&[&str], &[&str], &[&str]) = (&["data=x"], &["data=x", "method=PUT"], &["method=HEAD"]);
    let put_again = post.replacen("POST", "PUT", 1);
    for (options, status, expected) in [
        (data, 301, get),
        (data, 302, get),
        (data, 303, get),
        (data, 307, post),
        (data, 308, post),
        (put, 301, &put_again),
        (put, 302, &put_again),
        (put, 303, get),
        (put, 308, &put_again),
    ] {
        assert_eq!(followed("http://h/", options, status, "/b").1, expected, "{options:?} {status}");
    }
    let dialogue = dialogue("http://h/", &[head, &["redirects=1"]].concat());
    let answer = answer(303, "/b");
    let (_, follow) = hop(&dialogue, &dialogue.requests()[0].request, &answer[..answer.len() - 3], 9);
    assert!(dialogue.encoded(&follow.expect("a redirect").request).starts_with(b"HEAD /b "));
}

#[test]
fn secrets_stay_with_their_origin() {
    let secret = ["header=Cookie: c", "header=Authorization: a", "header=Host: v", "header=X: y"];
    let (_, same) = followed("http://h/", &secret, 302, "/b");
    assert_eq!(same, "GET /b HTTP/1.1\r\nCookie: c\r\nAuthorization: a\r\nHost: v\r\nX: y\r\n\r\n");
    for other in ["http://o/", "http://h:81/", "https://h/"] {
        let (_, sent) = followed("http://h/", &secret, 307, other);
        assert!(sent.contains("X: y") && !sent.contains("Cookie") && !sent.contains("Auth"), "{sent}");
        let (_, sent) = followed("http://h/", &["user=a:b"], 307, other);
        assert!(!sent.contains("Authorization"), "{sent}");
        let (_, sent) = followed("http://a:b@h/", &[], 307, other);
        assert!(!sent.contains("Authorization"), "{sent}");
    }
    let auth = "Authorization: Basic YTpi\r\n";
    assert!(followed("http://h/", &["user=a:b"], 302, "/b").1.contains(auth));
    assert!(followed("http://a:b@h/", &[], 302, "/b").1.contains(auth));
}

#[test]
fn more_than_allowed_fail() {
    let dialogue = dialogue("http://h/", &["redirects=2"]);
    let answer = answer(302, "/again");
    let first = &dialogue.requests()[0].request;
    let (_, second) = hop(&dialogue, first, &answer, 20);
    let (_, third) = hop(&dialogue, &second.expect("a hop").request, &answer, 20);
    let (fault, none) = hop(&dialogue, &third.expect("a hop").request, &answer, 20);
    assert_eq!(fault, Some(FaultKind::TooManyRedirects));
    assert!(none.is_none());
}

/// Returns the cause of the failure of a visit whose every response redirects to the next of these paths, in turn.
fn cause_of(paths: &[&str], redirects: &str) -> Option<String> {
    let dialogue = dialogue("http://h/", &[redirects]);
    let mut next: Option<Box<FollowUp>> = None;
    for path in paths.iter().cycle() {
        let answer = answer(302, path);
        let request = match &next {
            None => &dialogue.requests()[0].request,
            Some(follow) => &*follow.request,
        };
        let ended = visit(&dialogue, request, (answer.as_bytes(), b""));
        if ended.fault == Some(FaultKind::TooManyRedirects) {
            return ended.cause.map(|cause| cause.to_string());
        }
        next = ended.follow_up;
    }
    None
}

#[test]
fn a_redirect_loop_is_named() {
    let said = |to: &str| Some(format!("a redirect loop: redirects lead back to http://h{to}"));
    assert_eq!(cause_of(&["/"], "redirects=10"), said("/"));
    assert_eq!(cause_of(&["/a?t=1", "/b"], "redirects=10"), said("/a"));
    assert_eq!(cause_of(&["/a", "/b", "/c"], "redirects=10"), said("/c"));
    let ever_new = ["/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11"];
    assert_eq!(cause_of(&ever_new, "redirects=10"), None);
}

#[test]
fn what_is_no_redirect_is_an_answer() {
    let dialogue = dialogue("http://h/", &["redirects=2"]);
    let request = &dialogue.requests()[0].request;
    for answer in [
        "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nLocation: /\r\n\r\n",
        "HTTP/1.1 300 Choices\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 201 Created\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    ] {
        let (fault, follow) = hop(&dialogue, request, answer, 0);
        assert!(fault.is_none() && follow.is_none(), "{answer}");
    }
}

#[test]
fn a_location_that_leads_nowhere_breaks() {
    let dialogue = dialogue("http://h/", &["redirects=2"]);
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    for location in ["ftp://h/", "http://", "mailto:x"] {
        let mut session = dialogue.session(&Origin::default(), &EstablishedConnection::default());
        session
            .submit(ExchangeId(3), &dialogue.requests()[0].request, &SlotContext::default(), &mut out)
            .expect("room");
        let broken = session.receive(answer(302, location).as_bytes(), &mut out, &mut done);
        assert!(broken.is_err_and(|b| b.to_string() == "the Location of a redirect is not an HTTP URL"), "{location}");
    }
}
