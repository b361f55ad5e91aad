//! Every command that brunt prints runs: those of experiments, for runs of every load model, and those in sentences.

use std::fs;
use std::process;

use brunt_diagnose::{ExperimentLoad, RepeatCommand};

use super::tests::{DEFAULTS, protocols};
use super::{Command, read};

/// Runs of every load model and protocol, as the words of a shell; `@` stands before the name of a plan file.
const RUNS: &[&str] = &[
    "127.0.0.1:1",
    "-c 20 -d 5s 127.0.0.1:1/a?b=1&c={counter}",
    "run -n 100 -c 8 127.0.0.1:1",
    "-kc 8 -w 8 --processes 2 https://127.0.0.1:1",
    "-c 5 --think 1s..2s --warmup 1s -d 9s 127.0.0.1:1 127.0.0.1:2/other",
    "-c 50 --together --connect-rate 10/s --drain 0s -t 2s 127.0.0.1:1",
    "-c 50 --precise --pin --net uring --source 127.0.0.2-127.0.0.9 127.0.0.1:1",
    "--stage 5s:10 --stage 9s:10..100 127.0.0.1:1",
    "-r 100/s 127.0.0.1:1",
    "-r 100/s -n 50 --arrivals constant --max-connections 8 --slack 1ms 127.0.0.1:1",
    "-r 6000/min --arrivals burst --precise 127.0.0.1:1",
    "--stage 5s:10/s..100/s --arrivals poisson -w 2 127.0.0.1:1",
    "-r 100/s --connect-rate 10/s --warmup 1s --run-timeout 1m 127.0.0.1:1",
    "-c 9 --no-keepalive --cookie-jar -L --expect-status 200,404 -H A:~b' 127.0.0.1:1",
    "-c 9 --http2 --streams 5 127.0.0.1:1",
    "-r 100/s --http2 --streams 5 127.0.0.1:1",
    "-c 9 --objective p99<50ms --objective failed<5%~for~10s~stop --lang zh --quiet -o x.html 127.0.0.1:1",
    "-c 9 --prometheus 9464 --linger 1s --otlp http://127.0.0.1:4318 --trace 1% --reference 20/s 127.0.0.1:1",
    "-c 9 --json {\"a\":\"it's~{counter}\"} --name order --no-slots 127.0.0.1:1",
    "--curl curl~-d~a=b~http://127.0.0.1:1/ --curl curl~http://127.0.0.1:1/x --as-flow -c 3",
    "--curl curl~http://127.0.0.1:1/x -r 5/s",
    "ws://127.0.0.1:1/ -c 20 --hold 5s --data x --ping 1s",
    "ws://127.0.0.1:1/ -c 20 --interval 100ms --data x --push",
    "ws://127.0.0.1:1/ -r 20/s --data x --one-way",
    "redis://127.0.0.1:1 -c 5",
    "redis://127.0.0.1:1 -r 500/s --arrivals constant",
    "mysql://root@127.0.0.1:1/db -c 5 --sql select~1 --watch mysql=mysql://root@127.0.0.1:1",
    "postgres://u@127.0.0.1:1/db -r 5/s --arrivals burst --sql select~1",
    "grpc://127.0.0.1:1/pkg.Service/Method -c 5 --streams 2 --data {}",
    "udp://127.0.0.1:1 -r 100/s --send x",
    "tcp://127.0.0.1:1 -c 5 --send x --until \\n",
    "@closed",
    "@closed -c 40 --iterations 90",
    "@open",
    "@open -r 9/s --arrivals burst",
    "@ramp",
    "@few",
    "@held",
    "@scenarios",
    "@scenarios --scenario buy",
];

/// The plan files.
const PLANS: &[(&str, &str)] = &[
    ("closed", "users: 5\nduration: 3s\nflow: [http://127.0.0.1:1/a, {pause: 1s}, http://127.0.0.1:1/b]\n"),
    ("open", "rate: 100/s\narrivals: constant\nduration: 3s\nmax-connections: 9\nflow: [http://127.0.0.1:1/a]\n"),
    ("ramp", "stages: ['5s:1/s..9/s']\nslack: 1ms\nurls: [http://127.0.0.1:1/a]\n"),
    ("few", "users: 2\nrequests: 5\ntogether: true\nthink: 1s\nurls: [http://127.0.0.1:1/a]\n"),
    ("held", "users: 2\nhold: 3s\ndata: x\nurls: ['ws://127.0.0.1:1/a']\n"),
    (
        "scenarios",
        "scenarios:\n  buy:\n    users: 5\n    flow: [http://127.0.0.1:1/a]\n  look:\n    rate: 5/s\n    \
            flow: [http://127.0.0.1:1/b]\n",
    ),
];

fn parsed(words: &[String]) -> Result<Command, String> {
    read(words, &protocols(), &DEFAULTS).map_err(|refused| refused.to_string())
}

/// Returns the words that a shell makes of a command.
fn shell_words(command: &str) -> Vec<String> {
    let said = process::Command::new("sh").args(["-c", &format!("printf '%s\\0' {command}")]).output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn the_commands_of_experiments_run_for_every_load_model() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in PLANS {
        fs::write(folder.path().join(format!("{name}.yaml")), text).unwrap();
    }
    let examples = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/examples")).unwrap();
    let examples: Vec<String> = examples.map(|file| file.unwrap().path().display().to_string()).collect();
    assert!(examples.len() > 5, "{examples:?}");
    let place = |word: &str| match word.strip_prefix('@') {
        Some(name) => folder.path().join(format!("{name}.yaml")).display().to_string(),
        None => word.replace('~', " "),
    };
    let loads = [
        ExperimentLoad::Users(1),
        ExperimentLoad::Users(100),
        ExperimentLoad::OneEach(8),
        ExperimentLoad::Rate("7/s".into()),
        ExperimentLoad::RateFor("10/s".into(), "1h"),
        ExperimentLoad::NewConnections,
    ];
    let (mut refused, mut printed) = (Vec::new(), 0);
    for line in RUNS.iter().copied().chain(examples.iter().map(String::as_str)) {
        let words: Vec<String> = line.split(' ').map(place).collect();
        let intent = match parsed(&words) {
            Ok(Command::Run(intent)) => *intent,
            other => {
                refused.push(format!("{line}\n    {other:?}"));
                continue;
            }
        };
        let repeat: RepeatCommand = brunt_report::repeat_command(&intent.command, &intent.plan);
        for command in loads.iter().filter_map(|load| repeat.command(load)) {
            printed += 1;
            let again = shell_words(&command);
            assert_eq!(again[0], "brunt", "{command}");
            match parsed(&again[1..]) {
                Ok(Command::Run(_)) => {}
                other => refused.push(format!("{line}\n    {command}\n    {other:?}")),
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(printed > 4 * RUNS.len(), "{printed}: hardly any command is left to check");
}

/// Words of people in commands, and what they stand for; longer ones first.
const PLACES: &[(&str, &str)] = &[
    ("[RULE]", "N2"),
    ("[TOPIC]", "http"),
    ("RULE", "N2"),
    ("TOPIC", "http"),
    ("SHELL", "bash"),
    ("URL | head", "http://127.0.0.1:1/"),
    ("URL | jq", "http://127.0.0.1:1/"),
    ("[run] URL", "run http://127.0.0.1:1/"),
    ("URL", "http://127.0.0.1:1/"),
    ("[FILE…]", "a.bruntrec"),
    ("A B", "a.bruntrec b.bruntrec"),
    ("NAME", "load"),
    ("VERSION", "1.1"),
    (" ...", ""),
];

/// Returns the commands in the sentences of a source: between backquotes, beginning with `brunt`, outside of comments.
fn commands_of(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().map(str::trim).filter(|line| !line.starts_with("//")).collect();
    let joined = lines.join("\n").replace("\\\n", "");
    let commands = joined.split('`').skip(1).filter(|part| part.starts_with("brunt ") && !part.contains('\n'));
    commands.map(str::to_owned).collect()
}

fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, found),
            false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn the_commands_in_sentences_run() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    sources(crates, &mut files);
    files.retain(|file| {
        file.components().any(|part| part.as_os_str() == "src") && !file.to_string_lossy().contains("tests")
    });
    let (mut refused, mut seen) = (Vec::new(), 0);
    for file in files {
        for command in commands_of(&fs::read_to_string(&file).unwrap()) {
            // Filled in while the program runs, and tested where that happens.
            if command.contains('{') {
                continue;
            }
            seen += 1;
            let spelled = PLACES.iter().fold(command.clone(), |said, (word, value)| said.replace(word, value));
            let words = shell_words(&spelled);
            if let Err(why) = parsed(&words[1..]) {
                refused.push(format!("{}: {command}: {why}", file.display()));
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(seen > 20, "{seen}: hardly any command was found");
}

/// The commands that findings about pasted outputs name are made at run time, with a URL and numbers of the paste.
#[test]
fn the_commands_that_settle_findings_can_be_parsed() {
    let pasted = "\
ab -n 3000 -c 300 http://10.1.2.3/test/
Requests per second:    1448.86 [#/sec] (mean)
Time per request:       69.020 [ms] (mean)
  50%     12
  99%    203
300 clients, running 60 sec.
Speed=24525 pages/min, 20794612 bytes/sec.
QPS: 24525
Running 30s test @ http://127.0.0.1:8080/
  2 threads and 50 connections
    Latency    10.00ms    3.00ms  50.00ms   70.00%
     50%    1.50ms
  300000 requests in 30.00s, 40.00MB read
  Socket errors: connect 0, read 0, write 0, timeout 9
Requests/sec:  10000.00
1389 machines / 69 = 20
machines: 1389 / 69 ≈ 20
machines for ports: 100W / (65535-1024) ≈ 15.5
| users | QPS |
| 1 | 100 |
| 2 | 900 |
";
    let report = brunt_arithmetic::lint::lint(pasted.as_bytes()).unwrap();
    let commands: Vec<&String> = report.findings.iter().filter_map(|found| found.command.as_ref()).collect();
    assert!(commands.len() >= 8, "{:#?}", report.findings);
    for command in commands {
        let words = command.replace("URL", "http://localhost/").replace('\'', "");
        let words: Vec<String> = words.split(' ').skip(1).map(str::to_owned).collect();
        let parsed = crate::read(&words, &protocols(), &DEFAULTS);
        assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
    }
}
