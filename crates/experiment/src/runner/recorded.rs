//! Runs that are recorded as they are made, and read back: to show an experiment again, or to go on with it.

use std::io;
use std::path::{Path, PathBuf};

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_measure::Nanos;
use brunt_plan::Trial;
use brunt_record::{
    Notice, ReadFault, ReplaySource, RunEvent, RunListener, SeriesEntry, SeriesReader, SeriesRun, SeriesWriter,
};
use brunt_report::SummaryBuilder;
use serde::{Deserialize, Serialize};

use super::{RunOf, RunResult, TrialRunner};
use crate::record::ExperimentHead;

/// What is written of a run beside its events, or in place of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RunMark {
    /// The run, and its load.
    Run { of: RunOf, trial: Trial },
    /// The target was lost.
    Lost,
    /// There was no time for another.
    OutOfTime,
    /// An agent or a process was lost, or could not be had.
    Partial(MarkedError),
    /// The load did not fit.
    Refused(MarkedError),
}

/// What was wrong: the option, and the problem in each language.
#[derive(Debug, Serialize, Deserialize)]
struct MarkedError {
    option: String,
    en: String,
    zh: String,
}

impl From<&UsageError> for MarkedError {
    fn from(why: &UsageError) -> MarkedError {
        let (en, zh) = (why.problem.to_string(), why.problem.zh().to_owned());
        MarkedError { option: why.location.clone(), en, zh }
    }
}

impl From<MarkedError> for UsageError {
    fn from(mark: MarkedError) -> UsageError {
        UsageError::new(mark.option, Complaint::new(mark.en, mark.zh))
    }
}

/// Runs from a record, if there are any, and then those of another maker, if there is one.
#[derive(Default)]
pub struct RecordedRunner<'a> {
    past: Option<(PathBuf, SeriesReader)>,
    further: Option<Box<dyn TrialRunner + 'a>>,
    /// Reading of its clock when it went on after those of the record.
    further_since: Nanos,
    writer: Option<SeriesWriter>,
    /// Time spent up to the end of the last run that was read, and of the last one at all. What is decided by it is decided
    /// alike when the record is read again.
    spent: Nanos,
    elapsed: Nanos,
    /// The first error of writing.
    trouble: Option<io::Error>,
}

impl<'a> RecordedRunner<'a> {
    /// Opens the record of an experiment, to show it again.
    ///
    /// # Errors
    /// Returns an error that names the file if it is no such record.
    pub fn read(path: &Path) -> Result<(ExperimentHead, RecordedRunner<'a>), UsageError> {
        let (head, reader) = SeriesReader::open(path).map_err(|fault| unreadable(path, &fault))?;
        Ok((head, RecordedRunner { past: Some((path.to_owned(), reader)), ..RecordedRunner::default() }))
    }

    /// Creates the record of an experiment, for the runs that follow.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn create(path: &Path, head: &ExperimentHead) -> io::Result<RecordedRunner<'a>> {
        let writer = Some(SeriesWriter::create(path, head)?);
        Ok(RecordedRunner { writer, ..RecordedRunner::default() })
    }

    /// Makes the runs that follow those of the record, if there is one.
    #[must_use]
    pub fn then(self, further: impl TrialRunner + 'a) -> RecordedRunner<'a> {
        RecordedRunner { further: Some(Box::new(further)), ..self }
    }

    /// Returns the first error of writing the record: it ends before the run in which that happened.
    pub fn take_trouble(&mut self) -> Option<io::Error> {
        self.trouble.take()
    }

    /// Reads the next run of the record; `None` if there are no more of them.
    fn replay(
        &mut self,
        (of, trial): (RunOf, &Trial),
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<Option<RunResult>, UsageError> {
        let Some((path, reader)) = &mut self.past else { return Ok(None) };
        let goes_on = self.further.is_some();
        let entry = reader.next_entry::<RunMark>().map_err(|fault| unreadable(path, &fault))?;
        match entry {
            SeriesEntry::Run(run) => {
                let is_this =
                    matches!(&run.of, RunMark::Run { of: found, trial: with } if *found == of && with == trial);
                if !is_this {
                    return Err(changed(path));
                }
                let summed = sum_up(&run, listeners).map_err(|fault| unreadable(path, &fault))?;
                (self.spent, self.elapsed) = (Nanos(run.elapsed_ns), Nanos(run.elapsed_ns));
                return Ok(Some(summed));
            }
            SeriesEntry::Over(why, elapsed_ns) if !goes_on => {
                self.elapsed = Nanos(elapsed_ns);
                return Ok(Some(match why {
                    RunMark::Lost => RunResult::Lost,
                    RunMark::OutOfTime => RunResult::OutOfTime,
                    RunMark::Partial(why) => RunResult::Partial(why.into()),
                    RunMark::Refused(why) => RunResult::Refused(why.into()),
                    RunMark::Run { .. } => return Err(changed(path)),
                }));
            }
            SeriesEntry::CutOff | SeriesEntry::Over(..) => {}
        }
        if let Some(further) = &mut self.further {
            self.writer = Some(SeriesWriter::resume(path, reader).map_err(|error| not_resumed(path, &error))?);
            self.further_since = further.elapsed();
            self.past = None;
        }
        Ok(None)
    }

    fn note(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.trouble.get_or_insert(error);
        }
    }
}

impl TrialRunner for RecordedRunner<'_> {
    fn run(
        &mut self,
        of: RunOf,
        trial: &Trial,
        stop: &Stop,
        listeners: &mut [&mut dyn RunListener],
    ) -> Result<RunResult, UsageError> {
        if let Some(read) = self.replay((of, trial), listeners)? {
            return Ok(read);
        }
        let Some(further) = &mut self.further else { return Ok(RunResult::Stopped) };
        let Some(writer) = &mut self.writer else {
            let result = further.run(of, trial, stop, listeners);
            self.elapsed = further.elapsed();
            return result;
        };
        let began = writer.begin(&RunMark::Run { of, trial: trial.clone() });
        let mut recording = RecordedEvents { writer, trouble: None };
        let mut all: Vec<&mut dyn RunListener> = vec![&mut recording];
        for listener in listeners.iter_mut() {
            all.push(&mut **listener);
        }
        let result = further.run(of, trial, stop, &mut all);
        let trouble = recording.trouble.take();
        self.elapsed = self.spent.saturating_add(further.elapsed() - self.further_since);
        let elapsed = self.elapsed.0;
        let over =
            |writer: &mut SeriesWriter, why: &RunMark| writer.discard().and_then(|()| writer.conclude(why, elapsed));
        let ended = match &result {
            Ok(RunResult::Made(_)) => writer.end(elapsed),
            Ok(RunResult::Lost) => over(writer, &RunMark::Lost),
            Ok(RunResult::OutOfTime) => over(writer, &RunMark::OutOfTime),
            Ok(RunResult::Partial(why)) => over(writer, &RunMark::Partial(why.into())),
            Ok(RunResult::Refused(why)) => over(writer, &RunMark::Refused(why.into())),
            Ok(RunResult::Stopped) | Err(_) => writer.discard(),
        };
        self.note(began);
        self.note(trouble.map_or(Ok(()), Err));
        self.note(ended);
        result
    }

    fn elapsed(&self) -> Nanos {
        self.elapsed
    }
}

/// Returns the run of this number, counted from 1 without those aside, in the record of an experiment; `None` if it has fewer.
///
/// # Errors
/// Returns an error that names the file if it is no such record.
pub fn nth_run(path: &Path, number: usize) -> Result<Option<impl ReplaySource + use<>>, UsageError> {
    let read = |fault: &ReadFault| unreadable(path, fault);
    let (_, mut reader) = SeriesReader::open::<ExperimentHead>(path).map_err(|fault| read(&fault))?;
    let mut left = number;
    loop {
        match reader.next_entry::<RunMark>().map_err(|fault| read(&fault))? {
            SeriesEntry::Run(run) if matches!(run.of, RunMark::Run { of, .. } if of.is_aside) => {}
            SeriesEntry::Run(run) if left <= 1 => return Ok(Some(run)),
            SeriesEntry::Run(_) => left -= 1,
            SeriesEntry::Over(..) | SeriesEntry::CutOff => return Ok(None),
        }
    }
}

/// Writes the events of a run.
struct RecordedEvents<'a> {
    writer: &'a mut SeriesWriter,
    trouble: Option<io::Error>,
}

impl RunListener for RecordedEvents<'_> {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        if let Err(error) = self.writer.write(event) {
            self.trouble.get_or_insert(error);
        }
        Ok(())
    }
}

/// Sums up a run that was read; the listeners get its events.
fn sum_up(run: &SeriesRun<RunMark>, listeners: &mut [&mut dyn RunListener]) -> Result<RunResult, ReadFault> {
    let mut summing = SummaryBuilder::default();
    for event in run.replay()? {
        let event = event?;
        summing.add(&event);
        // A notice of a listener is for a run in progress.
        listeners.iter_mut().for_each(|listener| drop(listener.observe(&event)));
    }
    Ok(RunResult::Made(Box::new(summing.finish())))
}

fn unreadable(path: &Path, fault: &ReadFault) -> UsageError {
    let (shown, said) = (path.display().to_string(), fault.to_string());
    let why = said.strip_prefix(&format!("{shown}: ")).unwrap_or(&said).to_owned();
    UsageError::new(
        "FILE",
        complaint!(
            "{shown} cannot be read ({why}); name a record of an experiment",
            "无法读取 {shown}（{why}）；请给出一份实验记录"
        ),
    )
}

fn changed(path: &Path) -> UsageError {
    UsageError::new(
        "FILE",
        complaint!(
            "the runs in {} are not those that this version of brunt would make; use the version that wrote it",
            "{} 中的运行与本版 brunt 会做的不同；请使用写出它的版本",
            path.display()
        ),
    )
}

fn not_resumed(path: &Path, error: &io::Error) -> UsageError {
    let shown = path.display();
    UsageError::new(
        "--resume",
        match error.kind() {
            io::ErrorKind::WouldBlock => complaint!(
                "{shown} is still being written by another brunt; wait for its end",
                "{shown} 仍在由另一个 brunt 写入；请等待其结束"
            ),
            _ => complaint!("{shown} cannot be written ({error})", "无法写入 {shown}（{error}）"),
        },
    )
}
