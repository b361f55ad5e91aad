//! Prints every counter of this host (with an address, also those of the service there) and the cost of reading them:
//! `cargo run --release -p brunt-counters --example host -- 127.0.0.1:8080`

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc;

use brunt_counters::{CounterSource, Counters, HostReader, Sampler, Service, delta};
use brunt_measure::{Clock, Nanos};
use brunt_record::ChangeEncoder;

/// Number of samples compared.
const SAMPLES: usize = 12;

fn main() -> io::Result<()> {
    let target: Option<SocketAddr> = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let mut host = HostReader::new(CounterSource::here());
    match target.map(|target| (target, Service::listening_at(&host, target))) {
        Some((_, Some(service))) => host.watch(service),
        Some((target, None)) => println!("nobody listens at {target} on this host"),
        None => {}
    }
    let (told, samples) = mpsc::channel();
    let take = move |sample| drop(told.send(sample));
    let sampler = Sampler::start(move || host.read(), Clock.now(), Nanos::from_secs(1), take)?;
    let samples: Vec<Counters> = samples.iter().take(SAMPLES).collect();
    sampler.stop();
    // The first one includes the search for the processes of the service.
    let Some((second, last)) = samples.get(1).zip(samples.last()) else { return Ok(()) };
    show(last);
    // The scheduler counts a thread's time when it leaves its core: each sample includes the cost of the previous
    // ones.
    let spent = delta(second, last).increase("self.thread.counters.cpu").unwrap_or_default();
    println!("{} µs of processor time a sample", spent / (samples.len() as u64 - 2) / 1000);
    let mut changes = ChangeEncoder::new("here");
    let sizes = samples.into_iter().map(|sample| {
        let told = sample.into_event(&mut changes, Nanos::ZERO);
        serde_json::to_string(&told).map_or(0, |line| line.len())
    });
    println!("bytes of each in a record, before it is packed: {:?}", sizes.collect::<Vec<_>>());
    Ok(())
}

fn show(sample: &Counters) {
    sample.values.iter().for_each(|(name, value)| println!("{name} {}", value.real()));
    sample.labels.iter().for_each(|(name, word)| println!("{name} {word}"));
    sample.unobservable.iter().for_each(|what| println!("not observable: {what}"));
}
