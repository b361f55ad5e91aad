//! Messages between a probe and its client, and the proof that the client has the token. Parsers do not trust the peer.

use std::net::SocketAddr;

use aws_lc_rs::hmac::{self, HMAC_SHA256, Key};
use brunt_measure::Nanos;
use brunt_record::HostCounters;
use brunt_record::frames::FrameProtocol;
use serde::{Deserialize, Serialize};

/// Frames of the probe. The longest is a first sample: 500 kB for a host with a thousand cores.
pub(super) const PROBE_FRAMES: FrameProtocol =
    FrameProtocol { hello: "brunt-probe", version: 1, description: "the probe's protocol", max_length: 4 << 20 };
/// Frames of a client, which are short.
pub(super) const CLIENT_FRAMES: FrameProtocol = FrameProtocol { max_length: 4 << 10, ..PROBE_FRAMES };

/// Maximum number of counters of one host.
pub(super) const MOST: usize = 50_000;
/// Maximum length of a displayed reason, and of a label of a host, in bytes.
const WORDS: usize = 500;

/// Random bytes that a proof is computed from, so that it is valid only once.
pub(super) type Challenge = [u8; 32];

const CHALLENGE: u8 = 0;
const ASK: u8 = 1;
const WELCOME: u8 = 2;
const REFUSED: u8 = 3;
const SAMPLE: u8 = 4;
const WHEN: u8 = 5;
const STAMPS: u8 = 6;
const LAST: u8 = 7;
const LAST_SAMPLE: u8 = 8;

/// A client's request to be served: its credentials and the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CounterRequest {
    /// Proof that the client has the token; empty if it has none.
    pub proof: Vec<u8>,
    /// Address under load.
    pub target: Option<SocketAddr>,
    /// Kernel and network namespace of the client: 127.0.0.1 is the same host for both sides only if they share these.
    pub place: KernelNamespace,
}

/// A boot of a kernel, and one of its network namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KernelNamespace {
    pub boot: String,
    pub network: String,
}

/// A probe's description of its host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostDescription {
    /// Host name.
    pub host: String,
    /// Kernel name and version: `Linux 6.18.0`.
    pub kernel: String,
    /// Number of cores.
    pub cores: f64,
    /// Set if the address under load is on this host, and some process listens there.
    pub holds_target: bool,
    /// Set if the probe runs on the client's kernel.
    pub shares_kernel: bool,
}

/// A message of a probe.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ProbeMessage {
    Challenge(Challenge),
    Welcome(HostDescription),
    Refused(String),
    /// A sample; its time is on the clock of the probe.
    Sample(HostCounters),
    /// The last sample.
    LastSample(HostCounters),
    /// Timestamps of the request (on the client's clock), of its arrival, and of this response.
    Timestamps([Nanos; 3]),
}

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ClientMessage {
    Ask(CounterRequest),
    Time(Nanos),
    Last,
}

impl ProbeMessage {
    /// Returns the kind and the body of the message.
    pub fn body(&self) -> (u8, Vec<u8>) {
        match self {
            ProbeMessage::Challenge(challenge) => (CHALLENGE, challenge.to_vec()),
            ProbeMessage::Welcome(facts) => (WELCOME, json(facts)),
            ProbeMessage::Refused(why) => (REFUSED, why.as_bytes().to_vec()),
            ProbeMessage::Sample(sample) => (SAMPLE, json(sample)),
            ProbeMessage::LastSample(sample) => (LAST_SAMPLE, json(sample)),
            ProbeMessage::Timestamps(stamps) => {
                (STAMPS, stamps.iter().flat_map(|stamp| stamp.0.to_le_bytes()).collect())
            }
        }
    }

    /// Parses a frame without its length; `None` if it is invalid.
    pub fn parse(frame: &[u8]) -> Option<ProbeMessage> {
        let (kind, body) = split(frame)?;
        match kind {
            CHALLENGE => body.try_into().ok().map(ProbeMessage::Challenge),
            WELCOME => {
                let facts: HostDescription = serde_json::from_slice(body).ok()?;
                let plain = |text: &str| brunt_measure::sanitize::line(shortened(text)).into_owned();
                Some(ProbeMessage::Welcome(HostDescription {
                    host: plain(&facts.host),
                    kernel: plain(&facts.kernel),
                    ..facts
                }))
            }
            REFUSED => {
                let why = String::from_utf8_lossy(&body[..body.len().min(WORDS)]);
                Some(ProbeMessage::Refused(brunt_measure::sanitize::line(&why).into_owned()))
            }
            SAMPLE => serde_json::from_slice(body).ok().filter(is_sample).map(ProbeMessage::Sample),
            LAST_SAMPLE => serde_json::from_slice(body).ok().filter(is_sample).map(ProbeMessage::LastSample),
            STAMPS => match body.as_chunks::<8>() {
                ([asked, heard, told], []) => {
                    Some(ProbeMessage::Timestamps([asked, heard, told].map(|stamp| Nanos(u64::from_le_bytes(*stamp)))))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl ClientMessage {
    /// Returns the kind and the body of the message.
    pub fn body(&self) -> (u8, Vec<u8>) {
        match self {
            ClientMessage::Ask(ask) => (ASK, json(ask)),
            ClientMessage::Time(stamp) => (WHEN, stamp.0.to_le_bytes().to_vec()),
            ClientMessage::Last => (LAST, Vec::new()),
        }
    }

    /// Parses a frame without its length; `None` if it is invalid.
    pub fn parse(frame: &[u8]) -> Option<ClientMessage> {
        let (kind, body) = split(frame)?;
        match kind {
            ASK => serde_json::from_slice(body).ok().map(ClientMessage::Ask),
            WHEN => body.try_into().ok().map(|stamp| ClientMessage::Time(Nanos(u64::from_le_bytes(stamp)))),
            LAST if body.is_empty() => Some(ClientMessage::Last),
            _ => None,
        }
    }
}

/// Splits a frame into kind and body; these frames all have the number zero.
fn split(frame: &[u8]) -> Option<(u8, &[u8])> {
    let ([0, 0, 0, 0, kind], body) = frame.split_first_chunk()? else { return None };
    Some((*kind, body))
}

/// Encodes a message; serialization of text and numbers cannot fail.
fn json(what: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(what).unwrap_or_default()
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(WORDS)]
}

/// Returns `true` if all names are displayable and there are no more counters than a host can have. Thread names are
/// chosen by programs, on either host.
fn is_sample(sample: &HostCounters) -> bool {
    let names = sample.values.keys().chain(sample.labels.keys()).chain(&sample.gone);
    let words = sample.labels.values().chain(&sample.unobservable);
    sample.values.len() + sample.labels.len() + sample.gone.len() + sample.unobservable.len() <= MOST
        && names.into_iter().all(|name| crate::is_name(name))
        && words.into_iter().all(|word| word.len() <= WORDS)
}

/// Proves possession of the token without revealing it.
pub(super) fn prove(token: &str, challenge: &Challenge) -> Vec<u8> {
    hmac::sign(&key(token), challenge).as_ref().to_vec()
}

/// Verifies a proof of this token, in constant time.
pub(super) fn verify_proof(token: &str, challenge: &Challenge, proof: &[u8]) -> bool {
    hmac::verify(&key(token), challenge, proof).is_ok()
}

fn key(token: &str) -> Key {
    Key::new(HMAC_SHA256, token.as_bytes())
}
