//! The server side of calls, used by the built-in target: splits request bodies into messages, builds the lines that
//! end a response, and answers reflection for the built-in services.
//!
//! The streams are those of [`crate::http2::Http2Server`], which reports calls in pieces ([`is_call`]). Not supported:
//! compression.

use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage, FileDescriptor, MessageDescriptor, ReflectMessage as _, Value};

use super::framing::PREFIX;
use super::reflection::{METHOD, SERVICES};
use super::schema::Schema;
use super::status;
pub use super::status::{DEADLINE_EXCEEDED, INVALID_ARGUMENT, OK, RESOURCE_EXHAUSTED, UNAVAILABLE, UNIMPLEMENTED};

/// The largest accepted message, the default of every gRPC library.
pub const MESSAGE_BOUND: usize = 4 << 20;

/// A status other than OK, and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError(pub u32, pub String);

/// Returns `true` for requests that are gRPC calls.
pub fn is_call(method: &str, head: &[u8]) -> bool {
    const KIND: &[u8] = b"application/grpc";
    method == "POST" && field(head, "content-type").is_some_and(|kind| kind.as_bytes().starts_with(KIND))
}

/// Returns the first value of a field in a head in HTTP/1 syntax.
pub fn field<'a>(head: &'a [u8], wanted: &str) -> Option<&'a str> {
    let lines = std::str::from_utf8(head).ok()?.split("\r\n").skip(1);
    let fields = lines.filter_map(|line| line.split_once(": "));
    fields.into_iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.trim())
}

/// Returns the timeout in a call's `grpc-timeout` (up to eight digits and a unit), in nanoseconds.
pub fn timeout_ns(head: &[u8]) -> Option<u64> {
    let text = field(head, "grpc-timeout")?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "H" => 3_600_000_000_000,
        "M" => 60_000_000_000,
        "S" => 1_000_000_000,
        "m" => 1_000_000,
        "u" => 1000,
        "n" => 1,
        _ => return None,
    };
    let few = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| few).map(|n| n.saturating_mul(unit))
}

/// Returns the lines that end a response: in a trailer, or in the head if there are no messages.
pub fn ending(status: u32, sentence: &str) -> Vec<u8> {
    let mut lines = format!("grpc-status: {status}\r\n").into_bytes();
    if !sentence.is_empty() {
        lines.extend_from_slice(b"grpc-message: ");
        for &byte in sentence.as_bytes() {
            match byte {
                b' '..=b'$' | b'&'..=b'~' => lines.push(byte),
                _ => lines.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            }
        }
        lines.extend_from_slice(b"\r\n");
    }
    lines
}

/// Splits the body of one call into messages as it arrives.
#[derive(Debug, Default)]
pub struct MessageSplitter {
    /// The beginning of a message, including its prefix.
    partial: Vec<u8>,
}

impl MessageSplitter {
    /// Adds a piece of the body; `hear` is called for each message that the piece completes.
    ///
    /// # Errors
    /// Fails if the bytes are not an acceptable message; the call is then over.
    pub fn feed(&mut self, piece: &[u8], hear: &mut dyn FnMut(&[u8])) -> Result<(), CallError> {
        let mut rest = piece;
        while !self.partial.is_empty() {
            let missing = needed(&self.partial)? - self.partial.len();
            if missing == 0 {
                hear(&self.partial[PREFIX..]);
                self.partial.clear();
                break;
            }
            if rest.is_empty() {
                return Ok(());
            }
            let (part, more) = rest.split_at(missing.min(rest.len()));
            self.partial.extend_from_slice(part);
            rest = more;
        }
        while !rest.is_empty() {
            let Some((message, more)) = rest.split_at_checked(needed(rest)?) else {
                self.partial.extend_from_slice(rest);
                break;
            };
            hear(&message[PREFIX..]);
            rest = more;
        }
        Ok(())
    }

    /// Finishes after the last piece.
    ///
    /// # Errors
    /// Fails if the last message is incomplete.
    pub fn finish(&self) -> Result<(), CallError> {
        let whole = self.partial.is_empty();
        if whole { Ok(()) } else { Err(CallError(status::INTERNAL, "the last message is cut short".into())) }
    }
}

/// Returns the number of bytes needed to continue: a prefix, or a whole message.
fn needed(bytes: &[u8]) -> Result<usize, CallError> {
    let Some(&[flag, a, b, c, d]) = bytes.first_chunk::<PREFIX>() else { return Ok(PREFIX) };
    let size = u32::from_be_bytes([a, b, c, d]) as usize;
    match flag {
        0 if size <= MESSAGE_BOUND => Ok(PREFIX + size),
        0 => {
            let sentence = format!("a message of {size} bytes is larger than {MESSAGE_BOUND}");
            Err(CallError(status::RESOURCE_EXHAUSTED, sentence))
        }
        1 => Err(CallError(status::UNIMPLEMENTED, "this server does not support compressed messages".into())),
        _ => Err(CallError(status::INTERNAL, brunt_cause::grpc::no_length_prefix().en().into())),
    }
}

/// Returns `true` for the path of reflection, in either version.
pub fn is_reflection(path: &str) -> bool {
    let parts = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    parts.is_some_and(|(service, method)| SERVICES.contains(&service) && method == METHOD)
}

/// Answers one reflection question about the built-in services: the target's own, health checks, and reflection itself.
///
/// # Errors
/// Fails if the question cannot be decoded.
pub fn reflect(question: &[u8]) -> Result<Vec<u8>, CallError> {
    let broken = |why: String| CallError(status::INTERNAL, why);
    let schema = Schema::built().map_err(|complaint| broken(complaint.problem.to_string()))?;
    let method = schema.method(SERVICES[0], METHOD).map_err(|complaint| broken(complaint.problem.to_string()))?;
    let asked = DynamicMessage::decode(method.input(), question)
        .map_err(|error| CallError(status::INVALID_ARGUMENT, format!("this is not a reflection request: {error}")))?;
    let text = |field: &str| {
        let value = asked.has_field_by_name(field).then(|| asked.get_field_by_name(field))??;
        Some(value.as_str()?.to_owned())
    };
    let pool = schema.pool();
    let found = if text("list_services").is_some() {
        Ok(("list_services_response", services(&method.output(), pool)))
    } else if let Some(name) = text("file_by_filename") {
        pool.get_file_by_name(&name).ok_or(name).map(|file| described(&method.output(), &file))
    } else if let Some(symbol) = text("file_containing_symbol") {
        holder(pool, &symbol).ok_or(symbol).map(|file| described(&method.output(), &file))
    } else {
        Err("name in the request".to_owned())
    };
    let mut answer = DynamicMessage::new(method.output());
    answer.set_field_by_name("valid_host", Value::String(text("host").unwrap_or_default()));
    answer.set_field_by_name("original_request", Value::Message(asked));
    let (field, part) = found.unwrap_or_else(|name| ("error_response", unknown(&method.output(), &name)));
    answer.set_field_by_name(field, Value::Message(part));
    Ok(answer.encode_to_vec())
}

/// Returns an empty message of a field's type.
fn empty(of: &MessageDescriptor, field: &str) -> DynamicMessage {
    let kind = of.get_field_by_name(field).map(|field| field.kind());
    DynamicMessage::new(kind.and_then(|kind| kind.as_message().cloned()).unwrap_or_else(|| of.clone()))
}

fn services(answer: &MessageDescriptor, pool: &DescriptorPool) -> DynamicMessage {
    let mut list = empty(answer, "list_services_response");
    let service = |name: &str| {
        let mut service = empty(&list.descriptor(), "service");
        service.set_field_by_name("name", Value::String(name.to_owned()));
        Value::Message(service)
    };
    let names = pool.services().map(|known| service(known.full_name())).collect();
    list.set_field_by_name("service", Value::List(names));
    list
}

fn described(answer: &MessageDescriptor, file: &FileDescriptor) -> (&'static str, DynamicMessage) {
    let mut files = empty(answer, "file_descriptor_response");
    let bytes = Value::Bytes(file.encode_to_vec().into());
    files.set_field_by_name("file_descriptor_proto", Value::List(vec![bytes]));
    ("file_descriptor_response", files)
}

fn unknown(answer: &MessageDescriptor, name: &str) -> DynamicMessage {
    let mut error = empty(answer, "error_response");
    error.set_field_by_name("error_code", Value::I32(status::NOT_FOUND as i32));
    error.set_field_by_name("error_message", Value::String(format!("there is no {name}")));
    error
}

/// Returns the file that defines a service, a method, a message or an enum.
fn holder(pool: &DescriptorPool, symbol: &str) -> Option<FileDescriptor> {
    let service = |name: &str| pool.get_service_by_name(name);
    let message = pool.get_message_by_name(symbol).map(|found| found.parent_file());
    let of_method = || {
        let (name, method) = symbol.rsplit_once('.')?;
        let known = service(name)?;
        let has = known.methods().any(|m| m.name() == method);
        has.then(|| known.parent_file())
    };
    let found = message.or_else(|| service(symbol).map(|found| found.parent_file()));
    found.or_else(|| pool.get_enum_by_name(symbol).map(|found| found.parent_file())).or_else(of_method)
}
