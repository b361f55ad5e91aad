//! Property tests with random heads, malformed heads and noise, checked by [`crate::http1::oracle`].

use proptest::prelude::*;

use crate::http1::oracle;

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

/// Generates heads and malformed heads, followed by other bytes.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn answers_and_nearly_answers(text in text(), at in any::<prop::sample::Index>()) {
        oracle::response(&text, at.index(text.len() + 1));
    }

    #[test]
    fn requests_and_nearly_requests(text in text(), at in any::<prop::sample::Index>()) {
        oracle::request(&text, at.index(text.len() + 1));
    }

    #[test]
    fn noise(noise in prop::collection::vec(any::<u8>(), 0..600), at in any::<prop::sample::Index>()) {
        let at = at.index(noise.len() + 1);
        oracle::response(&noise, at);
        oracle::request(&noise, at);
    }
}
