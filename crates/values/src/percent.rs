//! Percent-decoding of URL components (RFC 3986 2.1): hosts, user names, passwords, databases.

use url::{Host, Url};

/// Returns the host of a URL, without brackets. The host is decoded here because the URL parser leaves it
/// percent-encoded for non-web schemes. `None` if there is no host, or if the host is not UTF-8.
pub fn host(url: &Url) -> Option<String> {
    let host = match url.host()? {
        Host::Domain(name) => String::from_utf8(decoded(name)).ok()?,
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    Some(host).filter(|host| !host.is_empty())
}

/// Decodes a text; a `%` that is not followed by two hexadecimal digits is kept.
pub fn decoded(text: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(text).collect()
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
