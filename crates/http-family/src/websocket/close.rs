//! Close codes (RFC 6455 7.4 and the IANA registry) and what a close frame says.

use std::borrow::Cow;

use wire::Broken;

use super::utf8::Utf8;

/// The purpose is fulfilled.
pub const NORMAL: u16 = 1000;
/// The peer broke the protocol.
pub const PROTOCOL_ERROR: u16 = 1002;
/// Stands for a close frame without a code; never sent.
pub const NO_CODE: u16 = 1005;
/// The server cannot go on.
pub const INTERNAL_ERROR: u16 = 1011;

/// The code of a close frame's payload; [`NO_CODE`] where it is empty.
///
/// # Errors
/// What about it is not WebSocket.
pub fn code(payload: &[u8]) -> Result<u16, Broken> {
    let (code, reason) = match payload {
        [] => return Ok(NO_CODE),
        [_] => return Err(Broken("a close frame with half a status code")),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Broken("a close frame with a code that may not be sent"));
    }
    let mut text = Utf8::default();
    if !text.feed(reason) || !text.is_whole() {
        return Err(Broken("a close frame whose reason is not UTF-8"));
    }
    Ok(code)
}

/// A code in words.
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

/// What a server has said that closed with this code, in a sentence.
pub fn goodbye(code: u16) -> &'static str {
    match code {
        NORMAL => "the server closed with 1000 (normal)",
        1001 => "the server closed with 1001 (going away)",
        PROTOCOL_ERROR => "the server closed with 1002 (protocol error)",
        1003 => "the server closed with 1003 (unsupported data)",
        NO_CODE => "the server closed without a code",
        1007 => "the server closed with 1007 (invalid data)",
        1008 => "the server closed with 1008 (policy violation)",
        1009 => "the server closed with 1009 (message too big)",
        1010 => "the server closed with 1010 (extension missing)",
        INTERNAL_ERROR => "the server closed with 1011 (internal error)",
        1012 => "the server closed with 1012 (service restart)",
        1013 => "the server closed with 1013 (try again later)",
        1014 => "the server closed with 1014 (bad gateway)",
        3000..=3999 => "the server closed with a registered code (3000 to 3999)",
        _ => "the server closed with a private code (4000 to 4999)",
    }
}

/// A close frame for people: `close 1013 (try again later) busy`.
pub fn words(code: u16, reason: &[u8]) -> String {
    format!("close {code} ({}) {}", name(code), String::from_utf8_lossy(reason)).trim_end().to_owned()
}

/// What a server has said that closed with this code, its own reason included; `said` are the [`words`] of its frame.
pub fn farewell(code: u16, said: &[u8]) -> Cow<'static, str> {
    let reason = said.strip_prefix(words(code, b"").as_bytes()).unwrap_or_default().trim_ascii();
    let sentence = match code {
        // Of those only the server knows what they mean: their number says more than their range.
        3000.. => Cow::Owned(format!("the server closed with {code} ({})", name(code))),
        _ => Cow::Borrowed(goodbye(code)),
    };
    match reason {
        b"" => sentence,
        reason => Cow::Owned(format!("{sentence}: {}", String::from_utf8_lossy(reason))),
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
            assert_eq!(farewell(code, words(code, reason.as_bytes()).as_bytes()), expected);
        }
    }

    #[test]
    fn a_goodbye_names_the_code_and_what_it_means() {
        for code in [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014] {
            assert_eq!(goodbye(code), format!("the server closed with {code} ({})", name(code)));
        }
        assert!(goodbye(NO_CODE).contains("without") && goodbye(3001).contains("registered"));
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
