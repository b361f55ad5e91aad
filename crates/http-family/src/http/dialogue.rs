//! The workload of the HTTP protocol, prepared for both versions.

use std::sync::Arc;

use wire::{
    About, Asked, Complaint, Dialogue, Draft, Established, Fill, Follow, Found, Lesson, Memory, Origin, Prepared,
    Protocol, Recalled, Session, Trace,
};

use super::options::{self, Version};
use crate::http1::options::OF_ONE_URL;
use crate::http1::{self, Http1, Http1Dialogue};
use crate::http2::{self, Http2Session, Preparer, hpack::Lexicon};
use crate::marks::Marks;

/// HTTP/1.1 and HTTP/2 over TCP and TLS.
#[derive(Clone, Copy, Debug, Default)]
pub struct Http;

impl Protocol for Http {
    fn about(&self) -> About<'_> {
        About {
            checks: crate::http1::judge::CHECKS,
            ..About::new("http", &["http", "https"], options::OPTIONS, OF_ONE_URL)
        }
    }

    fn heartbeats(&self, asked: &Asked) -> Result<(), String> {
        // Without TLS there is no ALPN, so `auto` means 1.1.
        let tls = asked.urls.iter().any(|url| url.url.starts_with("https:"));
        match options::version(asked) {
            Ok(Version::One) => Err("HTTP/1.1 has no heartbeat; add --http2, or leave it out".into()),
            Ok(Version::Auto) if !tls => {
                Err("--http auto uses HTTP/1.1 on http://, which has no heartbeat; write --http2, or leave it out"
                    .into())
            }
            // An invalid version is reported elsewhere.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        let version = options::version(asked)?;
        let streams = options::streams(asked, version)?;
        let mut marks = Marks::new(asked);
        match self.prepare_with(asked, (version, streams), &mut marks) {
            Ok(dialogue) => Ok(Arc::new(dialogue)),
            Err(complaint) => Err(marks.complaint(complaint)),
        }
    }
}

impl Http {
    fn prepare_with(
        self,
        asked: &Asked,
        (version, streams): (Version, u32),
        marks: &mut Marks,
    ) -> Result<HttpDialogue, Complaint> {
        // Proxies do not forward HTTP/2 without TLS.
        let proxies = if version == Version::Two { Arc::default() } else { Arc::clone(&asked.proxies) };
        let (mut one, mut requests) = Http1.dialogue(asked, proxies, marks)?;
        if streams > 1 && one.prepared.one_exchange_per_connection {
            let trouble = "does not go with --no-keepalive, where requests never share a connection; leave one of \
                them out";
            return Err(Complaint::new("--streams", trouble));
        }
        let mut preparer = Preparer::of(one.prepared.remembers);
        if version != Version::One {
            // The fields of the most frequent requests are added to the HPACK table first.
            let mut order: Vec<u32> = (0..requests.len() as u32).collect();
            order.sort_by(|a, b| requests[*b as usize].weight.total_cmp(&requests[*a as usize].weight));
            for at in order.into_iter().map(|at| at as usize) {
                let tls = one.prepared.origins[requests[at].origin].tls;
                let request = &mut requests[at].request;
                request.two = Some(preparer.prepare(request, tls, marks)?);
            }
        }
        one.prepared = Prepared { requests: Box::new(requests), exchanges_per_connection: streams, ..one.prepared };
        Ok(HttpDialogue { one, version, lexicon: Arc::new(preparer.lexicon) })
    }
}

/// The workload of a run over HTTP.
#[derive(Debug)]
pub struct HttpDialogue {
    one: Http1Dialogue,
    version: Version,
    lexicon: Arc<Lexicon>,
}

impl HttpDialogue {
    /// Returns `true` if the connection uses HTTP/2.
    fn speaks_two(&self, established: &Established) -> bool {
        match self.version {
            Version::One => false,
            Version::Two => true,
            Version::Auto => established.alpn.as_deref() == Some(b"h2"),
        }
    }
}

impl Dialogue for HttpDialogue {
    fn prepared(&self) -> &Prepared {
        self.one.prepared()
    }
    fn alpn(&self, _origin: &Origin) -> &[&'static [u8]] {
        match self.version {
            Version::One => &[b"http/1.1"],
            Version::Two => &[b"h2"],
            Version::Auto => &[b"h2", b"http/1.1"],
        }
    }
    fn compose(&self, like: &wire::Request, draft: &Draft) -> Result<Follow, cause::Cause> {
        self.one.compose(like, draft)
    }
    fn sent_with(&self, request: &wire::Request, fill: &Fill, memory: Option<&Memory>) -> Vec<u8> {
        let text = self.one.sent_with(request, fill, memory);
        if self.version == Version::Two { http2::readable(&text) } else { text }
    }
    fn trace(&self, request: &wire::Request, fill: &Fill) -> Option<Trace> {
        self.one.trace(request, fill)
    }
    fn learn(&self, request: &wire::Request, fill: &Fill, lesson: Lesson, memory: &mut Memory) -> Option<Found> {
        self.one.learn(request, fill, lesson, memory)
    }
    fn recall(&self, request: &wire::Request, fill: &Fill, memory: &mut Memory) -> Option<Recalled> {
        self.one.recall(request, fill, memory)
    }
    fn readable(&self, established: &Established, sent: &[u8], received: &[u8]) -> Option<[Vec<u8>; 2]> {
        let show = |bytes| http2::transcript::readable(bytes, &mut http2::transcript::Plain::default());
        if self.speaks_two(established) {
            return Some([show(sent), show(received)]);
        }
        Some([sent.to_vec(), http1::transcript::readable(received)?])
    }
    fn session(&self, origin: &Origin, established: &Established) -> Box<dyn Session> {
        if self.speaks_two(established) {
            let (rules, lexicon) = (Arc::clone(&self.one.rules), Arc::clone(&self.lexicon));
            Box::new(Http2Session::new(rules, lexicon, self.prepared().exchanges_per_connection, established.tls))
        } else {
            self.one.session(origin, established)
        }
    }
    fn code_name(&self, code: u32) -> String {
        http2::frames::code::Word::named(code).unwrap_or_else(|| code.to_string())
    }
    fn spoken(&self, established: &Established) -> String {
        if self.speaks_two(established) { "HTTP/2".to_owned() } else { self.one.spoken(established) }
    }
}
