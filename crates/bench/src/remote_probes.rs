//! Probes on other hosts that take part in a run (`--probe`): their counters between the events of the engine, and
//! their clocks.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_counters::remote::{
    ByteStream, ClockReading, JoinOptions, JoinedProbe, ProbeEvent, ProbeReceiver, TlsWrapper,
};
use brunt_measure::Nanos;
use brunt_net::tls::{RustlsSecurity, TlsSettings};
use brunt_record::{HostCounters, Notice, RunEvent, Subject};

use brunt_config::ProbeTargets;

/// Timeout of the first sample; a probe sends one each second.
const LOOK_AT_MOST: Duration = Duration::from_secs(5);

/// A connected probe and its address.
pub struct ProbeLink {
    address: String,
    joined: JoinedProbe,
}

/// Connects to all probes.
///
/// # Errors
/// Returns the address of the first probe that cannot be connected to, and the reason.
pub fn join(probes: &ProbeTargets, target: Option<SocketAddr>) -> Result<Vec<ProbeLink>, UsageError> {
    let cacert = |file: &String| {
        std::fs::read(file).map_err(|e| {
            UsageError::new("--probe-cacert", complaint!("{file} cannot be read: {e}", "无法读取 {file}：{e}"))
        })
    };
    let cacert = probes.cacert.as_ref().map(cacert).transpose()?;
    let each = probes.addresses.iter().map(|address| {
        let seal = probe_tls(address, cacert.clone())?;
        let joining = JoinOptions { address, token: probes.token.as_deref(), tls: seal, target };
        let joined = joining.join().map_err(|why| {
            UsageError::new(
                "--probe",
                complaint!("{address} cannot be reached: {why}{}", "无法连接 {address}：{why}{}", hint(&why)),
            )
        })?;
        Ok(ProbeLink { address: address.clone(), joined })
    });
    each.collect()
}

/// Reads one sample of each probe.
///
/// # Errors
/// Returns the address of the first probe that cannot be connected to or sends nothing, and the
/// reason.
pub fn look(probes: &ProbeTargets, target: Option<SocketAddr>) -> Result<Vec<ProbeSnapshot>, UsageError> {
    join(probes, target)?.into_iter().map(ProbeLink::snapshot).collect()
}

/// A host at one moment, as reported by its probe.
pub struct ProbeSnapshot {
    /// Name of the host, and the address of its probe.
    pub name: String,
    /// Set if the address under load is one of this host.
    pub holds_target: bool,
    /// All its counters.
    pub sample: HostCounters,
}

impl ProbeLink {
    fn snapshot(self) -> Result<ProbeSnapshot, UsageError> {
        let ProbeLink { address, joined } = self;
        let facts = joined.facts().clone();
        let (told, news) = channel();
        let refused = |why: String| UsageError::new("--probe", complaint!("{address}: {why}", "{address}：{why}"));
        let following = joined.follow(move |news| drop(told.send(news))).map_err(|error| refused(error.to_string()))?;
        let first = news.recv_timeout(LOOK_AT_MOST);
        following.stop();
        match first {
            Ok(ProbeEvent::Sample(sample)) if !sample.values.is_empty() => {
                let name = if facts.host.is_empty() { address } else { format!("{} ({address})", facts.host) };
                Ok(ProbeSnapshot { name, holds_target: facts.holds_target, sample })
            }
            Ok(ProbeEvent::Lost(why)) => Err(refused(why)),
            _ => Err(refused("it sent nothing".into())),
        }
    }
}

/// Returns a hint on how to fix the error, if there is one.
fn hint(why: &str) -> &'static str {
    match why {
        _ if why.starts_with("it requires a token") => "; add --probe-token, or set BRUNT_PROBE_TOKEN",
        _ if why.contains("invalid peer certificate") => {
            "; give its certificate, or that of its CA, with --probe-cacert"
        }
        // The beginning of a TLS alert record.
        _ if why.contains("it sent `\\x15\\x03") => "; it uses TLS: give its certificate with --probe-cacert",
        _ if why.contains("the other end is not brunt") => "; start `brunt probe` there",
        _ => "",
    }
}

/// Creates the TLS settings of a connection to a probe: connections to other hosts use TLS; on this machine only if a
/// certificate is given.
fn probe_tls(address: &str, cacert: Option<Vec<u8>>) -> Result<TlsWrapper, UsageError> {
    let must = cacert.is_some();
    let settings = TlsSettings { cacert, ..TlsSettings::default() };
    let security = RustlsSecurity::new(&settings)
        .map_err(|UsageError { problem: trouble, .. }| UsageError::new("--probe-cacert", trouble))?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']).to_owned();
    Ok(Box::new(move |socket| {
        let here = socket.peer_addr()?.ip().to_canonical().is_loopback();
        if here && !must {
            return Ok(Box::new(socket) as Box<dyn ByteStream>);
        }
        let clear = security.over(socket, &host).map_err(std::io::Error::other)?;
        Ok(Box::new(clear) as Box<dyn ByteStream>)
    }))
}

/// A probe during a run.
pub struct RemoteProbe {
    following: Option<ProbeReceiver>,
    news: Receiver<ProbeEvent>,
    joined: brunt_record::ProbedHost,
    /// The first clock comparison, until it has been passed on.
    first: Option<ClockReading>,
    /// The last clock comparison, until it has been passed on.
    last: Option<ClockReading>,
}

impl RemoteProbe {
    /// Starts receiving samples. `names` are already used by other hosts.
    pub fn begin(probe: ProbeLink, names: &[String]) -> RemoteProbe {
        let ProbeLink { address, joined } = probe;
        let facts = joined.facts().clone();
        let host = match facts.host {
            host if host.is_empty() => address.clone(),
            host if names.contains(&host) => format!("{host} ({address})"),
            host => host,
        };
        let first = Some(joined.clock());
        let (told, news) = channel();
        // The receiver is dropped only after the run. If no thread can be started, the run goes on without the probe
        // and says so.
        let following = joined.follow(move |news| drop(told.send(news))).ok();
        let joined = brunt_record::ProbedHost {
            host,
            probe: address,
            kernel: facts.kernel,
            cores: facts.cores,
            holds_target: facts.holds_target,
            shares_kernel: facts.shares_kernel,
            ..brunt_record::ProbedHost::default()
        };
        RemoteProbe { following, news, joined, first, last: None }
    }

    /// Returns its name in the record.
    pub fn name(&self) -> &str {
        &self.joined.host
    }

    /// Stops it after one last sample.
    pub fn stop(&mut self) {
        self.last = self.following.take().and_then(ProbeReceiver::stop);
    }

    /// Passes on the samples since the last call; the window begins at `start`.
    pub fn emit(&mut self, start: Nanos, sink: &mut dyn FnMut(RunEvent)) {
        let since = |moment: i64| moment.wrapping_sub(start.0.cast_signed());
        let clock = |joined: &brunt_record::ProbedHost, clock: ClockReading| {
            RunEvent::Joined(brunt_record::ProbedHost {
                at_ns: Some(since(clock.at.0.cast_signed())),
                clock_ahead_ns: clock.ahead_ns,
                clock_within_ns: clock.error_ns,
                ..joined.clone()
            })
        };
        if let Some(first) = self.first.take() {
            sink(clock(&self.joined, first));
        }
        for news in self.news.try_iter() {
            sink(match news {
                ProbeEvent::Sample(sample) => RunEvent::Counters(HostCounters {
                    at_ns: since(sample.at_ns),
                    host: self.joined.host.clone(),
                    ..sample
                }),
                ProbeEvent::Lost(why) => RunEvent::Notice(Notice::new(
                    Subject::ProbeLost,
                    [("host", self.joined.host.clone()), ("why", why)],
                )),
            });
        }
        if let Some(last) = self.last.take() {
            sink(clock(&self.joined, last));
        }
    }
}
