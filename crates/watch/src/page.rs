//! A page that is fetched once a second, over a new connection each time.

use super::client::{ServerProtocol, WatchClient};
use super::service_address::ServiceAddress;

const TONGUE: ServerProtocol =
    ServerProtocol { name: "HTTP", refusal: |_, status| Some(format!("it responded with status {status}")) };

/// Parses `http://HOST[:PORT]/PATH`, or `https://`.
///
/// # Errors
///
/// Returns a message that says what is wrong with the text.
pub fn client(text: &str) -> Result<WatchClient, String> {
    let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => {
            return Err(format!(
                "`{text}` is not the URL of a page; use http://HOST:PORT/PATH, or \
                https://"
            ));
        }
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let place = ServiceAddress::parse(authority, if tls { 443 } else { 80 })?.over_tls(tls);
    if !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("`{text}` has a path with characters that must be escaped"));
    }
    // Braces would be parsed as placeholders.
    let path = path.replace('{', "%7B").replace('}', "%7D");
    let scheme = if tls { "https" } else { "http" };
    let options = [("header", "Accept: text/plain"), ("expect-status", "200"), ("no-keepalive", "")];
    let options = options.map(|(option, value)| (option, vec![value.to_owned()])).into();
    WatchClient::new(TONGUE, &brunt_protocols::http1::Http1, place, (&format!("{scheme}://"), &path), options)
}
