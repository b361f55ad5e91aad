//! A thread that reads a host, or the counters of a service, once a second.

use std::io;
use std::panic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use brunt_measure::{Clock, Nanos};

use crate::Counters;

/// A periodic reader. It reads at once, then at each whole interval since a given time, and once more when it is
/// stopped. Dropping it stops it.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<SamplerStop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct SamplerStop {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl SamplerStop {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until the given time; returns `false` if the sampler was stopped before.
    fn sleep_until(&self, moment: Nanos) -> bool {
        let mut asked = self.lock();
        loop {
            let now = Clock.now();
            if *asked || now >= moment {
                return !*asked;
            }
            let rest = Duration::from_nanos(moment.0 - now.0);
            (asked, _) = self.changed.wait_timeout(asked, rest).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Sampler {
    /// Starts reading; each sample is passed to `take`, which runs on the sampler's thread and must not block it.
    ///
    /// # Errors
    /// Returns an error if no thread could be started.
    pub fn start(
        mut read: impl FnMut() -> Counters + Send + 'static,
        begin: Nanos,
        every: Nanos,
        mut take: impl FnMut(Counters) + Send + 'static,
    ) -> io::Result<Sampler> {
        let stop = Arc::new(SamplerStop::default());
        let asked = Arc::clone(&stop);
        let thread = thread::Builder::new().name("counters".into()).spawn(move || {
            loop {
                take(read());
                if !asked.sleep_until(next(begin, every, Clock.now())) {
                    break;
                }
            }
            take(read());
        })?;
        Ok(Sampler { stop, thread: Some(thread) })
    }

    /// Reads once more, waits until that is done, and stops the thread.
    pub fn stop(mut self) {
        if let Err(broken) = self.end() {
            panic::resume_unwind(broken);
        }
    }

    fn end(&mut self) -> thread::Result<()> {
        *self.stop.lock() = true;
        self.stop.changed.notify_all();
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // A thread that panicked has already reported it.
        let _ = self.end();
    }
}

/// Returns the start of the next whole interval since `begin`. Intervals that a busy machine missed are skipped.
fn next(begin: Nanos, every: Nanos, now: Nanos) -> Nanos {
    let every = every.0.max(1);
    let phase = begin.0 % every;
    let whole = (now.0.saturating_sub(phase) / every).saturating_add(u64::from(now.0 >= phase));
    Nanos(phase.saturating_add(whole.saturating_mul(every)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    use crate::HostReader;
    use crate::fake_host::FakeHost;

    #[test]
    fn samples_fall_on_whole_intervals_since_the_start() {
        for (begin, every, now, wanted) in [
            (500, 1000, 500, 1500),
            (500, 1000, 501, 1500),
            (500, 1000, 1499, 1500),
            (500, 1000, 1500, 2500),
            (500, 1000, 9700, 10_500),
            (9_500, 1000, 100, 500),
            (9_500, 1000, 600, 1500),
            (0, 1000, 0, 1000),
            (7, 0, 3, 4),
        ] {
            assert_eq!(next(Nanos(begin), Nanos(every), Nanos(now)), Nanos(wanted), "{begin} {every} {now}");
        }
    }

    #[test]
    fn the_first_sample_comes_at_once_and_the_last_when_it_is_stopped() {
        let fake = FakeHost::new(&[("proc/loadavg", "")]);
        let (told, samples) = mpsc::channel();
        let hour = Nanos::from_secs(3600);
        let mut host = HostReader::new(fake.source());
        let sampler = Sampler::start(move || host.read(), Clock.now(), hour, move |sample| told.send(sample).unwrap());
        let first: Counters = samples.recv().unwrap();
        sampler.unwrap().stop();
        let last: Vec<Counters> = samples.iter().collect();
        assert_eq!(last.len(), 1);
        assert!(last[0].moment > first.moment);
    }

    #[test]
    fn a_sampler_that_is_dropped_has_ended() {
        let fake = FakeHost::new(&[("proc/loadavg", "")]);
        let (told, samples) = mpsc::channel();
        let every = Nanos::from_millis(2);
        let begin = Nanos(1_234_567);
        let mut host = HostReader::new(fake.source());
        let sampler = Sampler::start(move || host.read(), begin, every, move |sample| told.send(sample).unwrap());
        let first: Vec<Counters> = samples.iter().take(5).collect();
        drop(sampler.unwrap());
        let rest: Vec<Counters> = samples.iter().collect();
        assert!(!rest.is_empty(), "one more when it stops");
        assert!(first.windows(2).all(|two| {
            let round = |sample: &Counters| (sample.moment.0 - begin.0) / every.0;
            round(&two[1]) > round(&two[0])
        }));
    }
}
