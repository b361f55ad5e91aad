//! The commands that make several runs (`find`, `compare`, `sweep`, `ladder`) and the history of a test: one way from
//! settings to an exit code. What is asked becomes an [`Experiment`], which knows nothing of command lines; its runs are
//! recorded as they are made.

mod output;
mod replay;
mod served;
mod settings;
mod trend;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use brunt_bench::{Bench, NoLoadReason};
use brunt_cause::complaint;
use brunt_config::Intent;
use brunt_contract::{Protocol, UsageError};
use brunt_engine::Stop;
use brunt_experiment::compare::Baseline;
use brunt_experiment::record::{Experiment, ExperimentHead, ExperimentOutcome};
use brunt_experiment::report::PageHead;
use brunt_experiment::runner::{BenchRunner, RecordedRunner, TrialRunner};
use brunt_plan::Plan;
use brunt_record::GeneratorHost;
use brunt_report::{Exit, Lang};

use self::output::ExperimentOutput;
use crate::run::{self, CommandResult};
use crate::signals::Interrupts;
use crate::view::View;
use crate::{checks, document, kept_runs, messages, preflight, report_output, screen};

pub use replay::show;
pub use served::{checked, document, outcome as read, page};
pub use trend::trend;

/// What the runs of one bench are of: a side, a cell, a rung.
pub struct ExperimentSubject<'a> {
    intent: &'a mut Intent,
    /// The plan with its highest load, about which is asked if the target is public; `None` if that of another is higher.
    highest: Option<Plan>,
    /// Set if its first answer is not shown: it is that of another subject.
    is_quiet: bool,
    /// Shell commands before and after each run.
    around: [Option<&'a str>; 2],
}

/// An experiment, as asked for on a command line.
pub struct AskedExperiment<'a> {
    subjects: Vec<ExperimentSubject<'a>>,
    experiment: Experiment,
    /// Record to go on with.
    resume: Option<&'a str>,
    /// File of the baseline that the runs become.
    new_baseline: Option<&'a str>,
}

/// Makes the experiment and tells the result.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn conduct(
    mut asked: AskedExperiment<'_>,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let first = &asked.subjects[0].intent;
    let (lang, shown, record) = (first.lang(), first.presentation.clone(), first.record.clone());
    interrupts.set_last_word(lang.of(messages::STOPPED));
    output::check(&shown, record.as_deref())?;
    asked.new_baseline.map_or(Ok(()), |path| document::check_writable("--baseline", path))?;
    let mut head = head(&asked);
    let past = asked.resume.map(|path| resumed(path, &mut head)).transpose()?;
    let mut view = View::new(&shown, lang);
    let (mut benches, mut agents) = (Vec::new(), Vec::new());
    for subject in &mut asked.subjects {
        let prepared = prepare(subject, protocols, host, lang);
        let (bench, names) = prepared.map_err(|complaint| subject.intent.locate_error(complaint))?;
        benches.push(bench);
        agents.extend(names);
        if !subject.is_quiet {
            run::remark(subject.intent, &mut view);
        }
    }
    interrupts.enable_graceful_stop();
    let stop = interrupts.stop();
    if let Some(code) = first_answers(&mut benches, &asked.subjects, stop, &mut view)? {
        return Ok(code);
    }
    if stop.requested() {
        screen::print_error(lang.of(messages::STOPPED));
        return Ok(Exit::Interrupted.code());
    }
    let (subjects, experiment) = (&asked.subjects, &head.experiment);
    let (runner, path) = record_of((past, asked.resume), record.as_deref(), (&head, &mut view, lang))?;
    let limit = asked.subjects[0].intent.run_timeout;
    let made = BenchRunner::new(&benches).until(limit.or(experiment.usual_limit()));
    let made = made.around(|at, is_before| around(&subjects[at], usize::from(!is_before)));
    let mut runner = runner.then(made);
    run::say_agents(agents, &mut view, lang);
    view.print(&experiment.outlook(limit, lang));
    let found = experiment.conduct(&mut runner, stop, (&mut |line| view.print(line), lang));
    for bench in &benches {
        let left = bench.tear_down(stop, None).into_iter().chain(bench.after(stop, None));
        left.for_each(|said| view.notice(&said));
    }
    let (found, lost, took) = (found?, runner.take_trouble(), runner.elapsed());
    let output = ExperimentOutput { head: page_head(&head), took, found: found.reported(), shown: &shown, lang };
    let mut code = output.conclude(&mut view);
    if let Some(path) = asked.new_baseline {
        code = write_baseline(path, &found, &head, (&mut view, lang)).unwrap_or(code);
    }
    let Some(path) = path.map(|path| path.display().to_string()) else { return Ok(code) };
    if let Some(error) = lost {
        let facts = [("file", &*path), ("error", &*error.to_string())];
        screen::print_error(&lang.fill(messages::RECORD_NOT_WRITTEN, &facts));
        code = if code == 0 && record.is_some() { Exit::NotWritten.code() } else { code };
    } else if found.reported().exit_code() == Exit::Interrupted.code() {
        view.print(&lang.fill(messages::GO_ON, &[("file", &path)]));
    }
    if code == Exit::NotWritten.code() && found.reported().exit_code() != code {
        view.print(&lang.fill(messages::OTHER_EXIT_CODE, &[("code", &code.to_string())]));
    }
    Ok(code)
}

/// Requests the first answer of each subject; returns the exit code if no load can be sent.
fn first_answers(
    benches: &mut [Bench],
    subjects: &[ExperimentSubject<'_>],
    stop: &Stop,
    view: &mut View,
) -> Result<Option<u8>, UsageError> {
    for (bench, subject) in benches.iter_mut().zip(subjects) {
        // What a shell command starts is not there before it.
        around(subject, 0)?;
        let first = first_answer(bench, subject, stop, view);
        around(subject, 1)?;
        if let Some(code) = first? {
            return Ok(Some(code));
        }
    }
    Ok(None)
}

/// Writes the runs as the new baseline; returns the exit code, or `None` if they are none.
fn write_baseline(
    path: &str,
    found: &ExperimentOutcome,
    head: &ExperimentHead,
    (view, lang): (&mut View, Lang),
) -> Option<u8> {
    let ExperimentOutcome::Compare(found) = found else { return None };
    let Some(baseline) = Baseline::of(found, (&head.brunt, head.unix_ms)) else {
        view.print(&lang.fill(messages::NO_NEW_BASELINE, &[("file", path)]));
        return None;
    };
    if let Err(error) = document::replace(path, |out| out.write_all(baseline.to_json().as_bytes())) {
        report_output::not_written(path, &error, lang);
        return Some(Exit::NotWritten.code());
    }
    let n = baseline.runs.len().to_string();
    view.print(&lang.fill(messages::NEW_BASELINE, &[("n", &n), ("file", path)]));
    Some(Exit::Ok.code())
}

/// Opens the record to go on with; what is asked gets its head.
fn resumed<'a>(path: &str, asked: &mut ExperimentHead) -> Result<RecordedRunner<'a>, UsageError> {
    let (head, past) = RecordedRunner::read(path.as_ref()).map_err(|wrong| wrong.at("--resume"))?;
    if !asked.is_like(&head) {
        return Err(UsageError::new(
            "--resume",
            complaint!(
                "{path} is of another experiment, `{}`; repeat its command line and add --resume",
                "{path} 属于另一个实验：`{}`；请重复其命令行并加上 --resume",
                head.command.join(" ")
            ),
        ));
    }
    *asked = head;
    Ok(past)
}

/// Returns the record of an experiment: the one to go on with, the requested one, or one that is kept for a while.
fn record_of<'a>(
    (past, resumed): (Option<RecordedRunner<'a>>, Option<&str>),
    record: Option<&str>,
    (head, view, lang): (&ExperimentHead, &mut View, Lang),
) -> Result<(RecordedRunner<'a>, Option<PathBuf>), UsageError> {
    if let Some(past) = past {
        return Ok((past, resumed.map(PathBuf::from)));
    }
    if let Some(path) = record {
        let created = RecordedRunner::create(path.as_ref(), head).map_err(|error| {
            UsageError::new("--record", complaint!("{path} cannot be written ({error})", "无法写入 {path}（{error}）"))
        });
        return Ok((created?, Some(path.into())));
    }
    let Some(directory) = kept_runs::directory() else { return Ok((RecordedRunner::default(), None)) };
    let kept =
        kept_runs::place_of_experiment(&directory).and_then(|path| Ok((RecordedRunner::create(&path, head)?, path)));
    match kept {
        Ok((runner, path)) => Ok((runner, Some(path))),
        Err(error) => {
            view.print(&lang.fill(messages::EXPERIMENT_NOT_KEPT, &[("error", &error.to_string())]));
            Ok((RecordedRunner::default(), None))
        }
    }
}

fn head(asked: &AskedExperiment<'_>) -> ExperimentHead {
    let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let command = asked.subjects[0].intent.command.clone();
    let plan = |subject: &ExperimentSubject<'_>| {
        let mut shown = serde_json::to_value(&subject.intent.shown).unwrap_or_default();
        // Without one of one's own, each command line has another.
        shown.as_object_mut().map(|fields| fields.remove("seed"));
        let around = subject.around.map(|command| command.map(|command| subject.intent.redaction.sentence(command)));
        serde_json::json!({ "plan": shown, "around": around })
    };
    let plans = asked.subjects.iter().filter(|subject| !subject.is_quiet).map(plan).collect();
    let (brunt, experiment) = (env!("CARGO_PKG_VERSION").into(), asked.experiment.clone());
    ExperimentHead { brunt, unix_ms, command, experiment, plans }
}

fn page_head(head: &ExperimentHead) -> PageHead {
    let (brunt, command) = (head.brunt.clone(), head.command.clone());
    PageHead { kind: head.experiment.name(), brunt, unix_ms: head.unix_ms, command, live: false }
}

/// Prepares the bench of a subject, and asks about public targets; returns it with the names of the agents.
fn prepare(
    subject: &mut ExperimentSubject<'_>,
    protocols: &[Arc<dyn Protocol>],
    host: &GeneratorHost,
    lang: Lang,
) -> Result<(Bench, Vec<String>), UsageError> {
    let intent = &mut *subject.intent;
    intent.yes |= subject.highest.is_none();
    let protocol = Arc::clone(&protocols[intent.protocol]);
    let (places, agents) = crate::fleet::places(intent)?;
    let bench = Bench::prepare(intent, &*protocol, host, places)?;
    if intent.asks_for_workers() {
        checks::workers(&intent.plan, bench.prepared())?;
    }
    if let Some(highest) = subject.highest.as_ref().filter(|_| !intent.yes) {
        let targets = (bench.prepared().origins(), bench.prepared().follows_links());
        preflight::confirm_targets(highest, targets, bench.guard(), lang)?;
    }
    Ok((bench, agents))
}

/// Requests the first answer of a subject; returns the exit code if no load can be sent.
fn first_answer(
    bench: &mut Bench,
    subject: &ExperimentSubject<'_>,
    stop: &Stop,
    view: &mut View,
) -> Result<Option<u8>, UsageError> {
    let (intent, lang) = (&*subject.intent, subject.intent.lang());
    if subject.is_quiet {
        let first = quiet_answer(bench, stop);
        return Ok(first.err().map(|why| run::unreachable(bench, intent, (why.answer, messages::UNREACHABLE), view)));
    }
    let mut first = run::probe(bench, intent, stop, view);
    while !stop.requested() && preflight::confirm_redirects(&intent.plan, bench.guard(), lang)? {
        first = run::probe(bench, intent, stop, view);
    }
    Ok(first.err().map(|failed| run::unreachable(bench, intent, *failed, view)))
}

fn quiet_answer(bench: &mut Bench, stop: &Stop) -> Result<(), Box<NoLoadReason>> {
    bench.before(stop)?;
    bench.set_up(stop)?;
    bench.first_answer(stop).map(drop)
}

/// Runs the shell command of a subject before (0) or after (1) one of its runs.
fn around(subject: &ExperimentSubject<'_>, place: usize) -> Result<(), UsageError> {
    let Some(command) = subject.around[place] else { return Ok(()) };
    // The result may go to standard output.
    let ended = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(std::io::stderr()).status();
    let why = match ended {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(UsageError::new(
        ["before", "after"][place],
        complaint!(
            "the command `{command}` failed ({why}); the comparison ends",
            "命令 `{command}` 失败（{why}），比较中止"
        ),
    ))
}
