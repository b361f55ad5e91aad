//! Tests of the counters of the host under test, which `brunt probe` serves to a run with `--probe`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use brunt_tests::certificates::Certificates;
use brunt_tests::program;
use brunt_tests::report::report;
use brunt_tests::target::free_port;
use brunt_tests::{TargetProcess, TestReport, brunt, prepare, start};
use serde_json::Value;

use crate::counters::{samples, tell};

/// A running probe; killed on drop.
struct ProbeProcess {
    child: Child,
    address: String,
}

impl ProbeProcess {
    fn with(flags: &[&str], token: Option<&str>) -> ProbeProcess {
        let mut command = Command::new(program::path());
        command
            .args(["probe", "--listen", "127.0.0.1:0"])
            .args(flags)
            .env("LC_ALL", "C")
            .env_remove("BRUNT_PROBE_TOKEN");
        command.envs(token.map(|token| ("BRUNT_PROBE_TOKEN", token)));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the probe starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it speaks");
        let address = line.split_whitespace().next_back().unwrap_or_default().to_owned();
        assert!(address.contains(':'), "it says where it listens: {line:?}");
        ProbeProcess { child, address }
    }

    /// Ends the probe with SIGTERM. Returns its exit code.
    fn stop(&mut self) -> Option<i32> {
        let id = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(id, rustix::process::Signal::INT);
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for ProbeProcess {
    fn drop(&mut self) {
        // Both fail only if it has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the findings about the service or the path to it; those about the generator may come from a busy machine.
fn findings(report: &TestReport) -> Vec<&Value> {
    let all = report.at("diagnosis.findings").as_array().expect("a list").iter();
    all.filter(|found| found["stage"] != "generator").collect()
}

#[test]
fn counters_of_a_probe_are_in_the_record_on_our_clock_and_a_healthy_run_has_no_finding() {
    let (target, mut probe) = (TargetProcess::healthy(), ProbeProcess::with(&[], Some("hidden-in-probe")));
    let directory = tempfile::tempdir().expect("a folder");
    let record = directory.path().join("kept.jsonl");
    let (path, url) = (record.display().to_string(), target.url(""));
    let line =
        ["-r", "50/s", "-d", "2s", "--probe", &probe.address, "--probe-token", "hidden-in-probe", "--record", &path];
    let report = report(&[&line[..], &[&url]].concat());
    assert!(findings(&report).is_empty(), "{report}");
    let joined = report.at("probes.0");
    assert_eq!(
        (&joined["holds_target"], &joined["shares_kernel"]),
        (&Value::Bool(true), &Value::Bool(true)),
        "{report}"
    );
    // Both clocks are the same, so the true difference is zero.
    for (ahead, within) in [("clock_ahead_s", "clock_within_s"), ("clock_ahead_at_end_s", "clock_within_at_end_s")] {
        let (ahead, within) = (joined[ahead].as_f64().expect("a time"), joined[within].as_f64().expect("a time"));
        assert!(ahead.abs() <= within && within > 0.0, "{ahead} within {within}");
    }
    assert!(!format!("{report}").contains("hidden-in-probe"));
    let again = brunt(["report", &path, "--format", "json"]);
    assert!(!again.out.contains("hidden-in-probe") && again.out.contains("\"probes\""));
    assert_eq!(probe.stop(), Some(0));
    let Some(samples) = samples(&record) else { return };
    let told = &samples[joined["host"].as_str().expect("a name")];
    let port = target.host().rsplit(':').next().expect("a port");
    for name in [
        "cpu.count",
        "Tcp.RetransSegs",
        &format!("listener.127.0.0.1:{port}.queue"),
        &format!("service.{}.cpu", target.id()),
    ] {
        assert!(tell(told, name), "{name}");
    }
    // The last sample is from the end of the window or later, even if the other clock is wrong.
    let last = told.last().expect("samples")["at_ns"].as_i64().expect("a moment");
    let window = (report.number("window_s") * 1e9) as i64;
    assert!(last >= window - (joined["clock_within_s"].as_f64().expect("a time") * 2e9) as i64, "{last} of {window}");
}

/// Uses two services: one with fifty or so free descriptors, and one with enough.
#[test]
fn before_a_run_a_doctor_asks_the_probe_what_the_run_would_fill_there() {
    let (target, probe) = (TargetProcess::limited(64, &["-w", "1"]), ProbeProcess::with(&[], None));
    let line = ["doctor", "-c", "500", "-d", "1s", "--probe", &probe.address, &target.url("")];
    brunt(line).with_code(0).containing("The service's machine").containing("and this run opens up to 500 connections");
    let line = ["doctor", "-c", "5", "-d", "1s", "--probe", &probe.address, &target.url("")];
    let told = brunt(line).with_code(0).containing("The service's machine");
    assert!(!told.out.contains("and this run opens up to"), "{}", told.out);
    assert_eq!(target.requests(), 0, "no load is sent");
    let nobody = format!("127.0.0.1:{}", free_port());
    let line = ["doctor", "-c", "5", "-d", "1s", "--probe", &nobody, &target.url("")];
    brunt(line).with_code(64).containing("cannot be reached");
}

#[test]
fn a_probe_that_is_lost_is_told_and_the_run_goes_on() {
    let (target, mut probe) = (TargetProcess::healthy(), ProbeProcess::with(&[], None));
    let directory = tempfile::tempdir().expect("a folder");
    let record = directory.path().join("kept.jsonl");
    let (path, url) = (record.display().to_string(), target.url(""));
    let flags =
        ["--quiet", "--format", "json", "-r", "50/s", "-d", "3s", "--probe", &probe.address, "--record", &path, &url];
    let running = start(flags);
    brunt_tests::program::until("the load has begun", || target.requests() > 10);
    probe.stop();
    let report = TestReport::of(running.end()).with_code(0);
    assert_eq!(report.notices(), ["probe_lost"], "{report}");
    assert!(report.count("requests.succeeded") > 100 && findings(&report).is_empty(), "{report}");
    let Some(samples) = samples(&record) else { return };
    let told = &samples[report.at("probes.0.host").as_str().expect("a name")];
    let last = told.last().expect("samples");
    assert!(last["gone"].as_array().is_some_and(|gone| gone.len() > 100), "{last}");
    assert!(last["unobservable"][0].as_str().is_some_and(|why| why.starts_with("probe 127.0.0.1:")), "{last}");
}

#[test]
fn what_cannot_be_joined_is_refused_before_anything_is_sent() {
    let target = TargetProcess::healthy();
    let (url, guarded) = (target.url(""), ProbeProcess::with(&[], Some("right")));
    let nobody = format!("127.0.0.1:{}", free_port());
    let twice = ["--probe", &guarded.address, "--probe", &guarded.address];
    for (flags, said) in [
        (&["--probe", &guarded.address][..], "it requires a token; add --probe-token, or set BRUNT_PROBE_TOKEN"),
        (&["--probe", &guarded.address, "--probe-token", "another-one"], "the token is wrong"),
        (&["--probe", &nobody], "cannot be reached: connection refused"),
        (&["--probe", target.host()], "the other end is not brunt; start `brunt probe` there"),
        (&["--probe", "db1"], "--probe: `db1` is not an address; use HOST:PORT"),
        (&["--probe-token", "x"], "--probe-token: needs a probe"),
        (&twice, "is given twice; leave one of them out"),
    ] {
        let ended = brunt([&["-r", "50/s", "-d", "1s"], flags, &[&url]].concat()).with_code(64).containing(said);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    }
    let joined = prepare(["-n", "5", "--probe", &guarded.address, &url]).env("BRUNT_PROBE_TOKEN", "right");
    joined.run().with_code(0);
    // Five requests, the pre-flight request, and the request for this count.
    assert!(target.requests() <= 7, "{}", target.requests());
}

#[test]
fn beyond_this_machine_a_probe_needs_a_token_and_a_certificate() {
    for (flags, said) in [
        (
            &["--listen", "0.0.0.0:0"][..],
            "can be reached from other machines: add --token-file FILE, --cert FILE and --key FILE",
        ),
        (&["--listen", "[::]:0", "--token", "x"], "add --cert FILE and --key FILE"),
        (&["--listen", "nowhere"], "`nowhere` is not an address to listen on"),
        (&["--token", ""], "--token: is empty"),
        (&["--token-file", "/nowhere"], "--token-file: /nowhere cannot be read"),
        (&["--token", "x", "--token-file", "/nowhere"], "cannot be combined with --token"),
        (&["--port", "0"], "--port: `0` is not a port"),
        (&["--pid", "4194304"], "--pid: process 4194304: there is no such process"),
        (&["--port", "1", "--pid", "1"], "cannot be combined with --pid"),
        (&["--cert", "a"], "needs its private key"),
    ] {
        brunt([&["probe"], flags].concat()).with_code(64).containing(said);
    }
}

#[test]
fn a_probe_speaks_tls_to_those_who_trust_its_certificate() {
    let Some(made) = Certificates::make() else { return brunt_tests::skip("openssl is not installed") };
    let (cert, key, ca) = (made.text("server.pem"), made.text("server.key"), made.text("ca.pem"));
    let probe = ProbeProcess::with(&["--cert", &cert, "--key", &key], Some("right"));
    let target = TargetProcess::healthy();
    let url = target.url("");
    let run = |flags: &[&str]| {
        let line =
            [&["--quiet", "--format", "json", "-r", "50/s", "-d", "1s", "--probe", &probe.address], flags, &[&url]];
        prepare(line.concat()).env("BRUNT_PROBE_TOKEN", "right").run()
    };
    let report = TestReport::of(run(&["--probe-cacert", &ca]));
    assert_eq!(report.at("probes").as_array().map(Vec::len), Some(1), "{report}");
    let other = Certificates::make().expect("it was made before");
    run(&["--probe-cacert", &other.text("ca.pem")])
        .with_code(64)
        .containing("give its certificate, or that of its CA, with --probe-cacert");
    run(&[]).with_code(64).containing("cannot be reached");
    run(&["--probe-cacert", "/nowhere"]).with_code(64).containing("--probe-cacert: /nowhere cannot be read");
}

/// Runs brunt in its own network namespace against a target and a probe in another one, over a pair of virtual
/// interfaces. Returns `None` without namespaces.
fn across_networks(target: &str) -> Option<TestReport> {
    if !brunt_tests::is_root() {
        brunt_tests::skip("only root can make two networks");
        return None;
    }
    let script = "inner=; trap 'kill $inner $target $probe' EXIT\n\
        ip link set lo up || exit 99\n\
        unshare --net sleep 100 & inner=$!\n\
        while kill -0 $inner && [ \"$(readlink /proc/$inner/ns/net)\" = \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.01; done\n\
        there() { exec nsenter -t $inner -n \"$@\"; }\n\
        ip link add here type veth peer name there && ip link set there netns $inner || exit 99\n\
        ip addr add 10.77.0.1/24 dev here && ip link set here up || exit 99\n\
        (there sh -c 'ip link set lo up && ip addr add 10.77.0.2/24 dev there && ip link set there up') || exit 99\n\
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3 -subj /CN=there \
            -addext subjectAltName=IP:10.77.0.2 -keyout key.pem -out cert.pem 2>/dev/null || exit 99\n\
        echo open-sesame > token\n\
        (there \"$0\" target 10.77.0.2:8080 $1 > target.out 2>&1) & target=$!\n\
        (there \"$0\" probe --listen 10.77.0.2:7070 --token-file token --cert cert.pem --key key.pem > probe.out 2>&1) & probe=$!\n\
        for up in $target:target.out $probe:probe.out; do\n\
            while kill -0 ${up%:*} && ! grep -q listening ${up#*:}; do sleep 0.01; done\n\
        done\n\
        BRUNT_PROBE_TOKEN=open-sesame \"$0\" -c 60 -d 3s -t 3s --no-keepalive --probe 10.77.0.2:7070 --probe-cacert cert.pem \
            --quiet --format json http://10.77.0.2:8080/";
    let directory = tempfile::tempdir().expect("a folder");
    let outcome = Command::new("unshare")
        .args(["--net", "bash", "-c", script])
        .arg(program::path())
        .arg(target)
        .current_dir(directory.path())
        .env("XDG_STATE_HOME", directory.path())
        .env("LC_ALL", "C")
        .output();
    let Ok(output) = outcome else {
        brunt_tests::skip("unshare is not installed");
        return None;
    };
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(99) || err.contains("unshare:") {
        brunt_tests::skip(&format!("no two networks here: {err}"));
        return None;
    }
    Some(TestReport::of(brunt_tests::ProgramOutput::of(&output, directory.path())))
}

#[test]
fn what_only_the_other_host_counts_proves_its_limit_and_a_healthy_one_is_not_blamed() {
    // Five connections may wait, and for most of each second none is accepted. The kernel of the
    // other side counts those that it rejects.
    let Some(report) = across_networks("--backlog 5 --stall 300ms+700ms/1s") else { return };
    let found = findings(&report);
    let proof = found.iter().find(|found| found["rule"] == "N2").unwrap_or_else(|| panic!("no N2 in {report}"));
    assert_eq!((&proof["proof"], &proof["host"]), (&Value::from("proved"), report.at("probes.0.host")), "{report}");
    assert_eq!(report.at("probes.0.holds_target"), &Value::Bool(true), "{report}");
    let Some(report) = across_networks("") else { return };
    assert!(!findings(&report).iter().any(|found| found["rule"] == "N2" || found["rule"] == "N3"), "{report}");
}
