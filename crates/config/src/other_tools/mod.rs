//! Command lines of other load generators, translated to the equivalent brunt command.
//!
//! The command is shown and not executed, because the tools differ in more than the names of their options: `-n` of
//! go-stress-testing, for example, is per user.

mod http_tools;
mod redis_commands;
mod script_tools;
mod targets;
mod tools;
mod values;

use brunt_cause::{Complaint, complaint};
use brunt_plan::{mask, quantity};

use self::redis_commands::RedisCommands;
use self::targets::TargetParts;
use self::tools::{Equivalent, LoadTool, PlainWords, TOOLS};

/// The translation of another tool's command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Translation {
    /// The name of the other tool.
    pub tool: &'static str,
    /// The words of the brunt command.
    words: Vec<String>,
    /// Differences, and options without an equivalent.
    pub notes: Vec<Complaint>,
}

impl Translation {
    /// Returns the command as typed in a shell, with secrets masked.
    pub fn command(&self) -> String {
        self.words.iter().fold("brunt".to_owned(), |line, word| line + " " + &quoted(word))
    }

    /// Returns a line with the command and a line for each note.
    pub fn answer(&self) -> Vec<Complaint> {
        let notes = self.notes.iter().map(|note| Complaint::new(format!("({note})"), format!("（{}）", note.zh())));
        std::iter::once(self.command().into()).chain(notes).collect()
    }
}

/// Translates the command line of another tool after `brunt` or `brunt --`, given as words or as one quoted word.
pub fn translate_pasted(line: &[String]) -> Option<Translation> {
    let line = if line.first().is_some_and(|word| word == "--") { &line[1..] } else { line };
    let split: Vec<String>;
    let (line, piped) = match line {
        [one] if one.trim().contains(' ') => {
            // The targets of vegeta come through a pipe: `echo "GET URL" | vegeta attack | vegeta report`.
            let programs: Vec<Vec<String>> = one.split('|').map(words).collect();
            let at = programs.iter().position(|words| words.first().is_some_and(|first| tool_of(first).is_some()))?;
            let piped = programs[..at].iter().flatten().find(|word| word.contains("://")).cloned();
            split = programs.into_iter().nth(at).unwrap_or_default();
            (&split[..], piped)
        }
        _ => (line, None),
    };
    let (first, rest) = line.split_first()?;
    let tool = tool_of(first)?;
    // Unknown options are reported and do not prevent the translation.
    let mut reading = LineTranslator::of(tool, rest, false)?;
    reading.url = reading.url.or(piped.map(|url| mask::url(&url)));
    Some(reading.translation())
}

/// Returns the tool with this name or path of its program.
fn tool_of(program: &str) -> Option<&'static LoadTool> {
    let program = program.rsplit('/').next().unwrap_or_default();
    TOOLS.into_iter().find(|tool| tool.programs.contains(&program))
}

/// Splits a quoted command line at its spaces.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.trim_matches(['\'', '"']).to_owned()).collect()
}

/// Finds the tool for a command line with an `option` unknown to brunt. The whole line must be valid for that tool.
pub fn guess_tool(line: &[String], option: &str) -> Option<Translation> {
    let line = if line.first().is_some_and(|word| word == "run") { &line[1..] } else { line };
    let readings = TOOLS.iter().filter(|tool| tool.find(option).is_some());
    let reading =
        readings.filter_map(|tool| LineTranslator::of(tool, line, true)).find(|reading| reading.options >= 2)?;
    reading.url.is_some().then(|| reading.translation())
}

/// A command line during translation.
struct LineTranslator {
    tool: &'static LoadTool,
    options: usize,
    url: Option<String>,
    target: TargetParts,
    redis: RedisCommands,
    users: u64,
    users_given: bool,
    requests: Option<u64>,
    rate: Option<String>,
    streams: Option<String>,
    shared: Option<u64>,
    keepalive: bool,
    timed: bool,
    words: Vec<String>,
    notes: Vec<Complaint>,
}

impl LineTranslator {
    /// Parses the words of a tool's command line; if `strict`, returns `None` for an unknown option.
    fn of(tool: &'static LoadTool, line: &[String], strict: bool) -> Option<LineTranslator> {
        let mut reading = LineTranslator {
            tool,
            options: 0,
            url: None,
            target: TargetParts::default(),
            redis: RedisCommands::default(),
            users: tool.users,
            users_given: false,
            requests: tool.requests,
            rate: tool.rate.map(str::to_owned),
            streams: None,
            shared: None,
            keepalive: tool.keepalive,
            timed: false,
            words: Vec::new(),
            notes: Vec::new(),
        };
        let mut words = line.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                if strict && reading.url.is_some() {
                    return None;
                }
                reading.plain_word(word);
                continue;
            }
            let Some((becomes, value)) = tool.option(word) else {
                if strict {
                    return None;
                }
                reading.notes.push(complaint!(
                    "brunt does not know {word} from {}",
                    "brunt 不认识 {} 的 {word}",
                    tool.name
                ));
                continue;
            };
            let value = match (becomes.takes(), value) {
                (true, Some(value)) => value,
                (true, None) => words.next()?.clone(),
                (false, value) => value.unwrap_or_default(),
            };
            reading.options += 1;
            if !reading.take(word, becomes, &value) && strict {
                return None;
            }
        }
        Some(reading)
    }

    /// Handles a word that is no option.
    fn plain_word(&mut self, word: &str) {
        match self.tool.words {
            _ if self.tool.commands.contains(&word) && self.options == 0 && self.url.is_none() => {}
            PlainWords::Url => self.url = Some(mask::url(word)),
            PlainWords::Script(_) if word.contains("://") => self.url = Some(mask::url(word)),
            PlainWords::Script(why) => self.note(word, why),
            PlainWords::Command => self.redis.command.push(word.to_owned()),
        }
    }

    fn say(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(ToString::to_string));
    }

    /// Adds a note, unless it says what another one said.
    fn note(&mut self, word: &str, [why, zh]: [&str; 2]) {
        if !self.notes.iter().any(|note| note.ends_with(why)) {
            self.notes.push(complaint!("{word}: {why}", "{word}：{zh}"));
        }
    }

    /// Translates an option; returns `false` if its value is invalid.
    fn take(&mut self, word: &str, becomes: Equivalent, value: &str) -> bool {
        match becomes {
            Equivalent::Users => {
                (self.users, self.users_given) = (value.parse().unwrap_or(self.users), true);
                return value.parse::<u64>().is_ok();
            }
            Equivalent::Requests => {
                self.requests = quantity::count(value, "requests").ok().or(self.requests);
                return value.parse::<u64>().is_ok();
            }
            Equivalent::Rate | Equivalent::RateOfEach => self.rate = Some(value.into()),
            Equivalent::RateOver => self.rate = values::rate_over(value),
            Equivalent::Streams => self.streams = Some(value.into()),
            Equivalent::SharedConnections => self.shared = value.parse().ok(),
            Equivalent::Time(flag) => return self.time(flag, values::seconds(value)),
            Equivalent::SiegeTime => return self.time("-d", values::siege_time(value)),
            Equivalent::Value(flag) => {
                // `-redirects=-1` of vegeta counts a redirect as a success, as brunt does.
                let value = if flag == "--redirects" && value.starts_with('-') { "0" } else { value };
                self.say(&[flag, &mask::option(flag.trim_start_matches('-'), value)]);
                // A number is no name of a file, but autocannon's -p.
                return flag != "--data-file" || value.parse::<u64>().is_err();
            }
            Equivalent::Header(name) => {
                let line = if name.is_empty() { values::header(value) } else { format!("{name}: {value}") };
                self.say(&["-H", &mask::option("header", &line)]);
            }
            Equivalent::Url => self.url = Some(mask::url(value)),
            Equivalent::Keepalive(on) => self.keepalive = on && value != "false",
            Equivalent::Nothing => {}
            Equivalent::Threads => self
                .note(word, ["brunt has a worker for each core; -w sets fewer", "brunt 每个核一个工作线程；-w 可减少"]),
            Equivalent::Note(why) | Equivalent::NoteOf(why) => self.note(word, why),
            Equivalent::RedisTests => self.redis.tests = value.to_owned(),
            Equivalent::RedisSize => self.redis.size = value.parse().ok(),
            Equivalent::RedisKeys => self.redis.keys = value.parse().ok(),
            Equivalent::Host => self.target.host = Some(value.to_owned()),
            Equivalent::Port => self.target.port = Some(value.to_owned()),
            Equivalent::Call => self.target.call = Some(value.to_owned()),
            Equivalent::Plain => self.target.tls = Some(false),
            Equivalent::Tls => self.target.tls = Some(true),
            other => self.rewrite(other, value),
        }
        true
    }

    fn time(&mut self, flag: &str, time: String) -> bool {
        self.timed |= flag == "-d";
        self.say(&[flag, &time]);
        time.starts_with(|c: char| c.is_ascii_digit())
    }

    /// Adds the words of an option whose value takes another form.
    fn rewrite(&mut self, becomes: Equivalent, value: &str) {
        match becomes {
            Equivalent::Words(words) => self.say(words),
            Equivalent::With(words, flag) => {
                self.say(words);
                self.say(&[flag, value]);
            }
            Equivalent::PerSecond(flag) => self.say(&[flag, &format!("{}/s", value.trim_end_matches("/s"))]),
            Equivalent::Prefixed(flag, prefix) => self.say(&[flag, &format!("{prefix}{value}")]),
            Equivalent::Body => match value.strip_prefix('@') {
                Some(path) => self.say(&["--data-file", path]),
                None => self.say(&["--data-raw", value]),
            },
            Equivalent::Delay => self.say(&["--think", &format!("0s..{}", values::seconds(value))]),
            Equivalent::Ramp => {
                for stage in value.split(',') {
                    let (time, level) = stage.split_once(':').unwrap_or((stage, "10"));
                    self.say(&["--stage", &format!("{}:{}..{level}", values::seconds(time), self.users)]);
                    // The next stage begins where this one ends.
                    (self.users, self.timed) = (level.parse().unwrap_or(self.users), true);
                }
            }
            _ => {}
        }
    }

    /// Completes the translation.
    fn translation(mut self) -> Translation {
        let mut words = self.load();
        words.append(&mut self.words);
        let has = |flag: &str| words.iter().any(|word| word == flag);
        if self.tool.always.first().is_some_and(|flag| !has(flag) && !has(self.tool.unless)) {
            words.extend(self.tool.always.iter().map(ToString::to_string));
        }
        if !self.keepalive {
            words.push("--no-keepalive".into());
        }
        if self.tool.words == PlainWords::Command {
            words.extend(self.redis.options(&mut self.notes));
        }
        // Curl commands and lists contain their own URLs.
        let named = ["--curl-file", "--urls"].iter().any(|flag| words.iter().any(|word| word == flag));
        let url = match self.tool.target {
            Some(schemes) => Some(self.target.url(schemes, self.url)),
            None => self.url.or_else(|| (!named).then(|| "URL".into())),
        };
        words.extend(url);
        Translation { tool: self.tool.name, words, notes: self.notes }
    }

    /// Returns the options of the load: how many users or requests a second, and how long.
    fn load(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut put = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        let each = |n: u64| if self.tool.requests_of_each { n.saturating_mul(self.users) } else { n };
        let shared = self.shared.filter(|n| *n > 0).map(|connections| self.users / connections);
        let streams = self.streams.as_deref().and_then(|n| n.parse::<u64>().ok()).filter(|n| *n > 1);
        let is_staged = self.words.iter().any(|word| word == "--stage");
        match &self.rate {
            Some(rate) => {
                let of_each = self.tool.rate_of_each.then(|| rate.parse::<f64>().ok()).flatten();
                let rate = of_each.map_or_else(|| rate.clone(), |rate| (rate * self.users as f64).to_string());
                put("-r", if rate.contains('/') { rate } else { format!("{rate}/s") });
                if self.users_given {
                    put("--max-connections", self.users.to_string());
                }
            }
            None if is_staged => {}
            None => put("-c", self.users.saturating_mul(streams.unwrap_or(1)).to_string()),
        }
        if let Some(streams) = streams.or(shared).filter(|n| *n > 1) {
            put("--streams", streams.to_string());
        }
        match (self.requests, self.timed) {
            (Some(n), false) => put("-n", each(n).to_string()),
            (None, false) => put("-d", self.tool.time.into()),
            (_, true) => {}
        }
        words
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests;
