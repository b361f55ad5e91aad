//! Undoes the percent-encoding of parts of a URL (RFC 3986 2.1): hosts, names, passwords, databases.

use url::{Host, Url};

/// The host of a URL, without brackets. A scheme that is not of the web keeps it as written. None: it has no host, or one
/// that is no text.
pub fn host(url: &Url) -> Option<String> {
    let host = match url.host()? {
        Host::Domain(name) => String::from_utf8(decoded(name)).ok()?,
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    Some(host).filter(|host| !host.is_empty())
}

/// The bytes a text stands for; what is no pair of hexadecimal digits stands for itself.
pub fn decoded(text: &str) -> Vec<u8> {
    let (bytes, mut plain, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while at < bytes.len() {
        let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #[test]
    fn pairs_of_digits_are_bytes() {
        for (text, plain) in
            [("a%40b", "a@b"), ("%3a%2F", ":/"), ("%", "%"), ("%4", "%4"), ("%+4x", "%+4x"), ("%zz1", "%zz1")]
        {
            assert_eq!(super::decoded(text), plain.as_bytes(), "{text}");
        }
    }
}
