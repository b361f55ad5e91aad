//! One TLS connection, either side, on rustls' unbuffered interface.
//!
//! rustls requires the bytes from the wire in one writable slice that starts with the bytes it has not discarded yet.
//! That slice is a scratch buffer of the thread. The remainder (a partial record) moves into the channel; an idle
//! channel has none. A record that arrives in many pieces is first collected and passed to rustls when complete, so
//! that splitting costs linear time.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use brunt_cause::Cause;
use brunt_contract::{ChannelProgress, Handshake, OutputBuffer, SecureChannel};
use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError, UnbufferedConnectionCommon,
    UnbufferedStatus, WriteTraffic,
};
use rustls::{ClientConfig, Error, HandshakeKind, ProtocolVersion, ServerConfig};

use super::errors;

/// Size of a record header in bytes: content type, version, length.
const HEADER: usize = 5;
/// Maximum size of a record in bytes: its header, 2^14 bytes of content and what encryption may add (RFC 5246, 6.2.3).
const LONGEST: usize = HEADER + 16_384 + 2_048;
/// Space for what sealing adds to one record, including its header: 22 bytes in TLS 1.3, 29 in TLS 1.2.
const ADDED: usize = 32;
/// Maximum content of one sealed record, in bytes.
const FRAGMENT: usize = 16_384;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

enum ChannelPhase {
    Handshaking,
    Open,
    Ended,
    Failed(Box<Cause>),
}

/// The side-specific part of a channel; rustls has the same method on two unrelated types.
pub(super) trait TlsSide: DerefMut + Deref<Target = UnbufferedConnectionCommon<Self::Data>> + Send {
    type Data;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl TlsSide for UnbufferedClientConnection {
    type Data = ClientConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }
}

impl TlsSide for UnbufferedServerConnection {
    type Data = ServerConnectionData;
    fn process<'c, 'i>(&'c mut self, incoming: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(incoming)
    }
}

/// A channel made by [`super::RustlsSecurity`] or [`super::RustlsServer`].
pub(super) struct RustlsChannel<H> {
    tls: H,
    partial: Vec<u8>,
    phase: ChannelPhase,
    host: Box<str>,
}

impl RustlsChannel<UnbufferedClientConnection> {
    /// Creates a channel to the server `name`, called `host` in error messages.
    pub(super) fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        alpn: Vec<Vec<u8>>,
        host: &str,
    ) -> Result<Self, Cause> {
        let tls = UnbufferedClientConnection::new_with_alpn(config, name, alpn)
            .map_err(|e| errors::failure(host, &e, None))?;
        Ok(RustlsChannel { tls, partial: Vec::new(), phase: ChannelPhase::Handshaking, host: host.into() })
    }
}

impl RustlsChannel<UnbufferedServerConnection> {
    /// Creates a channel to a client that is about to send.
    pub(super) fn serving(config: Arc<ServerConfig>) -> Result<Self, String> {
        let tls = UnbufferedServerConnection::new(config).map_err(|e| format!("TLS cannot be served: {e}"))?;
        Ok(RustlsChannel { tls, partial: Vec::new(), phase: ChannelPhase::Handshaking, host: "the client".into() })
    }
}

impl<H: TlsSide> RustlsChannel<H> {
    /// Processes `scratch` with rustls, keeps the rest and returns the state of the connection.
    fn process(
        &mut self,
        scratch: &mut [u8],
        plain: &mut Vec<u8>,
        cipher: &mut OutputBuffer,
    ) -> Result<ChannelProgress, Cause> {
        let unheard = self.tls.protocol_version().is_none();
        let mut used = 0;
        let ended = match work(&mut self.tls, scratch, &mut used, plain, cipher) {
            Ok(ended) => ended,
            Err(error) => {
                let said = errors::failure(&self.host, &error, unheard.then_some(&*scratch));
                self.fail(said.clone(), &mut scratch[used..], cipher);
                return Err(said);
            }
        };
        if ended {
            self.partial = Vec::new();
            self.phase = ChannelPhase::Ended;
            return Ok(ChannelProgress::PeerFinished);
        }
        self.keep(&scratch[used..]);
        if matches!(self.phase, ChannelPhase::Handshaking) && !self.tls.is_handshaking() {
            self.phase = ChannelPhase::Open;
            return Ok(ChannelProgress::Established);
        }
        Ok(ChannelProgress::More)
    }

    /// Keeps the beginning of a record; frees the memory if there is none.
    fn keep(&mut self, rest: &[u8]) {
        if rest.is_empty() {
            self.partial = Vec::new();
        } else {
            self.partial.clear();
            self.partial.extend_from_slice(rest);
        }
    }

    /// Appends the alert that informs the peer of the failure; the channel is unusable afterwards.
    fn fail(&mut self, said: Cause, rest: &mut [u8], cipher: &mut OutputBuffer) {
        // Called only once: rustls returns the alert before it examines `rest`, and would panic on the same invalid
        // bytes a second time.
        if let Ok(ConnectionState::EncodeTlsData(mut data)) = self.tls.process(rest).state {
            encode(&mut data, cipher.buffer());
        }
        self.partial = Vec::new();
        self.phase = ChannelPhase::Failed(Box::new(said));
    }

    /// Returns `true` if `bytes` do not complete the record that `partial` begins, or not even its header.
    fn still_partial(&self, bytes: &[u8]) -> bool {
        let Some(&[kind, major, _, high, low]) = self.partial.first_chunk::<HEADER>() else {
            return self.partial.len() + bytes.len() < HEADER;
        };
        let whole = HEADER + usize::from(u16::from_be_bytes([high, low]));
        let plausible = (20..=24).contains(&kind) && major == 3 && whole <= LONGEST;
        plausible && self.partial.len() + bytes.len() < whole
    }

    /// Drives rustls until it accepts plaintext, then calls `write`. Does nothing if it never does.
    fn with_traffic(
        &mut self,
        cipher: &mut OutputBuffer,
        mut write: impl FnMut(&mut WriteTraffic<'_, H::Data>, &mut Vec<u8>),
    ) {
        if matches!(self.phase, ChannelPhase::Failed(_)) {
            return;
        }
        loop {
            // The bytes of a partial record must be passed again: rustls remembers how far it has read them.
            let UnbufferedStatus { state, .. } = self.tls.process(&mut self.partial);
            match state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => encode(&mut data, cipher.buffer()),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::WriteTraffic(mut traffic)) => return write(&mut traffic, cipher.buffer()),
                _ => return,
            }
        }
    }
}

/// Drives rustls until it needs more bytes or has nothing left to send; adds the consumed bytes to `used`. Returns
/// `true` if the peer ended the connection.
fn work<H: TlsSide>(
    tls: &mut H,
    incoming: &mut [u8],
    used: &mut usize,
    plain: &mut Vec<u8>,
    cipher: &mut OutputBuffer,
) -> Result<bool, Error> {
    let mut ended = false;
    loop {
        let UnbufferedStatus { mut discard, state } = tls.process(&mut incoming[*used..]);
        let mut waits = false;
        let outcome = state.and_then(|state| {
            match state {
                ConnectionState::EncodeTlsData(mut data) => encode(&mut data, cipher.buffer()),
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                }
                ConnectionState::PeerClosed => ended = true,
                _ => waits = true,
            }
            Ok(())
        });
        *used += discard;
        outcome?;
        if waits {
            return Ok(ended);
        }
    }
}

/// Appends a handshake record or an alert.
fn encode<D>(data: &mut EncodeTlsData<'_, D>, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    let mut size = 1_024;
    loop {
        buffer.resize(start + size, 0);
        match data.encode(&mut buffer[start..]) {
            Ok(written) => return buffer.truncate(start + written),
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => size = required_size,
            Err(EncodeError::AlreadyEncoded) => return buffer.truncate(start),
        }
    }
}

/// Appends what `write` encrypts, with `size` as a first estimate of the space it needs.
fn append(buffer: &mut Vec<u8>, mut size: usize, mut write: impl FnMut(&mut [u8]) -> Result<usize, EncryptError>) {
    let start = buffer.len();
    loop {
        buffer.resize(start + size, 0);
        match write(&mut buffer[start..]) {
            Ok(written) => return buffer.truncate(start + written),
            Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size })) => size = required_size,
            // After 2^24 records on one TLS 1.2 connection: the peer waits in vain, and the request times out.
            Err(EncryptError::EncryptExhausted) => return buffer.truncate(start),
        }
    }
}

impl<H: TlsSide> SecureChannel for RustlsChannel<H> {
    fn start(&mut self, cipher: &mut OutputBuffer) {
        // Cannot fail: a client that has received nothing yet has found no error.
        let _ = work(&mut self.tls, &mut [], &mut 0, &mut Vec::new(), cipher);
    }

    fn feed(&mut self, bytes: &[u8], plain: &mut Vec<u8>, cipher: &mut OutputBuffer) -> Result<ChannelProgress, Cause> {
        match &self.phase {
            ChannelPhase::Failed(said) => return Err(Cause::clone(said)),
            // Data after close_notify must be ignored (RFC 8446, 6.1).
            ChannelPhase::Ended => return Ok(ChannelProgress::More),
            ChannelPhase::Handshaking | ChannelPhase::Open => {}
        }
        if self.still_partial(bytes) {
            self.partial.extend_from_slice(bytes);
            return Ok(ChannelProgress::More);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            scratch.extend_from_slice(&self.partial);
            scratch.extend_from_slice(bytes);
            self.process(scratch, plain, cipher)
        })
    }

    fn seal(&mut self, plain: &OutputBuffer, cipher: &mut OutputBuffer) {
        let block = plain.tail().map_or(&[][..], |t| &t[..]);
        self.with_traffic(cipher, |traffic, buffer| {
            for part in [plain.bytes(), block].into_iter().filter(|p| !p.is_empty()) {
                let size = part.len() + part.len().div_ceil(FRAGMENT) * ADDED;
                append(buffer, size, |room| traffic.encrypt(part, room));
            }
        });
    }

    fn finish(&mut self, cipher: &mut OutputBuffer) {
        self.with_traffic(cipher, |traffic, buffer| {
            append(buffer, 2 + ADDED, |room| traffic.queue_close_notify(room));
        });
    }

    fn handshake(&self) -> Option<Handshake> {
        if self.tls.is_handshaking() {
            return None;
        }
        let version = self.tls.protocol_version()?;
        let suite = self.tls.negotiated_cipher_suite()?;
        Some(Handshake {
            alpn: self.tls.alpn_protocol().map(<[u8]>::to_vec),
            resumed: matches!(self.tls.handshake_kind(), Some(HandshakeKind::Resumed)),
            version: version_name(version),
            suite: suite.suite().as_str().unwrap_or("unknown").to_owned(),
        })
    }
}

/// Returns the name of a version in the form that the contract specifies: `TLSv1.3`.
fn version_name(version: ProtocolVersion) -> String {
    version.as_str().map_or_else(|| format!("{version:?}"), |name| name.replace('_', "."))
}
