//! Tables of command lines with their results or error messages.

use std::sync::Arc;

use brunt_contract::{OptionArity, OptionSpec, Protocol};
use brunt_measure::Nanos;
use brunt_plan::{Arrivals, Load, NetKind, Stage};

use super::*;

pub const DEFAULTS: Defaults = Defaults { cores: 4.7, descriptors: 1024, seed: 7 };

pub fn protocols() -> Vec<Arc<dyn Protocol>> {
    brunt_protocols::all()
}

/// Parses a command line, split at spaces; `_` represents a space within a word.
fn command(line: &str) -> Result<Command, UsageError> {
    let words: Vec<String> = line.split(' ').filter(|w| !w.is_empty()).map(|w| w.replace('_', " ")).collect();
    read(&words, &protocols(), &DEFAULTS)
}

fn run(line: &str) -> Intent {
    match command(line) {
        Ok(Command::Run(intent)) => *intent,
        other => panic!("{line}: {other:?}"),
    }
}

fn complaint(line: &str) -> String {
    let wrong = command(line).expect_err(line);
    assert!(wrong.is_translated(), "{line}: {wrong}");
    wrong.to_string()
}

fn constant(lasts: Nanos, level: f64) -> Vec<Stage> {
    vec![Stage { lasts, from: level, to: level }]
}

#[test]
fn a_url_alone_is_ten_users_for_ten_seconds() {
    let plan = run("localhost:8080/x").plan;
    assert_eq!(plan.urls[0].url, "http://localhost:8080/x");
    assert_eq!(plan.protocol, "http");
    let ten = Nanos::from_secs(10);
    assert_eq!(plan.load, Load::Closed { stages: constant(ten, 10.0), think: None, together: false });
    assert_eq!((plan.duration, plan.requests, plan.timeout), (Some(ten), None, ten));
    assert_eq!((plan.connect_timeout, plan.drain), (Nanos::from_secs(5), Nanos::from_secs(5)));
    assert_eq!((plan.workers, plan.max_connections, plan.seed), (4, 768, 7));
    assert_eq!(plan, run("run localhost:8080/x").plan);
}

#[test]
fn a_limit_of_connections_is_one_queue_whatever_the_number_of_cores() {
    let table = [
        ("-r 32/s --max-connections 2 a.b", 1),
        ("-r 20000/s --max-connections 4096 a.b", 1),
        ("--stage 1m:0/s..5000/s --max-connections 8 a.b", 1),
        // These exceed the capacity of one worker or have no explicit limit.
        ("-r 20001/s --max-connections 8 a.b", 4),
        ("-r 5000/s --max-connections 4097 a.b", 4),
        ("-r 32/s a.b", 4),
        ("-c 32 a.b", 4),
        // An explicit number of workers is kept.
        ("-r 32/s --max-connections 8 -w 3 a.b", 3),
        ("-r 32/s --max-connections 8 --processes 2 a.b", 2),
    ];
    for (line, workers) in table {
        assert_eq!(run(line).plan.workers, workers, "{line}");
    }
}

#[test]
fn closed_loads() {
    let closed = |line: &str| match run(line).plan.load {
        Load::Closed { stages, think, together } => (stages, think, together),
        other => panic!("{line}: {other:?}"),
    };
    let table = [
        ("-c 50 -d 30s a.b", 30, 50.0, None, false),
        ("-c50 -d1m a.b", 60, 50.0, None, false),
        ("-n 5 -d 30s a.b", 30, 5.0, None, false),
        ("--think 100ms..2s a.b", 10, 10.0, Some((100, 2000)), false),
        ("--together -c 1k a.b", 10, 1000.0, None, true),
    ];
    for (line, seconds, users, think, together) in table {
        let think = think.map(|(low, high)| (Nanos::from_millis(low), Nanos::from_millis(high)));
        assert_eq!(closed(line), (constant(Nanos::from_secs(seconds), users), think, together), "{line}");
    }
    let plan = run("-n 10k -c 20 a.b").plan;
    assert_eq!((plan.requests, plan.duration, plan.load.peak()), (Some(10_000), None, 20.0));
}

#[test]
fn open_loads() {
    let table = [
        ("-r 5000/s a.b", 5000.0, Arrivals::Poisson),
        ("-r 300/min --arrivals constant a.b", 5.0, Arrivals::Constant),
        ("-r 0.5/s --arrivals burst -n 10 a.b", 0.5, Arrivals::Burst),
        ("-r 200 a.b", 200.0, Arrivals::Poisson),
    ];
    for (line, rate, wanted) in table {
        let Load::Open { stages, arrivals } = run(line).plan.load else { panic!("{line}") };
        assert_eq!((stages[0].from, stages[0].to, arrivals), (rate, rate, wanted), "{line}");
    }
}

#[test]
fn stages_say_how_long() {
    let plan = run("--stage 30s:1000/s --stage 2m:1000/s..5000/s -n 5 a.b").plan;
    assert_eq!((plan.duration, plan.requests, plan.load.stages().len()), (Some(Nanos::from_secs(150)), Some(5), 2));
    assert!(plan.load.is_open());
    assert!(!run("--stage 30s:0..50 a.b").plan.load.is_open());
}

#[test]
fn the_rest_of_a_plan() {
    let line = "-t 500ms --warmup 2s --connect-timeout 1s -w 3 --pin --precise --net epoll --seed 42 -k --no-resume --source \
                127.0.0.1-127.0.0.3,127.0.0.9 --connect-to a.b:80:127.0.0.1:8080 --objective p99<50ms -u c.d -X PUT \
                -H A:_b --header C:_d a.b";
    let intent = run(line);
    let plan = intent.plan;
    assert_eq!((plan.timeout, plan.drain), (Nanos::from_millis(500), Nanos::from_millis(500)));
    assert_eq!((plan.warmup, plan.connect_timeout), (Nanos::from_secs(2), Nanos::from_secs(1)));
    assert_eq!((plan.workers, plan.pin, plan.net, plan.seed), (3, true, NetKind::Epoll, 42));
    assert!(plan.precise);
    assert_eq!((plan.tls.insecure, plan.tls.resume), (true, false));
    assert_eq!(plan.sources, ["127.0.0.1-127.0.0.3", "127.0.0.9"]);
    assert_eq!(plan.connect_to, ["a.b:80:127.0.0.1:8080"]);
    assert_eq!(plan.objectives, ["p99<50ms"]);
    assert_eq!(plan.urls.iter().map(|u| u.url.as_str()).collect::<Vec<_>>(), ["http://a.b", "http://c.d"]);
    assert_eq!(plan.options["header"], ["A: b", "C: d"]);
    assert_eq!(plan.options["method"], ["PUT"]);
}

#[test]
fn a_dash_as_the_file_of_a_report_is_standard_output() {
    for (line, format, files) in [
        ("-o - a.b", "text", &[][..]),
        ("-o - --format json a.b", "json", &[]),
        ("-o - -o r.json a.b", "text", &["r.json"]),
    ] {
        let shown = run(line).presentation;
        assert_eq!((shown.format.name(), shown.format_given), (format, true), "{line}");
        assert_eq!(shown.files.iter().map(|file| &*file.path).collect::<Vec<_>>(), files, "{line}");
    }
    assert!(!run("a.b").presentation.format_given);
}

#[test]
fn wrong_lines_are_answered_with_a_sentence() {
    let table = [
        (
            "",
            "missing URL: give the address to send requests to, such as `brunt http://localhost:8080/`, or try `brunt demo`",
        ),
        ("-t 8 a.b", "-t: 8 is missing its unit; use `-w 8` for workers or `-t 8s`"),
        ("-t8 a.b", "-t: 8 is missing its unit; use `-w 8` for workers or `-t 8s`"),
        ("--timeout 5 a.b", "--timeout: `5` is missing its unit; use 5s, 5ms or 5m"),
        ("-d 30 a.b", "-d: `30` is missing its unit; use 30s, 30ms or 30m"),
        ("-c 0 a.b", "-c: `0` users can do nothing; use 1 or more"),
        ("-c x a.b", "-c: `x` is not a number of users; use one such as 100"),
        ("-c -5 a.b", "-c: `-5` is not a number of users; use one such as 100"),
        ("-c 99M a.b", "-c: 99000000 users are more than brunt can run (10000000); use 10000000 or fewer"),
        ("-n 0 a.b", "-n: `0` requests can do nothing; use 1 or more"),
        ("plan -body x a.b", "-body: unknown option; use --data x"),
        ("-n 1 -c 10 a.b", "-n: 1 request is too few for 10 users; use -n 10 or more, or -c 1"),
        ("-d -5s a.b", "-d: `-5s` is negative; use a value such as 5s"),
        ("--timeout -1s a.b", "--timeout: `-1s` is negative; use a value such as 1s"),
        ("-n 5 -d 10 a.b", "-d: `10` is missing its unit; use 10s, 10ms or 10m"),
        ("--no-color explain N2", "explain: is a command and must come first; use `brunt explain ...`"),
        ("--no-color plan --check", "plan: is a command and must come first; use `brunt plan ...`"),
        ("-d 5s -q report x", "report: is a command and must come first; use `brunt report ...`"),
        ("-n 5 -c 10 a.b", "-n: 5 requests are too few for 10 users; use -n 10 or more, or -c 5"),
        ("-r 0 a.b", "-r: `0` would send nothing; use a rate above zero, such as 100/s"),
        ("-r -5/s a.b", "-r: `-5/s` must be above zero; use a rate such as 100/s"),
        ("--rate=-5/s a.b", "-r: `-5/s` must be above zero; use a rate such as 100/s"),
        (
            "--rate 127.0.0.1:9003",
            "missing URL: `127.0.0.1:9003` was taken as the value of -r; use -r VALUE 127.0.0.1:9003",
        ),
        (
            "-n http://me:pw@a.b/",
            "missing URL: `http://***@a.b/` was taken as the value of -n; use -n VALUE http://***@a.b/",
        ),
        ("http:/a.b", "URL: `http:/a.b` is missing a slash; use http://a.b"),
        ("-q a.b", "-q: unknown option; use -r 1000/s for a rate, or --quiet for no console output"),
        ("--body x a.b", "--body: unknown option; use --data x"),
        (
            "--connections 5 a.b",
            "--connections: unknown option; use -c 5 (users, one connection each), or with -r --max-connections 5",
        ),
        (
            "--conections 5 a.b",
            "--conections: unknown option, and so is --connections; use -c 5 (users, one connection each), or with -r --max-connections 5",
        ),
        ("--concurency=5 a.b", "--concurency: unknown option, and so is --concurrency; use -c 5"),
        ("--max-conections 5 a.b", "--max-conections: unknown option; use --max-connections if you meant that"),
        ("--quiet help", "help: is a command and must come first; use `brunt help`"),
        ("-r 5/day a.b", "-r: `5/day` is not a rate; use one such as 5000/s, 300/min or 0.5/s"),
        (
            "-r 5/s -c 3 a.b",
            "-c: 3 users cannot be combined with a rate (-r); leave one of them out, or limit the connections with --max-connections 3",
        ),
        (
            "-r 5/s --think 1s a.b",
            "--think: needs users and cannot be combined with a rate; leave it out, or use -c 10 instead of the rate",
        ),
        ("--arrivals constant a.b", "--arrivals: needs a rate; add one, such as -r 100/s"),
        ("--arrivals random -r 5 a.b", "--arrivals: `random` is not one of poisson, constant, burst"),
        (
            "--stage 1s:5 -c 3 a.b",
            "-c: 3 cannot be combined with --stage, which has its own levels; leave one of them out",
        ),
        ("--stage 1s:5 -d 3s a.b", "-d: 3s cannot be combined with --stage, whose times add up; leave one of them out"),
        (
            "--stage 1s:5 --stage 1s:5/s a.b",
            "--stage: `1s:5` and `1s:5/s` mix users and rates; write every stage with users (30s:50) or every stage with a rate (30s:50/s)",
        ),
        (
            "--together --stage 5s:1..9 a.b",
            "--together: starts all users at once, and --stage changes their number; leave one of them out",
        ),
        ("-w 0 a.b", "-w: `0` workers can do nothing; use 1 or more"),
        ("--watch-pid x a.b", "--watch-pid: `x` is not a process id"),
        ("--watch-pid 0 a.b", "--watch-pid: `0` is not a process id"),
        ("--watch-port 70000 a.b", "--watch-port: `70000` is not a port; use a port from 1 to 65535"),
        ("--probe db1 a.b", "--probe: `db1` is not an address; use HOST:PORT, such as 10.0.0.7:7070"),
        ("--probe :7070 a.b", "--probe: `:7070` is not an address; use HOST:PORT, such as 10.0.0.7:7070"),
        ("--probe-cacert x a.b", "--probe-cacert: needs a probe; add --probe HOST:PORT"),
        (
            "--watch-port 80 --watch-pid 7 a.b",
            "--watch-port: cannot be combined with --watch-pid, which already names the service; leave one of them out",
        ),
        ("--net tcp a.b", "--net: `tcp` is not one of epoll, uring"),
        ("--seed x a.b", "--seed: `x` is not a seed; use a whole number, such as 42"),
        ("--format xml a.b", "--format: `xml` is not one of text, json, csv, markdown, junit, html"),
        ("--lang de a.b", "--lang: `de` is not a language brunt supports; write en or zh"),
        ("--key /etc/hostname a.b", "--key: needs --cert FILE; add it"),
        ("--qqq a.b", "--qqq: unknown option; `brunt --help` lists all of them"),
        ("--user-agent x a.b", "--user-agent: unknown option; use -H 'User-Agent: x'"),
        ("--timout 5s a.b", "--timout: unknown option; use --timeout if you meant that"),
        ("-R 100 a.b", "-R: unknown option; use -r 100/s"),
        ("--latency a.b", "--latency: unknown option; leave it out: percentiles and the distribution are always shown"),
        ("a.b -c", "-c: needs a value; use -c N"),
        ("-c 5 -c 6 a.b", "-c: is given more than once; give it once"),
        ("--pin=yes a.b", "--pin: takes no value; use --pin alone"),
        (
            "ftp://a.b",
            "URL: `ftp://` is not supported; use one of http://, https://, ws://, wss://, grpc://, grpcs://, redis://, \
             rediss://, mysql://, mariadb://, postgres://, postgresql://, tcp://, tls://, udp://",
        ),
        (
            "ramp",
            "ramp: is not a command: a ramp, such as --stage 1m:100/s..5000/s, shows from which load on requests queue; \
                for a host of that name, use http://ramp",
        ),
        ("--quiet demo", "demo: is a command and must come first; use `brunt demo ...`"),
        (
            "--urls /nowhere/u.txt",
            "--urls: /nowhere/u.txt cannot be read (No such file or directory (os error 2)); write the path of a readable file",
        ),
        (
            "--source eth0 a.b",
            "--source: `eth0` is not an IP address or range; use one such as 10.0.0.5 or 10.0.0.5-10.0.0.20",
        ),
        (
            "--connect-to a:b a.b",
            "--connect-to: `a:b` is not HOST:PORT:HOST:PORT; use one such as example.com:443:127.0.0.1:8443",
        ),
        (
            "--unix-socket /x --source 127.0.0.1 a.b",
            "--source: is for TCP and cannot be combined with --unix-socket; leave one of them out",
        ),
        ("demo -d 5", "-d: `5` is missing its unit; use 5s, 5ms or 5m"),
        (
            "target 127.0.0.1:1 --unix-socket /x",
            "--unix-socket: cannot be combined with the address 127.0.0.1:1; leave one of them out",
        ),
    ];
    let answers: Vec<(&str, String)> = table.iter().map(|(line, _)| (*line, complaint(line))).collect();
    let wanted: Vec<(&str, String)> = table.iter().map(|(line, said)| (*line, said.to_string())).collect();
    assert_eq!(answers, wanted);
}

#[test]
fn the_ending_of_a_file_says_its_format() {
    for (line, format) in [
        ("a.b", "text"),
        ("-o x.json a.b", "json"),
        ("-o x.CSV a.b", "csv"),
        ("-o x.md a.b", "markdown"),
        ("-o x.xml a.b", "junit"),
        ("-o x.txt a.b", "text"),
        ("-o x.html a.b", "html"),
        ("-o x.HTM a.b", "html"),
        ("--format text -o x.bin a.b", "text"),
        ("-o json a.b", "text"),
        ("--format csv -o x.json a.b", "csv"),
        ("--format md a.b", "markdown"),
    ] {
        let shown = run(line).presentation;
        let used = shown.files.first().map_or(shown.format, |file| file.format);
        assert_eq!(used.name(), format, "{line}");
    }
    assert!(command("-o x.pdf a.b").is_err_and(|complaint| complaint.to_string().contains("no format for .pdf")));
    let Ok(Command::Report(_, shown, _)) = command("report --quiet -o x.md -o y.html") else { panic!() };
    let files: Vec<_> = shown.files.iter().map(|file| (&*file.path, file.format.name())).collect();
    assert!(shown.quiet && files == [("x.md", "markdown"), ("y.html", "html")]);
    let said = complaint("--format csv -o x.json -o x.html a.b");
    assert_eq!(said, "--format: cannot be combined with several -o, whose file names tell their formats; leave it out");
}

#[test]
fn objectives_are_read_before_the_run() {
    assert!(complaint("--objective p99 a.b").starts_with("--objective: "));
}

#[test]
fn secrets_are_masked_in_command_and_plan() {
    let line = "-H Authorization:_x --user me:pw http://u:p@a.b/?token=9 -u u:p@c.d";
    let intent = run(line);
    assert_eq!(intent.command.join(" "), "brunt -H Authorization: *** --user *** http://***@a.b/?token=*** -u ***@c.d");
    let shown = format!("{:?}", intent.shown);
    assert!(!shown.contains("pw") && !shown.contains("u:p") && !shown.contains("Authorization: x"), "{shown}");
    assert_eq!(intent.plan.urls[0].url, "http://u:p@a.b/?token=9");
    let kept = run(&format!("--keep-secrets {line}"));
    assert_eq!(kept.shown, kept.plan);
    assert!(kept.command.join(" ").contains("me:pw"));
}

#[test]
fn flags_of_two_sources_do_not_collide() {
    command_line::run_command(&protocol_flags::protocol_options(&protocols()), brunt_report::Lang::En).debug_assert();
    command_settings::demo_command(brunt_report::Lang::En).debug_assert();
    command_settings::calibrate_command(brunt_report::Lang::En).debug_assert();
    command_settings::report_command(brunt_report::Lang::En).debug_assert();
    target_settings::command(brunt_report::Lang::En).debug_assert();
    probe_settings::command(brunt_report::Lang::En).debug_assert();
}

#[test]
fn an_option_of_two_protocols_is_one_flag() {
    const fn option(name: &'static str, takes: OptionArity) -> OptionSpec {
        OptionSpec { name, short: None, arity: takes, help: brunt_contract::HelpText { en: "", zh: "" } }
    }
    const FIRST: &[OptionSpec] = &[option("expect", OptionArity::One("TEXT")), option("switch", OptionArity::Switch)];
    const SECOND: &[OptionSpec] = &[option("expect", OptionArity::Many("TEXT")), option("own", OptionArity::One("N"))];
    let spoken = [("a", FIRST.to_vec()), ("b", SECOND.to_vec())];
    let command = command_line::run_command(&spoken, brunt_report::Lang::En);
    command.clone().debug_assert();
    let matches = command.get_matches_from(["brunt", "--expect", "x", "--expect", "y", "--switch"]);
    let said: Vec<(&str, String)> = command_line::values(&matches, command_line::names(&spoken))
        .into_iter()
        .map(|said| (said.name, said.text))
        .collect();
    assert_eq!(said, [("expect", "x".into()), ("expect", "y".into()), ("switch", String::new())]);
}

#[test]
fn help_is_text_and_names_every_heading() {
    for (line, parts) in [
        (
            "--help",
            &["Load:", "Request (http):", "Connection:", "TLS:", "Output:", "Generator:", "Examples:", "Commands:"][..],
        ),
        ("-h", &["Example:", "--rate"]),
        ("demo -h", &["--duration"]),
        ("target --help", &["--backlog"]),
        ("--version", &["brunt"]),
    ] {
        let Ok(Command::Text(text)) = command(line) else { panic!("{line}") };
        for part in parts {
            assert!(text.contains(part), "{line}: {part} is missing in\n{text}");
        }
    }
    let Ok(Command::Text(long)) = command("--help") else { panic!() };
    assert_eq!(long.lines().filter(|line| line.starts_with("  brunt ")).count(), 5);
    for line in ["doctor -h", "plan -h", "plan -h --lang zh"] {
        let Ok(Command::Text(own)) = command(line) else { panic!("{line}") };
        assert!(own.lines().count() <= 40 && !own.contains("--cacert"), "{line}:\n{own}");
    }
    let Ok(Command::Text(topic)) = command("help load") else { panic!() };
    assert!(topic.contains("--stage") && !topic.contains("--cacert"), "{topic}");
}

#[test]
fn targets() {
    let Ok(Command::Target(serving)) = command("target --delay 10ms --error-rate 1% --stall 5s+1s --backlog 5 -w 2 :0")
    else {
        panic!()
    };
    let config = serving.config;
    assert_eq!((config.backlog, config.workers, config.error_rate, config.stalls.len()), (5, 2, 0.01, 1));
    assert!(config.delay.is_some() && !serving.with_parent);
}

#[test]
fn commands_that_only_compute_read_their_own_settings() {
    use brunt_arithmetic::capacity::Demand;
    let asked =
        match command("capacity --views 3000万 --hours 4h48m --growth +50% --spare 1 --per-machine 69/s --format json")
        {
            Ok(Command::Capacity(asked)) => *asked,
            other => panic!("{other:?}"),
        };
    assert!(matches!(asked.question.demand, Demand::Views { per_day: 3e7, .. }), "{asked:?}");
    assert_eq!((asked.question.growth.value, asked.question.spare, asked.format), (1.5, 1, ArithmeticFormat::Json));
    assert_eq!(asked.question.answer().machines, Some(45), "1,388.89 × 1.5 ÷ 48.3 = 43.13, and one spare");
    let Ok(Command::Lint(asked)) = command("lint - --lang zh") else { panic!("lint") };
    assert_eq!((asked.file.as_str(), asked.language), ("-", Some(brunt_report::Lang::Zh)));
    for (line, said) in [
        ("capacity --views 30M --peak 5/s", "--peak: cannot be combined with --views; leave one of them out"),
        ("capacity --peak 5/s --hours 4", "--hours: is about page views; use it with --views, or leave it out"),
        ("capacity --peak 5/s --utilisation 120%", "--utilisation: `120%` is not a share of a machine's capacity"),
        ("capacity --peak 5/s --format csv", "--format: `csv` is not a format of this command; use text or json"),
        ("lint a b", "b: is a second file; put all outputs into one"),
        ("lint", "brunt lint: needs the output; name a file, or use - and paste it"),
    ] {
        assert!(complaint(line).starts_with(said), "{line}: {}", complaint(line));
    }
}
