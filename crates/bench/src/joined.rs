//! Probes of other hosts, joined to a run (`--probe`): their counters between the events of the engine, and their clocks.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use measure::Nanos;
use net::tls::{RustlsSecurity, TlsSettings};
use probe::remote::{Clear, ClockReading, Following, Joined, Joining, News, Seal};
use record::{HostCounters, Notice, RunEvent, Subject};
use wire::Complaint;

use intent::Probes;

/// A probe tells a sample each second.
const LOOK_AT_MOST: Duration = Duration::from_secs(5);

/// A probe that let us in, and where it is.
pub struct Probe {
    address: String,
    joined: Joined,
}

/// Joins all of them.
///
/// # Errors
/// Which one cannot be joined, and why.
pub fn join(probes: &Probes, target: Option<SocketAddr>) -> Result<Vec<Probe>, Complaint> {
    let cacert = |file: &String| {
        std::fs::read(file).map_err(|e| Complaint::new("--probe-cacert", format!("{file} cannot be read: {e}")))
    };
    let cacert = probes.cacert.as_ref().map(cacert).transpose()?;
    let each = probes.addresses.iter().map(|address| {
        let seal = seal(address, cacert.clone())?;
        let joining = Joining { address, token: probes.token.as_deref(), seal, target };
        let joined = joining
            .join()
            .map_err(|why| Complaint::new("--probe", format!("{address} cannot be reached: {why}{}", hint(&why))))?;
        Ok(Probe { address: address.clone(), joined })
    });
    each.collect()
}

/// What each probe tells of its host, read once.
///
/// # Errors
/// Which one cannot be joined, or told nothing, and why.
pub fn look(probes: &Probes, target: Option<SocketAddr>) -> Result<Vec<Looked>, Complaint> {
    join(probes, target)?.into_iter().map(Probe::look).collect()
}

/// A host as its probe tells it at one moment.
pub struct Looked {
    /// What it is called, and where its probe is.
    pub name: String,
    /// The address under load is one of this host.
    pub holds_target: bool,
    /// All it counts.
    pub sample: HostCounters,
}

impl Probe {
    fn look(self) -> Result<Looked, Complaint> {
        let Probe { address, joined } = self;
        let facts = joined.facts().clone();
        let (told, news) = channel();
        let refused = |why: String| Complaint::new("--probe", format!("{address}: {why}"));
        let following = joined.follow(move |news| drop(told.send(news))).map_err(|error| refused(error.to_string()))?;
        let first = news.recv_timeout(LOOK_AT_MOST);
        following.stop();
        match first {
            Ok(News::Sample(sample)) if !sample.values.is_empty() => {
                let name = if facts.host.is_empty() { address } else { format!("{} ({address})", facts.host) };
                Ok(Looked { name, holds_target: facts.holds_target, sample })
            }
            Ok(News::Lost(why)) => Err(refused(why)),
            _ => Err(refused("it sent nothing".into())),
        }
    }
}

/// What would be right, where that is known.
fn hint(why: &str) -> &'static str {
    match why {
        _ if why.starts_with("it requires a token") => "; add --probe-token, or set BRUNT_PROBE_TOKEN",
        _ if why.contains("invalid peer certificate") => {
            "; give its certificate, or that of its CA, with --probe-cacert"
        }
        // A record of TLS, of the sort that tells an alert.
        _ if why.contains("it sent `\\x15\\x03") => "; it uses TLS: give its certificate with --probe-cacert",
        _ if why.contains("the other end is not brunt") => "; start `brunt probe` there",
        _ => "",
    }
}

/// TLS wherever others could listen; on this machine only where a certificate is named.
fn seal(address: &str, cacert: Option<Vec<u8>>) -> Result<Seal, Complaint> {
    let must = cacert.is_some();
    let settings = TlsSettings { cacert, ..TlsSettings::default() };
    let security = RustlsSecurity::new(&settings)
        .map_err(|Complaint { trouble, .. }| Complaint::new("--probe-cacert", trouble))?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']).to_owned();
    Ok(Box::new(move |socket| {
        let here = socket.peer_addr()?.ip().to_canonical().is_loopback();
        if here && !must {
            return Ok(Box::new(socket) as Box<dyn Clear>);
        }
        let clear = security.over(socket, &host).map_err(std::io::Error::other)?;
        Ok(Box::new(clear) as Box<dyn Clear>)
    }))
}

/// A probe while a run goes on.
pub struct Remote {
    following: Option<Following>,
    news: Receiver<News>,
    joined: record::Joined,
    /// The clocks as they were compared first, until that is told.
    first: Option<ClockReading>,
    /// As they were at the end, likewise.
    last: Option<ClockReading>,
}

impl Remote {
    /// Begins to listen. Others have these names already.
    pub fn begin(probe: Probe, names: &[String]) -> Remote {
        let Probe { address, joined } = probe;
        let facts = joined.facts().clone();
        let host = match facts.host {
            host if host.is_empty() => address.clone(),
            host if names.contains(&host) => format!("{host} ({address})"),
            host => host,
        };
        let first = Some(joined.clock());
        let (told, news) = channel();
        // Nobody listens any more only once the run is over. No thread could be started: the run does without, and says so.
        let following = joined.follow(move |news| drop(told.send(news))).ok();
        let joined = record::Joined {
            host,
            probe: address,
            kernel: facts.kernel,
            cores: facts.cores,
            holds_target: facts.holds_target,
            shares_kernel: facts.shares_kernel,
            ..record::Joined::default()
        };
        Remote { following, news, joined, first, last: None }
    }

    /// What it is called in the record.
    pub fn name(&self) -> &str {
        &self.joined.host
    }

    /// The run is over: one last sample.
    pub fn stop(&mut self) {
        self.last = self.following.take().and_then(Following::stop);
    }

    /// Tells what became known since the last time; the window began, or is to begin, at `start`.
    pub fn tell(&mut self, start: Nanos, sink: &mut dyn FnMut(RunEvent)) {
        let since = |moment: i64| moment.wrapping_sub(start.0.cast_signed());
        let clock = |joined: &record::Joined, clock: ClockReading| {
            RunEvent::Joined(record::Joined {
                at_ns: Some(since(clock.at.0.cast_signed())),
                clock_ahead_ns: clock.ahead_ns,
                clock_within_ns: clock.within_ns,
                ..joined.clone()
            })
        };
        if let Some(first) = self.first.take() {
            sink(clock(&self.joined, first));
        }
        for news in self.news.try_iter() {
            sink(match news {
                News::Sample(sample) => RunEvent::Counters(HostCounters {
                    at_ns: since(sample.at_ns),
                    host: self.joined.host.clone(),
                    ..sample
                }),
                News::Lost(why) => RunEvent::Notice(Notice::new(
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
