//! Command lines of other tools, and the brunt commands that do the same.

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
        ("wrk -c100 -d30s http://h/", "brunt -c 100 -d 30s http://h/"),
        ("/usr/bin/wrk http://h/", "brunt -c 10 -d 10s http://h/"),
        ("wrk2 -c50 -d1m -R2000 --latency http://h/", "brunt -r 2000/s --max-connections 50 -d 1m http://h/"),
        ("wrk -c 5 -H Accept:~a/b --timeout 2 http://h/", "brunt -c 5 -d 10s -H 'Accept: a/b' -t 2s http://h/"),
        ("ab -n 1000 -c 10 -k http://h/", "brunt -c 10 -n 1000 http://h/"),
        (
            "ab -n 9 -p body.json -T application/json http://h/",
            "brunt -c 1 -n 9 --data-file body.json -H 'Content-Type: application/json' --no-keepalive http://h/",
        ),
        ("ab -t 30 -c 5 -k -i http://h/", "brunt -c 5 -d 30s -X HEAD http://h/"),
        ("hey http://h/", "brunt -c 50 -n 200 -L http://h/"),
        ("hey -z 30s -c 20 -q 5 http://h/", "brunt -r 100/s --max-connections 20 -d 30s -L http://h/"),
        (
            "hey -n 10 -c 2 -m PUT -d {} -disable-keepalive http://h/",
            "brunt -c 2 -n 10 -X PUT --data-raw '{}' -L --no-keepalive http://h/",
        ),
        ("h2load -n1000 -c 10 -m 20 https://h/", "brunt -c 200 --streams 20 -n 1000 --http 2 https://h/"),
        (
            "h2load --duration=5 -c 4 --rps 50 https://h/",
            "brunt -r 200/s --max-connections 4 -d 5s --http 2 https://h/",
        ),
        ("go-stress-testing -c 100 -n 50 -k -u http://h/", "brunt -c 100 -n 5000 -L http://h/"),
        (
            "./go-stress-testing-linux -c 2 -n 3 -H A:~b -data {} -u http://h/",
            "brunt -c 2 -n 6 -H 'A: b' --data-raw '{}' -L --no-keepalive http://h/",
        ),
        ("go-stress-testing -c 2 -n 1 -k -p curl.txt", "brunt -c 2 -n 2 --curl-file curl.txt -L"),
        ("hey -c 5", "brunt -c 5 -n 200 -L URL"),
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
        Some(("hey", "brunt -r 100/s --max-connections 20 -d 30s -L http://h/".into()))
    );
    assert_eq!(of("-n 100 -c 10 -p f -T a/b -k http://h/", "-p").map(|(tool, _)| tool), Some("ab"));
    assert_eq!(of("-t4 -c100 -d30s http://h/", "-t"), Some(("wrk", "brunt -c 100 -d 30s http://h/".into())));
    assert_eq!(of("-z 30s --warmup 2s http://h/", "-z"), None, "no other tool has that option");
    assert_eq!(of("-z 30s http://h/", "-z"), None, "one option is a slip, not a line");
    assert_eq!(of("-s x.lua -n 1 http://h/", "-s"), None, "ab's -s is a time");
    assert_eq!(of("-z 30s -c 20", "-z"), None, "where to?");
}

#[test]
fn every_tool_is_translated() {
    for (theirs, ours) in [
        ("oha -n 5000 -c 20 --no-tui http://h/", "brunt -c 20 -n 5000 -L http://h/"),
        ("oha -z 30s -q 100 -r 0 --http2 http://h/", "brunt -r 100/s -d 30s --redirects 0 --http 2 http://h/"),
        (
            "oha -m POST -d {} -T application/json --insecure https://h/",
            "brunt -c 50 -n 200 -X POST --data-raw '{}' -H 'Content-Type: application/json' -k -L https://h/",
        ),
        ("bombardier -c 200 -d 30s -l http://h/", "brunt -c 200 -d 30s http://h/"),
        ("bombardier --connections=5 -n 100 -r 50 h:80", "brunt -r 50/s --max-connections 5 -n 100 h:80"),
        (
            "plow http://h/ -c 20 -d 10s --rate 10/ms -b @f.json",
            "brunt -r 10000/s --max-connections 20 -d 10s --data-file f.json http://h/",
        ),
        ("autocannon -c 100 -d 5 -H A=b http://h/", "brunt -c 100 -d 5s -H 'A: b' http://h/"),
        ("autocannon -a 1000 -R 200 http://h/", "brunt -r 200/s -n 1000 http://h/"),
        ("siege -c 10 -t 30S -b http://h/", "brunt -c 10 -d 30s -L --no-keepalive http://h/"),
        ("siege -c2 -r 5 -d 3 http://h/", "brunt -c 2 -n 10 --think 0s..3s -L --no-keepalive http://h/"),
        ("siege -t2 -f urls.txt", "brunt -c 25 -d 2m --urls urls.txt -L --no-keepalive"),
        ("vegeta attack -rate=500/1s -duration=30s -header A:~b", "brunt -r 500/s -d 30s -H 'A: b' -L URL"),
        ("vegeta attack -rate 6000/1m -duration 5s -keepalive=false", "brunt -r 100/s -d 5s -L --no-keepalive URL"),
        ("vegeta attack -rate=0 -duration=5s", "brunt -c 10 -d 5s -L URL"),
        ("locust --headless -u 100 -r 10 -t 10m -H http://h", "brunt -c 100 --connect-rate 10/s -d 10m -L http://h"),
        (
            "ghz --insecure --proto a.proto --call p.S.Do -d {} -c 10 -n 100 h:50051",
            "brunt -c 10 -n 100 --proto a.proto --data '{}' grpc://h:50051/p.S/Do",
        ),
        (
            "ghz --call p.S/Do -c 50 --connections 5 --rps 100 -z 10s h:443",
            "brunt -r 100/s --max-connections 50 --streams 10 -d 10s grpcs://h:443/p.S/Do",
        ),
        (
            "redis-benchmark -h 10.0.0.7 -c 20 -n 1000 -P 16 SET k:__rand_int__ v -r 100",
            "brunt -c 20 -n 1000 --pipeline 16 --command 'SET k:{random 0..99} v' redis://10.0.0.7:6379",
        ),
        ("redis-benchmark -q -t ping", "brunt -c 50 -n 100000 --quiet --command PING redis://127.0.0.1:6379"),
    ] {
        is(theirs, ours, &[]);
    }
}

#[test]
fn what_a_tool_reads_from_files_is_named_once() {
    let scripts =
        "brunt runs no scripts: give the URL, or write the steps of a user as a flow (`brunt plan --example flow`)";
    is("k6 run --vus 10 --duration 30s a.js", "brunt -c 10 -d 30s -L URL", &[&format!("a.js: {scripts}")]);
    is(
        "k6 run -s 10s:50 -s 1m:50 a.js",
        "brunt --stage 10s:1..50 --stage 1m:50..50 -L URL",
        &[&format!("a.js: {scripts}")],
    );
    is("k6", "brunt -c 1 -n 1 -L URL", &[]);
    is("locust -f a.py -u 5", "brunt -c 5 -d 10s -L URL", &[&format!("-f: {scripts}")]);
    is(
        "jmeter -n -t a.jmx -l a.jtl -e -o out -Jthreads=5 -Jtime=9",
        "brunt -c 10 -d 10s URL",
        &[
            "-t: brunt reads no JMX: give the URL, or the requests as curl commands with --curl-file FILE --as-flow",
            "-l: use -o report.html, .json, .csv, .md or .xml",
            "-Jthreads=5: threads are -c, and the duration is -d",
        ],
    );
    is(
        "autocannon -p 10 -w 4 http://h/",
        "brunt -c 10 -d 10s http://h/",
        &[
            "-p: brunt waits for a response before the next request of a connection",
            "-w: brunt has a worker for each core; -w sets fewer",
        ],
    );
    is(
        "redis-benchmark -t set,get,mset -r 1000 -d 32",
        "brunt -c 50 -n 100000 --command 'SET key:{random 0..999} {random 32}' --command 'GET key:{random 0..999}' \
            redis://127.0.0.1:6379",
        &[
            "-t: brunt mixes these commands in one run, and runs them one after another if each has a run of its own",
            "mset: write it as --command LINE",
        ],
    );
}

#[test]
fn the_target_of_vegeta_comes_through_a_pipe() {
    let line = "echo \"GET http://h/a\" | vegeta attack -rate=5 -duration=1s | vegeta report";
    assert_eq!(translate_pasted(&[line.into()]).unwrap().command(), "brunt -r 5/s -d 1s -L http://h/a");
    assert_eq!(translate_pasted(&["echo http://h/ | cat".into()]), None);
}

#[test]
fn redirects_stages_and_rates_are_those_of_the_tool() {
    for (line, wanted) in [
        (
            "vegeta attack -rate=50/m -redirects=-1 -duration=5s http://h/",
            "brunt -r 50/min --redirects 0 -d 5s http://h/",
        ),
        ("hey -disable-redirects http://h/", "brunt -c 50 -n 200 --redirects 0 http://h/"),
        ("hey -x http://p:3128 http://h/", "brunt -c 50 -n 200 -x http://p:3128 -L http://h/"),
        ("siege -c 10 -t 30S --no-follow http://h/", "brunt -c 10 -d 30s --redirects 0 --no-keepalive http://h/"),
        ("k6 run --stage 30s:20,1m:10 a.js", "brunt --stage 30s:1..20 --stage 1m:20..10 -L URL"),
        ("vegeta attack -rate=50/m -duration=10s http://h/", "brunt -r 50/min -d 10s -L http://h/"),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        assert_eq!(translate_pasted(&words).expect(line).answer()[0].trim(), wanted, "{line}");
    }
}
