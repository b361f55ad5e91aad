//! Parsers for the values of settings, based on the quantities of plans.

use std::net::{SocketAddr, ToSocketAddrs};

use brunt_cause::{Complaint, complaint};
use brunt_measure::Nanos;
use brunt_plan::address::{self, ConnectTo};
use brunt_plan::{Arrivals, NetKind, TrustPolicy, quantity};
use brunt_report::formats::{self, FORMATS, ReportFormat};
use brunt_report::{Lang, Objective};
use brunt_watch::WatchedService;

/// Maximum number of users.
pub const MOST_USERS: u64 = brunt_plan::Change::MOST_USERS as u64;
/// Maximum number of worker threads.
pub const MOST_WORKERS: u64 = 1024;
/// Duration of a load that ends only after `-n` requests; longer than any run.
pub const UNTIL_DONE: Nanos = Nanos::from_secs(100 * 86_400);
/// Default port of the Prometheus exporter, the same as in OpenTelemetry.
const PORT: u16 = 9464;

/// Parses a number of users.
pub fn users(text: &str) -> Result<u32, Complaint> {
    quantity::bounded_count(text, "users", MOST_USERS)
}

/// Parses a number of workers.
pub fn workers(text: &str) -> Result<u32, Complaint> {
    quantity::bounded_count(text, "workers", MOST_WORKERS)
}

/// Parses a number of connections.
pub fn connections(text: &str) -> Result<u32, Complaint> {
    quantity::bounded_count(text, "connections", 10_000_000)
}

/// Parses an arrival rate.
pub fn rate(text: &str) -> Result<f64, Complaint> {
    match text.strip_prefix('-').map(quantity::rate) {
        Some(Ok(_)) => Err(complaint!(
            "`{text}` must be above zero; use a rate such as 100/s",
            "`{text}` 必须大于零；请写速率，例如 100/s"
        )),
        _ => quantity::rate(text),
    }
}

/// Parses the rate of the reference client, whose load must be negligible.
pub fn reference(text: &str) -> Result<f64, Complaint> {
    const MOST: f64 = 100.0;
    let rate = quantity::rate(text)?;
    if rate > MOST {
        return Err(complaint!(
            "{text} would be a load in itself; use at most {MOST}/s, such as 20/s",
            "{text} 本身就成了负载；最多用 {MOST}/s，例如 20/s"
        ));
    }
    Ok(rate)
}

/// Parses a seed.
pub fn seed(text: &str) -> Result<u64, Complaint> {
    text.parse().map_err(|_| {
        complaint!("`{text}` is not a seed; use a whole number, such as 42", "`{text}` 不是种子；请用整数，例如 42")
    })
}

/// Parses one of these words.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, Complaint> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        complaint!("`{text}` is not one of {}", "`{text}` 不在 {} 之列", known.join(", "))
    })
}

/// Parses what untrusted figures do to the exit code.
pub fn trust(text: &str) -> Result<TrustPolicy, Complaint> {
    word(text, &[("judge", TrustPolicy::Judge), ("warn", TrustPolicy::Warn), ("strict", TrustPolicy::Strict)])
}

/// Parses the spacing of arrivals.
pub fn arrivals(text: &str) -> Result<Arrivals, Complaint> {
    word(text, &[("poisson", Arrivals::Poisson), ("constant", Arrivals::Constant), ("burst", Arrivals::Burst)])
}

/// Parses the network implementation.
pub fn net(text: &str) -> Result<NetKind, Complaint> {
    word(text, &[("epoll", NetKind::Epoll), ("uring", NetKind::Uring)])
}

/// Parses the timeout on a command line, where a bare number such as `-t 8` may be meant as threads, as in wrk.
pub fn timeout_on_line(text: &str) -> Result<Nanos, Complaint> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text != "0" {
        return Err(complaint!(
            "{text} is missing its unit; use `-w {text}` for workers or `-t {text}s`",
            "{text} 缺少单位；工作线程请用 `-w {text}`，超时请用 `-t {text}s`"
        ));
    }
    quantity::positive_duration(text)
}

/// Parses source addresses: a list of single addresses and ranges, each checked.
pub fn sources(text: &str) -> Result<Vec<String>, Complaint> {
    let parts = text.split(',').map(str::trim);
    parts.map(|part| address::sources(part).map(|_| part.to_owned())).collect()
}

/// Checks a redirection of connections; returns it as written.
pub fn connect_to(text: &str) -> Result<String, Complaint> {
    ConnectTo::parse(text).map(|_| text.to_owned())
}

/// Checks an objective; returns it as written.
pub fn objective(text: &str) -> Result<String, Complaint> {
    Objective::parse(text).map(|_| text.to_owned())
}

/// Parses the name of requests in the results.
pub fn request_name(text: &str) -> Result<String, Complaint> {
    match text.trim() {
        "" => Err(complaint!(
            "is empty; write a name for the request, such as checkout",
            "为空；请写请求的名称，例如 checkout"
        )),
        brunt_contract::OTHER => Err(complaint!(
            "`{}` is brunt's own name for those beyond the first {}; use another",
            "`{}` 是 brunt 自用的名称，表示前 {} 个之外的请求；请换一个",
            brunt_contract::OTHER,
            brunt_contract::MAX_NAMES
        )),
        name => Ok(name.to_owned()),
    }
}

/// Returns the report format with this name or usual file extension.
pub fn format(text: &str) -> Result<&'static dyn ReportFormat, Complaint> {
    let name = if text == "md" { "markdown" } else { text };
    let unknown =
        || complaint!("`{text}` is not one of {}", "`{text}` 不在 {} 之列", FORMATS.map(ReportFormat::name).join(", "));
    formats::format(name).ok_or_else(unknown)
}

/// Parses a language or locale: `zh`, `zh-CN`, `zh_CN.UTF-8`.
pub fn language(text: &str) -> Result<Lang, Complaint> {
    match text.to_ascii_lowercase().split(['-', '_', '.']).next() {
        Some("en") => Ok(Lang::En),
        Some("zh") => Ok(Lang::Zh),
        _ => Err(complaint!(
            "`{text}` is not a language brunt supports; write en or zh",
            "brunt 不支持语言 `{text}`；请写 en 或 zh"
        )),
    }
}

/// Parses a process id.
pub fn pid(text: &str) -> Result<u32, Complaint> {
    text.parse()
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or_else(|| complaint!("`{text}` is not a process id", "`{text}` 不是进程号"))
}

/// Parses a port.
pub fn port(text: &str) -> Result<u16, Complaint> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
        complaint!("`{text}` is not a port; use a port from 1 to 65535", "`{text}` 不是端口；请用 1 到 65535 的端口")
    })
}

/// Parses a service with its own counters; returns it as written, and its name.
pub fn watched(text: &str) -> Result<(String, String), Complaint> {
    WatchedService::parse(text).map(|watched| (text.to_owned(), watched.name().to_owned()))
}

/// Parses the address of a probe.
pub fn probe(text: &str) -> Result<String, Complaint> {
    let host_and_port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    let port = host_and_port.and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port > 0);
    match port {
        Some(_) if !text.contains('/') => Ok(text.to_owned()),
        _ => Err(complaint!(
            "`{text}` is not an address; use HOST:PORT, such as 10.0.0.7:7070",
            "`{text}` 不是地址；请写 HOST:PORT，例如 10.0.0.7:7070"
        )),
    }
}

/// Parses a share: `1%`, `0.01`.
pub fn share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%').map_or(text.parse(), |percent| percent.parse().map(|n: f64| n / 100.0));
    number.ok().filter(|share| (0.0..=1.0).contains(share))
}

/// Parses the share of traces to sample.
pub fn traces(text: &str) -> Result<f64, Complaint> {
    share(text).ok_or_else(|| {
        complaint!(
            "`{text}` is not a share of the traces; use, for example, 1%",
            "`{text}` 不是采样比例；请写，例如 1%"
        )
    })
}

/// Parses an address on which metrics are served: a port of this machine, `:PORT` for all its addresses, or a host with
/// an optional port.
pub fn served_at(text: &str) -> Result<SocketAddr, Complaint> {
    let whole = match (text.parse::<u16>(), text.strip_prefix(':')) {
        (Ok(_), _) => format!("127.0.0.1:{text}"),
        (_, Some(port)) => format!("0.0.0.0:{port}"),
        _ => text.to_owned(),
    };
    // A bare number outside the range of ports would be resolved as an IPv4 address with a single part.
    let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let named = || (&*whole, PORT).to_socket_addrs();
    let found = whole.to_socket_addrs().or_else(|why| if number { Err(why) } else { named() });
    found.ok().and_then(|mut all| all.next()).ok_or_else(|| {
        complaint!(
            "`{text}` is not an address to listen on; use a port such as {PORT}, or 127.0.0.1:{PORT}",
            "`{text}` 不是可监听的地址；请用端口，例如 {PORT}，或 127.0.0.1:{PORT}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_is_this_machines_alone() {
        let of = |text: &str| served_at(text).map(|found| found.to_string());
        assert_eq!(of("9999").unwrap(), "127.0.0.1:9999");
        assert_eq!(of(":9999").unwrap(), "0.0.0.0:9999");
        assert_eq!(of("127.0.0.1").unwrap(), "127.0.0.1:9464");
        assert_eq!(of("[::1]:80").unwrap(), "[::1]:80");
        for wrong in ["", "99999", "127.0.0.1:x", "http://127.0.0.1:80"] {
            assert!(of(wrong).is_err_and(|said| said.contains("is not an address to listen on")), "{wrong}");
        }
    }
}
