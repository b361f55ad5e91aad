//! Prepared calls: header list and messages, encoded once before the run.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use brunt_cause::{Cause, Complaint, complaint};
use brunt_contract::{Origin, SlotContext, UsageError};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost_reflect::MethodDescriptor;
use url::Url;

use super::expect::GrpcChecks;
use super::framing;
use super::json::PreparedMessage;
use super::options::GrpcOptions;
use super::status::GrpcStatusSet;
use crate::http2;
use crate::http2::hpack::{HeaderList, Lexicon};
use crate::placeholders::Placeholders;

/// Flag: the response is a stream of messages.
pub const STREAMS: u8 = 1;
/// Flag: a compressed response was requested.
pub const COMPRESSED: u8 = 2;
/// Flag: a deadline was sent to the server.
pub const DEADLINE: u8 = 4;
/// Flag: the user offered compressions that are unknown here, so responses may use any.
pub const ANYHOW: u8 = 8;

/// The compressions offered: those that can be decompressed if a response is examined.
const ACCEPTED: &str = "identity,deflate,gzip";

/// Shared storage for a captured response: its status, and its body up to a limit.
pub type CaptureCell = Arc<Mutex<Option<CapturedResponse>>>;

/// A captured response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedResponse {
    /// The gRPC status; `None` if the response was cut off or invalid.
    pub status: Option<u32>,
    /// The status message, or the cause of the failure.
    pub message: String,
    /// Messages with their prefixes.
    pub body: Vec<u8>,
}

impl CapturedResponse {
    /// Encodes the response for [`Self::decode`].
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.status.map_or(u32::MAX, |status| status).to_be_bytes().to_vec();
        bytes.extend_from_slice(&(self.message.len() as u32).to_be_bytes());
        bytes.extend_from_slice(self.message.as_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Decodes the bytes of [`Self::encode`]; any other bytes give a response without a status.
    pub fn decode(bytes: &[u8]) -> CapturedResponse {
        let decoded = || {
            let (status, rest) = bytes.split_first_chunk::<4>()?;
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let (said, body) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            let status = Some(u32::from_be_bytes(*status)).filter(|status| *status != u32::MAX);
            Some(CapturedResponse { status, message: String::from_utf8_lossy(said).into_owned(), body: body.to_vec() })
        };
        decoded().unwrap_or_default()
    }
}

/// A prepared call.
#[derive(Debug)]
pub struct GrpcRequest {
    /// The header list.
    pub(super) list: HeaderList,
    /// All messages with their prefixes; in lockstep, the first one only.
    pub(super) body: Arc<[u8]>,
    /// The further messages of a call in lockstep.
    pub(super) further: Option<Arc<[Arc<[u8]>]>>,
    /// Flags for the session.
    pub(super) flags: u8,
    /// The place where the response is captured.
    pub(super) capture: Option<CaptureCell>,
    /// The statuses that count as success.
    pub(super) success: GrpcStatusSet,
    /// The checks of the response.
    pub(super) expected: Option<Arc<GrpcChecks>>,
    /// `/package.Service/Method`, for `--debug`.
    pub(super) path: Box<str>,
    /// The method's descriptor, if known, for `--debug`.
    pub(super) method: Option<MethodDescriptor>,
    /// The templates for the call's slots, if it has any.
    pub(super) slots: Option<Box<CallTemplate>>,
    /// The index of the step, if the call is a step on a stream held open.
    pub(super) step: Option<u32>,
}

impl GrpcRequest {
    /// Takes the parts that open the call, for use by a stream held open.
    pub(super) fn opening(&mut self) -> (HeaderList, Option<Arc<http2::Http2Template>>) {
        let head = self.slots.as_mut().and_then(|slots| slots.head.clone());
        (std::mem::take(&mut self.list), head)
    }
}

/// The templates of a call with slots.
#[derive(Debug)]
pub struct CallTemplate {
    /// The head's template, if metadata has slots; the list then holds the pseudo-header fields.
    pub(super) head: Option<Arc<http2::Http2Template>>,
    /// The messages; empty if none has slots.
    pub(super) messages: Vec<PreparedMessage>,
}

impl CallTemplate {
    /// Appends the messages with their prefixes.
    ///
    /// # Errors
    /// A value is not of the type of its field.
    pub(super) fn put(&self, context: &SlotContext, scratch: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), Cause> {
        self.messages.iter().try_for_each(|message| match message {
            PreparedMessage::Fixed(bytes) => {
                framing::put(bytes, out);
                Ok(())
            }
            PreparedMessage::Filled(filled) => filled.put(context, scratch, out),
        })
    }
}

/// The parts of a gRPC URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcUrl {
    /// The origin to connect to.
    pub origin: Origin,
    /// `host:port` as written: the call's `:authority`.
    pub authority: String,
    /// Service and method; `None` if the URL names neither.
    pub method: Option<(String, String)>,
    /// Set if service and method were separated by a dot: both together may also be the dotted name of a service.
    pub dotted: bool,
}

impl GrpcUrl {
    /// Parses `grpc://host:port/package.Service/Method`; also accepts `package.Service.Method`.
    ///
    /// # Errors
    /// Fails if the URL is invalid.
    pub fn read(text: &str) -> Result<GrpcUrl, UsageError> {
        let wrong = |trouble: Complaint| {
            let zh = trouble.zh();
            UsageError::new(
                "URL",
                complaint!(
                    "\"{text}\" cannot be used ({trouble}); use grpc://host:port/package.Service/Method",
                    "无法使用“{text}”（{zh}）；请写 grpc://host:port/package.Service/Method"
                ),
            )
        };
        let url = Url::parse(text).map_err(|error| wrong(error.to_string().into()))?;
        let (tls, port) = match url.scheme() {
            "grpc" => (false, PORT),
            "grpcs" => (true, SECURE_PORT),
            _ => return Err(wrong(complaint!("its scheme is neither grpc nor grpcs", "协议既不是 grpc 也不是 grpcs"))),
        };
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| wrong(complaint!("it has no host", "缺少主机")))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(complaint!(
                "gRPC URLs have no user; send metadata with -H",
                "gRPC 的 URL 中没有用户；请用 -H 发送元数据"
            )));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(complaint!(
                "a call has no query; write its message with --data",
                "调用没有查询参数；请用 --data 写消息"
            )));
        }
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let origin = Origin::tcp(bare, url.port().unwrap_or(port), tls);
        let path = url.path().trim_matches('/');
        if path.is_empty() {
            return Ok(GrpcUrl { origin, authority, method: None, dotted: false });
        }
        let parts = path.split_once('/').or_else(|| path.rsplit_once('.'));
        let (service, method) =
            parts.ok_or_else(|| wrong(complaint!("its path has a service but no method", "路径中有服务但没有方法")))?;
        if service.is_empty() || method.is_empty() || method.contains('/') {
            return Err(wrong(complaint!("its path is not a service and method", "路径不是服务和方法")));
        }
        let dotted = !path.contains('/');
        Ok(GrpcUrl { origin, authority, method: Some((service.to_owned(), method.to_owned())), dotted })
    }
}

/// The default port of `grpc://`, used by the examples of every gRPC library.
pub const PORT: u16 = 50_051;
/// The default port of `grpcs://`.
pub const SECURE_PORT: u16 = 443;

/// A builder of calls, whose header fields share one lexicon.
#[derive(Debug, Default)]
pub struct CallBuilder {
    /// The fields of all heads.
    pub lexicon: Lexicon,
    /// Most messages of a call, since it was last looked at.
    pub most_messages: usize,
}

impl CallBuilder {
    /// Creates a call with these messages, sent all at once, or in lockstep with the response.
    pub fn call(
        &mut self,
        place: &GrpcUrl,
        wishes: &GrpcOptions,
        messages: Vec<PreparedMessage>,
        (lockstep, streams): (bool, bool),
        marks: &mut Placeholders,
    ) -> Result<GrpcRequest, UsageError> {
        self.most_messages = self.most_messages.max(messages.len());
        let (service, method) = place.method.as_ref().map_or(("", ""), |(s, m)| (s, m));
        let path = format!("/{service}/{method}");
        let (list, head) = self.head(place, &path, wishes, marks)?;
        let filled = messages.iter().any(|message| matches!(message, PreparedMessage::Filled(_)));
        if filled && lockstep {
            let trouble = complaint!(
                "sends messages one by one and cannot be combined with slots in messages; leave out one of them",
                "逐条发送消息，不能与消息中的占位符同用；请去掉其中一个"
            );
            return Err(UsageError::new("--lockstep", trouble));
        }
        if filled && wishes.compress {
            let trouble = complaint!(
                "compresses messages before the run and cannot be combined with slots in messages; leave out one of them",
                "在压测前压缩消息，不能与消息中的占位符同用；请去掉其中一个"
            );
            return Err(UsageError::new("--compress", trouble));
        }
        let (fixed, messages) = if filled { (Vec::new(), messages) } else { (messages, Vec::new()) };
        let slots = (filled || head.is_some()).then(|| Box::new(CallTemplate { head, messages }));
        let (body, further) = framed(fixed, lockstep, wishes.compress);
        let (compressed, anyhow) = compressions(wishes);
        let deadline = wishes.deadline.is_some();
        let said = [(streams, STREAMS), (compressed, COMPRESSED), (deadline, DEADLINE), (anyhow, ANYHOW)];
        let marks = said.into_iter().filter(|(holds, _)| *holds).fold(0, |all, (_, mark)| all | mark);
        Ok(GrpcRequest {
            list,
            body,
            further,
            flags: marks,
            capture: None,
            success: wishes.success,
            expected: None,
            path: path.into(),
            method: None,
            slots,
            step: None,
        })
    }

    /// Creates the head of a call, and its template if metadata has slots.
    fn head(
        &mut self,
        place: &GrpcUrl,
        path: &str,
        wishes: &GrpcOptions,
        marks: &mut Placeholders,
    ) -> Result<(HeaderList, Option<Arc<http2::Http2Template>>), UsageError> {
        let host = wishes.metadata.iter().find(|(name, _)| name == "host").map(|(_, value)| value);
        let given = |name: &str| wishes.metadata.iter().any(|(n, _)| n == name);
        let mut fields = vec![
            (":method", "POST"),
            (":scheme", if place.origin.tls { "https" } else { "http" }),
            (":path", path),
            (":authority", host.unwrap_or(&place.authority)),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
        ];
        if !given("user-agent") {
            fields.push(("user-agent", concat!("grpc-brunt/", env!("CARGO_PKG_VERSION"))));
        }
        if !given("grpc-accept-encoding") {
            fields.push(("grpc-accept-encoding", ACCEPTED));
        }
        if wishes.compress && !given("grpc-encoding") {
            fields.push(("grpc-encoding", "gzip"));
        }
        if let Some(deadline) = &wishes.deadline {
            fields.push(("grpc-timeout", deadline));
        }
        let own = wishes.metadata.iter().filter(|(name, _)| name != "host");
        fields.extend(own.map(|(name, value)| (name.as_str(), value.as_str())));
        if !fields.iter().any(|(_, value)| marks.occur_in(value.as_bytes())) {
            return Ok((self.lexicon.list(fields), None));
        }
        let fields: Vec<(String, &str)> = fields.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let (list, head) = http2::Http2Template::new(&fields, b"", false, &mut self.lexicon, marks)?;
        Ok((list, Some(Arc::new(head))))
    }
}

/// Messages sent one at a time.
type LockstepMessages = Arc<[Arc<[u8]>]>;

/// Frames the messages of a call: all of them together, or in lockstep the first one and the list of the others.
fn framed(messages: Vec<PreparedMessage>, lockstep: bool, compress: bool) -> (Arc<[u8]>, Option<LockstepMessages>) {
    let apart = lockstep && messages.len() > 1;
    let mut framed = messages.into_iter().map(|message| {
        let mut bytes = Vec::new();
        match message {
            PreparedMessage::Fixed(message) if compress => framing::put_compressed(&zipped(&message), &mut bytes),
            PreparedMessage::Fixed(message) => framing::put(&message, &mut bytes),
            PreparedMessage::Filled(_) => {}
        }
        bytes
    });
    if !apart {
        return (Arc::from(framed.collect::<Vec<_>>().concat()), None);
    }
    let first = framed.next().unwrap_or_default();
    (Arc::from(first), Some(framed.map(Arc::from).collect()))
}

/// Compresses a message with gzip (RFC 1952).
fn zipped(message: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing into memory does not fail.
    encoder.write_all(message).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// Returns whether compressed responses were requested, and whether unknown compressions were offered.
fn compressions(wishes: &GrpcOptions) -> (bool, bool) {
    let offers = wishes.metadata.iter().filter(|(name, _)| name == "grpc-accept-encoding");
    let mut offers = offers.flat_map(|(_, value)| value.split(',')).map(str::trim).peekable();
    let compressed = offers.peek().is_none() || offers.clone().any(|offer| offer != "identity");
    (compressed, offers.any(|offer| !matches!(offer, "identity" | "gzip" | "deflate")))
}
