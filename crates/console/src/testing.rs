//! A synthetic run for tests, and a fleet that is none.

use std::sync::Arc;

use brunt_measure::Nanos;
use brunt_record::{End, RunEnd, RunEvent, RunPart, RunStarted, Second, WindowStart};
use serde_json::{Value, json};

use crate::fleet::{FleetPlace, FleetWatch};
use crate::program::BruntProgram;

/// Creates a fleet that was never made.
pub fn no_fleet() -> Arc<FleetWatch> {
    let place = FleetPlace { asked: None, exists: Box::new(|| false) };
    Arc::new(FleetWatch::new(BruntProgram("false".into()), place))
}

/// Exit code of the run, whose seconds contain nothing about the generator.
pub const EXIT: u8 = 0;

/// Creates the events of a run with ten requests per second.
pub fn a_run(seconds: i64) -> Vec<RunEvent> {
    // A recorded head, independent of later additions to plans.
    let first = include_str!("../../record/src/version-1.jsonl").lines().next().expect("a head");
    let mut head: Value = serde_json::from_str(first).expect("JSON");
    head["unix_ms"] = 7.into();
    head["schema"] = brunt_record::SCHEMA.into();
    head["plan"]["urls"] = json!([{ "url": "http://127.0.0.1:8080/", "weight": 1 }]);
    head["plan"]["objectives"] = json!([]);
    head["plan"]["warmup"] = 0.into();
    head["plan"]["requests"] = Value::Null;
    head["plan"]["duration"] = 60_000_000_000_u64.into();
    head["plan"]["load"]["stages"] = json!([{ "lasts": 60_000_000_000_u64, "from": 10.0, "to": 10.0 }]);
    let started: RunStarted = serde_json::from_value(head).expect("the head of a record");
    let second = |at: i64| {
        let mut second = Second {
            from_ns: at * 1_000_000_000,
            to_ns: (at + 1) * 1_000_000_000,
            part: RunPart::Window,
            due: 10,
            sent: 10,
            finished: 10,
            users: 10,
            ..Second::default()
        };
        second.latency.service.record_n(Nanos(1_000_000), 10);
        RunEvent::Second(Box::new(second))
    };
    let window = Nanos::from_secs(seconds as u64);
    let ended = RunEnd { reason: End::Completed, window, elapsed: window };
    let head = [RunEvent::Started(Box::new(started)), RunEvent::Began(WindowStart { clock_ns: 1, unix_ns: 7_000_000 })];
    head.into_iter().chain((0..seconds).map(second)).chain([RunEvent::Ended(ended)]).collect()
}
