//! Counters of this machine and of services during a run: each source is read on its own thread and reported between
//! the events of the engine, which does not know about them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_counters::{CounterSource, Counters, HostReader, Sampler, Service};
use brunt_measure::{Clock, Nanos};
use brunt_plan::Plan;
use brunt_record::{ChangeEncoder, Notice, RunEvent, Subject};
use brunt_watch::WatchedService;

use crate::checks;
use crate::remote_probes::{self, RemoteProbe};
use brunt_config::{CounterSources, LocalService};

/// Interval of the readings.
const EVERY: Nanos = Nanos::from_secs(1);

/// The counters of this machine, of the service under load if it is local, and of services with counters of their own.
pub struct CounterReadings {
    /// The sources; this machine comes first.
    readings: Vec<SourceReading>,
    /// Other hosts, through their probes.
    remotes: Vec<RemoteProbe>,
    window_begins: Option<Nanos>,
}

/// An active source of counters.
struct SourceReading {
    /// The reading thread; `None` if it could not be started, and the run goes on without it.
    sampler: Option<Sampler>,
    samples: Receiver<Counters>,
    /// Samples read before the beginning of the window was known.
    early: Vec<Counters>,
    changes: ChangeEncoder,
    /// Statistics of a service that is queried.
    told: Option<ServiceStats>,
}

/// Number of queries to a service, and how many of them got no answer.
struct ServiceStats {
    name: String,
    readings: u32,
    missed: u32,
    /// Time and reason of the first failure.
    lost: Option<(Nanos, String)>,
}

impl ServiceStats {
    fn new(name: &str) -> ServiceStats {
        ServiceStats { name: name.to_owned(), readings: 0, missed: 0, lost: None }
    }

    fn record(&mut self, sample: &Counters) {
        self.readings += 1;
        if let ([why, ..], true) = (&sample.unobservable[..], sample.values.is_empty()) {
            self.missed += 1;
            let why = why.strip_prefix(&format!("{}: ", self.name)).unwrap_or(why);
            self.lost.get_or_insert_with(|| (sample.moment, why.to_owned()));
        }
    }

    /// Returns the notice for the end of the run. A single missed reading affects only one second,
    /// so it gets none.
    fn loss(&self, window_begins: Nanos) -> Option<Notice> {
        let (first, why) = self.lost.as_ref().filter(|_| self.missed > 1)?;
        let at = Nanos(first.0.saturating_sub(window_begins.0)).as_secs_f64().round().to_string();
        let facts = [
            ("service", self.name.clone()),
            ("missed", self.missed.to_string()),
            ("readings", self.readings.to_string()),
            ("at", at),
            ("why", why.clone()),
        ];
        Some(Notice::new(Subject::WatchedLost, facts))
    }
}

impl SourceReading {
    fn of_service(name: &str, read: impl FnMut() -> Counters + Send + 'static) -> SourceReading {
        SourceReading { told: Some(ServiceStats::new(name)), ..SourceReading::begin(name, read) }
    }

    fn begin(name: &str, read: impl FnMut() -> Counters + Send + 'static) -> SourceReading {
        let (told, samples) = channel();
        // The receiver is dropped only after the run.
        let take = move |sample| drop(told.send(sample));
        let sampler = Sampler::start(read, Clock.now(), EVERY, take).ok();
        SourceReading { sampler, samples, early: Vec::new(), changes: ChangeEncoder::new(name), told: None }
    }
}

impl CounterReadings {
    /// Starts reading. `target` is the address under load; `None` behind a proxy.
    ///
    /// # Errors
    /// Returns an error that names the option if a service to be watched does not exist.
    pub fn begin(
        machine: &str,
        watching: &CounterSources,
        plan: &Plan,
        target: Option<SocketAddr>,
    ) -> Result<CounterReadings, UsageError> {
        let mut host = HostReader::new(CounterSource::here());
        if let Some(service) = service(&host, watching, target)? {
            host.watch(service);
        }
        if let Some(target) = target {
            host.sample_connections_to(target);
        }
        let mut readings = vec![SourceReading::begin(machine, with_own_descriptors(move || host.read()))];
        for mut watched in watched_services(watching, plan)? {
            let name = watched.name().to_owned();
            readings.push(SourceReading::of_service(&name, move || watched.read()));
        }
        let mut names: Vec<String> = vec![machine.to_owned()];
        let mut remotes = Vec::new();
        for probe in remote_probes::join(&watching.probes, target)? {
            let remote = RemoteProbe::begin(probe, &names);
            names.push(remote.name().to_owned());
            remotes.push(remote);
        }
        Ok(CounterReadings { readings, remotes, window_begins: None })
    }

    /// Passes on an event of the engine, preceded by the counters read so far.
    pub fn pass(&mut self, event: RunEvent, sink: &mut dyn FnMut(RunEvent)) {
        if let RunEvent::Began(began) = &event {
            self.window_begins = Some(Nanos(began.clock_ns));
        }
        if matches!(event, RunEvent::Ended(_)) {
            // A last reading ends the window.
            self.readings.iter_mut().filter_map(|reading| reading.sampler.take()).for_each(Sampler::stop);
            self.remotes.iter_mut().for_each(RemoteProbe::stop);
        }
        for reading in &mut self.readings {
            match self.window_begins {
                // The record's header comes first.
                Some(start) if !matches!(event, RunEvent::Began(_)) => {
                    for sample in reading.early.drain(..).chain(reading.samples.try_iter()) {
                        reading.told.iter_mut().for_each(|told| told.record(&sample));
                        sink(RunEvent::Counters(sample.into_event(&mut reading.changes, start)));
                    }
                }
                _ => reading.early.extend(reading.samples.try_iter()),
            }
        }
        if let Some(start) = self.window_begins.filter(|_| !matches!(event, RunEvent::Began(_))) {
            self.remotes.iter_mut().for_each(|remote| remote.emit(start, sink));
        }
        if let (RunEvent::Ended(_), Some(start)) = (&event, self.window_begins) {
            let told = self.readings.iter().filter_map(|reading| reading.told.as_ref());
            told.filter_map(|told| told.loss(start)).for_each(|loss| sink(RunEvent::Notice(loss)));
        }
        sink(event);
    }
}

/// Reads with a separate file descriptor table: the counter files, two for each thread of a service, would otherwise
/// use descriptors that the connections of the run need.
fn with_own_descriptors(
    mut read: impl FnMut() -> Counters + Send + 'static,
) -> impl FnMut() -> Counters + Send + 'static {
    let mut shared = true;
    move || {
        if std::mem::take(&mut shared) {
            // The reader has no files open yet. If the operating system refuses, it uses the shared table.
            let _ = brunt_net::tables::own_only(&[]);
        }
        read()
    }
}

/// Number of retries for a watched service that does not answer in time.
const TRIES: usize = 3;

/// Checks, before anything is sent, that everything to be watched exists.
///
/// # Errors
/// Returns an error for the first source that does not exist, naming the option.
pub fn check(watching: &CounterSources, plan: &Plan) -> Result<(), UsageError> {
    service(&HostReader::new(CounterSource::here()), watching, None)?;
    for mut watched in watched_services(watching, plan)? {
        let mut told = watched.ask();
        // A busy service or a name lookup may be slow once.
        for _ in 0..TRIES {
            match &told {
                Err(why) if why.starts_with(WatchedService::LATE) => told = watched.ask(),
                _ => break,
            }
        }
        if let Err(why) = told {
            let option = if watched.name().starts_with("log=") { "--watch-log" } else { "--watch" };
            return Err(UsageError::new(
                option,
                complaint!("{} cannot be watched: {why}", "无法监控 {}：{why}", watched.name()),
            ));
        }
    }
    remote_probes::join(&watching.probes, None).map(drop)
}

/// Returns the services with counters of their own; queries over TLS use the certificates that the run trusts.
fn watched_services(watching: &CounterSources, plan: &Plan) -> Result<Vec<WatchedService>, UsageError> {
    let read = |text: &String| {
        let mut watched = WatchedService::parse(text).map_err(|trouble| UsageError::new("--watch", trouble))?;
        if watched.is_over_tls() {
            watched.set_security(Arc::new(checks::security(plan)?));
        }
        Ok(watched)
    };
    let logs = watching.logs.iter().map(|path| Ok(WatchedService::log(path)));
    watching.services.iter().map(read).chain(logs).collect()
}

/// Returns the local service to be watched; by default the one under load.
fn service(
    host: &HostReader,
    watching: &CounterSources,
    target: Option<SocketAddr>,
) -> Result<Option<Service>, UsageError> {
    let missing = |option, what: String, why| UsageError::new(option, complaint!("{what}: {why}", "{what}：{why}"));
    match watching.service {
        None => Ok(target.and_then(|address| Service::listening_at(host, address))),
        Some(LocalService::Process(pid)) => {
            let found = Service::of_process(host, pid, target);
            found.map(Some).map_err(|why| missing("--watch-pid", format!("process {pid}"), why))
        }
        Some(LocalService::Port(port)) => {
            let found = Service::at_port(host, port);
            found.map(Some).map_err(|why| missing("--watch-port", format!("port {port}"), why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_that_tells_nothing_is_told_once_and_a_single_late_reading_is_not() {
        let name = "redis=127.0.0.1:6379";
        let missed = |at_s| Counters {
            moment: Nanos::from_secs(at_s),
            unobservable: vec![format!("{name}: connection refused")],
            ..Counters::default()
        };
        let mut told = ServiceStats::new(name);
        told.record(&Counters::default());
        told.record(&missed(13));
        assert_eq!(told.loss(Nanos::from_secs(10)), None);
        told.record(&missed(14));
        let loss = told.loss(Nanos::from_secs(10)).expect("a notice");
        let facts = [("missed", "2"), ("readings", "3"), ("service", name), ("at", "3"), ("why", "connection refused")];
        assert_eq!(loss, Notice::new(Subject::WatchedLost, facts.map(|(fact, value)| (fact, value.to_owned()))));
    }
}
