//! Many machines as one run, played by agents on this machine: every request is counted once, whoever dies.

use brunt_tests::program::until;
use brunt_tests::report::assert_exact_count;
use brunt_tests::{TargetProcess, TestFleet, TestReport};
use rustix::process::Signal;

#[test]
fn agents_make_one_run_with_all_counts_equal_to_the_servers() {
    let fleet = TestFleet::with(3, &["--label", "eu"]);
    let load: [&[&str]; 3] =
        [&["-r", "500/s", "-d", "1s", "--arrivals", "constant"], &["-n", "503", "-c", "7"], &["-c", "6", "-n", "60"]];
    for (load, due) in load.iter().zip([500, 503, 60]) {
        for agents in ["1", "3", "label=eu", "a3,a1"] {
            let target = TargetProcess::healthy();
            let report = fleet.report(&[load, &["--agents", agents, &*target.address][..]].concat());
            assert_eq!(report.count("requests.scheduled"), due, "{agents}: {report}");
            assert_eq!(report.count("requests.failed"), 0, "{agents}: {report}");
            assert_exact_count(&target, &report);
        }
    }
    until("agents have handed in all and forgotten it", || {
        (0..3).all(|agent| {
            let spools = std::fs::read_dir(fleet.state_of(agent).join("brunt/spool")).into_iter().flatten().flatten();
            spools.flat_map(|spool| std::fs::read_dir(spool.path()).into_iter().flatten()).count() == 0
        })
    });
}

#[test]
fn the_same_seed_makes_the_same_requests_on_one_machine_and_on_many() {
    let fleet = TestFleet::with(2, &[]);
    let plan = fleet.home().join("plan.yaml");
    let text = "urls: ['ADDRESS/{random 1..1000000}']
rate: 300/s
duration: 1s
workers: 4
seed: 11
";
    let asked = [&[][..], &["--agents", "2"][..]].map(|more| {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("arrivals");
        let target = TargetProcess::with(&["--log-arrivals", log.to_str().unwrap()]);
        std::fs::write(&plan, text.replace("ADDRESS", &target.address)).unwrap();
        let report = fleet.report(&[&["run", plan.to_str().unwrap()], more].concat());
        assert_exact_count(&target, &report);
        (report.count("requests.scheduled"), report.count("bytes.sent"))
    });
    assert_eq!(asked[0], asked[1], "as many requests, of the same total length");
}

#[test]
fn a_killed_agent_costs_only_what_it_had_not_handed_in() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "6s", "--arrivals", "constant", "-w", "2", "--agents", "2", "--lost-after", "4s"];
    let running = fleet.start(&[&load[..], &[&*target.address]].concat());
    until("the run is in its third second", || target.requests() > 500);
    fleet.signal(1, Signal::KILL);
    let told = TestReport::of(running.end()).with_code(21);
    assert_eq!(told.at("ended"), &"partial", "{told}");
    assert!(told.notices().contains(&"agent_lost".to_owned()), "{told}");
    let [due, finished, failed, censored] = told.requests();
    assert!((790..1200).contains(&due) && failed == 0 && due == finished + censored, "{told}");
    assert!(finished < target.requests(), "the target's count, with the pre-flight request: {told}");
    assert_agents_add_up(&fleet, &told);
}

/// Checks that the figures of the agents add up to those of the whole, in the report of the last run and in its table.
fn assert_agents_add_up(fleet: &TestFleet, told: &TestReport) {
    const COUNTS: [&str; 4] = ["scheduled", "succeeded", "failed", "unfinished"];
    let agents = told.at("agents").as_array().unwrap();
    let sum = |path: &str| agents.iter().map(|agent| agent.pointer(path).unwrap().as_u64().unwrap()).sum::<u64>();
    assert_eq!(COUNTS.map(|name| sum(&format!("/{name}"))), told.requests(), "{told}");
    for name in ["count", "unanswered"] {
        assert_eq!(sum(&format!("/latency/{name}")), told.count(&format!("latency.response.{name}")), "{name}: {told}");
    }
    let csv = fleet.prepare(["report", "--format", "csv"]).run().out;
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let [whole, each] = ["", "agent"].map(|kind| {
        let of_kind = || rows[1..].iter().filter(|row| row[at("kind")] == kind);
        COUNTS.map(|name| of_kind().map(|row| row[at(name)].parse::<u64>().unwrap()).sum::<u64>())
    });
    assert_eq!((whole, each), (told.requests(), told.requests()), "{csv}");
}

/// Checks that the whole rate was scheduled at the end of a run, to the request, with nothing missing.
///
/// An arrival that is due at the end of a second and sent in the next is counted there, so the count is taken from any of the
/// last three seconds to the end; a rate that is wrong by one request in a second is wrong in each of them.
fn assert_whole_load(told: &TestReport, per_second: u64) {
    let seconds = told.at("seconds").as_array().unwrap();
    let full = seconds.iter().rposition(|second| second["scheduled"].as_u64() > Some(per_second / 2)).unwrap();
    assert!(seconds[full].get("missing_share").is_none(), "{}", seconds[full]);
    let since = |first: usize| seconds[first..].iter().map(|second| second["scheduled"].as_u64().unwrap()).sum::<u64>();
    let counts: Vec<u64> = (0..3).map(|back| since(full - back)).collect();
    let is_whole = counts.iter().zip(1..).any(|(count, lasts)| *count == lasts * per_second);
    assert!(is_whole, "{counts:?} from the last, the last two and the last three seconds on: {told}");
}

#[test]
fn the_load_of_a_killed_agent_is_taken_over_by_the_others() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "12s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    let policy = ["--lost-after", "5s", "--on-lost", "redistribute"];
    let running = fleet.start(&[&load[..], &policy, &[&*target.address]].concat());
    until("the run is in its second second", || target.requests() > 300);
    fleet.signal(1, Signal::KILL);
    let told = TestReport::of(running.end()).with_code(21);
    assert!(told.notices().contains(&"agent_lost".to_owned()), "{told}");
    let [due, finished, failed, censored] = told.requests();
    assert_eq!((due, failed), (finished + censored, 0), "{told}");
    // The other's half alone would be 1,200 beside what was handed in; for six seconds or so half is missing.
    assert!((1650..2150).contains(&due), "{told}");
    assert_whole_load(&told, 200);
}

#[test]
fn an_agent_whose_disk_is_full_hands_in_all_the_same() {
    let mut fleet = TestFleet::init(2);
    fleet.start_agent(0, &[]);
    fleet.start_agent_under(1, &["prlimit", "--fsize=2000", "--"], &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "3s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    let told = fleet.report(&[&load[..], &[&*target.address]].concat());
    assert_eq!((told.requests(), told.at("ended")), ([600, 600, 0, 0], &"completed".into()), "{told}");
    assert_exact_count(&target, &told);
    let said = told.at("notices").to_string();
    assert!(said.contains("kept in memory: File too large"), "{said}");
}

#[test]
fn an_agent_with_another_clock_begins_with_the_others() {
    let apart = ["unshare", "--time", "--monotonic", "1000000", "--boottime", "1000000", "--fork", "--kill-child"];
    let can = std::process::Command::new(apart[0]).args(&apart[1..]).arg("true").status();
    if !can.is_ok_and(|status| status.success()) {
        return brunt_tests::skip("only root can make a namespace with a clock of its own");
    }
    let mut fleet = TestFleet::init(2);
    fleet.start_agent(0, &[]);
    fleet.start_agent_under(1, &apart, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "2s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    let told = fleet.report(&[&load[..], &[&*target.address]].concat());
    assert_eq!((told.requests(), told.at("ended")), ([400, 400, 0, 0], &"completed".into()), "{told}");
    assert_exact_count(&target, &told);
}

#[test]
fn an_agent_that_stood_still_hands_in_what_it_measured() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "8s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    let running = fleet.start(&[&load[..], &[&*target.address]].concat());
    until("the run is in its second second", || target.requests() > 300);
    fleet.signal(1, Signal::STOP);
    // Only its supervisor stands still: the load goes on.
    until("the load of five more seconds was sent", || target.requests() > 1300);
    fleet.signal(1, Signal::CONT);
    let told = TestReport::of(running.end());
    assert_eq!((told.requests(), told.at("ended")), ([1600, 1600, 0, 0], &"completed".into()), "{told}");
    assert_exact_count(&target, &told);
}

#[test]
fn a_coordinator_that_was_killed_goes_on_and_nothing_is_counted_twice() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "6s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    let secret = "Authorization: Bearer hunter-22-hunter";
    let kept = tempfile::tempdir().unwrap();
    // Whoever goes on writes the file that was asked for at first.
    let output = kept.path().join("r.json");
    let asked = ["-H", secret, "-o", output.to_str().unwrap(), &*target.address];
    let mut running = fleet.start(&[&load[..], &asked].concat());
    until("the run is in its third second", || target.requests() > 500);
    running.signal(Signal::KILL);
    until("it is gone", || !running.runs());
    fleet.kill_link();
    let run = unfinished(&fleet).unwrap();
    let head = std::fs::read_to_string(run.join("run.json")).unwrap();
    assert!(!head.contains("hunter-22"), "the head of a run holds no secret: {head}");
    until("the agents have sent all", || target.requests() > 1200);
    let name = run.file_name().unwrap().to_str().unwrap();
    fleet.run(&["run", "--resume", name]).with_code(0);
    let told = TestReport::in_file(&output);
    assert_eq!((told.requests(), told.at("ended")), ([1200, 1200, 0, 0], &"completed".into()), "{told}");
    assert_eq!(target.requests(), 1201, "and the pre-flight request");
    assert!(!run.exists(), "what is whole needs no directory");
    assert_agents_add_up(&fleet, &told);
    fleet.run(&["run", "--resume", name]).with_code(64).containing("is finished");
}

#[test]
fn an_agent_that_comes_back_after_it_was_given_up_stops_its_load_which_nobody_counts() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "20s", "--arrivals", "constant", "-w", "2", "--agents", "2", "--lost-after", "5s"];
    let mut running = fleet.start(&[&load[..], &["--on-lost", "redistribute", &*target.address]].concat());
    until("the run is in its second second", || target.requests() > 300);
    // Its supervisor alone stands still, as if the network was gone: the load goes on.
    fleet.signal(1, Signal::STOP);
    until("the loss was noted", || has_noted_a_loss(&fleet));
    assert!(fleet.measures(1));
    fleet.signal(1, Signal::CONT);
    until("it stops", || !fleet.measures(1));
    assert!(running.runs() && fleet.measures(0), "the other goes on");
    running.signal(Signal::INT);
    running.end().with_code(21);
}

#[test]
fn whoever_goes_on_with_a_run_knows_of_the_agent_that_was_lost_and_of_those_that_took_over() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "12s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    // The other finds its coordinator's next link three seconds after the first was killed; after `--lost-after` it would stop.
    let policy = ["--on-lost", "redistribute", "--lost-after", "5s"];
    let mut running = fleet.start(&[&load[..], &policy, &[&*target.address]].concat());
    until("the run is in its second second", || target.requests() > 300);
    fleet.signal(1, Signal::KILL);
    until("the loss was noted", || has_noted_a_loss(&fleet));
    running.signal(Signal::KILL);
    until("it is gone", || !running.runs());
    fleet.kill_link();
    let run = unfinished(&fleet).unwrap();
    let told = fleet.report(&["run", "--resume", run.file_name().unwrap().to_str().unwrap()]).with_code(21);
    let told_of = |what: &str| told.notices().iter().filter(|notice| *notice == what).count();
    assert_eq!((told_of("agent_lost"), told_of("agents_replaced")), (1, 1), "{told}");
    assert_eq!(told.at("window_s").as_f64(), Some(12.0), "the other goes on to the end: {told}");
    assert_whole_load(&told, 200);
    assert!(told.count("requests.probe") == 1, "the pre-flight request is known: {told}");
    assert_agents_add_up(&fleet, &told);
}

#[test]
fn a_full_disk_of_the_coordinator_is_named_and_nothing_that_agents_keep_is_lost() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "4s", "--arrivals", "constant", "-w", "2", "--agents", "2", "--lost-after", "6s"];
    let words = [&load[..], &["--quiet", "--format", "json", &*target.address]].concat();
    // Nothing is wrong with the command line if there is no room from the beginning.
    let none = fleet.prepare_under(&["prlimit", "--fsize=100", "--"], words.clone()).run().with_code(21);
    assert!(none.err.contains("make room") && !none.err.contains("--help"), "{}", none.err);
    assert!(unfinished(&fleet).is_none());
    // The seconds of its report do not fit on that disk either.
    let cut = fleet.prepare_under(&["prlimit", "--fsize=9000", "--"], words).run().with_code(21);
    let told: serde_json::Value = serde_json::from_str(&cut.out).unwrap();
    assert!(told["notices"].to_string().contains("coordinator_disk"), "{told}");
    assert!(told["requests"]["scheduled"].as_u64().unwrap() < 800, "{told}");
    let run = unfinished(&fleet).expect("its directory is kept");
    let told = fleet.report(&["run", "--resume", run.file_name().unwrap().to_str().unwrap()]);
    assert_eq!((told.requests(), told.at("ended")), ([800, 800, 0, 0], &"completed".into()), "{told}");
    assert_eq!(target.requests(), 802, "and the pre-flight requests of both starts");
    assert!(unfinished(&fleet).is_none());
}

#[test]
fn a_nats_server_that_is_away_for_longer_than_an_answer_is_awaited_loses_no_figure() {
    let Some(fleet) = TestFleet::over_nats(2) else { return };
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "9s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    let running = fleet.start(&[&load[..], &["--fleet", &fleet.nats().url, &*target.address]].concat());
    until("the run is in its second second", || target.requests() > 300);
    fleet.nats().kill().unwrap();
    until("more than the time of an acknowledgement is over", || target.requests() > 1400);
    fleet.nats().start_again().unwrap();
    let told = TestReport::of(running.end());
    assert_eq!((told.requests(), told.at("ended")), ([1800, 1800, 0, 0], &"completed".into()), "{told}");
    assert_exact_count(&target, &told);
}

/// Returns `true` once the coordinator has noted a loss, all of it: it does so after it told the others.
fn has_noted_a_loss(fleet: &TestFleet) -> bool {
    let noted = unfinished(fleet).and_then(|run| std::fs::read_to_string(run.join("losses.json")).ok());
    noted.is_some_and(|noted| noted.ends_with('\n'))
}

/// Returns the directory of the run that could go on, if there is one.
fn unfinished(fleet: &TestFleet) -> Option<std::path::PathBuf> {
    std::fs::read_dir(fleet.runs()).ok()?.flatten().map(|entry| entry.path()).next()
}

#[test]
fn agents_whose_coordinator_is_gone_stop_by_themselves() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "100/s", "-d", "90s", "--agents", "2", "--orphan-timeout", "2s"];
    let mut running = fleet.start(&[&load[..], &[&*target.address]].concat());
    until("the run has begun", || target.requests() > 100);
    running.signal(Signal::KILL);
    until("it is gone", || !running.runs());
    let mut last = target.requests();
    until("nothing is sent any more", || {
        std::thread::sleep(std::time::Duration::from_millis(700));
        std::mem::replace(&mut last, target.requests()) == last
    });
}

#[test]
fn ctrl_c_stops_all_agents_and_what_was_counted_arrives() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let running = fleet.start(&["-c", "4", "-d", "60s", "--agents", "2", &target.address]);
    until("the run has begun", || target.requests() > 1000);
    running.signal(Signal::INT);
    let told = TestReport::of(running.end()).with_code(21);
    assert_eq!(told.at("ended"), &"interrupted", "{told}");
    let [due, finished, failed, censored] = told.requests();
    assert_eq!((due, failed), (finished + censored, 0), "{told}");
    let heard = target.requests() - told.count("requests.probe");
    assert!((finished..=finished + censored).contains(&heard), "the target's count is {heard}: {told}");
}

#[test]
fn a_machine_that_its_owner_takes_back_hands_in_what_it_measured() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let load = ["-r", "200/s", "-d", "6s", "--arrivals", "constant", "-w", "2", "--agents", "2"];
    let running = fleet.start(&[&load[..], &[&*target.address]].concat());
    until("the run is in its third second", || target.requests() > 500);
    fleet.signal(1, Signal::INT);
    let told = TestReport::of(running.end()).with_code(21);
    let said = told.at("notices").to_string();
    assert!(said.contains("taken back by its owner") && said.contains("agent_lost"), "{said}");
    assert_eq!(told.at("ended"), &"partial", "{told}");
    assert_eq!(told.at("agents")[1]["ended"], "cut_off", "it is one of the lost: {told}");
    assert_ne!(told.at("diagnosis.outcome"), &"not_reached", "not all of the load was delivered: {told}");
    let last = told.at("seconds").as_array().unwrap().last().unwrap();
    assert_eq!(last["missing_share"], 0.5, "{last}");
    let [due, finished, failed, censored] = told.requests();
    assert!((700..1200).contains(&due) && failed == 0 && due == finished + censored, "{told}");
    assert_exact_count(&target, &told);
}

#[test]
fn what_an_owner_does_not_allow_is_refused_with_the_reason() {
    let target = TargetProcess::healthy();
    let mut fleet = TestFleet::init(3);
    fleet.start_agent(0, &["--allow", "10.0.0.0/8"]);
    fleet.start_agent(1, &["--max-rate", "50/s"]);
    fleet.start_agent(2, &["--max-connections", "3"]);
    fleet.wait_for(3);
    for (load, agent, said) in [
        (&["-r", "10/s"][..], "a1", "a1 refuses: the owner of this agent does not allow 127.0.0.1"),
        (
            &["-r", "100/s"],
            "a2",
            "a2 refuses: its owner allows requests at 50.0/s (--max-rate), and its share is 100/s",
        ),
        (&["-r", "10/s", "-L"], "a2", "up to 11"),
        (&["-r", "10/s", "--reference", "5/s"], "a2", "--reference: cannot be used with --agents"),
        (&["-c", "2"], "a2", "use -r"),
        (&["-c", "4"], "a3", "a3 refuses: its owner allows 3 connections (--max-connections), and its share is 4"),
    ] {
        let words = [load, &["-d", "1s", "--agents", agent, &*target.address]].concat();
        fleet.run(&words).with_code(64).containing(said);
    }
    assert_eq!(target.requests(), 0, "not even the pre-flight request");
    let again = TargetProcess::healthy();
    let report = fleet.report(&["-r", "40/s", "-d", "1s", "--agents", "a2", &again.address]);
    assert_exact_count(&again, &report);
}

#[test]
fn an_agent_that_was_removed_or_is_of_another_fleet_is_not_there() {
    let mut fleet = TestFleet::with(2, &[]);
    fleet.wait_for(2);
    fleet.prepare(["fleet", "remove", "a2"]).run().with_code(0);
    fleet.wait_for(1);
    let stranger = TestFleet::init(1);
    fleet.start_stranger(&stranger);
    let target = TargetProcess::healthy();
    fleet
        .run(&["-c", "1", "-n", "1", "--agents", "2", "--agents-wait", "3s", &target.address])
        .with_code(64)
        .containing("2 cannot be had: 1 can take a share now (a1); start agents");
    assert_eq!(target.requests(), 0);
}

#[test]
fn one_token_on_two_machines_is_told_and_no_run_uses_it() {
    let mut fleet = TestFleet::with(2, &[]);
    fleet.wait_for(2);
    fleet.start_twin(0);
    let shown = |options: &[&str]| fleet.prepare([&["fleet"], options].concat()).run().with_code(0).out;
    let mut told = serde_json::Value::Null;
    until("it is told", || {
        told = serde_json::from_str(&shown(&["--json"])).unwrap();
        told["agents"][0]["times"] == 2
    });
    assert_eq!(told["agents"][1]["times"], 1, "{told}");
    let remark = &told["agents"][0]["remarks"][0];
    assert!(remark["en"].as_str().is_some_and(|said| said.contains("`brunt fleet add NAME`")), "{told}");
    let text = shown(&["--lang", "zh"]);
    assert!(text.contains("施压机 a1 同时有 2 台在线") && text.contains("空闲，同时有 2 台在线\n"), "{text}");
    let target = TargetProcess::healthy();
    let run = |agents| fleet.run(&["-c", "1", "-n", "20", "--agents", agents, &target.address]);
    for agents in ["a1", "all"] {
        run(agents).with_code(64).containing("--agents: agent a1 is there 2 times").containing("token of its own");
    }
    assert_eq!(target.requests(), 0);
    run("a2").with_code(0);
    fleet.signal(2, Signal::KILL);
    run("a1").with_code(0);
}

#[test]
fn an_agent_whose_machine_was_lost_and_is_back_is_not_taken_for_two() {
    let mut fleet = TestFleet::with(1, &[]);
    fleet.wait_for(1);
    fleet.kill_agents();
    fleet.start_agent(0, &[]);
    let target = TargetProcess::healthy();
    fleet.run(&["-c", "1", "-n", "20", "--agents", "1", &target.address]).with_code(0);
}

#[test]
fn a_run_names_its_agents_and_a_fleet_those_that_are_absent() {
    let mut fleet = TestFleet::init(3);
    (0..2).for_each(|agent| fleet.start_agent(agent, &[]));
    let target = TargetProcess::healthy();
    let run = fleet.prepare(["-n", "5", "-c", "2", "--agents", "2", &*target.address]).run().with_code(0);
    assert!(run.out.lines().any(|line| line == "Agents: a1, a2"), "{}", run.out);
    let shown = fleet.prepare(["fleet", "--wait", "100ms"]).run().with_code(0);
    assert!(shown.out.ends_with("\nnot there: a3\n"), "{}", shown.out);
}

#[test]
fn a_signal_while_agents_are_waited_for_ends_with_a_sentence() {
    let fleet = TestFleet::init(1);
    let target = TargetProcess::healthy();
    let waits = ["--agents", "1", "--agents-wait", "60s", &*target.address];
    for line in [&["-n", "5", "-c", "1"][..], &["sweep", "-c", "1,2", "-d", "1s"]] {
        let running = fleet.prepare(line.iter().chain(&waits)).start();
        until("agents are waited for", || fleet.is_watched_by(running.id()));
        running.signal(Signal::INT);
        let ended = running.end().with_code(21).containing("no load was sent");
        assert_eq!(ended.err.lines().filter(|line| line.starts_with("brunt: interrupted")).count(), 1, "{ended:?}");
    }
    assert_eq!(target.requests(), 0);
}

#[test]
fn experiments_run_on_agents_as_on_one_machine() {
    let fleet = TestFleet::with(2, &[]);
    let target = TargetProcess::healthy();
    let swept = fleet.run(&["sweep", "-c", "1,2", "-d", "500ms", "--repeat", "2", "--agents", "2", &target.address]);
    let told: serde_json::Value =
        serde_json::from_str(&swept.out).unwrap_or_else(|_| panic!("{} {}", swept.out, swept.err));
    // Figures of a busy machine may be doubted, or not suffice; no agent may refuse the next run.
    let said = format!("{:?} {} {}", swept.code, swept.err, swept.out);
    assert!(matches!(swept.code, Some(0 | 20 | 21)) && !said.contains("refuses"), "{said}");
    assert_eq!(told["cells"].as_array().map(Vec::len), Some(2), "{told}");
    assert!(target.requests() > 100);
}
