//! Commands of load testing tools inside a paste: what was asked for, where an output does not repeat it.

use super::paste::PastedText;
use super::quantities;
use super::stated::ToolName;

/// A command line of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastedCommand {
    /// Number of its line.
    pub line: usize,
    /// Users, connections or clients asked for.
    pub users: Option<u64>,
    /// Requests asked for, in all or of each user, as the tool means it.
    pub requests: Option<u64>,
    /// Rate asked for, per second.
    pub rate_per_s: Option<f64>,
    /// Set if it asks for persistent connections.
    pub keep_alive: bool,
    /// Set if it asks for a new connection for each request.
    pub no_keep_alive: bool,
    /// Time limit of a request in seconds.
    pub timeout_s: Option<f64>,
    /// Script that makes the requests.
    pub script: Option<String>,
    /// URL of the target.
    pub url: Option<String>,
}

impl PastedCommand {
    /// Returns `true` if its script sends requests without waiting for responses, as far as its name tells.
    pub fn pipelines(&self) -> bool {
        self.script.as_ref().is_some_and(|script| script.to_lowercase().contains("pipelin"))
    }
}

/// The options of a tool that matter here, without dashes.
struct ToolOptions {
    tool: ToolName,
    programs: &'static [&'static str],
    users: &'static [&'static str],
    requests: &'static [&'static str],
    rate: &'static [&'static str],
    timeout: &'static [&'static str],
    script: &'static [&'static str],
    keep_alive: &'static [&'static str],
    no_keep_alive: &'static [&'static str],
}

const TOOLS: [ToolOptions; 8] = [
    ToolOptions {
        tool: ToolName::Ab,
        programs: &["ab", "ab.exe", "abs"],
        users: &["c"],
        requests: &["n"],
        rate: &[],
        timeout: &["s"],
        script: &[],
        keep_alive: &["k"],
        no_keep_alive: &[],
    },
    ToolOptions {
        tool: ToolName::Wrk,
        programs: &["wrk"],
        users: &["c", "connections"],
        requests: &[],
        rate: &["R", "rate"],
        timeout: &["timeout"],
        script: &["s", "script"],
        keep_alive: &[],
        no_keep_alive: &[],
    },
    ToolOptions {
        tool: ToolName::Wrk2,
        programs: &["wrk2"],
        users: &["c", "connections"],
        requests: &[],
        rate: &["R", "rate"],
        timeout: &["timeout"],
        script: &["s", "script"],
        keep_alive: &[],
        no_keep_alive: &[],
    },
    ToolOptions {
        tool: ToolName::Hey,
        programs: &["hey", "hey.exe", "hey_linux", "hey_linux_amd64", "boom"],
        users: &["c"],
        requests: &["n"],
        rate: &["q"],
        timeout: &["t"],
        script: &[],
        keep_alive: &[],
        no_keep_alive: &["disable-keepalive"],
    },
    ToolOptions {
        tool: ToolName::Oha,
        programs: &["oha", "oha.exe", "oha-linux-amd64"],
        users: &["c"],
        requests: &["n"],
        rate: &["q"],
        timeout: &["t"],
        script: &[],
        keep_alive: &[],
        no_keep_alive: &["disable-keepalive"],
    },
    ToolOptions {
        tool: ToolName::Webbench,
        programs: &["webbench"],
        users: &["c", "clients"],
        requests: &[],
        rate: &[],
        timeout: &[],
        script: &[],
        keep_alive: &[],
        no_keep_alive: &[],
    },
    ToolOptions {
        tool: ToolName::GoStressTesting,
        programs: &["go-stress-testing", "go_stress_testing", "main.go"],
        users: &["c"],
        requests: &["n"],
        rate: &[],
        timeout: &["t"],
        script: &[],
        keep_alive: &["k"],
        no_keep_alive: &[],
    },
    ToolOptions {
        tool: ToolName::K6,
        programs: &["k6"],
        users: &["vus", "u"],
        requests: &["iterations", "i"],
        rate: &["rps"],
        timeout: &[],
        script: &[],
        keep_alive: &[],
        no_keep_alive: &["no-connection-reuse"],
    },
];

/// Returns the commands of a paste with their tools, in order.
pub fn commands(paste: &PastedText) -> Vec<(ToolName, PastedCommand)> {
    paste.lines.iter().filter_map(|line| command(&line.text, line.number)).collect()
}

fn command(text: &str, number: usize) -> Option<(ToolName, PastedCommand)> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '`').filter(|word| !word.is_empty()).collect();
    let (at, options) = words.iter().enumerate().find_map(|(at, word)| Some((at, tool_of(word)?)))?;
    let arguments = &words[at + 1..];
    if !arguments.iter().any(|word| word.starts_with('-')) {
        return None;
    }
    let mut found = PastedCommand { line: number, ..PastedCommand::default() };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(option) = word.strip_prefix('-') else {
            found.url = found.url.or_else(|| url(word));
            continue;
        };
        let (name, glued) = split_option(option);
        let value = || glued.or_else(|| rest.clone().next().copied());
        let is = |names: &[&str]| names.contains(&name);
        if is(options.users) {
            found.users = value().and_then(quantities::count);
        } else if is(options.requests) {
            found.requests = value().and_then(quantities::count);
        } else if is(options.rate) {
            // A rate of 0 stands for none.
            found.rate_per_s = value().and_then(quantities::number).map(|rate| rate.value).filter(|rate| *rate > 0.0);
        } else if is(options.timeout) {
            found.timeout_s = value().and_then(seconds);
        } else if is(options.script) {
            found.script = value().map(str::to_owned);
        }
        found.keep_alive |= is(options.keep_alive);
        found.no_keep_alive |= is(options.no_keep_alive);
    }
    Some((options.tool, found))
}

/// Returns the tool that a word of a command line starts, if it does.
fn tool_of(word: &str) -> Option<&'static ToolOptions> {
    let word = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '/' | '~'));
    let word = word.trim_end_matches(['"', '\'']);
    let name = word.rsplit(['/', '\\', '：']).next().unwrap_or(word);
    let starts = |options: &&ToolOptions, program: &str| match options.tool {
        ToolName::GoStressTesting => name.starts_with(program),
        _ => name == program,
    };
    TOOLS.iter().find(|options| options.programs.iter().any(|program| starts(options, program)))
}

/// Splits `c300`, `-connections=300` and `-connections` into a name and a value.
fn split_option(option: &str) -> (&str, Option<&str>) {
    let long = option.trim_start_matches('-');
    if let Some((name, value)) = long.split_once('=') {
        return (name, Some(value));
    }
    match option.char_indices().nth(1) {
        Some((at, next)) if long.len() == option.len() && next.is_ascii_digit() => (&option[..at], Some(&option[at..])),
        _ => (long, None),
    }
}

fn seconds(text: &str) -> Option<f64> {
    quantities::time(text).or_else(|| quantities::number(text)).map(|time| time.value)
}

/// Returns a URL that can stand in a command: nothing that a shell would act on, and nothing secret.
fn url(word: &str) -> Option<String> {
    let word = word.trim_matches(['"', '\'', '`', ',', '。', '，']);
    let (scheme, rest) = word.split_once("://")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '/' | '[' | ']');
    let known = ["http", "https", "ws", "wss", "grpc"].contains(&scheme);
    (known && !rest.is_empty() && rest.len() < 200 && rest.chars().all(plain)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(ToolName, PastedCommand)> {
        command(text, 1)
    }

    #[test]
    fn commands_are_read_as_their_tools_mean_them() {
        let (tool, found) = read("命令：`ab -n 3000 -c 300 \"http://10.1.2.3/test/\"`").unwrap();
        assert_eq!((tool, found.users, found.requests), (ToolName::Ab, Some(300), Some(3000)));
        assert_eq!(found.url.as_deref(), Some("http://10.1.2.3/test/"));
        let (tool, found) = read("$ ./wrk -t12 -c400 -d30s --timeout 5s http://127.0.0.1:8080/index.html").unwrap();
        assert_eq!((tool, found.users, found.timeout_s), (ToolName::Wrk, Some(400), Some(5.0)));
        let (tool, found) = read("go run main.go -c 300 -n 1000 -u grpc://127.0.0.1:8099 -data world").unwrap();
        assert_eq!((tool, found.users, found.keep_alive), (ToolName::GoStressTesting, Some(300), false));
        let (tool, found) = read("./go-stress-testing-linux -c 100 -n 10000 -k -u http://127.0.0.1:8088/").unwrap();
        assert_eq!((tool, found.keep_alive), (ToolName::GoStressTesting, true));
        let (tool, found) = read("k6 run --vus=80 --duration 10s test.js").unwrap();
        assert_eq!((tool, found.users), (ToolName::K6, Some(80)));
        let (tool, found) = read("& \"D:\\bin\\ab.exe\" -l -n 200 -c 20 \"http://localhost/a.php\"").unwrap();
        assert_eq!((tool, found.users), (ToolName::Ab, Some(20)));
        let (_, found) = read("wrk2 -t2 -c100 -d30s -R2000 --latency http://a/").unwrap();
        assert_eq!(found.rate_per_s, Some(2000.0));
        let (_, found) = read("wrk -t4 -c128 -d30s http://a/ -s pipeline.lua --latency -- / 16").unwrap();
        assert_eq!((found.script.as_deref(), found.pipelines()), (Some("pipeline.lua"), true));
        let (tool, found) = read("oha -q 0 -c 20 -z 10s http://a/").unwrap();
        assert_eq!((tool, found.users, found.rate_per_s), (ToolName::Oha, Some(20), None));
        let (tool, found) = read("$ ./bin/hey_linux -c 20 http://a/").unwrap();
        assert_eq!((tool, found.users), (ToolName::Hey, Some(20)));
    }

    #[test]
    fn prose_about_tools_is_no_command() {
        for text in ["wrk is a modern tool", "hey there", "ab", "use wrk, ab or hey", "- wrk", ""] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_url_that_a_shell_would_act_on_is_left_out() {
        for text in
            ["ab -n 1 http://a/$(x)", "ab -n 1 'http://a/?token=1'", "ab -n 1 http://u:p@a/", "ab -n 1 file:///x"]
        {
            assert_eq!(read(text).unwrap().1.url, None, "{text}");
        }
    }
}
