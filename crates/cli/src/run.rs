//! `brunt run`: from a checked command line to an exit code.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::{AfterFailure, Answers, Lines, PreparedRun, ProbeFailure, Processes, Runner, Setup, Stop, Task};
use net::tls::{RustlsSecurity, TlsSettings};
use plan::{Load, Plan, Urls, address};
use record::{Ended, FirstAnswer, Host, Notice, RunEvent, Started, Writer};
use report::text::Text;
use report::{Exit, Lang, show};
use wire::{Asked, AskedUrl, Complaint, FaultKind};

use crate::arguments::Intent;
use crate::ending::{conclude, write_output};
use crate::guard::Guard;
use crate::journal::{Journal, notice};
use crate::signals::Interrupts;
use crate::timer::Timer;
use crate::view::View;
use crate::waiting::Waiting;
use crate::worker::Again;
use crate::{before, debug, document, host, inquiry, keep, messages, named, screen};

/// What a command ends with: a number for the operating system, or the user's mistake.
pub type Outcome = Result<u8, Complaint>;

/// A run that may begin.
pub struct Ready {
    prepared: Arc<dyn PreparedRun>,
    setup: Setup,
    lang: Lang,
    guard: Arc<Guard>,
    /// Nobody could be talked to already before the requests were prepared.
    refused: Option<Box<ProbeFailure>>,
}

impl Ready {
    /// Loads no public address but those of these hosts; None: any.
    pub fn hold_to(&self, hosts: Option<Vec<String>>) {
        hosts.into_iter().for_each(|hosts| self.guard.hold_to(hosts));
    }

    /// Runs a share of it, for another process.
    pub fn take_share(&self, task: &Task, lines: Lines, answers: Answers) {
        Arc::clone(&self.prepared).take_share(&self.setup, task, lines, answers);
    }

    /// Runs it; the events go to `sink`.
    pub fn start(&self, stop: &Stop, sink: &mut dyn FnMut(RunEvent)) {
        Arc::clone(&self.prepared).run(&self.setup, stop, sink);
    }
}

/// Runs what was asked.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn run(intent: &mut Intent, protocol: &dyn Runner, host: &Host, interrupts: &Interrupts) -> Outcome {
    let lang = intent.presentation.language.unwrap_or_else(Lang::from_env);
    let late = |after| lang.fill(messages::OUT_OF_TIME, &[("time", &before::span(after))]);
    let timer = intent.run_timeout.map(|after| Timer::start(after, interrupts, late(after)));
    let ready = prepare(intent, protocol, host)?;
    if intent.debug {
        return Ok(debug::show(&*ready.prepared, &ready.setup, &intent.redaction, ready.lang));
    }
    if let (Some(report), Some(record)) = (&intent.presentation.output, &intent.record) {
        document::check_apart(report, record)?;
    }
    for (place, path) in [("-o", &intent.presentation.output), ("--record", &intent.record)] {
        path.iter().try_for_each(|path| document::check_writable(place, path))?;
    }
    if !intent.yes {
        before::may_load(&intent.plan, &*ready.prepared, &ready.guard, ready.lang)?;
    }
    let mut view = View::new(&intent.presentation, ready.lang);
    intent
        .notes
        .iter()
        .chain(&intent.remarks)
        .for_each(|note| view.say(&intent.redaction.sentence(&format!("curl {note}"))));
    view.say(&before::intro(&ready.setup.shown, ready.lang));
    // From here on a signal ends in good order, so that a document that was asked for is written.
    interrupts.end_orderly();
    let mut outcome = probe(&ready, intent, interrupts.stop(), &mut view);
    while !interrupts.stop().requested() && before::may_follow(&intent.plan, &ready.guard, ready.lang)? {
        outcome = probe(&ready, intent, interrupts.stop(), &mut view);
    }
    if interrupts.stop().requested() {
        match intent.run_timeout.filter(|_| timer.as_ref().is_some_and(Timer::passed)) {
            Some(after) => screen::complain(&late(after)),
            None => screen::complain(lang.of(messages::STOPPED)),
        }
        let probe = outcome.unwrap_or_else(|failed| failed.0);
        return Ok(without_load(&ready, intent, probe, ("interrupted", Exit::Interrupted), &mut view));
    }
    match outcome {
        Ok(probe) => load(&ready, intent, probe, (interrupts.stop(), timer), &mut view),
        Err(failed) => Ok(unreachable(&ready, intent, *failed, &mut view)),
    }
}

/// What a plan asks of its protocol, with its URLs: all of them, of which nobody else should have a share, for they are not
/// copied then.
fn asked(plan: &Plan, urls: Urls) -> Asked {
    let own = urls.iter().any(|url| !url.options.is_empty());
    let named = urls.iter().any(|url| url.name.is_some());
    Asked {
        names: if named { urls.iter().map(|url| url.name.clone()).collect() } else { Vec::new() },
        own: if own { urls.iter().map(|url| url.options.clone()).collect() } else { Vec::new() },
        urls: urls.into_vec().into_iter().map(|url| AskedUrl { url: url.url, weight: url.weight }).collect(),
        options: plan.options.clone(),
        unix_socket: plan.unix_socket.clone(),
        seed: plan.seed,
        learnt: Vec::new(),
    }
}

/// Checks everything that can be without the target, and lets go of it. Of very many URLs the intent keeps the first.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn check(intent: &mut Intent, protocol: &dyn Runner) -> Result<(), Complaint> {
    intent.shown = intent.shown.clone().listed();
    let urls = intent.plan.take_urls();
    let asked = asked(&intent.plan, urls);
    crate::resolver::SystemResolver::new(&intent.plan).map_err(|t| Complaint::new("--connect-to", t))?;
    security(&intent.plan)?;
    sources(&intent.plan)?;
    heartbeats(&intent.plan, protocol, &asked)?;
    match protocol.inquire(&asked)? {
        Some(_) => Ok(()),
        None => {
            let prepared = protocol.prepare(&asked)?;
            ends_with_its_data(&intent.plan, &*prepared)?;
            something_to_say(&intent.plan, &*prepared)?;
            named::check_objectives(&intent.plan, &*prepared)
        }
    }
}

/// Checks and encodes everything that can be before anything is sent. Of very many URLs the intent keeps the first.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn prepare(intent: &mut Intent, protocol: &dyn Runner, host: &Host) -> Result<Ready, Complaint> {
    let lang = intent.presentation.language.unwrap_or_else(Lang::from_env);
    intent.shown = intent.shown.clone().listed();
    // Other processes need all of it.
    let again = intent.processes.map(|number| (number, intent.plan.clone()));
    let mut ready = prepare_plan(&mut intent.plan, protocol, host, lang)?;
    intent.plan.requests = ready.setup.plan.requests;
    intent.shown.requests = intent.plan.requests;
    ready.setup.shown = intent.shown.clone();
    ready.setup.command = intent.command.clone();
    ready.setup.processes = again.map(|(number, plan)| {
        let launcher = Arc::new(Again { plan, guard: Arc::clone(&ready.guard) });
        Processes { number, launcher }
    });
    Ok(ready)
}

/// As [`prepare`], of a plan that nobody is shown.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_plan(plan: &mut Plan, protocol: &dyn Runner, host: &Host, lang: Lang) -> Result<Ready, Complaint> {
    let urls = plan.take_urls();
    let plan = &*plan;
    let mut asked = asked(plan, urls);
    heartbeats(plan, protocol, &asked)?;
    let resolver = crate::resolver::SystemResolver::new(plan).map_err(|t| Complaint::new("--connect-to", t))?;
    let guard = Arc::new(Guard::over(Arc::new(resolver)));
    let mut setup = Setup {
        plan: Arc::new(plan.clone()),
        shown: plan.clone(),
        command: Vec::new(),
        host: host.clone(),
        resolver: Arc::clone(&guard) as Arc<dyn engine::Resolver>,
        security: Arc::new(security(plan)?),
        sources: sources(plan)?,
        processes: None,
    };
    let (prepared, refused) = inquiry::prepare(protocol, &mut asked, &setup)?;
    something_to_say(plan, &*prepared)?;
    if refused.is_none() {
        named::check_objectives(plan, &*prepared)?;
    }
    let requests = ends_with_its_data(plan, &*prepared)?;
    Arc::make_mut(&mut setup.plan).requests = requests;
    setup.shown.requests = requests;
    descriptors(plan, &*prepared)?;
    Ok(Ready { prepared, setup, lang, guard, refused })
}

/// The number of requests after which the run ends: at the latest where its data does.
fn ends_with_its_data(plan: &Plan, prepared: &dyn PreparedRun) -> Result<Option<u64>, Complaint> {
    let Some(rows) = prepared.requests_at_most() else { return Ok(plan.requests) };
    if plan.warmup > measure::Nanos::ZERO {
        let trouble =
            "takes rows of a data file of which each is to be taken once; leave it out, or let the file recycle";
        return Err(Complaint::new("--warmup", trouble));
    }
    Ok(Some(plan.requests.map_or(rows, |requests| requests.min(rows))))
}

/// Where nothing is said no number of requests is ever reached, and none is due.
fn something_to_say(plan: &Plan, prepared: &dyn PreparedRun) -> Result<(), Complaint> {
    let open = matches!(plan.load, Load::Open { .. }).then_some("-r");
    let trouble =
        "asks for requests where nothing is said; write --data TEXT, or leave it out and keep connections with --hold";
    match plan.requests.map(|_| "-n").or(open) {
        Some(option) if prepared.silent() => Err(Complaint::new(option, trouble)),
        _ => Ok(()),
    }
}

/// More connections than descriptors allow are refused before any is opened.
fn descriptors(plan: &Plan, prepared: &dyn PreparedRun) -> Result<(), Complaint> {
    let Some((connections, most)) = prepared.too_many(plan) else { return Ok(()) };
    let option = if plan.load.is_open() { "--max-connections" } else { "-c" };
    let (limit, connections, most) = (host::descriptors(), show::count(connections), show::count(most));
    let trouble = format!(
        "asks for {connections} connections, and with {limit} descriptors (ulimit -n) there may be {most}; raise that limit, \
         or ask for fewer"
    );
    Err(Complaint::new(option, trouble))
}

/// Heartbeats are refused where there are none, never left out in silence.
fn heartbeats(plan: &Plan, protocol: &dyn Runner, asked: &Asked) -> Result<(), Complaint> {
    plan.heartbeat.map_or(Ok(()), |_| protocol.heartbeats(asked).map_err(|trouble| Complaint::new("--ping", trouble)))
}

fn sources(plan: &Plan) -> Result<Vec<IpAddr>, Complaint> {
    let mut all = Vec::new();
    for text in &plan.sources {
        all.extend(address::sources(text).map_err(|trouble| Complaint::new("--source", trouble))?);
    }
    Ok(all)
}

fn security(plan: &Plan) -> Result<RustlsSecurity, Complaint> {
    let content = |name: &str, path: &Option<String>| match path {
        None => Ok(None),
        Some(path) => protocols::file::body(name, path).map(Some),
    };
    let settings = TlsSettings {
        insecure: plan.tls.insecure,
        cacert: content("--cacert", &plan.tls.cacert)?,
        cert: content("--cert", &plan.tls.cert)?,
        key: content("--key", &plan.tls.key)?,
        resume: plan.tls.resume,
    };
    RustlsSecurity::new(&settings).map_err(|trouble| match trouble.split_once(": ") {
        Some((place, rest)) if place.starts_with("--") => Complaint::new(place, rest),
        _ => Complaint::new("TLS", trouble),
    })
}

/// The first answer, shown; `Err`: no load can be sent, and the words that say so.
fn probe(
    ready: &Ready,
    intent: &Intent,
    stop: &Stop,
    view: &mut View,
) -> Result<FirstAnswer, Box<(FirstAnswer, Text)>> {
    let wait = |said| (!intent.presentation.quiet).then(|| Waiting::begin(said));
    let before = ready.setup.plan.options.contains_key("before");
    let waiting = before.then(|| wait(waiting_for(ready, messages::WAITING_BEFORE))).flatten();
    let url = || ready.setup.plan.urls.first().map(|url| url.url.clone()).unwrap_or_default();
    if ready.refused.is_none()
        && let Err(why) = ready.prepared.before(&ready.setup, stop)
    {
        let text = if why.unreachable { messages::UNREACHABLE } else { messages::BEFORE_FAILED };
        let mut found = FirstAnswer { url: url(), failure: Some(why.why), ..FirstAnswer::default() };
        intent.redaction.probe(&mut found);
        return Err(Box::new((found, text)));
    }
    drop(waiting);
    let waiting = wait(waiting_for(ready, messages::WAITING));
    let outcome = match &ready.refused {
        Some(failure) => Err(failure.clone()),
        None => ready.prepared.probe(&ready.setup, stop),
    };
    drop(waiting);
    let unreachable = outcome.as_ref().is_err_and(|failure| failure.unreachable);
    let mut found = outcome.map_or_else(|failure| failure.probe, |answer| answer.probe);
    if found.url.is_empty() {
        found.url = url();
    }
    intent.redaction.probe(&mut found);
    if unreachable {
        return Err(Box::new((found, messages::UNREACHABLE)));
    }
    // An answer that will not count as a success is an answer: a run may be about exactly that.
    let warns = !found.status.is_empty() && found.failure.is_some();
    found.failure.take_if(|failure| failure == FaultKind::WrongStatus.name());
    if stop.requested() {
        return Ok(found);
    }
    view.probe(&found);
    if warns {
        // A check that failed was just told with what it found.
        let text = if found.failure.is_some() { messages::PROBE_CHECK } else { messages::PROBE_STATUS };
        view.say(&ready.lang.fill(text, &[("status", &found.status)]));
    }
    if found.status == "400" && found.url.starts_with("http://") {
        view.say(ready.lang.of(messages::PROBE_TLS));
    }
    Ok(found)
}

/// What is said where it takes long.
fn waiting_for(ready: &Ready, said: Text) -> String {
    let origin = ready.prepared.origins().first();
    let address = origin.map(|o| format!("{}:{}", o.host, o.port)).unwrap_or_default();
    let timeout = before::span(ready.setup.plan.timeout);
    ready.lang.fill(said, &[("address", &address), ("timeout", &timeout)])
}

/// The run itself, and what follows it.
fn load(
    ready: &Ready,
    intent: &Intent,
    probe: FirstAnswer,
    (stop, mut timer): (&Stop, Option<Timer>),
    view: &mut View,
) -> Outcome {
    view.begin_table(&intent.plan);
    let must_go_on = intent.record.is_some() || intent.presentation.output.is_some();
    let mut journal = journal(intent, view, Some(probe));
    journal.pairs_by_order(ready.prepared.by_order());
    let differing = intent.notes.iter().map(|note| notice("curl", [("difference", note.clone())]));
    for said in switched_off(&intent.plan, &*ready.prepared).into_iter().chain(differing) {
        journal.say_at_end(said);
    }
    ready.start(stop, &mut |event| {
        if matches!(event, RunEvent::Ended(_)) {
            let within = timer.as_mut().map(Timer::rest);
            if let (Some(after), true) = (intent.run_timeout, timer.as_ref().is_some_and(Timer::passed)) {
                journal.say_at_end(notice("run_timeout", [("time", before::span(after))]));
            }
            refused_hosts(ready).into_iter().for_each(|said| journal.say_at_end(said));
            if let Some(why) = ready.prepared.after(&ready.setup, stop, within) {
                journal.say_at_end(match why {
                    AfterFailure::Interrupted => notice("after_interrupted", []),
                    AfterFailure::Failed(why) => notice("after_failed", [("why", why)]),
                });
            }
        }
        journal.take(event);
        if journal.nobody_reads() && !must_go_on {
            stop.request();
        }
    });
    let (summary, past) = journal.finish();
    Ok(conclude(&summary, &*past, &intent.presentation, ready.lang, view))
}

/// The public addresses that redirects led to and that nobody was asked about.
fn refused_hosts(ready: &Ready) -> Option<Notice> {
    let hosts: Vec<String> = ready.guard.take_refused().into_keys().collect();
    (!hosts.is_empty()).then(|| notice("public_refused", [("hosts", hosts.join(", "))]))
}

/// What the user switched off and a report must say.
fn switched_off(plan: &Plan, prepared: &dyn PreparedRun) -> Vec<Notice> {
    let tls = prepared.origins().iter().any(|origin| origin.tls);
    let off = [("insecure", plan.tls.insecure && tls), ("no_keepalive", plan.options.contains_key("no-keepalive"))];
    let ends = prepared.requests_at_most().filter(|rows| plan.requests == Some(*rows));
    let ends = ends.map(|rows| notice("data_end", [("requests", report::show::count(rows))]));
    off.into_iter().filter(|(_, off)| *off).map(|(code, _)| notice(code, [])).chain(ends).collect()
}

/// The journal of a run, with its files.
fn journal<'a>(intent: &Intent, view: &'a mut View, probe: Option<FirstAnswer>) -> Journal<'a> {
    let mut journal = Journal::new(view, intent.redaction.clone(), probe);
    let kept = keep::directory().ok_or_else(|| "there is no home directory".to_string());
    match kept
        .and_then(|directory| keep::begin(&directory).map_err(|error| format!("{}: {error}", directory.display())))
    {
        Ok((writer, path)) => journal.write_to(writer, path, "not_kept"),
        Err(error) => journal.say_at_end(notice("not_kept", [("error", error)])),
    }
    if let Some(path) = &intent.record {
        match Writer::create(Path::new(path)) {
            Ok(writer) => journal.write_to(writer, PathBuf::from(path), "disk_full"),
            Err(error) => {
                journal.say_at_end(notice("disk_full", [("file", path.clone()), ("error", error.to_string())]));
            }
        }
    }
    journal.spool_if_needed();
    journal
}

/// Says why no load can be sent, and keeps that as a run that could not begin.
fn unreachable(ready: &Ready, intent: &Intent, (probe, text): (FirstAnswer, Text), view: &mut View) -> u8 {
    let failure = probe.failure.clone().unwrap_or_default();
    screen::complain(&ready.lang.fill(text, &[("url", &probe.url), ("failure", failure.trim_end_matches('.'))]));
    without_load(ready, intent, probe, ("aborted", Exit::Unreachable), view)
}

/// A run that ended before its load began, in the files that were asked for; the exit code.
fn without_load(ready: &Ready, intent: &Intent, probe: FirstAnswer, (why, exit): (&str, Exit), view: &mut View) -> u8 {
    if intent.record.is_none() && intent.presentation.output.is_none() {
        return exit.code();
    }
    let setup = &ready.setup;
    let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let started = Started {
        schema: record::SCHEMA.into(),
        brunt: env!("CARGO_PKG_VERSION").into(),
        unix_ms,
        command: setup.command.clone(),
        plan: setup.shown.clone(),
        host: setup.host.clone(),
        net: String::new(),
        workers: 0,
        silent: None,
        names: Vec::new(),
    };
    view.hush();
    let mut journal = journal(intent, view, Some(probe));
    journal.take(RunEvent::Started(Box::new(started)));
    journal.take(RunEvent::Ended(Ended { reason: why.into(), ..Ended::default() }));
    let (mut summary, past) = journal.finish();
    // One code, in the document and of the process.
    summary.exit = exit;
    write_output(&summary, &*past, &intent.presentation, ready.lang);
    summary.exit.code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Command, Defaults, read};

    #[test]
    fn heartbeats_are_refused_where_there_are_none() {
        let checked = |number: usize, line: &str| {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            let defaults = Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
            let protocols = [engine::runner(protocols::http::Http), engine::runner(protocols::raw::Raw)];
            match read(&words, &protocols, &defaults) {
                Ok(Command::Run(mut intent)) => {
                    check(&mut intent, &*protocols[number]).map_err(|wrong| wrong.to_string())
                }
                other => panic!("{line}: {other:?}"),
            }
        };
        let said = checked(0, "--ping 1s http://127.0.0.1:9/").expect_err("no heartbeat");
        assert_eq!(said, "--ping: HTTP/1.1 has no heartbeat; write --http2 beside it, or leave it out");
        let said = checked(1, "--ping 1s --send x --until-close tcp://127.0.0.1:9").expect_err("no heartbeat");
        assert!(said.starts_with("--ping: tcp://"), "{said}");
        assert_eq!(checked(0, "--ping 1s --http2 http://127.0.0.1:9/"), Ok(()));
    }

    /// Also of a URL beyond those that the plan keeps, and of any protocol over TLS.
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
            let protocols = [engine::runner(protocols::http::Http), engine::runner(protocols::websocket::WebSocket)];
            let Ok(Command::Run(mut intent)) = read(&words, &protocols, &defaults) else { panic!("{scheme}") };
            let protocol = &*protocols[intent.protocol];
            let ready = prepare(&mut intent, protocol, &Host::default()).map_err(|wrong| wrong.to_string());
            let said = switched_off(&intent.plan, &*ready.expect("a good plan").prepared);
            assert_eq!(said.iter().any(|notice| notice.code == "insecure"), told, "{scheme}");
            assert_eq!((intent.plan.urls.len(), intent.plan.count_urls()), (1000, 1201));
        }
    }
}
