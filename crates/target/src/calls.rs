//! gRPC: the service `brunt.Target`, and `grpc.health.v1.Health/Check`.
//!
//! Unary and Bidi echo their messages, ServerStream says the first one as often as its `count` (field 2) asks, ClientStream says
//! how many messages of how many bytes it heard. A call is answered when its last message has come. Left out: answers to
//! a stream while it goes on, compression, reflection, requests above 64 KiB.

use protocols::http2::Http2Server;
use wire::Out;

/// The most answers to one call.
const MOST_ANSWERS: u64 = 65_536;
/// The most bytes of answers to one call.
const MOST_BYTES: usize = 16 << 20;

/// Status codes of gRPC ("Status codes and their use in gRPC").
const OK: u8 = 0;
const INVALID_ARGUMENT: u8 = 3;
const RESOURCE_EXHAUSTED: u8 = 8;
const UNIMPLEMENTED: u8 = 12;
const UNAVAILABLE: u8 = 14;

/// True where a request's head says that it is a call.
pub(crate) fn is_call(method: &str, head: &[u8]) -> bool {
    const KIND: &[u8] = b"application/grpc";
    method == "POST" && head.windows(KIND.len()).any(|part| part.eq_ignore_ascii_case(KIND))
}

/// A call as heard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub path: &'a str,
    /// Its messages, each behind a byte that says whether it is compressed and four of its length.
    pub body: &'a [u8],
    /// `body` is all of it.
    pub whole: bool,
    /// An error is asked for.
    pub fails: bool,
}

/// Answers a call on the stream `id`.
pub(crate) fn answer(session: &mut Http2Server, id: u32, call: &Call<'_>, out: &mut Out) {
    let head = b"content-type: application/grpc\r\n";
    match answers(call) {
        Ok(said) => {
            if session.head(id, 200, head, None, false, out) {
                session.data(id, &said, false, out);
                session.trailer(id, format!("grpc-status: {OK}\r\n").as_bytes(), out);
            }
        }
        Err((status, sentence)) => {
            let head =
                format!("content-type: application/grpc\r\ngrpc-status: {status}\r\ngrpc-message: {sentence}\r\n");
            session.head(id, 200, head.as_bytes(), None, true, out);
        }
    }
}

/// What is said to a call, framed as its messages are, or its status and a sentence.
fn answers(call: &Call<'_>) -> Result<Vec<u8>, (u8, &'static str)> {
    if call.fails {
        return Err((UNAVAILABLE, "an error, as asked by the error rate"));
    }
    if !call.whole {
        return Err((RESOURCE_EXHAUSTED, "larger than 64 KiB"));
    }
    let messages = messages(call.body)?;
    match call.path {
        "/brunt.Target/Unary" | "/brunt.Target/Bidi" => Ok(call.body.to_vec()),
        "/brunt.Target/ServerStream" => {
            let first = messages.first().copied().unwrap_or_default();
            let count = count(first).clamp(1, MOST_ANSWERS) as usize;
            if count * (first.len() + 5) > MOST_BYTES {
                return Err((RESOURCE_EXHAUSTED, "answers of more than 16 MiB"));
            }
            Ok(framed(first).repeat(count))
        }
        "/brunt.Target/ClientStream" => {
            let mut summary = vec![0x08];
            put_varint(messages.len() as u64, &mut summary);
            summary.push(0x10);
            put_varint(messages.iter().map(|m| m.len() as u64).sum(), &mut summary);
            Ok(framed(&summary))
        }
        // HealthCheckResponse with the status SERVING.
        "/grpc.health.v1.Health/Check" => Ok(framed(&[0x08, 1])),
        _ => Err((UNIMPLEMENTED, "this target has brunt.Target with Unary, ClientStream, ServerStream, Bidi")),
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

fn messages(mut body: &[u8]) -> Result<Vec<&[u8]>, (u8, &'static str)> {
    let mut found = Vec::new();
    while let Some((&[compressed, a, b, c, d], rest)) = body.split_first_chunk::<5>() {
        if compressed != 0 {
            return Err((UNIMPLEMENTED, "compressed messages are not for this target"));
        }
        let size = u32::from_be_bytes([a, b, c, d]) as usize;
        let broken = (INVALID_ARGUMENT, "a message is shorter than it says");
        found.push(rest.get(..size).ok_or(broken)?);
        body = &rest[size..];
    }
    if body.is_empty() { Ok(found) } else { Err((INVALID_ARGUMENT, "a message is cut in its head")) }
}

/// Field 2 of a message, a number; 0 where there is none.
fn count(mut message: &[u8]) -> u64 {
    let mut count = 0;
    while let Some(tag) = varint(&mut message) {
        let skipped = match tag & 7 {
            0 => varint(&mut message).map(|value| {
                if tag >> 3 == 2 {
                    count = value;
                }
                0
            }),
            1 => Some(8),
            2 => varint(&mut message).and_then(|size| usize::try_from(size).ok()),
            5 => Some(4),
            _ => None,
        };
        match skipped.and_then(|size| message.get(size..)) {
            Some(rest) => message = rest,
            None => break,
        }
    }
    count
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str, body: &[u8]) -> Result<Vec<u8>, u8> {
        answers(&Call { path, body, whole: true, fails: false }).map_err(|(status, _)| status)
    }

    #[test]
    fn each_method_says_what_it_should() {
        // Payload { text: "hi", count: 3 }, and one of 300 bytes without a count.
        let (three, large) = (framed(b"\x0a\x02hi\x10\x03"), framed(&[0x0a; 300]));
        let both = [three.clone(), large.clone()].concat();
        assert_eq!(said("/brunt.Target/Unary", &three), Ok(three.clone()));
        assert_eq!(said("/brunt.Target/Bidi", &both), Ok(both.clone()));
        assert_eq!(said("/brunt.Target/ServerStream", &three), Ok(three.repeat(3)));
        assert_eq!(said("/brunt.Target/ServerStream", &framed(b"")), Ok(framed(b"")));
        // 2 messages, 306 bytes.
        assert_eq!(said("/brunt.Target/ClientStream", &both), Ok(framed(&[0x08, 2, 0x10, 0xb2, 2])));
        assert_eq!(said("/grpc.health.v1.Health/Check", &framed(b"")), Ok(framed(&[8, 1])));
        assert_eq!(said("/brunt.Target/Other", &three), Err(UNIMPLEMENTED));
        assert_eq!(said("/brunt.Target/Unary", &[1, 0, 0, 0, 0]), Err(UNIMPLEMENTED));
        assert_eq!(
            said("/brunt.Target/ServerStream", &framed(&[0x10, 0xff, 0xff, 3])).map(|s| s.len()),
            Ok(65_535 * 9)
        );
        for cut in 1..three.len() {
            assert_eq!(said("/brunt.Target/Unary", &three[..cut]), Err(INVALID_ARGUMENT), "cut at {cut}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_message_is_too_odd(body in proptest::collection::vec(0u8.., 0..80)) {
            let _ = said("/brunt.Target/ServerStream", &framed(&body));
            let _ = said("/brunt.Target/ServerStream", &body);
        }
    }
}
