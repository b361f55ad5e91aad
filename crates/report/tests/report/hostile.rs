//! Records that no run would write: figures at the limits of their types, arbitrary times, any number of names.

use std::collections::BTreeMap;

use brunt_measure::{HistogramRows, Nanos, PackedHistogram};
use brunt_record::{
    ConnectionLoss, Failure, FailureExample, FirstResponse, LoadChange, NamedCounts, NamedFigures, Notice, ReadFault,
    RecordReader, ReplaySource, RunEnd, RunEvent, RunPart, Second,
};
use brunt_report::{FORMATS, Lang, RecordedSeconds, Style, Summary};
use proptest::prelude::*;

use crate::run_builder;

/// A record in memory, as lines.
struct HostileRecord(Vec<u8>);

impl ReplaySource for HostileRecord {
    fn replay(&self) -> Result<RecordReader<'_>, ReadFault> {
        RecordReader::from_source(&*self.0)
    }
}

fn lines(events: &[RunEvent]) -> HostileRecord {
    HostileRecord(
        events
            .iter()
            .flat_map(|event| (serde_json::to_string(event).expect("plain data") + "\n").into_bytes())
            .collect(),
    )
}

/// Returns every format in every language, as text.
fn documents(record: &HostileRecord) -> Result<Vec<String>, ReadFault> {
    let summary = Summary::from_past(record)?;
    let styles = [Lang::En, Lang::Zh].map(|lang| Style { lang, cells: Some(80), ..Style::default() });
    let documents = FORMATS.iter().flat_map(|format| {
        styles.map(|style| {
            let mut out = Vec::new();
            format.write(&summary, &RecordedSeconds(Some(record)), style, &mut out).expect("memory takes everything");
            String::from_utf8(out).expect("documents are text")
        })
    });
    Ok(documents.collect())
}

fn count() -> impl Strategy<Value = u64> {
    let ends = [1 << 53, (1 << 54) + 1, 1 << 61, 1 << 63, u64::MAX - 1, u64::MAX];
    prop_oneof![300 => 0..1000_u64, 100 => 0..(1_u64 << 52), 1 => prop::sample::select(ends.to_vec())]
}

fn moment() -> impl Strategy<Value = i64> {
    let ends = [i64::MIN, i64::MIN + 1, -(1 << 61), -1, 0, 1, 1 << 61, i64::MAX - 1, i64::MAX];
    prop_oneof![any::<i64>(), prop::sample::select(ends.to_vec())]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![8 => ".{0,8}", 1 => Just("é\u{1b}[2J".repeat(3000)), 1 => Just("timeout".into())]
}

/// Generates the times of a second: mostly after the previous one.
fn span(n: usize) -> impl Strategy<Value = (i64, i64)> {
    let begins = n as i64 * 1_000_000_000;
    prop_oneof![20 => Just((begins, begins + 1_000_000_000)), 2 => Just((begins, begins)), 1 => (moment(), moment())]
}

fn named(name: u16, counts: [u64; 4], packed: PackedHistogram) -> NamedFigures {
    let [due, finished, failed, payload] = counts;
    let counts = NamedCounts { due, finished, failed, payload, ..NamedCounts::default() };
    NamedFigures {
        name,
        counts,
        status: BTreeMap::from([("200".into(), finished)]),
        at_least: packed.clone(),
        latency: packed,
        ..NamedFigures::default()
    }
}

fn packed(value: u64, n: u64) -> PackedHistogram {
    let (mut rows, mut bytes) = (HistogramRows::new(1), Vec::new());
    rows.record_n(0, Nanos(value), u32::try_from(n).unwrap_or(u32::MAX));
    rows.pack(0, &mut bytes);
    PackedHistogram::from_bytes(&bytes).expect("as it was packed")
}

fn second(n: usize) -> impl Strategy<Value = RunEvent> {
    let part = prop::sample::select(vec![RunPart::Warmup, RunPart::Window, RunPart::Window, RunPart::Drain]);
    let moments = prop::option::of(prop_oneof![100 => 0..2_000_000_000_i64, 1 => moment()]);
    let fields = (span(n), part, prop::collection::vec(count(), 24), [moments.clone(), moments.clone(), moments]);
    (fields, text(), any::<[u32; 4]>(), any::<[bool; 4]>(), any::<u16>()).prop_map(
        |(((from_ns, to_ns), part, c, [first, last, busy]), word, [users, in_flight, waiting, open], has, name)| {
            let mut s = Second { from_ns, to_ns, part, users, in_flight, waiting, ..Second::default() };
            [s.due, s.sent, s.finished, s.failed, s.censored, s.warmup] = [c[0], c[1], c[2], c[3], c[4], c[5]];
            [s.finished_of_warmup, s.limited, s.late, s.strays, s.resent] = [c[6], c[7], c[8], c[9], c[10]];
            [s.cpu_ns, s.unanswered_ns, s.kept_out_ns, s.one_way] = [c[11], c[12], c[13], c[14]];
            [s.bytes.sent, s.bytes.received, s.connections.opened, s.connections.lost] = [c[15], c[16], c[17], c[18]];
            [s.heartbeats.sent, s.heartbeats.missed, s.generator.periods] = [c[19], c[20], c[21]];
            [s.generator.busiest_cpu_ns, s.connections.ahead_ns] = [c[22], c[23]];
            s.connections.open = open;
            (s.in_flight_ns, s.service_ns) = (u128::from(c[1]) << 40, -i128::from(c[2]) << 60);
            [s.first_success_ns, s.last_success_ns, s.busy_since_ns] = [first, last, busy];
            [s.first_failure_ns, s.last_failure_ns] = [last, first];
            if has[0] {
                s.status = BTreeMap::from([(word.clone(), c[2]), ("503".into(), c[3])]);
                s.failures = vec![Failure { kind: word.clone(), phase: "wait".into(), errno: None, count: c[3] }];
                s.failures.push(Failure { kind: "timeout".into(), ..s.failures[0].clone() });
                s.losses = vec![ConnectionLoss {
                    kind: "reset".into(),
                    detail: word,
                    count: c[18],
                    ..ConnectionLoss::default()
                }];
                s.unopened = s.losses.clone();
            }
            if has[1] {
                let histograms = s.latency.all_mut().zip(&c).zip(c.iter().rev());
                histograms.for_each(|((histogram, value), n)| histogram.record_n(Nanos(*value), *n));
            }
            if has[2] {
                s.named = vec![named(name, [c[0], c[2], c[3], c[15]], packed(c[4], c[2]))];
                s.named.push(named(0, [c[1], c[2], c[3], c[4]], packed(c[0], c[5])));
            }
            RunEvent::Second(Box::new(s))
        },
    )
}

fn beside() -> impl Strategy<Value = RunEvent> {
    let at = prop_oneof![20 => 0..i64::MAX >> 3, 1 => moment()];
    let change = prop_oneof![
        any::<f64>().prop_filter("JSON has no other", |rate| rate.is_finite()).prop_map(brunt_plan::Change::Rate),
        any::<u32>().prop_map(brunt_plan::Change::Users),
        Just(brunt_plan::Change::Pause),
    ];
    prop_oneof![
        (at.clone(), change).prop_map(|(at_ns, change)| RunEvent::Changed(LoadChange { at_ns, change })),
        (at.clone(), text()).prop_map(|(at, kind)| RunEvent::Example(FailureExample {
            kind,
            at_ns: Some(at),
            ..FailureExample::default()
        })),
        (at, text(), text()).prop_map(|(at, code, fact)| {
            let causes = BTreeMap::from([("why".into(), brunt_cause::verbatim(&*fact))]);
            let facts = BTreeMap::from([("kind".into(), fact.clone()), ("why".into(), fact)]);
            RunEvent::Notice(Notice { code, facts, causes, at_ns: Some(at) })
        }),
        (text(), count(), count()).prop_map(|(url, payload, took)| {
            RunEvent::FirstResponse(FirstResponse { url, payload, took: Nanos(took), ..FirstResponse::default() })
        }),
        (count(), count()).prop_map(|(window, elapsed)| {
            RunEvent::Ended(RunEnd { window: Nanos(window), elapsed: Nanos(elapsed), ..RunEnd::default() })
        }),
    ]
}

fn started() -> impl Strategy<Value = RunEvent> {
    (any::<bool>(), prop::collection::vec(count(), 5), prop::collection::vec(text(), 0..4)).prop_map(
        |(open, c, names)| {
            let run = if open { run_builder::open(c[0] as f64, 3) } else { run_builder::closed(c[0] as u32, 3) };
            let run = run.objectives(&["p99<50ms", "failed<1%", "rate>10/s"]);
            let RunEvent::Started(mut started) = run.events().swap_remove(0) else {
                panic!("a run begins with its head")
            };
            (started.unix_ms, started.workers, started.names) = (c[1], c[2] as u32, names);
            started.hosts.iter_mut().for_each(|host| (host.memory, host.descriptors) = (c[3], c[4]));
            let [warmup, lasts] = [Nanos(c[3]), Nanos(c[4])];
            (started.plan.warmup, started.plan.duration, started.plan.requests) = (warmup, Some(lasts), Some(c[0]));
            RunEvent::Started(started)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_record_makes_a_report_panic(
        head in started(),
        seconds in (second(0), second(1), second(2), second(3)),
        besides in prop::collection::vec(beside(), 0..6),
    ) {
        let (a, b, c, d) = seconds;
        let record = lines(&[vec![head, a, b], besides, vec![c, d]].concat());
        if let Err(fault) = documents(&record) {
            prop_assert!(fault.line > 1 && !fault.sentence.contains('\n'), "{}", fault);
        }
    }
}

#[test]
fn figures_at_the_bound_are_shown_as_they_are() {
    let mut run = run_builder::closed(1, 1);
    let most = 1 << 52;
    let mut second = Second { to_ns: 1_000_000_000, due: most, finished: most, ..Second::default() };
    second.latency.service.record_n(Nanos(u64::MAX), most);
    run = run.second(second);
    let record = lines(&run.events());
    let documents = documents(&record).expect("a record");
    assert!(documents[0].contains("4,503,599,627,370,496"), "{}", documents[0]);
}
