//! Invariants for arbitrary bytes: heads agree with `httparse`, the vector parser agrees with the line parser, and the
//! outcome does not depend on where the bytes are split. Used by the property tests, by the regression inputs from
//! fuzzing, and by the fuzz targets; panics on a violation.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeId, Origin, OutputBuffer, Protocol, ProtocolError,
    ServerSession, SlotContext, Workload,
};

use super::codec::{self, CHUNKED, HttpHead, SIZED};
use super::{Http1, Http1Server};

/// Checks the client with these bytes as a response, also split at `at`.
pub fn response(bytes: &[u8], at: usize) {
    response_head(bytes);
    same_by_lines(bytes);
    for options in
        [&[][..], &[("redirects", "3"), ("expect-body", "lo")], &[("method", "HEAD")], &[("expect-trailer", "a: b*")]]
    {
        let dialogue = dialogue(options);
        let (a, b) = bytes.split_at(at.min(bytes.len()));
        let whole = played(&dialogue, [bytes].into_iter());
        assert_eq!(played(&dialogue, [a, b].into_iter()), whole);
        assert_eq!(played(&dialogue, bytes.chunks(1)), whole);
    }
}

/// Checks the server with these bytes as requests, also split at `at`.
pub fn request(bytes: &[u8], at: usize) {
    request_head(bytes);
    same_by_lines(bytes);
    let (a, b) = bytes.split_at(at.min(bytes.len()));
    let whole = heard([bytes].into_iter());
    assert_eq!(heard([a, b].into_iter()), whole);
    assert_eq!(heard(bytes.chunks(1)), whole);
}

fn dialogue(options: &[(&str, &str)]) -> Arc<dyn Workload> {
    let url = brunt_contract::RequestedUrl { url: "http://h/".to_owned(), weight: 1.0 };
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
    let asked =
        brunt_contract::ProtocolConfig { urls: vec![url], options, ..brunt_contract::ProtocolConfig::default() };
    Http1.prepare(&asked).expect("a good plan")
}

/// End of the exchange, error of the connection, and room left in the session.
type SessionOutcome = (Option<String>, Option<ProtocolError>, usize);

/// Plays pieces of a response, then closes the connection.
fn played<'a>(workload: &Arc<dyn Workload>, mut pieces: impl Iterator<Item = &'a [u8]>) -> SessionOutcome {
    let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
    let (mut out, mut done) = (OutputBuffer::default(), EventBuffer::default());
    session.submit(ExchangeId(1), &workload.requests()[0].request, &SlotContext::default(), &mut out).expect("room");
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    let room = session.room();
    if broken.is_none() {
        session.peer_closed(&mut done);
    }
    let ended = done.events.iter().find_map(|event| match event {
        Event::Ended(e) => {
            let follow = e.follow_up.as_ref().map(|f| (&f.origin, workload.encoded(&f.request)));
            Some(format!("{:?}", (e.fault, &e.cause, e.code, e.payload, follow)))
        }
        _ => None,
    });
    (ended, broken, room)
}

/// Plays pieces of requests. Each request is formatted with its id, target and head, and the length and beginning of
/// its body.
fn heard<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> (Option<ProtocolError>, Vec<String>) {
    let (mut server, mut heard) = (Http1Server::new(), Vec::new());
    let broken = pieces.find_map(|piece| {
        let hear = &mut |ask: brunt_contract::ServerRequest<'_>| heard.push(format!("{ask:?}"));
        server.receive(piece, hear).err()
    });
    (broken, heard)
}

/// Head parsed by our parser, if complete.
type ParsedHead = Result<Option<HttpHead>, ProtocolError>;

fn ours(bytes: &[u8], read: fn(&[u8], &mut HttpHead) -> Result<bool, ProtocolError>) -> ParsedHead {
    let mut head = HttpHead::default();
    read(bytes, &mut head).map(|whole| whole.then_some(head))
}

/// Returns `true` for our errors about the meaning of a field, which `httparse` does not check.
fn about_meaning(broken: &ProtocolError) -> bool {
    [brunt_cause::http1::length_not_a_number(), brunt_cause::http1::length_twice(), brunt_cause::http1::chunked_twice()]
        .contains(&broken.0)
}

/// Checks the framing independently, in simple cases only.
fn check_framing(head: &HttpHead, fields: &[httparse::Header<'_>]) {
    let values = |name: &str| -> Vec<&[u8]> {
        fields.iter().filter(|f| f.name.eq_ignore_ascii_case(name)).map(|f| f.value).collect()
    };
    assert_eq!(head.has(SIZED), !values("content-length").is_empty());
    if let [value] = values("content-length")[..]
        && let Ok(length) = String::from_utf8_lossy(value).trim().parse::<u64>()
    {
        assert_eq!(head.length, length);
    }
    if let [value] = values("transfer-encoding")[..] {
        assert_eq!(
            head.has(CHUNKED),
            value.to_ascii_lowercase().rsplit(|&b| b == b',').map(<[u8]>::trim_ascii).find(|c| !c.is_empty())
                == Some(b"chunked")
        );
    }
}

fn response_head(bytes: &[u8]) {
    let ours = ours(bytes, codec::response_head);
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut theirs = httparse::Response::new(&mut fields);
    match (theirs.parse(bytes), &ours) {
        // `httparse` skips empty lines before a response; no server sends one.
        _ if matches!(bytes.first(), Some(b'\r' | b'\n')) => assert!(ours.is_err()),
        // `httparse` rejects folded lines.
        (_, Ok(Some(head))) if head.folded => assert_eq!(codec::unfolded(bytes).len(), bytes.len()),
        (Ok(httparse::Status::Complete(_)), Err(broken)) => {
            assert!(about_meaning(broken) || theirs.code.is_some_and(|c| c < 100), "{broken:?}");
        }
        (Ok(httparse::Status::Complete(length)), Ok(Some(head))) => {
            assert_eq!((head.at, Some(head.status)), (length, theirs.code));
            check_framing(head, theirs.headers);
        }
        // `httparse` limits the number of fields; we do not store any.
        (Err(httparse::Error::TooManyHeaders), _) => {}
        (Ok(httparse::Status::Complete(_)), Ok(None)) => panic!("whole for httparse, not for us"),
        (theirs, Ok(Some(_))) => panic!("whole for us, not for httparse: {theirs:?}"),
        _ => {}
    }
}

fn request_head(bytes: &[u8]) {
    let bytes = &bytes[bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count()..];
    let ours = ours(bytes, codec::request_head);
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut theirs = httparse::Request::new(&mut fields);
    match (theirs.parse(bytes), &ours) {
        (Ok(httparse::Status::Complete(_)), Err(broken)) => assert!(about_meaning(broken), "{broken:?}"),
        (Ok(httparse::Status::Complete(length)), Ok(Some(head))) => {
            assert_eq!(head.at, length);
            assert_eq!(codec::method_and_target(bytes, head).ok(), theirs.method.zip(theirs.path));
            check_framing(head, theirs.headers);
        }
        // `httparse` limits the number of fields; we do not store any.
        (Err(httparse::Error::TooManyHeaders), _) => {}
        (Ok(httparse::Status::Complete(_)), Ok(None)) => panic!("whole for httparse, not for us"),
        (theirs, Ok(Some(head))) => {
            // `httparse` restricts the characters of a target; we accept any visible ones.
            let target = &bytes[head.target_at as usize..head.target_end as usize];
            let usual = |b: &u8| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(b);
            assert!(!target.iter().all(usual), "whole for us, not for httparse: {theirs:?}");
        }
        _ => {}
    }
}

/// Checks that the vector parser and the line parser agree.
fn same_by_lines(bytes: &[u8]) {
    assert_eq!(ours(bytes, codec::response_head), ours(bytes, codec::response_lines));
    assert_eq!(ours(bytes, codec::request_head), ours(bytes, codec::request_lines));
}
