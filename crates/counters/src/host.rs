//! The counters of a host, read together at one moment.

use std::net::SocketAddr;

use brunt_measure::{Clock, Nanos};

use crate::counters::{CounterSink, Counters};
use crate::interfaces::Interfaces;
use crate::own_process::{OwnProcess, ThreadLabels};
use crate::parse::settings::{SETTINGS, setting};
use crate::parse::{cpu, host, network, number};
use crate::process::Units;
use crate::service::Service;
use crate::source::{CounterSource, PersistentFile, reason};
use crate::tcp_sample::TcpSample;

type CounterParser = fn(&str, Units, &mut CounterSink);

/// Files with counters of the host, each with the name of its counters and its parser.
const FILES: [(&str, &str, CounterParser); 16] = [
    ("cpu", "/proc/stat", |text, units, sink| cpu::stat(text, units.tick_ns, sink)),
    ("psi.cpu", "/proc/pressure/cpu", |text, _, sink| cpu::pressure(text, "cpu", sink)),
    ("psi.io", "/proc/pressure/io", |text, _, sink| cpu::pressure(text, "io", sink)),
    ("psi.memory", "/proc/pressure/memory", |text, _, sink| cpu::pressure(text, "memory", sink)),
    ("softnet", "/proc/net/softnet_stat", |text, _, sink| cpu::softnet(text, sink)),
    ("Tcp", "/proc/net/snmp", |text, _, sink| network::tables(text, sink)),
    ("Ip6", "/proc/net/snmp6", |text, _, sink| network::lines(text, sink)),
    ("TcpExt", "/proc/net/netstat", |text, _, sink| network::tables(text, sink)),
    ("sockstat", "/proc/net/sockstat", |text, _, sink| network::sockstat(text, sink)),
    ("sockstat.TCP6", "/proc/net/sockstat6", |text, _, sink| network::sockstat(text, sink)),
    ("conntrack.drop", "/proc/net/stat/nf_conntrack", |text, _, sink| network::conntrack(text, sink)),
    ("conntrack.count", "/proc/sys/net/netfilter/nf_conntrack_count", |text, _, sink| {
        sink.put_some(&["conntrack", "count"], number(text));
    }),
    ("conntrack.max", "/proc/sys/net/netfilter/nf_conntrack_max", |text, _, sink| {
        sink.put_some(&["conntrack", "max"], number(text));
    }),
    ("mem", "/proc/meminfo", |text, _, sink| host::memory(text, sink)),
    ("vm.oom_kill", "/proc/vmstat", |text, _, sink| host::killed(text, sink)),
    ("files", "/proc/sys/fs/file-nr", |text, _, sink| host::files(text, sink)),
];

/// A reader of the counters of a host, of this process, and of a service on the host if one is watched.
#[derive(Debug)]
pub struct HostReader {
    source: CounterSource,
    units: Units,
    sink: CounterSink,
    buffer: Vec<u8>,
    files: Vec<PersistentFile>,
    interfaces: Interfaces,
    own: OwnProcess,
    /// Texts of the settings, or the reasons why they cannot be read.
    settings: Vec<Result<String, &'static str>>,
    /// Exit latency of the deepest idle state of the first core (microseconds).
    idle_exit_us: Option<u64>,
    service: Option<Service>,
    /// TCP statistics of a sample of the connections to the address under load.
    sampled: Option<TcpSample>,
}

impl HostReader {
    /// Creates a reader; only the settings are read at this point.
    pub fn new(source: CounterSource) -> HostReader {
        let read = |path: &str| source.text(path).map_err(|error| reason(&error));
        HostReader {
            units: Units::of_this_system(),
            sink: CounterSink::default(),
            buffer: Vec::new(),
            files: FILES.iter().map(|(_, path, _)| PersistentFile::new(*path)).collect(),
            interfaces: Interfaces::new(),
            own: OwnProcess::new(),
            settings: SETTINGS.iter().map(|(_, path, _)| read(path)).collect(),
            idle_exit_us: idle_exit(&source),
            service: None,
            sampled: None,
            source,
        }
    }

    /// Returns the labels of this process's threads; they may be set at any time, from any thread.
    pub fn labels(&self) -> ThreadLabels {
        self.own.labels.clone()
    }

    /// Includes the counters of this service in samples from now on.
    pub fn watch(&mut self, service: Service) {
        self.service = Some(service);
    }

    /// Includes TCP statistics of some connections from this host to an address in samples from now on.
    pub fn sample_connections_to(&mut self, target: SocketAddr) {
        self.sampled = Some(TcpSample::to_target(target));
    }

    /// Reads all counters now.
    pub fn read(&mut self) -> Counters {
        let moment = Clock.now();
        self.read_at(moment)
    }

    pub(crate) fn read_at(&mut self, moment: Nanos) -> Counters {
        let HostReader { source, units, sink, buffer, .. } = self;
        for ((what, _, parse), file) in FILES.iter().zip(&mut self.files) {
            let text = file.read(source, buffer);
            parse_or_report(what, text.as_deref().map_err(reason), sink, |text, sink| parse(text, *units, sink));
        }
        for ((name, _, form), text) in SETTINGS.iter().zip(&self.settings) {
            let text = text.as_deref().map_err(|why| *why);
            parse_or_report(&format!("setting.{name}"), text, sink, |text, sink| setting(text, name, *form, sink));
        }
        sink.put_some(&["setting.idle_exit_us"], self.idle_exit_us);
        self.interfaces.report(source, buffer, sink);
        self.own.report(source, *units, buffer, sink);
        if let Some(service) = &mut self.service {
            service.report(source, *units, moment, buffer, sink);
        }
        if let Some(sampled) = &mut self.sampled {
            sampled.report(source, moment, sink);
        }
        sink.take(moment)
    }

    pub(crate) fn source(&self) -> &CounterSource {
        &self.source
    }
}

/// Returns the longest exit latency among the enabled idle states of the first core; `None` if the kernel has none, as
/// in most virtual machines.
fn idle_exit(source: &CounterSource) -> Option<u64> {
    let state = |n: u32, what: &str| {
        let text = source.text(&format!("/sys/devices/system/cpu/cpu0/cpuidle/state{n}/{what}")).ok()?;
        number(&text)
    };
    (0..)
        .map_while(|n| Some((n, state(n, "latency")?)))
        .filter(|(n, _)| state(*n, "disable") != Some(1))
        .map(|state| state.1)
        .max()
}

/// Parses a text, or records why it is unavailable.
fn parse_or_report(
    what: &str,
    text: Result<&str, &'static str>,
    sink: &mut CounterSink,
    parse: impl FnOnce(&str, &mut CounterSink),
) {
    let before = sink.count();
    match text {
        Ok(text) => parse(text, sink),
        Err(why) => return sink.unobservable(what, why),
    }
    if sink.count() == before {
        sink.unobservable(what, "the kernel does not report it");
    }
}

#[cfg(test)]
mod tests;
