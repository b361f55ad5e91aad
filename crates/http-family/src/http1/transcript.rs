//! Readable transcripts of HTTP/1 connections, with `Content-Encoding` removed.

use super::body::BodyDecoder;
use super::codec::{CHUNKED, HttpHead, response_head};
use brunt_values::verify;

/// Returns everything received, with the body of the last response decoded and a starred line that says so. Returns
/// `None` if there is nothing to decode.
pub fn readable(received: &[u8]) -> Option<Vec<u8>> {
    let mut at = 0;
    let mut head = HttpHead::default();
    // Interim responses come before the one with a body.
    while at == 0 || head.status < 200 {
        head = HttpHead::default();
        response_head(&received[at..], &mut head).ok().filter(|whole| *whole)?;
        at += head.at;
    }
    let mut coded = Vec::new();
    let mut body = if head.has(CHUNKED) { BodyDecoder::chunked() } else { BodyDecoder::until_close() };
    body.feed(&received[at..], |piece| coded.extend_from_slice(piece)).ok()?;
    let (coding, plain) = verify::decode_body(&received[at - head.at..at], &coded)?;
    let mut text = received[..at].to_vec();
    text.extend(format!("* {} bytes of {coding}, decoded to {}:\n", coded.len(), plain.len()).bytes());
    text.extend(plain);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n";

    #[test]
    fn coded_bodies_are_decoded_whatever_frames_them() {
        let coded = zstd::encode_all(&b"plain text"[..], 3).expect("encoded");
        let (first, rest) = coded.split_at(5);
        let chunks = [b"5\r\n", first, format!("\r\n{:x}\r\n", rest.len()).as_bytes(), rest, b"\r\n0\r\n\r\n"].concat();
        for (framing, body) in
            [(format!("Content-Length: {}", coded.len()), coded.clone()), ("Transfer-Encoding: chunked".into(), chunks)]
        {
            for interim in ["", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"] {
                let head = format!("{interim}{HEAD}{framing}\r\n\r\n");
                let shown = readable(&[head.as_bytes(), &body].concat()).expect("a coded body");
                let expected = format!("{head}* {} bytes of zstd, decoded to 10:\nplain text", coded.len());
                assert_eq!(String::from_utf8_lossy(&shown), expected);
            }
        }
    }

    #[test]
    fn what_is_not_coded_or_broken_is_shown_as_it_is() {
        let broken = format!("{HEAD}\r\nnothing of that sort");
        for bytes in ["", "garbage", "HTTP/1.1 200 OK\r\n\r\nplain", "HTTP/1.1 100 Continue\r\n\r\n", HEAD, &broken] {
            assert_eq!(readable(bytes.as_bytes()), None, "{bytes}");
        }
    }
}
