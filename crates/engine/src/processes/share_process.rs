//! A process that takes a share and makes a record of its own, as an agent drives it.

use std::io::{self, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brunt_measure::Nanos;
use brunt_plan::Change;

use super::link::{ProcessHandle, ProcessLink};
use super::task::Task;
use crate::control::ScheduledChange;
use crate::frames::{self, Order, ProcessFrame};

/// Interval of checks for the exit of the process after its output has ended.
const LOOK: Duration = Duration::from_millis(2);

/// What such a process reports.
#[derive(Debug, PartialEq)]
pub enum ShareReport {
    /// It is ready for the barrier with this index.
    Ready(u32),
    /// It cannot take its share, for this reason.
    Refused(String),
    /// An event of its record, as it encoded it.
    Event(Vec<u8>),
    /// It has ended, in these words; nothing follows.
    Ended(String),
}

/// A process that takes a share and makes a record of its own. Once it is dropped, the process stops and ends by itself.
pub struct ShareProcess {
    orders: Sender<Order>,
    process: Arc<dyn ProcessHandle>,
}

impl ShareProcess {
    /// Sends the briefing (as [`super::Briefing::write`] does) and the task to a process that was just started; what it
    /// reports goes to `told`, on a thread of its own.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn start(
        link: ProcessLink,
        brief: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
        task: Task,
        told: impl FnMut(ShareReport) + Send + 'static,
    ) -> io::Result<ShareProcess> {
        let (orders, given) = channel();
        let ProcessLink { to, from, process, .. } = link;
        let (ended, unbriefed) = (Arc::clone(&process), Arc::new(Mutex::new(None)));
        let why = Arc::clone(&unbriefed);
        let handle = Arc::clone(&process);
        let writing = move || {
            if let Err(error) = write(to, brief, task, &given) {
                *why.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error.to_string());
                handle.kill();
            }
        };
        let started = std::thread::Builder::new()
            .spawn(writing)
            .and_then(|_| std::thread::Builder::new().spawn(move || read(from, &*ended, &unbriefed, told)));
        match started {
            Ok(_) => Ok(ShareProcess { orders, process }),
            Err(why) => {
                process.kill();
                Err(why)
            }
        }
    }

    /// Releases a barrier at a time of this machine's clock.
    pub fn release(&self, barrier: u32, at: Nanos) {
        self.order(Order::Go(barrier, at));
    }

    /// Changes the load at a time of this machine's clock.
    pub fn change(&self, at: Nanos, change: Change) {
        self.order(Order::Change(ScheduledChange { at, change }));
    }

    /// Stops the load; the process then reports what it measured, and ends.
    pub fn stop(&self) {
        self.order(Order::Stop);
    }

    /// Kills the process.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Returns `true` if the process is suspended.
    pub fn is_stopped(&self) -> bool {
        self.process.is_stopped()
    }

    /// Returns the CPU time that the process has used; `None` if it is unknown.
    pub fn cpu_time(&self) -> Option<Nanos> {
        self.process.cpu_time()
    }

    fn order(&self, order: Order) {
        // The thread that reads the process detects its end.
        let _ = self.orders.send(order);
    }
}

/// Writes the briefing, the task and the orders. An order that cannot be written is no error: the thread that reads the
/// process detects its end.
fn write(
    mut to: impl Write,
    brief: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    task: Task,
    orders: &Receiver<Order>,
) -> io::Result<()> {
    frames::write_hello(&mut to)?;
    brief(&mut to)?;
    Order::Task(task).write(&mut to)?;
    for order in orders {
        if order.write(&mut to).is_err() {
            break;
        }
    }
    Ok(())
}

/// Reads the process to its end.
fn read(
    from: impl Read,
    process: &dyn ProcessHandle,
    unbriefed: &Mutex<Option<String>>,
    mut told: impl FnMut(ShareReport),
) {
    let mut from = BufReader::new(from);
    let outcome = (|| -> io::Result<()> {
        frames::read_hello(&mut from)?;
        while let Some(frame) = frames::read(&mut from)? {
            match frame {
                ProcessFrame::Ready(barrier) => told(ShareReport::Ready(barrier)),
                ProcessFrame::Refused(why) => told(ShareReport::Refused(why)),
                ProcessFrame::Event(event) => told(ShareReport::Event(event)),
                ProcessFrame::Worker(..) => return Err(io::Error::other("it sent the message of a worker")),
            }
        }
        Ok(())
    })();
    let misspoke = outcome.err().filter(|error| error.kind() != io::ErrorKind::UnexpectedEof);
    if misspoke.is_some() {
        // No later frame could be understood.
        process.kill();
    }
    let how = loop {
        match process.exit_text() {
            Ok(Some(how)) => break how,
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => break error.to_string(),
        }
    };
    let unbriefed = unbriefed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    told(ShareReport::Ended(unbriefed.or(misspoke.map(|error| error.to_string())).unwrap_or(how)));
}
