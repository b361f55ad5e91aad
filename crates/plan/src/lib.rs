//! The plan of a run: target, load, limits and objectives.
//!
//! A [`Plan`] is created from flags, files and forms, and is kept in the record. It does not depend on any protocol:
//! options of protocols are kept as text ([`PlanOptions`]), and each protocol parses its own.

pub mod address;
mod agent_selection;
mod bundle;
mod change;
pub mod document;
pub mod flow;
pub mod mask;
mod owner_terms;
pub mod public_load;
pub mod quantity;
mod run_terms;
pub mod scenarios;
pub mod stages;
mod trial;
pub mod yaml;

pub use agent_selection::{AgentSelection, MOST_LABELS, NamedAgent, is_label};
pub use bundle::Bundle;
pub use change::Change;
pub use owner_terms::{AllowedTarget, OwnerTerms, PlanShare};
pub use run_terms::{LossPolicy, RunTerms};
pub use scenarios::ScenarioPlan;
pub use trial::Trial;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use brunt_measure::Nanos;
use serde::{Deserialize, Serialize};

/// Protocol options by their long name, in the order given: `"header" → ["A: b", "C: d"]`; a switch has one empty value.
pub type PlanOptions = BTreeMap<String, Vec<String>>;

/// A URL of a run and its weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeightedUrl {
    /// The URL with its scheme.
    pub url: String,
    /// Relative weight; 1 by default.
    #[serde(default = "one")]
    pub weight: f64,
    /// Options for this URL only, replacing the plan's options of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: PlanOptions,
    /// Name of its requests in the results; None: by method and path, or command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

fn one() -> f64 {
    1.0
}

impl WeightedUrl {
    /// Creates a URL without options.
    pub fn plain(url: impl Into<String>) -> WeightedUrl {
        WeightedUrl { url: url.into(), weight: 1.0, options: PlanOptions::new(), name: None }
    }
}

/// The URLs of a run. They are shared, because a plan is kept in several places and may have a million URLs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Urls(Arc<Vec<WeightedUrl>>);

impl Urls {
    /// Returns the URLs for modification; copies them first if they are shared.
    pub fn make_mut(&mut self) -> &mut Vec<WeightedUrl> {
        Arc::make_mut(&mut self.0)
    }

    /// Returns the URLs, copied only if they are shared.
    pub fn into_vec(self) -> Vec<WeightedUrl> {
        Arc::unwrap_or_clone(self.0)
    }
}

impl Deref for Urls {
    type Target = [WeightedUrl];
    fn deref(&self) -> &[WeightedUrl] {
        &self.0
    }
}

impl From<Vec<WeightedUrl>> for Urls {
    fn from(urls: Vec<WeightedUrl>) -> Urls {
        Urls(Arc::new(urls))
    }
}

impl FromIterator<WeightedUrl> for Urls {
    fn from_iter<I: IntoIterator<Item = WeightedUrl>>(urls: I) -> Urls {
        Urls::from(Vec::from_iter(urls))
    }
}

impl<'a> IntoIterator for &'a Urls {
    type Item = &'a WeightedUrl;
    type IntoIter = std::slice::Iter<'a, WeightedUrl>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for Urls {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Urls {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Urls, D::Error> {
        Vec::deserialize(from).map(Urls::from)
    }
}

/// Maximum number, and total size in bytes, of the URLs of a plan that are shown and recorded; the others are only
/// counted.
const LISTED: usize = 1000;
const LISTED_BYTES: usize = 1 << 20;

/// A stretch of a run in which the load changes linearly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Duration in nanoseconds.
    pub lasts: Nanos,
    /// Users, or arrivals per second, at the beginning.
    pub from: f64,
    /// Users, or arrivals per second, at the end.
    pub to: f64,
}

/// The spacing of arrivals under open load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Exponential gaps: independent visitors.
    #[default]
    Poisson,
    /// Equal gaps.
    Constant,
    /// All arrivals of a second at its beginning.
    Burst,
}

/// What untrusted figures do to the exit code of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrustPolicy {
    /// A warning: the run exits as if its figures could be trusted.
    Warn,
    /// Exit code 20, unless all objectives are decided whatever delays may be brunt's own.
    #[default]
    Judge,
    /// Exit code 20 for any figure that is not trusted without reserve.
    Strict,
}

impl TrustPolicy {
    fn is_default(&self) -> bool {
        *self == TrustPolicy::default()
    }
}

/// The load model: the times at which requests are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum Load {
    /// Users, each sending one request after another.
    Closed {
        /// The number of users over time; a constant number is one stage.
        stages: Vec<Stage>,
        /// Pause between a response and the next request, uniform between the two bounds (nanoseconds).
        think: Option<(Nanos, Nanos)>,
        /// Set if all users start at the same moment, once every connection is open.
        together: bool,
    },
    /// Arrivals at a rate, independent of the server's responses.
    Open {
        /// The rate over time; a constant rate is one stage.
        stages: Vec<Stage>,
        /// The spacing of the arrivals.
        arrivals: Arrivals,
    },
}

impl Load {
    /// Returns `true` if arrivals do not wait for responses.
    pub fn is_open(&self) -> bool {
        matches!(self, Load::Open { .. })
    }
    /// Returns the stages of either model.
    pub fn stages(&self) -> &[Stage] {
        match self {
            Load::Closed { stages, .. } | Load::Open { stages, .. } => stages,
        }
    }
    /// Returns the maximum number of users (closed) or arrivals per second (open).
    pub fn peak(&self) -> f64 {
        self.stages().iter().fold(0.0, |peak, s| peak.max(s.from).max(s.to))
    }
    /// Returns `true` if the level is constant from beginning to end.
    pub fn is_level(&self) -> bool {
        self.stages().iter().all(|s| s.from == s.to && s.from == self.peak())
    }
}

/// The network implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NetKind {
    /// Chosen at startup by a check.
    #[default]
    Auto,
    /// epoll.
    Epoll,
    /// io_uring.
    Uring,
}

/// The complete description of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The protocol's name, e.g. `http`.
    pub protocol: String,
    /// The URLs that requests are sent to.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<WeightedUrl>"))]
    pub urls: Urls,
    /// Number of URLs not listed, in reports and records only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_urls: u64,
    /// Options of the protocol.
    pub options: PlanOptions,
    /// The load model.
    pub load: Load,
    /// Number of requests after which the run stops, not counting the warm-up.
    pub requests: Option<u64>,
    /// Time after which the run stops (nanoseconds), not counting the warm-up. None: until `requests` are done.
    pub duration: Option<Nanos>,
    /// The flow of each user. None: each sends randomly chosen requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<flow::Flow>,
    /// Several kinds of users running concurrently. None: only the load and flow above; otherwise `load` is their
    /// total, and each has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scenarios: Vec<ScenarioPlan>,
    /// The parts shared by scenarios: setup, teardown, and the flows they call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common: Option<flow::Flow>,
    /// Warm-up (nanoseconds): requests with an intended time in it are sent but excluded from the results.
    pub warmup: Nanos,
    /// Time given to unfinished requests after the end (nanoseconds).
    pub drain: Nanos,
    /// Timeout of a request (nanoseconds).
    pub timeout: Nanos,
    /// Timeout of a connection attempt (nanoseconds).
    pub connect_timeout: Nanos,
    /// Interval at which names are looked up again; null if only after failed connects (nanoseconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_refresh: Option<Nanos>,
    /// Connection limit for open load.
    pub max_connections: u32,
    /// Maximum number of worker threads; the run uses no more than users or connections.
    pub workers: u32,
    /// Set if each worker is pinned to a core.
    pub pin: bool,
    /// Set if workers poll all the time instead of sleeping, so that nothing waits for a core to wake up.
    #[serde(default)]
    pub precise: bool,
    /// Open load: arrivals due within this time of each other may be sent together (nanoseconds). This saves wake-ups
    /// at the price of later starts, which are measured as `gen_late`; zero: each is sent when it is due.
    #[serde(default)]
    pub slack: Nanos,
    /// Users (or connections) started per second; None: as fast as possible.
    #[serde(default)]
    pub connect_rate: Option<f64>,
    /// Set if connections are held: each sends its messages once and then stays open until this long after the last
    /// one was opened (nanoseconds).
    #[serde(default)]
    pub hold: Option<Nanos>,
    /// Interval of heartbeats on each open connection (nanoseconds).
    #[serde(default)]
    pub heartbeat: Option<Nanos>,
    /// Rate of the reference client, which is timed separately, on its own connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
    /// Share of requests whose trace is sampled, among requests that set no trace header of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<f64>,
    /// The network implementation.
    pub net: NetKind,
    /// Source addresses (single or `a-b` ranges, as written).
    pub sources: Vec<String>,
    /// curl's `HOST:PORT:HOST:PORT` redirections, as written.
    pub connect_to: Vec<String>,
    /// Path of a Unix socket used instead of TCP.
    pub unix_socket: Option<String>,
    /// The proxies that connections use.
    #[serde(default, skip_serializing_if = "ProxySettings::is_none")]
    pub proxies: ProxySettings,
    /// TLS settings.
    pub tls: Tls,
    /// Objectives, as written: `p99<50ms`.
    pub objectives: Vec<String>,
    /// What untrusted figures do to the exit code.
    #[serde(default, skip_serializing_if = "TrustPolicy::is_default")]
    pub trust: TrustPolicy,
    /// Seed of every random choice.
    pub seed: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Plan {
    /// Returns the number of URLs, listed or not.
    pub fn count_urls(&self) -> usize {
        self.urls.len() + usize::try_from(self.more_urls).unwrap_or(usize::MAX)
    }

    /// Takes all URLs, to prepare their requests. The plan keeps only the first ones, as in [`Plan::listed`].
    pub fn take_urls(&mut self) -> Urls {
        let listed = self.clone().listed();
        std::mem::replace(self, listed).urls
    }

    /// Returns the plan for a report, with only the first URLs if there are very many.
    pub fn listed(mut self) -> Plan {
        let size = |url: &WeightedUrl| {
            let own = url.options.values().flatten().map(String::len).sum::<usize>();
            url.url.len() + own
        };
        let mut bytes = 0;
        let fit = self.urls.iter().take(LISTED).take_while(|url| {
            bytes += size(url);
            bytes <= LISTED_BYTES
        });
        let fit = fit.count().max(1);
        if fit < self.urls.len() {
            self.more_urls += (self.urls.len() - fit) as u64;
            self.urls = self.urls[..fit].to_vec().into();
        }
        self
    }
}

/// The proxies between brunt and the target, as URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProxySettings {
    /// Proxy for connections without TLS.
    pub clear: Option<String>,
    /// Proxy for connections with TLS.
    pub tls: Option<String>,
    /// Hosts reached directly, as in `no_proxy`.
    pub except: String,
    /// The environment variables that set the proxies; empty: set by the user.
    pub variables: Vec<String>,
}

impl ProxySettings {
    /// Returns `true` if there is no proxy, so that all connections are direct.
    pub fn is_none(&self) -> bool {
        self.clear.is_none() && self.tls.is_none()
    }

    /// Returns the proxies, each once.
    pub fn all(&self) -> Vec<&str> {
        let mut all: Vec<&str> = [&self.clear, &self.tls].into_iter().flatten().map(String::as_str).collect();
        all.dedup();
        all
    }
}

/// TLS settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tls {
    /// Set if any certificate is accepted.
    pub insecure: bool,
    /// File of trusted CA certificates (PEM) instead of the built-in ones.
    pub cacert: Option<String>,
    /// Client certificate chain (PEM file).
    pub cert: Option<String>,
    /// Client private key (PEM file).
    pub key: Option<String>,
    /// Set if sessions are resumed on new connections.
    pub resume: bool,
    /// The only version offered, `1.2` or `1.3`; None: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// One worker's share of a run: `index` of `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// Index of the share, from 0.
    pub index: u32,
    /// Number of shares.
    pub of: u32,
}

impl Share {
    /// The whole run.
    pub const WHOLE: Share = Share { index: 0, of: 1 };

    /// Returns this share of `total`. Shares differ by at most one and add up to `total`.
    pub fn of_total(self, total: u64) -> u64 {
        let (index, of) = (u64::from(self.index), u64::from(self.of));
        total / of + u64::from(index < total % of)
    }
}
