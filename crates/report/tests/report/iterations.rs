//! Iterations and groups of a flow: separate rows in every human-readable format and in JSON, and objectives that name
//! them.

use brunt_measure::{Nanos, PackedHistogram};
use brunt_plan::flow::{Flow, OnFailure, Pause, Step};
use brunt_record::{NamedCounts, NamedFigures};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

/// Adds ten iterations per second of one request and a pause, in a group: eight succeed, one fails, one is cut.
fn flowing(run: RunBuilder) -> RunBuilder {
    let row = |name, [finished, failed, censored]: [u64; 3], took: Nanos| NamedFigures {
        name,
        counts: NamedCounts { due: finished + failed + censored, finished, failed, censored, ..NamedCounts::default() },
        latency: PackedHistogram::of(took, finished),
        at_least: PackedHistogram::of(ms(900), censored),
        ..NamedFigures::default()
    };
    let told = |n| brunt_record::Second {
        named: vec![
            row(0, [9, 1, 0], ms(5)),
            row(1, [8, 1, 1], ms(40)),
            row(2, [8, 0, 0], ms(10)),
            row(3, [9, 1, 0], ms(30)),
            row(4, [9, 0, 0], ms(7)),
        ],
        ..second(n).answered(9, ms(5)).failing(1, "wrong_body", "transfer", None)
    };
    let mut run = run.second(told(0)).second(told(1));
    run.names = vec!["item".into()];
    let pause = Step::Pause(Pause::Uniform { from: ms(30), to: ms(30) });
    let steps = vec![Step::Request { url: 0, on_failure: OnFailure::default() }, pause];
    run.plan.flow = Some(Flow { steps: vec![Step::Group { name: "browse".into(), steps }], ..Flow::default() });
    run
}

#[test]
fn every_format_for_people_has_a_row_for_iterations_and_each_group() {
    for (format, heading) in [("text", "Iterations"), ("markdown", "### Iterations")] {
        let written = flowing(closed(3, 2)).written(format, Lang::En);
        assert!(written.contains(heading), "{format}: {written}");
        let words = |name: &str| {
            let line = written.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name}: {written}"));
            line.split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ")
        };
        assert!(written.lines().any(|line| line.contains("iteration") && line.contains("8.00")), "{written}");
        assert!(words("browse").contains("20 18 2 0 9.00"), "{}", words("browse"));
        assert!(words("browse").ends_with("7.00 ms –"), "{}", words("browse"));
    }
    assert!(flowing(closed(3, 2)).written("text", Lang::Zh).contains("迭代"));
    assert!(!closed(3, 2).second(second(0).answered(9, ms(5))).written("text", Lang::En).contains("Iterations"));
}

#[test]
fn json_has_them_with_their_durations() {
    let json = flowing(closed(3, 2)).json();
    let rows = json["iterations"].as_array().expect("rows");
    let of =
        |row: &serde_json::Value| ["started", "succeeded", "failed", "cut"].map(|key| row[key].as_u64().expect("n"));
    assert_eq!((&rows[0]["name"], of(&rows[0])), (&"iteration".into(), [20, 16, 2, 2]));
    assert_eq!((&rows[1]["name"], of(&rows[1]), rows.len()), (&"browse".into(), [20, 18, 2, 0], 2));
    assert_eq!(closed(1, 1).second(second(0).answered(1, ms(1))).json()["iterations"], serde_json::json!([]));
}

#[test]
fn a_rate_is_one_of_iterations_and_says_so() {
    let mut run = flowing(open(10.0, 2));
    run.plan.requests = Some(20);
    let text = run.written("text", Lang::En);
    assert!(text.contains("10.0/s of iterations (Poisson arrivals)") && text.contains("20 iterations"), "{text}");
    assert!(!text.contains("expected"), "requests are not arrivals: {text}");
    let text = flowing(closed(3, 2)).written("text", Lang::En);
    assert!(text.contains("use -r 4/s"), "half of the iterations, not of the requests: {text}");
}

#[test]
fn objectives_name_iterations_and_groups() {
    let met = |objective: &str| {
        let json = flowing(closed(3, 2)).objectives(&[objective]).json();
        json["objectives"][0]["met"].as_bool()
    };
    assert_eq!(met("failed{iteration}<25%"), Some(true));
    assert_eq!(met("failed{iteration}<15%"), Some(false));
    assert_eq!(met("p50{browse}<31ms"), Some(true));
    assert_eq!(met("p50{browse}<29ms"), Some(false));
    assert_eq!(met("p50{item}<29ms"), Some(true));
}
