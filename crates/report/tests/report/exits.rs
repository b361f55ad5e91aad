//! Exit codes and their precedence.

use brunt_plan::TrustPolicy;
use brunt_record::{FirstResponse, Subject};
use brunt_report::{Grade, Lang};

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

fn good() -> RunBuilder {
    open(1000.0, 1).second(second(0).answered(1000, ms(20)))
}

fn off_by(percent: i128) -> RunBuilder {
    let mut s = second(0).answered(1000, ms(20));
    s.service_ns += s.service_ns * percent / 100;
    open(1000.0, 1).second(s)
}

fn wrongly_counted() -> RunBuilder {
    let mut s = second(0).answered(1000, ms(20));
    s.due += 1;
    open(1000.0, 1).second(s)
}

fn nobody_there() -> RunBuilder {
    let mut run = open(1.0, 1).ended(Some("aborted"));
    run.probe = Some(FirstResponse { failure: Some("connection refused".into()), ..FirstResponse::default() });
    run
}

fn refused() -> RunBuilder {
    open(1000.0, 1).second(second(0).failing(1000, "refused", "connect", Some("ECONNREFUSED")))
}

fn hung(n: u64) -> RunBuilder {
    open(1000.0, 1).second(second(0).answered(1000 - n, ms(20)).unfinished(n, ms(5000)))
}

#[test]
fn the_gravest_decides() {
    let missed = &["p99<10ms"][..];
    for (name, run, code) in [
        ("all well", good(), 0),
        ("an objective met", good().objectives(&["p99<50ms", "failed<0.1%", "rate>=1000/s"]), 0),
        ("an objective missed", good().objectives(&["p99<50ms", "p99<10ms"]), 10),
        ("an objective nobody can read any more", good().objectives(&["p99~50ms"]), 10),
        ("Little off by 3 %", off_by(3), 0),
        ("Little off by 6 %", off_by(6), 20),
        ("Little off, objective missed: the miss is in doubt too", off_by(6).objectives(missed), 20),
        ("p99 only a lower bound", hung(10), 20),
        ("p99 still a number", hung(9), 0),
        ("a lower bound, and an objective missed: by far, whatever the figure", hung(10).objectives(missed), 10),
        ("interrupted", good().ended(Some("interrupted")), 21),
        ("interrupted, and so without ends", hung(500).ended(Some("interrupted")), 21),
        ("interrupted before an objective could be met", good().objectives(missed).ended(Some("interrupted")), 21),
        ("cut off", good().ended(None), 21),
        ("nobody there", nobody_there(), 30),
        ("everything refused", refused(), 20),
        ("nothing sent at all", open(1.0, 1).second(second(0)), 20),
        ("one of three hung", open(3.0, 1).second(second(0).answered(2, ms(1)).unfinished(1, ms(9))), 20),
        ("three of three answered", open(3.0, 1).second(second(0).answered(3, ms(1))), 0),
        ("our own counting is wrong", wrongly_counted(), 70),
        ("our own counting is wrong, in an interrupted run", wrongly_counted().ended(Some("interrupted")), 70),
    ] {
        let summary = run.summary();
        assert_eq!(summary.exit.code(), code, "{name}");
        assert_eq!(run.json()["exit"], code, "{name}");
        if summary.trust.verdict() == Grade::Fail {
            assert_ne!(code, 0, "{name}: an untrusted run never exits 0");
        }
    }
}

/// Creates a run of 10 s with 1,000 requests/s of 20 ms, 2 % of which took 100 ms, 80 ms of them possibly brunt's own.
fn delayed() -> RunBuilder {
    let second = |n| {
        let mut s = second(n).answered(980, ms(20)).answered(20, ms(100));
        s.generator.resolution_ns = 20_000;
        s.latency.response_delayed.record_n(ms(100), 20);
        s.latency.response_undelayed.record_n(ms(20), 20);
        s
    };
    (0..10).fold(open(1000.0, 10), |run, n| run.second(second(n)))
}

#[test]
fn objectives_are_decided_by_the_band_and_figures_without_any_are_not_trusted() {
    for (name, run, code) in [
        ("no objective: p99 is 20 to 100 ms", delayed(), 20),
        ("met even with brunt's delays", delayed().objectives(&["p99<150ms", "failed<1%"]), 0),
        ("missed even without them", delayed().objectives(&["p99<10ms"]), 10),
        ("met without them, missed with them", delayed().objectives(&["p99<50ms"]), 20),
        ("one missed for certain, one undecided", delayed().objectives(&["p99<50ms", "p50<10ms"]), 10),
        ("asked to warn only", delayed().trust(TrustPolicy::Warn), 0),
        ("asked to be strict", delayed().objectives(&["p99<150ms"]).trust(TrustPolicy::Strict), 20),
    ] {
        let summary = run.summary();
        assert_eq!(summary.exit.code(), code, "{name}");
        assert_eq!(summary.trust.verdict(), Grade::Fail, "{name}");
    }
    let page = delayed().objectives(&["p99<50ms"]).written("text", Lang::En);
    for said in
        ["p99    20.0 ms to 100 ms", "cannot tell  p99<50ms  p99 20.0 ms to 100 ms", "an objective cannot be decided"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    let most = delayed().objectives(&["max<50ms"]).written("text", Lang::En);
    assert!(most.contains("cannot tell  max<50ms  max 20.0 ms to 100 ms"), "{most}");
    let json = delayed().json();
    assert!(json["latency"]["response"].get("min_band_us").is_none(), "the shortest was not delayed");
    let least = json["latency"]["response"]["p99_band_us"][0].as_f64().expect("a band");
    assert!((19_900.0..20_100.0).contains(&least), "{least}");
}

#[test]
fn every_format_tells_bands_where_figures_are_not_trusted() {
    let run = delayed().objectives(&["p99<50ms", "p50<50ms"]);
    let said = |format| run.written(format, Lang::En);
    for format in ["text", "markdown"] {
        let page = said(format);
        assert!(page.contains("20.0 ms to 100 ms"), "{page}");
        assert_eq!(page.matches("A figure with two ends lies between them").count(), 1, "{page}");
        assert!(
            page.contains("p50") && !page.contains("p50 20.0 ms to"),
            "a figure that is trusted has one end: {page}"
        );
    }
    let csv = said("csv");
    let (heading, first) = (csv.lines().next().expect("a heading"), csv.lines().nth(1).expect("a second"));
    let cell = |name: &str| -> f64 {
        let at = heading.split(',').position(|column| column == name).expect("a column");
        first.split(',').nth(at).and_then(|cell| cell.parse().ok()).expect("a number")
    };
    assert_eq!(cell("p50_us"), cell("p50_least_us"));
    assert!((cell("p99_us") / cell("p99_least_us") - 5.0).abs() < 0.05, "{csv}");
    let junit = said("junit");
    for part in ["tests=\"3\" failures=\"0\" errors=\"1\"", "<error message=\"cannot tell: p99 20.0 ms to 100 ms"] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    let strict = run.clone().trust(TrustPolicy::Strict).written("junit", Lang::En);
    assert!(
        strict.contains("<failure message=\"NOT TRUSTED because p99 is 20.0 ms to 100 ms: brunt itself"),
        "{strict}"
    );
    assert!(delayed().written("text", Lang::Zh).contains("20.0 ms 到 100 ms"));
    let quiet = open(100.0, 1).second(second(0).answered(100, ms(20)));
    assert!(!quiet.written("text", Lang::En).contains("two ends"));
}

#[test]
fn a_run_of_two_requests_is_too_short_to_judge() {
    let few = open(2.0, 1).second(second(0).answered(2, ms(1)));
    assert_eq!((few.summary().trust.verdict(), few.summary().exit.code()), (Grade::TooShort, 0));
    assert!(few.written("text", Lang::En).contains("TOO SHORT TO JUDGE: 2 requests in 1.00 s"));
}

#[test]
fn a_cut_off_record_counts_what_was_open_as_without_an_end() {
    let mut s = second(0).answered(1000, ms(20));
    s.due += 7;
    let summary = closed(7, 1).second(s).ended(None).summary();
    assert_eq!(summary.totals.censored, 7);
    assert!(summary.totals.is_consistent());
    assert_eq!(summary.throughput_per_s(), 1000.0, "over the seconds that are there");
}

#[test]
fn a_violated_account_is_loud() {
    let text = wrongly_counted().written("text", Lang::En);
    assert!(text.contains("1,001 scheduled ≠ 1,000 succeeded + 0 failed + 0 unfinished"), "{text}");
    assert!(text.contains("This is a bug in brunt; do not use these results"), "{text}");
    assert!(text.contains("Exit code 70"), "{text}");
}

#[test]
fn a_target_that_dies_is_told_though_no_objective_asks() {
    let died = open(500.0, 3)
        .second(second(0).answered(460, ms(2)))
        .second(second(1).answered(461, ms(2)))
        .second(second(2).failing(500, "refused", "connect", Some("ECONNREFUSED")));
    let summary = died.summary();
    assert_eq!((summary.trust.verdict(), summary.exit.code()), (Grade::Warn, 0));
    let text = died.written("text", Lang::En);
    for said in [
        "(921 requests; 500 failed, not included)",
        "WITH CAUTION: 35.2 % of the requests failed: latency covers only the others; add --objective 'failed<0.1%' to turn this",
        "! from 2.0 s to 3.0 s no request succeeded\n",
        "Exit code 0: use results with caution; 500 requests failed, and no objective covers failures",
    ] {
        assert!(text.contains(said), "{said} is missing in\n{text}");
    }
    let slow = |timed_out, refused| {
        let second = second(0).answered(900, ms(2)).failing(timed_out, "timeout", "first_byte", None);
        let mut second = second.failing(refused, "refused", "connect", Some("ECONNREFUSED"));
        second.latency.response_at_least.record_n(ms(9_000), timed_out);
        open(1000.0, 1).second(second).written("text", Lang::En)
    };
    for (timed_out, refused, said) in [
        (50, 0, "% of the requests failed, all by timeout: latency counts them, as lower bounds"),
        (30, 20, "latency counts those that timed out, as lower bounds, and leaves out the other 20"),
    ] {
        let text = slow(timed_out, refused);
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{said} is missing in\n{text}");
    }
    let judged = died.objectives(&["failed<50%"]).written("text", Lang::En);
    assert!(judged.contains("latency covers only the others (and 1 more, below)\n"), "{judged}");
    assert!(judged.ends_with("use results with caution\n"), "{judged}");
    let one = open(2000.0, 1).second(second(0).answered(1999, ms(2)).failing(1, "reset", "first_byte", None));
    let text = one.written("text", Lang::En);
    assert!(text.contains("Trust: TRUSTED"), "one in two thousand is below a tenth of a percent: {text}");
    assert!(text.ends_with("results trusted; 1 request failed, and no objective covers failures\n"), "{text}");
}

#[test]
fn failures_that_rank_as_timeouts_are_counted_in_the_figures() {
    let run = open(100.0, 1).second(
        second(0)
            .answered(90, ms(2))
            .timed_out(3, ms(100))
            .failing(2, "reset", "first_byte", None)
            .unfinished(5, ms(9)),
    );
    let text = run.written("text", Lang::En);
    let said = "(98 requests, 8 of them without a response; 2 failed, not included)";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("100 scheduled = 90 succeeded + 5 failed + 5 unfinished"), "{text}");
}

#[test]
fn where_nothing_is_to_show_one_sentence_says_so() {
    for (run, said) in [
        (closed(2, 1).second(second(0)), "No request was scheduled"),
        (closed(2, 1).second(second(0).failing(9, "reset", "first_byte", None)), "No request succeeded"),
        (closed(2, 1).second(second(0).answered(2, ms(3))), "Too few requests for percentiles"),
    ] {
        let text = run.written("text", Lang::En);
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("about 0 requests") && !text.contains("p99.9"), "{text}");
    }
}

/// Creates a run of users who only open connections; `stood` connections were established.
fn silent(stood: u64, users: u32) -> RunBuilder {
    let mut s = second(0);
    (s.users, s.connections.opened, s.connections.open) = (users, stood, 10);
    closed(10, 1).second(s)
}

#[test]
fn a_silent_run_is_judged_by_the_connections_that_stood() {
    for (stood, code, said) in [
        (10, 0, "10 connections held"),
        (3, 20, "3 of 10 connections were held: the others did not open in time"),
        (0, 20, "none of the 10 connections could be opened"),
    ] {
        let run = silent(stood, 10);
        assert_eq!(run.summary().exit.code(), code, "{stood} stood");
        let text = run.written("text", Lang::En);
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("No request was scheduled"), "nothing was to be due: {text}");
    }
    // The last user of a ramp may have started in its last moment.
    let mut ramp = silent(9, 10);
    ramp.plan.load = brunt_plan::Load::Closed {
        stages: vec![brunt_plan::Stage { lasts: brunt_measure::Nanos::from_secs(1), from: 1.0, to: 10.0 }],
        think: None,
        together: false,
    };
    assert_eq!(ramp.summary().exit.code(), 0);
}

#[test]
fn connections_that_did_not_stay_were_not_refused_and_are_told_apart_by_what_ended_them() {
    for (opened, failed, lost, said) in [
        (3, 7, 0, "3 of 10 connections were held: the others could not be opened"),
        (9, 0, 6, "3 of 10 connections were held at the same time: the others were opened but lost"),
        (9, 2, 6, "3 of 10 connections were held at the same time: some could not be opened, others were lost"),
        (9, 0, 9, "none of the 10 connections lasted: they were opened but lost"),
    ] {
        let mut s = second(0);
        (s.users, s.connections.open) = (10, 10);
        (s.connections.opened, s.connections.failed, s.connections.lost) = (opened, failed, lost);
        let loss = |kind: &str, detail: &str, count| brunt_record::ConnectionLoss {
            kind: kind.into(),
            phase: "hold".into(),
            errno: None,
            detail: detail.into(),
            cause: None,
            count,
        };
        if lost > 0 {
            s.losses = vec![
                loss("timeout", "no response to a heartbeat within 300 ms", 1),
                loss("closed", "the server closed with 1013 (try again later): busy", lost - 1),
            ];
        }
        let run = closed(10, 1).second(s);
        assert_eq!(run.summary().exit.code(), 20);
        let text = run.written("text", Lang::En);
        assert!(text.contains(said), "{text}");
        let [busy, silent] = [
            format!("{} lost: closed · the server closed with 1013 (try again later): busy", lost.max(1) - 1),
            "1 lost: timeout · no response to a heartbeat within 300 ms".into(),
        ];
        assert_eq!((text.contains(&busy), text.contains(&silent)), (lost > 0, lost > 0), "{text}");
        assert_eq!(run.json()["losses"].as_array().map_or(0, Vec::len), if lost > 0 { 2 } else { 0 });
        assert!(run.written("text", Lang::Zh).contains("10 个连接"), "{text}");
    }
}

#[test]
fn a_run_that_was_to_say_something_and_said_nothing_is_no_success() {
    let mut s = second(0);
    (s.users, s.connections.open, s.connections.opened) = (5, 5, 30);
    for (silent, exit) in [(Some(true), 0), (None, 0), (Some(false), 20)] {
        let mut run = closed(5, 1).second(s.clone());
        run.silent = silent;
        assert_eq!(run.summary().exit.code(), exit, "{silent:?}");
        assert_eq!(run.written("text", Lang::En).contains("no request was scheduled"), exit == 20, "{silent:?}");
    }
}

#[test]
fn why_connections_could_not_be_opened_is_told_with_an_example() {
    let mut s = second(0).answered(100, ms(20));
    s.connections.failed = 7;
    let unopened = |phase: &str, detail: &str, count| brunt_record::ConnectionLoss {
        kind: "wrong_status".into(),
        phase: phase.into(),
        errno: None,
        detail: detail.into(),
        cause: None,
        count,
    };
    s.unopened = vec![unopened("greeting", "1040 too many connections", 4), unopened("tls", "", 3)];
    let run = open(100.0, 1).second(s.clone()).second(s);
    let run = run.example("wrong_status", "greeting", None, ("", "08004 Too many connections"));
    for format in ["text", "markdown"] {
        let text = run.written(format, Lang::En).replace('\\', "");
        let said = "8 could not be opened, but no request failed because of that: wrong_status · greeting · 1040 too many connections";
        assert!(text.contains(said), "{text}");
        assert!(
            text.contains("6 could not be opened, but no request failed because of that: wrong_status · tls"),
            "{text}"
        );
    }
    let told = &run.json()["unopened"];
    assert_eq!((&told[0]["count"], &told[0]["phase"]), (&8.into(), &"greeting".into()));
    assert_eq!(told[0]["example"]["received"], "08004 Too many connections");
}

#[test]
fn answers_after_the_timeout_are_counted_apart_and_no_status() {
    let mut s = second(0).answered(100, ms(20)).failing(3, "timeout", "first_byte", None);
    s.late = 1;
    let run = open(103.0, 1).second(s);
    let said = "1 of the failed requests got a response after the timeout; status codes count only responses in time";
    assert!(run.written("text", Lang::En).contains(said), "{}", run.written("text", Lang::En));
    assert_eq!(run.json()["requests"]["late"], 1);
}

#[test]
fn connections_opened_before_a_common_start_were_not_opened_in_its_first_second() {
    let mut s = second(0).answered(1000, ms(20));
    (s.connections.opened, s.connections.ahead, s.connections.ahead_ns) = (1000, 1000, 5_000_000_000);
    let run = open(1000.0, 2).second(s.clone()).second(second(1).answered(1000, ms(20)));
    assert_eq!(run.summary().opened_per_s(), 200.0);
    // The other connections were opened later, in a second of their own.
    s.connections.opened = 1020;
    assert_eq!(open(1000.0, 1).second(s).summary().opened_per_s(), 170.0);
}

#[test]
fn a_run_that_lost_a_process_is_partial_and_says_what_is_kept() {
    let facts = [("processes", "1"), ("how", "killed by SIGKILL"), ("until", "2.00 s"), ("requests", "5")];
    let run = good().notice("process_lost", &facts).ended(Some("partial"));
    assert_eq!(run.summary().exit.code(), 21);
    let text = run.written("text", Lang::En);
    for said in [
        "1 of the run's processes ended early (killed by SIGKILL). Its results end at 2.00 s; 5 requests",
        "WITH CAUTION: part of the run was lost",
        "Exit code 21: part of the run was lost",
    ] {
        assert!(text.contains(said), "{said} is missing in\n{text}");
    }
    assert!(!text.contains("bug in brunt") && !text.contains("interrupted"), "{text}");
    assert!(!run.written("text", Lang::Zh).contains("{"), "every placeholder is filled");
}

#[test]
fn lateness_that_is_a_part_of_the_mean_is_a_caution() {
    let late = |us: u64, response: u64| {
        let mut s = second(0).answered(1000, ms(response));
        s.latency.gen_late = Default::default();
        s.latency.gen_late.record_n(brunt_measure::Nanos::from_micros(us), 1000);
        open(1000.0, 1).second(s).summary()
    };
    assert_eq!(late(400, 20).trust.verdict(), Grade::Ok);
    assert_eq!((late(400, 4).trust.verdict(), late(400, 4).exit.code()), (Grade::Warn, 0));
    // An idle core wakes up late. The delay is large compared with the response time of a fast server, but expected.
    assert_eq!(late(98, 1).trust.verdict(), Grade::Ok);
}

#[test]
fn a_rate_that_the_draw_of_the_arrivals_alone_missed_is_told_apart() {
    let told = |rate: f64, arrived: u64, objective: &str| {
        let run = open(rate, 1).objectives(&[objective]).second(second(0).answered(arrived, ms(20)));
        let summary = run.summary();
        let said = summary.sums.notices.iter().any(|notice| notice.subject() == Some(Subject::FewArrivals));
        (summary.exit.code(), said)
    };
    assert_eq!(told(1000.0, 980, "rate>=1000/s"), (10, true), "980 arrivals make no 1000/s");
    assert_eq!(told(1000.0, 1003, "rate>=1000/s"), (0, false), "enough were drawn");
    assert!(!told(1000.0, 980, "rate>=1200/s").1, "no draw was to be expected to reach it");
    assert!(!told(1000.0, 980, "p99<1ms").1, "it is about time");
    let changed = open(1000.0, 1).objectives(&["rate>=1000/s"]).second(second(0).answered(400, ms(20)));
    let said = changed.ended(Some("interrupted")).summary().sums.notices;
    assert!(said.iter().all(|notice| notice.subject() != Some(Subject::FewArrivals)), "it was cut short");
    let failing = second(0).answered(900, ms(20)).failing(110, "refused", "connect", Some("ECONNREFUSED"));
    let said = open(1000.0, 1).objectives(&["rate>=1000/s"]).second(failing).summary().sums.notices;
    assert!(said.iter().all(|notice| notice.subject() != Some(Subject::FewArrivals)), "failures are the cause");
}
