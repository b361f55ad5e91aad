//! The opening handshake (RFC 6455 4): the request, encoded once for each URL, and full validation of the response.
//!
//! The key of a connection is derived from its seed, so it need not be kept. Not supported: redirects and
//! authentication schemes other than Basic; a status other than 101 refuses the connection.

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use brunt_cause::StaticSentence;
use brunt_cause::websocket::{self, refused};
use brunt_contract::{ProtocolError, SlotContext, UsageError};
use url::Url;

use super::deflate::{self, DeflateParameters};
use super::mask::MaskKeys;
use super::options::WebSocketOptions;
use crate::http1::redirect::RedirectTrail;
use crate::http1::request::{HeaderOverride, Recipe, encode_listed};
use crate::placeholders::Placeholders;
use brunt_values::template::Template;

/// Length of an encoded key in bytes.
const KEY: usize = 24;
/// A placeholder for the key.
const NO_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

/// An upgrade request, with what it offers: each step of a flow may open a connection with offers of its own.
#[derive(Debug)]
pub struct HandshakeRequest {
    bytes: Box<[u8]>,
    key_at: usize,
    /// Offered subprotocols.
    subprotocols: Vec<String>,
    /// Set if compression is offered.
    compress: bool,
    /// The whole request as a template, if it has slots.
    slots: Option<Template>,
}

/// The field that precedes the key and comes before any header line of the user.
const KEY_FIELD: &[u8] = b"\r\nSec-WebSocket-Key: ";

impl HandshakeRequest {
    /// Creates the request for a URL.
    pub fn new(url: &Url, wishes: &WebSocketOptions) -> HandshakeRequest {
        let set = |name: &str, value: &str| HeaderOverride::Set(name.to_owned(), format!(" {value}"));
        let mut headers = vec![
            set("Connection", "Upgrade"),
            set("Upgrade", "websocket"),
            set("Sec-WebSocket-Version", "13"),
            set("Sec-WebSocket-Key", NO_KEY),
        ];
        if !wishes.subprotocols.is_empty() {
            headers.push(set("Sec-WebSocket-Protocol", &wishes.subprotocols.join(", ")));
        }
        if wishes.compress {
            headers.push(set("Sec-WebSocket-Extensions", deflate::OFFER));
        }
        if !wishes.headers.iter().any(|wish| wish.name().eq_ignore_ascii_case("accept")) {
            headers.push(HeaderOverride::Remove("Accept".to_owned()));
        }
        headers.extend(wishes.headers.iter().cloned());
        let recipe = Recipe {
            checks: 0,
            page: 0,
            url: url.clone(),
            link: None,
            target: None,
            method: "GET".to_owned(),
            headers,
            content: None,
            user: wishes.user.clone(),
            keepalive: true,
            http10: false,
            expect_continue: false,
            expected: None,
            hops: 0,
            trail: RedirectTrail::default(),
            forwarded: None,
        };
        let bytes = encode_listed(&recipe, 0).bytes;
        let key_at = key_at(&bytes);
        HandshakeRequest {
            bytes,
            key_at,
            subprotocols: wishes.subprotocols.clone(),
            compress: wishes.compress,
            slots: None,
        }
    }

    /// Compiles the slots at the placeholders, to be filled for each connection.
    ///
    /// # Errors
    /// Fails if a slot is invalid.
    pub fn with_slots(mut self, marks: &mut Placeholders) -> Result<HandshakeRequest, UsageError> {
        if marks.occur_in(&self.bytes) {
            let pieces = marks.split(&self.bytes);
            self.slots = Some(marks.template(|building| pieces.iter().try_for_each(|piece| building.piece(piece)))?);
        }
        Ok(self)
    }

    /// Appends the request with the key of this seed.
    pub fn put(&self, seed: u64, context: &SlotContext<'_>, out: &mut Vec<u8>) {
        let from = out.len();
        let at = match &self.slots {
            None => {
                out.extend_from_slice(&self.bytes);
                self.key_at
            }
            Some(template) => {
                template.fill(context, out);
                key_at(&out[from..])
            }
        };
        if let Some(place) = out.get_mut(from + at..from + at + KEY) {
            place.copy_from_slice(&key(seed));
        }
    }

    /// Validates a 101 response (4.1) and returns the agreed compression.
    ///
    /// # Errors
    /// Fails if the response does not accept this upgrade.
    pub fn agreed(&self, head: &[u8], seed: u64) -> Result<Option<DeflateParameters>, ProtocolError> {
        let has = |name, word: &[u8]| elements(head, name).any(|element| element.eq_ignore_ascii_case(word));
        if !has("Upgrade", b"websocket") {
            return Err(ProtocolError(brunt_cause::websocket::other_protocol()));
        }
        if !has("Connection", b"upgrade") {
            return Err(ProtocolError(brunt_cause::websocket::no_connection_upgrade()));
        }
        let mut accepts = values(head, "Sec-WebSocket-Accept");
        if accepts.next() != Some(&accept(&key(seed))) || accepts.next().is_some() {
            return Err(ProtocolError(brunt_cause::websocket::wrong_accept()));
        }
        let mut chosen = elements(head, "Sec-WebSocket-Protocol");
        match (chosen.next(), chosen.next()) {
            (None, _) if self.subprotocols.is_empty() => {}
            (None, _) => return Err(ProtocolError(brunt_cause::websocket::no_subprotocol())),
            (Some(name), None) if self.subprotocols.iter().any(|offered| offered.as_bytes() == name) => {}
            _ => return Err(ProtocolError(brunt_cause::websocket::other_subprotocol())),
        }
        let mut extensions = elements(head, "Sec-WebSocket-Extensions").peekable();
        if !self.compress && extensions.peek().is_some() {
            return Err(ProtocolError(brunt_cause::websocket::other_extension()));
        }
        deflate::agreement(extensions)
    }
}

fn key_at(bytes: &[u8]) -> usize {
    memchr::memmem::find(bytes, KEY_FIELD).unwrap_or_default() + KEY_FIELD.len()
}

/// Returns the key of a connection with this seed: 16 bytes in base64.
pub fn key(seed: u64) -> [u8; KEY] {
    // Not the sequence of the masks: a key sent in the clear must not reveal them.
    let mut source = MaskKeys::new(!seed);
    let nonce = u128::from(source.bits()) << 64 | u128::from(source.bits());
    let mut key = [0; KEY];
    // Fits exactly, so it cannot fail.
    let _ = STANDARD.encode_slice(nonce.to_le_bytes(), &mut key);
    key
}

/// Returns the server's answer to a key (4.2.2, 5.4).
pub fn accept(key: &[u8]) -> [u8; 28] {
    let mut hash = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key);
    hash.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let mut accept = [0; 28];
    // Fits exactly, so it cannot fail.
    let _ = STANDARD.encode_slice(hash.finish(), &mut accept);
    accept
}

/// Iterates over the values of a field, one per line, trimmed.
pub fn values<'a>(head: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    head.split(|&b| b == b'\n').skip(1).filter_map(move |line| {
        let colon = memchr::memchr(b':', line)?;
        line[..colon].eq_ignore_ascii_case(name.as_bytes()).then(|| line[colon + 1..].trim_ascii())
    })
}

/// Iterates over the elements of a list field.
pub fn elements<'a>(head: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let parts = values(head, name).flat_map(|value| value.split(|&b| b == b',').map(<[u8]>::trim_ascii));
    parts.filter(|element| !element.is_empty())
}

/// Causes for statuses that explain a refusal.
const REFUSALS: &[(u16, StaticSentence)] = &[
    (400, refused("400 Bad Request")),
    (403, refused("403 Forbidden")),
    (404, refused("404 Not Found")),
    (405, refused("405 Method Not Allowed")),
    (426, refused("426 Upgrade Required")),
    (429, refused("429 Too Many Requests")),
    (500, refused("500 Internal Server Error")),
    (502, refused("502 Bad Gateway")),
    (503, refused("503 Service Unavailable")),
    (504, refused("504 Gateway Timeout")),
];

/// Returns the error for a status that refuses the upgrade.
pub fn refusal(status: u16) -> ProtocolError {
    if let Some((_, said)) = REFUSALS.iter().find(|(known, _)| *known == status) {
        return ProtocolError(said.plain());
    }
    ProtocolError(match (status, status / 100) {
        (200, _) => websocket::no_websocket(),
        (401, _) => websocket::unauthorized(),
        (_, 1) => websocket::interim(),
        (_, 3) => websocket::redirects(),
        (_, 4) => websocket::refused_4xx(),
        (_, 5) => websocket::refused_5xx(),
        _ => websocket::no_switch(),
    })
}
