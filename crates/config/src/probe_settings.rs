//! The settings of `brunt probe`.

use std::net::{SocketAddr, ToSocketAddrs};

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_counters::remote::ServiceSelector;
use brunt_net::tls::RustlsServer;
use brunt_report::Lang;

use super::command_line;
use super::counter_sources::TOKEN;
use super::parsers;
use super::setting::{SettingSpec, TypedSetting, message, one, settings, text};
use super::values::SettingValues;

/// Default address.
const LISTEN: &str = "127.0.0.1:7070";

/// The settings of a probe.
pub struct ProbeSettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Token that clients must send.
    pub token: Option<String>,
    /// TLS configuration; `None` for plain TCP.
    pub tls: Option<RustlsServer>,
    /// The service whose counters the probe sends.
    pub follow: ServiceSelector,
}

impl std::fmt::Debug for ProbeSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token must not appear in debug output.
        f.debug_struct("Probing").field("listen", &self.listen).field("follow", &self.follow).finish_non_exhaustive()
    }
}

settings! { SETTINGS {
    LISTEN_AT: SocketAddr = one(
        "listen", "ADDRESS", address,
        "Where to listen; beyond this machine, a token and a certificate are needed [default: 127.0.0.1:7070]", "监听地址；供其他机器访问时需要令牌和证书 [默认：127.0.0.1:7070]",
    );
    TOKEN_TEXT: String = one("token", "TOKEN", text, "Token that clients must send [default: $BRUNT_PROBE_TOKEN]", "客户端必须发送的令牌 [默认：$BRUNT_PROBE_TOKEN]");
    TOKEN_FILE: String = one("token-file", "FILE", text, "Read the token from the first line of FILE", "从 FILE 的第一行读取令牌");
    CERT: String = one("cert", "FILE", text, "Use TLS with this certificate chain (PEM)", "用该证书链（PEM）启用 TLS");
    KEY: String = one("key", "FILE", text, "Private key of --cert (PEM)", "--cert 的私钥（PEM）");
    PORT: u16 = one(
        "port", "PORT", parsers::port,
        "Monitor the service on this port of this host [default: the one at the address under load]", "监控本机该端口上的服务 [默认：被压测地址上的服务]",
    );
    PID: u32 = one("pid", "PID", parsers::pid, "Treat this process and its children as the service", "把该进程及其子进程当作被测服务");
} }

/// Returns the command line of `brunt probe`.
pub fn command(lang: Lang) -> clap::Command {
    command_line::bare("brunt probe", lang)
        .about(lang.of(message(
            "Serves the counters of this host to runs on other machines (--probe HOST:PORT).",
            "把本机的计数器提供给其他机器上的压测（--probe HOST:PORT）。",
        )))
        .args(command_line::args(SETTINGS, lang))
}

/// Reads the settings of `brunt probe`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(values: &SettingValues) -> Result<ProbeSettings, UsageError> {
    let listen = match values.get(&LISTEN_AT)? {
        Some(listen) => listen,
        None => address(LISTEN).map_err(|trouble| values.wrong(&LISTEN_AT, trouble))?,
    };
    let (token, tls) = (token(values)?, tls(values)?);
    if !listen.ip().to_canonical().is_loopback() && (token.is_none() || tls.is_none()) {
        let missing = match (&token, &tls) {
            (None, None) => "--token-file FILE, --cert FILE and --key FILE",
            (None, _) => "--token-file FILE",
            _ => "--cert FILE and --key FILE",
        };
        let trouble = complaint!(
            "{listen} can be reached from other machines: add {missing}, or listen on {LISTEN} and use an \
                SSH tunnel",
            "其他机器可访问 {listen}：请加 {missing}，或监听 {LISTEN} 并使用 SSH 隧道"
        );
        return Err(values.wrong(&LISTEN_AT, trouble));
    }
    Ok(ProbeSettings { listen, token, tls, follow: follow(values)? })
}

fn address(text: &str) -> Result<SocketAddr, Complaint> {
    let whole = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    let found = whole.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| {
        complaint!(
            "`{text}` is not an address to listen on; use one such as {LISTEN} or 0.0.0.0:7070",
            "`{text}` 不是可监听的地址；请写，例如 {LISTEN} 或 0.0.0.0:7070"
        )
    })
}

fn token(values: &SettingValues) -> Result<Option<String>, UsageError> {
    let (option, token) = match (values.text(&TOKEN_TEXT), values.text(&TOKEN_FILE)) {
        (Some(_), Some(_)) => {
            return Err(values.wrong(
                &TOKEN_FILE,
                complaint!(
                    "cannot be combined with --token; leave one of them out",
                    "不能与 --token 同用；请去掉其中一个"
                ),
            ));
        }
        (Some(token), None) => ("--token", Some(token.to_owned())),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(file);
            let text = text.map_err(|e| values.wrong(&TOKEN_FILE, brunt_protocols::file::unreadable(file, &e)))?;
            ("--token-file", Some(text.lines().next().unwrap_or_default().trim().to_owned()))
        }
        (None, None) => (TOKEN, std::env::var(TOKEN).ok()),
    };
    match token {
        Some(token) if token.is_empty() => Err(UsageError::new(
            option,
            complaint!("is empty; write a token that is hard to guess", "为空；请写难以猜到的令牌"),
        )),
        token => Ok(token),
    }
}

/// Returns the TLS configuration, if a certificate is given.
pub(super) fn tls(values: &SettingValues) -> Result<Option<RustlsServer>, UsageError> {
    shown(values, |file| std::fs::read(file).map_err(|e| brunt_protocols::file::unreadable(file, &e)), &[])
}

/// Returns the TLS configuration for a certificate and a key, whose files `read` reads.
///
/// # Errors
/// One of the two is missing, cannot be read, or is invalid.
pub(super) fn shown(
    values: &SettingValues,
    read: impl Fn(&str) -> Result<Vec<u8>, Complaint>,
    alpn: &[&[u8]],
) -> Result<Option<RustlsServer>, UsageError> {
    match (values.text(&CERT), values.text(&KEY)) {
        (None, None) => Ok(None),
        (Some(_), None) => {
            Err(values
                .wrong(&CERT, complaint!("needs its private key; add --key FILE", "需要对应的私钥；请加 --key FILE")))
        }
        (None, Some(_)) => Err(values
            .wrong(&KEY, complaint!("needs its certificate; add --cert FILE", "需要对应的证书；请加 --cert FILE"))),
        (Some(cert), Some(key)) => {
            let cert = read(cert).map_err(|trouble| values.wrong(&CERT, trouble))?;
            let key = read(key).map_err(|trouble| values.wrong(&KEY, trouble))?;
            RustlsServer::new(&cert, &key, alpn).map(Some).map_err(|wrong| match &*wrong.location {
                "" => values.wrong(&CERT, wrong.problem),
                _ => wrong,
            })
        }
    }
}

fn follow(values: &SettingValues) -> Result<ServiceSelector, UsageError> {
    match (values.get(&PORT)?, values.get(&PID)?) {
        (Some(_), Some(_)) => Err(values.wrong(
            &PORT,
            complaint!(
                "cannot be combined with --pid, which already names the service; leave one of them out",
                "不能与 --pid 同用，后者已指定服务；请去掉其中一个"
            ),
        )),
        (port, pid) => Ok(port.map(ServiceSelector::Port).or(pid.map(ServiceSelector::Process)).unwrap_or_default()),
    }
}
