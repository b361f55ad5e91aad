//! The parsed form of a path: parsed once per distinct path, prepared as far as possible, shared by all
//! requests for it.
//!
//! The language is documented at the crate's root. Because users write it, an unknown path is
//! answered with 404 and an invalid value with 400, each with a message that states the accepted
//! form.

use std::sync::{Arc, Mutex};

use brunt_contract::BodyFraming;
use brunt_protocols::grpc::server::{CallError, INVALID_ARGUMENT};

use crate::path::{self, PathOptions};
use crate::queue_model::QueueModel;
use crate::raw_answer::{BLOCK, FILLER, RawAnswer};
use crate::{DelayDistribution, SharedState};

/// The kind of a path; each kind has its own counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the path it is named after")]
pub enum PathKind {
    Root,
    Status,
    Bytes,
    Chunked,
    Close,
    Header,
    Delay,
    Redirect,
    Echo,
    Hang,
    Reset,
    Garbage,
    Cut,
    EndlessHeaders,
    Short,
    Long,
    Stats,
    ResetStats,
    Call,
    Unknown,
}

impl PathKind {
    /// All kinds with their path prefixes, in the order of the enum.
    pub const ALL: [(PathKind, &'static str); 20] = [
        (PathKind::Root, "/"),
        (PathKind::Status, "/status"),
        (PathKind::Bytes, "/bytes"),
        (PathKind::Chunked, "/chunked"),
        (PathKind::Close, "/close"),
        (PathKind::Header, "/header"),
        (PathKind::Delay, "/delay"),
        (PathKind::Redirect, "/redirect"),
        (PathKind::Echo, "/echo"),
        (PathKind::Hang, "/hang"),
        (PathKind::Reset, "/reset"),
        (PathKind::Garbage, "/garbage"),
        (PathKind::Cut, "/cut"),
        (PathKind::EndlessHeaders, "/endless-headers"),
        (PathKind::Short, "/short"),
        (PathKind::Long, "/long"),
        (PathKind::Stats, "/-/stats"),
        (PathKind::ResetStats, "/-/reset-stats"),
        (PathKind::Call, "grpc"),
        (PathKind::Unknown, "unknown"),
    ];

    /// Returns `true` for paths that observe the server instead of using it: answered at once, and counted only
    /// separately.
    pub fn is_monitoring(self) -> bool {
        matches!(self, PathKind::Stats | PathKind::ResetStats)
    }
}

/// The body of an answer.
#[derive(Clone, Debug)]
pub enum AnswerBody {
    /// Literal bytes.
    Text(Box<[u8]>),
    /// Filler of this many bytes, at most a block.
    Filler(usize),
    /// The request as it was received.
    Echo,
    /// The counters.
    Stats,
    /// Raw bytes instead of an answer made by the session.
    Raw(RawAnswer),
}

/// A request that is never answered, on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithheldAnswer {
    /// The connection stays open and no answer comes.
    Hang,
    /// The connection is reset.
    Reset,
    /// The connection is closed.
    Close,
}

/// A parsed path.
#[derive(Clone, Debug)]
pub struct PathSpec {
    /// The path and query as requested.
    pub path: Box<str>,
    /// Kind of the path.
    pub kind: PathKind,
    /// Status of the answer.
    pub status: u16,
    /// Header lines besides those the session adds, each terminated by CR LF.
    pub headers: Box<[u8]>,
    /// Body of the answer.
    pub body: AnswerBody,
    /// Requested or announced size.
    pub size: Option<u64>,
    /// Number of bytes after which the answer is cut; `None` if it is not.
    pub cut: Option<u64>,
    /// Framing of the body.
    pub shape: BodyFraming,
    /// Set if the connection closes after the answer.
    pub close: bool,
    /// Set if no answer is given.
    pub withheld: Option<WithheldAnswer>,
    /// Set if the answer violates the protocol or is cut short, on purpose.
    pub spoiled: bool,
    /// Requested delay.
    pub delay: Option<DelayDistribution>,
    /// Queue that the request goes through.
    pub station: Option<Arc<Mutex<QueueModel>>>,
    /// gRPC status and message with which a call is answered.
    pub refusal: Option<CallError>,
}

impl PathSpec {
    /// Returns the memory used in bytes, except for parts shared with other specs.
    pub(crate) fn size(&self) -> usize {
        size_of::<PathSpec>() + self.path.len() + self.headers.len()
    }

    /// Parses a path and query.
    pub fn read(path: &str, shop: &SharedState) -> PathSpec {
        let mut wish = PathOptions::default();
        let (kind, read) = path::read(path, &mut wish);
        match read.and_then(|()| PathSpec::grant(path, kind, wish, shop)) {
            Ok(spec) => spec,
            Err((status, sentence)) => PathSpec::sentence(path, kind, status, &sentence),
        }
    }

    /// Parses the options of a call to this path, written as an HTTP path and query; an empty text
    /// has none.
    pub fn of_call(path: &str, wished: &str, shop: &SharedState) -> PathSpec {
        let mut wish = PathOptions::default();
        let (kind, read) = if wished.is_empty() { (PathKind::Call, Ok(())) } else { path::read(wished, &mut wish) };
        // Paths that observe the server work over HTTP only.
        let kind = if kind.is_monitoring() { PathKind::Call } else { kind };
        let path = format!("{path}{wished}");
        let status = wish.grpc_status;
        match read.and_then(|()| PathSpec::grant(&path, kind, wish, shop)) {
            Ok(spec) => PathSpec { refusal: status.map(|status| CallError(status, "as asked".to_owned())), ..spec },
            Err((_, sentence)) => {
                let refusal = Some(CallError(INVALID_ARGUMENT, sentence));
                PathSpec { refusal, ..PathSpec::sentence(&path, PathKind::Call, 200, "") }
            }
        }
    }

    /// Creates an answer that consists of a status and a message.
    pub fn sentence(path: &str, kind: PathKind, status: u16, sentence: &str) -> PathSpec {
        PathSpec {
            path: path.into(),
            kind,
            status,
            headers: (*b"content-type: text/plain\r\n").into(),
            body: AnswerBody::Text(format!("{sentence}\n").into_bytes().into()),
            size: None,
            cut: None,
            shape: BodyFraming::Length,
            close: false,
            withheld: None,
            spoiled: false,
            delay: None,
            station: None,
            refusal: None,
        }
    }

    fn grant(path: &str, kind: PathKind, wish: PathOptions, shop: &SharedState) -> Result<PathSpec, (u16, String)> {
        let status = wish.status.unwrap_or(200);
        let mut spec = PathSpec::sentence(path, kind, status, if status < 300 { "ok" } else { reason(status) });
        let size = if matches!(status, 204 | 304) { Some(0) } else { wish.size };
        (spec.size, spec.cut) = (size, wish.cut);
        spec.headers = wish.headers.clone().into();
        spec.shape = wish.shape;
        spec.close = wish.close || wish.shape == BodyFraming::UntilClose;
        spec.withheld = wish.withheld;
        spec.delay = wish.delay;
        if let Some(servers) = wish.station {
            let service = wish.service.ok_or((
                400,
                "station: write the service time too, as in ?station=1&service=exponential:2ms".to_owned(),
            ))?;
            let full = || (503, "station: there are too many already; start another target for more".to_owned());
            spec.station = Some(shop.station(servers, service).ok_or_else(full)?);
        }
        match kind {
            PathKind::Echo => spec.body = AnswerBody::Echo,
            PathKind::Stats => {
                spec.headers = (*b"content-type: application/json\r\n").into();
                spec.body = AnswerBody::Stats;
            }
            _ => spec.fill(kind, size),
        }
        if let Some(keep) = wish.cut {
            spec.cut(keep)?;
        }
        Ok(spec)
    }

    /// Chooses the body of an ordinary or spoiled answer of `size` bytes.
    fn fill(&mut self, kind: PathKind, size: Option<u64>) {
        let announced = size.unwrap_or(0);
        let head = |spec: &PathSpec| raw_head(spec.status, &spec.headers, BodyFraming::Length, announced);
        let (raw, close) = match kind {
            PathKind::Garbage => {
                (RawAnswer::bytes(b"\x16\x03garbage \xff\xfe\x00 this is not HTTP\r\n\r\n".to_vec()), true)
            }
            PathKind::EndlessHeaders => {
                let mut head = head(self);
                head.truncate(head.len() - 2);
                (RawAnswer::endless_headers(head), true)
            }
            PathKind::Short => (RawAnswer::filler(head(self), announced / 2), true),
            PathKind::Long => (RawAnswer::filler(head(self), announced + (announced / 2).max(1)), self.close),
            _ => match size {
                Some(size) if size <= BLOCK as u64 => return self.body = AnswerBody::Filler(size as usize),
                Some(_) => return self.body = AnswerBody::Raw(self.raw(announced)),
                None => return,
            },
        };
        (self.body, self.close, self.spoiled) = (AnswerBody::Raw(raw), close, true);
    }

    /// Returns a correct answer of `size` bytes as raw bytes.
    fn raw(&self, size: u64) -> RawAnswer {
        let mut headers = self.headers.to_vec();
        if self.close {
            headers.extend_from_slice(b"connection: close\r\n");
        }
        let head = raw_head(self.status, &headers, self.shape, size);
        match self.shape {
            BodyFraming::Chunked(chunk) => RawAnswer::chunked(head, size, chunk),
            BodyFraming::Length | BodyFraming::UntilClose => RawAnswer::filler(head, size),
        }
    }

    /// Ends the answer after `keep` bytes, head included, and closes the connection.
    fn cut(&mut self, keep: u64) -> Result<(), (u16, String)> {
        let whole = match &self.body {
            AnswerBody::Raw(raw) => raw.clone(),
            AnswerBody::Filler(size) => self.raw(*size as u64),
            AnswerBody::Text(text) => {
                let mut bytes = raw_head(self.status, &self.headers, BodyFraming::Length, text.len() as u64);
                bytes.extend_from_slice(text);
                RawAnswer::bytes(bytes)
            }
            AnswerBody::Echo | AnswerBody::Stats => {
                return Err((400, "cut: only responses of a known size can be cut".into()));
            }
        };
        (self.body, self.close, self.spoiled) = (AnswerBody::Raw(whole.cut(keep)), true, true);
        Ok(())
    }

    /// Returns the body if it is known in advance.
    pub fn known_body(&self) -> &[u8] {
        match &self.body {
            AnswerBody::Text(text) => text,
            AnswerBody::Filler(size) => &FILLER[..*size],
            AnswerBody::Echo | AnswerBody::Stats | AnswerBody::Raw(_) => &[],
        }
    }
}

/// Returns the head of a raw HTTP/1.1 answer.
fn raw_head(status: u16, headers: &[u8], shape: BodyFraming, size: u64) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status)).into_bytes();
    head.extend_from_slice(headers);
    match shape {
        BodyFraming::Length => head.extend_from_slice(format!("content-length: {size}\r\n").as_bytes()),
        BodyFraming::Chunked(_) => head.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        BodyFraming::UntilClose => {}
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "As Asked",
    }
}
