//! Tables of plan files: equivalent flags, positions of mistakes, and the round trip through YAML.

use brunt_plan::{Plan, document};

use super::tests::{DEFAULTS, protocols};
use super::*;

/// Parses `words` together with a file with this text.
pub(super) fn with_file(text: &str, words: &[&str]) -> Result<Intent, UsageError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.yaml");
    std::fs::write(&path, text).expect("written");
    let shown = path.display().to_string();
    let line: Vec<String> = words.iter().map(|word| (*word).to_owned()).chain([shown.clone()]).collect();
    let strip = |text: &str| text.replace(&format!("{}/", folder.path().display()), "");
    match read(&line, &protocols(), &DEFAULTS) {
        Ok(Command::Run(intent)) => Ok(*intent),
        Ok(other) => panic!("{other:?}"),
        Err(complaint) => Err(UsageError::new(strip(&complaint.location), complaint.problem.map(strip))),
    }
}

pub(super) fn of_file(text: &str, words: &[&str]) -> Plan {
    with_file(text, words).unwrap_or_else(|complaint| panic!("{text}: {complaint}")).plan
}

/// Checks that a plan is rejected with a message that contains this text.
#[track_caller]
pub(super) fn is_refused(text: &str, words: &[&str], expected: &str) {
    let wrong = with_file(text, words).expect_err(text);
    assert!(wrong.is_translated(), "{text}: {wrong}");
    let said = wrong.to_string();
    assert!(said.contains(expected), "{text}: {said}");
}

fn of_flags(line: &str) -> Plan {
    let words: Vec<String> = format!("run {line}").split(' ').map(|word| word.replace('_', " ")).collect();
    match read(&words, &protocols(), &DEFAULTS) {
        Ok(Command::Run(intent)) => intent.plan,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn a_file_says_what_flags_say() {
    let table = [
        ("urls: localhost:8080/x", "localhost:8080/x"),
        (
            "urls: [h/a, 'h/b']\nusers: 1k\nduration: 30s\nthink: 100ms..2s\ntogether: true",
            "-c 1k -d 30s --think 100ms..2s --together h/a h/b",
        ),
        (
            "url: h\nrate: 500/s\narrivals: constant\nrequests: 10k\nslack: 1ms\nmax_connections: 7",
            "-r 500/s --arrivals constant -n 10k --slack 1ms --max-connections 7 h",
        ),
        (
            "urls: [h]\nstages: [30s:10..20, 1m:20]\nwarmup: 5s\ntimeout: 3s",
            "--stage 30s:10..20 --stage 1m:20 --warmup 5s -t 3s h",
        ),
        (
            "urls: [h]\nheader:\n  - 'A: b'\n  - 'C: d'\nmethod: PUT\ndata: x\nno-keepalive: true\npin: false",
            "-H A:_b -H C:_d -X PUT --data x --no-keepalive h",
        ),
        (
            "urls: [h]\nobjectives: [p99<50ms]\nworkers: 3\nseed: 9\nnet: epoll\ntls:\n  insecure: true\n  resume: false",
            "--objective p99<50ms -w 3 --seed 9 --net epoll -k --no-resume h",
        ),
        ("curl: curl -d a=b http://h/", "--curl curl_-d_a=b_http://h/"),
    ];
    for (text, line) in table {
        assert_eq!(of_file(text, &[]), of_flags(line), "{text}");
    }
    let plan = of_file("urls:\n  - h/a\n  - url: h/b\n    weight: 3\n    method: POST\n    header: ['X: 1']\n", &[]);
    assert_eq!((plan.urls[0].weight, plan.urls[1].weight), (1.0, 3.0));
    assert_eq!(plan.urls[1].options["method"], ["POST"]);
    assert!(plan.options.is_empty() && plan.urls[0].options.is_empty());
}

#[test]
fn flags_beside_it_win() {
    let text = "urls: [h/a]\nusers: 50\nthink: 1s\nduration: 30s\nheader: ['A: b']\n";
    let table: [(&[&str], &str); 5] = [
        (&["-c", "5"], "-c 5 --think 1s -d 30s -H A:_b h/a"),
        (&["-r", "100/s"], "-r 100/s -d 30s -H A:_b h/a"),
        (&["--stage", "5s:1/s"], "--stage 5s:1/s -H A:_b h/a"),
        (&["-H", "X: y", "-n", "100"], "-c 50 --think 1s -d 30s -n 100 -H X:_y -H A:_b h/a"),
        (&["http://other/"], "-c 50 --think 1s -d 30s -H A:_b http://other/"),
    ];
    for (words, line) in table {
        assert_eq!(of_file(text, words), of_flags(line), "{words:?}");
    }
}

#[test]
fn a_plan_that_is_shown_or_recorded_is_the_same_plan() {
    let lines = [
        "h",
        "-c 7 -n 100 --think 1ms..2s --together h/a h/b",
        "-n 100 h",
        "-r 0.5/s --arrivals burst --slack 3ms --max-connections 9 -d 1m30s h",
        "--stage 30s:0..50 --stage 10s:50 h",
        "--stage 30s:0/s..600/min --warmup 7ms h",
        "-H A:_b -H \"q\":_#x --data true -X PUT -t 1500us --connect-timeout 9s --objective p99<50ms --pin --precise h",
        "-k --no-resume --source 127.0.0.2,127.0.0.3 --connect-to h:80:127.0.0.1-127.0.0.4:81 --net uring https://h",
        "--no-keepalive --unix-socket /tmp/a h --expect-body _",
        "--curl curl_-sd_'{\"a\":[1,2]}'_-H_'X:_1'_'http://h/{a,b}'",
    ];
    for line in lines {
        let plan = of_flags(line);
        let shown = document::yaml(&plan);
        assert_eq!(of_file(&shown, &[]), plan, "{line}\n{shown}");
        let recorded = serde_json::to_string_pretty(&plan).expect("a plan is JSON");
        assert_eq!(of_file(&recorded, &[]), plan, "{line}\n{recorded}");
        let report = format!("{{\"schema\": \"x\", \"figures\": [1], \"plan\": {recorded}}}");
        assert_eq!(of_file(&report, &[]), plan, "{line}");
    }
}

#[test]
fn mistakes_have_a_line_and_a_column() {
    #[rustfmt::skip]
    let table = [
        ("urls: [h]\nuser: me", "p.yaml line 2 column 7 (user): the password is missing; write NAME:PASSWORD"),
        ("urls: [h]\n\"us\\r\\ners\": 5", "p.yaml line 2 column 1 (us\\r\\ners): unknown key; write `users` if you meant that"),
        ("urls: [h]\nusrs: 5", "p.yaml line 2 column 1 (usrs): unknown key; write `users` if you meant that"),
        ("urls: [h]\nfrobnicate: 5", "p.yaml line 2 column 1 (frobnicate): unknown key; `brunt plan --schema` lists all keys"),
        ("urls: [h]\ntimeout: 8", "p.yaml line 2 column 10 (timeout): `8` is missing its unit; use 8s, 8ms or 8m"),
        ("urls: [h]\nduration: 10", "p.yaml line 2 column 11 (duration): `10` is missing its unit; use 10s, 10ms or 10m"),
        ("urls: [h]\ntogether: ja", "p.yaml line 2 column 11 (together): `ja` is neither true nor false; use one of them"),
        ("urls: [h]\nstages:\n  - 30s:5\n  - 10s:x", "p.yaml line 4 column 5 (stage): `x` is not a number of users; use one such as 100"),
        ("urls: [h]\nstages:\n  - {duration: 1m, target: 50}", "p.yaml line 3 column 5 (stage): is a map; write `1m:50` (users) or `1m:10/s..100/s` (a rate), which begins where the stage before it ended"),
        ("urls: [h]\nrate: 5/s\nmax-users: 5", "p.yaml line 3 column 1 (max-users): has a different name here; use `max-connections: 100`, or `max-users` in a scenario"),
        ("urls: [h]\ncheck: 200", "p.yaml line 2 column 1 (check): has a different name here; use `expect-status: 200`, `expect-body: TEXT` or `expect-json: $.token`"),
        ("urls:\n  - url: h\n    body: x", "p.yaml line 3 column 5 (body): has a different name here; use `data: TEXT`"),
        ("urls: [h]\nusers: [1, 2]", "p.yaml line 2 column 8 (users): takes a single value, not a list"),
        ("urls: ['ftp://h']", "p.yaml line 1 column 8 (URL): `ftp://` is not supported; use one of http://, https://, ws://, wss://, grpc://, grpcs://, redis://, rediss://, mysql://, mariadb://, postgres://, postgresql://, tcp://, tls://, udp://"),
        ("urls:\n  - weight: 2", "p.yaml line 2 column 5 (urls): has no `url`; write `- url: http://localhost:8080/`"),
        ("urls:\n  - url: h\n    weight: x", "p.yaml line 3 column 13 (weight): `x` is not a weight; use a number above zero, such as 3"),
        ("urls:\n  - url: h\n    users: 2", "p.yaml line 3 column 5 (users): applies to the whole run; put it \
            at the top of the plan, not at one URL or step"),
        ("urls:\n  - url: h\n    cookie-jar: true", "p.yaml line 3 column 5 (cookie-jar): applies to the whole run; \
            put it at the top of the plan, not at one URL or step"),
        ("urls:\n  - url: h\n    wieght: 3", "p.yaml line 3 column 5 (wieght): unknown key; write `weight` if you meant that"),
        ("urls:\n  - url: h\n    methd: GET", "p.yaml line 3 column 5 (methd): unknown key; write `method` if you meant that"),
        ("urls: [h]\nusers:3\nduration: 1s", "p.yaml line 2 column 1: `users:3` lacks a space after its colon; write `users: 3`"),
        ("users:3", "p.yaml line 1 column 1 (plan): `users:3` lacks a space after its colon; write `users: 3`"),
        ("- h", "p.yaml line 1 column 1 (plan): is a list, but a plan is a map of keys and values; for a list of URLs write \
            `urls:` above it, or else leave out the dashes"),
        ("h", "p.yaml line 1 column 1 (plan): must be a map of keys and values, such as `users: 10`"),
        ("urls: [h]\nheader: {csv a.b}", "p.yaml line 2 column 9 (header): is a map; write a value or a list of values, in quotes \
            if it begins with a slot: '{…}'"),
        ("urls: [h]\nheader: Authorization: Bearer x", "p.yaml line 2 column 9: the value of `header` has a colon and a space, so it \
            needs quotes; write header: '…'"),
        ("urls: [h]\nrate: 5/s\nusers: 5", "p.yaml line 3 column 8 (users): 5 users cannot be combined with a rate (-r); leave one of them out, or limit the connections with --max-connections 5"),
        ("urls: [h\n", "p.yaml line 1 column 7: opens a [ that is never closed; add ]"),
        ("urls: [h]\nuser: '***'", "p.yaml line 2 column 7 (user): was masked (***) when the plan was saved; write \
            the real value"),
        ("urls: [h]\nheader: ['Cookie: ***']", "p.yaml line 2 column 10 (header): was masked (***) when the plan \
            was saved; write the real value"),
        ("urls: [h]\nheader: ['A: {env BRUNT_SECRET_7}']\nuser: '{env BRUNT_SECRET_8}'", "p.yaml line 2 column 10: has blanks for \
            secrets that were left out when the plan was saved; set the environment variables BRUNT_SECRET_7 (line 2), \
            BRUNT_SECRET_8 (line 3), or write the values in their places"),
        ("urls: [h]\ndata: a=b&pwd=***", "p.yaml line 2 column 7 (data): was masked (***) when the plan was saved; \
            write the real value"),
        ("urls: ['http://***@h/']", "p.yaml line 1 column 8 (URL): was masked (***) when the plan was saved; write \
            the real value"),
        ("urls: [h]\nproxy: socks4://p", "p.yaml line 2 column 8 (proxy): socks4:// is an old version of SOCKS; use socks5:// or socks5h://"),
        ("urls: [h]\ncookie: [x, a=1]", "p.yaml line 2 column 10 (cookie): has no `=`; write NAME=VALUE, or @FILE with one per line"),
        ("urls: [h]\nload: 5", "p.yaml line 2 column 7 (load): is a key of reports, not of plans; write `users: \
            10`, `rate: 500/s` or `stages: [...]`"),
        ("urls: [h]\nload: {model: closed, stages: [{lasts: 1, from: 1, to: 1}], think: null, together: false}\noptions: {header: ['Authorization: ***']}", "p.yaml line 3 column 20 (header): is masked in the report (***); write the real value, or record with --keep-secrets"),
    ];
    for (text, said) in table {
        match with_file(text, &[]) {
            Ok(intent) if text.contains("user: me") => {
                let run =
                    intent.locate_error(UsageError::new("--user", "the password is missing; write NAME:PASSWORD"));
                assert!(run.to_string().ends_with(&format!("/{said}")), "{run}");
            }
            Ok(_) => panic!("{text} is taken"),
            Err(complaint) => assert_eq!(complaint.to_string(), said),
        }
    }
    let own = with_file("urls:\n  - url: h\n    method: PUT\n", &["-X", "POST"]).unwrap_err().to_string();
    assert_eq!(own, "--method: is set by the URLs themselves (in the plan file or the curl command); change it there");
}

#[test]
fn a_plan_without_urls_is_named() {
    let complaint = with_file("users: 5\nduration: 5s", &[]).unwrap_err().to_string();
    assert_eq!(complaint, "p.yaml has no URL: write `urls: [http://localhost:8080/]`, or steps under `flow:`");
}

#[test]
fn the_schema_names_every_key() {
    let keys = file::keys::PlanKeys::new(&protocols());
    let schema = file::schema::schema(&keys);
    for key in ["urls", "users", "stages", "expect-status", "tls", "connect-to", "connect_to", "objectives", "curl"] {
        assert!(schema["properties"][key].is_object(), "{key}");
        assert!(keys.find(&key.replace('_', "-")).is_some(), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
    let of_one_url = &schema["properties"]["url"]["anyOf"][1]["properties"];
    assert!(of_one_url["header"].is_object() && of_one_url["cookie-jar"].is_null(), "{of_one_url}");
    let known = schema["properties"].as_object().expect("a map");
    assert!(known.keys().all(|key| keys.find(&key.replace('_', "-")).is_some()), "{known:?}");
}

#[test]
fn options_of_one_url_are_refused_where_its_protocol_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.yaml");
    std::fs::write(&path, "urls:\n  - url: tcp://h:1\n    header: 'X: 1'\n").expect("written");
    let complaint = read(&[path.display().to_string()], &protocols(), &DEFAULTS).expect_err("a complaint");
    let said = "`tcp://h:1` has options of its own, which raw does not support; put them next to the URLs";
    assert_eq!(complaint.problem, said);
}
