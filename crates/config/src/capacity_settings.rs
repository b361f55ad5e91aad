//! The settings of `brunt capacity`: the numbers of a question about capacity.

use brunt_arithmetic::DEFAULT_PORTS;
use brunt_arithmetic::capacity::{CapacityQuestion, CapacitySource, DAY_S, Demand, MachineCapacity, PlannedFigure};
use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_measure::Nanos;
use brunt_plan::quantity;
use brunt_report::Lang;

use super::arithmetic_format::{ArithmeticFormat, FORMAT};
use super::setting::{SettingSpec, TypedSetting, message, one, settings};
use super::settings::LANG;
use super::values::SettingValues;
use super::{command_line, help, parsers};

/// What one machine holds, as written.
#[derive(Clone, Debug, PartialEq)]
pub enum PerMachine {
    /// Requests per second.
    Rate(f64),
    /// Path of a record whose throughput it is.
    Record(String),
}

/// The settings of `brunt capacity`.
#[derive(Debug)]
pub struct CapacitySettings {
    /// The question, without what a record tells.
    pub question: CapacityQuestion,
    /// The record that tells what one machine holds.
    pub record: Option<String>,
    /// Format of the answer.
    pub format: ArithmeticFormat,
    /// Language; `None` for that of the locale.
    pub language: Option<Lang>,
}

settings! { SETTINGS {
    VIEWS: f64 = one("views", "N", amount, "Page views a day: 30M, 3000万", "每天的页面访问量（PV）：3000万，30M");
    PEAK: f64 = one("peak", "RATE", parsers::rate, "Requests per second at the peak, in place of --views: 1400/s", "峰值每秒请求数，代替 --views：1400/s");
    SHARE: f64 = one(
        "share", "SHARE", share, "Share of the views within the peak [default: 80%]", "落在高峰时段内的访问比例 [默认：80%]",
    );
    HOURS: f64 = one(
        "hours", "HOURS", hours, "Length of the peak: 4.8, 4h48m, or 20% of a day [default: 20%]", "高峰时段的长度：4.8、4h48m，或一天的 20% [默认：20%]",
    );
    REQUESTS: f64 = one(
        "requests-per-view", "N", factor, "Requests for each page view [default: 1]", "每次页面访问的请求数 [默认：1]",
    );
    GROWTH: f64 = one(
        "growth", "FACTOR", growth, "Growth to plan for: 1.5, or +50% [default: 1]", "要预留的增长：1.5，或 +50% [默认：1]",
    );
    UTILISATION: f64 = one(
        "utilisation", "SHARE", utilisation, "Share of a machine's capacity to use [default: 70%]", "单机容量中要使用的比例 [默认：70%]",
    );
    SPARE: u64 = one("spare", "N", spare, "Machines in addition, for failures and deployments [default: 0]", "额外的备用机器数，用于故障和发布 [默认：0]");
    PER_MACHINE: PerMachine = one(
        "per-machine", "RATE|RECORD", per_machine,
        "What one machine holds: 69/s, or the record of `find`, or of a run with objectives", "单机容量：69/s，或 `find` 的记录，或一次设有目标（SLO）的压测记录",
    );
    LATENCY: Nanos = one(
        "latency", "TIME", quantity::positive_duration,
        "Mean time of a request, for the requests in flight [default: that of the record]", "请求的平均耗时，用于计算在途请求数 [默认：取自记录]",
    );
    CONNECTIONS: u64 = one(
        "connections", "N", |text| quantity::count(text, "connections"),
        "Connections that stay open [default: the requests in flight]", "保持打开的连接数 [默认：在途请求数]",
    );
    MEMORY: f64 = one(
        "memory", "SIZE", size, "Memory of a connection on the service: 27kB", "服务端每个连接占用的内存：27kB",
    );
    PORTS: u64 = one(
        "ports", "N|A-B", ports, "Local ports of an address [default: 32768-60999]", "一个地址的本地端口 [默认：32768-60999]",
    );
} }

/// All options, with those of the output.
const OPTIONS: [SettingSpec; 15] = [
    VIEWS.spec,
    PEAK.spec,
    SHARE.spec,
    HOURS.spec,
    REQUESTS.spec,
    GROWTH.spec,
    UTILISATION.spec,
    SPARE.spec,
    PER_MACHINE.spec,
    LATENCY.spec,
    CONNECTIONS.spec,
    MEMORY.spec,
    PORTS.spec,
    FORMAT.spec,
    LANG.spec,
];

/// Returns the names of all options.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    OPTIONS.iter().map(|spec| spec.name)
}

/// Returns the command line of `brunt capacity`.
pub fn command(lang: Lang) -> clap::Command {
    command_line::bare("brunt capacity", lang)
        .about(lang.of(message(
            "Compute how many machines, connections and ports a load needs; nothing is sent.",
            "计算一个负载需要多少机器、连接和端口；不发送任何请求。",
        )))
        .after_help(lang.of(help::CAPACITY))
        .args(command_line::args(SETTINGS, lang))
        .args(command_line::args(&OPTIONS[SETTINGS.len()..], lang))
}

/// Reads the settings of `brunt capacity`.
///
/// # Errors
/// A setting is invalid or missing; the error names the option.
pub fn read(values: &SettingValues) -> Result<CapacitySettings, UsageError> {
    let (per_machine, record) = match values.get(&PER_MACHINE)? {
        Some(PerMachine::Rate(per_s)) => (Some(MachineCapacity { per_s, source: CapacitySource::Typed }), None),
        Some(PerMachine::Record(path)) => (None, Some(path)),
        None => (None, None),
    };
    let question = CapacityQuestion {
        demand: demand(values)?,
        growth: PlannedFigure::new(values.get(&GROWTH)?, 1.0),
        utilisation: PlannedFigure::new(values.get(&UTILISATION)?, 0.7),
        spare: values.get(&SPARE)?.unwrap_or(0),
        per_machine,
        latency_s: values.get(&LATENCY)?.map(Nanos::as_secs_f64),
        connections: values.get(&CONNECTIONS)?,
        connection_bytes: values.get(&MEMORY)?,
        ports: values.get(&PORTS)?.unwrap_or(DEFAULT_PORTS),
    };
    let format = values.get(&FORMAT)?.unwrap_or_default();
    Ok(CapacitySettings { question, record, format, language: values.get(&LANG)? })
}

fn demand(values: &SettingValues) -> Result<Demand, UsageError> {
    match (values.get(&VIEWS)?, values.get(&PEAK)?) {
        (Some(_), Some(_)) => Err(values.wrong(
            &PEAK,
            complaint!("cannot be combined with --views; leave one of them out", "不能与 --views 同用；请去掉其中一个"),
        )),
        (None, None) => Err(UsageError::new(
            "brunt capacity",
            complaint!(
                "needs the load; use --views 30M for page views a day, or --peak 1400/s",
                "缺少负载；请用 --views 30M 给出每天的访问量，或用 --peak 1400/s"
            ),
        )),
        (None, Some(peak)) => {
            let of_views = [SHARE.spec, HOURS.spec, REQUESTS.spec];
            match of_views.iter().find(|spec| values.contains(spec.name)) {
                Some(spec) => Err(UsageError::new(
                    format!("--{}", spec.name),
                    complaint!(
                        "is about page views; use it with --views, or leave it out",
                        "是关于页面访问的；请配合 --views 使用，或去掉"
                    ),
                )),
                None => Ok(Demand::Peak(peak)),
            }
        }
        (Some(per_day), None) => Ok(Demand::Views {
            per_day,
            share: PlannedFigure::new(values.get(&SHARE)?, 0.8),
            peak_s: PlannedFigure::new(values.get(&HOURS)?, 0.2 * DAY_S),
            requests: PlannedFigure::new(values.get(&REQUESTS)?, 1.0),
        }),
    }
}

/// Reads an amount with `k`, `M`, `万` or `亿`.
fn amount(text: &str) -> Result<f64, Complaint> {
    let scaled = [("万", 1e4), ("亿", 1e8), ("k", 1e3), ("K", 1e3), ("M", 1e6)]
        .iter()
        .find_map(|(unit, factor)| Some((text.trim().strip_suffix(unit)?, *factor)));
    let (digits, factor) = scaled.unwrap_or((text.trim(), 1.0));
    positive(&digits.replace('_', "")).map(|number| number * factor).filter(|number| *number <= 1e15).ok_or_else(|| {
        complaint!(
            "`{text}` is not a number of page views a day; use one such as 30M",
            "`{text}` 不是每天的访问量；请写，例如 3000万 或 30M"
        )
    })
}

/// Reads a plain positive number.
fn positive(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse::<f64>().ok().filter(|number| plain && *number > 0.0 && number.is_finite())
}

fn share(text: &str) -> Result<f64, Complaint> {
    parsers::share(text).filter(|share| *share > 0.0).ok_or_else(|| {
        complaint!(
            "`{text}` is not a share; use one up to 100%, such as 80%",
            "`{text}` 不是比例；请写不超过 100% 的值，例如 80%"
        )
    })
}

fn utilisation(text: &str) -> Result<f64, Complaint> {
    parsers::share(text).filter(|share| *share > 0.0).ok_or_else(|| {
        complaint!(
            "`{text}` is not a share of a machine's capacity; use one up to 100%, such as 70%",
            "`{text}` 不是单机容量的比例；请写不超过 100% 的值，例如 70%"
        )
    })
}

/// Reads the length of the peak in seconds: hours, a time, or a share of a day.
fn hours(text: &str) -> Result<f64, Complaint> {
    let of_day = text.strip_suffix('%').and_then(|_| parsers::share(text)).map(|share| share * DAY_S);
    let seconds = of_day
        .or_else(|| positive(text).map(|hours| hours * 3600.0))
        .or_else(|| quantity::positive_duration(text).ok().map(Nanos::as_secs_f64));
    seconds.filter(|seconds| (1.0..=DAY_S).contains(seconds)).ok_or_else(|| {
        complaint!(
            "`{text}` is not a part of a day; use hours such as 4.8, a time such as 4h48m, or a share such as 20%",
            "`{text}` 不是一天的一部分；请写小时数（例如 4.8）、时间（例如 4h48m）或比例（例如 20%）"
        )
    })
}

fn factor(text: &str) -> Result<f64, Complaint> {
    positive(text).filter(|factor| *factor <= 1e6).ok_or_else(|| {
        complaint!("`{text}` is not a number of requests; use one such as 3", "`{text}` 不是请求数；请写，例如 3")
    })
}

/// Reads a factor of growth: `1.5`, `1.5x`, `+50%`.
fn growth(text: &str) -> Result<f64, Complaint> {
    let trimmed = text.trim();
    let more = trimmed
        .strip_suffix('%')
        .and_then(|percent| positive(percent.trim_start_matches('+')))
        .map(|p| 1.0 + p / 100.0);
    let factor = || positive(trimmed.strip_suffix(['x', '倍']).unwrap_or(trimmed));
    more.or_else(factor).filter(|factor| *factor <= 1e6).ok_or_else(|| {
        complaint!(
            "`{text}` is not a factor of growth; use one such as 1.5, or +50%",
            "`{text}` 不是增长倍数；请写，例如 1.5 或 +50%"
        )
    })
}

fn spare(text: &str) -> Result<u64, Complaint> {
    text.parse::<u64>().ok().filter(|spare| *spare <= 1_000_000).ok_or_else(|| {
        complaint!("`{text}` is not a number of machines; use one such as 2", "`{text}` 不是机器数；请写，例如 2")
    })
}

/// Reads a rate, or else the path of a record.
fn per_machine(text: &str) -> Result<PerMachine, Complaint> {
    let looks_like_rate = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    let is_file = !looks_like_rate || std::path::Path::new(text).is_file();
    if is_file && !text.is_empty() {
        Ok(PerMachine::Record(text.to_owned()))
    } else {
        parsers::rate(text).map(PerMachine::Rate)
    }
}

/// Reads a size in bytes: `27kB`, `27k`, `32KiB`, `1.5MB`, `800`.
fn size(text: &str) -> Result<f64, Complaint> {
    const UNITS: [(&str, f64); 9] = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("k", 1e3),
        ("K", 1e3),
        ("M", 1e6),
        ("B", 1.0),
    ];
    let trimmed = text.trim();
    let scaled = UNITS.iter().find_map(|(unit, factor)| Some((trimmed.strip_suffix(unit)?.trim_end(), *factor)));
    let (digits, factor) = scaled.unwrap_or((trimmed, 1.0));
    positive(digits).map(|number| number * factor).filter(|bytes| *bytes <= 1e12).ok_or_else(|| {
        complaint!(
            "`{text}` is not a size; use one such as 27kB or 32KiB",
            "`{text}` 不是大小；请写，例如 27kB 或 32KiB"
        )
    })
}

/// Reads a number of ports, or a range of them.
fn ports(text: &str) -> Result<u64, Complaint> {
    let range = text.split_once('-').and_then(|(low, high)| {
        let (low, high) = (low.trim().parse::<u16>().ok()?, high.trim().parse::<u16>().ok()?);
        (low <= high).then(|| u64::from(high - low) + 1)
    });
    range.or_else(|| text.parse().ok()).filter(|ports| (1..=65_535).contains(ports)).ok_or_else(|| {
        complaint!(
            "`{text}` is not a number of ports; use one such as 28232, or a range such as 1024-65000",
            "`{text}` 不是端口数；请写，例如 28232，或范围 1024-65000"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        assert_eq!([amount("30M"), amount("3000万"), amount("0.3亿"), amount("30_000_000")], [const { Ok(3e7) }; 4]);
        assert_eq!(["20%", "4.8", "4h48m"].map(|text| hours(text).map(f64::round)), [const { Ok(17_280.0) }; 3]);
        assert_eq!(["1.5", "1.5x", "+50%", "50%"].map(growth), [const { Ok(1.5) }; 4]);
        assert_eq!([size("27kB"), size("32KiB"), size("800")], [Ok(27_000.0), Ok(32_768.0), Ok(800.0)]);
        assert_eq!([ports("1024-65000"), ports("28232")], [Ok(63_977), Ok(28_232)]);
        assert_eq!(per_machine("69/s"), Ok(PerMachine::Rate(69.0)));
        assert_eq!(per_machine("one.brunt.zst"), Ok(PerMachine::Record("one.brunt.zst".into())));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_be_right() {
        assert!(amount("-3").unwrap_err().contains("use one such as 30M"));
        assert!(hours("25").is_err() && hours("0").is_err() && hours("x").is_err());
        assert!(growth("0").is_err() && utilisation("120%").is_err() && share("0").is_err());
        assert!(ports("9-3").is_err() && ports("0").is_err() && size("27 apples").is_err() && spare("-1").is_err());
        assert!(per_machine("0/s").is_err() && per_machine("").is_err());
    }
}
