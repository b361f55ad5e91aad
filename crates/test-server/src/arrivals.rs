//! The arrivals log: the ground truth with which accuracy tests compare a generator's figures.
//!
//! One line per request received, `arrived_ns answered_ns status path`: readings of `CLOCK_MONOTONIC` (the same
//! in every process of a host), taken after the read that completed the request and after its answer was handed
//! to the socket. `answered_ns` and the status are 0 if no answer was given: it was withheld on purpose, the
//! connection closed, or the server stopped first. Requests for `/-/…` are left out. Lines of one worker are in
//! the order of their answers; sort by the first column if order matters.
//!
//! Workers collect entries and pass them on in chunks; a separate thread formats and writes them, so that no
//! answer waits for a disk.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use brunt_measure::Nanos;

use crate::path_spec::PathSpec;

/// Number of entries in a chunk.
const CHUNK: usize = 32 * 1024;
/// Age at which an unfinished chunk is passed on, so that little is lost if the server is killed.
const PATIENCE: Nanos = Nanos(500_000_000);

/// One request in the log.
#[derive(Debug)]
pub(crate) struct ArrivalEntry {
    pub(crate) arrived: Nanos,
    pub(crate) answered: Nanos,
    pub(crate) status: u16,
    pub(crate) spec: Arc<PathSpec>,
}

/// The thread that writes the chunks of all workers to a file.
#[derive(Debug)]
pub(crate) struct ArrivalLogWriter {
    to: Sender<Vec<ArrivalEntry>>,
    thread: JoinHandle<io::Result<()>>,
}

impl ArrivalLogWriter {
    /// Creates the file, or truncates it.
    pub(crate) fn create(path: &Path) -> io::Result<ArrivalLogWriter> {
        let file = File::create(path).map_err(|e| {
            io::Error::new(e.kind(), format!("--log-arrivals: {} cannot be written: {e}", path.display()))
        })?;
        let (to, chunks) = channel();
        let thread = std::thread::Builder::new().name("arrivals".into()).spawn(move || write_all(file, &chunks))?;
        Ok(ArrivalLogWriter { to, thread })
    }

    /// Returns a factory of logs for the workers.
    pub(crate) fn logs(&self) -> ArrivalLogs {
        ArrivalLogs(self.to.clone())
    }

    /// Waits until all entries passed on are written; all logs and log factories must have been
    /// dropped.
    pub(crate) fn finish(self) -> io::Result<()> {
        drop(self.to);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the arrivals log's thread died")))
    }
}

fn write_all(file: File, chunks: &Receiver<Vec<ArrivalEntry>>) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, file);
    // After an error, further chunks are received and dropped; the error is returned at the end.
    let mut outcome = Ok(());
    for chunk in chunks {
        if outcome.is_ok() {
            outcome = write_chunk(&mut file, &chunk);
        }
    }
    outcome.and_then(|()| file.flush())
}

fn write_chunk(file: &mut BufWriter<File>, chunk: &[ArrivalEntry]) -> io::Result<()> {
    for entry in chunk {
        writeln!(file, "{} {} {} {}", entry.arrived.0, entry.answered.0, entry.status, entry.spec.path)?;
    }
    file.flush()
}

/// A factory of logs, one for each worker.
#[derive(Debug)]
pub(crate) struct ArrivalLogs(Sender<Vec<ArrivalEntry>>);

impl ArrivalLogs {
    pub(crate) fn log(&self) -> ArrivalLog {
        ArrivalLog { entries: Vec::with_capacity(CHUNK), to: self.0.clone(), since: Nanos::ZERO }
    }
}

/// One worker's log.
#[derive(Debug)]
pub(crate) struct ArrivalLog {
    pub(crate) entries: Vec<ArrivalEntry>,
    to: Sender<Vec<ArrivalEntry>>,
    since: Nanos,
}

impl ArrivalLog {
    /// Passes the entries on if there are many of them or they are old.
    #[inline]
    pub(crate) fn flush_if_due(&mut self, now: Nanos) {
        if self.entries.is_empty() {
            self.since = now;
        } else if self.entries.len() >= CHUNK || now - self.since > PATIENCE {
            self.hand_over();
            self.since = now;
        }
    }

    fn hand_over(&mut self) {
        // The writer is gone only if its thread died, which `finish` reports.
        let _ = self.to.send(std::mem::replace(&mut self.entries, Vec::with_capacity(CHUNK)));
    }
}

impl Drop for ArrivalLog {
    fn drop(&mut self) {
        self.hand_over();
    }
}
