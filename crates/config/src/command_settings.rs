//! The settings of `brunt demo`, `brunt calibrate` and `brunt report`: mostly presentation.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_measure::Nanos;
use brunt_plan::quantity;
use brunt_report::Lang;

use super::intent::{Presentation, presentation};
use super::setting::{SettingSpec, TypedSetting, many, message, one, text};
use super::settings::{CONSOLE, DOCUMENT, LANG};
use super::values::SettingValues;
use super::{command_line, help};

/// The settings of `brunt demo`.
#[derive(Debug)]
pub struct DemoSettings {
    /// Duration of the load.
    pub duration: Nanos,
    /// The presentation of the results.
    pub presentation: Presentation,
}

/// The settings of `brunt calibrate`.
#[derive(Debug)]
pub struct CalibrateSettings {
    /// Duration of each measurement.
    pub duration: Nanos,
    /// Number of users that send requests back to back, to measure the maximum rate of a core.
    pub users: u32,
    /// Number of worker threads; `None` for the default of a run.
    pub workers: Option<u32>,
    /// Language; `None` for that of the locale.
    pub language: Option<Lang>,
}

const DEMO_DURATION: TypedSetting<Nanos> =
    one("duration", "TIME", quantity::positive_duration, "Load for TIME [default: 10s]", "压测 TIME [默认：10s]")
        .short('d');

/// Options of `brunt demo`.
pub const DEMO: [SettingSpec; 7] =
    [DEMO_DURATION.spec, DOCUMENT[0], DOCUMENT[1], DOCUMENT[2], CONSOLE[0], CONSOLE[1], CONSOLE[2]];

/// Returns the command line of `brunt demo`.
pub fn demo_command(lang: Lang) -> clap::Command {
    command_line::bare("brunt demo", lang)
        .about(lang.of(message(
            "Load the built-in target, started in a second process.",
            "压测在另一个进程中启动的内置服务。",
        )))
        .after_help(lang.of(help::DEMO))
        .args(command_line::args(&DEMO[..1], lang))
        .args(command_line::document(lang))
}

/// Reads the settings of `brunt demo`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn demo(values: &SettingValues) -> Result<DemoSettings, UsageError> {
    let duration = values.get(&DEMO_DURATION)?.unwrap_or(Nanos::from_secs(10));
    Ok(DemoSettings { duration, presentation: presentation(values)? })
}

const MEASURED: TypedSetting<Nanos> = one(
    "duration",
    "TIME",
    quantity::positive_duration,
    "Load for TIME, twice [default: 3s]",
    "压测两次，每次 TIME [默认：3s]",
)
.short('d');
const MEASURED_USERS: TypedSetting<u32> = one(
    "users",
    "N",
    |text| quantity::bounded_count(text, "users", 10_000),
    "Users, each sending requests back to back [default: 64]",
    "用户数，每个用户收到响应后立即发送下一个请求 [默认：64]",
)
.short('c');
const MEASURED_WORKERS: TypedSetting<u32> = one(
    "workers",
    "N",
    |text| quantity::bounded_count(text, "workers", 1024),
    "Worker threads [default: the cores available to brunt]",
    "工作线程数 [默认：brunt 可用的核数]",
)
.short('w');

/// Options of `brunt calibrate`.
pub const CALIBRATE: [SettingSpec; 4] = [MEASURED.spec, MEASURED_USERS.spec, MEASURED_WORKERS.spec, LANG.spec];

/// Returns the command line of `brunt calibrate`.
pub fn calibrate_command(lang: Lang) -> clap::Command {
    command_line::bare("brunt calibrate", lang)
        .about(lang.of(message(
            "Measure and save what brunt itself costs on this machine, using the built-in target.",
            "用内置服务测量并保存 brunt 自身在本机的开销。",
        )))
        .after_help(lang.of(help::CALIBRATE))
        .args(command_line::args(&CALIBRATE, lang))
}

/// Reads the settings of `brunt calibrate`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn calibrate(values: &SettingValues) -> Result<CalibrateSettings, UsageError> {
    Ok(CalibrateSettings {
        duration: values.get(&MEASURED)?.unwrap_or(Nanos::from_secs(3)),
        users: values.get(&MEASURED_USERS)?.unwrap_or(64),
        workers: values.get(&MEASURED_WORKERS)?,
        language: values.get(&LANG)?,
    })
}

const FILE: TypedSetting<String> = many("file", "FILE", text, "A file written by --record", "由 --record 写出的文件");

const RUN: TypedSetting<usize> = one(
    "run",
    "N",
    run_number,
    "Of the record of an experiment, show its Nth run",
    "对于实验记录，显示其中第 N 次运行",
);

/// Options of `brunt report`, files last.
pub const REPORT: [SettingSpec; 8] =
    [DOCUMENT[0], DOCUMENT[1], DOCUMENT[2], CONSOLE[0], CONSOLE[1], CONSOLE[2], RUN.spec, FILE.spec];

/// Returns the command line of `brunt report`.
pub fn report_command(lang: Lang) -> clap::Command {
    command_line::bare("brunt report", lang)
        .about(lang.of(message(
            "Show a past run again: the last one, or the one in FILE. Several are compared with the first; -o \
            compare.html overlays them.",
            "再次显示以往的压测：最近一次，或 FILE 中的那次。给出多个时与第一个比较；-o compare.html 把它们叠加显示。",
        )))
        .after_help(lang.of(help::REPORT))
        .arg(command_line::words(&FILE.spec, lang).num_args(0..))
        .args(command_line::args(&[RUN.spec], lang))
        .args(command_line::document(lang))
}

/// Returns the command line of `brunt trend`, which has the options of `brunt report`.
pub fn trend_command(lang: Lang) -> clap::Command {
    command_line::bare("brunt trend", lang)
        .about(lang.of(message(
            "Show the history of a test, and where its figures changed: from records, directories of them, or the library of \
             `brunt ui`, by a word of its name, tag or target.",
            "显示一个测试的历史，并指出各项数据从何时起改变：可给出记录文件、存放记录的目录，或 `brunt ui` 运行库中测试的名称、标签、目标里的词。",
        )))
        .after_help(lang.of(help::TREND))
        .arg(command_line::words(&FILE.spec, lang).num_args(0..))
        .args(command_line::document(lang))
}

/// Reads which run of an experiment is shown; `None` for the experiment.
///
/// # Errors
/// It is no number of a run.
pub fn run_of_experiment(values: &SettingValues) -> Result<Option<usize>, UsageError> {
    values.get(&RUN)
}

fn run_number(text: &str) -> Result<usize, Complaint> {
    text.parse().ok().filter(|run| *run > 0).ok_or_else(|| {
        complaint!("`{text}` is not the number of a run; use 1, 2 …", "`{text}` 不是运行的编号；请用 1、2……")
    })
}

/// Reads the files and the presentation of `brunt report`, and of `brunt trend`.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn report(values: &SettingValues) -> Result<(Vec<String>, Presentation), UsageError> {
    Ok((values.each(&FILE)?, presentation(values)?))
}
