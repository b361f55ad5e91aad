//! `brunt run`, from a parsed command line to an exit code.

use std::time::{SystemTime, UNIX_EPOCH};

use brunt_cause::Complaint;
use brunt_contract::{Protocol, UsageError};
use brunt_counters::MachineLoadMeter;
use brunt_diagnose::doctor::CurrentLoad;
use brunt_engine::{Control, Stop};
use brunt_plan::Trial;
use brunt_record::{End, FirstResponse, GeneratorHost, Notice, RunEnd, RunEvent, RunStarted, Subject};
use brunt_report::text::Text;
use brunt_report::{Exit, Lang, SummaryBuilder};

use crate::control_pipe::ControlListener;
use crate::event_files::EventFiles;
use crate::exporters::Exporters;
use crate::keyboard::{self, KeyListener};
use crate::load_control::LoadControl;
use crate::provisional_file::ProvisionalFile;
use crate::remarks::RunRemarks;
use crate::report_output::{conclude, write_output};
use crate::signals::Interrupts;
use crate::stop_conditions::StopConditions;
use crate::timer::Timer;
use crate::view::View;
use crate::{
    checks, control_pipe, debug, delayed_actions, doctor, document, fleet, messages, preflight, report_output, screen,
};
use brunt_bench::journal::Journal;
use brunt_bench::{Bench, FirstOutcome, NoLoadReason};
use brunt_config::Intent;

/// The result of a command: an exit code, or the user's mistake.
pub type CommandResult = Result<u8, UsageError>;

/// Executes a run.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn run(
    intent: &mut Intent,
    protocol: &dyn Protocol,
    host: &GeneratorHost,
    interrupts: &Interrupts,
) -> CommandResult {
    let lang = intent.lang();
    interrupts.set_last_word(lang.of(messages::STOPPED));
    control_pipe::redirect_record(intent)?;
    let late = |after| lang.fill(messages::OUT_OF_TIME, &[("time", &preflight::span(after))]);
    let timer = intent.run_timeout.map(|after| Timer::start(after, interrupts, late(after))).transpose();
    let timer = timer.map_err(|why| UsageError::new("--run-timeout", brunt_engine::no_thread(&why).to_string()))?;
    let (places, agents) = announcing(intent.presentation.quiet, waiting_for_agents(intent), || fleet::places(intent))?;
    let (is_quiet, said) = (intent.presentation.quiet, lang.of(messages::PREPARING).to_owned());
    let mut bench = announcing(is_quiet, said, || Bench::prepare(intent, protocol, host, places))?;
    if intent.asks_for_workers() {
        checks::workers(&intent.plan, bench.prepared())?;
    }
    if intent.debug {
        return Ok(debug::show(bench.prepared(), bench.shown(), intent.redaction.clone(), lang));
    }
    bench.check_owners()?;
    report_output::check_files(&intent.presentation.files, intent.record.as_deref())?;
    intent.record.iter().try_for_each(|path| document::check_writable("--record", path))?;
    if !intent.yes {
        let targets = (bench.prepared().origins(), bench.prepared().follows_links());
        preflight::confirm_targets(&intent.plan, targets, bench.guard(), lang)?;
    }
    show(&mut bench, intent, agents, (interrupts, timer))
}

/// Does something, and says so if it takes long.
fn announcing<T>(is_quiet: bool, said: String, work: impl FnOnce() -> T) -> T {
    let _waiting = (!is_quiet).then(|| delayed_actions::announce_wait(said));
    work()
}

/// Returns the message shown while agents are waited for.
fn waiting_for_agents(intent: &Intent) -> String {
    let Some(asked) = &intent.fleet else { return intent.lang().of(messages::PREPARING).to_owned() };
    let facts = [("agents", &*asked.agents.to_string()), ("time", &*preflight::span(asked.wait))];
    intent.lang().fill(messages::WAITING_FOR_AGENTS, &facts)
}

/// Names the agents that make a run, if there are any.
pub fn say_agents(mut agents: Vec<String>, view: &mut View, lang: Lang) {
    agents.sort();
    agents.dedup();
    if !agents.is_empty() {
        let names = agents.join(if lang == Lang::Zh { "、" } else { ", " });
        view.print(&lang.fill(messages::ON_AGENTS, &[("names", &names)]));
    }
}

/// Measures a bench once on these agents, if any, as the intent says, and shows the output from the first answer to the
/// report.
///
/// # Errors
/// Returns an error that names the wrong option.
pub fn show(
    bench: &mut Bench,
    intent: &Intent,
    agents: Vec<String>,
    (interrupts, timer): (&Interrupts, Option<Timer>),
) -> CommandResult {
    let lang = intent.lang();
    let mut view = View::new(&intent.presentation, lang);
    let mut exports = Exporters::begin(&intent.exporting)?;
    remark(intent, &mut view);
    view.print(&preflight::announcement(&bench.shown().shown, bench.prepared().workers(&intent.plan), lang));
    say_agents(agents, &mut view, lang);
    preflight::proxies(&bench.shown().shown, lang).into_iter().for_each(|said| view.print(&said));
    exports.introduce(&mut view, lang);
    // From here on a signal ends the run in an orderly way, so that requested documents are written.
    interrupts.enable_graceful_stop();
    let stop = interrupts.stop();
    // Measured while the target is asked, before the load is part of it.
    let meter = view.is_watched().then(MachineLoadMeter::start).flatten();
    let mut outcome = probe(bench, intent, stop, &mut view);
    while !stop.requested() && preflight::confirm_redirects(&intent.plan, bench.guard(), lang)? {
        outcome = probe(bench, intent, stop, &mut view);
    }
    if stop.requested() {
        match intent.run_timeout.filter(|_| timer.as_ref().is_some_and(Timer::has_fired)) {
            Some(after) => {
                screen::print_error(&lang.fill(messages::OUT_OF_TIME, &[("time", &preflight::span(after))]));
            }
            None => screen::print_error(lang.of(messages::STOPPED)),
        }
        let found = outcome.unwrap_or_else(|failed| failed.0);
        return Ok(without_load(bench, intent, found, (End::Interrupted, Exit::Interrupted), &mut view));
    }
    match outcome {
        Ok(_) => {
            let others = meter.and_then(MachineLoadMeter::finish).map(doctor::current);
            if let Some(others) = others.filter(CurrentLoad::is_disturbed) {
                view.print(&others.sentence().render(lang));
            }
            let code = load(bench, intent, (stop, timer), (&mut view, &mut exports))?;
            exports.linger(stop, &mut view, lang);
            Ok(code)
        }
        Err(failed) => Ok(unreachable(bench, intent, *failed, &mut view)),
    }
}

/// Shows how the run differs from curl commands, and remarks on its flow.
pub fn remark(intent: &Intent, view: &mut View) {
    let lang = intent.lang();
    let of_curl = intent.notes.iter().chain(&intent.remarks);
    let of_curl = of_curl.map(|note| remark_on(messages::REMARK_ON_CURL, note, lang));
    let of_flow = intent.flow_remarks.iter().map(|note| remark_on(messages::REMARK_ON_FLOW, note, lang));
    of_curl.chain(of_flow).for_each(|note| view.print(&intent.redaction.sentence(&note)));
}

/// Returns the line for a remark on `what` a plan was read from.
pub fn remark_on(what: Text, remark: &Complaint, lang: Lang) -> String {
    lang.fill(what, &[("remark", in_language(remark, lang))])
}

/// Returns the text of a complaint in a language.
pub fn in_language(complaint: &Complaint, lang: Lang) -> &str {
    match lang {
        Lang::En => complaint,
        Lang::Zh => complaint.zh(),
    }
}

/// Requests and shows the first answer; returns `Err` with a message if no load can be sent.
pub fn probe(
    bench: &mut Bench,
    intent: &Intent,
    stop: &Stop,
    view: &mut View,
) -> Result<FirstResponse, Box<(FirstResponse, Text)>> {
    let lang = intent.lang();
    let wait = |said| if intent.presentation.quiet { None } else { delayed_actions::announce_wait(said) };
    let before = bench.shown().plan.options.contains_key("before");
    let waiting = before.then(|| wait(waiting_for(bench, messages::WAITING_BEFORE, lang))).flatten();
    let failed = |reached: Text| {
        move |why: Box<NoLoadReason>| {
            Box::new((why.answer, if why.unreachable { messages::UNREACHABLE } else { reached }))
        }
    };
    bench.before(stop).map_err(failed(messages::BEFORE_FAILED))?;
    bench.set_up(stop).map_err(failed(messages::SETUP_FAILED))?;
    drop(waiting);
    if stop.requested() {
        return Ok(FirstResponse::default());
    }
    let waiting = wait(waiting_for(bench, messages::WAITING, lang));
    let outcome = bench.first_answer(stop);
    drop(waiting);
    let FirstOutcome { answer, fails, refused } = outcome.map_err(|why| {
        let text = match why.answer.requests {
            2.. => messages::REDIRECT_UNREACHABLE,
            _ if before || bench.is_set_up() => messages::UNREACHABLE_AFTERWARDS,
            _ => messages::UNREACHABLE,
        };
        Box::new((why.answer, text))
    })?;
    if stop.requested() {
        return Ok(answer);
    }
    if refused && !intent.force {
        return Err(Box::new((answer, messages::REFUSED)));
    }
    view.probe(&answer);
    if fails {
        // The details of a failed check were just shown.
        let text = if answer.failure.is_some() { messages::PROBE_CHECK } else { messages::PROBE_STATUS };
        view.print(&lang.fill(text, &[("status", &answer.status)]));
    }
    if answer.status == "400" && answer.url.starts_with("http://") {
        view.print(lang.of(messages::PROBE_TLS));
    }
    Ok(answer)
}

/// Returns the message shown if the first answer takes long.
fn waiting_for(bench: &Bench, said: Text, lang: Lang) -> String {
    let origin = bench.prepared().origins().first();
    let address = origin.map(|o| format!("{}:{}", o.host, o.port)).unwrap_or_default();
    let timeout = preflight::span(bench.shown().plan.timeout);
    lang.fill(said, &[("address", &address), ("timeout", &timeout)])
}

/// Runs the load and everything after it.
fn load(
    bench: &Bench,
    intent: &Intent,
    (stop, mut timer): (&Stop, Option<Timer>),
    (view, exports): (&mut View, &mut Exporters),
) -> CommandResult {
    let lang = intent.lang();
    let watched = view.is_watched();
    if watched && keyboard::is_foreground() {
        let text = if intent.plan.hold.is_some() { messages::KEYS_HELD } else { messages::KEYS };
        view.print(lang.of(text));
    }
    view.begin_table(&intent.plan);
    let must_go_on = !intent.presentation.files.is_empty();
    let mut logs = EventFiles::begin(intent.record.as_deref());
    let (mut summing, mut remarks) = (SummaryBuilder::default(), RunRemarks::new(bench.prepared().by_order()));
    let mut provisional = ProvisionalFile::new();
    let mut journal = Journal::new(bench.redaction().clone());
    logs.take_notices().into_iter().for_each(|trouble| journal.add_final_notice(trouble));
    // The listeners of the run.
    journal.add_listener(view);
    logs.listeners().for_each(|log| journal.add_listener(log));
    exports.listeners().for_each(|listener| journal.add_listener(listener));
    journal.add_listener(&mut provisional);
    journal.add_listener(&mut remarks);
    journal.add_listener(&mut summing);
    let differing = intent
        .notes
        .iter()
        .map(|note| Notice::new(Subject::Curl, [("difference", in_language(note, intent.lang()).to_owned())]));
    bench.remarks().into_iter().chain(differing).for_each(|said| journal.add_final_notice(said));
    let control = Control::default();
    let limited = !intent.yes && preflight::is_limited(&intent.plan, bench.prepared().origins(), bench.guard());
    let steering = || LoadControl::new(&intent.plan, &control, limited);
    let keys = if watched { KeyListener::listen(steering(), stop) } else { None };
    let driver = ControlListener::listen(steering(), stop);
    let mut stopping = StopConditions::default();
    let ran = bench.run(&Trial::from_plan(&intent.plan), (stop, &control), &mut |event| {
        if matches!(event, RunEvent::Ended(_)) {
            let within = timer.as_mut().map(Timer::cancel_and_remaining);
            if let (Some(after), true) = (intent.run_timeout, timer.as_ref().is_some_and(Timer::has_fired)) {
                journal.add_final_notice(Notice::new(Subject::RunTimeout, [("time", preflight::span(after))]));
            }
            bench
                .refused_hosts()
                .into_iter()
                .chain(bench.slow_lookup())
                .chain(bench.changed_addresses())
                .for_each(|said| journal.add_final_notice(said));
            bench.tear_down(stop, within).into_iter().for_each(|said| journal.add_final_notice(said));
            let within = timer.as_mut().map(Timer::cancel_and_remaining);
            bench.after(stop, within).into_iter().for_each(|said| journal.add_final_notice(said));
        }
        stopping.see(&event, stop).into_iter().for_each(|said| journal.add_final_notice(said));
        journal.process(event);
        if !must_go_on && !journal.is_wanted() {
            stop.request();
        }
    });
    // The terminal settings are restored before the report is shown.
    drop((keys, driver));
    ran?;
    let (whole, mut summary) = (logs.is_recorded(lang), summing.finish());
    // A run whose requested record is incomplete is not a success, and the documents say so, too.
    if !whole && summary.exit == Exit::Ok {
        summary.exit = Exit::NotWritten;
    }
    Ok(conclude(&summary, logs.past().as_deref(), &intent.presentation, lang, view))
}

/// Shows the reason why no load can be sent, and records a run that could not begin.
pub fn unreachable(bench: &Bench, intent: &Intent, (probe, text): (FirstResponse, Text), view: &mut View) -> u8 {
    let mut failure = (probe.failure.clone().unwrap_or_default(), probe.cause.clone());
    // This machine is out of descriptors; the target is not to blame.
    if failure.0.contains("Too many open files") {
        let why = brunt_engine::no_descriptors();
        failure = (why.to_string(), Some(why));
    }
    let lang = intent.lang();
    let failure = brunt_report::reason(&failure.0, failure.1.as_ref(), lang);
    screen::print_error(&lang.fill(text, &[("url", &probe.url), ("failure", failure.trim_end_matches('.'))]));
    without_load(bench, intent, probe, (End::Aborted, Exit::Unreachable), view)
}

/// Writes the requested files for a run that ended before its load began; returns the exit code.
fn without_load(
    bench: &Bench,
    intent: &Intent,
    probe: FirstResponse,
    (reason, exit): (End, Exit),
    view: &mut View,
) -> u8 {
    if let Some(error) = view.take_error() {
        screen::not_written(&error, intent.lang());
    }
    // `teardown` undoes `setup` even without load.
    let left = if bench.is_set_up() { bench.tear_down(&Stop::default(), None) } else { None };
    if let Some(said) = left.and_then(|said| said.facts.get("why").cloned()) {
        screen::print_error(
            &intent.lang().fill(messages::TEARDOWN_FAILED, &[("failure", &bench.redaction().sentence(&said))]),
        );
    }
    if intent.record.is_none() && intent.presentation.files.is_empty() {
        return exit.code();
    }
    let setup = bench.shown();
    let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let started = RunStarted {
        schema: brunt_record::SCHEMA.into(),
        brunt: env!("CARGO_PKG_VERSION").into(),
        unix_ms,
        command: setup.command.clone(),
        plan: setup.shown.clone(),
        hosts: vec![setup.host.clone()],
        net: String::new(),
        workers: 0,
        silent: None,
        around: Vec::new(),
        agents: Vec::new(),
        checks: Vec::new(),
        names: Vec::new(),
    };
    view.silence();
    let (mut logs, mut summing) = (EventFiles::begin(intent.record.as_deref()), SummaryBuilder::default());
    let mut journal = Journal::new(bench.redaction().clone());
    logs.take_notices().into_iter().for_each(|trouble| journal.add_final_notice(trouble));
    logs.listeners().for_each(|log| journal.add_listener(log));
    journal.add_listener(&mut summing);
    journal.process(RunEvent::Started(Box::new(started)));
    journal.process(RunEvent::FirstResponse(probe));
    journal.process(RunEvent::Ended(RunEnd { reason, ..RunEnd::default() }));
    let mut summary = summing.finish();
    // The document and the process have the same exit code.
    summary.exit = exit;
    write_output(&summary, logs.past().as_deref(), &intent.presentation, intent.lang());
    summary.exit.code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_bench::checks::check;
    use brunt_config::{Command, Defaults, read};

    #[test]
    fn heartbeats_are_refused_where_there_are_none() {
        let checked = |line: &str| {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            let defaults = Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
            let protocols = brunt_protocols::all();
            match read(&words, &protocols, &defaults) {
                Ok(Command::Run(mut intent)) => {
                    let protocol = &*protocols[intent.protocol];
                    check(&mut intent, protocol).map_err(|wrong| wrong.to_string())
                }
                other => panic!("{line}: {other:?}"),
            }
        };
        let said = checked("--ping 1s http://127.0.0.1:9/").expect_err("no heartbeat");
        assert_eq!(said, "--ping: HTTP/1.1 has no heartbeat; add --http2, or leave it out");
        let said = checked("--ping 1s --send x --until-close tcp://127.0.0.1:9").expect_err("no heartbeat");
        assert!(said.starts_with("--ping: tcp://"), "{said}");
        assert_eq!(checked("--ping 1s --http2 http://127.0.0.1:9/"), Ok(1));
    }

    /// The notice must also be given for a URL beyond those that the plan keeps, and for any protocol over TLS.
    #[test]
    fn certificates_that_are_not_checked_are_told_of() {
        let directory = tempfile::tempdir().unwrap();
        let list = directory.path().join("urls.txt");
        for (scheme, told) in [("http", false), ("https", true), ("ws", false), ("wss", true)] {
            let plain = scheme.trim_end_matches('s').replace('w', "ws");
            let text = format!("{plain}://127.0.0.1:9/\n").repeat(1200) + scheme + "://127.0.0.1:10/\n";
            std::fs::write(&list, text).unwrap();
            let words = ["-k", "-d", "1s", "--urls", list.to_str().unwrap()].map(String::from);
            let defaults = Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
            let protocols = brunt_protocols::all();
            let Ok(Command::Run(mut intent)) = read(&words, &protocols, &defaults) else { panic!("{scheme}") };
            let protocol = &*protocols[intent.protocol];
            let (places, _) = crate::fleet::places(&intent).unwrap();
            let bench = Bench::prepare(&mut intent, protocol, &GeneratorHost::default(), places)
                .map_err(|wrong| wrong.to_string());
            let said = bench.map(|bench| bench.remarks()).expect("a good plan");
            assert_eq!(said.iter().any(|notice| notice.subject() == Some(Subject::Insecure)), told, "{scheme}");
            assert_eq!((intent.plan.urls.len(), intent.plan.count_urls()), (1000, 1201));
        }
    }
}
