//! `--resume`, which goes on with the record of an experiment.

use brunt_cause::complaint;
use brunt_contract::UsageError;

use super::setting::{TypedSetting, one, text};
use super::settings::RECORD;
use super::values::SettingValues;

/// The record to go on with.
pub const RESUME: TypedSetting<String> = one(
    "resume",
    "FILE",
    text,
    "Go on with the record of the same experiment after its last whole run",
    "从同一实验的记录中最后一次完整的运行之后继续",
);

/// Reads the record to go on with, from the values of the experiment and those of its runs.
///
/// # Errors
/// Another record is asked for.
pub fn read(own: &SettingValues, values: &SettingValues) -> Result<Option<String>, UsageError> {
    let resumed = own.get(&RESUME)?;
    if resumed.is_some() && values.has(&RECORD) {
        return Err(UsageError::new(
            "--resume",
            complaint!(
                "goes on writing the record that it names; leave --record out",
                "会继续写入它所指定的记录；请去掉 --record"
            ),
        ));
    }
    Ok(resumed)
}
