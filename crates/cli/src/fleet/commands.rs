//! `brunt fleet`: makes a fleet, and changes who may come.

use std::io::Write;
use std::process::{Command, Stdio};

use brunt_cause::{Complaint, complaint};
use brunt_config::{FleetAction, FleetCommand};
use brunt_contract::UsageError;
use brunt_fleet::FleetDirectory;
use brunt_report::text::{Text, text};
use brunt_report::{Exit, Lang};

use super::{link, presence};
use crate::run::CommandResult;
use crate::screen;

const MADE: Text = text("fleet made in {directory}", "机群已建立于 {directory}");
const NO_AGENT_YET: Text = text(
    "It has no agent yet: `brunt fleet add eu-1` adds one and prints the command that starts it.",
    "还没有施压机：`brunt fleet add eu-1` 添加一个，并打印启动它的命令。",
);
const ADDED: Text = text("start {name} on its machine with:", "在其机器上用以下命令启动 {name}：");
const TOKENS: Text = text(
    "A token is a password: it lets its holder lend a machine as that agent. Runs use them with `brunt run URL --agents all`.",
    "令牌相当于密码：持有者可以该施压机的身份出借机器。用 `brunt run URL --agents all` 在它们上运行。",
);
const REMOVED: Text = text("{name} is no agent any more", "{name} 不再是施压机");
const RECONNECTED: Text = text(
    "A run or console that has agents now reconnects them, for about five seconds; nothing is lost: their figures wait.",
    "正在使用施压机的压测或控制台会重新连接，约需五秒；数据不会丢失，会等待送达。",
);

/// Executes the command.
///
/// # Errors
/// There is no such fleet, or it cannot be changed.
pub fn command(asked: &FleetCommand) -> CommandResult {
    let lang = asked.language.unwrap_or_else(Lang::from_env);
    let wrong = |trouble: Complaint| UsageError::new("fleet", trouble);
    match &asked.action {
        FleetAction::Show { watch } => presence::show(asked, *watch, lang),
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
            said.extend(add(&fleet, names, None, lang).map_err(wrong)?);
            said.push(lang.of(if names.is_empty() { NO_AGENT_YET } else { TOKENS }).to_owned());
            Ok(screen::print_unescaped(&(said.join("\n\n") + "\n"), 0, lang))
        }
        FleetAction::Add(names) => {
            needs_directory(asked)?;
            let fleet = FleetDirectory::open(&link::directory(asked.fleet.as_deref())?).map_err(wrong)?;
            let host = asked.hosts.first().map(String::as_str);
            let mut said = add(&fleet, names, host, lang).map_err(wrong)?;
            said.push(lang.of(RECONNECTED).to_owned());
            Ok(screen::print_unescaped(&(said.join("\n\n") + "\n"), 0, lang))
        }
        FleetAction::Remove(names) => {
            needs_directory(asked)?;
            let fleet = FleetDirectory::open(&link::directory(asked.fleet.as_deref())?).map_err(wrong)?;
            for name in names {
                fleet.remove(name).map_err(wrong)?;
                screen::print(&(lang.fill(REMOVED, &[("name", name)]) + "\n"), 0, lang);
            }
            screen::print(&format!("{}\n", lang.of(RECONNECTED)), 0, lang);
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

/// Adds agents; returns for each whose command follows, and the command that starts it.
fn add(fleet: &FleetDirectory, names: &[String], host: Option<&str>, lang: Lang) -> Result<Vec<String>, Complaint> {
    let one = |name: &String| Ok([lang.fill(ADDED, &[("name", name)]), join(fleet, name, host)?]);
    Ok(names.iter().map(one).collect::<Result<Vec<_>, Complaint>>()?.concat())
}

/// Adds an agent; returns the command that starts it.
fn join(fleet: &FleetDirectory, name: &str, host: Option<&str>) -> Result<String, Complaint> {
    let token = fleet.add(name)?;
    Ok(format!("brunt agent --join {} --token {token}", fleet.join_address(host)))
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
    let host = asked.hosts.first().map(String::as_str);
    for machine in machines {
        let name = name_of(machine);
        let command = join(&fleet, &name, host).map_err(wrong)?;
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
