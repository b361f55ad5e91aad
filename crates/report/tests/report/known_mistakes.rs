//! Known mistakes of other load generators, which must not be possible here.

use brunt_measure::Nanos;
use brunt_record::{RunPart, Second};

use crate::run_builder::{FillSecond, closed, ms, open, second};

/// go-stress-testing prints users ÷ mean latency. For 300 users with a mean of 8.78 ms after a second of ramping up,
/// that is 34,177/s, although 14,086 responses arrived.
#[test]
fn throughput_is_completions_in_the_window_and_never_users_by_mean() {
    let run = closed(300, 1).second(second(0).answered(14_086, Nanos::from_micros(8_780)));
    assert_eq!(run.summary().throughput_per_s(), 14_086.0);
}

#[test]
fn neither_warmup_nor_drain_is_in_the_throughput() {
    let mut before = second(-1).within(RunPart::Warmup);
    before.warmup = 500;
    let run = open(100.0, 2)
        .second(before)
        .second(second(0).answered(100, ms(1)))
        .second(second(1).answered(90, ms(1)))
        .second(second(2).answered(10, ms(1_500)).within(RunPart::Drain));
    let summary = run.summary();
    assert_eq!(summary.throughput_per_s(), 95.0);
    assert_eq!((summary.totals.due, summary.totals.finished, summary.totals.warmup), (200, 200, 500));
    assert_eq!(summary.headline().max().show(), "1.50 s", "what finished in the drain is in the latency");
}

/// A fast failure is not a fast answer: most tools make a server that quickly refuses everything look good.
#[test]
fn failures_do_not_sweeten_latency() {
    let good = closed(10, 1).second(second(0).answered(1000, ms(20))).summary();
    let bad = closed(10, 1)
        .second(second(0).answered(1000, ms(20)).failing(100_000, "refused", "connect", Some("ECONNREFUSED")))
        .objectives(&["p99<50ms"])
        .summary();
    assert_eq!(good.headline().quantile(0.99), bad.headline().quantile(0.99));
    assert_eq!(good.headline().mean(), bad.headline().mean());
    assert_eq!(good.throughput_per_s(), bad.throughput_per_s(), "failures are no throughput");
    assert!(!bad.objectives[0].is_met(), "a failure does not hold an objective");
}

/// wrk drops latencies beyond the range of its histogram; hey stops recording after a million.
#[test]
fn slow_answers_and_the_second_million_are_kept() {
    let run = open(1e6, 3)
        .second(second(0).answered(1_500_000, ms(1)))
        .second(second(1).answered(1_500_000, ms(1)))
        .second(second(2).answered(1, Nanos::from_secs(5_000)));
    let summary = run.summary();
    assert_eq!(summary.headline().count(), 3_000_001);
    assert_eq!(run.json()["latency"]["response"]["max_us"], 5_000e6);
}

/// Tools that measure in milliseconds print 0.
#[test]
fn below_a_millisecond_and_below_a_microsecond_nothing_is_rounded_to_zero() {
    let run = closed(1, 1).second(second(0).answered(5000, Nanos(850)));
    let json = run.json();
    assert_eq!(json["latency"]["service"]["p50_us"], 0.85);
    assert_eq!(json["latency"]["service"]["p99_us"], 0.85);
    assert_eq!(json["latency"]["service"]["mean_us"], 0.85);
    let text = run.written("text", brunt_report::Lang::En);
    assert!(text.contains("p50    850 ns"), "{text}");
}

/// wrk2 records a sample only when an answer arrives: a server that hangs leaves no trace in it.
#[test]
fn a_server_that_hangs_leaves_a_lower_bound_and_no_good_exit() {
    let hangs = open(100.0, 1).second(second(0).answered(900, ms(1)).unfinished(100, ms(5_000)));
    let json = hangs.json();
    let response = &json["latency"]["response"];
    assert_eq!((response["p50_us"].as_f64(), response["p99_us"].as_f64()), (Some(1000.0), None));
    assert_eq!(response["p99_at_least_us"].as_f64().map(f64::round), Some(5_000_000.0));
    assert_eq!(response["max_us"].as_f64(), None);
    assert_eq!(response["max_at_least_us"], 5_000_000.0);
    assert_eq!(response["p99_ci_us"][1].as_f64(), None);
    assert_eq!(json["exit"], 20);
    let timed_out = open(100.0, 1).second(second(0).answered(900, ms(1)).timed_out(100, ms(5_000)));
    assert_eq!(timed_out.json()["latency"]["response"]["p99_us"].as_f64(), None, "a timeout hides nothing either");
}

/// Percentiles of answered heartbeats say nothing about unanswered ones.
#[test]
fn heartbeats_without_an_answer_are_lower_bounds_too() {
    let mut beating = second(0);
    beating.heartbeats = brunt_record::HeartbeatCounts { sent: 1000, answered: 900, missed: 60, open: 40 };
    beating.latency.heartbeat.record_n(ms(1), 900);
    beating.latency.heartbeat_at_least.record_n(ms(5_000), 100);
    let run = closed(1, 1).second(beating);
    let heartbeat = &run.json()["phases"]["heartbeat"];
    assert_eq!((heartbeat["count"].as_u64(), heartbeat["unanswered"].as_u64()), (Some(1000), Some(100)));
    assert_eq!((heartbeat["p50_us"].as_f64(), heartbeat["p99_us"].as_f64()), (Some(1000.0), None));
    assert_eq!(heartbeat["p99_at_least_us"].as_f64().map(f64::round), Some(5_000_000.0));
    assert_eq!(heartbeat["max_at_least_us"], 5_000_000.0);
    let text = run.written("text", brunt_report::Lang::En);
    let line = text.lines().find(|line| line.trim_start().starts_with("heartbeat ")).expect("a line");
    assert_eq!(line.matches('≥').count(), 3, "mean, p99 and max: {line}");
}

#[test]
fn a_quantile_without_enough_requests_is_not_shown() {
    let json = open(10.0, 1).second(second(0).answered(298, ms(1))).json();
    let response = &json["latency"]["response"];
    assert!(response["p95_us"].is_number());
    assert!(response["p99_us"].is_null() && response["p99_ci_us"].is_null());
    assert!(response.get("p99_at_least_us").is_none());
    let json = (0..5).fold(open(60.0, 5), |run, n| run.second(second(n).answered(60, ms(1)))).json();
    assert_eq!(json["latency"]["response"]["p99_us"], 1000.0);
    assert!(json["latency"]["response"]["p99_ci_us"][0].is_number());
    assert!(json["latency"]["response"]["p99_ci_us"][1].is_null(), "the interval is open above");
}

/// Thousands of requests that waited for each other carry the information of only dozens of independent ones, so an
/// interval that assumes independence would be wrong.
#[test]
fn an_interval_is_as_wide_as_seconds_differ_and_a_short_run_has_none() {
    let run = |seconds: u64, slow: u64| {
        (0..seconds as i64).fold(open(1000.0, seconds), |run, n| {
            let slow = if n % 2 == 0 { slow } else { 160 - slow };
            run.second(second(n).answered(1000 - slow, ms(1)).answered(slow, ms(9)))
        })
    };
    let p90 = |run: crate::run_builder::RunBuilder| {
        let json = run.json();
        let interval = &json["latency"]["response"]["p90_ci_us"];
        assert_eq!(interval, &json["latency"]["service"]["p90_ci_us"], "here they are the same times");
        assert!(json["seconds"][0]["latency"]["response"]["p90_ci_us"].is_null(), "a second has none");
        assert!(json["phases"]["first_byte"]["p90_ci_us"].is_null(), "nor has a part");
        let ms = |end: &serde_json::Value| end.as_f64().map(|us| (us / 1000.0).round());
        (ms(&interval[0]), ms(&interval[1]))
    };
    // 8 % are slow: the same share in every second, or alternating between seconds by a factor of seven.
    assert_eq!(p90(run(10, 80)), (Some(1.0), Some(1.0)));
    assert_eq!(p90(run(10, 140)), (Some(1.0), Some(9.0)));
    let short = run(4, 80);
    assert!(short.json()["latency"]["response"]["p90_ci_us"].is_null());
    assert!(short.json()["latency"]["response"]["p90_us"].is_number());
    let text = short.written("text", brunt_report::Lang::En);
    assert!(
        text.contains("No confidence intervals: they need a run of at least 5 s") && !text.contains("95 % interval"),
        "{text}"
    );
}

/// On a machine with a different number of cores, the same command would give different figures.
#[test]
fn a_limit_that_was_waited_for_is_told_and_one_that_is_split_is_a_caution() {
    let run = |workers: u32, limited: u64| {
        let mut run = open(100.0, 5);
        (run.plan.workers, run.plan.max_connections) = (workers, 2);
        (0..5).fold(run, |run, n| run.second(Second { limited, ..second(n).answered(100, ms(50)) }))
    };
    let told = |run: crate::run_builder::RunBuilder| {
        let json = run.json();
        let reasons = json["trust"]["reasons"].as_array().unwrap().clone();
        let notices = json["notices"].as_array().unwrap().clone();
        let any = |list: &[serde_json::Value], code: &str| list.iter().any(|item| item["code"] == code);
        (any(&notices, "connection_limit"), any(&reasons, "split_limit"), json["requests"]["limited"].as_u64())
    };
    assert_eq!(told(run(1, 40)), (true, false, Some(200)));
    assert_eq!(told(run(2, 40)), (true, true, Some(200)));
    assert_eq!(told(run(2, 0)), (false, false, Some(0)));
    let text = run(2, 40).written("text", brunt_report::Lang::En);
    let text: Vec<&str> = text.split_whitespace().collect();
    assert!(
        text.join(" ").contains("200 of 500 requests found no free connection and waited at the limit of 2"),
        "{text:?}"
    );
}

/// The server constantly answered a hundred requests per second, each after 250 ms.
#[test]
fn throughput_after_a_warm_up_counts_what_ended_in_the_window() {
    let mut before = second(-1).within(RunPart::Warmup);
    (before.warmup, before.finished_of_warmup) = (100, 75);
    let first = Second { finished_of_warmup: 25, ..second(0).answered(75, ms(250)) };
    let run = open(100.0, 2).second(before).second(first).second(second(1).answered(100, ms(250)));
    let run = run.second(second(2).answered(25, ms(250)).within(RunPart::Drain));
    let summary = run.objectives(&["rate>=95/s"]).summary();
    assert_eq!(summary.throughput_per_s(), 100.0);
    assert!(summary.objectives[0].is_met());
    assert_eq!((summary.totals.due, summary.totals.finished, summary.headline().count()), (200, 200, 200));
}

#[test]
fn closed_load_has_no_response_time_and_says_what_a_stall_would_hide() {
    let run = closed(10, 2).second(second(0).answered(500, ms(20))).second(second(1).answered(500, ms(20)));
    assert!(run.json()["latency"]["response"].is_null());
    let text = run.written("text", brunt_report::Lang::En);
    assert!(text.contains("Service time at 10 users"), "{text}");
    assert!(text.contains("a 1 s stall would hide about 500 requests"), "{text}");
    assert!(!text.to_lowercase().contains("user latency") && !text.contains("Response time"), "{text}");
}

#[test]
fn a_stall_late_in_a_long_run_is_visible_in_its_second() {
    let mut run = open(100.0, 100);
    for n in 0..100 {
        run = run.second(if n == 97 { second(n).answered(100, ms(900)) } else { second(n).answered(100, ms(1)) });
    }
    let json = run.json();
    assert_eq!(json["seconds"][97]["latency"]["response"]["p50_us"].as_f64().map(f64::round), Some(900_000.0));
    assert_eq!(json["seconds"][98]["latency"]["response"]["p50_us"], 1000.0);
}
