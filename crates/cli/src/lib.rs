//! The program: command line and composition. This is the only crate that depends on all others.

mod calibrate;
mod capacity;
mod closed_output;
mod compare;
mod control_pipe;
mod debug;
mod delayed_actions;
mod demo;
mod doctor;
mod document;
mod event_files;
mod experiments;
mod exporters;
mod fleet;
mod kept_runs;
mod keyboard;
mod lint;
mod load_control;
mod messages;
mod plans;
mod preflight;
mod probe_server;
mod provisional_file;
mod remarks;
mod replay;
mod report_output;
mod run;
mod screen;
mod second_process;
mod serve;
mod signals;
mod stop_conditions;
mod timed_writer;
mod timer;
mod ui;
mod view;
mod worker;

use std::sync::Arc;

use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;

use brunt_cause::complaint;
use brunt_contract::{Protocol, UsageError};

use brunt_bench::{checks, host};
use brunt_config::redact::Redaction;
use brunt_config::{Command, Defaults};
use brunt_report::Lang;
use signals::Interrupts;

/// The exit code for a wrong command line (sysexits' EX_USAGE).
const USAGE: u8 = 64;

/// Runs the whole program with these protocols: reads the command line, executes it and returns the exit code.
pub fn main_with(protocols: Vec<Arc<dyn Protocol>>) -> ExitCode {
    set_panic_exit_code();
    host::raise_descriptors();
    brunt_net::heap::settle();
    let line: Result<Vec<String>, _> = std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect();
    let mut lang = Lang::from_env();
    let outcome = match line {
        Ok(line) => {
            lang = brunt_config::language_of(&line);
            Redaction::for_command_line(&line).apply_to_errors();
            execute(&line, &protocols)
        }
        Err(_) => Err(UsageError::whole(complaint!(
            "the arguments are not all UTF-8; use UTF-8",
            "参数不全是 UTF-8；请使用 UTF-8"
        ))),
    };
    ExitCode::from(outcome.unwrap_or_else(|complaint| {
        let said = if lang == Lang::Zh { complaint.zh() } else { complaint.to_string() };
        // An error that suggests a command on a separate line needs no hint.
        let is_answered = complaint.is_of_machine || said.contains("--help") || said.contains('\n');
        screen::print_error(&format!("brunt: {said}{}", if is_answered { "" } else { " (brunt --help)" }));
        if complaint.is_of_machine { brunt_report::Exit::NotWritten.code() } else { USAGE }
    }))
}

/// Gives a panic in brunt its own exit code, so that it is not taken for a result. If panics unwind (in tests), the
/// code that joins the thread sees them.
fn set_panic_exit_code() {
    if cfg!(panic = "abort") {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |bug| {
            keyboard::restore();
            tell(bug);
            std::process::exit(i32::from(brunt_report::Exit::Bug.code()));
        }));
    }
}

/// Shows a plan, or reports that it can be run.
fn show_plan(intent: &mut brunt_config::Intent, check: bool, protocol: &dyn Protocol) -> run::CommandResult {
    let lang = intent.lang();
    let said = if check {
        let unused = intent.unused_columns();
        let workers = checks::check(intent, protocol).map_err(|complaint| intent.locate_error(complaint))?;
        let can = lang.fill(messages::CAN_BE_RUN, &[("said", &preflight::announcement(&intent.shown, workers, lang))]);
        let of_flow = intent.flow_remarks.iter().map(|note| run::remark_on(messages::REMARK_ON_FLOW, note, lang));
        let of_data = unused.iter().map(|note| run::remark_on(messages::REMARK_ON_DATA, note, lang));
        std::iter::once(can).chain(of_flow).chain(of_data).map(|line| line + "\n").collect()
    } else {
        let (plan, blanks) = intent.saved_plan();
        let variables = blanks.variables().join(", ");
        let head = messages::PLAN_BLANKS;
        let head = if variables.is_empty() {
            String::new()
        } else {
            format!("# {}\n", lang.fill(head, &[("names", &variables)]))
        };
        head + &brunt_plan::document::yaml(&plan)
    };
    Ok(screen::print(&said, 0, lang))
}

/// Executes one command.
fn execute(line: &[String], protocols: &[Arc<dyn Protocol>]) -> run::CommandResult {
    let mut host = host::facts();
    host.calibration = calibrate::known(&host);
    let seed = RandomState::new().hash_one(std::process::id());
    let defaults = Defaults { cores: host.cores, descriptors: host.descriptors, seed };
    if let [word, terms @ ..] = line
        && word == brunt_bench::share::WORD
    {
        return worker::run_share(protocols, &host, terms.first().map(String::as_str));
    }
    signals::ignore_file_size_signal();
    let interrupts =
        || Interrupts::listen().map_err(|why| UsageError::new("signals", brunt_engine::no_thread(&why).to_string()));
    let spoken = |intent: &brunt_config::Intent| {
        intent.redaction.apply_to_errors();
        &*protocols[intent.protocol]
    };
    match brunt_config::read(line, protocols, &defaults)? {
        Command::Run(mut intent) => {
            let protocol = spoken(&intent);
            let outcome = run::run(&mut intent, protocol, &host, &interrupts()?);
            outcome.map_err(|complaint| intent.locate_error(complaint))
        }
        Command::ResumeRun(asked) => fleet::resume(&asked, &interrupts()?),
        Command::Agent(asked) => fleet::agent(*asked, &host),
        Command::Fleet(asked) => fleet::command(&asked),
        Command::Find(mut settings) => {
            settings.intent.redaction.apply_to_errors();
            let outcome = experiments::conduct((&mut *settings).into(), protocols, &host, &interrupts()?);
            outcome.map_err(|complaint| settings.intent.locate_error(complaint))
        }
        Command::Compare(mut settings) => {
            settings.sides.iter().for_each(|side| side.intent.redaction.apply_to_errors());
            experiments::conduct((&mut *settings).try_into()?, protocols, &host, &interrupts()?)
        }
        Command::Sweep(mut settings) => {
            settings.cells[0].intent.redaction.apply_to_errors();
            experiments::conduct((&mut *settings).into(), protocols, &host, &interrupts()?)
        }
        Command::Ladder(mut settings) => {
            settings.rungs.iter().for_each(|rung| rung.intent.redaction.apply_to_errors());
            experiments::conduct((&mut *settings).into(), protocols, &host, &interrupts()?)
        }
        Command::Demo(demo) => demo::demo(&demo, protocols, &defaults, &host, &interrupts()?),
        Command::Calibrate(asked) => calibrate::calibrate(&asked, protocols, &defaults, &host, &interrupts()?),
        Command::Plan(mut intent, check) => {
            let protocol = spoken(&intent);
            show_plan(&mut intent, check, protocol)
        }
        Command::Doctor(None) => doctor::examine_run(None, &host),
        Command::Doctor(Some(mut intent)) => {
            let protocol = spoken(&intent);
            doctor::examine_run(Some((&mut intent, protocol)), &host)
                .map_err(|complaint| intent.locate_error(complaint))
        }
        Command::Report(files, shown, _) if files.len() > 1 => compare::compare(&files, &shown),
        Command::Report(files, shown, run) => replay::replay(files.first().map(String::as_str), run, &shown),
        Command::Trend(files, shown) => experiments::trend(&files, &shown),
        Command::Capacity(asked) => capacity::capacity(*asked),
        Command::Lint(asked) => lint::lint(&asked),
        Command::Target(serving) => serve::serve(*serving),
        Command::Probe(probing) => probe_server::probe(*probing, &host),
        Command::Ui(asked) => ui::serve(*asked, protocols, &defaults),
        Command::Text(text) => Ok(screen::print_unescaped(&text, 0, brunt_report::Lang::from_env())),
    }
}
