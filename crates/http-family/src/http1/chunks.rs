//! A body in chunks (RFC 9112 7.1), cut once before the run: for servers that read bodies whose length they are not told.

use std::sync::Arc;

use wire::{Asked, Complaint};

use super::request::{Content, HeaderWish};

/// So much stands in a chunk, as of clients that read a file and send.
const CHUNK: usize = 16 * 1024;

/// Cuts the body into chunks where a header line asks for it.
///
/// # Errors
/// There can be no chunks here.
pub fn cut(asked: &Asked, headers: &[HeaderWish], content: &mut Option<Content>) -> Result<(), Complaint> {
    let is_coding = |wish: &&HeaderWish| wish.name().eq_ignore_ascii_case("transfer-encoding");
    let Some(HeaderWish::Set(_, value)) = headers.iter().find(is_coding) else { return Ok(()) };
    let wrong = |trouble: &str| Err(Complaint::new("--header", trouble));
    if !value.trim().eq_ignore_ascii_case("chunked") {
        return wrong("Transfer-Encoding can only be chunked; write `Transfer-Encoding: chunked`, or leave it out");
    }
    if asked.switch("http2") || !matches!(asked.value("http"), None | Some("1.1" | "1")) {
        return wrong("Transfer-Encoding: chunked is HTTP/1.1 only; leave it out, or use --http 1.1");
    }
    match content {
        None => wrong("Transfer-Encoding: chunked needs a body; add --data, or leave it out"),
        Some(content) if content.length.is_some() => {
            wrong("Transfer-Encoding: chunked does not go with a body with slots; leave one of them out")
        }
        Some(content) => {
            (content.bytes, content.chunked) = (Arc::from(chunks(&content.bytes)), true);
            Ok(())
        }
    }
}

fn chunks(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + body.len() / CHUNK * 8 + 16);
    for piece in body.chunks(CHUNK) {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_cut_into_chunks() {
        assert_eq!(chunks(b"a=b"), b"3\r\na=b\r\n0\r\n\r\n");
        assert_eq!(chunks(b""), b"0\r\n\r\n");
        let long = chunks(&[b'x'; CHUNK + 1]);
        assert!(long.starts_with(b"4000\r\nx") && long.ends_with(b"x\r\n1\r\nx\r\n0\r\n\r\n"));
    }
}
