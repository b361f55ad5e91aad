//! The options of a curl command that apply to a whole run: TLS, timeouts, redirects, connection targets.
//!
//! A run has a single value for each, so several commands must agree. Redirections of connections accumulate.

use std::net::IpAddr;
use std::path::Path;

use brunt_cause::{Complaint, complaint};
use brunt_contract::{Proxy, UsageError};

use super::command::CurlOptions;

/// Number of redirects that `-L` follows by default in curl, without `--max-redirs`.
const REDIRECTS: u32 = 50;
/// Maximum number of redirects in brunt.
const MOST_REDIRECTS: u32 = 100;

/// Settings by flag name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurlSettings(Vec<(&'static str, String)>);

impl CurlSettings {
    /// Returns the settings as flags; a switch has an empty value.
    pub fn flags(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, text)| (*name, text.as_str()))
    }

    /// Checks that another command has the same settings.
    ///
    /// # Errors
    /// A setting differs; the error names the first one.
    pub fn check_equal(&self, other: &CurlSettings, place: &str, first: &str) -> Result<(), UsageError> {
        let differs = |a: &CurlSettings, b: &CurlSettings| {
            a.0.iter().find(|setting| !b.0.contains(setting)).map(|(name, _)| *name)
        };
        match differs(self, other).or_else(|| differs(other, self)) {
            None => Ok(()),
            Some(name) => {
                let trouble = complaint!(
                    "differs from the first command ({first}) in --{name}, which applies to the whole run; make it \
                        the same in all commands, or use two runs",
                    "的 --{name} 与第一条命令（{first}）不同，而它作用于整个压测；请在所有命令中写成一样，或分两次压测"
                );
                Err(UsageError::new(place, trouble))
            }
        }
    }
}

/// Returns the settings of one part of a command.
///
/// # Errors
/// An option cannot be honoured.
pub fn run_settings(options: &CurlOptions, place: &str) -> Result<CurlSettings, UsageError> {
    let mut all = Vec::new();
    for (switch, flag) in [("insecure", "insecure"), ("no-sessionid", "no-resume"), ("tlsv1.3", "tlsv1.3")] {
        if options.has(switch) {
            all.push((flag, String::new()));
        }
    }
    // With -k, nothing is verified, and curl does not read the CA file either.
    if let Some(path) = options.value("cacert").filter(|_| !options.has("insecure")) {
        all.push(("cacert", path.to_owned()));
    }
    if let Some(path) = options.value("cert") {
        if let (Some((file, _)), false) = (path.rsplit_once(':'), Path::new(path).exists()) {
            let trouble = complaint!(
                "-E {file}:*** has a passphrase, which is not supported; use a PEM certificate and key without one",
                "-E {file}:*** 带有密码，不受支持；请用不带密码的 PEM 证书和私钥"
            );
            return Err(UsageError::new(place, trouble));
        }
        all.push(("cert", path.to_owned()));
        all.push(("key", options.value("key").unwrap_or(path).to_owned()));
    }
    limits(options, place, &mut all)?;
    // If several versions are given, curl uses the last one.
    let versions = ["http1.0", "http1.1", "http2", "http2-prior-knowledge"];
    match options.switches.iter().rev().find(|switch| versions.contains(switch)) {
        Some(&"http1.0") => all.push(("http", "1.0".to_owned())),
        Some(&"http1.1") => all.push(("http", "1.1".to_owned())),
        Some(&"http2-prior-knowledge") => all.push(("http2", String::new())),
        // The server selects the version.
        _ => {}
    }
    proxies(options, place, &mut all)?;
    if let Some(path) = options.value("unix-socket") {
        all.push(("unix-socket", path.to_owned()));
    }
    if let Some(name) = options.value("interface") {
        let address = name.rsplit('!').next().unwrap_or(name);
        if address.parse::<IpAddr>().is_err() {
            let trouble = complaint!(
                "--interface {name} names a device; write the address to connect from, such as 127.0.0.2",
                "--interface {name} 是设备名；请写连接所用的本机地址，例如 127.0.0.2"
            );
            return Err(UsageError::new(place, trouble));
        }
        all.push(("source", address.to_owned()));
    }
    Ok(CurlSettings(all))
}

/// Adds the timeouts and the number of redirects.
fn limits(options: &CurlOptions, place: &str, all: &mut Vec<(&'static str, String)>) -> Result<(), UsageError> {
    for (option, flag) in [("max-time", "timeout"), ("connect-timeout", "connect-timeout")] {
        if let Some(text) = options.value(option) {
            let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
            let seconds = seconds.ok_or_else(|| {
                UsageError::new(
                    place,
                    complaint!(
                        "--{option} {text} is not a number of seconds; use one such as 5 or 2.5",
                        "--{option} {text} 不是秒数；请写，例如 5 或 2.5"
                    ),
                )
            })?;
            if seconds > 0.0 {
                all.push((flag, format!("{seconds}s")));
            }
        }
    }
    if options.has("location") {
        let most = match options.value("max-redirs") {
            None => REDIRECTS,
            Some(text) => {
                text.parse::<i64>().ok().map(|n| u32::try_from(n).unwrap_or(MOST_REDIRECTS)).ok_or_else(|| {
                    UsageError::new(
                        place,
                        complaint!(
                            "--max-redirs {text} is not a number; use one such as 5",
                            "--max-redirs {text} 不是数字；请写，例如 5"
                        ),
                    )
                })?
            }
        };
        all.push(("redirects", most.min(MOST_REDIRECTS).to_string()));
    }
    Ok(())
}

fn proxies(options: &CurlOptions, place: &str, all: &mut Vec<(&'static str, String)>) -> Result<(), UsageError> {
    for (option, scheme) in [("proxy", ""), ("socks5", "socks5://"), ("socks5-hostname", "socks5h://")] {
        if let Some(text) = options.value(option) {
            let proxy = Some(format!("{scheme}{text}")).filter(|proxy| !proxy.is_empty());
            let wrong = |trouble: Complaint| UsageError::new(place, trouble.map(|said| format!("--{option} {said}")));
            proxy.map(|proxy| Proxy::parse(&proxy).map_err(wrong)).transpose()?;
            all.push(("proxy", format!("{scheme}{text}")));
        }
    }
    for flag in ["proxy-user", "noproxy", "tls-max"] {
        all.extend(options.value(flag).map(|text| (flag, text.to_owned())));
    }
    Ok(())
}

/// Returns the rules of `--connect-to` and `--resolve` in the form of `--connect-to`.
///
/// # Errors
/// A `--resolve` has no address.
pub fn redirections(options: &CurlOptions, place: &str) -> Result<Vec<String>, UsageError> {
    // curl resolves a name only after redirection, and here the first matching rule applies.
    let mut rules: Vec<String> = options.all("connect-to").map(str::to_owned).collect();
    for text in options.all("resolve") {
        let text = text.strip_prefix('+').unwrap_or(text);
        // `-HOST:PORT` removes a cached entry, and there are none.
        if text.starts_with('-') {
            continue;
        }
        let mut parts = text.splitn(3, ':');
        let (Some(host), Some(port), Some(addresses)) = (parts.next(), parts.next(), parts.next()) else {
            let trouble = complaint!(
                "--resolve {text} is not HOST:PORT:ADDRESS; use one such as example.com:443:127.0.0.1",
                "--resolve {text} 不是 HOST:PORT:ADDRESS；请写，例如 example.com:443:127.0.0.1"
            );
            return Err(UsageError::new(place, trouble));
        };
        let address = addresses.split(',').next().unwrap_or_default().trim_matches(['[', ']']);
        let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        let host = if host == "*" { "" } else { host };
        rules.push(format!("{host}:{port}:{address}:"));
    }
    Ok(rules)
}
