//! Runs of many agents: each is judged as a run of its own would be, and the whole as the sum of all.

use brunt_cause::Cause;
use brunt_measure::Nanos;
use brunt_record::{
    AgentEvent, AgentHead, CounterValue, End, Failure, GeneratorHost, HostCounters, Notice, RunEnd, RunEvent, Second,
    Subject, WindowStart, WorkerRange,
};
use brunt_report::{Finding, Grade, Lang, Summary};

use crate::run_builder::{FillSecond, RunBuilder, ms, open, second};

const S: i64 = 1_000_000_000;

/// Creates an agent with two workers of the run.
fn head(index: u32, name: &str, labels: &[&str]) -> AgentHead {
    AgentHead {
        name: name.into(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        host: GeneratorHost { name: format!("host-{name}"), cores: 2.0, ..GeneratorHost::default() },
        workers: WorkerRange { from: 2 * index, to: 2 * index + 2 },
        brunt: "0.1.0".into(),
        clock_ahead_ns: i64::from(index) * S,
        clock_within_ns: 50_000,
    }
}

/// Creates an open run of these agents for `seconds` seconds; `fill` gives each agent's seconds, and what is merged from
/// them is the whole.
pub fn fleet(agents: &[(&str, &[&str])], seconds: i64, fill: impl Fn(usize, i64) -> Second) -> RunBuilder {
    let mut run = open(1000.0, seconds as u64);
    run.plan.workers = 2 * agents.len() as u32;
    run.agents = agents.iter().enumerate().map(|(n, (name, labels))| head(n as u32, name, labels)).collect();
    for agent in 0..agents.len() {
        // Each agent begins 0.3 ms after the one before, on the coordinator's clock.
        let clock_ns = 7 * S as u64 + agent as u64 * 300_000;
        run.events.push(of(agent, RunEvent::Began(WindowStart { clock_ns, unix_ns: 1 })));
    }
    for n in 0..seconds {
        let parts: Vec<Second> = (0..agents.len()).map(|agent| fill(agent, n)).collect();
        let mut whole = parts[0].clone();
        parts[1..].iter().for_each(|part| whole.merge(part));
        run = run.second(whole);
        let told = parts.into_iter().enumerate().map(|(agent, part)| of(agent, RunEvent::Second(Box::new(part))));
        run.events.extend(told);
    }
    for agent in 0..agents.len() {
        let (window, reason) = (Nanos::from_secs(seconds as u64), End::Completed);
        run.events.push(of(agent, RunEvent::Ended(RunEnd { reason, window, elapsed: window })));
    }
    run
}

fn of(agent: usize, event: RunEvent) -> RunEvent {
    RunEvent::OfAgent(AgentEvent::of(agent as u16, &event).expect("told of an agent"))
}

/// Creates a healthy second: a thousand requests a second in all, in bands and with a worker that is half used.
fn healthy(agents: usize, n: i64) -> Second {
    let each = 1000 / agents as u64;
    let mut s = second(n).answered(each * 9 / 10, ms(2)).answered(each / 10, ms(9));
    s.generator.resolution_ns = 20_000;
    s.generator.busiest_cpu_ns = 500_000_000;
    s.cpu_ns = 900_000_000;
    s
}

const NAMES: [(&str, &[&str]); 7] = [
    ("eu-1", &["eu"]),
    ("eu-2", &["eu"]),
    ("asia-1", &["asia", "slow"]),
    ("asia-2", &["asia"]),
    ("us-1", &[]),
    ("us-2", &[]),
    ("us-3", &[]),
];

fn findings(summary: &Summary) -> Vec<(&'static str, Grade)> {
    summary.trust.findings.iter().map(|found| (found.code, found.grade)).collect()
}

fn found<'a>(summary: &'a Summary, code: &str) -> &'a Finding {
    summary.trust.findings.iter().find(|found| found.code == code).expect(code)
}

#[test]
fn a_healthy_run_is_judged_alike_on_one_machine_and_on_any_number() {
    let mut alone = open(1000.0, 10);
    for n in 0..10 {
        alone = alone.second(healthy(1, n));
    }
    let alone = alone.summary();
    for agents in [1, 2, 4, 7] {
        let summary = fleet(&NAMES[..agents], 10, |_, n| healthy(agents, n)).summary();
        assert_eq!(findings(&summary), findings(&alone), "{agents} agents");
        assert_eq!((summary.exit, summary.limits.outcome), (alone.exit, alone.limits.outcome));
        assert_eq!(summary.agents.len(), agents);
        for agent in &summary.agents {
            assert!(agent.trust.verdict() <= Grade::Ok && agent.limits.is_empty(), "{agent:?}");
            assert!((agent.share - 1.0 / agents as f64).abs() < 1e-9);
        }
        let sum: u64 = summary.agents.iter().map(|agent| agent.figures.succeeded).sum();
        assert_eq!(sum, summary.totals.finished);
    }
}

#[test]
fn what_stands_against_an_agent_stands_in_the_whole_with_its_name_and_the_moment() {
    let run = fleet(&NAMES[..4], 60, |agent, n| match (agent, n) {
        (2, 42..) => healthy(4, n).failing(5, "no_ports", "connect", Some("EADDRNOTAVAIL")),
        (1, 7..) => {
            let mut s = healthy(4, n);
            s.generator.busiest_cpu_ns = 990_000_000;
            s
        }
        _ => healthy(4, n),
    });
    let summary = run.summary();
    let ports = found(&summary, "local_limit");
    assert_eq!(ports.grade, Grade::Fail);
    let said = ports.sentence(Lang::En);
    assert!(said.starts_with("agent asia-1: 90 requests failed on this machine"), "{said}");
    assert!(said.ends_with("(first at 00:42)"), "{said}");
    assert!(ports.sentence(Lang::Zh).starts_with("施压机 asia-1：90 个请求"), "{}", ports.sentence(Lang::Zh));
    let busy = found(&summary, "generator_busy").sentence(Lang::En);
    assert!(
        busy.starts_with("agent eu-2: brunt itself was at its limit") && busy.ends_with("(first at 00:07)"),
        "{busy}"
    );
    let limits: Vec<(&str, String)> =
        summary.limits.findings.iter().map(|found| (found.rule, found.claim(Lang::En))).collect();
    let (_, ports) = limits.iter().find(|(rule, _)| *rule == "C5").expect("the limit of ports");
    assert!(ports.starts_with("agent asia-1: ") && ports.ends_with("(first at 00:42)"), "{ports}");
    assert!(limits.iter().filter(|(rule, _)| *rule == "C5").count() == 1, "{limits:?}");
    assert!(limits.iter().any(|(rule, claim)| *rule == "C1" && claim.starts_with("agent eu-2: ")), "{limits:?}");
    let grades: Vec<Grade> = summary.agents.iter().map(|agent| agent.trust.verdict()).collect();
    assert_eq!(grades, [Grade::Ok, Grade::Fail, Grade::Fail, Grade::Ok]);
}

#[test]
fn the_same_against_many_agents_is_one_finding_that_names_them() {
    let run = fleet(&NAMES, 10, |agent, n| {
        let mut s = healthy(7, n);
        s.generator.busiest_cpu_ns = if agent < 6 { 780_000_000 + agent as u64 } else { 100_000_000 };
        s
    });
    let summary = run.summary();
    let busy: Vec<String> = summary
        .trust
        .findings
        .iter()
        .filter(|found| found.code == "generator_busy")
        .map(|found| found.sentence(Lang::En))
        .collect();
    assert_eq!(busy.len(), 1, "{busy:?}");
    assert!(busy[0].ends_with("; likewise 5 more agents: eu-2, asia-1, asia-2, us-1, us-2"), "{busy:?}");
}

/// Delays `n` requests of 2 ms by 30 ms, for which brunt itself was away.
fn delay(s: &mut Second, n: u64) {
    let late = ms(32);
    for latency in [&mut s.latency.service, &mut s.latency.response] {
        latency.record_n(late, n);
    }
    for (delayed, undelayed) in [
        (&mut s.latency.service_delayed, &mut s.latency.service_undelayed),
        (&mut s.latency.response_delayed, &mut s.latency.response_undelayed),
    ] {
        delayed.record_n(late, n);
        undelayed.record_n(ms(2), n);
    }
    (s.due, s.sent, s.finished) = (s.due + n, s.sent + n, s.finished + n);
    s.in_flight_ns += u128::from(late.0) * u128::from(n);
    s.service_ns += i128::from(late.0) * i128::from(n);
    s.latency.loop_gap.record(ms(30));
    s.away_ns = 30_000_000;
}

#[test]
fn a_band_that_is_wide_because_of_one_agent_says_so() {
    let run = fleet(&NAMES[..4], 10, |agent, n| {
        let mut s = healthy(4, n);
        if agent == 3 {
            delay(&mut s, if n == 5 { 60 } else { 25 });
        }
        s
    });
    let summary = run.summary();
    let whole = found(&summary, "generator_delays");
    assert_eq!(whole.grade, Grade::Fail);
    let said = whole.sentence(Lang::En);
    let of_one = "; 100.0 % of these delays are those of agent asia-2 (the longest delay at 00:00)";
    assert!(said.ends_with(of_one), "{said}");
    let delays = summary.trust.findings.iter().filter(|found| found.code == "generator_delays");
    assert_eq!(delays.count(), 1, "told once");
    let everywhere = fleet(&NAMES[..2], 10, |_, n| {
        let mut s = healthy(2, n);
        delay(&mut s, 25);
        s
    });
    let said = found(&everywhere.summary(), "generator_delays").sentence(Lang::En);
    assert!(said.ends_with("; on agents eu-1, eu-2"), "{said}");
    // One request in a hundred of that agent, and one in four hundred of all: its p99 is wide, and that of the whole is
    // not.
    let run = fleet(&NAMES[..4], 10, |agent, n| {
        let mut s = healthy(4, n);
        if agent == 3 {
            delay(&mut s, 4);
        }
        s
    });
    let summary = run.summary();
    assert_eq!(summary.agents[3].trust.verdict(), Grade::Fail);
    let of_agent = found(&summary, "generator_delays");
    assert_eq!(of_agent.grade, Grade::Warn, "it has a size, which changes no figure of the whole");
    assert!(of_agent.sentence(Lang::En).starts_with("agent asia-2: p99 is "), "{}", of_agent.sentence(Lang::En));
}

/// Creates a run whose second agent is lost after the sixth of ten seconds.
pub fn with_a_lost_agent() -> RunBuilder {
    let mut run = fleet(&NAMES[..4], 10, |agent, n| match agent {
        1 if n == 5 => {
            let whole = healthy(4, n);
            Second { due: whole.due + 3, sent: whole.sent + 3, in_flight: 3, ..whole }
        }
        1 if n == 6 => {
            let left = Second { from_ns: n * S, to_ns: n * S, missing_share: 0.25, ..Second::default() };
            Second { due: 0, sent: 0, ..left.unfinished(3, Nanos::ZERO) }
        }
        1 if n > 6 => Second { missing_share: 0.25, ..second(n) },
        _ => healthy(4, n),
    });
    // What the agent itself told ends before.
    let lost = |event: &RunEvent| match event {
        RunEvent::OfAgent(AgentEvent { agent: 1, event, .. }) => match &**event {
            RunEvent::Second(s) => s.from_ns >= 6 * S,
            RunEvent::Ended(_) => true,
            _ => false,
        },
        _ => false,
    };
    run.events.retain(|event| !lost(event));
    let facts = [
        ("agent", "eu-2".to_owned()),
        ("why", "nothing heard for 90 s".to_owned()),
        ("until", "00:06".to_owned()),
        ("requests", "3".to_owned()),
        ("share", "25 %".to_owned()),
    ];
    run.events.push(RunEvent::Notice(Notice::new(Subject::AgentLost, facts)));
    run.ended(Some("partial"))
}

#[test]
fn a_lost_agent_is_a_finding_by_its_part_of_the_run() {
    let summary = with_a_lost_agent().summary();
    let missing = found(&summary, "agents");
    assert_eq!(missing.grade, Grade::Fail);
    let said = missing.sentence(Lang::En);
    assert_eq!(said, "10.0 % of the load is missing from these figures, from 00:06 on: 1 agent was lost (eu-2)");
    assert_eq!((summary.exit.code(), summary.totals.censored), (21, 3));
    assert!(summary.totals.is_consistent());
    assert!(summary.agents[1].is_lost() && !summary.agents[0].is_lost());
    let text = with_a_lost_agent().written("text", Lang::En);
    let row = text.lines().find(|line| line.trim_start().starts_with("eu-2 ")).unwrap();
    assert!(row.trim_end().ends_with("lost"), "{row}");
    assert!(text.contains("Agent eu-2 was lost (nothing heard for 90 s)"), "{text}");
}

#[test]
fn a_rate_that_the_lost_agents_would_have_made_up_is_not_missed() {
    let rate = with_a_lost_agent().summary().throughput_per_s();
    let outcome = |limit: f64| {
        let objective = format!("rate>={limit:.1}/s");
        with_a_lost_agent().objectives(&[&objective]).summary().objectives.remove(0).outcome
    };
    use brunt_report::ObjectiveOutcome::{Met, Missed, Undecided};
    assert_eq!([0.9, 1.2, 1.5].map(|times| outcome(rate * times)), [Met, Undecided, Missed]);
}

#[test]
fn an_agent_that_told_of_its_own_end_is_named_among_the_lost() {
    let mut run = with_a_lost_agent();
    let window = Nanos::from_secs(6);
    let ended = RunEvent::Ended(RunEnd { reason: End::Interrupted, window, elapsed: window });
    run.events.push(of(1, ended));
    let screen = crate::golden::on_a_screen(&run, Lang::En, Some(80));
    let line = screen.lines().find(|line| line.starts_with("Agents ")).unwrap();
    assert!(line.ends_with("; lost: eu-2"), "{line}");
}

#[test]
fn what_agents_hand_in_in_english_is_told_in_the_language_of_the_reader() {
    for (said, zh) in [
        ("stopped: nothing was heard of the coordinator for 120 s", "施压机 eu-2：已停止：120 s 没有协调端的消息。"),
        ("taken back by its owner (killed by SIGKILL)", "施压机 eu-2：被机主收回（被 SIGKILL 终止）。"),
    ] {
        let facts = [("agent", "eu-2".to_owned()), ("remark", said.to_owned())];
        let mut run = with_a_lost_agent();
        run.events.insert(1, RunEvent::Notice(Notice::new(Subject::AgentRemark, facts)));
        let text = run.written("text", Lang::Zh);
        assert!(text.contains(zh), "{text}");
    }
}

#[test]
fn why_an_agent_was_lost_is_told_in_the_language_of_the_reader() {
    let mut run = with_a_lost_agent();
    let why = Cause::from(brunt_cause::agents::started_again()).to_string();
    for event in &mut run.events {
        if let RunEvent::Notice(notice) = event {
            notice.facts.insert("why".into(), why.clone());
        }
    }
    let text = run.written("text", Lang::Zh);
    assert!(text.contains("施压机 eu-2 丢失（该施压机曾重新启动，现已重新上线，但不再承担其份额）"), "{text}");
}

#[test]
fn names_of_agents_are_separated_as_the_language_does() {
    let mut run = fleet(&NAMES, 10, |agent, n| {
        let mut s = healthy(7, n);
        s.generator.busiest_cpu_ns = if agent < 6 { 990_000_000 } else { 100_000_000 };
        Second { missing_share: 0.3, ..s.unfinished(200, Nanos::ZERO) }
    });
    for agent in ["us-1", "us-2", "us-3", "asia-1"] {
        run.events.push(RunEvent::Notice(Notice::new(Subject::AgentLost, [("agent", agent.to_owned())])));
    }
    let facts = [("agents", "us-1, us-2".to_owned()), ("run", "006b".to_owned())];
    run.events.push(RunEvent::Notice(Notice::new(Subject::AgentsAwaited, facts)));
    let facts = [("agents", "us-1".to_owned()), ("to", "eu-1, eu-2".to_owned()), ("at", "3 s".to_owned())];
    run.events.push(RunEvent::Notice(Notice::new(Subject::AgentsReplaced, facts)));
    let (en, zh) = (run.written("text", Lang::En), run.written("text", Lang::Zh));
    assert!(en.contains("(us-1, us-2, us-3, …)") && en.contains("went to eu-1, eu-2 at"), "{en}");
    for said in [
        "（us-1、us-2、us-3、…）",
        "由 eu-1、eu-2 承担",
        "。us-1、us-2 测得",
        "施压机也是如此：eu-2、asia-1、",
        "p50、p99 只是下限",
    ] {
        assert!(zh.contains(said), "{said}: {zh}");
    }
    let foreign: Vec<&str> = zh.lines().filter(|line| line.contains(", ")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[test]
fn agents_that_stood_still_are_not_said_to_have_delivered_the_load() {
    let outcome = |unsent: u64| {
        let run = fleet(&NAMES[..2], 10, |_, n| {
            let whole = healthy(2, n);
            if n < 9 { whole } else { whole.unfinished(unsent, Nanos::ZERO) }
        });
        let told = run.json();
        let code = |reason: &serde_json::Value| reason["code"] == "schedule_not_sent";
        let is_told = told["trust"]["reasons"].as_array().unwrap().iter().any(code);
        (is_told, told["diagnosis"]["outcome"].as_str().unwrap().to_owned())
    };
    assert_eq!(outcome(0), (false, "not_reached".into()));
    assert_eq!(outcome(2000), (true, "nothing_to_judge".into()));
}

#[test]
fn load_that_is_missing_was_not_delivered_however_many_notices_there_are() {
    let mut run = with_a_lost_agent();
    // More than are kept, so that the notice of the loss is not.
    for n in 0..100 {
        let facts = [("agent", format!("eu-{n}")), ("remark", "figures are kept in memory".to_owned())];
        run.events.insert(1, RunEvent::Notice(Notice::new(Subject::AgentRemark, facts)));
    }
    assert_eq!(run.json()["diagnosis"]["outcome"], "nothing_to_judge");
}

#[test]
fn no_number_of_remarks_leaves_out_which_agents_were_lost_or_late() {
    let mut run = with_a_lost_agent();
    let remark = |agent: &str, n: i32| {
        let facts = [("agent", agent.to_owned()), ("remark", format!("figures are kept in memory: {n}"))];
        RunEvent::Notice(Notice::new(Subject::AgentRemark, facts))
    };
    let remarks: Vec<RunEvent> = (0..100).map(|n| remark(["eu-1", "unknown"][n as usize % 2], n)).collect();
    run.events.splice(1..1, remarks);
    let last = run.events.len();
    let late = [("agent", "asia-1".to_owned()), ("late", "4.8 s".to_owned())];
    run.events.insert(last, RunEvent::Notice(Notice::new(Subject::AgentChangedLate, late)));
    let summary = run.summary();
    let said = found(&summary, "agents").sentence(Lang::En);
    assert!(said.ends_with("1 agent was lost (eu-2)"), "{said}");
    assert!(found(&summary, "late_change").sentence(Lang::En).contains("asia-1 by 4.8 s"));
    let text = run.written("text", Lang::En);
    assert_eq!(text.matches("kept in memory").count(), 64);
    assert!(text.contains("… and 36 more remarks, which are not listed."), "{text}");
}

#[test]
fn notices_of_agents_that_are_not_listed_are_counted() {
    let mut run = fleet(&NAMES[..2], 3, |_, n| healthy(2, n));
    for n in 0..8 {
        let facts = [("name", format!("host-{n}")), ("took", "2.0 s".to_owned())];
        let notice = Notice { code: format!("later_{n}"), ..Notice::new(Subject::SlowLookup, facts) };
        run.events.insert(2, of(0, RunEvent::Notice(notice)));
    }
    let text = run.written("text", Lang::En);
    assert!(text.contains("and 3 more notices of agents"), "{text}");
}

#[test]
fn an_agent_that_was_taken_back_is_told_of_once() {
    let mut run = with_a_lost_agent();
    let why = Cause::from(brunt_cause::agents::taken_back()).to_string();
    for event in &mut run.events {
        if let RunEvent::Notice(notice) = event {
            notice.facts.insert("why".into(), format!("{why} (exit code 21)"));
        }
    }
    for agent in ["eu-1", "eu-2"] {
        let facts = [("agent", agent.to_owned()), ("remark", why.clone())];
        run.events.insert(1, RunEvent::Notice(Notice::new(Subject::AgentRemark, facts)));
    }
    let text = run.written("text", Lang::En);
    assert!(text.contains("Agent eu-2 was lost (taken back by its owner (exit code 21))"), "{text}");
    assert!(text.contains("Agent eu-1: taken back") && !text.contains("Agent eu-2: taken back"), "{text}");
}

#[test]
fn a_label_tells_how_many_of_its_agents_were_lost() {
    let row = |run: &RunBuilder, lang, label: &str| {
        let text = run.written("text", lang);
        let rows = text.lines().skip_while(|line| !["By label", "按标签"].contains(line));
        rows.into_iter().find(|line| line.trim_start().starts_with(label)).unwrap().trim_end().to_owned()
    };
    let run = with_a_lost_agent();
    assert!(row(&run, Lang::En, "eu ").ends_with("  trusted, 1 lost"), "{}", row(&run, Lang::En, "eu "));
    assert!(row(&run, Lang::Zh, "eu ").ends_with("可信，丢失 1 个"), "{}", row(&run, Lang::Zh, "eu "));
    assert!(row(&run, Lang::En, "asia ").ends_with("  trusted"));
    let mut run = with_a_lost_agent();
    run.agents[1].labels = vec!["gone".into()];
    assert!(row(&run, Lang::En, "gone ").ends_with("  lost"));
}

#[test]
fn where_what_agents_still_hold_can_be_had_stands_on_every_screen() {
    let mut run = with_a_lost_agent();
    for n in 0..20 {
        let facts = [("agent", format!("eu-{n}")), ("remark", "figures are kept in memory".to_owned())];
        run.events.insert(1, RunEvent::Notice(Notice::new(Subject::AgentRemark, facts)));
    }
    let facts = [("agents", "eu-1, eu-2".to_owned()), ("run", "006b".to_owned())];
    run.events.insert(21, RunEvent::Notice(Notice::new(Subject::AgentsAwaited, facts)));
    let screen = crate::golden::on_a_screen(&run, Lang::En, Some(80));
    assert!(screen.contains("`brunt run --resume 006b`"), "{screen}");
}

/// Returns the sums of the rows of a CSV, of the whole and of its agents, for each of these columns.
fn summed(csv: &str, columns: &[&str]) -> [Vec<u64>; 2] {
    let mut lines = csv.lines();
    let heading: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| heading.iter().position(|column| *column == name).unwrap();
    let mut sums = [(); 2].map(|()| vec![0; columns.len()]);
    for row in lines.map(|line| line.split(',').collect::<Vec<_>>()) {
        let sum = &mut sums[usize::from(row[at("kind")] == "agent")];
        sum.iter_mut().zip(columns).for_each(|(sum, column)| *sum += row[at(column)].parse::<u64>().unwrap());
    }
    sums
}

#[test]
fn what_a_lost_agent_left_open_stands_in_its_own_row_as_in_the_whole() {
    let run = with_a_lost_agent();
    let csv = run.written("csv", Lang::En);
    let [whole, agents] = summed(&csv, &["scheduled", "succeeded", "unfinished"]);
    assert_eq!(whole, [250 * 4 * 10 - 250 * 4 + 3, 250 * 4 * 10 - 250 * 4, 3]);
    assert_eq!(agents, whole);
    assert!(csv.contains("\n6,6,window,0,0,0,0,3,"), "{csv}");
    let json = run.json();
    let requests = |latency: &serde_json::Value| latency["count"].as_u64().unwrap();
    let each: Vec<u64> = json["agents"].as_array().unwrap().iter().map(|agent| requests(&agent["latency"])).collect();
    assert_eq!(each.iter().sum::<u64>(), requests(&json["latency"]["response"]), "{each:?}");
    assert_eq!((each[1], json["agents"][1]["unfinished"].as_u64()), (6 * 250 + 3, Some(3)));
    let lines = crate::html::lines(&run.written("html", Lang::En));
    let block = lines.iter().find(|line| line["g"] == 6).unwrap();
    assert_eq!(block["r"][1], serde_json::json!([1, 0, 0, 0, 0]), "its curve has the bound of what it left open");
}

#[test]
fn rows_of_agents_add_up_to_the_whole_in_every_format() {
    let run = with_a_lost_agent();
    let rate = |cells: Vec<&str>| cells.into_iter().nth(3).map(|rate| rate.trim().parse::<u64>().unwrap());
    let names = NAMES[..4].iter().map(|(name, _)| *name);
    for (format, prefix) in [("text", "  "), ("markdown", "| ")] {
        let page = run.written(format, Lang::En);
        let row = |name| page.lines().find(|line| line.starts_with(&format!("{prefix}{name} "))).unwrap().to_owned();
        let rows = names.clone().map(row);
        let sum: u64 = match format {
            "markdown" => rows.filter_map(|row| rate(row.trim_matches('|').split('|').collect())).sum(),
            // Two labels are two words.
            _ => rows
                .filter_map(|row| {
                    rate(row.replace("asia slow", "asia").replace(" %", "%").split_whitespace().collect())
                })
                .sum(),
        };
        assert_eq!(sum, 900, "{page}");
        assert!(page.contains("900/s"), "{page}");
    }
    let lines = crate::html::lines(&run.written("html", Lang::En));
    let blocks = lines.iter().filter_map(|line| line["g"].as_i64().and(line["r"].as_array()));
    let succeeded: u64 = blocks.flatten().filter_map(|row| row[1].as_u64()).sum();
    assert_eq!(succeeded, run.summary().totals.finished);
}

#[test]
fn the_cpu_time_of_agents_is_told_over_one_time_and_adds_up() {
    let json = with_a_lost_agent().json();
    let cores: Vec<f64> =
        json["agents"].as_array().unwrap().iter().map(|agent| agent["cores"].as_f64().unwrap()).collect();
    assert!(cores.iter().zip([0.9, 0.54, 0.9, 0.9]).all(|(cores, known)| (cores - known).abs() < 1e-9), "{cores:?}");
    let busiest = |agent: usize| json["agents"][agent]["busiest_share"].as_f64().unwrap();
    assert_eq!([0, 1].map(busiest), [0.5; 2], "how full a worker was while there was one");
}

#[test]
fn agents_beside_the_service_are_compared_with_it_over_one_time() {
    let mut run = with_a_lost_agent();
    run.agents.iter_mut().take(2).for_each(|agent| agent.host.name = "beside".into());
    for (agent, last) in [(1, 6), (0, 10)] {
        for n in 0..=last {
            let busy = n as u64 * 2_000_000_000;
            let mut values = vec![("cpu.count", 4), ("service.all.cpu", busy / 2)];
            let idle = ["system", "irq", "softirq", "steal", "iowait"].map(|part| (part, 0));
            let all = [("user", busy), ("idle", busy)].into_iter().chain(idle);
            let named: Vec<(String, u64)> = all.map(|(part, ns)| (format!("cpu.all.{part}"), ns)).collect();
            values.extend(named.iter().map(|(name, ns)| (&**name, *ns)));
            run.events.insert(4 + n as usize, of(agent, sample(n * S, "beside", &values)));
        }
    }
    let shared = &run.json()["diagnosis"]["shared"];
    assert!((shared["generator_cores"].as_f64().unwrap() - 1.44).abs() < 1e-9, "{shared}");
}

#[test]
fn figures_by_label_are_merged_from_histograms() {
    // The slow agent has a tenth of the requests of its label: the mean of both p99 would be far off.
    let run = fleet(&NAMES[..4], 10, |agent, n| match agent {
        2 => second(n).answered(10, ms(400)),
        3 => second(n).answered(990, ms(4)),
        _ => second(n).answered(500, ms(2)),
    });
    let json = run.json();
    let labels: Vec<&str> =
        json["labels"].as_array().unwrap().iter().map(|row| row["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["asia", "eu", "slow"]);
    let asia = &json["labels"][0];
    assert_eq!(asia["agents"], serde_json::json!(["asia-1", "asia-2"]));
    assert_eq!((asia["succeeded"].as_u64(), asia["share"].as_f64()), (Some(10_000), Some(0.5)));
    let us = |name: &str| asia["latency"][name].as_f64().unwrap();
    assert!((us("p95_us") - 4_000.0).abs() < 20.0 && (us("p99_9_us") - 400_000.0).abs() < 2_000.0, "{asia}");
    assert_eq!(json["agents"][2]["labels"], serde_json::json!(["asia", "slow"]));
    let spread = json["start"]["spread_us"].as_f64().unwrap();
    assert!((spread - 900.0).abs() < 1.0 && json["start"]["within_us"] == 100.0, "{}", json["start"]);
    assert!((json["agents"][1]["started_after_us"].as_f64().unwrap() - 300.0).abs() < 1.0);
}

#[test]
fn the_error_of_the_start_is_that_of_the_clocks_that_told_it() {
    let told = |within_ns: [u64; 3]| {
        let mut run = fleet(&NAMES[..3], 3, |_, n| healthy(3, n));
        for (event, within) in run.events.iter_mut().zip(within_ns) {
            let RunEvent::OfAgent(of) = event else { panic!("the start of an agent") };
            *of = of.clone().within(within);
        }
        run
    };
    // The one in the middle may have been the first or the last.
    let json = told([200_000, 3_000_000, 500_000]).json();
    assert_eq!(json["start"], serde_json::json!({ "spread_us": 600.0, "within_us": 3500.0, "is_known": true }));
    assert_eq!(json["agents"][1]["clock_within_us"], 3000.0);
    let run = told([7_000_000, 8_000_000, 500_000]);
    assert_eq!(run.json()["start"]["is_known"], false);
    let [en, zh] = [Lang::En, Lang::Zh].map(|lang| run.written("text", lang));
    assert!(en.contains("started at most 15.6 ms apart: their clocks could only be compared to ± 15.0 ms"), "{en}");
    assert!(
        zh.contains("启动时刻最多相差 15.6 ms：各机时钟只能比较到 ± 15.0 ms") && !en.contains("started within"),
        "{zh}"
    );
}

#[test]
fn agents_whose_clocks_were_not_compared_again_are_not_said_to_have_started_together() {
    let mut run = fleet(&NAMES[..2], 3, |_, n| healthy(2, n));
    for event in &mut run.events {
        if let RunEvent::OfAgent(AgentEvent { event, .. }) = event
            && let RunEvent::Began(began) = &mut **event
        {
            began.clock_ns = 1;
        }
    }
    assert!(!run.written("text", Lang::En).contains("started within"));
}

#[test]
fn of_many_agents_the_worst_are_shown_and_the_others_counted() {
    let names: Vec<String> = (0..50).map(|n| format!("a{n}")).collect();
    let agents: Vec<(&str, &[&str])> = names.iter().map(|name| (&**name, &[][..])).collect();
    let run = fleet(&agents, 3, |agent, n| match agent {
        33 => healthy(50, n).failing(2, "no_ports", "connect", None),
        44 => second(n).answered(20, ms(700)),
        _ => healthy(50, n),
    });
    let text = run.written("text", Lang::En);
    let table: Vec<&str> =
        text.lines().skip_while(|line| *line != "Agents").take_while(|line| !line.is_empty()).collect();
    assert_eq!(table.len(), 1 + 1 + 10 + 2, "{table:#?}");
    assert!(table[2].contains("a33") && table[2].contains("not trusted"), "{table:#?}");
    assert!(table[3].contains("a44") && table[3].contains("700 ms"), "{table:#?}");
    assert!(table[12].contains("and 40 more agents"), "{table:#?}");
}

/// Creates a sample of counters of a machine.
fn sample(at_ns: i64, host: &str, values: &[(&str, u64)]) -> RunEvent {
    let values = values.iter().map(|(name, n)| ((*name).to_owned(), CounterValue::Whole(*n))).collect();
    let labels = [("setting.clocksource".to_owned(), "hpet".to_owned())].into();
    RunEvent::Counters(HostCounters { at_ns, host: host.into(), values, labels, ..HostCounters::default() })
}

#[test]
fn the_coordinators_counters_are_not_those_of_a_generator() {
    let with_counters = |of_agent: bool| {
        let mut run = fleet(&NAMES[..2], 10, |_, n| healthy(2, n));
        for n in 0..=10 {
            let event = sample(n * S, "h", &[("cpu.count", 2)]);
            run.events.insert(2 + n as usize, if of_agent { of(1, event) } else { event });
        }
        run.summary()
    };
    assert!(findings(&with_counters(false)).iter().all(|(code, _)| *code != "clock_slow"));
    let summary = with_counters(true);
    let said = found(&summary, "clock_slow").sentence(Lang::En);
    assert!(said.starts_with("agent eu-2: this machine's clock source is hpet"), "{said}");
    assert_eq!(summary.limits.coverage, brunt_diagnose::CounterCoverage::Generator);
}

#[test]
fn a_service_beside_an_agent_is_observed_through_its_counters() {
    let mut run = fleet(&NAMES[..2], 10, |_, n| healthy(2, n));
    for n in 0..=10 {
        let busy = n as u64 * 400_000_000;
        let values = [("cpu.count", 2), ("cpu.all.user", busy), ("service.all.cpu", busy / 2)];
        run.events.insert(2 + n as usize, of(1, sample(n * S, "host-eu-2", &values)));
    }
    assert_eq!(run.summary().limits.coverage, brunt_diagnose::CounterCoverage::Service);
}

#[test]
fn names_from_elsewhere_control_no_terminal() {
    let run = fleet(&[("a\u{1b}[2J", &["<b>\u{7}"]), ("b", &[])], 3, |agent, n| {
        let mut s = healthy(2, n);
        s.generator.busiest_cpu_ns = if agent == 0 { 990_000_000 } else { 0 };
        s
    });
    for format in ["text", "markdown", "junit", "csv"] {
        for lang in [Lang::En, Lang::Zh] {
            let text = run.written(format, lang);
            assert!(!text.contains(['\u{1b}', '\u{7}']), "{format}: {text}");
        }
    }
    let markdown = run.written("markdown", Lang::En);
    assert!(!markdown.replace("\\<", "").contains("<b"), "{markdown}");
}

#[test]
fn rows_of_agents_in_a_table_of_seconds_add_up_to_the_whole() {
    let run = fleet(&NAMES[..4], 3, |agent, n| second(n).answered(100 + agent as u64, ms(2)));
    let csv = run.written("csv", Lang::En);
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let (mut whole, mut agents) = (0, 0);
    for row in lines.map(|line| line.split(',').collect::<Vec<_>>()) {
        let n: u64 = row[at("succeeded")].parse().unwrap();
        *(if row[at("kind")] == "agent" { &mut agents } else { &mut whole }) += n;
    }
    assert_eq!((whole, agents), (3 * 406, 3 * 406));
    assert_eq!(csv.matches(",asia-1,agent,").count(), 3, "{csv}");
}

#[test]
fn failures_of_the_load_are_told_once_and_not_by_each_agent() {
    let run = fleet(&NAMES[..4], 10, |_, n| healthy(4, n).failing(20, "wrong_status", "transfer", None));
    let summary = run.summary();
    assert_eq!(findings(&summary).iter().filter(|(code, _)| *code == "failures").count(), 1);
    assert!(summary.agents.iter().all(|agent| agent.trust.verdict() <= Grade::Ok));
    let all = Failure { kind: "wrong_status".into(), phase: "transfer".into(), errno: None, count: 800 };
    assert_eq!(summary.totals.failures, [all]);
}

#[test]
fn a_page_draws_each_agent_and_of_very_many_their_labels() {
    let run = fleet(&NAMES[..4], 10, |agent, n| second(n).answered(300 + agent as u64, ms(2 + agent as u64)));
    let all = crate::html::lines(&run.written("html", Lang::En));
    assert_eq!(all[0]["curves"]["names"], serde_json::json!(["eu-1", "eu-2", "asia-1", "asia-2"]));
    let blocks: Vec<&serde_json::Value> = all.iter().filter(|line| line["g"].is_i64()).collect();
    let starts: Vec<i64> = blocks.iter().filter_map(|block| block["g"].as_i64()).collect();
    assert_eq!(starts, (0..10).collect::<Vec<_>>());
    for block in &blocks {
        for (curve, row) in block["r"].as_array().unwrap().iter().enumerate() {
            assert_eq!(serde_json::json!([row[0], row[1], row[2]]), serde_json::json!([curve, 300 + curve, 0]));
            let p99 = row[4].as_f64().unwrap() / 1e6;
            assert!((p99 - (2 + curve) as f64).abs() < 0.05, "{row}");
        }
    }
    let names: Vec<String> = (0..12).map(|n| format!("a{n}")).collect();
    let labelled = |n: usize| if n.is_multiple_of(2) { &["even"][..] } else { &["odd", "third"][..] };
    let agents: Vec<(&str, &[&str])> = names.iter().enumerate().map(|(n, name)| (&**name, labelled(n))).collect();
    let run = fleet(&agents, 3, |_, n| second(n).answered(10, ms(2)));
    let all = crate::html::lines(&run.written("html", Lang::En));
    assert_eq!(all[0]["curves"]["names"], serde_json::json!(["even", "odd", "third"]));
    let block = all.iter().find(|line| line["g"] == 1).unwrap();
    let succeeded: Vec<u64> = block["r"].as_array().unwrap().iter().filter_map(|row| row[1].as_u64()).collect();
    assert_eq!(succeeded, [60, 60, 60]);
}

#[test]
fn what_is_missing_is_told_by_stretches() {
    let json = with_a_lost_agent().json();
    assert_eq!(json["missing"], serde_json::json!([{ "from_s": 6.0, "to_s": 10.0, "share": 0.25 }]));
    assert_eq!(
        (json["seconds"][5]["missing_share"].as_f64(), json["seconds"][8]["missing_share"].as_f64()),
        (None, Some(0.25))
    );
    assert!(fleet(&NAMES[..2], 3, |_, n| healthy(2, n)).json().get("missing").is_none());
}
