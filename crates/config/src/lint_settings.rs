//! The settings of `brunt lint`: a file with pasted output.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_report::Lang;

use super::arithmetic_format::{ArithmeticFormat, FORMAT};
use super::setting::{SettingSpec, TypedSetting, many, message, text};
use super::settings::LANG;
use super::values::SettingValues;
use super::{command_line, help};

/// The settings of `brunt lint`.
#[derive(Debug)]
pub struct LintSettings {
    /// Path of the file, or `-` for standard input.
    pub file: String,
    /// Format of the findings.
    pub format: ArithmeticFormat,
    /// Language; `None` for that of the locale.
    pub language: Option<Lang>,
}

const FILE: TypedSetting<String> = many(
    "file",
    "FILE|-",
    text,
    "A file with the output, or - for standard input",
    "含有输出的文件，或用 - 表示标准输入",
);

/// Options of `brunt lint`, the file last.
pub const LINT: [SettingSpec; 3] = [FORMAT.spec, LANG.spec, FILE.spec];

/// Returns the command line of `brunt lint`.
pub fn command(lang: Lang) -> clap::Command {
    command_line::bare("brunt lint", lang)
        .about(lang.of(message(
            "Check the pasted output of a load testing tool for contradictions: ab, wrk, wrk2, hey, oha, webbench, \
            go-stress-testing, k6, JMeter, Locust.",
            "检查粘贴的压测工具输出是否自相矛盾：ab、wrk、wrk2、hey、oha、webbench、go-stress-testing、k6、JMeter、Locust。",
        )))
        .override_usage(lang.of(message("brunt lint [OPTIONS] FILE|-", "brunt lint [选项] FILE|-")))
        .after_help(lang.of(help::LINT))
        .arg(command_line::words(&FILE.spec, lang).num_args(0..))
        .args(command_line::args(&LINT[..2], lang))
}

/// Reads the settings of `brunt lint`.
///
/// # Errors
/// A setting is invalid, or there is not exactly one file.
pub fn read(values: &SettingValues) -> Result<LintSettings, UsageError> {
    let files = values.texts(&FILE);
    let file = match files[..] {
        [file] => file.to_owned(),
        [] => {
            return Err(UsageError::new(
                "brunt lint",
                complaint!(
                    "needs the output; name a file, or use - and paste it",
                    "缺少输出；请给出文件名，或用 - 然后粘贴"
                ),
            ));
        }
        [_, second, ..] => {
            return Err(UsageError::new(
                second,
                complaint!("is a second file; put all outputs into one", "是第二个文件；请把所有输出放进一个文件"),
            ));
        }
    };
    let format = values.get(&FORMAT)?.unwrap_or_default();
    Ok(LintSettings { file, format, language: values.get(&LANG)? })
}
