//! A check that standard input, which can be read only once, is named only once.

use brunt_cause::complaint;
use brunt_contract::UsageError;
use brunt_protocols::standard_input::NAME;

use super::draft::RunDraft;
use super::origin::ValueOrigin;
use super::settings::{CURL_FILE, TARGET, URLS};
use super::values::SettingValue;

/// Checks the values of a run.
///
/// # Errors
/// A second value names standard input; the error is about that one.
pub(super) fn check(draft: &RunDraft) -> Result<(), UsageError> {
    let values = draft.values.iter().chain(draft.urls.iter().flat_map(|url| url.own.iter()));
    let mut first: Option<&SettingValue> = None;
    for value in values.filter(|value| reads(value)) {
        match first {
            None => first = Some(value),
            // A step that is called twice is written once.
            Some(first) if first == value && value.origin != ValueOrigin::CommandLine => {}
            Some(first) => {
                let by = first.origin.place().unwrap_or_else(|| flag(first.name));
                let trouble = complaint!(
                    "standard input is already read by {by}, and can be read only once; write the name of a file",
                    "标准输入已由 {by} 读取，且只能读取一次；请写文件名"
                );
                return Err(value.wrong(&flag(value.name), trouble));
            }
        }
    }
    Ok(())
}

fn flag(name: &str) -> String {
    if name == TARGET.spec.name { "PLAN".to_owned() } else { format!("--{name}") }
}

/// Returns `true` if the value of an option is the content of standard input.
fn reads(value: &SettingValue) -> bool {
    let (name, text) = (value.name, value.text.as_str());
    let is_path = ["data-file", "send-file", TARGET.spec.name, URLS.spec.name, CURL_FILE.spec.name].contains(&name);
    match text.rsplit_once(['@', '<']) {
        None => is_path && text == NAME,
        Some((before, NAME)) if name == "form" => before.ends_with('='),
        Some(("", NAME)) => ["data", "json", "header", "user", "cookie", "bearer", "proxy-user"].contains(&name),
        Some(_) => false,
    }
}
