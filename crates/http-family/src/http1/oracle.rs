//! What must hold for any bytes at all: `httparse` as a second opinion about heads, the vector reader against the
//! reader of lines, and the same outcome wherever the bytes are cut. Called by the property tests, by the inputs that
//! fuzzing once found, and by the fuzz targets; panics where something does not hold.

use std::sync::Arc;

use wire::{Broken, Dialogue, Done, Established, Event, ExchangeId, Fill, Origin, Out, Protocol, ServerSession};

use super::codec::{self, CHUNKED, Head, SIZED};
use super::{Http1, Http1Server};

/// Holds the client half against these bytes as an answer, also cut at `at`.
pub fn answer(bytes: &[u8], at: usize) {
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

/// Holds the server half against these bytes as requests, also cut at `at`.
pub fn asking(bytes: &[u8], at: usize) {
    request_head(bytes);
    same_by_lines(bytes);
    let (a, b) = bytes.split_at(at.min(bytes.len()));
    let whole = heard([bytes].into_iter());
    assert_eq!(heard([a, b].into_iter()), whole);
    assert_eq!(heard(bytes.chunks(1)), whole);
}

fn dialogue(options: &[(&str, &str)]) -> Arc<dyn Dialogue> {
    let url = wire::AskedUrl { url: "http://h/".to_owned(), weight: 1.0 };
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect();
    let asked = wire::Asked { urls: vec![url], options, ..wire::Asked::default() };
    Http1.prepare(&asked).expect("a good plan")
}

/// How an exchange ended, if it did, why the connection broke, and what the session would still take.
type Outcome = (Option<String>, Option<Broken>, usize);

/// What pieces of an answer come to when the connection is closed after them.
fn played<'a>(dialogue: &Arc<dyn Dialogue>, mut pieces: impl Iterator<Item = &'a [u8]>) -> Outcome {
    let mut session = dialogue.session(&Origin::default(), &Established::default());
    let (mut out, mut done) = (Out::default(), Done::default());
    session.submit(ExchangeId(1), &dialogue.requests()[0].request, &Fill::default(), &mut out).expect("room");
    let broken = pieces.find_map(|piece| session.receive(piece, &mut out, &mut done).err());
    let room = session.room();
    if broken.is_none() {
        session.closed(&mut done);
    }
    let ended = done.events.iter().find_map(|event| match event {
        Event::Ended(e) => {
            let follow = e.follow.as_ref().map(|f| (&f.origin, dialogue.sent(&f.request)));
            Some(format!("{:?}", (e.fault, &e.why, e.code, e.payload, follow)))
        }
        _ => None,
    });
    (ended, broken, room)
}

/// What pieces of requests come to: id, target, head, and the body's length and beginning.
fn heard<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> (Option<Broken>, Vec<String>) {
    let (mut server, mut heard) = (Http1Server::new(), Vec::new());
    let broken = pieces.find_map(|piece| {
        let hear = &mut |ask: wire::Ask<'_>| heard.push(format!("{ask:?}"));
        server.receive(piece, hear).err()
    });
    (broken, heard)
}

/// What we hold of the head, if it is whole.
type Ours = Result<Option<Head>, Broken>;

fn ours(bytes: &[u8], read: fn(&[u8], &mut Head) -> Result<bool, Broken>) -> Ours {
    let mut head = Head::default();
    read(bytes, &mut head).map(|whole| whole.then_some(head))
}

/// Refusals of ours that are about the meaning of a field, which `httparse` does not look at.
fn about_meaning(broken: &Broken) -> bool {
    [cause::http1::length_not_a_number(), cause::http1::length_twice(), cause::http1::chunked_twice()]
        .contains(&broken.0)
}

/// The framing by another way: only where it is plain.
fn check_framing(head: &Head, fields: &[httparse::Header<'_>]) {
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
        // An empty line before an answer is read over there; no server sends one.
        _ if matches!(bytes.first(), Some(b'\r' | b'\n')) => assert!(ours.is_err()),
        (Ok(httparse::Status::Complete(_)), Err(broken)) => {
            assert!(about_meaning(broken) || theirs.code.is_some_and(|c| c < 100), "{broken:?}");
        }
        (Ok(httparse::Status::Complete(length)), Ok(Some(head))) => {
            assert_eq!((head.at, Some(head.status)), (length, theirs.code));
            check_framing(head, theirs.headers);
        }
        // It has room for so many fields; we have no need of any.
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
            assert_eq!(codec::asked(bytes, head).ok(), theirs.method.zip(theirs.path));
            check_framing(head, theirs.headers);
        }
        // It has room for so many fields; we have no need of any.
        (Err(httparse::Error::TooManyHeaders), _) => {}
        (Ok(httparse::Status::Complete(_)), Ok(None)) => panic!("whole for httparse, not for us"),
        (theirs, Ok(Some(head))) => {
            // It knows which characters a target may have; here any that can be seen will do.
            let target = &bytes[head.target_at as usize..head.target_end as usize];
            let usual = |b: &u8| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(b);
            assert!(!target.iter().all(usual), "whole for us, not for httparse: {theirs:?}");
        }
        _ => {}
    }
}

/// A head read by vectors is the head read by lines.
fn same_by_lines(bytes: &[u8]) {
    assert_eq!(ours(bytes, codec::response_head), ours(bytes, codec::response_lines));
    assert_eq!(ours(bytes, codec::request_head), ours(bytes, codec::request_lines));
}
