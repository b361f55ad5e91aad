//! What this machine and services count beside a run: each read on a thread of its own, told between the events of the engine, which knows nothing
//! of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use measure::{Clock, Nanos};
use plan::Plan;
use probe::{Counters, Host, Sampler, Service, Source};
use record::{Changes, Notice, RunEvent, Subject};
use watch::Watched;
use wire::Complaint;

use crate::checks;
use crate::joined::{self, Remote};
use intent::{Local, Watching};

/// How often counters are read.
const EVERY: Nanos = Nanos::from_secs(1);

/// Counters of this machine, with the service under load where it is on it, and of services that tell their own.
pub struct Observed {
    /// That of this machine is the first.
    readings: Vec<Reading>,
    /// Other hosts, by their probes.
    remotes: Vec<Remote>,
    window_begins: Option<Nanos>,
}

/// One of those that are read.
struct Reading {
    /// None: no thread could be started, and the run does without.
    sampler: Option<Sampler>,
    samples: Receiver<Counters>,
    /// Read before anybody knew when the window begins.
    early: Vec<Counters>,
    changes: Changes,
    /// Of a service that is asked.
    told: Option<Told>,
}

/// How often a service was asked, and how often it told nothing.
struct Told {
    name: String,
    readings: u32,
    missed: u32,
    /// The first time, and why.
    lost: Option<(Nanos, String)>,
}

impl Told {
    fn of(name: &str) -> Told {
        Told { name: name.to_owned(), readings: 0, missed: 0, lost: None }
    }

    fn heard(&mut self, sample: &Counters) {
        self.readings += 1;
        if let ([why, ..], true) = (&sample.unobservable[..], sample.values.is_empty()) {
            self.missed += 1;
            let why = why.strip_prefix(&format!("{}: ", self.name)).unwrap_or(why);
            self.lost.get_or_insert_with(|| (sample.moment, why.to_owned()));
        }
    }

    /// What to say of it at the end. A single reading that came too late is one second of a run.
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

impl Reading {
    fn of_service(name: &str, read: impl FnMut() -> Counters + Send + 'static) -> Reading {
        Reading { told: Some(Told::of(name)), ..Reading::begin(name, read) }
    }

    fn begin(name: &str, read: impl FnMut() -> Counters + Send + 'static) -> Reading {
        let (told, samples) = channel();
        // Nobody listens any more only once the run is over.
        let take = move |sample| drop(told.send(sample));
        let sampler = Sampler::start(read, Clock.now(), EVERY, take).ok();
        Reading { sampler, samples, early: Vec::new(), changes: Changes::new(name), told: None }
    }
}

impl Observed {
    /// Begins to read. `target` is the address under load, as far as it leads to no proxy.
    ///
    /// # Errors
    /// What was to be watched is not there, naming the option.
    pub fn begin(
        machine: &str,
        watching: &Watching,
        plan: &Plan,
        target: Option<SocketAddr>,
    ) -> Result<Observed, Complaint> {
        let mut host = Host::new(Source::here());
        if let Some(service) = service(&host, watching, target)? {
            host.watch(service);
        }
        if let Some(target) = target {
            host.follow(target);
        }
        let mut readings = vec![Reading::begin(machine, apart(move || host.read()))];
        for mut watched in told(watching, plan)? {
            let name = watched.name().to_owned();
            readings.push(Reading::of_service(&name, move || watched.read()));
        }
        let mut names: Vec<String> = vec![machine.to_owned()];
        let mut remotes = Vec::new();
        for probe in joined::join(&watching.probes, target)? {
            let remote = Remote::begin(probe, &names);
            names.push(remote.name().to_owned());
            remotes.push(remote);
        }
        Ok(Observed { readings, remotes, window_begins: None })
    }

    /// Hands on an event of the engine, and what was counted until then in front of it.
    pub fn pass(&mut self, event: RunEvent, sink: &mut dyn FnMut(RunEvent)) {
        if let RunEvent::Began(began) = &event {
            self.window_begins = Some(Nanos(began.clock_ns));
        }
        if matches!(event, RunEvent::Ended(_)) {
            // One last reading, which ends the window.
            self.readings.iter_mut().filter_map(|reading| reading.sampler.take()).for_each(Sampler::stop);
            self.remotes.iter_mut().for_each(Remote::stop);
        }
        for reading in &mut self.readings {
            match self.window_begins {
                // The head of a record comes first.
                Some(start) if !matches!(event, RunEvent::Began(_)) => {
                    for sample in reading.early.drain(..).chain(reading.samples.try_iter()) {
                        reading.told.iter_mut().for_each(|told| told.heard(&sample));
                        sink(RunEvent::Counters(sample.tell(&mut reading.changes, start)));
                    }
                }
                _ => reading.early.extend(reading.samples.try_iter()),
            }
        }
        if let Some(start) = self.window_begins.filter(|_| !matches!(event, RunEvent::Began(_))) {
            self.remotes.iter_mut().for_each(|remote| remote.tell(start, sink));
        }
        if let (RunEvent::Ended(_), Some(start)) = (&event, self.window_begins) {
            let told = self.readings.iter().filter_map(|reading| reading.told.as_ref());
            told.filter_map(|told| told.loss(start)).for_each(|loss| sink(RunEvent::Notice(loss)));
        }
        sink(event);
    }
}

/// Reads with a table of descriptors of its own: files of counters, two for each thread of a service, would otherwise take those that the
/// connections of the run need.
fn apart(mut read: impl FnMut() -> Counters + Send + 'static) -> impl FnMut() -> Counters + Send + 'static {
    let mut shared = true;
    move || {
        if std::mem::take(&mut shared) {
            // Nothing is open yet that it reads. Where the operating system refuses, it reads with the table that there is.
            let _ = net::tables::own_only(&[]);
        }
        read()
    }
}

/// A service that is to be watched and does not answer in time is asked so many times more.
const TRIES: usize = 3;

/// Whether all that is to be watched is there, before anything is sent.
///
/// # Errors
/// What is not, naming the option.
pub fn check(watching: &Watching, plan: &Plan) -> Result<(), Complaint> {
    service(&Host::new(Source::here()), watching, None)?;
    for mut watched in told(watching, plan)? {
        let mut told = watched.ask();
        // Who is busy, or looks a name up, may be slow once.
        for _ in 0..TRIES {
            match &told {
                Err(why) if why.starts_with(Watched::LATE) => told = watched.ask(),
                _ => break,
            }
        }
        if let Err(why) = told {
            let option = if watched.name().starts_with("log=") { "--watch-log" } else { "--watch" };
            return Err(Complaint::new(option, format!("{} cannot be watched: {why}", watched.name())));
        }
    }
    joined::join(&watching.probes, None).map(drop)
}

/// The services that are asked for counters of their own; over TLS with the certificates that the run trusts.
fn told(watching: &Watching, plan: &Plan) -> Result<Vec<Watched>, Complaint> {
    let read = |text: &String| {
        let mut watched = Watched::parse(text).map_err(|trouble| Complaint::new("--watch", trouble))?;
        if watched.is_over_tls() {
            watched.seal_with(Arc::new(checks::security(plan)?));
        }
        Ok(watched)
    };
    let logs = watching.logs.iter().map(|path| Ok(Watched::log(path)));
    watching.told.iter().map(read).chain(logs).collect()
}

/// The service on this host that is asked for; without a word of it, the one under load.
fn service(host: &Host, watching: &Watching, target: Option<SocketAddr>) -> Result<Option<Service>, Complaint> {
    let missing = |option, what: String, why| Complaint::new(option, format!("{what}: {why}"));
    match watching.service {
        None => Ok(target.and_then(|address| Service::of(host, address))),
        Some(Local::Process(pid)) => {
            let found = Service::of_process(host, pid, target);
            found.map(Some).map_err(|why| missing("--watch-pid", format!("process {pid}"), why))
        }
        Some(Local::Port(port)) => {
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
        let mut told = Told::of(name);
        told.heard(&Counters::default());
        told.heard(&missed(13));
        assert_eq!(told.loss(Nanos::from_secs(10)), None);
        told.heard(&missed(14));
        let loss = told.loss(Nanos::from_secs(10)).expect("a notice");
        let facts = [("missed", "2"), ("readings", "3"), ("service", name), ("at", "3"), ("why", "connection refused")];
        assert_eq!(loss, Notice::new(Subject::WatchedLost, facts.map(|(fact, value)| (fact, value.to_owned()))));
    }
}
