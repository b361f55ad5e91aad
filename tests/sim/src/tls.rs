//! TLS as it appears from outside: records, a handshake of several round trips, and failures, but no cryptography.
//!
//! [`FakeSecurity`] is the client side, [`SecurePeer`] puts the server side in front of another peer. A record has
//! rustls' header of five bytes and sixteen bytes more than its content, so that byte counts and splits are realistic.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_cause::Cause;
use brunt_contract::{
    ChannelProgress, Handshake, Origin, OutputBuffer, PeerAddress, SecureChannel, SecureChannelFactory,
};
use brunt_measure::Nanos;

use super::peer::{ConnectDecision, PeerAction, PeerActions, SimPeer};

const HEADER: usize = 5;
/// Number of bytes that sealing adds in addition to the header.
const TAG: usize = 16;
const FRAGMENT: usize = 16_384;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;

const CLOSE_NOTIFY: u8 = 0;
const REFUSED: u8 = 40;

/// Settings of simulated handshakes.
#[derive(Clone, Debug)]
pub struct FakeSettings {
    /// Round trips of a handshake; at least one.
    pub round_trips: u8,
    /// Bytes of the server's last flight (its certificates).
    pub flight: usize,
    /// Protocols of the server; the client's first offer among them is chosen.
    pub alpn: Vec<Vec<u8>>,
    /// Set if handshakes after the first completed one are resumptions.
    pub resume: bool,
    /// A failure, and the number n if it occurs on every n-th channel.
    pub failure: Option<(FakeFailure, u64)>,
}

impl Default for FakeSettings {
    fn default() -> Self {
        FakeSettings { round_trips: 1, flight: 3_000, alpn: vec![b"http/1.1".to_vec()], resume: false, failure: None }
    }
}

/// Failures of simulated TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakeFailure {
    /// The host is not a valid name, so no channel is created.
    BadName,
    /// The client rejects the certificate with an alert.
    BadCertificate,
    /// The server rejects the handshake with an alert.
    Refused,
    /// The server answers in plain HTTP.
    NoTls,
    /// The server never answers the handshake.
    Silent,
    /// The handshake succeeds, and the first data record is damaged.
    DamagedRecord,
}

/// The client side of simulated TLS.
#[derive(Clone, Debug)]
pub struct FakeSecurity {
    settings: FakeSettings,
    channels: Arc<AtomicU64>,
    completed: Arc<AtomicU64>,
}

impl FakeSecurity {
    /// Creates the client side. Channels are counted from one, over all clones.
    pub fn new(settings: FakeSettings) -> FakeSecurity {
        FakeSecurity { settings, channels: Arc::default(), completed: Arc::default() }
    }
}

impl SecureChannelFactory for FakeSecurity {
    fn client(&self, origin: &Origin, alpn: &[&'static [u8]]) -> Result<Box<dyn SecureChannel>, Cause> {
        let nth = self.channels.fetch_add(1, Ordering::Relaxed) + 1;
        let failure = self.settings.failure.filter(|(_, every)| nth.is_multiple_of((*every).max(1))).map(|(f, _)| f);
        if failure == Some(FakeFailure::BadName) {
            return Err(brunt_cause::verbatim(format!("`{}` is not a valid server name for TLS", origin.host)));
        }
        let offers = alpn.iter().find(|a| self.settings.alpn.iter().any(|s| s == *a)).map(|a| a.to_vec());
        Ok(Box::new(FakeChannel {
            host: origin.host.clone(),
            alpn: offers,
            failure,
            resumed: self.settings.resume && self.completed.load(Ordering::Relaxed) > 0,
            rounds: self.settings.round_trips.max(1),
            flight: self.settings.flight,
            completed: Arc::clone(&self.completed),
            frames: TlsRecords::default(),
            stage: TlsStage::Handshaking(1),
        }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TlsStage {
    /// The handshake, in this round trip.
    Handshaking(u8),
    Open,
    Ended,
    Failed,
}

struct FakeChannel {
    host: String,
    alpn: Option<Vec<u8>>,
    failure: Option<FakeFailure>,
    resumed: bool,
    rounds: u8,
    flight: usize,
    completed: Arc<AtomicU64>,
    frames: TlsRecords,
    stage: TlsStage,
}

impl FakeChannel {
    /// Writes a flight of the client, which also tells the server how to answer.
    fn ask(&self, round: u8, cipher: &mut OutputBuffer) {
        let order = match self.failure {
            Some(FakeFailure::Refused) => 1,
            Some(FakeFailure::NoTls) => 2,
            Some(FakeFailure::Silent) => 3,
            _ => 0,
        };
        let last = round == self.rounds;
        let size = if last { self.flight as u32 } else { 100 };
        let mut hello = vec![order];
        hello.extend_from_slice(&size.to_be_bytes());
        hello.resize(250, 0);
        frame(HANDSHAKE, &hello, cipher);
    }

    fn heard(&mut self, kind: u8, content: &[u8], plain: &mut Vec<u8>, cipher: &mut OutputBuffer) -> Result<(), Cause> {
        match (kind, self.stage) {
            (ALERT, _) if content.first() == Some(&CLOSE_NOTIFY) => self.stage = TlsStage::Ended,
            (ALERT, _) => return Err(brunt_cause::verbatim(format!("{} refused the handshake", self.host))),
            (HANDSHAKE, TlsStage::Handshaking(_)) if self.failure == Some(FakeFailure::BadCertificate) => {
                frame(ALERT, &[REFUSED], cipher);
                return Err(brunt_cause::verbatim(format!(
                    "the certificate of {} comes from an unknown issuer",
                    self.host
                )));
            }
            (HANDSHAKE, TlsStage::Handshaking(round)) if round < self.rounds => {
                self.stage = TlsStage::Handshaking(round + 1);
                self.ask(round + 1, cipher);
            }
            (HANDSHAKE, TlsStage::Handshaking(_)) => {
                self.stage = TlsStage::Open;
                self.completed.fetch_add(1, Ordering::Relaxed);
            }
            (DATA, TlsStage::Open) if self.failure == Some(FakeFailure::DamagedRecord) => {
                return Err(brunt_cause::verbatim(format!(
                    "a TLS record from {} is corrupt: it cannot be decrypted",
                    self.host
                )));
            }
            (DATA, TlsStage::Open) => plain.extend_from_slice(content),
            _ => return Err(brunt_cause::verbatim(format!("{} sent an unexpected TLS record", self.host))),
        }
        Ok(())
    }
}

impl SecureChannel for FakeChannel {
    fn start(&mut self, cipher: &mut OutputBuffer) {
        self.ask(1, cipher);
    }

    fn feed(&mut self, bytes: &[u8], plain: &mut Vec<u8>, cipher: &mut OutputBuffer) -> Result<ChannelProgress, Cause> {
        match self.stage {
            TlsStage::Ended => return Ok(ChannelProgress::More),
            TlsStage::Failed => return Err(brunt_cause::verbatim(format!("TLS with {} failed before", self.host))),
            TlsStage::Handshaking(_) | TlsStage::Open => {}
        }
        let before = self.stage;
        let mut frames = std::mem::take(&mut self.frames);
        frames.put(bytes);
        let mut result = Ok(());
        while result.is_ok() && self.stage != TlsStage::Ended {
            result = match frames.next() {
                Ok(Some((kind, content))) => self.heard(kind, content, plain, cipher),
                Ok(None) => break,
                Err(InvalidRecord) => {
                    Err(brunt_cause::verbatim(format!("{} does not use TLS on this port", self.host)))
                }
            };
        }
        frames.shrink();
        self.frames = frames;
        if let Err(why) = result {
            self.stage = TlsStage::Failed;
            return Err(why);
        }
        Ok(match (before, self.stage) {
            (_, TlsStage::Ended) => ChannelProgress::PeerFinished,
            (TlsStage::Handshaking(_), TlsStage::Open) => ChannelProgress::Established,
            _ => ChannelProgress::More,
        })
    }

    fn seal(&mut self, plain: &OutputBuffer, cipher: &mut OutputBuffer) {
        let block = plain.tail().map_or(&[][..], |t| &t[..]);
        if self.stage == TlsStage::Open {
            plain.bytes().chunks(FRAGMENT).chain(block.chunks(FRAGMENT)).for_each(|part| frame(DATA, part, cipher));
        }
    }

    fn finish(&mut self, cipher: &mut OutputBuffer) {
        if matches!(self.stage, TlsStage::Open | TlsStage::Ended) {
            frame(ALERT, &[CLOSE_NOTIFY], cipher);
        }
    }

    fn handshake(&self) -> Option<Handshake> {
        matches!(self.stage, TlsStage::Open | TlsStage::Ended).then(|| Handshake {
            alpn: self.alpn.clone(),
            resumed: self.resumed,
            version: "TLSv1.3".into(),
            suite: "SIMULATED".into(),
        })
    }
}

/// The server side of simulated TLS in front of `P`, which handles plaintext.
pub struct SecurePeer<P> {
    inner: P,
    conns: Vec<SecureConnection>,
    say: PeerActions,
    out: OutputBuffer,
    plain: Vec<u8>,
    polite: bool,
}

#[derive(Debug, Default)]
struct SecureConnection {
    frames: TlsRecords,
    over: bool,
}

impl<P: SimPeer> SecurePeer<P> {
    /// Puts TLS in front of `inner`.
    pub fn new(inner: P) -> SecurePeer<P> {
        SecurePeer {
            inner,
            conns: Vec::new(),
            say: PeerActions::default(),
            out: OutputBuffer::default(),
            plain: Vec::new(),
            polite: true,
        }
    }

    /// Makes the server close without close_notify, like some servers and like a cut connection.
    pub fn without_close_notify(self) -> SecurePeer<P> {
        SecurePeer { polite: false, ..self }
    }

    /// Returns the inner peer.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// Seals what the inner peer sent.
    fn relay(&mut self, say: &mut PeerActions) {
        let (out, polite) = (&mut self.out, self.polite);
        self.say.carry_out(|deed| match deed {
            PeerAction::Send(conn, bytes) => {
                bytes.chunks(FRAGMENT).for_each(|part| frame(DATA, part, out));
                say.send_out(conn, out);
            }
            PeerAction::Close(conn) if polite => {
                frame(ALERT, &[CLOSE_NOTIFY], out);
                say.send_out(conn, out);
                say.close(conn);
            }
            PeerAction::Close(conn) => say.close(conn),
            PeerAction::Reset(conn) => say.reset(conn),
        });
    }

    /// Handles one record of the client.
    fn heard(
        conn: u32,
        kind: u8,
        content: &[u8],
        plain: &mut Vec<u8>,
        out: &mut OutputBuffer,
        say: &mut PeerActions,
    ) -> bool {
        match (kind, content) {
            (DATA, _) => plain.extend_from_slice(content),
            (HANDSHAKE, [1, ..]) => {
                frame(ALERT, &[REFUSED], out);
                say.send_out(conn, out);
                say.close(conn);
                return false;
            }
            (HANDSHAKE, [2, ..]) => {
                say.send(conn, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                say.close(conn);
                return false;
            }
            (HANDSHAKE, [3, ..]) => return false,
            (HANDSHAKE, [_, a, b, c, d, ..]) => {
                let size = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
                frame(HANDSHAKE, &vec![0; size.clamp(1, FRAGMENT)], out);
                say.send_out(conn, out);
            }
            // The client's close_notify or alert; it closes by itself.
            _ => return false,
        }
        true
    }
}

impl<P: SimPeer> SimPeer for SecurePeer<P> {
    fn connecting(&mut self, now: Nanos, to: &PeerAddress) -> ConnectDecision {
        self.inner.connecting(now, to)
    }

    fn opened(&mut self, now: Nanos, conn: u32) {
        while self.conns.len() <= conn as usize {
            self.conns.push(SecureConnection::default());
        }
        self.conns[conn as usize] = SecureConnection::default();
        self.inner.opened(now, conn);
    }

    fn received(&mut self, now: Nanos, conn: u32, bytes: &[u8], say: &mut PeerActions) {
        let side = &mut self.conns[conn as usize];
        if side.over {
            return;
        }
        side.frames.put(bytes);
        self.plain.clear();
        while !side.over {
            match side.frames.next() {
                Ok(Some((kind, content))) => {
                    side.over = !Self::heard(conn, kind, content, &mut self.plain, &mut self.out, say);
                }
                Ok(None) => break,
                Err(InvalidRecord) => {
                    side.over = true;
                    say.close(conn);
                }
            }
        }
        side.frames.shrink();
        if !self.plain.is_empty() {
            self.inner.received(now, conn, &self.plain, &mut self.say);
        }
        self.relay(say);
    }

    fn closed(&mut self, now: Nanos, conn: u32) {
        self.inner.closed(now, conn);
    }

    fn next_timer(&self) -> Option<Nanos> {
        self.inner.next_timer()
    }

    fn timer(&mut self, now: Nanos, say: &mut PeerActions) {
        self.inner.timer(now, &mut self.say);
        self.relay(say);
    }
}

/// Appends one record.
fn frame(kind: u8, content: &[u8], out: &mut OutputBuffer) {
    let len = (content.len() + TAG) as u16;
    out.put(&[kind, 3, 3]);
    out.put(&len.to_be_bytes());
    out.put(content);
    out.put(&[0; TAG]);
}

/// Reassembles records from bytes split anywhere.
#[derive(Debug, Default)]
struct TlsRecords {
    bytes: Vec<u8>,
    used: usize,
}

#[derive(Debug)]
struct InvalidRecord;

impl TlsRecords {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete record: its kind and content.
    fn next(&mut self) -> Result<Option<(u8, &[u8])>, InvalidRecord> {
        let Some((&[kind, major, _, high, low], rest)) = self.bytes[self.used..].split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let len = usize::from(u16::from_be_bytes([high, low]));
        if !(ALERT..=DATA).contains(&kind) || major != 3 || len < TAG {
            return Err(InvalidRecord);
        }
        match rest.get(..len - TAG) {
            Some(content) if rest.len() >= len => {
                self.used += HEADER + len;
                Ok(Some((kind, content)))
            }
            _ => Ok(None),
        }
    }

    /// Releases memory if no bytes are left over.
    fn shrink(&mut self) {
        if self.used == self.bytes.len() {
            *self = TlsRecords::default();
        }
    }
}
