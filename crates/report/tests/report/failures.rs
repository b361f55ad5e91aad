//! The failures of a run: what the latency counts of them, and the example that is shown.

use brunt_record::{FailureExample, RunEvent};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, closed, ms, second};

/// Of 50 requests that timed out, this many were answered later; the first example is one of these.
fn shown(late: u64) -> String {
    let mut seconds = second(0).answered(900, ms(2)).failing(50, "timeout", "first_byte", None);
    seconds.late = late;
    let mut run = closed(10, 1);
    let example = |cause, detail: &str| {
        RunEvent::Example(FailureExample {
            kind: "timeout".into(),
            phase: "first_byte".into(),
            detail: detail.into(),
            cause,
            ..FailureExample::default()
        })
    };
    let late: brunt_cause::Cause = brunt_cause::response::late().into();
    run.events.push(example(Some(late.clone()), &late.en()));
    run.events.push(example(None, "no byte of a response came"));
    run.second(seconds).written("text", Lang::En)
}

#[test]
fn the_example_is_one_of_the_majority() {
    for (late, said, unsaid) in [
        (5, "no byte of a response came", "the response came after the timeout"),
        (45, "the response came after the timeout", "no byte of a response came"),
    ] {
        let text = shown(late);
        assert!(text.contains(said) && !text.contains(unsaid), "{late} of 50 came late:\n{text}");
    }
}
