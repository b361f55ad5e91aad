//! A page that is read once a second: HTTP/1.0, a connection each time.

use std::io::{self, ErrorKind};

use super::conversation::Place;

/// Where it is.
#[derive(Debug)]
pub struct Page {
    pub(super) place: Place,
    path: String,
}

impl Page {
    /// Reads `http://HOST[:PORT]/PATH`, or `https://`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Page, String> {
        let (tls, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => {
                return Err(format!(
                    "`{text}` is not the URL of a page; write http://HOST:PORT/PATH, or \
                https://"
                ));
            }
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let place = Place::parse(authority, if tls { 443 } else { 80 })?.over_tls(tls);
        if !path.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(format!("`{text}` has a path with characters that must be escaped"));
        }
        Ok(Page { place, path: path.to_owned() })
    }

    /// `host:port`.
    pub fn authority(&self) -> String {
        self.place.authority()
    }

    /// Its text as it is now.
    pub fn read(&mut self) -> io::Result<String> {
        let mut talk = self.place.open()?;
        if self.place.is_over_tls() {
            talk = self.place.seal(talk)?;
        }
        let (path, authority) = (&self.path, self.authority());
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: {authority}\r\nAccept: text/plain\r\nUser-Agent: brunt\r\n\r\n");
        talk.say(request.as_bytes())?;
        let mut heard = Vec::new();
        while talk.more(&mut heard)? {}
        body(&heard)
    }
}

/// How long a head says that its body is.
fn length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })
}

/// The body of an answer that succeeded.
fn body(heard: &[u8]) -> io::Result<String> {
    if heard.is_empty() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let wrong = |what: String| io::Error::new(ErrorKind::InvalidData, what);
    let end = heard.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = heard.split_at(end.ok_or_else(|| wrong("it does not speak HTTP".into()))?);
    let (head, body) = (String::from_utf8_lossy(head), &body[4..]);
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    match status {
        Some("200") => match length(&head) {
            Some(length) if body.len() < length => {
                Err(wrong(format!("its response was cut short: {} of {length} bytes arrived", body.len())))
            }
            _ => Ok(String::from_utf8_lossy(body).into_owned()),
        },
        Some(status) => Err(wrong(format!("it responded with status {}", status.escape_debug()))),
        None => Err(wrong("it does not speak HTTP".into())),
    }
}
