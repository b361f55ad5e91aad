//! Unmodified curl commands: `--curl 'curl …'` and `--curl-file FILE`.
//!
//! A command fills a draft: URLs with options of their own, and settings of the run. Its meaning is defined by curl
//! (its manual, and the requests of the real program, which the tests compare byte for byte); every option of curl is
//! known, and one that cannot be honoured is reported with its consequence. Everything that curl does with a response
//! is left out.

mod caret;
mod command;
mod cookies;
mod data;
mod headers;
mod options;
mod request;
mod settings;
mod target;
#[cfg(test)]
mod tests;
mod words;

use wire::Complaint;

use crate::draft::{Draft, Note, Url};
use crate::origin::Origin;
use words::Command;

/// Parses the commands of a text. `source` is the name of the text in errors: `--curl`, or a file name.
///
/// # Errors
/// The part of a command that is wrong or cannot be honoured, and what to write instead.
pub fn read(texts: &[&str], source: &str) -> Result<Draft, Complaint> {
    let mut commands = Vec::new();
    for text in texts {
        let found = if caret::is_meant(text) { caret::commands(text) } else { words::commands(text) };
        let found = found.map_err(|(line, trouble)| Complaint::new(format!("{source} line {line}"), trouble))?;
        commands.extend(found);
    }
    if commands.is_empty() {
        return Err(Complaint::new(source, "has no command; write one such as 'curl http://localhost:8080/'"));
    }
    let single = commands.len() == 1;
    let mut draft = Draft::default();
    let mut first = None;
    for (index, command) in commands.iter().enumerate() {
        let place = match (single, texts.len()) {
            (true, _) => source.to_owned(),
            (false, 1) => format!("{source} line {}", command.line),
            (false, _) => format!("{source} {}", index + 1),
        };
        one(command, &place, &mut draft, &mut first)?;
    }
    // curl offers HTTP/2 to every https server, and uses the version that the server selects.
    let offers = draft.urls.iter().any(|url| url.url.starts_with("https:"));
    if offers && !draft.values.says("http") && !draft.values.says("http2") {
        draft.values.say("http", "auto", Origin::Curl(source.into()));
    }
    Ok(draft)
}

fn one(
    command: &Command,
    place: &str,
    draft: &mut Draft,
    first: &mut Option<(String, settings::Settings)>,
) -> Result<(), Complaint> {
    let origin = Origin::Curl(place.into());
    let (program, words) = command.words.split_first().expect("a command has a word");
    if !matches!(program.rsplit(['/', '\\']).next(), Some("curl" | "curl.exe")) {
        return Err(Complaint::new(place, format!("`{program}` is not curl; write commands that start with curl")));
    }
    for what in &command.left_out {
        draft.remarks.push(format!("`{what}` works on curl's output, which a load test does not have"));
    }
    let mut output = Vec::new();
    if command.words.iter().any(|word| word == "--http2") && words.iter().any(|word| word.starts_with("http://")) {
        note(draft, "--http2: on http:// curl asks to upgrade to HTTP/2; brunt uses HTTP/1.1".to_owned().into());
    }
    for asked in command::read(words, place)? {
        output.extend(asked.output.iter().cloned());
        let requests = request::requests(&asked, place, &origin)?;
        let settings = settings::of(&asked, place)?;
        match first {
            None => *first = Some((place.to_owned(), settings)),
            Some((other, known)) => known.agree(&settings, place, other)?,
        }
        for rule in settings::redirections(&asked, place)? {
            if !draft.values.named("connect-to").any(|said| said.text == rule) {
                draft.values.say("connect-to", rule, origin.clone());
            }
        }
        draft.urls.extend(requests.urls.into_iter().map(|url| Url { name: command.name.clone(), ..url }));
        asked.notes.into_iter().chain(requests.notes).for_each(|said| note(draft, said));
    }
    if let Some((_, settings)) = first {
        for (name, text) in settings.flags() {
            if !draft.values.says(name) {
                draft.values.say(name, text, origin.clone());
            }
        }
    }
    if !output.is_empty() {
        draft.remarks.push(format!("{}: only affects curl's own output", output.join(" ")));
    }
    Ok(())
}

fn note(draft: &mut Draft, said: Note) {
    if !draft.notes.contains(&said) {
        draft.notes.push(said);
    }
}
