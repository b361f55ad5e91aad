//! Unmodified curl commands: `--curl 'curl …'` and `--curl-file FILE`.
//!
//! A command becomes a draft: URLs with their own options, and settings of the run. Its meaning is defined by curl's
//! manual and by the requests that curl sends; tests compare these byte for byte. All options of curl are known. An
//! option that cannot be honoured is reported with its consequence. What curl does with a response is not imitated.

mod command;
mod cookies;
mod data;
mod date;
mod headers;
mod input;
mod options;
mod request;
mod settings;
pub(super) mod shell;
mod target;
#[cfg(test)]
mod tests;
mod windows;

use brunt_cause::complaint;
use brunt_contract::UsageError;

use crate::draft::{CurlNote, DraftUrl, RunDraft};
use crate::origin::ValueOrigin;
use shell::ShellCommand;

/// Parses the commands of a text. `source` is the name of the text in errors: `--curl`, or a file name.
///
/// # Errors
/// A command is invalid or cannot be honoured; the error names the part and what to write instead.
pub fn read(texts: &[&str], source: &str) -> Result<RunDraft, UsageError> {
    let mut commands = Vec::new();
    for text in texts {
        let found = if windows::is_caret_notation(text) { windows::commands(text) } else { shell::commands(text) };
        let found = found.map_err(|(line, trouble)| UsageError::new(format!("{source} line {line}"), trouble))?;
        commands.extend(found);
    }
    if commands.is_empty() {
        return Err(UsageError::new(
            source,
            complaint!(
                "has no command; use one such as 'curl http://localhost:8080/'",
                "没有命令；请写，例如 'curl http://localhost:8080/'"
            ),
        ));
    }
    let single = commands.len() == 1;
    let mut draft = RunDraft::default();
    let mut first = None;
    for (index, command) in commands.iter().enumerate() {
        let place = match (single, texts.len()) {
            (true, _) => source.to_owned(),
            (false, 1) => format!("{source} line {}", command.line),
            (false, _) => format!("{source} {}", index + 1),
        };
        one(command, &place, &mut draft, &mut first)?;
    }
    // curl offers HTTP/2 to every https server and uses the version that the server selects.
    let offers = draft.urls.iter().any(|url| url.url.starts_with("https:"));
    if offers && !draft.values.contains("http") && !draft.values.contains("http2") {
        draft.values.push("http", "auto", ValueOrigin::Curl(source.into()));
    }
    Ok(draft)
}

fn one(
    command: &ShellCommand,
    place: &str,
    draft: &mut RunDraft,
    first: &mut Option<(String, settings::CurlSettings)>,
) -> Result<(), UsageError> {
    let origin = ValueOrigin::Curl(place.into());
    let (program, words) = command.words.split_first().expect("a command has a word");
    if !matches!(program.rsplit(['/', '\\']).next(), Some("curl" | "curl.exe")) {
        return Err(UsageError::new(
            place,
            complaint!(
                "`{program}` is not curl; write commands that start with curl",
                "`{program}` 不是 curl；请写以 curl 开头的命令"
            ),
        ));
    }
    for what in &command.left_out {
        draft.remarks.push(complaint!(
            "`{what}` works on curl's output, which a load test does not have",
            "`{what}` 处理 curl 的输出，而压测没有这种输出"
        ));
    }
    let mut output = Vec::new();
    if command.words.iter().any(|word| word == "--http2") && words.iter().any(|word| word.starts_with("http://")) {
        note(
            draft,
            complaint!(
                "--http2: on http:// curl asks to upgrade to HTTP/2; brunt uses HTTP/1.1",
                "--http2：curl 在 http:// 上会请求升级到 HTTP/2；brunt 使用 HTTP/1.1"
            )
            .into(),
        );
    }
    for mut asked in command::read(words, place)? {
        command.input.iter().try_for_each(|input| input::apply(&mut asked, input, place))?;
        output.extend(asked.output.iter().cloned());
        let requests = request::requests(&asked, place, &origin)?;
        let settings = settings::run_settings(&asked, place)?;
        match first {
            None => *first = Some((place.to_owned(), settings)),
            Some((other, known)) => known.check_equal(&settings, place, other)?,
        }
        for rule in settings::redirections(&asked, place)? {
            if !draft.values.named("connect-to").any(|said| said.text == rule) {
                draft.values.push("connect-to", rule, origin.clone());
            }
        }
        draft.urls.extend(requests.urls.into_iter().map(|url| DraftUrl { name: command.name.clone(), ..url }));
        asked.notes.into_iter().chain(requests.notes).for_each(|said| note(draft, said));
    }
    if let Some((_, settings)) = first {
        for (name, text) in settings.flags() {
            if !draft.values.contains(name) {
                draft.values.push(name, text, origin.clone());
            }
        }
    }
    if !output.is_empty() {
        draft.remarks.push(complaint!(
            "{}: only affects curl's own output",
            "{}：只影响 curl 自己的输出",
            output.join(" ")
        ));
    }
    Ok(())
}

fn note(draft: &mut RunDraft, said: CurlNote) {
    if !draft.notes.contains(&said) {
        draft.notes.push(said);
    }
}
