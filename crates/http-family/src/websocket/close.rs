//! Close codes (RFC 6455 7.4 and the IANA registry) and the meaning of close frames.

use brunt_cause::websocket::{self, closed};
use brunt_cause::{Cause, StaticCause, StaticSentence};
use brunt_contract::ProtocolError;

use super::utf8::Utf8Validator;

/// Normal closure: the connection has served its purpose.
pub const NORMAL: u16 = 1000;
/// The peer violated the protocol.
pub const PROTOCOL_ERROR: u16 = 1002;
/// The code for a close frame without one; never sent.
pub const NO_CODE: u16 = 1005;
/// The server cannot continue.
pub const INTERNAL_ERROR: u16 = 1011;

/// Returns the code of a close frame's payload, [`NO_CODE`] if it is empty.
///
/// # Errors
/// Fails if the payload is not valid in WebSocket.
pub fn code(payload: &[u8]) -> Result<u16, ProtocolError> {
    let (code, reason) = match payload {
        [] => return Ok(NO_CODE),
        [_] => return Err(ProtocolError(brunt_cause::websocket::half_code())),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(ProtocolError(brunt_cause::websocket::wrong_code()));
    }
    let mut text = Utf8Validator::default();
    if !text.feed(reason) || !text.is_whole() {
        return Err(ProtocolError(brunt_cause::websocket::reason_not_text()));
    }
    Ok(code)
}

/// Returns the name of a code.
pub fn name(code: u16) -> &'static str {
    match code {
        NORMAL => "normal",
        1001 => "going away",
        PROTOCOL_ERROR => "protocol error",
        1003 => "unsupported data",
        NO_CODE => "no code",
        1007 => "invalid data",
        1008 => "policy violation",
        1009 => "message too big",
        1010 => "extension missing",
        INTERNAL_ERROR => "internal error",
        1012 => "service restart",
        1013 => "try again later",
        1014 => "bad gateway",
        3000..=3999 => "registered",
        _ => "private",
    }
}

/// Causes for a server's close, by the codes that RFC 6455 (7.4.1) and its registry define.
const KNOWN: &[(u16, StaticSentence)] = &[
    (NORMAL, closed("1000 (normal)")),
    (1001, closed("1001 (going away)")),
    (PROTOCOL_ERROR, closed("1002 (protocol error)")),
    (1003, closed("1003 (unsupported data)")),
    (1007, closed("1007 (invalid data)")),
    (1008, closed("1008 (policy violation)")),
    (1009, closed("1009 (message too big)")),
    (1010, closed("1010 (extension missing)")),
    (INTERNAL_ERROR, closed("1011 (internal error)")),
    (1012, closed("1012 (service restart)")),
    (1013, closed("1013 (try again later)")),
    (1014, closed("1014 (bad gateway)")),
];

/// Returns the cause for a connection that the server closed with this code.
pub fn cause_of_code(code: u16) -> StaticCause {
    match KNOWN.iter().find(|(known, _)| *known == code) {
        Some((_, said)) => said.plain(),
        None if code == NO_CODE => websocket::closed_without_code(),
        None if (3000..=3999).contains(&code) => websocket::closed_registered(),
        None => websocket::closed_private(),
    }
}

/// Formats a close frame: `close 1013 (try again later) busy`.
pub fn describe_frame(code: u16, reason: &[u8]) -> String {
    format!("close {code} ({}) {}", name(code), String::from_utf8_lossy(reason)).trim_end().to_owned()
}

/// Returns the cause for a connection that the server closed with this code, including the server's reason; `said` is
/// the text of [`describe_frame`].
pub fn cause_with_reason(code: u16, said: &[u8]) -> Cause {
    let reason = said.strip_prefix(describe_frame(code, b"").as_bytes()).unwrap_or_default().trim_ascii();
    let sentence = match code {
        // Only the server knows what these codes mean, so their number is more useful than their range.
        3000.. => websocket::closed_with(code, name(code)),
        _ => cause_of_code(code).into(),
    };
    match reason {
        b"" => sentence,
        reason => websocket::with_reason(sentence, String::from_utf8_lossy(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_farewell_has_the_number_and_the_reason() {
        for (code, reason, expected) in [
            (1013, "busy", "the server closed with 1013 (try again later): busy"),
            (1001, "", "the server closed with 1001 (going away)"),
            (4001, "token expired", "the server closed with 4001 (private): token expired"),
            (NO_CODE, "", "the server closed without a code"),
        ] {
            assert_eq!(cause_with_reason(code, describe_frame(code, reason.as_bytes()).as_bytes()).en(), expected);
        }
    }

    #[test]
    fn a_goodbye_names_the_code_and_what_it_means() {
        for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014] {
            assert_eq!(cause_of_code(code).en(), format!("the server closed with {code} ({})", name(code)));
        }
        assert!(cause_of_code(NO_CODE).en().contains("without") && cause_of_code(3001).en().contains("registered"));
    }

    #[test]
    fn codes_that_may_be_sent() {
        let good = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999];
        for number in 0..=u16::MAX {
            let told = code(&number.to_be_bytes());
            let expected = good.contains(&number) || (3000..5000).contains(&number);
            assert_eq!(told.is_ok(), expected, "{number}");
        }
        assert_eq!(code(b""), Ok(1005));
        assert!(code(b"\x03").is_err() && code(b"\x03\xe8\xff").is_err() && code(b"\x03\xe8\xe2\x82").is_err());
        assert_eq!(code(b"\x03\xe8bye \xe2\x82\xac"), Ok(1000));
    }
}
