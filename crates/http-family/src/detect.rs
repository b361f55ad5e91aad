//! Detection of a peer's protocol from its first bytes, so that an error about a wrong port or scheme can name the
//! right one.

/// A protocol other than the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetectedProtocol {
    /// TLS.
    Tls,
    /// HTTP/1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// Header of a server's SETTINGS frame (RFC 9113 3.4, 6.5); its length byte may vary.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Returns the protocol that the first bytes belong to, or `None` if it is unknown or cannot be determined yet.
#[cold]
pub fn detect(first: &[u8]) -> Option<DetectedProtocol> {
    match first {
        // An alert (RFC 8446 5.1, 6): a TLS server that receives anything else sends one and closes.
        [0x15, 3, ..] => Some(DetectedProtocol::Tls),
        _ if first.starts_with(b"HTTP/1.") => Some(DetectedProtocol::Http1),
        _ if first.len() >= SETTINGS.len() && may_be_settings(first) => Some(DetectedProtocol::Http2),
        _ => None,
    }
}

/// Returns `true` if more bytes may still make [`detect`] succeed.
#[cold]
pub fn may_match_later(first: &[u8]) -> bool {
    first == [0x15] || first.len() < SETTINGS.len() && may_be_settings(first)
}

/// Returns `true` if the bytes may begin a SETTINGS frame. A setting has six bytes, and servers send few of them.
fn may_be_settings(first: &[u8]) -> bool {
    let whole_settings = first.get(2).is_none_or(|length| length % 6 == 0);
    whole_settings && first.iter().zip(SETTINGS).enumerate().all(|(at, (byte, wanted))| at == 2 || *byte == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_what_is_spoken() {
        let settings = [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
        for (bytes, spoken, decided) in [
            (&[0x15, 3, 3, 0, 2, 2, 10][..], Some(DetectedProtocol::Tls), 2),
            (b"HTTP/1.0 400 Bad Request\r\n", Some(DetectedProtocol::Http1), 7),
            (&settings, Some(DetectedProtocol::Http2), 9),
            (&[0, 0, 0, 4, 0, 0, 0, 0, 0], Some(DetectedProtocol::Http2), 9),
            (&[0, 0, 11, 4, 0, 0, 0, 0, 0], None, 0),
            (&[0, 0, 6, 7, 0, 0, 0, 0, 0], None, 0),
            (&[0x15, 4], None, 0),
            (b"SSH-2.0-x\r\n", None, 0),
            (b"", None, 0),
        ] {
            for end in 0..=bytes.len() {
                let told = detect(&bytes[..end]);
                assert_eq!(told, spoken.filter(|_| end >= decided), "{:?}", &bytes[..end]);
                assert!(told.is_none() || !may_match_later(&bytes[..end]), "{:?}", &bytes[..end]);
            }
            assert!(!may_match_later(bytes) || bytes.is_empty(), "{bytes:?}");
        }
    }
}
