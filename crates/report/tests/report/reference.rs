//! The reference client in every document: shown next to the load, but included in none of its figures.

use brunt_measure::Histogram;
use brunt_record::{ReferenceSecond, RunEvent};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, second};

/// Creates four seconds of a load with 250 ms per request, and of a client with 20 ms whose data was read 1 ms late.
fn run() -> RunBuilder {
    let of = |value| {
        let mut histogram = Histogram::new();
        histogram.record_n(value, 10);
        histogram
    };
    let mut run = closed(10, 4);
    run.plan.reference = Some(12.5);
    for n in 0..4 {
        run = run.second(second(n).answered(40, ms(250)));
        let from_ns = i64::from(n as u32) * 1_000_000_000;
        let client = ReferenceSecond {
            from_ns,
            to_ns: from_ns + 1_000_000_000,
            scheduled: 12,
            succeeded: 10,
            failed: 1,
            unfinished: 1,
            service: of(ms(20)),
            read_late: of(ms(1)),
        };
        run.events.push(RunEvent::Reference(Box::new(client)));
    }
    run
}

#[test]
fn the_client_stands_beside_the_load_in_every_document_and_in_no_figure_of_it() {
    let json = run().json();
    let client = &json["reference"];
    let counts = ["scheduled", "succeeded", "failed", "unfinished"].map(|key| client[key].as_u64().unwrap());
    assert_eq!(counts, [48, 40, 4, 4]);
    assert_eq!(client["service"]["p50_us"], 20_000.0);
    assert_eq!(client["read_late"]["p50_us"], 1_000.0);
    assert_eq!((&json["requests"]["succeeded"], &json["requests"]["failed"]), (&160.into(), &0.into()));
    let says = [
        (
            Lang::En,
            "12.5 requests/s on a separate connection, not included above: 48 scheduled, 40 succeeded, 4 failed, 4 unfinished",
        ),
        (Lang::En, "service time p50 20.0 ms, p99 –; of the load p50 250 ms"),
        (Lang::Zh, "独立连接，每秒 12.5 个请求，不计入以上任何数字：计划 48，成功 40，失败 4，未结束 4"),
        (Lang::Zh, "发压端读取延迟 p50 1.00 ms"),
    ];
    for (lang, said) in says {
        ["text", "markdown"].iter().for_each(|format| {
            let written = run().written(format, lang);
            assert!(written.contains(said), "{said} in {written}");
        });
    }
    assert!(closed(10, 4).json()["reference"].is_null());
}
