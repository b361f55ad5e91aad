//! A process that takes a share of a run: the orders it receives and the frames it sends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brunt_measure::{Clock, Nanos};
use brunt_plan::{Bundle, Change};

use super::task::Task;
use super::{BARRIERS, PREPARED};
use crate::Stop;
use crate::barrier::{Barrier, NOTICE};
use crate::control::{Control, ScheduledChange};
use crate::frames::{self, Order};
use crate::resource_errors::no_thread;
use crate::worker_message::WorkerMessage;

/// Polling interval while waiting for the start of the run.
const LOOK: Duration = Duration::from_millis(1);

/// The share of a run assigned to this process.
pub struct Assignment {
    pub(crate) task: Task,
    words: String,
    bundle: Bundle,
    pub(super) orders: Box<dyn BufRead + Send>,
    output: ShareOutput,
    hold: HoldChange,
}

/// Bounds a change of the load that was ordered.
type HoldChange = Box<dyn Fn(Change) -> Change + Send>;

/// The output of a process that takes a share, which several threads write to.
#[derive(Clone)]
pub struct ShareOutput(Arc<Mutex<Option<Box<dyn Write + Send>>>>);

impl ShareOutput {
    /// Writes an event of the share's own record, in the encoding of whoever reads it.
    ///
    /// # Errors
    /// The error of the write: whoever started the process is gone.
    pub fn write_event(&self, event: &[u8]) -> io::Result<()> {
        self.write(|to| frames::write_event(to, event))
    }

    /// Writes a frame, unless the output is closed.
    fn write(&self, frame: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut output = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        output.as_mut().map_or(Ok(()), |to| frame(to))
    }

    fn close(&self) {
        drop(self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take());
    }
}

impl Assignment {
    /// Sends the hello and reads the assignment.
    ///
    /// # Errors
    /// The peer is not brunt or has another version, or its orders are invalid.
    pub fn accept(from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> io::Result<Assignment> {
        let mut orders = BufReader::new(from);
        frames::write_hello(&mut to)?;
        frames::read_hello(&mut orders)?;
        let mut brought = BriefingReader::default();
        loop {
            let gone = || io::Error::other("the process that started it is gone");
            if let Some(task) = brought.take(Order::read(&mut orders)?.ok_or_else(gone)?)? {
                let not_text = |_| io::Error::other("the plan is not text");
                let words = String::from_utf8(brought.words).map_err(not_text)?;
                let output = ShareOutput(Arc::new(Mutex::new(Some(Box::new(to)))));
                return Ok(Assignment {
                    task,
                    words,
                    bundle: brought.bundle,
                    orders: Box::new(orders),
                    output,
                    hold: Box::new(|change| change),
                });
            }
        }
    }

    /// Returns the description of the run, as written in the briefing.
    pub fn description(&self) -> &str {
        &self.words
    }

    /// Takes the files that came with the plan.
    pub fn take_bundle(&mut self) -> Bundle {
        std::mem::take(&mut self.bundle)
    }

    /// Returns the range of workers that this process takes.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Returns the output, to which a share that makes a record of its own writes its events.
    pub fn output(&self) -> ShareOutput {
        self.output.clone()
    }

    /// Bounds every change of the load that is ordered from now on.
    pub fn hold_changes(&mut self, hold: impl Fn(Change) -> Change + Send + 'static) {
        self.hold = Box::new(hold);
    }

    /// Reports that the share cannot be taken.
    pub fn refuse(self, why: &str) {
        // A coordinator that has ended does not need the message.
        let _ = self.output.write(|to| frames::write_refusal(to, why));
    }
}

/// The parts of the briefing received before the task.
#[derive(Default)]
struct BriefingReader {
    words: Vec<u8>,
    bundle: Bundle,
    /// The file being transferred: its path, the bytes received, and the number of missing bytes.
    file: Option<(String, Vec<u8>, u64)>,
    announced: u64,
    files: usize,
    /// Total size of the variables, in bytes.
    variables: u64,
}

impl BriefingReader {
    /// Handles the next order; returns the task, which is the last part.
    fn take(&mut self, order: Order) -> io::Result<Option<Task>> {
        let out_of_place = || io::Error::other("it sent parts of files it had not announced");
        match order {
            Order::File(path, bytes) if self.file.is_none() => {
                self.announced = self.announced.saturating_add(bytes);
                self.files += 1;
                if self.files > Bundle::FILES {
                    return Err(io::Error::other(format!("it announced more than {} files", Bundle::FILES)));
                }
                if self.announced > Bundle::BOUND {
                    return Err(io::Error::other(format!(
                        "it announced more than {} MiB of files, the limit for a plan",
                        Bundle::BOUND >> 20
                    )));
                }
                self.file = Some((path, Vec::new(), bytes));
                self.finish_file();
            }
            Order::Piece(piece) => {
                let (_, content, missing) = self.file.as_mut().ok_or_else(out_of_place)?;
                *missing = missing.checked_sub(piece.len() as u64).ok_or_else(out_of_place)?;
                content.extend(piece);
                self.finish_file();
            }
            Order::Variable(name, value) => {
                self.variables += (name.len() + value.len()) as u64;
                if self.variables > Bundle::VARIABLES {
                    let most = Bundle::VARIABLES >> 20;
                    return Err(io::Error::other(format!("it sent more than {most} MiB of variables")));
                }
                self.bundle.variables.insert(name, value);
            }
            Order::Description(words) => {
                if (self.words.len() + words.len()) as u64 > Bundle::BOUND {
                    let most = Bundle::BOUND >> 20;
                    return Err(io::Error::other(format!("it sent a plan of more than {most} MiB")));
                }
                self.words.extend(words);
            }
            Order::Task(task) if self.file.is_none() => return Ok(Some(task)),
            // A stop before the run began.
            Order::Stop => return Err(io::Error::other("the run was stopped")),
            Order::File(..) | Order::Task(_) => return Err(out_of_place()),
            Order::Go(..) | Order::Change(_) => {}
        }
        Ok(None)
    }

    fn finish_file(&mut self) {
        if let Some((path, content, _)) = self.file.take_if(|(_, _, missing)| *missing == 0) {
            self.bundle.files.insert(path, content.into());
        }
    }
}

/// Runs `threads` (which joins its workers) from the time that the coordinator sets, and writes their messages. Orders
/// release barriers and stop the run; their end means that the coordinator has ended.
pub(crate) fn serve(
    assignment: Assignment,
    workers: u32,
    control: &Control,
    threads: impl FnOnce(Sender<(usize, WorkerMessage)>, &Stop, [Arc<Barrier>; 2], Nanos) + Send,
) {
    let output = assignment.output();
    serve_with(assignment, workers, control, threads, |told, stop| {
        for (worker, message) in told {
            if output.write(|to| frames::write(to, worker as u32, &message)).is_err() {
                stop.request();
            }
        }
    });
}

/// Like [`serve`], with a receiver of the messages.
pub(crate) fn serve_with(
    assignment: Assignment,
    workers: u32,
    control: &Control,
    threads: impl FnOnce(Sender<(usize, WorkerMessage)>, &Stop, [Arc<Barrier>; 2], Nanos) + Send,
    receive: impl FnOnce(Receiver<(usize, WorkerMessage)>, &Stop),
) {
    let stop = Stop::default();
    let output = assignment.output;
    let barriers: [Arc<Barrier>; BARRIERS] = std::array::from_fn(|number| {
        let output = output.clone();
        let report = move || {
            // If the coordinator has ended, the end of its orders reveals that too.
            let _ = output.write(|to| frames::write_ready(to, number as u32));
        };
        Barrier::reporting(if number == PREPARED { 1 } else { workers }, Box::new(report))
    });
    let (heard, told_stop, changes) = (barriers.clone(), stop.clone(), control.clone());
    let (orders, hold) = (assignment.orders, assignment.hold);
    // Not joined: it reads until the coordinator closes the link, which may be after this process ends.
    let obeying =
        std::thread::Builder::new().spawn(move || follow_orders(orders, &heard, &told_stop, (&changes, hold)));
    if let Err(why) = obeying {
        let _ = output.write(|to| frames::write_refusal(to, &no_thread(&why).to_string()));
        return;
    }
    let start = await_start(&barriers[PREPARED], &stop);
    let [common_start, hold, _] = barriers;
    let (report, told) = channel();
    std::thread::scope(|scope| {
        let stop = &stop;
        let share = move || threads(report, stop, [common_start, hold], start);
        if let Err(why) = std::thread::Builder::new().spawn_scoped(scope, share) {
            let _ = output.write(|to| frames::write_refusal(to, &no_thread(&why).to_string()));
        }
        receive(told, stop);
    });
    // The output must be closed here: the thread that reads orders still holds the barriers, which hold the output.
    output.close();
}

/// Reports that everything is prepared; returns the start of the run.
fn await_start(prepared: &Barrier, stop: &Stop) -> Nanos {
    prepared.ready(Clock.now());
    loop {
        match prepared.starts_at() {
            Some(start) => return start,
            // The run ends before it begins, and reports that.
            None if stop.requested() => return Clock.now() + NOTICE,
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Follows the orders of the coordinator.
fn follow_orders(
    mut orders: impl Read,
    barriers: &[Arc<Barrier>; BARRIERS],
    stop: &Stop,
    (control, hold): (&Control, HoldChange),
) {
    while let Ok(Some(order)) = Order::read(&mut orders) {
        match order {
            Order::Go(barrier, at) => {
                barriers.get(barrier as usize).into_iter().for_each(|barrier| barrier.release_at(at));
            }
            Order::Stop => stop.request(),
            Order::Change(ScheduledChange { at, change }) => {
                control.add_scheduled(ScheduledChange { at, change: hold(change) });
            }
            Order::File(..) | Order::Piece(_) | Order::Variable(..) | Order::Description(_) | Order::Task(_) => {}
        }
    }
    stop.request();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(orders: &[Order]) -> Result<Assignment, String> {
        let mut said = Vec::new();
        frames::write_hello(&mut said).unwrap();
        orders.iter().for_each(|order| order.write(&mut said).unwrap());
        Assignment::accept(io::Cursor::new(said), io::sink()).map_err(|error| error.to_string())
    }

    #[test]
    fn files_come_in_pieces_and_variables_beside_them() {
        let task = Task { from: 0, to: 1, of: 2 };
        let mut assignment = accepted(&[
            Order::File("a".into(), 5),
            Order::Piece(b"hel".to_vec()),
            Order::Piece(b"lo".to_vec()),
            Order::File("nothing".into(), 0),
            Order::Variable("TOKEN".into(), "x".into()),
            Order::Description("plä".as_bytes()[..3].to_vec()),
            Order::Description("plä".as_bytes()[3..].to_vec()),
            Order::Task(task),
            Order::Stop,
        ])
        .expect("an assignment");
        assert_eq!((assignment.task, assignment.description()), (task, "plä"));
        let bundle = assignment.take_bundle();
        let files: Vec<(&str, &[u8])> = bundle.files.iter().map(|(path, content)| (&**path, &**content)).collect();
        assert_eq!(files, [("a", &b"hello"[..]), ("nothing", b"")]);
        assert_eq!(bundle.variables["TOKEN"], "x");
    }

    #[test]
    fn what_cannot_be_is_refused_in_a_sentence() {
        let task = Order::Task(Task { from: 0, to: 1, of: 1 });
        let file = |bytes| Order::File("a".into(), bytes);
        let piece = |bytes: usize| Order::Piece(vec![0; bytes]);
        let variable = |bytes: usize| Order::Variable("TOKEN".into(), "x".repeat(bytes));
        for (orders, said) in [
            (vec![piece(1), task.clone()], "not announced"),
            (vec![file(3), piece(4)], "not announced"),
            (vec![file(3), file(3)], "not announced"),
            (vec![file(3), piece(2), task.clone()], "not announced"),
            (vec![file(u64::MAX)], "more than 1024 MiB"),
            (vec![file(1 << 30), piece(1 << 20), file(1)], "not announced"),
            (vec![variable(5 << 20), variable(4 << 20), task.clone()], "more than 8 MiB of variables"),
            (vec![file(0); Bundle::FILES + 1], "more than 65536 files"),
            (vec![Order::File("a".repeat(Bundle::LONGEST_NAME + 1), 0)], "an invalid frame"),
            (vec![Order::Description(vec![0xff]), task.clone()], "not text"),
            (vec![Order::Stop], "stopped"),
            (vec![], "gone"),
        ] {
            let trouble = accepted(&orders).err().unwrap_or_else(|| panic!("{said}"));
            assert!(trouble.contains(said), "{said}: {trouble}");
        }
        let stranger = Assignment::accept(io::Cursor::new(b"SSH-2.0-x\r\n".to_vec()), io::sink()).err().unwrap();
        assert!(stranger.to_string().contains("SSH-2.0-x"), "{stranger}");
    }

    #[test]
    fn changes_are_held_before_anyone_follows_them() {
        let (mut orders, control) = (Vec::new(), Control::default());
        Order::Change(ScheduledChange { at: Nanos(5), change: Change::Rate(900.0) }).write(&mut orders).unwrap();
        let barriers: [_; BARRIERS] = std::array::from_fn(|_| Barrier::reporting(1, Box::new(|| ())));
        let hold: HoldChange = Box::new(|_| Change::Rate(1.0));
        follow_orders(&orders[..], &barriers, &Stop::default(), (&control, hold));
        assert_eq!(control.scheduled_since(0), [(Nanos(5), Change::Rate(1.0))]);
    }
}
