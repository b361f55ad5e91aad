//! Readable transcripts of connections: the handshake unchanged, then a line for each frame, followed by its payload,
//! unmasked and decompressed up to a limit, because a few bytes may expand to a long message.

use brunt_contract::{MAX_SHOWN_BYTES, ProtocolError};

use super::close;
use super::codec::{self, CLOSE, CONTINUATION, FrameSender, PING, PONG, TEXT};
use super::deflate::{DeflateParameters, DeflateStreams};

/// Renders all bytes that one end sent, from the first one on. A line that begins with a star describes a frame.
pub fn readable(bytes: &[u8], sender: FrameSender) -> Vec<u8> {
    // A transcript that continues has no head: it begins with a frame.
    let goes_on = bytes.first().is_some_and(|byte| !byte.is_ascii_alphabetic());
    if sender == FrameSender::Server && !goes_on && !bytes.starts_with(b"HTTP/1.1 101") {
        // A refused upgrade is an HTTP response.
        return bytes.to_vec();
    }
    let head = memchr::memmem::find(bytes, b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    let head = if goes_on { 0 } else { head };
    let (mut text, mut rest) = (bytes[..head].to_vec(), &bytes[head..]);
    // An unused window does no harm, so the agreed parameters do not matter.
    let agreed = DeflateParameters { server_forgets: false, client_forgets: false, client_bits: 15 };
    let (mut deflate, mut deflated) = (None, false);
    while let Ok(Some(frame)) = codec::frame(rest, sender, true) {
        if text.len() >= MAX_SHOWN_BYTES {
            text.truncate(MAX_SHOWN_BYTES);
            text.extend_from_slice(b"\n* the rest is not shown\n");
            return text;
        }
        let size = usize::try_from(frame.size).unwrap_or(usize::MAX);
        let Some(payload) = rest[frame.head..].get(..size) else { break };
        rest = &rest[frame.head + size..];
        let mut payload: Vec<u8> = payload.iter().zip(frame.key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
        let more = if frame.last { "" } else { ", more follows" };
        let packed = if frame.deflated { ", compressed" } else { "" };
        text.extend_from_slice(format!("* {}, {size} bytes{packed}{more}\n", name(frame.kind)).as_bytes());
        if !frame.is_control() {
            deflated = if frame.kind == CONTINUATION { deflated } else { frame.deflated };
            if deflated {
                let deflate = deflate.get_or_insert_with(|| DeflateStreams::new(agreed));
                payload = unpacked(deflate, &payload, frame.last);
            }
        }
        match payload.split_first_chunk::<2>() {
            Some((code, reason)) if frame.kind == CLOSE => {
                let code = u16::from_be_bytes(*code);
                let gap = if reason.is_empty() { "" } else { " " };
                text.extend_from_slice(format!("{code} ({}){gap}", close::name(code)).as_bytes());
                text.extend_from_slice(reason);
            }
            _ => text.extend_from_slice(&payload),
        }
        if text.last().is_some_and(|&byte| byte != b'\n') {
            text.push(b'\n');
        }
    }
    if !rest.is_empty() {
        text.extend_from_slice(format!("* {} bytes of an incomplete frame:\n", rest.len()).as_bytes());
        text.extend_from_slice(rest);
    }
    text
}

fn name(kind: u8) -> &'static str {
    match kind {
        CONTINUATION => "continuation",
        TEXT => "text",
        CLOSE => "close",
        PING => "ping",
        PONG => "pong",
        _ => "binary",
    }
}

/// Decompresses a piece of a message up to the limit; a piece that cannot be decompressed is shown as received.
fn unpacked(deflate: &mut DeflateStreams, piece: &[u8], last: bool) -> Vec<u8> {
    const ENOUGH: ProtocolError = ProtocolError(brunt_cause::websocket::more_than_shown());
    let mut plain = Vec::new();
    let mut take = |part: &[u8]| {
        plain.extend_from_slice(part);
        if plain.len() < MAX_SHOWN_BYTES { Ok(()) } else { Err(ENOUGH) }
    };
    let mut read = deflate.decompress(piece, &mut take);
    if last && read.is_ok() {
        read = deflate.finish_message(&mut take);
    }
    if read.is_ok() || read == Err(ENOUGH) { plain } else { piece.to_vec() }
}
