//! A probe of another host, joined to a run: its counters, on our clock.

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use measure::{Clock, Nanos};
use record::HostCounters;
use record::frames::Pieces;

use super::clock::{ClockReading, Exchange};
use super::serving::place;
use super::speech::{ASKED, Ask, Asked, Facts, MOST, TOLD, Told, prove};
use super::{Line, PATIENCE, Seal, gave_up};
use crate::Source;

/// Number of exchanges that compare the clocks, before a run and at its end.
const EXCHANGES: usize = 8;
/// Time without a message after which a probe is considered lost: it sends one each second.
const SILENCE: Nanos = Nanos::from_secs(10);
/// Timeout for joining as a whole.
const JOINED_WITHIN: Duration = Duration::from_secs(10);
/// Interval at which the end of the run is checked.
const LOOK: Duration = Duration::from_millis(100);
/// Timeout for the last sample.
const LAST: Nanos = Nanos::from_secs(2);

/// Parameters for joining a probe.
pub struct Joining<'a> {
    /// Address of the probe: `10.0.0.7:7070`.
    pub address: &'a str,
    /// Token that authorizes us.
    pub token: Option<&'a str>,
    /// TLS for the connection.
    pub seal: Seal,
    /// Address under load, if known.
    pub target: Option<SocketAddr>,
}

/// A watchdog that closes a connection which is not accepted in time, however often it sends a little: each read
/// restarts its own timeout.
struct Guard {
    joined: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Guard {
    fn of(socket: &TcpStream, within: Duration) -> io::Result<Guard> {
        let socket = socket.try_clone()?;
        let (joined, waits) = channel();
        let thread = thread::Builder::new().name("joining".into()).spawn(move || {
            let late = waits.recv_timeout(within) == Err(RecvTimeoutError::Timeout);
            // The connection may already have ended.
            late && socket.shutdown(Shutdown::Both).is_ok()
        })?;
        Ok(Guard { joined, thread })
    }

    fn was_too_late(self) -> bool {
        drop(self.joined);
        self.thread.join().unwrap_or(false)
    }
}

/// A probe that has accepted us.
pub struct Joined {
    line: Line,
    pieces: Pieces,
    facts: Facts,
    clock: ClockReading,
    /// Samples received while the clocks were compared.
    early: Vec<HostCounters>,
    /// Names of the counters received so far.
    known: BTreeSet<String>,
    address: String,
}

/// An event of another host, on our clock.
#[derive(Debug)]
pub enum News {
    /// Counters of the host; the time is on our clock, not relative to a window.
    Sample(HostCounters),
    /// The probe is lost, with the reason; a sample that marks its counters as gone comes before.
    Lost(String),
}

impl Joining<'_> {
    /// Connects, proves the token, and compares the clocks.
    ///
    /// # Errors
    /// Returns why it cannot be joined, in a sentence without a full stop.
    pub fn join(self) -> Result<Joined, String> {
        let socket = connect(self.address)?;
        let guard = Guard::of(&socket, JOINED_WITHIN).map_err(|error| because(&error))?;
        let joined = self.let_in(socket);
        match guard.was_too_late() {
            true => Err(format!("it did not accept the connection within {} s", JOINED_WITHIN.as_secs())),
            false => joined,
        }
    }

    fn let_in(self, socket: TcpStream) -> Result<Joined, String> {
        let mut line = Line::over(socket, &self.seal).map_err(|error| because(&error))?;
        let facts = self.greet(&mut line)?;
        let unknown = ClockReading { at: Nanos::ZERO, ahead_ns: 0, within_ns: u64::MAX };
        let mut joined = Joined {
            line,
            pieces: Pieces::default(),
            facts,
            clock: unknown,
            early: Vec::new(),
            known: BTreeSet::new(),
            address: self.address.to_owned(),
        };
        joined.compare()?;
        if joined.clock == unknown {
            return Err("its clock readings are impossible".into());
        }
        Ok(joined)
    }

    fn greet(&self, line: &mut Line) -> Result<Facts, String> {
        let heard = (|| {
            ASKED.write_hello(line.to())?;
            TOLD.read_hello(&mut line.clear)?;
            let Some(Told::Challenge(challenge)) = next(line)? else { return Err(nonsense()) };
            let proof = self.token.map(|token| prove(token, &challenge)).unwrap_or_default();
            let ask = Ask { proof, target: self.target, place: place(&Source::here()) };
            say(line, &Asked::Ask(ask))?;
            next(line)
        })();
        match heard.map_err(|error| because(&error))? {
            Some(Told::Welcome(facts)) => Ok(facts),
            Some(Told::Refused(why)) => Err(why),
            Some(_) => Err(nonsense().to_string()),
            None => Err("it closed the connection without a reply".into()),
        }
    }
}

impl Joined {
    /// Returns the description of its host.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the clock comparison.
    pub fn clock(&self) -> ClockReading {
        self.clock
    }

    /// Passes on its events, on a separate thread, until it is stopped.
    ///
    /// # Errors
    /// Returns an error if no thread could be started.
    pub fn follow(mut self, mut tell: impl FnMut(News) + Send + 'static) -> io::Result<Following> {
        let stop = Arc::new(AtomicBool::default());
        let asked = Arc::clone(&stop);
        let thread = thread::Builder::new().name("probe".into()).spawn(move || {
            if let Err(why) = self.hand_on(&asked, &mut |sample| tell(News::Sample(sample))) {
                tell(News::Sample(self.gone(&why)));
                tell(News::Lost(why));
            }
            self.clock
        })?;
        Ok(Following { stop, thread: Some(thread) })
    }

    fn hand_on(&mut self, stop: &AtomicBool, tell: &mut dyn FnMut(HostCounters)) -> Result<(), String> {
        self.line.wait_at_most(LOOK).map_err(|error| because(&error))?;
        for sample in std::mem::take(&mut self.early) {
            tell(self.ours(sample)?);
        }
        let mut heard = Clock.now();
        while !stop.load(Ordering::Relaxed) {
            if Clock.now().0.saturating_sub(heard.0) > SILENCE.0 {
                return Err(format!("it sent nothing for {} s", SILENCE.0 / 1_000_000_000));
            }
            let Some(told) = self.listen()? else { continue };
            heard = Clock.now();
            match told {
                Told::Sample(sample) => {
                    tell(self.ours(sample)?);
                    self.ask(&Asked::When(Clock.now()))?;
                }
                told => self.learn(told, heard)?,
            }
        }
        self.ask(&Asked::Last)?;
        let begin = Clock.now();
        loop {
            match self.listen()? {
                // A sample that was already on its way.
                Some(Told::Sample(sample)) => tell(self.ours(sample)?),
                Some(Told::Last(sample)) => {
                    tell(self.ours(sample)?);
                    break;
                }
                Some(told) => self.learn(told, Clock.now())?,
                None if Clock.now().0.saturating_sub(begin.0) > LAST.0 => {
                    return Err("its last sample did not arrive".into());
                }
                None => {}
            }
        }
        // Measures the drift during the run; its samples are passed on whether or not this succeeds.
        let _ = self.compare();
        Ok(())
    }

    /// Requests the time several times.
    fn compare(&mut self) -> Result<(), String> {
        for _ in 0..EXCHANGES {
            let asked = Clock.now();
            self.ask(&Asked::When(asked))?;
            loop {
                let told = self.listen()?;
                let came = Clock.now();
                match told {
                    Some(Told::Sample(sample)) => self.early.push(sample),
                    Some(told @ Told::Stamps([of, ..])) => {
                        self.learn(told, came)?;
                        if of == asked {
                            break;
                        }
                    }
                    Some(told) => self.learn(told, came)?,
                    None if came.0.saturating_sub(asked.0) > PATIENCE.as_nanos() as u64 => {
                        return Err("it does not report its time".into());
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Reads the next message; `None` if none has arrived yet.
    fn listen(&mut self) -> Result<Option<Told>, String> {
        match self.pieces.whole(&TOLD, &mut self.line.clear) {
            Ok(Some(frame)) => Told::parse(&frame).map(Some).ok_or_else(|| nonsense().to_string()),
            Ok(None) => Err("it closed the connection".into()),
            Err(error) if gave_up(&error) => Ok(None),
            Err(error) => Err(because(&error)),
        }
    }

    fn ask(&mut self, asked: &Asked) -> Result<(), String> {
        say(&mut self.line, asked).map_err(|error| because(&error))
    }

    /// Processes a message other than a sample.
    fn learn(&mut self, told: Told, came: Nanos) -> Result<(), String> {
        match told {
            Told::Stamps([asked, heard, told]) => {
                let reading = Exchange { asked, heard, told, came }.reading();
                self.clock = reading.map_or(self.clock, |later| self.clock.or_later(later));
                Ok(())
            }
            Told::Refused(why) => Err(why),
            _ => Err(nonsense().to_string()),
        }
    }

    /// Converts a sample to our clock.
    fn ours(&mut self, sample: HostCounters) -> Result<HostCounters, String> {
        self.known.retain(|name| !sample.gone.contains(name));
        self.known.extend(sample.values.keys().chain(sample.labels.keys()).cloned());
        if self.known.len() > MOST {
            return Err(format!("it reports more than {MOST} counters"));
        }
        Ok(HostCounters { at_ns: self.clock.ours(sample.at_ns), ..sample })
    }

    /// Returns a sample that marks all its counters as gone.
    fn gone(&mut self, why: &str) -> HostCounters {
        HostCounters {
            at_ns: Clock.now().0.cast_signed(),
            host: self.facts.host.clone(),
            gone: std::mem::take(&mut self.known).into_iter().collect(),
            unobservable: vec![format!("probe {}: {why}", self.address)],
            ..HostCounters::default()
        }
    }
}

/// A joined probe whose events are passed on. Dropping it stops that.
pub struct Following {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<ClockReading>>,
}

impl Following {
    /// Requests a last sample, waits for it, and compares the clocks once more.
    pub fn stop(mut self) -> Option<ClockReading> {
        self.end()
    }

    fn end(&mut self) -> Option<ClockReading> {
        self.stop.store(true, Ordering::Relaxed);
        // A thread that panicked has already reported it.
        self.thread.take()?.join().ok()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn connect(address: &str) -> Result<TcpStream, String> {
    let places = address.to_socket_addrs().map_err(|error| format!("its name cannot be resolved: {error}"))?;
    let mut why = "its name has no address".to_owned();
    for place in places {
        match TcpStream::connect_timeout(&place, PATIENCE) {
            Ok(socket) => return Ok(socket),
            Err(error) => why = because(&error),
        }
    }
    Err(why)
}

fn next(line: &mut Line) -> io::Result<Option<Told>> {
    let Some(frame) = TOLD.whole(&mut line.clear)? else { return Ok(None) };
    Told::parse(&frame).map(Some).ok_or_else(nonsense)
}

fn say(line: &mut Line, asked: &Asked) -> io::Result<()> {
    let (kind, body) = asked.body();
    ASKED.put(line.to(), 0, kind, &body)
}

fn nonsense() -> io::Error {
    io::Error::other("it sent an invalid message")
}

fn because(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("it did not respond within {} s", PATIENCE.as_secs())
        }
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn who_says_a_little_now_and_then_is_not_waited_for_for_ever() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut drips, _) = listener.accept().unwrap();
        let dripping = thread::spawn(move || {
            while drips.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        let guard = Guard::of(&socket, Duration::from_millis(50)).unwrap();
        // The connection ends, although no single read waits long.
        let _ = socket.read_to_end(&mut Vec::new());
        assert!(guard.was_too_late());
        dripping.join().unwrap();
        let guard = Guard::of(&socket, JOINED_WITHIN).unwrap();
        assert!(!guard.was_too_late(), "whoever is let in ends the wait");
    }
}
