use brunt_i18n::text::text;
use brunt_i18n::{Lang, LocalizedSentence};

use super::*;
use crate::DEFAULT_PORTS;

/// Thirty million page views a day, 69 requests per second a machine: the example of many a blog.
fn launch() -> CapacityQuestion {
    CapacityQuestion {
        demand: Demand::Views {
            per_day: 3e7,
            share: PlannedFigure::new(None, 0.8),
            peak_s: PlannedFigure::new(None, 0.2 * DAY_S),
            requests: PlannedFigure::new(None, 1.0),
        },
        growth: PlannedFigure::new(None, 1.0),
        utilisation: PlannedFigure::new(None, 0.7),
        spare: 0,
        per_machine: Some(MachineCapacity { per_s: 69.0, source: CapacitySource::Typed }),
        latency_s: None,
        connections: None,
        connection_bytes: None,
        ports: DEFAULT_PORTS,
    }
}

fn measured(objectives: &[&str], doubts: &[LocalizedSentence]) -> Option<MachineCapacity> {
    let objectives = objectives.iter().map(|text| (*text).to_owned()).collect();
    let source = CapacitySource::Record { path: "one.zst".into(), objectives, doubts: doubts.to_vec() };
    Some(MachineCapacity { per_s: 69.0, source })
}

#[test]
fn the_vectors_of_the_reference() {
    let answer = launch().answer();
    assert_eq!(format!("{:.2}", answer.peak_per_s), "1388.89");
    assert_eq!(answer.machines, Some(29));
    let full = CapacityQuestion { utilisation: PlannedFigure::new(Some(1.0), 0.7), ..launch() };
    assert_eq!(full.answer().machines, Some(21), "rounding down to 20 would leave too few");
    assert_eq!(format!("{:.1}", answer.short_connections_per_s), "470.5");
    assert_eq!(answer.pairs_for_short, 3, "1,388.89 ÷ 470.53 = 2.95");
    let wide = CapacityQuestion { ports: 63_977, ..launch() };
    assert_eq!(format!("{:.0}", wide.answer().short_connections_per_s), "1066");
}

#[test]
fn a_million_connections_need_memory_and_addresses() {
    let held = CapacityQuestion { connections: Some(1_000_000), connection_bytes: Some(25_800.0), ..launch() }.answer();
    assert_eq!(held.memory_bytes.map(|bytes| bytes / 1e9), Some(25.8));
    assert_eq!(held.pairs_for_held, Some(36), "1,000,000 ÷ 28,232 = 35.4");
}

#[test]
fn requests_in_flight_follow_little() {
    let answer = CapacityQuestion { latency_s: Some(0.05), ..launch() }.answer();
    assert_eq!(answer.in_flight.map(|n| format!("{n:.2}")), Some("69.44".into()));
    assert_eq!(answer.connections, Some(70));
}

#[test]
fn growth_and_spare_machines_are_added_in_this_order() {
    let question = CapacityQuestion { growth: PlannedFigure::new(Some(1.5), 1.0), spare: 2, ..launch() };
    let answer = question.answer();
    assert_eq!((answer.working_machines, answer.machines), (Some(44), Some(46)), "2,083.33 ÷ 48.3 = 43.13");
}

#[test]
fn a_whole_number_of_machines_is_not_rounded_up_by_floating_point() {
    for machines in 1..2000_u64 {
        let demand = Demand::Peak(machines as f64 * 0.1 * 0.7);
        let source = CapacitySource::Typed;
        let question =
            CapacityQuestion { demand, per_machine: Some(MachineCapacity { per_s: 0.1, source }), ..launch() };
        assert_eq!(question.answer().machines, Some(machines));
    }
}

#[test]
fn the_text_shows_every_formula_with_its_numbers() {
    let question = CapacityQuestion { latency_s: Some(0.05), connection_bytes: Some(27_000.0), ..launch() };
    let lines = [
        "29 machines for 1,388.89/s\n",
        "  peak: 30,000,000 views × 1 request each × 80 % ÷ 17,280 s = 1,388.89/s\n",
        "  machines: 1,388.89/s ÷ (69/s × 0.7) = 28.76, rounded up to 29\n",
        "  in flight: 1,388.89/s × 50 ms = 69.44 requests at a time (Little's law), 2.39 on each machine\n",
        "  memory: 70 connections × 27.0 kB = 1.89 MB\n",
        "  ports: a connection for each request: 28,232 ports ÷ 60 s = 470.53/s from one source address to one \
            destination; 1,388.89/s need 3 such pairs; 70 open connections need 1 pair\n",
        "  weakest: 69/s a machine was typed in: ",
    ];
    let text = question.text(Lang::En);
    assert!(text.starts_with(&lines.concat()), "{text}");
    let zh = question.text(Lang::Zh);
    assert!(zh.starts_with("1,388.89/s 需要 29 台机器\n  峰值：30,000,000 次访问"), "{zh}");
}

#[test]
fn the_weakest_number_is_the_least_supported_one() {
    let option = |question: &CapacityQuestion| question.weakest().option;
    assert_eq!(option(&CapacityQuestion { per_machine: None, ..launch() }), "--per-machine");
    assert_eq!(option(&launch()), "--per-machine");
    let good = CapacityQuestion { per_machine: measured(&["p99<50ms"], &[]), ..launch() };
    assert_eq!(option(&good), "--share");
    let peak = CapacityQuestion { demand: Demand::Peak(1000.0), ..good.clone() };
    assert_eq!(option(&peak), "--growth");
    let grown = CapacityQuestion { growth: PlannedFigure::new(Some(2.0), 1.0), ..peak };
    assert_eq!(option(&grown), "--spare");
    assert_eq!(option(&CapacityQuestion { spare: 1, ..grown }), "--growth");
    let bare = CapacityQuestion { per_machine: measured(&[], &[]), ..launch() };
    assert!(bare.weakest().why.render(Lang::En).contains("without an objective"));
}

#[test]
fn a_doubted_record_is_said_to_be_one() {
    let doubts = [text("it is not trusted", "它不可信"), text("p99<50ms was missed", "未通过 p99<50ms")];
    let question =
        CapacityQuestion { per_machine: measured(&["p99<50ms"], &doubts.map(LocalizedSentence::from)), ..launch() };
    assert_eq!(question.doubted_record(), Some("one.zst"));
    let text = question.text(Lang::En);
    assert!(text.starts_with("29 machines for 1,388.89/s, if one.zst were right\n"), "{text}");
    let why = "the throughput of one.zst is no capacity: it is not trusted; p99<50ms was missed; repeat that run";
    assert_eq!(question.weakest().why.render(Lang::En), why);
    assert_eq!(question.document(Lang::En).inputs.doubts.len(), 2);
}

#[test]
fn the_document_has_all_numbers() {
    let document = serde_json::to_value(launch().document(Lang::En)).unwrap();
    assert_eq!(document["schema"], "brunt-capacity/1");
    assert_eq!((document["machines"].as_u64(), document["inputs"]["share"].as_f64()), (Some(29), Some(0.8)));
    assert_eq!(
        (&document["in_flight"], &document["weakest"]["option"]),
        (&serde_json::Value::Null, &"--per-machine".into())
    );
}
