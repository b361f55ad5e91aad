//! The limits of a run, from the counters of its record.

use std::collections::BTreeMap;

use brunt_measure::{Nanos, PackedHistogram};

use brunt_plan::flow::{Flow, OnFailure, Step};
use brunt_plan::{Arrivals, Load, Stage, WeightedUrl};
use brunt_record::{
    Calibration, ConnectionLoss, CounterValue, HostCounters, NamedCounts, NamedFigures, RunEvent, RunPart, Second,
};
use brunt_report::{Headroom, Lang, Summary};

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

const S: i64 = 1_000_000_000;

/// Creates a sample of these counters, as a machine reports them.
fn sample(at_ns: i64, host: &str, values: &[(&str, u64)]) -> RunEvent {
    let values: BTreeMap<_, _> = values.iter().map(|(name, n)| ((*name).to_owned(), CounterValue::Whole(*n))).collect();
    RunEvent::Counters(HostCounters { at_ns, host: host.into(), values, ..HostCounters::default() })
}

/// Creates a run of four seconds with ten users, and this many listen overflows before, within and after the window.
fn run(before: u64, within: u64, after: u64) -> RunBuilder {
    let mut run = closed(10, 4);
    let listener = [("listener.127.0.0.1:8080.limit", 5), ("listener.127.0.0.1:8080.queue", 0)];
    let cores = |at: u64| {
        let (busy, idle) = (at * 500_000_000, at * 1_500_000_000);
        [("cpu.count", 2), ("cpu.all.user", busy), ("cpu.all.idle", idle), ("service.all.cpu", busy / 2)]
    };
    let others = ["system", "irq", "softirq", "steal", "iowait"].map(|part| format!("cpu.all.{part}"));
    let others: Vec<(&str, u64)> = others.iter().map(|name| (name.as_str(), 0)).collect();
    let all = |at: u64, overflows: u64| {
        [&cores(at)[..], &others, &listener, &[("TcpExt.ListenOverflows", overflows)]].concat()
    };
    run.events.push(sample(-S, "here", &all(0, 7)));
    run.events.push(sample(0, "here", &all(1, 7 + before)));
    for n in 0..4 {
        run = run.second(second(n).answered(40, ms(250)));
        // Unchanged counters are not repeated.
        run.events.push(sample((n + 1) * S, "here", &cores(n as u64 + 2)));
        run.events.push(sample((n + 1) * S, "elsewhere", &[("TcpExt.ListenOverflows", 1000 * n as u64)]));
    }
    run.events.push(sample(3 * S + 1, "here", &[("listener.127.0.0.1:8080.queue", 6)]));
    run.events.push(sample(4 * S + 1, "here", &[("TcpExt.ListenOverflows", 7 + before + within)]));
    // This sample was taken in the drain, but recorded before the second that shows it.
    run.events.push(sample(5 * S - S / 20, "here", &[("TcpExt.ListenOverflows", 7 + before + within + after)]));
    run = run.second(second(4).within(RunPart::Drain));
    run.events.push(sample(9 * S, "here", &[("TcpExt.ListenOverflows", 7 + before + within + after)]));
    run
}

#[test]
fn only_what_was_counted_within_the_window_and_on_this_machine_is_judged() {
    let rules = |before, within, after| -> Vec<String> {
        let json = run(before, within, after).json();
        let all = json["diagnosis"]["findings"].as_array().unwrap().iter();
        all.map(|found| found["rule"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(rules(0, 3, 0), ["N2"]);
    assert_eq!(rules(9, 0, 0), [""; 0], "before the window");
    assert_eq!(rules(0, 0, 9), [""; 0], "long after it");
}

#[test]
fn only_a_database_turns_connections_away_by_these_words() {
    for (protocol, wanted) in [("mysql", 1), ("postgres", 1), ("websocket", 0)] {
        let mut run = closed(10, 4);
        run.plan.protocol = protocol.into();
        let mut told = second(0).answered(40, ms(250));
        told.unopened = vec![ConnectionLoss {
            kind: "closed".into(),
            detail: "too many connections".into(),
            count: 9,
            ..ConnectionLoss::default()
        }];
        let json = run.second(told).json();
        let found = json["diagnosis"]["findings"].as_array().unwrap().iter().filter(|found| found["rule"] == "D1");
        assert_eq!(found.count(), wanted, "{protocol}");
    }
}

#[test]
fn headroom_is_that_of_the_load_at_hand() {
    let headroom = |change: fn(&mut RunBuilder), cpu_ns: u64| {
        let mut run = closed(10, 4);
        change(&mut run);
        for n in 0..4 {
            let mut second = second(n).answered(40, ms(250));
            (second.sent, second.connections.opened, second.cpu_ns, second.spun_ns) = (40, 0, cpu_ns, 10_000_000);
            run = run.second(second);
        }
        let mut events = run.events();
        let Some(RunEvent::Started(started)) = events.first_mut() else { unreachable!() };
        started.hosts[0].calibration = Some(Calibration { cpu_us: 20.0, ..Calibration::default() });
        Summary::from_events(events).headroom()
    };
    let told = |most_per_s, is_at_least| Some(Headroom { most_per_s, times: most_per_s / 40.0, is_at_least });
    // Two workers on two cores; 40 requests per second took 20 ms of CPU time per second, apart from polling.
    assert_eq!(headroom(|_| (), 30_000_000), told(4_000.0, true), "dearer than the small requests of the calibration");
    assert_eq!(headroom(|_| (), 10_400_000), told(100_000.0, false), "no cheaper than they can be");
    assert_eq!(headroom(|_| (), 10_000_000), told(100_000.0, false), "too little to be seen");
    assert_eq!(headroom(|run| run.plan.protocol = "redis".into(), 30_000_000), None);
}

#[test]
fn the_limit_stands_in_every_document_for_people() {
    let limited = run(0, 3, 0);
    for (format, lang, said) in [
        ("text", Lang::En, "  the accept queue of 127.0.0.1:8080 overflowed"),
        ("text", Lang::En, "    evidence: TcpExt ListenOverflows +3; queue length up to 6 of 5"),
        ("text", Lang::En, "(proved, N2)"),
        ("text", Lang::En, "the service used 0.25 of its 2 cores, brunt 0.00, others 0.25"),
        ("text", Lang::Zh, "127.0.0.1:8080 的 accept 队列溢出"),
        ("markdown", Lang::En, "### What limited the run"),
        ("markdown", Lang::Zh, "### 瓶颈"),
    ] {
        let text = limited.written(format, lang);
        assert!(text.contains(said), "{format}: {said}\n{text}");
    }
    let json = limited.json();
    assert_eq!(json["diagnosis"]["outcome"], "limit");
    assert_eq!(json["diagnosis"]["observed"], "service");
    assert_eq!(json["diagnosis"]["shared"]["cores"], 2.0);
    let nobody = closed(10, 4).second(second(0).answered(40, ms(250)));
    assert!(!nobody.written("text", Lang::En).contains("What limited"), "nobody counted, and nothing was found");
}

/// Nine users with two steps, limited to 25 and 20 per second.
#[test]
fn a_step_of_which_every_turn_was_taken_is_the_limit_and_not_the_number_of_users() {
    let told = |of_u: u64| {
        let mut run = closed(9, 4);
        let step = |name: &str, rate: &str| WeightedUrl {
            name: Some(name.into()),
            options: [("at-most".to_owned(), vec![rate.to_owned()])].into(),
            ..WeightedUrl::plain("http://a/")
        };
        run.plan.urls = vec![step("t", "25/s"), step("u", "20/s")].into();
        let send = |url| Step::Request { url, on_failure: OnFailure::default() };
        run.plan.flow = Some(Flow { steps: vec![send(0), send(1)], ..Flow::default() });
        run.names = vec!["t".into(), "u".into()];
        let row = |name, n| NamedFigures {
            name,
            counts: NamedCounts { due: n, finished: n, ..NamedCounts::default() },
            latency: PackedHistogram::of(ms(5), n),
            ..NamedFigures::default()
        };
        let second = |n| Second { named: vec![row(0, 20), row(1, of_u)], ..second(n).answered(20 + of_u, ms(5)) };
        let run = (0..4).fold(run, |run, n| run.second(second(n)));
        (run.json()["diagnosis"]["outcome"].clone(), run.written("text", Lang::En))
    };
    let (outcome, text) = told(20);
    assert_eq!(outcome, "at_most");
    assert!(text.contains("step `u` used up its `at-most` of 20") && !text.contains("more users (-c)"), "{text}");
    assert_eq!(told(15).0, "not_reached", "users pause of themselves, and turns are left");
}

#[test]
fn a_disturbance_says_which_quantiles_it_may_have_changed() {
    let mut run = closed(10, 4);
    for n in 0..4 {
        // 900 responses of 2 ms, and 40 that brunt may have read 18 ms late, in gaps of 20 ms.
        let mut told = second(n).answered(900, ms(2)).answered(40, ms(20));
        told.latency.service_delayed.record_n(ms(20), 40);
        told.latency.service_undelayed.record_n(ms(2), 40);
        told.latency.loop_gap.record_n(ms(20), 20);
        told.away_ns = 400_000_000;
        run = run.second(told);
    }
    let json = run.json();
    let found = &json["diagnosis"]["findings"][0];
    assert_eq!(found["rule"], "C1", "{json}");
    let claim = found["claim"].as_str().unwrap();
    assert!(claim.contains("without that, p99 might have been 2.00 ms instead of 20.0 ms"), "{claim}");
    assert!(!claim.contains("p50") && claim.contains("up to 1,175/s instead of 940/s"), "{claim}");
    assert!(found["evidence"].as_str().unwrap().contains("1.60 s"), "{found}");
}

/// A ramp from 0/s to 800/s against a service that answers this many per second, the others waiting.
fn ramp(capacity: u64) -> RunBuilder {
    let mut run = open(800.0, 8);
    let stages = vec![Stage { lasts: Nanos::from_secs(8), from: 0.0, to: 800.0 }];
    run.plan.load = Load::Open { stages, arrivals: Arrivals::Poisson };
    let mut waiting = 0;
    for n in 0..8 {
        let due = 50 + 100 * n;
        let served = (waiting + due).min(capacity);
        waiting += due - served;
        let mut second = second(n as i64).answered(served, ms(3 + 1000 * waiting / capacity));
        (second.due, second.waiting) = (due, waiting as u32);
        run.events.push(sample((n as i64 + 1) * S, "here", &[("cpu.count", 2)]));
        run = run.second(second);
    }
    run
}

#[test]
fn a_ramp_says_where_throughput_stopped_rising() {
    let beyond = ramp(330);
    let json = beyond.json();
    let (knee, curve) = (&json["diagnosis"]["knee"], json["diagnosis"]["curve"].as_array().unwrap());
    assert_eq!((&knee["second"], &knee["throughput_per_s"]), (&4.into(), &330.0.into()));
    assert_eq!((curve.len(), &curve[1]["load"], &curve[7]["throughput_per_s"]), (8, &150.0.into(), &330.0.into()));
    let text = beyond.written("text", Lang::En);
    for said in [
        "throughput stopped rising at about 330/s in second 4, when 350/s were scheduled; from there on requests",
        "load → throughput (p50, p99): 50.0/s → 50.0/s (3.00 ms, –); 150/s → 150/s (3.00 ms, –); ",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(!text.contains("doubling"), "{text}");
    assert!(beyond.written("text", Lang::Zh).contains("第 4 秒、计划速率为 350/s 时，吞吐量不再上升"));
    let below = ramp(900);
    assert!(below.json()["diagnosis"].get("knee").is_none());
    assert!(below.written("text", Lang::En).contains("no bottleneck found"));
    let level = open(100.0, 4).second(second(0).answered(100, ms(3)));
    assert!(level.json()["diagnosis"].get("curve").is_none(), "one load is no curve");
}

/// A run of twelve seconds at 10/s without a success from 4.0 s to 8.1 s, and a watched database that replied each
/// second but for those in `silent`.
fn outage(silent: fn(i64) -> bool) -> RunBuilder {
    let mut run = open(10.0, 12);
    for n in 0..12 {
        let stopped = (4..8).contains(&n);
        let mut second = if stopped { second(n) } else { second(n).answered(10, ms(20)) };
        second.due = 10;
        second.first_success_ns = (!stopped).then_some(n * S + S / 10);
        second.last_success_ns = (!stopped).then_some((n + 1) * S - 1);
        second.busy_since_ns = Some(0);
        let RunEvent::Counters(mut told) =
            sample(n * S + S / 2, "mysql=127.0.0.1:3306", &[("mysql.Queries", n as u64)])
        else {
            unreachable!()
        };
        if silent(n) {
            (told.values, told.gone) = (BTreeMap::new(), vec!["mysql.Queries".into()]);
        }
        run.events.push(RunEvent::Counters(told));
        run = run.second(second);
    }
    run
}

/// All users take quick steps and then, together, one of two seconds.
#[test]
fn a_step_that_always_takes_long_is_no_outage() {
    let outages = |silent: std::ops::Range<i64>| {
        let mut run = closed(10, 20);
        run.names = ["quick", "slow"].map(String::from).to_vec();
        for n in 0..20 {
            let responds = n % 2 == 0 && !silent.contains(&n);
            let mut second = if responds { second(n).answered(90, ms(5)).answered(10, ms(2_000)) } else { second(n) };
            second.busy_since_ns = Some(0);
            if responds {
                (second.first_success_ns, second.last_success_ns) = (Some(n * S + S / 1000), Some(n * S + S / 50));
                let of = |name, ms, n| NamedFigures {
                    name,
                    latency: PackedHistogram::of(Nanos::from_millis(ms), n),
                    ..NamedFigures::default()
                };
                second.named = vec![of(0, 5, 90), of(1, 2_000, 10)];
            }
            run = run.second(second);
        }
        run.summary().outages.clone()
    };
    assert_eq!(outages(0..0), []);
    assert_eq!(outages(7..13), [(6 * S + S / 50, 14 * S + S / 1000)], "longer than the step takes");
}

#[test]
fn a_watched_service_that_was_silent_in_an_outage_is_its_culprit() {
    let found = |silent| {
        let json = outage(silent).json();
        let found = &json["diagnosis"]["findings"][0];
        [&found["rule"], &found["proof"], &found["stage"]].map(|word| word.as_str().unwrap().to_owned())
    };
    assert_eq!(found(|n| (4..8).contains(&n)), ["S11", "proved", "dependency"]);
    assert_eq!(found(|_| false), ["S11", "consistent", "service"], "it replied all the time");
    assert_eq!(found(|n| n == 5), ["S11", "consistent", "service"], "it replied during the outage");
    assert_eq!(found(|n| n > 3), ["S11", "consistent", "service"], "it never came back, though the service did");
}
