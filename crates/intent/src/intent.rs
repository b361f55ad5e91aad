//! From flags to what is wanted: the plan of a run, and how it is to be shown and kept.

use std::sync::Arc;

use std::path::Path;

use clap::ArgMatches;
use measure::Nanos;
use plan::mask::{self, Secrets};
use plan::{Load, NetKind, Options, Plan, WeightedUrl, quantity};
use report::formats::{self, FORMATS, Format};
use report::{Lang, Objective};
use wire::{Complaint, OptionSpec, Protocol, Takes};

use crate::curl;
use crate::redact::Redaction;

use super::exporting::Exporting;
use super::given::Given;
use super::matched::Matched;
use super::watching::Watching;
use super::{
    exporting, file, flow_beside, flow_file, load, proxies, scenario_run, sealed, shorthand, spoken, turns, urls,
    watching, ways,
};

/// Most worker threads a run may ask for.
const MOST_WORKERS: u64 = 1024;

/// What a flag that is not given comes from: the machine and chance.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Cores available to the process.
    pub cores: f64,
    /// Soft limit of descriptors.
    pub descriptors: u64,
    /// Seed of a run that names none.
    pub seed: u64,
}

/// How a record is shown.
#[derive(Clone, Debug)]
pub struct Presentation {
    /// The document's format.
    pub format: &'static dyn Format,
    /// True where the format was asked for in words.
    pub format_given: bool,
    /// Where the document goes besides the screen.
    pub output: Option<String>,
    /// The language; `None`: the locale's.
    pub language: Option<Lang>,
    /// No console output.
    pub quiet: bool,
    /// No colours.
    pub no_color: bool,
}

/// A run as asked.
#[derive(Debug)]
pub struct Intent {
    /// What to run.
    pub plan: Plan,
    /// The plan as it may be shown.
    pub shown: Plan,
    /// The command line as it may be shown.
    pub command: Vec<String>,
    /// Index of the protocol that speaks it.
    pub protocol: usize,
    /// How to show it.
    pub presentation: Presentation,
    /// Where to write the events.
    pub record: Option<String>,
    /// Stop the whole run after so long.
    pub run_timeout: Option<Nanos>,
    /// Only one exchange, shown whole.
    pub debug: bool,
    /// Do not ask about public addresses.
    pub yes: bool,
    /// Over the secrets of the plan; over nothing with `--keep-secrets`.
    pub redaction: Redaction,
    /// What is counted beside it.
    pub watching: Watching,
    /// Where its figures go while it goes on.
    pub exporting: Exporting,
    /// Processes that the workers run in; None: threads of this one.
    pub processes: Option<u32>,
    /// In what the run differs from its curl commands.
    pub notes: Vec<String>,
    /// What of the curl commands makes no difference.
    pub remarks: Vec<String>,
    /// What the author of its flow will want to know.
    pub of_flow: Vec<String>,
    /// Where values stand that are not flags.
    located: Located,
}

impl Intent {
    /// The language it is shown in.
    pub fn lang(&self) -> Lang {
        self.presentation.language.unwrap_or_else(Lang::from_env)
    }

    /// True where a flag of this name was given, on the command line or below it.
    pub fn says(&self, name: &str) -> bool {
        Matched::over(&self.located.line, &self.located.given).text(name).is_some()
    }

    /// What the author of the plan will want to know of its data files, a sentence each. Before their URLs are taken out of the plan.
    pub fn unused_columns(&self) -> Vec<String> {
        super::feeds::remarks(self, &self.located.given)
    }

    /// A complaint with the place in the plan file or the curl command that it is about, without the secrets it quotes.
    pub fn located(&self, complaint: Complaint) -> Complaint {
        let located = self.located.given.located(complaint, &Matched::line(&self.located.line));
        Complaint { trouble: self.redaction.sentence(&located.trouble), ..located }
    }
}

/// What stands below the command line, and the command line.
#[derive(Debug)]
struct Located {
    given: Given,
    line: ArgMatches,
}

/// Reads the flags of `brunt run`.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(
    matches: &ArgMatches,
    line: &[String],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Intent, Complaint> {
    let file = plan_file(&Matched::line(matches), protocols)?;
    let curl = curl_commands(&Matched::over(matches, &file))?;
    let given = file.over(curl);
    let line_alone = Matched::line(matches);
    let intent = over(matches, &given, line, protocols, defaults);
    let intent = intent.and_then(|intent| turns::check(&intent.plan).map(|()| intent));
    let (mut intent, given) = match intent {
        Ok(intent) => (intent, given),
        Err(complaint) => {
            let Complaint { place, trouble, below } = given.located(complaint, &line_alone);
            // Before there is a plan: what the file or the curl command says may be quoted.
            let keep = matches!(matches.try_get_one::<bool>("keep-secrets"), Ok(Some(true)));
            let redaction = if keep { Redaction::default() } else { Redaction::over(given.secrets()) };
            return Err(Complaint { trouble: redaction.sentence(&trouble), place, below });
        }
    };
    intent.notes.clone_from(&given.notes);
    intent.remarks.clone_from(&given.remarks);
    intent.of_flow.clone_from(&given.of_flow);
    intent.of_flow.extend(turns::remarks(&intent.plan));
    intent.located = Located { given, line: matches.clone() };
    Ok(intent)
}

/// What the plan file says, where one is named among the URLs.
fn plan_file(flags: &Matched<'_>, protocols: &[Arc<dyn Protocol>]) -> Result<Given, Complaint> {
    let paths: Vec<&str> = flags.texts("target").into_iter().filter(|text| urls::is_plan(text)).collect();
    match paths[..] {
        [] => Ok(Given::default()),
        [path] => {
            let text = protocols::file::text("PLAN", path)?;
            file::read(path, &text, protocols)
        }
        [_, second, ..] => Err(Complaint::new(second, "is a second plan; name only one")),
    }
}

/// What `--curl` and `--curl-file` say.
fn curl_commands(flags: &Matched<'_>) -> Result<Given, Complaint> {
    let given = curl_given(flags)?;
    if flags.switch("as-flow") { flow_file::in_order(given) } else { Ok(given) }
}

fn curl_given(flags: &Matched<'_>) -> Result<Given, Complaint> {
    match (flags.texts("curl"), flags.text("curl-file")) {
        (texts, Some(_)) if !texts.is_empty() => {
            Err(Complaint::new("--curl-file", "does not go with --curl; put all commands in the file"))
        }
        (texts, None) if texts.is_empty() => Ok(Given::default()),
        (texts, None) => curl::read(&texts, "--curl"),
        (_, Some(path)) => {
            let text = protocols::file::text("--curl-file", path)?;
            curl::read(&[&text], path)
        }
    }
}

/// Reads the flags over what stands below them.
fn over(
    matches: &ArgMatches,
    given: &Given,
    line: &[String],
    protocols: &[Arc<dyn Protocol>],
    defaults: &Defaults,
) -> Result<Intent, Complaint> {
    let flags = Matched::over(matches, given);
    given.refuse_without_effect(&flags)?;
    let urls = ways::all_urls(&flags, given, protocols, line.first().is_some_and(|first| first == "run"))?;
    let protocol = ways::protocol_of(&urls, given.flow.is_some() || !given.scenarios.is_empty(), protocols)?;
    ways::refuse_own_options(&urls, &*protocols[protocol])?;
    spoken::refuse_others(&flags, protocols, protocol)?;
    let specs = protocols[protocol].options();
    let mut options = shorthand::spelled_out(sealed::opened(options_of(&flags, specs))?, specs)?;
    let own = |url| shorthand::spelled_out_url(sealed::opened_url(url)?, specs);
    let mut urls = ways::named(&flags, urls)?.into_iter().map(own).collect::<Result<Vec<_>, _>>()?;
    let trace = exporting::trace(&flags, specs, (&mut options, &mut urls))?;
    scenario_run::refuse_loads(&flags, given)?;
    let flow = flow_file::of_run(&flags, given, &*protocols[protocol])?;
    let plan = Plan {
        flow,
        trace,
        ..plan((&flags, !given.scenarios.is_empty()), urls, &*protocols[protocol], options, defaults)?
    };
    flow_beside::with_load(&plan)?;
    let plan = scenario_run::of_run(&flags, given, plan, &*protocols[protocol])?;
    let keep_secrets = flags.switch("keep-secrets");
    let watching = watching::read(&flags)?;
    let command: Vec<String> = std::iter::once("brunt".to_string()).chain(line.iter().cloned()).collect();
    let (shown, command, redaction) = if keep_secrets {
        (plan.clone(), command, Redaction::default())
    } else {
        let mut known = Secrets::of_plan(&plan);
        flags.texts("watch").into_iter().filter_map(place).for_each(|place| known.learn_url(place));
        flags.texts("otlp").into_iter().for_each(|url| known.learn_url(url));
        watching.probes.token.iter().for_each(|token| known.learn_option("token", token));
        let redaction = Redaction::over(known);
        let command = mask::command(&command, &secrets(&flags, &plan));
        (mask::plan(&plan), command.iter().map(|word| redaction.sentence(word)).collect(), redaction)
    };
    Ok(Intent {
        shown,
        command,
        protocol,
        presentation: presentation(&flags)?,
        record: flags.text("record").map(String::from),
        run_timeout: flags.time("run-timeout", "--run-timeout")?,
        debug: flags.switch("debug"),
        yes: flags.switch("yes"),
        redaction,
        watching,
        exporting: exporting::read(&flags)?,
        processes: processes(&flags)?,
        notes: Vec::new(),
        remarks: Vec::new(),
        of_flow: Vec::new(),
        located: Located { given: Given::default(), line: matches.clone() },
        plan,
    })
}

fn plan(
    (flags, several): (&Matched<'_>, bool),
    urls: Vec<WeightedUrl>,
    protocol: &dyn Protocol,
    options: Options,
    defaults: &Defaults,
) -> Result<Plan, Complaint> {
    let load::Asked { load, requests, duration, connections: connections_asked } =
        load::read(flags, protocol.fixed_connections(), several)?;
    let timeout = flags.parsed("timeout", "-t", |text| timeout(text, flags.on_line("timeout")))?;
    let timeout = timeout.unwrap_or(Nanos::from_secs(10));
    let bound = defaults.descriptors.saturating_mul(3) / 4;
    // Where nobody asks for more than the workers hold that were asked for, nothing is refused.
    let asked = flags.text("workers").and_then(|text| text.parse::<u64>().ok());
    let held = asked.map(|workers| (net::tables::capacity() as u64).saturating_mul(workers));
    let bound = bound.min(held.unwrap_or(u64::MAX));
    let connections = |text: &str| quantity::bounded_count(text, "connections", 10_000_000);
    let limit = flags.parsed("max-connections", "--max-connections", connections)?.or(connections_asked);
    let proxies = proxies::read(flags, protocol.name(), &urls, |name| std::env::var(name).ok())?;
    let nets = [("epoll", NetKind::Epoll), ("uring", NetKind::Uring)];
    Ok(Plan {
        protocol: protocol.name().to_string(),
        urls: urls.into(),
        more_urls: 0,
        options,
        requests,
        duration,
        flow: None,
        scenarios: Vec::new(),
        common: None,
        warmup: flags.parsed("warmup", "--warmup", quantity::duration)?.unwrap_or_default(),
        drain: flags.parsed("drain", "--drain", quantity::duration)?.unwrap_or(timeout.min(Nanos::from_secs(5))),
        timeout,
        connect_timeout: flags.time("connect-timeout", "--connect-timeout")?.unwrap_or(Nanos::from_secs(5)),
        max_connections: limit.unwrap_or(bound.clamp(1, 1000) as u32),
        workers: workers(flags, defaults, limit.is_some_and(|limit| in_one_queue(&load, limit)))?,
        load,
        pin: flags.switch("pin"),
        precise: flags.switch("precise"),
        slack: flags.parsed("slack", "--slack", quantity::duration)?.unwrap_or_default(),
        connect_rate: flags.parsed("connect-rate", "--connect-rate", quantity::rate)?,
        hold: flags.time("hold", "--hold")?,
        heartbeat: flags.time("ping", "--ping")?,
        reference: flags.parsed("reference", "--reference", reference)?,
        trace: None,
        net: flags.word("net", &nets)?.unwrap_or_default(),
        sources: ways::sources(flags)?,
        connect_to: ways::connect_to(flags)?,
        unix_socket: ways::unix_socket(flags)?,
        proxies,
        tls: ways::tls(flags)?,
        objectives: objectives(flags)?,
        seed: flags.parsed("seed", "--seed", seed)?.unwrap_or(defaults.seed),
    })
}

/// True where arrivals are to wait for one of so many connections: they wait in one queue, and a queue is one worker's. Shares
/// of the limit would be queues of their own, in which one waits while a connection of another is free. So many connections,
/// and such a rate, are what one worker can carry.
pub(super) fn in_one_queue(load: &Load, limit: u32) -> bool {
    const CONNECTIONS: u32 = 4096;
    const RATE: f64 = 20_000.0;
    load.is_open() && limit <= CONNECTIONS && load.peak() <= RATE
}

fn workers(flags: &Matched<'_>, defaults: &Defaults, one: bool) -> Result<u32, Complaint> {
    let workers = |text: &str| quantity::bounded_count(text, "workers", MOST_WORKERS);
    let cores = (defaults.cores.floor() as u32).clamp(1, MOST_WORKERS as u32);
    let asked = flags.parsed("workers", "-w", workers)?.unwrap_or(if one { 1 } else { cores });
    // Each process has a worker at least.
    Ok(asked.max(processes(flags)?.unwrap_or(1)))
}

fn processes(flags: &Matched<'_>) -> Result<Option<u32>, Complaint> {
    flags.parsed("processes", "--processes", |text| quantity::bounded_count(text, "processes", MOST_WORKERS))
}

/// `-t 8` is a habit of those who come from wrk; who wrote a plan means a time.
fn timeout(text: &str, on_line: bool) -> Result<Nanos, String> {
    if on_line && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text != "0" {
        return Err(format!("{text} is missing its unit; write `-w {text}` for workers or `-t {text}s`"));
    }
    quantity::positive_duration(text)
}

/// A light client: what it adds to the load must not be seen in the figures.
fn reference(text: &str) -> Result<f64, String> {
    const MOST: f64 = 100.0;
    let rate = quantity::rate(text)?;
    if rate > MOST {
        return Err(format!("{text} would itself be a load; write at most {MOST}/s, such as 20/s"));
    }
    Ok(rate)
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a seed; write a whole number, such as 42"))
}

fn objectives(flags: &Matched<'_>) -> Result<Vec<String>, Complaint> {
    let rules = flags.texts("objective");
    for rule in &rules {
        Objective::parse(rule).map_err(|trouble| Complaint::new("--objective", trouble))?;
    }
    Ok(rules.into_iter().map(String::from).collect())
}

fn options_of(flags: &Matched<'_>, specs: &[OptionSpec]) -> Options {
    let mut options = Options::new();
    for spec in specs {
        let values: Vec<String> = match spec.takes {
            Takes::Nothing => flags.switch(spec.name).then(String::new).into_iter().collect(),
            Takes::One(_) | Takes::Many(_) => flags.texts(spec.name).into_iter().map(String::from).collect(),
        };
        if !values.is_empty() {
            options.insert(spec.name.to_string(), values);
        }
    }
    options
}

/// Where a watched service is: what follows its kind.
fn place(watch: &str) -> Option<&str> {
    watch.split_once('=').map(|(_, place)| place)
}

/// What of a command line is secret: as written, and as it may be shown.
fn secrets(flags: &Matched<'_>, plan: &Plan) -> Vec<(String, String)> {
    let urls = flags
        .texts("target")
        .into_iter()
        .chain(flags.texts("url"))
        .chain(flags.texts("proxy"))
        .chain(flags.texts("otlp"))
        .map(|url| (url.to_string(), mask::url(url)));
    // `redis=redis://USER:PASSWORD@HOST`
    let hidden = |text: &str| place(text).map(|place| text.replace(place, &mask::url(place)));
    let watched = flags.texts("watch").into_iter().filter_map(|text| Some((text.to_string(), hidden(text)?)));
    let options = plan
        .options
        .iter()
        .flat_map(|(name, values)| values.iter().map(|value| (value.clone(), mask::option(name, value))));
    let whole =
        ["curl", "bearer", "cookie", "proxy-user", "probe-token"].into_iter().flat_map(|name| flags.texts(name));
    let commands = whole.map(|text| (text.to_string(), mask::MASK.to_string()));
    let key = plan.tls.key.iter().map(|key| (key.clone(), mask::MASK.to_string()));
    urls.chain(watched).chain(options).chain(commands).chain(key).filter(|(raw, shown)| raw != shown).collect()
}

/// The format of this name, or of the usual ending of its files where that is shorter.
fn format_of_name(text: &str) -> Result<&'static dyn Format, String> {
    let name = if text == "md" { "markdown" } else { text };
    let unknown = || format!("`{text}` is not one of {}", FORMATS.map(Format::name).join(", "));
    formats::format(name).ok_or_else(unknown)
}

/// The format that the name of a file asks for.
fn format_of_file(path: &str) -> Option<&'static dyn Format> {
    formats::format_of_ending(Path::new(path).extension()?.to_str()?)
}

/// A language, or a locale of it: `zh`, `zh-CN`, `zh_CN.UTF-8`.
pub(super) fn language(text: &str) -> Result<Lang, String> {
    match text.to_ascii_lowercase().split(['-', '_', '.']).next() {
        Some("en") => Ok(Lang::En),
        Some("zh") => Ok(Lang::Zh),
        _ => Err(format!("`{text}` is not a language of brunt; write en or zh")),
    }
}

/// How to show it.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn presentation(flags: &Matched<'_>) -> Result<Presentation, Complaint> {
    let format = flags.parsed("format", "--format", format_of_name)?;
    let ending = flags.text("output").and_then(format_of_file);
    Ok(Presentation {
        format: format.or(ending).unwrap_or(FORMATS[0]),
        format_given: format.is_some(),
        output: flags.text("output").map(String::from),
        language: flags.parsed("lang", "--lang", language)?,
        quiet: flags.switch("quiet"),
        no_color: flags.switch("no-color"),
    })
}
