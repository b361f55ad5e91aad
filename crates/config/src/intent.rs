//! Conversion of a draft to an intent: the plan of a run with its presentation and recording.

use std::path::Path;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Protocol, UsageError};
use brunt_measure::Nanos;
use brunt_plan::mask::{self, Blanks};
use brunt_plan::{Plan, WeightedUrl};
use brunt_report::Lang;
use brunt_report::formats::{self, FORMATS, ReportFormat};

use crate::curl;
use crate::redact::Redaction;

use super::counter_sources::CounterSources;
use super::draft::{DraftUrl, RunDraft};
use super::export_settings::ExportSettings;
use super::fleet_settings::{self, FleetRequest};
use super::origin::ValueOrigin;
use super::parsers::{self, MOST_WORKERS};
use super::settings::*;
use super::values::SettingValues;
use super::{
    command_line, common_headers, counter_sources, destinations, export_settings, file, flows, load, plan_secrets,
    protocol_flags, proxies, scenarios, secret_files, shorthand, standard_input, step_limits, unused_columns, urls,
    zones,
};

/// Default values that depend on the machine, and a random seed.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Cores available to the process.
    pub cores: f64,
    /// Soft limit of file descriptors.
    pub descriptors: u64,
    /// Seed of a run without an explicit one.
    pub seed: u64,
}

/// A report file, written in addition to the console output.
#[derive(Clone, Debug)]
pub struct ReportFile {
    /// Path of the file.
    pub path: String,
    /// Format of the document.
    pub format: &'static dyn ReportFormat,
}

/// The presentation of a record.
#[derive(Clone, Debug)]
pub struct Presentation {
    /// Format of the document without a file.
    pub format: &'static dyn ReportFormat,
    /// Set if the format was requested explicitly.
    pub format_given: bool,
    /// The report files.
    pub files: Vec<ReportFile>,
    /// Language; `None` for that of the locale.
    pub language: Option<Lang>,
    /// Set to suppress console output.
    pub quiet: bool,
    /// Set to suppress colours.
    pub no_color: bool,
    /// Set to show the complete summary on the console, instead of one that fits on a screen.
    pub verbose: bool,
}

/// A requested run.
#[derive(Debug)]
pub struct Intent {
    /// The plan to run.
    pub plan: Plan,
    /// The plan with secrets masked.
    pub shown: Plan,
    /// The command line with secrets masked.
    pub command: Vec<String>,
    /// Index of the protocol.
    pub protocol: usize,
    /// The presentation of the results.
    pub presentation: Presentation,
    /// Path of the record of events.
    pub record: Option<String>,
    /// Time after which the whole run is stopped, if limited.
    pub run_timeout: Option<Nanos>,
    /// Set to make only a single exchange and show it in full.
    pub debug: bool,
    /// Set to send to public addresses without confirmation.
    pub yes: bool,
    /// Set to send the load even if the first response shows that every request would fail.
    pub force: bool,
    /// Set to send a request before the load, if the load does not notice it.
    pub preflight: bool,
    /// The masking of the plan's secrets; none with `--keep-secrets`.
    pub redaction: Redaction,
    /// The counters that are read during the run.
    pub watching: CounterSources,
    /// The export of metrics during the run.
    pub exporting: ExportSettings,
    /// Number of processes for the workers; `None` to run them as threads of this process.
    pub processes: Option<u32>,
    /// The agents that make the run; `None` for this machine.
    pub fleet: Option<FleetRequest>,
    /// Differences of the run from its curl commands.
    pub notes: Vec<Complaint>,
    /// Parts of the curl commands that make no difference.
    pub remarks: Vec<Complaint>,
    /// Remarks on the flow.
    pub flow_remarks: Vec<Complaint>,
    /// The draft from which the intent was built.
    draft: RunDraft,
}

impl Intent {
    /// Returns the language of the output.
    pub fn lang(&self) -> Lang {
        self.presentation.language.unwrap_or_else(Lang::from_env)
    }

    /// Returns `true` if the user set the number of workers.
    pub fn asks_for_workers(&self) -> bool {
        self.draft.values.has(&WORKERS)
    }

    /// Returns `true` if the user set the number of users.
    pub fn asks_for_users(&self) -> bool {
        self.draft.values.has(&USERS)
    }

    /// Returns the plan as it is saved: with a blank for each secret.
    pub fn saved_plan(&self) -> (Plan, Blanks) {
        self.redaction.saved_plan(&self.plan)
    }

    /// Returns remarks on the plan's data files, one sentence each. Must be called before the URLs are taken from the
    /// plan.
    pub fn unused_columns(&self) -> Vec<Complaint> {
        unused_columns::remarks(&self.plan, &self.draft)
    }

    /// Completes an error from preparing or measuring the plan: adds the position of the value and masks quoted
    /// secrets.
    pub fn locate_error(&self, complaint: UsageError) -> UsageError {
        let UsageError { location: place, problem: trouble, .. } = &complaint;
        let named = place.rsplit(", ").next().unwrap_or_default();
        let origin = self.draft.origin_of(named, trouble).and_then(ValueOrigin::place);
        UsageError {
            location: origin.unwrap_or_else(|| place.clone()),
            problem: trouble.clone().map(|text| self.redaction.sentence(text)),
            ..complaint
        }
    }
}

/// Reads a run from the values of a command line, whose words are `words`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(
    line: SettingValues,
    words: &[String],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Intent, UsageError> {
    let draft = RunDraft { values: line, ..RunDraft::default() };
    let file = plan_file(&draft.values, protocols)?;
    let draft = draft.merged_over(file);
    let curl = curl_commands(&draft.values)?;
    if !curl.urls.is_empty() && !draft.urls.is_empty() {
        let trouble = complaint!(
            "cannot be combined with the `urls`, `flow` or `scenarios` of a plan; leave one of them out",
            "不能与计划的 `urls`、`flow` 或 `scenarios` 同用；请去掉其中一个"
        );
        return Err(match draft.values.has(&CURL) {
            true => draft.values.wrong(&CURL, trouble),
            false => draft.values.wrong(&CURL_FILE, trouble),
        });
    }
    let draft = draft.merged_over(curl);
    standard_input::check(&draft)?;
    let intent = build(&draft, words, protocols, defaults);
    let checked = intent.and_then(|intent| step_limits::check(&intent.plan).map(|()| intent));
    let mut intent = checked.map_err(|complaint| {
        // There is no plan yet, and the error may quote the file or the curl command.
        let keep = draft.values.has(&KEEP_SECRETS);
        let redaction = if keep { Redaction::default() } else { Redaction::new(draft.secrets()) };
        UsageError { problem: complaint.problem.clone().map(|text| redaction.sentence(text)), ..complaint }
    })?;
    intent.notes = draft.notes.iter().map(|note| note.text.clone()).collect();
    intent.remarks.clone_from(&draft.remarks);
    let of_plan = std::mem::take(&mut intent.flow_remarks);
    intent.flow_remarks = draft.flow_remarks.iter().cloned().chain(of_plan).collect();
    intent.flow_remarks.extend(step_limits::remarks(&intent.plan));
    intent.draft = draft;
    if destinations::has_urls(&intent.draft.values) {
        intent.draft.urls.clear();
    }
    Ok(intent)
}

/// Reads the plan file, if one is among the URLs.
fn plan_file(line: &SettingValues, protocols: &[Arc<dyn Protocol>]) -> Result<RunDraft, UsageError> {
    let paths: Vec<&str> = line.texts(&TARGET).into_iter().filter(|text| urls::is_plan(text)).collect();
    match paths[..] {
        [] => Ok(RunDraft::default()),
        [path] => {
            let text = brunt_protocols::file::text("PLAN", path)?;
            let shown = if path == brunt_protocols::standard_input::NAME { "standard input" } else { path };
            file::read(shown, &text, protocols)
        }
        [_, second, ..] => {
            Err(UsageError::new(second, complaint!("is a second plan; name only one", "是第二个计划；只能给出一个")))
        }
    }
}

/// Reads `--curl` and `--curl-file`.
fn curl_commands(values: &SettingValues) -> Result<RunDraft, UsageError> {
    let draft = match (&values.texts(&CURL)[..], values.text(&CURL_FILE)) {
        ([], None) => RunDraft::default(),
        (texts, None) => curl::read(texts, "--curl")?,
        ([], Some(path)) => {
            let text = brunt_protocols::file::text("--curl-file", path)?;
            curl::read(&[&text], path)?
        }
        _ => {
            return Err(UsageError::new(
                "--curl-file",
                complaint!(
                    "cannot be combined with --curl; put all commands in the file",
                    "不能与 --curl 同用；请把所有命令写入该文件"
                ),
            ));
        }
    };
    if values.has(&AS_FLOW) { flows::into_flow(draft) } else { Ok(draft) }
}

/// Validates a draft and converts it to an intent.
fn build(
    draft: &RunDraft,
    words: &[String],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Intent, UsageError> {
    let said = &draft.values;
    draft.refuse_overridden()?;
    let commands = (words.first().is_none_or(|first| first != "run")).then_some(&command_line::COMMANDS[..]);
    let mut urls = destinations::command_line_urls(said, protocols, commands)?;
    let written = if urls.is_empty() { &draft.urls[..] } else { &[] };
    urls.extend(written.iter().map(DraftUrl::weighted));
    if urls.is_empty() {
        return Err(UsageError::whole(destinations::no_url(said)));
    }
    let mut zones: Vec<String> = urls.iter_mut().filter_map(|url| zones::take(&mut url.url)).collect();
    zones.dedup();
    let protocol =
        destinations::protocol_of(&urls, written, draft.flow.is_some() || !draft.scenarios.is_empty(), protocols)?;
    destinations::refuse_own_options(&urls, written, &*protocols[protocol])?;
    protocol_flags::refuse_others(said, protocols, protocol)?;
    let specs = protocols[protocol].options();
    let spelled = |options: SettingValues| shorthand::expand(secret_files::read_secret_files(options)?, specs);
    let options = spelled(said.filtered(|name| specs.iter().any(|spec| spec.name == name)))?;
    destinations::apply_request_name(said, &mut urls)?;
    let expanded = |url: &DraftUrl| -> Result<DraftUrl, UsageError> {
        Ok(DraftUrl { own: spelled(url.own.clone())?, ..url.clone() })
    };
    let mut own = written.iter().map(expanded).collect::<Result<Vec<_>, UsageError>>()?;
    common_headers::add(&mut own, &options)?;
    urls.iter_mut().zip(&own).for_each(|(url, own)| url.options = own.weighted().options);
    let mut options = options.options();
    let trace = export_settings::trace(said, specs, (&mut options, &mut urls))?;
    scenarios::refuse_loads(draft)?;
    let flow = flows::validate(draft, &*protocols[protocol])?;
    let plan = plan(draft, urls, &*protocols[protocol], defaults)?;
    let connect_to = [plan.connect_to, zones].concat();
    let plan = Plan { flow, trace, options, connect_to, ..plan };
    flows::check_load(&plan)?;
    let (plan, flow_remarks) = scenarios::apply(draft, plan, &*protocols[protocol])?;
    let watching = counter_sources::read(said)?;
    let (shown, command, redaction) = shown(draft, &plan, &watching, words);
    Ok(Intent {
        shown,
        command,
        protocol,
        presentation: presentation(said)?,
        record: said.get(&RECORD)?,
        run_timeout: said.get(&RUN_TIMEOUT)?,
        debug: said.has(&DEBUG),
        yes: said.has(&YES),
        force: said.has(&FORCE),
        preflight: !said.has(&NO_PREFLIGHT),
        redaction,
        watching,
        exporting: export_settings::read(said)?,
        processes: said.get(&PROCESSES)?,
        fleet: fleet_settings::of_run(said)?,
        notes: Vec::new(),
        remarks: Vec::new(),
        flow_remarks,
        draft: RunDraft::default(),
        plan,
    })
}

/// Returns the plan and the command line with secrets masked, and the redaction of these secrets elsewhere.
fn shown(draft: &RunDraft, plan: &Plan, watching: &CounterSources, words: &[String]) -> (Plan, Vec<String>, Redaction) {
    let command: Vec<String> = std::iter::once("brunt".to_string()).chain(words.iter().cloned()).collect();
    let values = &draft.values;
    if values.has(&KEEP_SECRETS) {
        return (plan.clone(), command, Redaction::default());
    }
    let mut known = plan_secrets::secrets(plan);
    draft.filled.iter().for_each(|secret| known.learn_value(secret));
    values.texts(&WATCH).into_iter().filter_map(place).for_each(|place| known.learn_url(place));
    values.texts(&OTLP).into_iter().for_each(|url| known.learn_url(url));
    watching.probes.token.iter().for_each(|token| known.learn_option("token", token));
    let shown = mask::plan(plan, &known);
    let redaction = Redaction::new(known);
    let command = mask::command(&command, &secrets(values, plan));
    (shown, command.iter().map(|word| redaction.sentence(word)).collect(), redaction)
}

fn plan(
    draft: &RunDraft,
    urls: Vec<WeightedUrl>,
    protocol: &dyn Protocol,
    defaults: &Defaults,
) -> Result<Plan, UsageError> {
    let said = &draft.values;
    let load::LoadSettings { load, requests, duration, connections } =
        load::read(said, protocol.fixed_connections(), !draft.scenarios.is_empty())?;
    let timeout = timeout(said)?.unwrap_or(Nanos::from_secs(10));
    let bound = defaults.descriptors.saturating_mul(3) / 4;
    // A given number of workers limits the default number of connections, so that the plan is not rejected.
    let asked = said.text(&WORKERS).and_then(|text| text.parse::<u64>().ok());
    let held = asked.map(|workers| (brunt_net::tables::capacity() as u64).saturating_mul(workers));
    let bound = bound.min(held.unwrap_or(u64::MAX));
    let limit = said.get(&MAX_CONNECTIONS)?.or(connections);
    let proxies = proxies::read(said, protocol.name(), &urls, |name| std::env::var(name).ok())?;
    Ok(Plan {
        protocol: protocol.name().to_string(),
        urls: urls.into(),
        more_urls: 0,
        options: brunt_plan::PlanOptions::new(),
        requests,
        duration,
        flow: None,
        scenarios: Vec::new(),
        common: None,
        warmup: said.get(&WARMUP)?.unwrap_or_default(),
        drain: said.get(&DRAIN)?.unwrap_or(timeout.min(Nanos::from_secs(5))),
        timeout,
        connect_timeout: said.get(&CONNECT_TIMEOUT)?.unwrap_or(Nanos::from_secs(5)),
        dns_refresh: said.get(&DNS_REFRESH)?,
        max_connections: limit.unwrap_or(bound.clamp(1, 1000) as u32),
        workers: workers(said, defaults, limit.is_some_and(|limit| load::needs_single_worker(&load, limit)))?,
        load,
        pin: said.has(&PIN),
        precise: said.has(&PRECISE),
        slack: said.get(&SLACK)?.unwrap_or_default(),
        connect_rate: said.get(&CONNECT_RATE)?,
        hold: said.get(&HOLD)?,
        heartbeat: said.get(&PING)?,
        reference: said.get(&REFERENCE)?,
        trace: None,
        net: said.get(&NET)?.unwrap_or_default(),
        sources: said.each(&SOURCE)?.concat(),
        connect_to: said.each(&CONNECT_TO)?,
        unix_socket: destinations::unix_socket(said)?,
        proxies,
        tls: destinations::tls(said)?,
        objectives: said.each(&OBJECTIVE)?,
        trust: said.get(&TRUST)?.unwrap_or_default(),
        seed: said.get(&SEED)?.unwrap_or(defaults.seed),
    })
}

fn workers(values: &SettingValues, defaults: &Defaults, one: bool) -> Result<u32, UsageError> {
    let cores = (defaults.cores.floor() as u32).clamp(1, MOST_WORKERS as u32);
    let asked = values.get(&WORKERS)?.unwrap_or(if one { 1 } else { cores });
    // Each process has at least one worker.
    Ok(asked.max(values.get(&PROCESSES)?.unwrap_or(1)))
}

fn timeout(values: &SettingValues) -> Result<Option<Nanos>, UsageError> {
    match values.named(TIMEOUT.spec.name).next() {
        Some(line) if line.origin == ValueOrigin::CommandLine => {
            parsers::timeout_on_line(&line.text).map(Some).map_err(|trouble| values.wrong(&TIMEOUT, trouble))
        }
        _ => values.get(&TIMEOUT),
    }
}

/// Returns the address of a watched service, which follows its kind.
fn place(watch: &str) -> Option<&str> {
    watch.split_once('=').map(|(_, place)| place)
}

/// Returns the secrets of a command line, each as written and masked.
fn secrets(values: &SettingValues, plan: &Plan) -> Vec<(String, String)> {
    let urls = [&TARGET, &URL, &PROXY, &OTLP].into_iter().flat_map(|setting| values.texts(setting));
    let urls = urls.map(|url| (url.to_string(), mask::url(url)));
    // `redis=redis://USER:PASSWORD@HOST`
    let hidden = |text: &str| place(text).map(|place| text.replace(place, &mask::url(place)));
    let watched = values.texts(&WATCH).into_iter().filter_map(|text| Some((text.to_string(), hidden(text)?)));
    let options = plan
        .options
        .iter()
        .flat_map(|(name, values)| values.iter().map(|value| (value.clone(), mask::option(name, value))));
    let whole =
        ["curl", "bearer", "cookie", "proxy-user", "probe-token"].into_iter().flat_map(|name| values.named(name));
    let commands = whole.map(|said| (said.text.clone(), mask::MASK.to_string()));
    let apart = plan.tls.key.iter().filter(|key| Some(*key) != plan.tls.cert.as_ref());
    let key = apart.map(|key| (key.clone(), mask::MASK.to_string()));
    urls.chain(watched).chain(options).chain(commands).chain(key).filter(|(raw, shown)| raw != shown).collect()
}

/// The name of standard output in place of a file.
const STANDARD_OUTPUT: &str = "-";

/// Returns the report format for a file name.
fn format_of_file(path: &str) -> Option<&'static dyn ReportFormat> {
    formats::format_of_extension(Path::new(path).extension()?.to_str()?)
}

/// Reads the presentation.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn presentation(values: &SettingValues) -> Result<Presentation, UsageError> {
    let format = values.get(&FORMAT)?;
    let mut files = values.each(&OUTPUT)?;
    if format.is_some() && files.len() > 1 {
        let trouble = complaint!(
            "cannot be combined with several -o, whose file names tell their formats; leave it out",
            "不能与多个 -o 同用，其格式由文件名决定；请去掉"
        );
        return Err(values.wrong(&FORMAT, trouble));
    }
    // Standard output has the report anyway, in the format of `--format`.
    let to_standard_output = files.extract_if(.., |path| path == STANDARD_OUTPUT).count() > 0;
    if let Some(unknown) = files.iter().find(|path| format.is_none() && format_of_file(path).is_none())
        && let Some(ending) = Path::new(unknown).extension()
    {
        let known: Vec<String> =
            FORMATS.iter().flat_map(|format| format.extensions()).map(|known| format!(".{known}")).collect();
        let trouble = complaint!(
            "{unknown}: brunt has no format for .{}; use one of {}, or say --format text",
            "{unknown}：brunt 没有 .{} 格式；可用：{}，或加 --format text",
            ending.to_string_lossy(),
            known.join(", ")
        );
        return Err(values.wrong(&OUTPUT, trouble));
    }
    let file =
        |path: String| ReportFile { format: format.or_else(|| format_of_file(&path)).unwrap_or(FORMATS[0]), path };
    Ok(Presentation {
        format: format.unwrap_or(FORMATS[0]),
        format_given: format.is_some() || to_standard_output,
        files: files.into_iter().map(file).collect(),
        language: values.get(&LANG)?,
        quiet: values.has(&QUIET),
        no_color: values.has(&NO_COLOR),
        verbose: values.has(&VERBOSE),
    })
}
