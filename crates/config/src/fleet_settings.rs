//! `brunt agent` and `brunt fleet`, and the agents of a run (`--agents`).

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_measure::Nanos;
use brunt_plan::{AgentSelection, AllowedTarget, LossPolicy, MOST_LABELS, OwnerTerms, RunTerms, is_label, quantity};
use brunt_report::Lang;

use super::intent::{Presentation, presentation};
use super::setting::{SettingSpec, TypedSetting, many, message, one, settings, switch, text};
use super::settings::{
    AGENTS, AGENTS_WAIT, CONSOLE, DOCUMENT, FLEET, LANG, LOST_AFTER, ON_LOST, ORPHAN_TIMEOUT, RECORD,
};
use super::values::SettingValues;
use super::{command_line, help};

/// Port of a fleet's coordinator.
pub const PORT: u16 = 7447;
/// Variable with the token of an agent.
pub const TOKEN_VARIABLE: &str = "BRUNT_AGENT_TOKEN";
/// Maximum length of a file with a token, so that a device does not fill the memory.
const TOKEN_BYTES: u64 = 64 << 10;
/// Time for which agents are waited for.
const WAIT: Nanos = Nanos::from_secs(10);
/// Time within which all agents are there again after one was added or removed.
const RECONNECT: Nanos = Nanos::from_secs(6);
/// Least `--lost-after` with which load is redistributed: agents find the next link of a coordinator that was killed after
/// three seconds and some.
const LEAST_REDISTRIBUTED: Nanos = Nanos::from_secs(5);

/// The agents of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetRequest {
    /// Which ones.
    pub agents: AgentSelection,
    /// The fleet: a directory, or the URL of a NATS server; `None` for the usual directory.
    pub fleet: Option<String>,
    /// Time for which they are waited for.
    pub wait: Nanos,
    /// What holds if one is lost.
    pub terms: RunTerms,
}

/// Reads the agents of a run, if there are any.
///
/// # Errors
/// A setting is invalid, or has no meaning without agents.
pub fn of_run(said: &SettingValues) -> Result<Option<FleetRequest>, UsageError> {
    let usual = RunTerms::default();
    let terms = RunTerms {
        on_lost: said.get(&ON_LOST)?.unwrap_or(usual.on_lost),
        lost_after: said.get(&LOST_AFTER)?.unwrap_or(usual.lost_after),
        orphan_timeout: said.get(&ORPHAN_TIMEOUT)?.unwrap_or(usual.orphan_timeout),
    };
    let wait = said.get(&AGENTS_WAIT)?.unwrap_or(WAIT);
    let Some(agents) = said.get(&AGENTS)? else {
        for option in [&ON_LOST.spec, &LOST_AFTER.spec, &ORPHAN_TIMEOUT.spec, &AGENTS_WAIT.spec, &FLEET.spec] {
            if said.contains(option.name) {
                let trouble =
                    complaint!("has a meaning only with --agents; add it", "只在使用 --agents 时有意义；请加上它");
                return Err(UsageError::new(format!("--{}", option.name), trouble));
            }
        }
        return Ok(None);
    };
    check_terms(&terms)?;
    Ok(Some(FleetRequest { agents, fleet: said.get(&FLEET)?, wait, terms }))
}

/// Checks that agents outlive the death of their coordinator: while others may take over their load, they stop once they heard
/// nothing of it for `--lost-after`.
fn check_terms(terms: &RunTerms) -> Result<(), UsageError> {
    if terms.on_lost != LossPolicy::Redistribute || terms.lost_after >= LEAST_REDISTRIBUTED {
        return Ok(());
    }
    let trouble = complaint!(
        "is too short for --on-lost redistribute: agents stop once they heard nothing of the coordinator for that time, and find \
         one that was killed again after 3 s and more; write 5s or more, or use --on-lost go-on",
        "对 --on-lost redistribute 来说太短：施压机在这段时间内没有协调端的消息就会停止，而协调端被终止后要 3 s 以上才能重新连上；请写 5s 或更长，或改用 --on-lost go-on"
    );
    Err(UsageError::new("--lost-after", trouble))
}

/// The settings of `brunt agent`.
#[derive(Debug)]
pub struct AgentCommand {
    /// Address of the coordinator (`host:port`), or the URL of a NATS server.
    pub join: String,
    /// The token, for a coordinator.
    pub token: Option<String>,
    /// Its name, for NATS; that of the token otherwise.
    pub name: Option<String>,
    /// Its labels.
    pub labels: Vec<String>,
    /// What its owner allows.
    pub terms: OwnerTerms,
    /// Directory for what was not handed in yet; `None` for the usual one.
    pub spool: Option<PathBuf>,
    /// Language; `None` for that of the locale.
    pub language: Option<Lang>,
}

settings! { AGENT {
    JOIN: String = one("join", "HOST:PORT", join, "The coordinator to join, or a NATS server: nats://HOST:4222", "要加入的协调端，或 NATS 服务器：nats://HOST:4222");
    TOKEN: String = one(
        "token", "TOKEN", text,
        "Token of this agent, or @FILE that holds it [default: $BRUNT_AGENT_TOKEN]", "本施压机的令牌，或存放令牌的 @FILE [默认：$BRUNT_AGENT_TOKEN]",
    );
    NAME: String = one("name", "NAME", text, "Name of this agent, with NATS [default: the host name]", "使用 NATS 时本施压机的名称 [默认：主机名]");
    LABEL: String = many("label", "WORD", word, "A label to choose this agent by: eu, big; repeatable", "用于选择本施压机的标签：eu、big；可重复");
    ALLOW: AllowedTarget = many(
        "allow", "HOST/CIDR", allowed,
        "Allow only these targets: api.test, 10.0.0.0/8; repeatable [default: every address that is not public]", "只允许这些目标：api.test，10.0.0.0/8；可重复 [默认：所有非公网地址]",
    );
    MAX_RATE: f64 = one("max-rate", "RATE", super::parsers::rate, "Never send more than this from here: 5000/s", "从本机发送的速率不超过此值：5000/s");
    MAX_CONNECTIONS: u64 = one(
        "max-connections", "N", |text| quantity::count(text, "connections"),
        "Never open more connections than this from here", "从本机打开的连接不超过此数",
    );
    SPOOL: String = one("spool", "DIR", text, "Keep figures that are not handed in yet in DIR [default: $XDG_STATE_HOME/brunt/spool]", "把尚未上交的数据存放在 DIR [默认：$XDG_STATE_HOME/brunt/spool]");
    AGENT_LANG: Lang = LANG;
} }

fn join(text: &str) -> Result<String, Complaint> {
    if text.starts_with("nats://") || text.starts_with("tls://") {
        return Ok(text.to_owned());
    }
    let wrong = || {
        complaint!(
            "write the host and port of the coordinator (coordinator.test:7447), or nats://HOST:4222, not `{text}`",
            "请写协调端的主机和端口（coordinator.test:7447），或 nats://HOST:4222，而不是“{text}”"
        )
    };
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.starts_with('[') => (host, port.parse::<u16>().ok()),
        Some(_) => return Err(wrong()),
        None => (text, Some(PORT)),
    };
    match port {
        Some(port) if port > 0 && !host.is_empty() && !host.contains('/') => Ok(format!("{host}:{port}")),
        _ => Err(wrong()),
    }
}

fn word(text: &str) -> Result<String, Complaint> {
    if is_label(text) {
        return Ok(text.to_owned());
    }
    Err(complaint!(
        "labels are words of up to 40 letters, digits, hyphens and dots (eu-west.1), not `{text}`",
        "标签由最多 40 个字母、数字、连字符和点组成（eu-west.1），而不是“{text}”"
    ))
}

/// Maximum number of targets that an owner lists: what an agent says of itself is bounded.
const MOST_ALLOWED: usize = 1000;

/// Checks that an agent does not say too much of itself.
fn check_number(option: &str, given: usize, most: usize) -> Result<(), UsageError> {
    if given <= most {
        return Ok(());
    }
    let trouble = complaint!("is there {given} times, and {most} is the most", "出现了 {given} 次，最多 {most} 次");
    Err(UsageError::new(option, trouble))
}

fn allowed(text: &str) -> Result<AllowedTarget, Complaint> {
    text.parse()
}

/// Reads the token in a file.
fn token_of(file: &str) -> Result<String, UsageError> {
    let wrong = |trouble| UsageError::new("--token", trouble);
    let mut token = String::new();
    File::open(file)
        .and_then(|opened| opened.take(TOKEN_BYTES + 1).read_to_string(&mut token))
        .map_err(|error| wrong(complaint!("{file} cannot be read: {error}", "无法读取 {file}：{error}")))?;
    if token.len() as u64 > TOKEN_BYTES {
        return Err(wrong(complaint!("{file} is too long for a token", "{file} 太长，不是令牌")));
    }
    Ok(token)
}

/// Returns the command line of `brunt agent`.
pub fn agent_command(lang: Lang) -> clap::Command {
    command_line::bare("brunt agent", lang)
        .about(lang.of(message(
            "Lend this machine to the runs of a fleet, until Ctrl-C.",
            "把本机借给机群的压测使用，直到按 Ctrl-C。",
        )))
        .after_help(lang.of(help::AGENT))
        .args(command_line::args(AGENT, lang))
}

/// Reads the settings of `brunt agent`.
///
/// # Errors
/// A setting is invalid or missing.
pub fn agent(values: &SettingValues) -> Result<AgentCommand, UsageError> {
    let join = values.get(&JOIN)?.ok_or_else(|| {
        let trouble = complaint!(
            "is missing: `brunt fleet init` on the coordinator's machine prints the whole command",
            "缺失：在协调端机器上运行 `brunt fleet init` 会打印完整的命令"
        );
        UsageError::new("--join", trouble)
    })?;
    let token = match values.get(&TOKEN)? {
        Some(text) => match text.strip_prefix('@') {
            Some(file) => Some(token_of(file)?),
            None => Some(text),
        },
        None => std::env::var(TOKEN_VARIABLE).ok(),
    };
    let (labels, allow) = (values.each(&LABEL)?, values.each(&ALLOW)?);
    check_number("--label", labels.len(), MOST_LABELS)?;
    check_number("--allow", allow.len(), MOST_ALLOWED)?;
    Ok(AgentCommand {
        join,
        token,
        name: values.get(&NAME)?,
        labels,
        terms: OwnerTerms { allow, max_rate: values.get(&MAX_RATE)?, max_connections: values.get(&MAX_CONNECTIONS)? },
        spool: values.get(&SPOOL)?.map(PathBuf::from),
        language: values.get(&AGENT_LANG)?,
    })
}

/// What `brunt fleet` does.
#[derive(Debug)]
pub enum FleetAction {
    /// Shows who is there; with `watch`, again whenever that changes.
    Show {
        /// Set to go on.
        watch: bool,
    },
    /// Makes a fleet, whose coordinator is reached at these hosts, with these agents.
    Init {
        /// Hosts of the coordinator.
        hosts: Vec<String>,
        /// Names of the agents.
        names: Vec<String>,
    },
    /// Adds agents.
    Add(Vec<String>),
    /// Removes agents.
    Remove(Vec<String>),
    /// Copies brunt to these machines and starts agents there.
    Ssh(Vec<String>),
}

/// The settings of `brunt fleet`.
#[derive(Debug)]
pub struct FleetCommand {
    /// What to do.
    pub action: FleetAction,
    /// The fleet: a directory, or the URL of a NATS server; `None` for the usual directory.
    pub fleet: Option<String>,
    /// Hosts of the coordinator, as agents reach it.
    pub hosts: Vec<String>,
    /// Port of the coordinator.
    pub port: u16,
    /// Time for which agents are waited for.
    pub wait: Nanos,
    /// Set to write JSON.
    pub json: bool,
    /// Further options of agents started over ssh.
    pub agent_options: Vec<String>,
    /// Language; `None` for that of the locale.
    pub language: Option<Lang>,
}

settings! { FLEET_SETTINGS {
    ACTION: String = many(
        "action", "ACTION", text,
        "init NAME…, add NAME…, remove NAME…, or ssh HOST…; without one, show who is there", "init NAME…、add NAME…、remove NAME… 或 ssh HOST…；省略时显示在线的施压机",
    );
    FLEET_OF: String = one("fleet", "DIR|nats://HOST", text, "The fleet [default: $XDG_CONFIG_HOME/brunt/fleet]", "机群 [默认：$XDG_CONFIG_HOME/brunt/fleet]");
    HOST: String = many("host", "HOST", text, "With init, add and ssh: host or address at which agents reach this machine; repeatable", "用于 init、add 和 ssh：施压机访问本机所用的主机名或地址；可重复");
    FLEET_PORT: u16 = one("port", "PORT", super::parsers::port, "UDP port of the coordinator [default: 7447]", "协调端的 UDP 端口 [默认：7447]");
    FLEET_WAIT: Nanos = one("wait", "TIME", quantity::positive_duration, "Wait this long for agents to come [default: 6s]", "等待施压机上线的时间 [默认：6s]");
    WATCHED: () = switch("watch", "Go on, and show every change", "持续显示每次变化");
    AS_JSON: () = switch("json", "Write JSON; with --watch, a line each second", "输出 JSON；与 --watch 合用时每秒一行");
    AGENT_OPTION: String = many("agent-option", "OPTION", text, "With ssh: an option of brunt agent: --agent-option=--label=eu; repeatable", "用于 ssh：brunt agent 的选项：--agent-option=--label=eu；可重复");
    FLEET_LANG: Lang = LANG;
} }

/// Returns the command line of `brunt fleet`.
pub fn fleet_command(lang: Lang) -> clap::Command {
    command_line::bare("brunt fleet", lang)
        .about(
            lang.of(message("Make a fleet of agents, and show who is there.", "建立施压机机群，并显示在线的施压机。")),
        )
        .after_help(lang.of(help::FLEET))
        .arg(command_line::words(&ACTION.spec, lang).num_args(0..))
        .args(command_line::args(&FLEET_SETTINGS[1..], lang))
}

/// Reads the settings of `brunt fleet`.
///
/// # Errors
/// A setting is invalid, or the action is none.
pub fn fleet(values: &SettingValues) -> Result<FleetCommand, UsageError> {
    let hosts = values.each(&HOST)?;
    let words = values.each(&ACTION)?;
    let (action, names) = words.split_first().map_or((None, &[][..]), |(action, names)| (Some(action.as_str()), names));
    let names = names.to_vec();
    let needs_names = |names: Vec<String>| {
        if names.is_empty() {
            let trouble = complaint!(
                "name the agents: `brunt fleet add eu-1 eu-2`",
                "请写施压机的名称：`brunt fleet add eu-1 eu-2`"
            );
            return Err(UsageError::new("ACTION", trouble));
        }
        Ok(names)
    };
    let action = match action {
        None => FleetAction::Show { watch: values.has(&WATCHED) },
        Some("init") => FleetAction::Init { hosts: hosts.clone(), names },
        Some("add") => FleetAction::Add(needs_names(names)?),
        Some("remove") => FleetAction::Remove(needs_names(names)?),
        Some("ssh") => FleetAction::Ssh(names.iter().flat_map(|names| names.split(',')).map(str::to_owned).collect()),
        Some(other) => {
            let trouble = complaint!(
                "write init, add, remove or ssh, or nothing to see who is there, not `{other}`",
                "请写 init、add、remove 或 ssh；不写则显示在线的施压机，而不是“{other}”"
            );
            return Err(UsageError::new("ACTION", trouble));
        }
    };
    Ok(FleetCommand {
        action,
        fleet: values.get(&FLEET_OF)?,
        hosts,
        port: values.get(&FLEET_PORT)?.unwrap_or(PORT),
        wait: values.get(&FLEET_WAIT)?.unwrap_or(RECONNECT),
        json: values.has(&AS_JSON),
        agent_options: values.each(&AGENT_OPTION)?,
        language: values.get(&FLEET_LANG)?,
    })
}

/// `brunt run --resume`.
#[derive(Debug)]
pub struct ResumeCommand {
    /// The run: its identifier, or its directory.
    pub run: String,
    /// The fleet: a directory, or the URL of a NATS server; `None` for the usual directory.
    pub fleet: Option<String>,
    /// Path of the record; `None` keeps it with the others.
    pub record: Option<String>,
    /// Presentation of the results.
    pub presentation: Presentation,
}

/// The option that makes `brunt run` go on with a run whose coordinator was gone.
pub const RESUME_RUN: TypedSetting<String> = one(
    "resume",
    "RUN",
    text,
    "Go on with a run on agents whose coordinator was killed, or that all fell silent: its identifier, or its directory",
    "继续协调端中断或全部施压机失联的多机压测：压测的标识或目录",
);

/// Options of `brunt run --resume`.
pub const RESUMING: [SettingSpec; 9] = [
    RESUME_RUN.spec,
    FLEET.spec,
    RECORD.spec,
    DOCUMENT[0],
    DOCUMENT[1],
    DOCUMENT[2],
    CONSOLE[0],
    CONSOLE[1],
    CONSOLE[2],
];

/// Returns the command line of `brunt run --resume`.
pub fn resume_command(lang: Lang) -> clap::Command {
    command_line::bare("brunt run --resume", lang)
        .about(lang.of(message(
            "Go on with a run on agents whose coordinator was gone: they kept what it missed.",
            "继续协调端中断的多机压测：施压机保存了它错过的数据。",
        )))
        .args(command_line::args(&RESUMING[..3], lang))
        .args(command_line::document(lang))
}

/// Reads `brunt run --resume`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn resume(values: &SettingValues) -> Result<ResumeCommand, UsageError> {
    Ok(ResumeCommand {
        run: values.get(&RESUME_RUN)?.unwrap_or_default(),
        fleet: values.get(&FLEET)?,
        record: values.get(&RECORD)?,
        presentation: presentation(values)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_from_a_file_of_its_size() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        std::fs::write(&path, "brunt1.abc\n").unwrap();
        assert_eq!(token_of(&path).unwrap(), "brunt1.abc\n");
        let said = |path: &str| token_of(path).unwrap_err().to_string();
        assert!(said("/dev/zero").contains("too long"));
        assert!(said("/nowhere").contains("cannot be read"));
    }

    #[test]
    fn what_an_agent_says_of_itself_is_bounded() {
        let asked = |more: &str, times| {
            let words = format!("agent --join h --token t{}", format!(" {more}").repeat(times));
            let words: Vec<String> = words.split(' ').map(String::from).collect();
            let defaults = crate::Defaults { cores: 1.0, descriptors: 1024, seed: 7 };
            crate::read(&words, &brunt_protocols::all(), &defaults).map(drop).map_err(|wrong| wrong.to_string())
        };
        for (more, most) in [("--label a", MOST_LABELS), ("--allow a.test", MOST_ALLOWED)] {
            assert_eq!(asked(more, most), Ok(()), "{more}");
            let said = asked(more, most + 1).expect_err(more);
            assert!(said.ends_with(&format!("is there {} times, and {most} is the most", most + 1)), "{said}");
        }
        assert!(asked(&format!("--label {}", "x".repeat(41)), 1).is_err_and(|said| said.contains("up to 40 letters")));
    }

    #[test]
    fn load_is_redistributed_only_while_agents_outlive_the_death_of_their_coordinator() {
        let checked = |on_lost, seconds| {
            let terms = RunTerms { on_lost, lost_after: Nanos::from_secs(seconds), ..RunTerms::default() };
            check_terms(&terms).map_err(|wrong| wrong.to_string())
        };
        assert_eq!((checked(LossPolicy::Redistribute, 5), checked(LossPolicy::GoOn, 1)), (Ok(()), Ok(())));
        let said = checked(LossPolicy::Redistribute, 4).unwrap_err();
        assert!(said.starts_with("--lost-after: is too short for --on-lost redistribute"), "{said}");
    }
}
