//! Command lines of other load generators, translated to the equivalent brunt command.
//!
//! The command is shown and not executed, because the tools differ in more than the names of their options: `-n` of
//! go-stress-testing, for example, is per user.

mod tools;

use brunt_plan::{mask, quantity};

use self::tools::{Equivalent, LoadTool, TOOLS};

/// The translation of another tool's command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Translation {
    /// The name of the other tool.
    pub tool: &'static str,
    /// The words of the brunt command.
    words: Vec<String>,
    /// Differences, and options without an equivalent.
    pub notes: Vec<String>,
}

impl Translation {
    /// Returns the command as typed in a shell, with secrets masked.
    pub fn command(&self) -> String {
        self.words.iter().fold("brunt".to_owned(), |line, word| line + " " + &quoted(word))
    }

    /// Returns a line with the command and a line for each note.
    pub fn answer(&self) -> Vec<String> {
        std::iter::once(self.command()).chain(self.notes.iter().map(|note| format!("({note})"))).collect()
    }
}

/// Translates the command line of another tool after `brunt` or `brunt --`, given as words or as one quoted word.
pub fn translate_pasted(line: &[String]) -> Option<Translation> {
    let line = if line.first().is_some_and(|word| word == "--") { &line[1..] } else { line };
    let split: Vec<String>;
    let line = match line {
        [one] if one.trim().contains(' ') => {
            split = one.split_whitespace().map(|word| word.trim_matches(['\'', '"']).to_owned()).collect();
            &split[..]
        }
        _ => line,
    };
    let (first, rest) = line.split_first()?;
    let program = first.rsplit('/').next().unwrap_or_default();
    let tool = TOOLS.iter().find(|tool| tool.programs.contains(&program))?;
    // Unknown options are reported and do not prevent the translation.
    Some(LineTranslator::of(tool, rest, false)?.translation())
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
    users: u64,
    users_given: bool,
    requests: Option<u64>,
    rate: Option<String>,
    streams: Option<String>,
    keepalive: bool,
    timed: bool,
    words: Vec<String>,
    notes: Vec<String>,
}

impl LineTranslator {
    /// Parses the words of a tool's command line; if `strict`, returns `None` for an unknown option.
    fn of(tool: &'static LoadTool, line: &[String], strict: bool) -> Option<LineTranslator> {
        let mut reading = LineTranslator {
            tool,
            options: 0,
            url: None,
            users: tool.users,
            users_given: false,
            requests: tool.requests,
            rate: None,
            streams: None,
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
                reading.url = Some(mask::url(word));
                continue;
            }
            let Some((becomes, value)) = tool.option(word) else {
                if strict {
                    return None;
                }
                reading.notes.push(format!("brunt does not know {word} from {}", tool.name));
                continue;
            };
            let value = match (becomes.takes(), value) {
                (true, Some(value)) => value,
                (true, None) => words.next()?.clone(),
                (false, _) => String::new(),
            };
            reading.options += 1;
            if !reading.take(word, becomes, &value) && strict {
                return None;
            }
        }
        Some(reading)
    }

    fn say(&mut self, words: &[&str]) {
        self.words.extend(words.iter().map(ToString::to_string));
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
            Equivalent::Streams => self.streams = Some(value.into()),
            Equivalent::Time(flag) => {
                self.timed |= flag == "-d";
                let bare = value.bytes().all(|b| b.is_ascii_digit());
                let time = if bare { format!("{value}s") } else { value.to_owned() };
                self.say(&[flag, &time]);
                return value.starts_with(|c: char| c.is_ascii_digit());
            }
            Equivalent::Value(flag) => {
                let number = matches!(flag, "-w");
                self.say(&[flag, &mask::option(flag.trim_start_matches('-'), value)]);
                return !number || value.parse::<u64>().is_ok();
            }
            Equivalent::Header(name) => {
                let line = if name.is_empty() { value.to_owned() } else { format!("{name}: {value}") };
                self.say(&["-H", &mask::option("header", &line)]);
            }
            Equivalent::Words(words) => self.say(words),
            Equivalent::With(words, flag) => {
                self.say(words);
                self.say(&[flag, value]);
            }
            Equivalent::Url => self.url = Some(mask::url(value)),
            Equivalent::Keepalive(on) => self.keepalive = on && value != "false",
            Equivalent::Nothing => {}
            Equivalent::Note(why) | Equivalent::NoteOf(why) => self.notes.push(format!("{word}: {why}")),
        }
        true
    }

    /// Completes the translation.
    fn translation(mut self) -> Translation {
        let mut words = Vec::new();
        let mut put = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        let each = |n: u64| if self.tool.requests_of_each { n.saturating_mul(self.users) } else { n };
        let streams = self.streams.as_deref().and_then(|n| n.parse::<u64>().ok()).filter(|n| *n > 1);
        match &self.rate {
            Some(rate) => {
                let of_each = self.tool.rate_of_each.then(|| rate.parse::<f64>().ok()).flatten();
                let rate = of_each.map_or_else(|| rate.clone(), |rate| (rate * self.users as f64).to_string());
                put("-r", format!("{}/s", rate.trim_end_matches("/s")));
                if self.users_given {
                    put("--max-connections", self.users.to_string());
                }
            }
            None => put("-c", self.users.saturating_mul(streams.unwrap_or(1)).to_string()),
        }
        if let Some(streams) = streams {
            put("--streams", streams.to_string());
        }
        match (self.requests, self.timed) {
            (Some(n), false) => put("-n", each(n).to_string()),
            (None, false) => put("-d", self.tool.time.into()),
            (_, true) => {}
        }
        words.append(&mut self.words);
        if self.tool.always.first().is_some_and(|flag| !words.iter().any(|word| word == flag)) {
            words.extend(self.tool.always.iter().map(ToString::to_string));
        }
        if !self.keepalive {
            words.push("--no-keepalive".into());
        }
        // Curl commands contain their own URLs.
        let named = words.iter().any(|word| word == "--curl-file");
        words.extend(self.url.or_else(|| (!named).then(|| "URL".into())));
        Translation { tool: self.tool.name, words, notes: self.notes }
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
mod tests {
    use super::*;

    fn line(text: &str) -> Vec<String> {
        text.split_whitespace().map(|word| word.replace('~', " ")).collect()
    }

    #[track_caller]
    fn is(text: &str, wanted: &str, notes: &[&str]) {
        let found = translate_pasted(&line(text)).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(found.command(), wanted, "{text}");
        assert_eq!(found.notes, notes, "{text}");
    }

    #[test]
    fn a_pasted_line_becomes_the_brunt_command_that_does_the_same() {
        for (theirs, ours) in [
            ("wrk -t4 -c100 -d30s http://h/", "brunt -c 100 -w 4 -d 30s http://h/"),
            ("/usr/bin/wrk http://h/", "brunt -c 10 -d 10s http://h/"),
            (
                "wrk2 -t2 -c50 -d1m -R2000 --latency http://h/",
                "brunt -r 2000/s --max-connections 50 -w 2 -d 1m http://h/",
            ),
            ("wrk -c 5 -H Accept:~a/b --timeout 2 http://h/", "brunt -c 5 -d 10s -H 'Accept: a/b' -t 2s http://h/"),
            ("ab -n 1000 -c 10 -k http://h/", "brunt -c 10 -n 1000 http://h/"),
            (
                "ab -n 9 -p body.json -T application/json http://h/",
                "brunt -c 1 -n 9 --data-file body.json -H 'Content-Type: application/json' --no-keepalive http://h/",
            ),
            ("ab -t 30 -c 5 -k -i http://h/", "brunt -c 5 -d 30s -X HEAD http://h/"),
            ("hey http://h/", "brunt -c 50 -n 200 http://h/"),
            ("hey -z 30s -c 20 -q 5 http://h/", "brunt -r 100/s --max-connections 20 -d 30s http://h/"),
            (
                "hey -n 10 -c 2 -m PUT -d {} -disable-keepalive http://h/",
                "brunt -c 2 -n 10 -X PUT --data-raw '{}' --no-keepalive http://h/",
            ),
            ("h2load -n1000 -c 10 -m 20 -t2 https://h/", "brunt -c 200 --streams 20 -n 1000 -w 2 --http 2 https://h/"),
            (
                "h2load --duration=5 -c 4 --rps 50 https://h/",
                "brunt -r 200/s --max-connections 4 -d 5s --http 2 https://h/",
            ),
            ("go-stress-testing -c 100 -n 50 -k -u http://h/", "brunt -c 100 -n 5000 http://h/"),
            (
                "./go-stress-testing-linux -c 2 -n 3 -H A:~b -data {} -u http://h/",
                "brunt -c 2 -n 6 -H 'A: b' --data-raw '{}' --no-keepalive http://h/",
            ),
            ("go-stress-testing -c 2 -n 1 -k -p curl.txt", "brunt -c 2 -n 2 --curl-file curl.txt"),
            ("hey -c 5", "brunt -c 5 -n 200 URL"),
            ("-- wrk -c1 http://h/", "brunt -c 1 -d 10s http://h/"),
        ] {
            is(theirs, ours, &[]);
        }
        is("wrk~-c3~http://h/", "brunt -c 3 -d 10s http://h/", &[]);
        assert_eq!(translate_pasted(&line("http://h/")), None);
        assert_eq!(translate_pasted(&line("wrkr -c1 http://h/")), None);
    }

    #[test]
    fn what_has_no_counterpart_is_told_and_secrets_are_not() {
        is(
            "wrk -s a.lua --frob http://h/",
            "brunt -c 10 -d 10s http://h/",
            &[
                "-s: brunt runs no scripts; -H, --data and slots such as {counter} vary requests",
                "brunt does not know --frob from wrk",
            ],
        );
        is("ab -A me:hunter2 -k http://u:pw@h/", "brunt -c 1 -n 1 --user '***' 'http://***@h/'", &[]);
    }

    #[test]
    fn options_of_another_tool_give_it_away_where_all_of_the_line_is_its() {
        let of = |text: &str, option: &str| guess_tool(&line(text), option).map(|found| (found.tool, found.command()));
        assert_eq!(
            of("-z 30s -c 20 -q 5 http://h/", "-z"),
            Some(("hey", "brunt -r 100/s --max-connections 20 -d 30s http://h/".into()))
        );
        assert_eq!(of("-n 100 -c 10 -p f -T a/b -k http://h/", "-p").map(|(tool, _)| tool), Some("ab"));
        assert_eq!(of("-t4 -c100 -d30s http://h/", "-t"), Some(("wrk", "brunt -c 100 -w 4 -d 30s http://h/".into())));
        assert_eq!(of("-z 30s --warmup 2s http://h/", "-z"), None, "no other tool has that option");
        assert_eq!(of("-z 30s http://h/", "-z"), None, "one option is a slip, not a line");
        assert_eq!(of("-s x.lua -n 1 http://h/", "-s"), None, "ab's -s is a time");
        assert_eq!(of("-z 30s -c 20", "-z"), None, "where to?");
    }
}
