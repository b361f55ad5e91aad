//! What a probe and its client say to each other, and the proof of a token. What reads it believes nothing in it.

use std::net::SocketAddr;

use aws_lc_rs::hmac::{self, HMAC_SHA256, Key};
use measure::Nanos;
use record::HostCounters;
use record::frames::Speech;
use serde::{Deserialize, Serialize};

/// What a probe says. Its longest frame is a first sample: of a host with a thousand cores that is 500 kB.
pub(super) const TOLD: Speech =
    Speech { hello: "brunt-probe", version: 1, what: "the probe's protocol", longest: 4 << 20 };
/// What a client says is short.
pub(super) const ASKED: Speech = Speech { longest: 4 << 10, ..TOLD };

/// So many counters one host may have.
pub(super) const MOST: usize = 50_000;
/// So much of a reason is shown, and of a word that a host tells of itself.
const WORDS: usize = 500;

/// Random bytes that a proof is made of, so that it is of use once.
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

/// What a client says of itself and of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Ask {
    /// That it has the token; empty: it has none.
    pub proof: Vec<u8>,
    /// The address under load.
    pub target: Option<SocketAddr>,
    /// Which kernel it runs on, and in which of its networks: only there is 127.0.0.1 the same.
    pub place: Place,
}

/// A kernel since it was started, and one of its networks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub boot: String,
    pub network: String,
}

/// What a probe says of its host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Host name.
    pub host: String,
    /// `Linux 6.18.0`.
    pub kernel: String,
    /// Its cores.
    pub cores: f64,
    /// The address under load is one of this host, and somebody listens there.
    pub holds_target: bool,
    /// It runs on the client's kernel.
    pub shares_kernel: bool,
}

/// What a probe says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    Challenge(Challenge),
    Welcome(Facts),
    Refused(String),
    /// Its moment is on the clock of the probe.
    Sample(HostCounters),
    /// The last one.
    Last(HostCounters),
    /// When it was asked (the client's stamp), when that was heard, and when this was said.
    Stamps([Nanos; 3]),
}

/// What a client says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    Ask(Ask),
    When(Nanos),
    Last,
}

impl Told {
    /// Its kind and content.
    pub fn body(&self) -> (u8, Vec<u8>) {
        match self {
            Told::Challenge(challenge) => (CHALLENGE, challenge.to_vec()),
            Told::Welcome(facts) => (WELCOME, json(facts)),
            Told::Refused(why) => (REFUSED, why.as_bytes().to_vec()),
            Told::Sample(sample) => (SAMPLE, json(sample)),
            Told::Last(sample) => (LAST_SAMPLE, json(sample)),
            Told::Stamps(stamps) => (STAMPS, stamps.iter().flat_map(|stamp| stamp.0.to_le_bytes()).collect()),
        }
    }

    /// A frame without its length; None where it means nothing.
    pub fn parse(frame: &[u8]) -> Option<Told> {
        let (kind, body) = split(frame)?;
        match kind {
            CHALLENGE => body.try_into().ok().map(Told::Challenge),
            WELCOME => {
                let facts: Facts = serde_json::from_slice(body).ok()?;
                let plain = |text: &str| measure::plain::line(shortened(text)).into_owned();
                Some(Told::Welcome(Facts { host: plain(&facts.host), kernel: plain(&facts.kernel), ..facts }))
            }
            REFUSED => {
                let why = String::from_utf8_lossy(&body[..body.len().min(WORDS)]);
                Some(Told::Refused(measure::plain::line(&why).into_owned()))
            }
            SAMPLE => serde_json::from_slice(body).ok().filter(is_sample).map(Told::Sample),
            LAST_SAMPLE => serde_json::from_slice(body).ok().filter(is_sample).map(Told::Last),
            STAMPS => match body.as_chunks::<8>() {
                ([asked, heard, told], []) => {
                    Some(Told::Stamps([asked, heard, told].map(|stamp| Nanos(u64::from_le_bytes(*stamp)))))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl Asked {
    /// Its kind and content.
    pub fn body(&self) -> (u8, Vec<u8>) {
        match self {
            Asked::Ask(ask) => (ASK, json(ask)),
            Asked::When(stamp) => (WHEN, stamp.0.to_le_bytes().to_vec()),
            Asked::Last => (LAST, Vec::new()),
        }
    }

    /// A frame without its length; None where it means nothing.
    pub fn parse(frame: &[u8]) -> Option<Asked> {
        let (kind, body) = split(frame)?;
        match kind {
            ASK => serde_json::from_slice(body).ok().map(Asked::Ask),
            WHEN => body.try_into().ok().map(|stamp| Asked::When(Nanos(u64::from_le_bytes(stamp)))),
            LAST if body.is_empty() => Some(Asked::Last),
            _ => None,
        }
    }
}

/// Kind and content; the number of these frames is zero.
fn split(frame: &[u8]) -> Option<(u8, &[u8])> {
    let ([0, 0, 0, 0, kind], body) = frame.split_first_chunk()? else { return None };
    Some((*kind, body))
}

/// What is told is text and numbers.
fn json(what: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(what).unwrap_or_default()
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(WORDS)]
}

/// Counters by names that can be shown, and no more than a host has. Threads are called what their program likes, here as there.
fn is_sample(sample: &HostCounters) -> bool {
    let names = sample.values.keys().chain(sample.labels.keys()).chain(&sample.gone);
    let words = sample.labels.values().chain(&sample.unobservable);
    sample.values.len() + sample.labels.len() + sample.gone.len() + sample.unobservable.len() <= MOST
        && names.into_iter().all(|name| crate::is_name(name))
        && words.into_iter().all(|word| word.len() <= WORDS)
}

/// Shows that one has the token without saying it.
pub(super) fn prove(token: &str, challenge: &Challenge) -> Vec<u8> {
    hmac::sign(&key(token), challenge).as_ref().to_vec()
}

/// Whether a proof is one of this token, in a time that does not tell how much of it is right.
pub(super) fn is_proved(token: &str, challenge: &Challenge, proof: &[u8]) -> bool {
    hmac::verify(&key(token), challenge, proof).is_ok()
}

fn key(token: &str) -> Key {
    Key::new(HMAC_SHA256, token.as_bytes())
}
