//! From a request as HTTP/1.1 says it to the header list of HTTP/2 (RFC 9113 8.3.1), before the run.
//!
//! The recipe of a request is encoded once, in HTTP/1.1; this reads that head. So whatever an option does to a request
//! it does in both versions. Fields that are about an HTTP/1.1 connection (8.2.2) are left out, `Host` becomes
//! `:authority`, names become small.

use std::collections::HashMap;
use std::sync::Arc;

use wire::Complaint;

use super::filled::Filled;
use super::hpack::{Lexicon, List};
use crate::http1::Request;
use crate::marks::Marks;

/// A request as HTTP/2 says it.
#[derive(Debug)]
pub struct Prepared {
    /// Its head.
    pub list: List,
    /// Its body; None: the head is all.
    pub body: Option<Arc<[u8]>>,
    /// What its slots are filled from; the list then holds the pseudo-fields without any.
    pub slots: Option<Box<Filled>>,
}

/// What heads must share to be prepared once.
type Alike = (usize, bool, Box<[u8]>);

/// Prepares the requests of a run. Of a million URLs nearly all differ in nothing but the path, which their requests have at hand: what is
/// prepared for one of them serves them all.
#[derive(Debug, Default)]
pub struct Preparer {
    /// The fields of all heads.
    pub lexicon: Lexicon,
    /// Cookies are said with each request.
    jar: bool,
    /// By the end that requests share, whether TLS is spoken, and the method; of paths that peers remember also the path.
    shared: HashMap<Alike, Arc<Prepared>>,
}

impl Preparer {
    /// Of a run whose users keep cookies, or do not.
    pub fn of(jar: bool) -> Preparer {
        Preparer { jar, ..Preparer::default() }
    }

    /// Prepares a request that may have slots.
    ///
    /// # Errors
    /// What is wrong with a slot.
    pub fn prepare(&mut self, request: &Request, tls: bool, marks: &mut Marks) -> Result<Arc<Prepared>, Complaint> {
        let Some(filled) = &request.slots else { return Ok(self.shared(request, tls)) };
        let end = memchr::memmem::find(&filled.marked, b"\r\n\r\n").map_or(filled.marked.len(), |at| at + 4);
        let (head, small) = filled.marked.split_at(end);
        let head = String::from_utf8_lossy(head);
        let (list, slots) = Filled::new(&fields(&head, tls), small, self.jar, &mut self.lexicon, marks)?;
        let fixed = (!slots.body && !small.is_empty()).then(|| Arc::from(small));
        let body = filled.tail().cloned().or(fixed);
        Ok(Arc::new(Prepared { list, body, slots: Some(Box::new(slots)) }))
    }

    fn shared(&mut self, request: &Request, tls: bool) -> Arc<Prepared> {
        let list = |lexicon: &mut Lexicon, fields: &mut Pairs<'_>| lexicon.list(fields);
        let Some((common, (method, path))) = request.common.as_ref().zip(request.start()) else {
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

/// Fields that mean nothing beyond HTTP/1.1 (8.2.2).
const OF_CONNECTIONS: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

/// Prepares a request outside the lexicon of the run: its fields are written out, but for cookies where those are said with each
/// request (`jar`).
pub fn prepare(request: &Request, tls: bool, jar: bool) -> Prepared {
    prepared(request, (tls, jar), |fields| List::of_texts(fields))
}

type Pairs<'a> = dyn Iterator<Item = (&'a str, &'a str)> + 'a;

fn prepared(request: &Request, (tls, jar): (bool, bool), list: impl FnOnce(&mut Pairs<'_>) -> List) -> Prepared {
    let text = request.text();
    let end = memchr::memmem::find(&text, b"\r\n\r\n").map_or(text.len(), |at| at + 4);
    let (head, small) = text.split_at(end);
    let head = String::from_utf8_lossy(head);
    let fields = fields(&head, tls);
    let said = fields.iter().filter(|(name, _)| !jar || name != "cookie");
    let mut pairs = said.map(|(name, value)| (name.as_str(), *value));
    let body = request.body().cloned().or_else(|| (!small.is_empty()).then(|| Arc::from(small)));
    Prepared { list: list(&mut pairs), body, slots: None }
}

/// The header list of a head, pseudo-fields first.
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

/// A request of HTTP/1.1 as people read one of HTTP/2.
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
