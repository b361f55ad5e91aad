//! Tests of invalid command lines: one sentence names the option, and says what is wrong and what
//! would be right.

use brunt_tests::{TargetProcess, brunt, prepare};

/// Command lines and the complete expected output; `: … ` stands for any text.
const WRONG: &[(&str, &str)] = &[
    ("-t 8 http://a/", "-t: 8 is missing its unit; use `-w 8` for workers or `-t 8s`"),
    ("-d 30 http://a/", "-d: `30` is missing its unit; use 30s, 30ms or 30m"),
    ("-c 0 http://a/", "-c: `0` users can do nothing; use 1 or more"),
    ("-n 5 -c 10 http://a/", "-n: 5 requests are too few for 10 users; use -n 10 or more, or -c 5"),
    ("-r 5/day http://a/", "-r: `5/day` is not a rate; use one such as 5000/s, 300/min or 0.5/s"),
    ("--arrivals constant http://a/", "--arrivals: needs a rate; add one, such as -r 100/s"),
    ("-w 0 http://a/", "-w: `0` workers can do nothing; use 1 or more"),
    (
        "ftp://a/",
        "URL: `ftp://` is not supported; use one of http://, https://, ws://, wss://, grpc://, grpcs://, \
         redis://, rediss://, mysql://, mariadb://, postgres://, postgresql://, tcp://, tls://, udp://",
    ),
    ("--format xml http://a/", "--format: `xml` is not one of text, json, csv, markdown, junit, html"),
    ("--lang de http://a/", "--lang: `de` is not a language brunt supports; write en or zh"),
    ("--net tcp http://a/", "--net: `tcp` is not one of epoll, uring"),
    ("--key /etc/hostname http://a/", "--key: needs --cert FILE; add it"),
    (
        "--connect-to a:b http://a/",
        "--connect-to: `a:b` is not HOST:PORT:HOST:PORT; use one such as example.com:443:127.0.0.1:8443",
    ),
    (
        "--source eth0 http://a/",
        "--source: `eth0` is not an IP address or range; use one such as 10.0.0.5 or 10.0.0.5-10.0.0.20",
    ),
    ("-X get http://a/", "--method: methods are case-sensitive: use GET instead of get"),
    (
        "-H NoColon http://a/",
        "--header: a line has no colon between name and value; use -H 'NAME: VALUE', as in -H 'Accept: text/html'",
    ),
    (
        "curl -X POST http://a/",
        "curl: must be one argument; use brunt --curl 'curl …', or save the command in a file and use \
            brunt --curl-file FILE",
    ),
    (
        "-n 5 --source 203.0.113.9 http://127.0.0.1:9/",
        "--source: 203.0.113.9 is not an address of this machine; write one that `ip addr` lists",
    ),
    ("--redirects many http://a/", "--redirects: \"many\" is not a number from 0 to 100; use, for example, 5"),
    (
        "--expect-status good http://a/",
        "--expect-status: \"good\" is not a status; use 200, 2xx or 200-299, separated by commas",
    ),
    ("--user me http://a/", "--user: the password is missing; write NAME:PASSWORD"),
    (
        "--data a --form b=c http://a/",
        "--form: cannot be combined with --data, as a request has one body; leave one of them out",
    ),
    (
        "--conections 5 http://a/",
        "--conections: unknown option, and so is --connections; use -c 5 (users, one connection each), or with -r \
         --max-connections 5",
    ),
    (
        "-n 5 ws://127.0.0.1:9/",
        "-n: needs messages to send; use --data TEXT, or leave it out and hold the connections with --hold",
    ),
    ("--https 127.0.0.1:9", "--https: unknown option; use https:// before the host"),
    ("--zzz http://a/", "--zzz: unknown option; `brunt --help` lists all of them"),
    ("-o /no/such/place/x http://a/", "-o: … use a path that can be written"),
    ("--record /no/such/place/x http://a/", "--record: … use a path that can be written"),
    ("--data-file /no/such/file http://a/", "--data-file: … write the path of a readable file"),
    ("--cacert /no/such/file http://a/", "--cacert: … write the path of a readable file"),
    ("--objective p99 http://a/", "--objective: … add one, for example p99<50ms"),
    ("target --stall soon", "--stall: … use 5s+1s"),
    ("target --delay gamma:1ms", "--delay: … write constant:10ms"),
    ("target 1.2.3.4:99999", "ADDRESS: … use 127.0.0.1:8080"),
];

#[test]
fn every_wrong_line_gets_its_sentence_and_exit_64() {
    for (line, sentence) in WRONG {
        let ended = brunt(line.split(' ')).with_code(64);
        assert_eq!(ended.out, "", "{line}");
        assert_eq!(ended.err.lines().count(), 1, "{line}: {}", ended.err);
        let wanted = format!("brunt: {sentence}");
        if sentence.contains("--help") {
            assert_eq!(ended.err, format!("{wanted}\n"), "{line}");
        } else if let Some((place, right)) = wanted.split_once(": … ") {
            assert!(ended.err.starts_with(&format!("{place}: ")) && ended.err.contains(right), "{line}: {}", ended.err);
        } else {
            assert_eq!(ended.err, format!("{wanted} (brunt --help)\n"), "{line}");
        }
    }
}

#[test]
fn every_wrong_line_is_told_in_chinese_too() {
    for (line, sentence) in WRONG {
        // This one is about the option itself.
        let line = line.replace("--lang de", "--lang zh --lang de");
        let ended = prepare(line.split(' ')).env("LC_ALL", "zh_CN.UTF-8").run().with_code(64);
        let is_chinese = ended.err.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}'));
        assert!(is_chinese && ended.err.lines().count() == 1, "{sentence}: {}", ended.err);
    }
}

#[test]
fn a_line_of_a_file_of_urls_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = brunt_tests::target::text(directory.path(), "urls.txt");
    for (content, line) in [("http://a/ 1\nhttp://b/ x\n", "line 2"), ("# nothing\n\nhttp://a/ 1 2 3\n", "line 3")] {
        std::fs::write(&file, content).unwrap();
        let ended = brunt(["--urls", &file]).with_code(64);
        assert!(ended.err.contains(line) && ended.err.contains(&file), "{}", ended.err);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    }
    std::fs::write(&file, "# only comments\n").unwrap();
    brunt(["--urls", &file]).with_code(64);
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is_sent() {
    let target = TargetProcess::healthy();
    brunt(["-n", "10", "-o", "/no/such/place/x", &target.address]).with_code(64);
    assert_eq!(target.requests(), 0);
}

#[test]
fn a_slot_of_a_file_says_what_is_missing_or_misspelt() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("users.csv").display().to_string();
    std::fs::write(&file, "name,password\nann,a b\n").expect("written");
    for (slot, said) in [
        (
            format!("{{csv {file}}}"),
            format!(
                "--data: {{csv {file}}} names a file but no column; write {{csv {file}.name}}; its columns are name, password"
            ),
        ),
        (
            format!("{{csv {file}.name uniqe}}"),
            "--data: \"uniqe\" is not a keyword of {csv}; use unique if you meant that".to_owned(),
        ),
        (
            "{csv nowhere.csv}".to_owned(),
            "--data: {csv nowhere.csv} names a file but no column; write {csv nowhere.csv.COLUMN}".to_owned(),
        ),
    ] {
        let ended = brunt(["-n", "1", "--data", &slot, "http://127.0.0.1:9/"]).with_code(64);
        assert_eq!(ended.err.trim().trim_end_matches(" (brunt --help)"), format!("brunt: {said}"));
    }
}

/// Checks that the number of workers given is not silently increased.
#[test]
fn too_few_workers_for_the_connections_are_refused() {
    let target = TargetProcess::healthy();
    let run = |line: &[&str]| {
        let line = [line, &["-c", "60", "-n", "60", &target.address]].concat();
        brunt_tests::program::prepare_under(&["prlimit", "--nofile=30", "--"], line).run()
    };
    let ended = run(&["-w", "1"]).with_code(64);
    assert!(ended.err.contains("-w: 1 cannot hold that many connections with 30 descriptors each"), "{ended:?}");
    let needed =
        ended.err.split("use -w ").nth(1).and_then(|rest| rest.split(',').next()).expect("a number").to_owned();
    assert!(ended.err.contains("fewer connections (-c), or leave -w out"), "{ended:?}");
    // Without a limit on connections, a run uses as many as its workers can hold.
    let open = ["-r", "100/s", "-n", "20", "-w", "1", &target.address];
    brunt_tests::program::prepare_under(&["prlimit", "--nofile=40", "--"], open)
        .run()
        .with_code(0)
        .containing("1 worker thread,");
    // The number of inherited descriptors may differ by one between runs, and so does the capacity of the tables.
    let enough = (2 * needed.parse::<u32>().expect("a number")).to_string();
    run(&["-w", &enough]).with_code(0).containing(&format!("{enough} worker threads"));
    let ended = run(&[]).with_code(0);
    let taken = ended.out.split(" worker threads").next().and_then(|before| before.split(' ').next_back());
    assert!(taken.is_some_and(|taken| taken.parse::<u32>().is_ok_and(|taken| taken >= 4)), "{ended:?}");
}

#[test]
fn a_file_without_an_end_is_refused_before_it_fills_the_memory() {
    let said = "/dev/zero is larger than 64 MiB, or endless; use a smaller file";
    for line in [
        &["--data-file", "/dev/zero", "http://127.0.0.1:1/"][..],
        &["--form", "a=@/dev/zero", "http://127.0.0.1:1/"],
        &["--urls", "/dev/zero"],
        &["--curl-file", "/dev/zero"],
        &["--curl", "curl -d @/dev/zero http://127.0.0.1:1/"],
        &["--curl", "curl --data-binary @/dev/zero http://127.0.0.1:1/"],
        &["--cacert", "/dev/zero", "https://127.0.0.1:1/"],
        &["--data-file", "/dev/zero", "ws://127.0.0.1:1/"],
        &["--data-file", "/dev/zero", "grpc://127.0.0.1:1/grpc.health.v1.Health/Check"],
        &["--send-file", "/dev/zero", "--until", "x", "tcp://127.0.0.1:1"],
        &["--send", "{csv /dev/zero.a}", "--until", "x", "tcp://127.0.0.1:1"],
        &["--command", "GET {csv /dev/zero.a}", "redis://127.0.0.1:1"],
    ] {
        brunt(line).with_code(64).containing(said);
    }
}

#[test]
fn help_and_version_are_answers() {
    brunt(["--help"]).with_code(0).containing("--rate");
    brunt(["-h"]).with_code(0).containing("--rate");
    brunt(["--version"]).with_code(0).containing("brunt 0");
    brunt(["target", "-h"]).with_code(0).containing("--backlog");
    brunt::<&str>([]).with_code(64).containing("missing URL: give the address");
}

#[test]
fn a_public_address_above_the_bound_is_asked_about_before_anything_is_sent() {
    // Runs in a network namespace without a route, so that nothing can reach the address.
    let possible = brunt_tests::is_root()
        && std::process::Command::new("unshare").args(["--net", "true"]).status().is_ok_and(|status| status.success());
    if !possible {
        return brunt_tests::skip("only root can make a network that leads nowhere");
    }
    let nowhere = ["unshare", "--net"];
    for (load, said) in [(["-c", "10"], "10 users"), (["-r", "1001/s"], "1001/s")] {
        let line = load.iter().chain(&["-d", "1s", "http://192.0.0.9/"]);
        let ended = brunt_tests::program::prepare_under(&nowhere, line).run().with_code(64);
        assert!(ended.err.contains("--yes") && ended.err.contains("192.0.0.9"), "{}", ended.err);
        assert!(ended.err.replace(',', "").contains(said), "{}", ended.err);
    }
    let modest = brunt_tests::program::prepare_under(&nowhere, ["-c", "1", "-d", "1s", "http://192.0.0.9/"]).run();
    modest.with_code(30).containing("nothing was sent");
}

#[test]
fn a_process_without_descriptors_says_so_and_blames_nobody_else() {
    let target = TargetProcess::healthy();
    for few in [4, 6] {
        let wrapper = ["prlimit", &format!("--nofile={few}"), "--"];
        let ended = brunt_tests::program::prepare_under(&wrapper, ["-n", "5", "-c", "1", &target.address]).run();
        let said = format!(
            "out of file descriptors: this process may have {few} (ulimit -n), and brunt needs 32 plus one per connection; raise the limit: ulimit -n 1024"
        );
        assert!(ended.err.contains(&said) && matches!(ended.code, Some(30 | 64)), "{ended:?}");
        assert!(!ended.err.contains("does not respond") && !ended.err.contains("ulimit -u"), "{ended:?}");
    }
}
