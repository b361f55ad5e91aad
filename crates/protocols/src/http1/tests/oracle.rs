//! `httparse` as a second opinion about heads, the vector reader against the reader of lines, and garbage of all kinds.

use proptest::prelude::*;
use wire::{Broken, ServerSession};

use super::{dialogue, play};
use crate::http1::Http1Server;
use crate::http1::codec::{self, CHUNKED, Head, SIZED};

const PARTS: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 404 Not Found\r\n",
    b"HTTP/1.1 ",
    b"200",
    b" OK",
    b"GET / HTTP/1.1\r\n",
    b"POST ",
    b"/path?q=1",
    b" HTTP/1.0\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b": ",
    b":",
    b" ",
    b"\t",
    b"\0",
    b"\x7f",
    b"\xc3\xa9",
    b"Content-Length: ",
    b"content-length:",
    b"5",
    b"18446744073709551615",
    b"Transfer-Encoding: chunked\r\n",
    b"gzip, ",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"X-Name",
    b"value",
    b"a long value that fills more than one block of sixty-four bytes or so",
    b"0\r\n\r\n",
    b"5;x=y\r\nhello\r\n",
    b"hello",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"Location: /x\r\n",
    b",",
];

/// Heads, nearly heads, and what follows them.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        5 => "[A-Za-z][A-Za-z0-9-]{0,30}: [ -~]{0,60}\r\n".prop_map(String::into_bytes),
        1 => "[A-Za-z][A-Za-z0-9-]{0,90}:[\t -~]{0,90}\r?\n".prop_map(String::into_bytes),
        1 => "(Content-Length|Connection|Transfer-Encoding|expect): ?[a-z0-9, -]{0,20}\r\n".prop_map(String::into_bytes),
        1 => prop::sample::select(PARTS).prop_map(<[u8]>::to_vec),
    ];
    let start = prop_oneof![
        4 => Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        1 => "HTTP/1.[01] [0-9]{3}( [ -~]{0,70})?\r?\n".prop_map(String::into_bytes),
        4 => Just(b"GET /path HTTP/1.1\r\n".to_vec()),
        1 => "[A-Z]{1,10} /[!-~]{0,80} HTTP/1.[01]\r?\n".prop_map(String::into_bytes),
        1 => prop::sample::select(PARTS).prop_map(<[u8]>::to_vec),
    ];
    let head = (start, prop::collection::vec(line, 0..14), prop::sample::select(vec!["\r\n", "\n", "", "\r"]))
        .prop_map(|(start, lines, end)| [start, lines.concat(), end.as_bytes().to_vec()].concat());
    let soup = prop::collection::vec(prop::sample::select(PARTS), 0..20).prop_map(|parts| parts.concat());
    let tail = prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 0..200)];
    let odd = prop::sample::select(&b"\0\r\n\t\x0b\x1f\x7f\x80\xff :,"[..]);
    let spoil = proptest::option::weighted(0.4, (any::<prop::sample::Index>(), prop_oneof![odd, any::<u8>()]));
    (prop_oneof![6 => head, 2 => soup], tail, spoil).prop_map(|(head, tail, spoil)| {
        let mut text = [head, tail].concat();
        if let Some((at, byte)) = spoil
            && !text.is_empty()
        {
            let at = at.index(text.len());
            text[at] = byte;
        }
        text
    })
}

/// What we hold of the head, if it is whole.
type Ours = Result<Option<Head>, Broken>;

fn ours(bytes: &[u8], read: fn(&[u8], &mut Head) -> Result<bool, Broken>) -> Ours {
    let mut head = Head::default();
    read(bytes, &mut head).map(|whole| whole.then_some(head))
}

/// Refusals of ours that are about the meaning of a field, which `httparse` does not look at.
fn about_meaning(broken: &Broken) -> bool {
    [
        "Content-Length is not a number",
        "Content-Length is given twice, and differently",
        "Transfer-Encoding says chunked twice",
    ]
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

fn check_response(bytes: &[u8]) {
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
        (Ok(httparse::Status::Complete(_)), Ok(None)) => panic!("whole for httparse, not for us"),
        (theirs, Ok(Some(_))) => panic!("whole for us, not for httparse: {theirs:?}"),
        _ => {}
    }
}

fn check_request(bytes: &[u8]) {
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
fn check_wide(bytes: &[u8]) {
    assert_eq!(ours(bytes, codec::response_head), ours(bytes, codec::response_lines));
    assert_eq!(ours(bytes, codec::request_head), ours(bytes, codec::request_lines));
}

/// Nothing panics, and where the bytes are cut changes nothing.
fn check_cuts(bytes: &[u8], cut: usize) {
    for options in [&[][..], &["redirects=3", "expect-body=lo"], &["method=HEAD"]] {
        let dialogue = dialogue("http://h/", options);
        let (a, b) = bytes.split_at(cut);
        let whole = play(&dialogue, &[bytes], true);
        assert_eq!(play(&dialogue, &[a, b], true), whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(play(&dialogue, &single, true), whole);
    }
    let hear = |pieces: &[&[u8]]| {
        let (mut server, mut heard) = (Http1Server::new(), Vec::new());
        let result = pieces.iter().try_for_each(|piece| {
            server.receive(piece, &mut |ask| {
                heard.push((ask.id, ask.path.to_owned(), ask.head.to_vec(), ask.body.to_vec()))
            })
        });
        (result, heard)
    };
    let (a, b) = bytes.split_at(cut);
    assert_eq!(hear(&[a, b]), hear(&[bytes]));
    assert_eq!(hear(&bytes.chunks(1).collect::<Vec<_>>()), hear(&[bytes]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn httparse_and_the_two_readers_agree(text in text()) {
        check_response(&text);
        check_request(&text);
        check_wide(&text);
    }

    #[test]
    fn cuts_change_nothing(text in text(), at in any::<prop::sample::Index>()) {
        check_cuts(&text, at.index(text.len() + 1));
    }

    #[test]
    fn noise_is_refused_without_a_panic(noise in prop::collection::vec(any::<u8>(), 0..600), at in any::<prop::sample::Index>()) {
        check_response(&noise);
        check_request(&noise);
        check_wide(&noise);
        check_cuts(&noise, at.index(noise.len() + 1));
    }
}
