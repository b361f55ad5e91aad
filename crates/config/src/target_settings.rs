//! `brunt target`: the configuration of the built-in server.

use std::path::PathBuf;
use std::sync::Arc;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{PeerAddress, UsageError};
use brunt_net::tls::RustlsServer;
use brunt_plan::quantity;
use brunt_report::Lang;
use brunt_test_server::{Config, DelayDistribution, ServerStall};
use clap::ArgAction;

use super::setting::{SettingSpec, TypedSetting, many, message, one, settings, switch, text};
use super::values::SettingValues;
use super::{command_line, parsers, probe_settings};

/// The settings of a target.
#[derive(Debug)]
pub struct TargetSettings {
    /// Configuration of the server.
    pub config: Config,
    /// Set if the server exits together with its parent process.
    pub with_parent: bool,
}

settings! { SETTINGS {
    LISTEN: PeerAddress =
        one("listen", "ADDRESS", place, "Where to listen: 127.0.0.1:8080, :8080, unix:/path [default: 127.0.0.1:8080]", "监听地址：127.0.0.1:8080，:8080，unix:/path [默认：127.0.0.1:8080]");
    UNIX_SOCKET: String = one("unix-socket", "PATH", text, "Listen on this Unix socket", "监听这个 Unix 套接字");
    WORKERS: u32 = one("workers", "N", parsers::workers, "Threads [default: one per core available]", "线程数 [默认：每个可用核一个]").short('w');
    BACKLOG: u32 = one(
        "backlog", "N", |text| quantity::bounded_count(text, "connections", i32::MAX as u64),
        "Listen backlog: connections the kernel holds before they are accepted [default: the system's maximum]", "监听队列：内核在 accept 之前保留的连接数 [默认：系统的最大值]",
    );
    MAX_CONNECTIONS: u32 =
        one("max-connections", "N", parsers::connections, "Accept no more than this many open connections", "同时打开的连接不超过此数");
    DELAY: DelayDistribution =
        one("delay", "DELAY", parsed, "Delay responses: 10ms, uniform:5ms..15ms, exponential:2ms, lognormal:10ms,0.5", "延迟响应：10ms，uniform:5ms..15ms，exponential:2ms，lognormal:10ms,0.5");
    ERROR_RATE: f64 = one("error-rate", "SHARE", share, "Share of requests to fail with 500: 0.01 or 1%", "以 500 失败的请求占比：0.01 或 1%");
    CLOSE_RATE: f64 =
        one("close-rate", "SHARE", share, "Share of requests whose connection is closed instead", "以关闭连接代替响应的请求占比");
    STALL: ServerStall =
        many("stall", "AT+TIME[/EVERY]", parsed, "Stall: 5s+1s, or 5s+1s/10s every ten seconds; repeatable", "停顿：5s+1s，或每十秒一次 5s+1s/10s；可重复");
    LOG_ARRIVALS: String =
        one("log-arrivals", "FILE", text, "Log the arrival time of every request to FILE, in nanoseconds", "把每个请求的到达时间（纳秒）记入 FILE");
    SEED: u64 = one("seed", "N", parsers::seed, "Seed for all random choices [default: 0]", "所有随机选择的种子 [默认：0]");
    TLS: () = switch("tls", "Use TLS, with a certificate made for this run (clients need -k) or that of --cert", "使用 TLS：临时生成的证书（客户端需加 -k），或 --cert 的证书");
    CERT: String = one("cert", "FILE", text, "Certificate chain (PEM)", "证书链（PEM）");
    KEY: String = probe_settings::KEY;
    WITH_PARENT: () = switch("with-parent", "", "");
} }

fn place(text: &str) -> Result<PeerAddress, Complaint> {
    brunt_test_server::place(text)
}

fn share(text: &str) -> Result<f64, Complaint> {
    brunt_test_server::share(text)
}

fn parsed<T: std::str::FromStr<Err = Complaint>>(text: &str) -> Result<T, Complaint> {
    text.parse()
}

/// Returns the command line of `brunt target`.
pub fn command(lang: Lang) -> clap::Command {
    command_line::bare("brunt target", lang)
        .about(lang.of(message(
            "The built-in server: a target to load, with faults on request.",
            "内置服务：供压测使用，可按要求产生故障。",
        )))
        .arg(command_line::words(&LISTEN.spec, lang))
        .args(command_line::args(&SETTINGS[1..14], lang))
        .arg(clap::Arg::new(WITH_PARENT.spec.name).long("with-parent").action(ArgAction::SetTrue).hide(true))
}

/// Reads the settings of `brunt target`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(values: &SettingValues) -> Result<TargetSettings, UsageError> {
    let usual = Config::default();
    let config = Config {
        listen: listen(values)?,
        workers: values.get(&WORKERS)?.unwrap_or(usual.workers),
        backlog: values.get(&BACKLOG)?.unwrap_or(usual.backlog),
        max_connections: values.get(&MAX_CONNECTIONS)?,
        delay: values.get(&DELAY)?,
        error_rate: values.get(&ERROR_RATE)?.unwrap_or(0.0),
        close_rate: values.get(&CLOSE_RATE)?.unwrap_or(0.0),
        stalls: values.each(&STALL)?,
        log_arrivals: values.text(&LOG_ARRIVALS).map(PathBuf::from),
        tls: tls(values)?,
        seed: values.get(&SEED)?.unwrap_or(0),
    };
    Ok(TargetSettings { config, with_parent: values.has(&WITH_PARENT) })
}

fn listen(values: &SettingValues) -> Result<PeerAddress, UsageError> {
    match (values.text(&LISTEN), values.text(&UNIX_SOCKET)) {
        (Some(address), Some(_)) => {
            let trouble = complaint!(
                "cannot be combined with the address {address}; leave one of them out",
                "不能与地址 {address} 同用；请去掉其中一个"
            );
            Err(values.wrong(&UNIX_SOCKET, trouble))
        }
        (None, Some(path)) => Ok(PeerAddress::Unix(Arc::new(PathBuf::from(path)))),
        (Some(address), None) => {
            brunt_test_server::place(address).map_err(|trouble| UsageError::new("ADDRESS", trouble))
        }
        (None, None) => Ok(Config::default().listen),
    }
}

/// Returns the TLS configuration for a given certificate or for a new self-signed one.
fn tls(values: &SettingValues) -> Result<Option<RustlsServer>, UsageError> {
    let given = probe_settings::shown(
        values,
        |file| brunt_protocols::file::read_bounded("--cert", file, brunt_protocols::file::TEXT_BOUND),
        brunt_test_server::ALPN,
    )?;
    if given.is_some() || !values.has(&TLS) {
        return Ok(given);
    }
    let made = RustlsServer::self_signed(&["localhost", "127.0.0.1", "::1"], brunt_test_server::ALPN);
    made.map(Some).map_err(|wrong| values.wrong(&TLS, wrong.problem))
}
