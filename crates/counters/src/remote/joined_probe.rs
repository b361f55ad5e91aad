//! A probe of another host, joined to a run: converts its counters to our clock.

use std::collections::BTreeSet;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use brunt_measure::{Clock, Nanos};
use brunt_record::HostCounters;
use brunt_record::frames::FrameBuffer;

use super::clock::{ClockExchange, ClockReading};
use super::messages::{
    CLIENT_FRAMES, ClientMessage, CounterRequest, HostDescription, MOST, PROBE_FRAMES, ProbeMessage, prove,
};
use super::server::kernel_namespace;
use super::{PATIENCE, ProbeConnection, TlsWrapper, timed_out};
use crate::CounterSource;

/// Number of exchanges that compare the clocks, before a run and at its end.
const EXCHANGES: usize = 8;
/// Time without a message after which a probe is considered lost: it sends one each second.
const SILENCE: Nanos = Nanos::from_secs(10);
/// Timeout for joining as a whole.
const JOINED_WITHIN: Duration = Duration::from_secs(10);
/// Interval between checks for the end of the run.
const LOOK: Duration = Duration::from_millis(100);
/// Timeout for the last sample.
const LAST: Nanos = Nanos::from_secs(2);

/// Parameters for joining a probe.
pub struct JoinOptions<'a> {
    /// Address of the probe: `10.0.0.7:7070`.
    pub address: &'a str,
    /// Token that authorizes us.
    pub token: Option<&'a str>,
    /// TLS for the connection.
    pub tls: TlsWrapper,
    /// Address under load, if known.
    pub target: Option<SocketAddr>,
}

/// A watchdog that closes a connection that the probe does not accept in time. A read timeout is not enough: it
/// restarts with each read, and a peer may keep sending a few bytes at a time.
struct JoinWatchdog {
    joined: Sender<()>,
    thread: JoinHandle<bool>,
}

impl JoinWatchdog {
    fn start(socket: &TcpStream, within: Duration) -> io::Result<JoinWatchdog> {
        let socket = socket.try_clone()?;
        let (joined, waits) = channel();
        let thread = thread::Builder::new().name("joining".into()).spawn(move || {
            let late = waits.recv_timeout(within) == Err(RecvTimeoutError::Timeout);
            // The connection may already have ended.
            late && socket.shutdown(Shutdown::Both).is_ok()
        })?;
        Ok(JoinWatchdog { joined, thread })
    }

    fn timed_out(self) -> bool {
        drop(self.joined);
        self.thread.join().unwrap_or(false)
    }
}

/// A probe that has accepted us.
pub struct JoinedProbe {
    line: ProbeConnection,
    pieces: FrameBuffer,
    facts: HostDescription,
    clock: ClockReading,
    /// Samples received while the clocks were compared.
    early_samples: Vec<HostCounters>,
    /// Names of the counters received so far.
    known: BTreeSet<String>,
    address: String,
}

/// An event of another host, on our clock.
#[derive(Debug)]
pub enum ProbeEvent {
    /// Counters of the host; the time is on our clock, not relative to a window.
    Sample(HostCounters),
    /// The probe is lost, with the reason; preceded by a sample that marks its counters as gone.
    Lost(String),
}

impl JoinOptions<'_> {
    /// Connects, proves possession of the token, and compares the clocks.
    ///
    /// # Errors
    /// Returns why the probe cannot be joined, in a sentence without a full stop.
    pub fn join(self) -> Result<JoinedProbe, String> {
        let socket = connect(self.address)?;
        let guard = JoinWatchdog::start(&socket, JOINED_WITHIN).map_err(|error| describe_error(&error))?;
        let joined = self.authenticate(socket);
        match guard.timed_out() {
            true => Err(format!("it did not accept the connection within {} s", JOINED_WITHIN.as_secs())),
            false => joined,
        }
    }

    fn authenticate(self, socket: TcpStream) -> Result<JoinedProbe, String> {
        let mut line = ProbeConnection::new(socket, &self.tls).map_err(|error| describe_error(&error))?;
        let facts = self.handshake(&mut line)?;
        let unknown = ClockReading { at: Nanos::ZERO, ahead_ns: 0, error_ns: u64::MAX };
        let mut joined = JoinedProbe {
            line,
            pieces: FrameBuffer::default(),
            facts,
            clock: unknown,
            early_samples: Vec::new(),
            known: BTreeSet::new(),
            address: self.address.to_owned(),
        };
        joined.compare_clocks()?;
        if joined.clock == unknown {
            return Err("its clock readings are impossible".into());
        }
        Ok(joined)
    }

    fn handshake(&self, line: &mut ProbeConnection) -> Result<HostDescription, String> {
        let heard = (|| {
            CLIENT_FRAMES.write_hello(line.writer())?;
            PROBE_FRAMES.read_hello(&mut line.stream)?;
            let Some(ProbeMessage::Challenge(challenge)) = next(line)? else { return Err(invalid_message()) };
            let proof = self.token.map(|token| prove(token, &challenge)).unwrap_or_default();
            let ask = CounterRequest { proof, target: self.target, place: kernel_namespace(&CounterSource::here()) };
            send(line, &ClientMessage::Ask(ask))?;
            next(line)
        })();
        match heard.map_err(|error| describe_error(&error))? {
            Some(ProbeMessage::Welcome(facts)) => Ok(facts),
            Some(ProbeMessage::Refused(why)) => Err(why),
            Some(_) => Err(invalid_message().to_string()),
            None => Err("it closed the connection without a reply".into()),
        }
    }
}

impl JoinedProbe {
    /// Returns the description of the probe's host.
    pub fn facts(&self) -> &HostDescription {
        &self.facts
    }

    /// Returns the clock comparison.
    pub fn clock(&self) -> ClockReading {
        self.clock
    }

    /// Passes the probe's events to `tell`, on a separate thread, until it is stopped.
    ///
    /// # Errors
    /// Returns an error if no thread could be started.
    pub fn follow(mut self, mut tell: impl FnMut(ProbeEvent) + Send + 'static) -> io::Result<ProbeReceiver> {
        let stop = Arc::new(AtomicBool::default());
        let asked = Arc::clone(&stop);
        let thread = thread::Builder::new().name("probe".into()).spawn(move || {
            if let Err(why) = self.forward(&asked, &mut |sample| tell(ProbeEvent::Sample(sample))) {
                tell(ProbeEvent::Sample(self.gone_sample(&why)));
                tell(ProbeEvent::Lost(why));
            }
            self.clock
        })?;
        Ok(ProbeReceiver { stop, thread: Some(thread) })
    }

    fn forward(&mut self, stop: &AtomicBool, tell: &mut dyn FnMut(HostCounters)) -> Result<(), String> {
        self.line.set_read_timeout(LOOK).map_err(|error| describe_error(&error))?;
        for sample in std::mem::take(&mut self.early_samples) {
            tell(self.accept(sample)?);
        }
        let mut heard = Clock.now();
        while !stop.load(Ordering::Relaxed) {
            if Clock.now().0.saturating_sub(heard.0) > SILENCE.0 {
                return Err(format!("it sent nothing for {} s", SILENCE.0 / 1_000_000_000));
            }
            let Some(told) = self.receive()? else { continue };
            heard = Clock.now();
            match told {
                ProbeMessage::Sample(sample) => {
                    tell(self.accept(sample)?);
                    self.send(&ClientMessage::Time(Clock.now()))?;
                }
                told => self.handle_message(told, heard)?,
            }
        }
        self.send(&ClientMessage::Last)?;
        let begin = Clock.now();
        loop {
            match self.receive()? {
                // A sample that was already on its way.
                Some(ProbeMessage::Sample(sample)) => tell(self.accept(sample)?),
                Some(ProbeMessage::LastSample(sample)) => {
                    tell(self.accept(sample)?);
                    break;
                }
                Some(told) => self.handle_message(told, Clock.now())?,
                None if Clock.now().0.saturating_sub(begin.0) > LAST.0 => {
                    return Err("its last sample did not arrive".into());
                }
                None => {}
            }
        }
        // This measures the drift during the run. A failure is ignored: all samples have already been passed on.
        let _ = self.compare_clocks();
        Ok(())
    }

    /// Compares the clocks in several exchanges.
    fn compare_clocks(&mut self) -> Result<(), String> {
        for _ in 0..EXCHANGES {
            let asked = Clock.now();
            self.send(&ClientMessage::Time(asked))?;
            loop {
                let told = self.receive()?;
                let came = Clock.now();
                match told {
                    Some(ProbeMessage::Sample(sample)) => self.early_samples.push(sample),
                    Some(told @ ProbeMessage::Timestamps([of, ..])) => {
                        self.handle_message(told, came)?;
                        if of == asked {
                            break;
                        }
                    }
                    Some(told) => self.handle_message(told, came)?,
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
    fn receive(&mut self) -> Result<Option<ProbeMessage>, String> {
        match self.pieces.read_frame(&PROBE_FRAMES, &mut self.line.stream) {
            Ok(Some(frame)) => ProbeMessage::parse(&frame).map(Some).ok_or_else(|| invalid_message().to_string()),
            Ok(None) => Err("it closed the connection".into()),
            Err(error) if timed_out(&error) => Ok(None),
            Err(error) => Err(describe_error(&error)),
        }
    }

    fn send(&mut self, asked: &ClientMessage) -> Result<(), String> {
        send(&mut self.line, asked).map_err(|error| describe_error(&error))
    }

    /// Processes a message other than a sample.
    fn handle_message(&mut self, told: ProbeMessage, came: Nanos) -> Result<(), String> {
        match told {
            ProbeMessage::Timestamps([asked, heard, told]) => {
                let reading = ClockExchange { sent: asked, received: heard, replied: told, arrived: came }.reading();
                self.clock = reading.map_or(self.clock, |later| self.clock.better_of(later));
                Ok(())
            }
            ProbeMessage::Refused(why) => Err(why),
            _ => Err(invalid_message().to_string()),
        }
    }

    /// Converts a sample to our clock.
    fn accept(&mut self, sample: HostCounters) -> Result<HostCounters, String> {
        self.known.retain(|name| !sample.gone.contains(name));
        self.known.extend(sample.values.keys().chain(sample.labels.keys()).cloned());
        if self.known.len() > MOST {
            return Err(format!("it reports more than {MOST} counters"));
        }
        Ok(HostCounters { at_ns: self.clock.to_local(sample.at_ns), ..sample })
    }

    /// Returns a sample that marks all counters of the probe as gone.
    fn gone_sample(&mut self, why: &str) -> HostCounters {
        HostCounters {
            at_ns: Clock.now().0.cast_signed(),
            host: self.facts.host.clone(),
            gone: std::mem::take(&mut self.known).into_iter().collect(),
            unobservable: vec![format!("probe {}: {why}", self.address)],
            ..HostCounters::default()
        }
    }
}

/// A joined probe whose events are passed on until this is dropped.
pub struct ProbeReceiver {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<ClockReading>>,
}

impl ProbeReceiver {
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

impl Drop for ProbeReceiver {
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
            Err(error) => why = describe_error(&error),
        }
    }
    Err(why)
}

fn next(line: &mut ProbeConnection) -> io::Result<Option<ProbeMessage>> {
    let Some(frame) = PROBE_FRAMES.read_frame(&mut line.stream)? else { return Ok(None) };
    ProbeMessage::parse(&frame).map(Some).ok_or_else(invalid_message)
}

fn send(line: &mut ProbeConnection, asked: &ClientMessage) -> io::Result<()> {
    let (kind, body) = asked.body();
    CLIENT_FRAMES.write_frame(line.writer(), 0, kind, &body)
}

fn invalid_message() -> io::Error {
    io::Error::other("it sent an invalid message")
}

fn describe_error(error: &io::Error) -> String {
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
        let guard = JoinWatchdog::start(&socket, Duration::from_millis(50)).unwrap();
        // The connection ends, although no single read waits long.
        let _ = socket.read_to_end(&mut Vec::new());
        assert!(guard.timed_out());
        dripping.join().unwrap();
        let guard = JoinWatchdog::start(&socket, JOINED_WITHIN).unwrap();
        assert!(!guard.timed_out(), "whoever is let in ends the wait");
    }
}
