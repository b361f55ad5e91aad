//! Converts a request from HTTP/1.1 syntax to an HTTP/2 header list (RFC 9113 8.3.1), before the run.
//!
//! A request's recipe is encoded once, in HTTP/1.1; this module reads that head, so every request option works in both
//! versions. Connection-specific fields (8.2.2) are dropped, `Host` becomes `:authority`, and names are lowercased.

use std::collections::HashMap;
use std::sync::Arc;

use brunt_contract::UsageError;

use super::hpack::{HeaderList, Lexicon};
use super::slots::Http2Template;
use crate::http1::HttpRequest;
use crate::placeholders::Placeholders;

/// A request prepared for HTTP/2.
#[derive(Debug)]
pub struct Http2Request {
    /// Header list of the request.
    pub list: HeaderList,
    /// Body of the request; `None` if there is only a head.
    pub body: Option<Arc<[u8]>>,
    /// The template of the slots, if any; `list` then holds the pseudo-header fields without slots.
    pub slots: Option<Box<Http2Template>>,
}

/// The key under which prepared heads are shared.
type HeadKey = (usize, bool, Box<[u8]>);

/// Prepares the requests of a run. The requests of many URLs nearly all differ only in their path, which each request
/// holds itself, so they share one prepared head.
#[derive(Debug, Default)]
pub struct Http2Preparer {
    /// The fields of all heads.
    pub lexicon: Lexicon,
    /// Set if cookies are sent with each request.
    jar: bool,
    /// Prepared requests, keyed by the part after the path, by whether TLS is used, and by the method; for paths that
    /// peers index, also by the path.
    shared: HashMap<HeadKey, Arc<Http2Request>>,
}

impl Http2Preparer {
    /// Creates a preparer; `jar` is set if the run's users keep cookies.
    pub fn new(jar: bool) -> Http2Preparer {
        Http2Preparer { jar, ..Http2Preparer::default() }
    }

    /// Prepares a request that may have slots.
    ///
    /// # Errors
    /// Fails if a slot is invalid.
    pub fn prepare(
        &mut self,
        request: &HttpRequest,
        tls: bool,
        marks: &mut Placeholders,
    ) -> Result<Arc<Http2Request>, UsageError> {
        let Some(filled) = &request.slots else { return Ok(self.shared(request, tls)) };
        let end = memchr::memmem::find(&filled.marked, b"\r\n\r\n").map_or(filled.marked.len(), |at| at + 4);
        let (head, small) = filled.marked.split_at(end);
        let head = String::from_utf8_lossy(head);
        let (list, slots) = Http2Template::new(&fields(&head, tls), small, self.jar, &mut self.lexicon, marks)?;
        let fixed = (!slots.body && !small.is_empty()).then(|| Arc::from(small));
        let body = filled.tail().cloned().or(fixed);
        Ok(Arc::new(Http2Request { list, body, slots: Some(Box::new(slots)) }))
    }

    fn shared(&mut self, request: &HttpRequest, tls: bool) -> Arc<Http2Request> {
        let list = |lexicon: &mut Lexicon, fields: &mut HeaderPairs<'_>| lexicon.list(fields);
        let Some((common, (method, path))) = request.tail.as_ref().zip(request.start()) else {
            return Arc::new(prepared(request, (tls, self.jar), |fields| list(&mut self.lexicon, fields)));
        };
        let remembered = self.lexicon.has_room_for(":path", &String::from_utf8_lossy(path));
        let start = if remembered { &request.bytes } else { method };
        let key = (Arc::as_ptr(common) as usize, tls, Box::from(start));
        if let Some(known) = self.shared.get(&key) {
            return Arc::clone(known);
        }
        let made = Arc::new(prepared(request, (tls, self.jar), |fields| match remembered {
            true => list(&mut self.lexicon, fields),
            false => self.lexicon.list_for_any_path(fields),
        }));
        self.shared.insert(key, Arc::clone(&made));
        made
    }
}

/// Connection-specific fields of HTTP/1.1 (8.2.2).
const OF_CONNECTIONS: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Prepares a request outside the run's lexicon: its fields are written out, except cookies if those are sent with each
/// request (`jar`).
pub fn prepare(request: &HttpRequest, tls: bool, jar: bool) -> Http2Request {
    prepared(request, (tls, jar), |fields| HeaderList::of_literals(fields))
}

type HeaderPairs<'a> = dyn Iterator<Item = (&'a str, &'a str)> + 'a;

fn prepared(
    request: &HttpRequest,
    (tls, jar): (bool, bool),
    list: impl FnOnce(&mut HeaderPairs<'_>) -> HeaderList,
) -> Http2Request {
    let text = request.text();
    let end = memchr::memmem::find(&text, b"\r\n\r\n").map_or(text.len(), |at| at + 4);
    let (head, small) = text.split_at(end);
    let head = String::from_utf8_lossy(head);
    let fields = fields(&head, tls);
    let said = fields.iter().filter(|(name, _)| !jar || name != "cookie");
    let mut pairs = said.map(|(name, value)| (name.as_str(), *value));
    let body = request.body().cloned().or_else(|| (!small.is_empty()).then(|| Arc::from(small)));
    Http2Request { list: list(&mut pairs), body, slots: None }
}

/// Returns the header list of a head, pseudo-header fields first.
pub fn fields(head: &str, tls: bool) -> Vec<(String, &str)> {
    let mut lines = head.split("\r\n");
    let mut start = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (start.next().unwrap_or_default(), start.next().unwrap_or_default());
    let mut pseudo = vec![(":method".to_owned(), method), (":scheme".to_owned(), if tls { "https" } else { "http" })];
    let mut others = Vec::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match name.as_str() {
            "host" => pseudo.push((":authority".to_owned(), value)),
            "te" if value != "trailers" => {}
            name if OF_CONNECTIONS.contains(&name) => {}
            _ => others.push((name, value)),
        }
    }
    pseudo.truncate(3);
    pseudo.push((":path".to_owned(), target));
    pseudo.append(&mut others);
    pseudo
}

/// Converts an HTTP/1.1 request to a readable HTTP/2 request.
pub fn readable(text: &[u8]) -> Vec<u8> {
    let end = memchr::memmem::find(text, b"\r\n\r\n").map_or(text.len(), |at| at + 4);
    let head = String::from_utf8_lossy(&text[..end]);
    let (start, rest) = head.split_once("\r\n").unwrap_or((&head, ""));
    let start = start.strip_suffix("HTTP/1.1").map_or_else(|| start.to_owned(), |start| format!("{start}HTTP/2"));
    let mut lines = vec![start];
    for (name, value) in rest.split("\r\n").filter_map(|line| line.split_once(':')) {
        let name = name.to_ascii_lowercase();
        if !OF_CONNECTIONS.contains(&name.as_str()) {
            lines.push(format!("{name}: {}", value.trim()));
        }
    }
    let mut readable = (lines.join("\r\n") + "\r\n\r\n").into_bytes();
    readable.extend_from_slice(&text[end..]);
    readable
}
