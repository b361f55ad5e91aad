//! The commands of experiments: the command line of a run with another load. Whatever does not go with that load, or
//! tells where the figures go, is left out, so that each command runs as it is printed.

/// The load of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExperimentLoad {
    /// This many users.
    Users(u64),
    /// This many users with one request each.
    OneEach(u64),
    /// This rate.
    Rate(String),
    /// This rate for this time.
    RateFor(String, &'static str),
    /// The load of the run, with a new connection for every request.
    NewConnections,
}

/// The command line of a run, from which the commands of experiments are made. Secrets are masked as they are in the
/// record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepeatCommand {
    /// The words after `brunt`.
    words: Vec<String>,
    plan: RepeatedPlan,
}

/// What decides which options a repeated plan takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepeatedPlan {
    /// Set if connections are held once everything was sent.
    pub holds: bool,
    /// Number of requests or iterations that ends the run.
    pub requests: Option<u64>,
    /// Set if users do a flow, so that the run ends after iterations instead of requests.
    pub has_flow: bool,
    /// Set if there are scenarios, whose loads no option sets.
    pub has_scenarios: bool,
    /// Set if the protocol can open a connection for each request.
    pub can_reconnect: bool,
}

/// An option of the command line.
struct LineOption {
    short: char,
    long: &'static str,
    takes_value: bool,
}

const fn value(short: char, long: &'static str) -> LineOption {
    LineOption { short, long, takes_value: true }
}

const fn switch(short: char, long: &'static str) -> LineOption {
    LineOption { short, long, takes_value: false }
}

/// Stands for an option without a short form.
const NONE: char = '\0';

/// The options that set the size of a load.
const SIZE: [LineOption; 7] = [
    value('c', "users"),
    value('r', "rate"),
    value('d', "duration"),
    value('n', "requests"),
    value(NONE, "iterations"),
    value(NONE, "stage"),
    value(NONE, "stages"),
];
/// The options that tell where the figures go, and the seed, which must not repeat.
const FIGURES: [LineOption; 5] =
    [value('o', "output"), value(NONE, "record"), value(NONE, "format"), value(NONE, "seed"), switch(NONE, "quiet")];
/// The options that need a rate, and those that need users.
const OF_RATES: [LineOption; 3] = [value(NONE, "arrivals"), value(NONE, "max-connections"), value(NONE, "slack")];
const OF_USERS: [LineOption; 3] = [value(NONE, "think"), value(NONE, "interval"), switch(NONE, "together")];
const COUNTS: [LineOption; 2] = [value('n', "requests"), value(NONE, "iterations")];
const HOLD: [LineOption; 1] = [value(NONE, "hold")];
const NEW_CONNECTIONS: [LineOption; 1] = [switch(NONE, "no-keepalive")];
/// What stands for a secret in a record.
const MASKED: &str = "***";
/// Short options without a value, which may stand before another one in the same word.
const SHORT_SWITCHES: &str = "kL";

impl RepeatCommand {
    /// Creates it from a command line that begins with the program (or, without one, from a URL) and its plan.
    pub fn new(command: &[String], url: &str, plan: RepeatedPlan) -> RepeatCommand {
        let words = match command {
            [_, first, rest @ ..] if first == "run" => rest,
            [_, rest @ ..] => rest,
            [] => &[],
        };
        RepeatCommand { words: if words.is_empty() { vec![url.to_owned()] } else { words.to_vec() }, plan }
    }

    /// Returns the command of an experiment, quoted for a shell; `None` if no option sets that load.
    pub fn command(&self, load: &ExperimentLoad) -> Option<String> {
        // What a plan file says stays unless an option replaces it.
        let file_holds = self.plan.holds && !self.has(&HOLD);
        let in_file = self.plan.requests.filter(|_| !self.has(&COUNTS));
        let unable = match load {
            ExperimentLoad::Users(users) => self.plan.has_scenarios || in_file.is_some_and(|count| count < *users),
            ExperimentLoad::OneEach(_) | ExperimentLoad::Rate(_) | ExperimentLoad::RateFor(..) => {
                self.plan.has_scenarios || file_holds
            }
            ExperimentLoad::NewConnections => self.has(&NEW_CONNECTIONS) || !self.plan.can_reconnect,
        };
        // A masked curl command says nothing.
        if unable || self.words.windows(2).any(|two| two[0] == "--curl" && two[1] == MASKED) {
            return None;
        }
        let each = if self.plan.has_flow { "--iterations" } else { "-n" };
        let (size, dropped): (String, Vec<&[LineOption]>) = match load {
            ExperimentLoad::Users(users) => (format!("-c {users} "), vec![&SIZE, &OF_RATES]),
            ExperimentLoad::OneEach(users) => (format!("-c {users} {each} {users} "), vec![&SIZE, &OF_RATES, &HOLD]),
            ExperimentLoad::Rate(rate) => (format!("-r {rate} "), vec![&SIZE, &OF_USERS, &HOLD]),
            ExperimentLoad::RateFor(rate, time) => (format!("-r {rate} -d {time} "), vec![&SIZE, &OF_USERS, &HOLD]),
            ExperimentLoad::NewConnections => ("--no-keepalive ".to_owned(), vec![]),
        };
        let dropped: Vec<&LineOption> = dropped.into_iter().flatten().chain(&FIGURES).collect();
        Some(format!("brunt {size}{}", self.without(&dropped).join(" ")))
    }

    fn has(&self, options: &[LineOption]) -> bool {
        self.words.iter().any(|word| options.iter().any(|option| option.place_in(word).is_some()))
    }

    /// Returns the words without these options, quoted for a shell.
    fn without(&self, dropped: &[&LineOption]) -> Vec<String> {
        let mut words = self.words.iter();
        let mut kept = Vec::new();
        while let Some(word) = words.next() {
            let (rest, lacks_value) = dropped.iter().fold((word.clone(), false), |(word, lacks_value), option| {
                let Some((before, after)) = option.place_in(&word) else { return (word, lacks_value) };
                match option.takes_value {
                    true => (cluster(before), after.is_empty()),
                    false => (cluster(&format!("{before}{after}")), lacks_value),
                }
            });
            if lacks_value {
                words.next();
            }
            if !rest.is_empty() || word.is_empty() {
                kept.push(quoted(&rest));
            }
        }
        kept
    }
}

/// Returns a word of these short options; empty if there are none.
fn cluster(options: &str) -> String {
    if options.is_empty() { String::new() } else { format!("-{options}") }
}

impl LineOption {
    /// Returns the short switches before the option in a word, and what follows it there: its value, or more short
    /// options. `None` if it is not in the word.
    fn place_in<'a>(&self, word: &'a str) -> Option<(&'a str, &'a str)> {
        if let Some(name) = word.strip_prefix("--") {
            let rest = name.strip_prefix(self.long)?;
            let is_whole = rest.is_empty() || (self.takes_value && rest.starts_with('='));
            return is_whole.then_some(("", rest));
        }
        let options = word.strip_prefix('-').filter(|_| self.short != NONE)?;
        let at = options.find(self.short)?;
        let (before, after) = (&options[..at], &options[at + self.short.len_utf8()..]);
        before.chars().all(|c| SHORT_SWITCHES.contains(c)).then_some((before, after))
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_@%+=:,./-[]".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> RepeatCommand {
        with(line, RepeatedPlan { can_reconnect: true, ..RepeatedPlan::default() })
    }

    fn with(line: &[&str], plan: RepeatedPlan) -> RepeatCommand {
        RepeatCommand::new(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), "http://h/", plan)
    }

    fn users(line: &[&str]) -> String {
        of(line).command(&ExperimentLoad::Users(1)).unwrap()
    }

    #[test]
    fn everything_but_the_size_of_the_load_stays() {
        let line = ["brunt", "-c", "60", "--duration=4s", "-n9", "--no-keepalive", "-o", "x.json", "http://h/?a=1&b"];
        assert_eq!(users(&line), "brunt -c 1 --no-keepalive 'http://h/?a=1&b'");
        let line = ["brunt", "run", "-r", "5/s", "--json", r#"{"it":"'"}"#, "-H", "A: ***", "h:1", "h:2/x"];
        assert_eq!(users(&line), r#"brunt -c 1 --json '{"it":"'\''"}' -H 'A: ***' h:1 h:2/x"#);
        assert_eq!(users(&["brunt", "--record", "r", "--connect-rate", "3/s", "h"]), "brunt -c 1 --connect-rate 3/s h");
        assert_eq!(users(&["brunt", "-kc", "5", "-Ln9", "--quiet", "h"]), "brunt -c 1 -k -L h");
        assert_eq!(users(&[]), "brunt -c 1 http://h/");
    }

    #[test]
    fn what_does_not_go_with_the_new_load_is_left_out() {
        let open = of(&["brunt", "-r", "9/s", "--arrivals", "burst", "--max-connections", "8", "--slack=1ms", "h"]);
        let closed = of(&["brunt", "-c", "9", "--think", "1s..2s", "--together", "--hold", "3s", "h"]);
        let rate = ExperimentLoad::Rate("5/s".into());
        assert_eq!(open.command(&ExperimentLoad::Users(3)).unwrap(), "brunt -c 3 h");
        assert_eq!(
            open.command(&rate).unwrap(),
            "brunt -r 5/s --arrivals burst --max-connections 8 --slack=1ms h",
            "the same arrivals"
        );
        assert_eq!(closed.command(&rate).unwrap(), "brunt -r 5/s h");
        assert_eq!(
            closed.command(&ExperimentLoad::Users(3)).unwrap(),
            "brunt -c 3 --think 1s..2s --together --hold 3s h"
        );
        assert_eq!(closed.command(&ExperimentLoad::OneEach(3)).unwrap(), "brunt -c 3 -n 3 --think 1s..2s --together h");
    }

    #[test]
    fn a_load_that_no_option_sets_has_no_command() {
        let loads = [ExperimentLoad::Users(9), ExperimentLoad::OneEach(9), ExperimentLoad::Rate("5/s".into())];
        let able = |repeat: RepeatCommand| loads.each_ref().map(|load| repeat.command(load).is_some());
        let file = |plan: RepeatedPlan| with(&["brunt", "plan.yaml"], plan);
        let plain = RepeatedPlan::default;
        assert_eq!(able(file(plain())), [true, true, true]);
        assert_eq!(
            able(file(RepeatedPlan { has_scenarios: true, ..plain() })),
            [false; 3],
            "they have their own loads"
        );
        assert_eq!(able(file(RepeatedPlan { holds: true, ..plain() })), [true, false, false], "the file holds them");
        let five = RepeatedPlan { requests: Some(5), ..plain() };
        assert_eq!(able(file(five.clone())), [false, true, true], "five requests for nine users");
        assert_eq!(able(with(&["brunt", "-n5", "h"], five)), [true; 3], "the five are left out");
        assert_eq!(able(of(&["brunt", "--curl", "***"])), [false; 3], "nobody knows what it sent");
        let flow = file(RepeatedPlan { has_flow: true, ..plain() });
        assert_eq!(flow.command(&loads[1]).unwrap(), "brunt -c 9 --iterations 9 plan.yaml");
        assert_eq!(file(plain()).command(&ExperimentLoad::NewConnections), None, "a protocol without requests apart");
        let fresh = |line: &[&str]| of(line).command(&ExperimentLoad::NewConnections);
        assert_eq!(fresh(&["brunt", "-c", "9", "-d", "4s", "h"]).unwrap(), "brunt --no-keepalive -c 9 -d 4s h");
        assert_eq!(fresh(&["brunt", "--no-keepalive", "h"]), None, "that was the run");
    }
}
