//! curl commands as they are: `--curl 'curl …'` and `--curl-file FILE`.
//!
//! A command becomes what flags and a plan would say: URLs with options of their own, and settings of the run. What it
//! means is curl's business (its manual, and the requests of the real program, which the tests compare byte for byte);
//! every option of curl is known, and one that cannot be honoured is named with its consequence. Left out: whatever
//! curl does with an answer.

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

use crate::{Given, Said};
use words::Command;

/// The commands of a text, as what they ask for. `source` is what complaints call the text: `--curl`, or a file's name.
///
/// # Errors
/// What is wrong with a command, or cannot be honoured, and what would be right.
pub fn read(texts: &[&str], source: &str) -> Result<Given, Complaint> {
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
    let mut given = Given::default();
    let mut first = None;
    for (index, command) in commands.iter().enumerate() {
        let place = match (single, texts.len()) {
            (true, _) => source.to_owned(),
            (false, 1) => format!("{source} line {}", command.line),
            (false, _) => format!("{source} {}", index + 1),
        };
        one(command, &place, &mut given, &mut first)?;
    }
    // curl offers HTTP/2 to every https server, and takes what it chooses.
    let offers = given.urls.iter().any(|url| url.url.starts_with("https:"));
    if offers && !given.has("http") && !given.has("http2") {
        given.say("http", "auto", source);
    }
    Ok(given)
}

fn one(
    command: &Command,
    place: &str,
    given: &mut Given,
    first: &mut Option<(String, settings::Settings)>,
) -> Result<(), Complaint> {
    let (program, words) = command.words.split_first().expect("a command has a word");
    if !matches!(program.rsplit(['/', '\\']).next(), Some("curl" | "curl.exe")) {
        return Err(Complaint::new(place, format!("`{program}` is not curl; write commands that start with curl")));
    }
    for what in &command.left_out {
        given.remarks.push(format!("`{what}` works on curl's output, which a load test does not have"));
    }
    let mut output = Vec::new();
    if command.words.iter().any(|word| word == "--http2") && words.iter().any(|word| word.starts_with("http://")) {
        note(given, "--http2: on http:// curl asks to upgrade to HTTP/2; brunt uses HTTP/1.1".into());
    }
    for asked in command::read(words, place)? {
        output.extend(asked.output.iter().cloned());
        let requests = request::requests(&asked, place)?;
        let settings = settings::of(&asked, place)?;
        match first {
            None => *first = Some((place.to_owned(), settings)),
            Some((other, known)) => known.agree(&settings, place, other)?,
        }
        for rule in settings::redirections(&asked, place)? {
            if !given.said.iter().any(|said| said.name == "connect-to" && said.text == rule) {
                given.say("connect-to", rule, place);
            }
        }
        for mut url in requests.urls {
            url.name.clone_from(&command.name);
            let values = url.options.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
            given.inside.extend(values.map(|(name, text)| Said {
                name: name.clone(),
                text: text.clone(),
                place: place.to_owned(),
            }));
            given.inside.push(Said { name: "URL".into(), text: url.url.clone(), place: place.to_owned() });
            given.urls.push(url);
        }
        asked.notes.into_iter().chain(requests.notes).for_each(|said| note(given, said));
    }
    if let Some((_, settings)) = first {
        for (name, text) in settings.flags() {
            if !given.has(name) {
                given.say(name, text, place);
            }
        }
    }
    if !output.is_empty() {
        given.remarks.push(format!("{}: only affects curl's own output", output.join(" ")));
    }
    Ok(())
}

fn note(given: &mut Given, said: String) {
    if !given.notes.contains(&said) {
        given.notes.push(said);
    }
}
