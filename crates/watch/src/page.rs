//! A page that is fetched once a second, over a new connection each time.

use super::client::{ServerProtocol, WatchClient};
use super::service_address::ServiceAddress;
use brunt_cause::{Complaint, complaint};

const TONGUE: ServerProtocol =
    ServerProtocol { name: "HTTP", refusal: |_, status| Some(format!("it responded with status {status}")) };

/// Parses `http://HOST[:PORT]/PATH`, or `https://`.
///
/// # Errors
///
/// Returns a message that says what is wrong with the text.
pub fn client(text: &str) -> Result<WatchClient, Complaint> {
    let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (None, Some(rest)) => (true, rest),
        (None, None) => {
            return Err(complaint!(
                "`{text}` is not the URL of a page; use http://HOST:PORT/PATH, or \
                https://",
                "`{text}` 不是页面的 URL；请用 http://HOST:PORT/PATH 或 https://"
            ));
        }
    };
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let place = ServiceAddress::parse(authority, if tls { 443 } else { 80 })?.over_tls(tls);
    if !path.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(complaint!(
            "`{text}` has a path with characters that must be escaped",
            "`{text}` 的路径中有需要转义的字符"
        ));
    }
    // Braces would be parsed as placeholders.
    let path = path.replace('{', "%7B").replace('}', "%7D");
    let scheme = if tls { "https" } else { "http" };
    let options = [("header", "Accept: text/plain"), ("expect-status", "200"), ("no-keepalive", "")];
    let options = options.map(|(option, value)| (option, vec![value.to_owned()])).into();
    WatchClient::new(TONGUE, &brunt_protocols::http1::Http1, place, (&format!("{scheme}://"), &path), options)
}
