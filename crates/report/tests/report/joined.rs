//! Machines under test that reported their counters, in every document.

use brunt_record::{CounterValue, HostCounters, ProbedHost, RunEvent, RunPart};
use brunt_report::{Lang, Summary};

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, second};

const S: i64 = 1_000_000_000;

fn joined(at_ns: i64, ahead: i64, within: u64) -> RunEvent {
    RunEvent::Joined(ProbedHost {
        host: "db1".into(),
        probe: "10.0.0.7:7070".into(),
        kernel: "Linux 6.18.0".into(),
        cores: 8.0,
        holds_target: true,
        at_ns: Some(at_ns),
        clock_ahead_ns: ahead,
        clock_within_ns: within,
        ..ProbedHost::default()
    })
}

fn sample(at_ns: i64, host: &str, overflows: u64) -> RunEvent {
    let values =
        [("TcpExt.ListenOverflows", overflows), ("listener.0.0.0.0:80.limit", 5), ("listener.0.0.0.0:80.queue", 5)];
    let values = values.map(|(name, n)| (name.to_owned(), CounterValue::Whole(n))).into();
    RunEvent::Counters(HostCounters { at_ns, host: host.into(), values, ..HostCounters::default() })
}

/// Creates four seconds in which an accept queue on the machine under test overflowed; `last` is the last event.
fn run(last: RunEvent) -> RunBuilder {
    let mut run = closed(10, 4);
    run.events.extend([joined(-S, 7_000_000_000, 40_000), sample(0, "db1", 7)]);
    for n in 0..4 {
        run = run.second(second(n).answered(40, ms(250)));
    }
    run.events.push(sample(3 * S, "db1", 9));
    run.events.push(last);
    run = run.second(second(4).within(RunPart::Drain));
    run.events.push(joined(4 * S, 7_000_100_000, 50_000));
    run
}

#[test]
fn who_told_and_how_well_the_clocks_agree_is_in_every_document() {
    let run = run(sample(4 * S, "db1", 10));
    let probe = &run.json()["probes"][0];
    assert_eq!(
        (&probe["host"], &probe["probe"], &probe["holds_target"]),
        (&"db1".into(), &"10.0.0.7:7070".into(), &true.into())
    );
    let clocks = ["clock_ahead_s", "clock_within_s", "clock_ahead_at_end_s", "clock_within_at_end_s"];
    assert_eq!(clocks.map(|name| probe[name].as_f64().unwrap()), [7.0, 0.00004, 7.0001, 0.00005]);
    let (en, zh) = (
        "Counters of db1 (Linux 6.18.0, cores: 8) from its probe at 10.0.0.7:7070; clocks aligned within 50.0 µs",
        "db1（Linux 6.18.0，核数 8）的计数器来自探针 10.0.0.7:7070；时钟比对误差不超过 50.0 µs",
    );
    for (format, lang, said) in
        [("text", Lang::En, en), ("text", Lang::Zh, zh), ("markdown", Lang::En, en), ("markdown", Lang::Zh, zh)]
    {
        let written = run.written(format, lang);
        assert!(written.contains(said), "{said} in {written}");
    }
    assert!(closed(10, 4).json()["probes"].is_null());
}

#[test]
fn the_machine_that_was_joined_is_judged_by_its_counters_unless_they_ended() {
    let found = |run: RunBuilder| -> Vec<(String, Option<String>)> {
        let limits = Summary::from_events(run.events()).limits;
        limits.findings.iter().map(|found| (found.rule.to_owned(), found.host.clone())).collect()
    };
    assert_eq!(found(run(sample(4 * S, "db1", 10))), [("N2".to_owned(), Some("db1".to_owned()))]);
    let names = ["TcpExt.ListenOverflows", "listener.0.0.0.0:80.limit", "listener.0.0.0.0:80.queue"];
    let gone = names.map(str::to_owned).to_vec();
    let lost = HostCounters { at_ns: 3 * S + 1, host: "db1".into(), gone, ..HostCounters::default() };
    assert_eq!(found(run(RunEvent::Counters(lost))), []);
}
