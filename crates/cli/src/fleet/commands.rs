//! `brunt fleet`: makes a fleet, and shows who is there.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use brunt_cause::{Complaint, complaint};
use brunt_config::{FleetAction, FleetCommand};
use brunt_contract::UsageError;
use brunt_fleet::{AgentPresence, AgentState, FleetDirectory, unfinished_runs};
use brunt_report::text::{Text, text};
use brunt_report::{Exit, Lang, columns, numbers};

use super::{link, runs, watch};
use crate::run::CommandResult;
use crate::{screen, signals};

const MADE: Text = text(
    "fleet made in {directory}; start each agent on its machine with its command:",
    "机群已建立于 {directory}；在每台机器上用各自的命令启动施压机：",
);
const ADDED: Text = text("start {name} on its machine with:", "在其机器上用以下命令启动 {name}：");
const TOKENS: Text = text(
    "A token is a password: it lets its holder lend a machine as that agent. Runs use them with `brunt run URL --agents all`.",
    "令牌相当于密码：持有者可以该施压机的身份出借机器。用 `brunt run URL --agents all` 在它们上运行。",
);
const REMOVED: Text = text("{name} is no agent any more", "{name} 不再是施压机");
const NOBODY: Text = text("no agent is there; those that may come: {names}", "没有在线的施压机；可以加入的有：{names}");
const HEADINGS: [Text; 9] = [
    text("agent", "施压机"),
    text("labels", "标签"),
    text("cores", "核"),
    text("used by others", "其他占用"),
    text("memory", "内存"),
    text("descriptors", "描述符"),
    text("brunt", "brunt"),
    text("round trip", "往返"),
    text("state", "状态"),
];
const CAPACITY: Text = text("measured", "实测上限");
const IDLE: Text = text("idle", "空闲");
const RUNS: Text = text("runs {run}", "正在运行 {run}");
const SILENT: Text = text("there, but does not answer", "在线但没有响应");
const CLOCK: Text = text(
    "{agent}: its clock shows {difference} {way}; runs are not affected, since they compare clocks themselves",
    "{agent}：其时钟{way} {difference}；压测自行对时，不受影响",
);
const UNFINISHED: Text = text(
    "run {run} lost its coordinator; go on with it: brunt run --resume {run}",
    "压测 {run} 失去了协调端；继续：brunt run --resume {run}",
);
const AHEAD: Text = text("ahead", "快");
const BEHIND: Text = text("behind", "慢");
const TOO_OLD: Text = text(
    "{agent}: brunt {theirs}, and this is brunt {ours}; it will be refused until both are the same",
    "{agent}：brunt {theirs}，而这里是 brunt {ours}；版本一致之前会被拒绝",
);
/// Interval at which a fleet is looked at again.
const EVERY: Duration = Duration::from_secs(1);
/// Difference of wall clocks that is worth a line (nanoseconds).
const CLOCK_APART: i64 = 1_000_000_000;

/// Executes the command.
///
/// # Errors
/// There is no such fleet, or it cannot be changed.
pub fn command(asked: &FleetCommand) -> CommandResult {
    let lang = asked.language.unwrap_or_else(Lang::from_env);
    let wrong = |trouble: Complaint| UsageError::new("fleet", trouble);
    match &asked.action {
        FleetAction::Show { watch } => show(asked, *watch, lang),
        FleetAction::Init { hosts, names } => {
            needs_directory(asked)?;
            let [host, ..] = &hosts[..] else {
                let trouble = complaint!(
                    "is missing: the host or address at which agents reach this machine",
                    "缺失：施压机访问本机所用的主机名或地址"
                );
                return Err(UsageError::new("--host", trouble));
            };
            names.iter().try_for_each(|name| brunt_fleet::check_name(name)).map_err(wrong)?;
            let fleet = FleetDirectory::init(&link::directory(asked.fleet.as_deref())?, hosts).map_err(wrong)?;
            let any = if host.contains(':') { "[::]" } else { "0.0.0.0" };
            fleet.set_listen(&format!("{any}:{}", asked.port)).map_err(|error| wrong(error.to_string().into()))?;
            let directory = fleet.path().display().to_string();
            let mut said = vec![lang.fill(MADE, &[("directory", &directory)])];
            for name in names {
                said.push(join(&fleet, name, host).map_err(wrong)?);
            }
            said.push(lang.of(TOKENS).to_owned());
            Ok(screen::print_unescaped(&(said.join("\n\n") + "\n"), 0, lang))
        }
        FleetAction::Add(names) => {
            needs_directory(asked)?;
            let fleet = FleetDirectory::open(&link::directory(asked.fleet.as_deref())?).map_err(wrong)?;
            let host = asked.hosts.first().cloned().or_else(|| fleet.host()).unwrap_or_else(|| "HOST".into());
            let mut said = Vec::new();
            for name in names {
                said.push(lang.fill(ADDED, &[("name", name)]));
                said.push(join(&fleet, name, &host).map_err(wrong)?);
            }
            Ok(screen::print_unescaped(&(said.join("\n\n") + "\n"), 0, lang))
        }
        FleetAction::Remove(names) => {
            needs_directory(asked)?;
            let fleet = FleetDirectory::open(&link::directory(asked.fleet.as_deref())?).map_err(wrong)?;
            for name in names {
                fleet.remove(name).map_err(wrong)?;
                screen::print(&(lang.fill(REMOVED, &[("name", name)]) + "\n"), 0, lang);
            }
            Ok(Exit::Ok.code())
        }
        FleetAction::Ssh(machines) => ssh(asked, machines, lang),
    }
}

fn needs_directory(asked: &FleetCommand) -> Result<(), UsageError> {
    if asked.fleet.as_deref().is_some_and(link::is_nats) {
        let trouble = complaint!(
            "a NATS server has its own users; start agents with `brunt agent --join nats://HOST:4222`",
            "NATS 服务器有自己的用户；请用 `brunt agent --join nats://HOST:4222` 启动施压机"
        );
        return Err(UsageError::new("--fleet", trouble));
    }
    Ok(())
}

/// Adds an agent; returns the command that starts it.
fn join(fleet: &FleetDirectory, name: &str, host: &str) -> Result<String, Complaint> {
    let token = fleet.add(name)?;
    let port = fleet.listen().and_then(|listen| listen.rsplit_once(':').map(|(_, port)| port.to_owned()));
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    Ok(format!("brunt agent --join {host}:{} --token {token}", port.unwrap_or_else(|| "7447".into())))
}

/// Shows who is there, once or until a signal.
fn show(asked: &FleetCommand, goes_on: bool, lang: Lang) -> CommandResult {
    let fleet = watch(asked.fleet.as_deref())?;
    let wait = Duration::from_nanos(asked.wait.0);
    // Agents look for their coordinator once a second.
    fleet.wait_for(wait, |there| fleet.is_whole(there));
    let stop = signals::Interrupts::listen().map_err(|why| UsageError::new("signals", why.to_string()))?;
    if goes_on {
        stop.enable_graceful_stop();
    }
    let mut last = String::new();
    loop {
        let there = fleet.survey();
        let unfinished = runs().map(|runs| unfinished_runs(&runs)).unwrap_or_default();
        let page =
            if asked.json { json(&there, &unfinished) } else { page(&there, (fleet.expected(), &unfinished), lang) };
        // What a repeated line would show as changed are only its measurements.
        let key = key(&there);
        if key != last || !goes_on {
            last = key;
            let mut out = std::io::stdout();
            if out.write_all(page.as_bytes()).and_then(|()| out.flush()).is_err() {
                return Ok(Exit::Ok.code());
            }
        }
        if !goes_on || stop.stop().requested() {
            return Ok(Exit::Ok.code());
        }
        fleet.wait_for(EVERY, |_| stop.stop().requested());
    }
}

/// Returns what of the fleet is worth another line.
fn key(there: &[AgentPresence]) -> String {
    let one = |agent: &AgentPresence| match &agent.description {
        Some(found) => format!("{} {:?} {:?} {}", agent.name, found.state, found.labels, found.brunt),
        None => format!("{} silent", agent.name),
    };
    there.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn json(there: &[AgentPresence], unfinished: &[String]) -> String {
    serde_json::json!({ "agents": there, "unfinished_runs": unfinished }).to_string() + "\n"
}

fn page(there: &[AgentPresence], (expected, unfinished): (&[String], &[String]), lang: Lang) -> String {
    let unfinished = unfinished.iter().map(|run| lang.fill(UNFINISHED, &[("run", run)]));
    if there.is_empty() {
        let names = if expected.is_empty() { "-".to_owned() } else { expected.join(", ") };
        let lines = std::iter::once(lang.fill(NOBODY, &[("names", &names)])).chain(unfinished);
        return lines.map(|line| line + "\n").collect();
    }
    let mut headings: Vec<String> = HEADINGS.iter().map(|heading| lang.of(*heading).to_owned()).collect();
    headings.insert(4, lang.of(CAPACITY).to_owned());
    let rows = std::iter::once(headings).chain(there.iter().map(|agent| row(agent, lang))).collect::<Vec<_>>();
    let mut lines = columns::table(&rows);
    lines.extend(there.iter().flat_map(|agent| remarks(agent, lang)));
    lines.extend(unfinished);
    lines.join("\n") + "\n"
}

fn row(agent: &AgentPresence, lang: Lang) -> Vec<String> {
    let Some(found) = &agent.description else {
        let mut row = vec!["-".to_owned(); 10];
        (row[0], row[9]) = (agent.name.clone(), lang.of(SILENT).to_owned());
        return row;
    };
    let host = &found.host;
    let dash = || "-".to_owned();
    let capacity = host
        .calibration
        .as_ref()
        .map(|c| format!("{}/s", numbers::rate(c.at_most_per_s(host.cores as u32, host.cores))));
    let labels = if found.labels.is_empty() { dash() } else { found.labels.join(" ") };
    vec![
        agent.name.clone(),
        labels,
        format!("{:.0}", host.cores),
        found.busy_cores.map_or_else(dash, |cores| format!("{cores:.1}")),
        capacity.unwrap_or_else(dash),
        format!("{:.1} GiB", host.memory as f64 / (1u64 << 30) as f64),
        numbers::count(host.descriptors),
        found.brunt.clone(),
        numbers::seconds(agent.round_trip.as_secs_f64()),
        match &found.state {
            AgentState::Idle => lang.of(IDLE).to_owned(),
            AgentState::Runs(run) => lang.fill(RUNS, &[("run", run)]),
        },
    ]
}

fn remarks(agent: &AgentPresence, lang: Lang) -> Vec<String> {
    let Some(found) = &agent.description else { return Vec::new() };
    let mut said = Vec::new();
    let ours = env!("CARGO_PKG_VERSION");
    if found.brunt != ours {
        let facts = [("agent", &*agent.name), ("theirs", &*found.brunt), ("ours", ours)];
        said.push(lang.fill(TOO_OLD, &facts));
    }
    if agent.wall_ahead_ns.abs() > CLOCK_APART {
        let difference = numbers::seconds(agent.wall_ahead_ns.unsigned_abs() as f64 / 1e9);
        let way = lang.of(if agent.wall_ahead_ns > 0 { AHEAD } else { BEHIND });
        said.push(lang.fill(CLOCK, &[("agent", &agent.name), ("difference", &difference), ("way", way)]));
    }
    said
}

const COPIED: Text = text("{machine}: agent {name} started", "{machine}：施压机 {name} 已启动");

/// Copies brunt and its link to machines, and starts an agent on each.
fn ssh(asked: &FleetCommand, machines: &[String], lang: Lang) -> CommandResult {
    needs_directory(asked)?;
    let wrong = |trouble: Complaint| UsageError::new("ssh", trouble);
    // What begins with a hyphen would be an option of ssh.
    if machines.is_empty() || machines.iter().any(|machine| machine.starts_with('-')) {
        let trouble = complaint!(
            "name machines as ssh knows them, and options of their agents with --agent-option: `brunt fleet ssh a,b`",
            "请写 ssh 所认识的机器，其施压机的选项用 --agent-option：`brunt fleet ssh a,b`"
        );
        return Err(wrong(trouble));
    }
    let fleet = FleetDirectory::open(&link::directory(asked.fleet.as_deref())?).map_err(wrong)?;
    let host = asked.hosts.first().cloned().or_else(|| fleet.host()).unwrap_or_default();
    for machine in machines {
        let name = name_of(machine);
        let command = join(&fleet, &name, &host).map_err(wrong)?;
        start_over_ssh(machine, &command, &asked.agent_options).map_err(|why| {
            // Its token was not used, and would block the next attempt.
            let _ = fleet.remove(&name);
            wrong(complaint!("{machine}: {why}", "{machine}：{why}"))
        })?;
        screen::print(&(lang.fill(COPIED, &[("machine", machine), ("name", &name)]) + "\n"), 0, lang);
    }
    Ok(Exit::Ok.code())
}

/// Returns the name of the agent on a machine: `user@Host.example` is `host-example`.
fn name_of(machine: &str) -> String {
    let host = machine.rsplit_once('@').map_or(machine, |(_, host)| host).to_ascii_lowercase();
    let name: String = host.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(38).collect();
    if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { format!("a-{name}") }
}

/// Copies both programs and starts the agent; the token goes over standard input, not on the command line of the machine.
fn start_over_ssh(machine: &str, command: &str, options: &[String]) -> Result<(), String> {
    const PLACE: &str = ".cache/brunt-agent";
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let beside = own.with_file_name("brunt-link");
    let run = |mut command: Command| -> Result<(), String> {
        let done = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
    };
    let ssh = |line: &str| {
        let mut ssh = Command::new("ssh");
        ssh.args(["-o", "BatchMode=yes", machine, line]);
        ssh
    };
    run(ssh(&format!("mkdir -p -m 700 {PLACE}")))?;
    let mut copy = Command::new("scp");
    copy.args(["-q", "-o", "BatchMode=yes"]).args([&own, &beside]).arg(format!("{machine}:{PLACE}/"));
    run(copy)?;
    let (start, token) = command.rsplit_once(" --token ").ok_or("no token was made")?;
    let options: Vec<String> = options.iter().map(|option| format!("'{}'", option.replace('\'', "'\\''"))).collect();
    let start = start.replacen("brunt", "./brunt", 1);
    // One that ends at once says why, instead of being missing later.
    let line = format!(
        "cd {PLACE} && umask 077 && cat > token || exit 1
         setsid nohup {start} --token @token {} > agent.log 2>&1 < /dev/null &
         sleep 1; kill -0 $! 2> /dev/null || {{ cat agent.log >&2; exit 1; }}",
        options.join(" ")
    );
    let mut started =
        ssh(&line).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    if let Some(mut input) = started.stdin.take() {
        input.write_all(token.as_bytes()).map_err(|error| error.to_string())?;
    }
    let done = started.wait_with_output().map_err(|error| error.to_string())?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()) }
}
