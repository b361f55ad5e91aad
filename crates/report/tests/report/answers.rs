//! The first questions of a reader: whether the server kept up, and what wrong answers it gave.

use brunt_measure::Nanos;
use brunt_record::Second;
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

/// Creates a second with 100 requests to a server that answers 20 of them, while the others wait.
fn overloaded(n: i64) -> Second {
    let mut s = second(n).answered(20, ms(40));
    (s.due, s.sent, s.waiting) = (100, 20, 80 * (n as u32 + 1));
    s
}

fn overload() -> RunBuilder {
    let mut run = open(100.0, 10);
    for n in 0..10 {
        run = run.second(overloaded(n));
    }
    let mut last = second(10).within(brunt_record::RunPart::Drain);
    last.censored = 800;
    last.latency.response_at_least.record_n(ms(5_000), 800);
    run.second(last)
}

#[test]
fn a_server_that_cannot_keep_up_gets_a_conclusion_in_every_format() {
    let run = overload();
    let text = run.written("text", Lang::En);
    let said =
        "the server is overloaded: it sustained about 20.0/s of the 100/s scheduled, and the queue grew by 80.0/s.";
    assert!(text.contains(said), "{text}");
    assert!(run.written("markdown", Lang::En).contains(said), "{}", run.written("markdown", Lang::En));
    assert!(run.written("text", Lang::Zh).contains("过载：计划 100/s，实际只能维持约 20.0/s；队列每秒增长 80.0"));
    let told = &run.json()["overload"];
    let numbers = ["sustained_per_s", "scheduled_per_s", "queue_growth_per_s"].map(|name| told[name].as_f64().unwrap());
    assert_eq!(numbers.map(f64::round), [20.0, 100.0, 80.0]);
}

#[test]
fn a_queue_that_time_outs_keep_short_is_an_overload_and_fast_failures_are_none() {
    let mut timing_out = open(100.0, 10);
    let mut unanswered = open(100.0, 10);
    let mut failing = open(100.0, 10);
    let mut healthy = open(100.0, 10);
    for n in 0..10 {
        let mut s = second(n).answered(20, ms(9_000)).timed_out(80, ms(10_000));
        s.in_flight = 800;
        timing_out = timing_out.second(s);
        // As many time out, but the others are answered at once.
        let mut s = second(n).answered(20, ms(40)).timed_out(80, ms(10_000));
        s.in_flight = 800;
        unanswered = unanswered.second(s);
        failing = failing.second(second(n).answered(20, ms(40)).failing(80, "wrong_status", "first_byte", None));
        healthy = healthy.second(second(n).answered(100, ms(4)));
    }
    let text = timing_out.written("text", Lang::En);
    assert!(
        text.contains("sustained about 20.0/s of the 100/s scheduled; the rest queued until it timed out"),
        "{text}"
    );
    assert!(timing_out.json()["overload"]["queue_growth_per_s"].is_null());
    let json = unanswered.json();
    assert!(json["overload"].is_null(), "nothing queued");
    let claim = "80.0 % of the requests got no response before they timed out, at any load";
    assert_eq!(json["diagnosis"]["findings"][0]["claim"], claim);
    assert!(!unanswered.written("text", Lang::En).contains("queued until"));
    assert!(failing.json()["overload"].is_null() && healthy.json()["overload"].is_null());
    assert!(overload().ended(Some("interrupted")).json()["overload"].is_null(), "a part of a run shows no capacity");
}

#[test]
fn a_service_that_takes_half_of_the_window_is_no_overload() {
    let (mut slow, mut queueing) = (open(100.0, 10), open(100.0, 10));
    for n in 0..10u64 {
        let mut s = second(n as i64).answered(if n < 5 { 0 } else { 100 }, ms(5_000));
        (s.due, s.in_flight) = (100, 100 * (n as u32 + 1).min(5));
        slow = slow.second(s);
        // The twin: it answers half, and what it answers has waited ever longer.
        let mut s = second(n as i64).answered(50, ms(10 + 500 * n));
        (s.due, s.in_flight) = (100, 50 * (n as u32 + 1));
        queueing = queueing.second(s);
    }
    slow.probe.iter_mut().for_each(|first| first.took = ms(5_000));
    let outcome = |run: &RunBuilder| run.json()["diagnosis"]["outcome"].clone();
    assert!(slow.json()["overload"].is_null());
    assert_eq!(outcome(&slow), "not_reached", "the rate times the latency is in flight");
    assert_eq!(queueing.json()["overload"]["queue_growth_per_s"].as_f64(), Some(50.0));
}

fn refusing() -> RunBuilder {
    let mut s = second(0).failing(400, "wrong_status", "first_byte", None);
    s.latency.failed_responses.record_n(Nanos::from_micros(50), 400);
    s.status = [("404".to_string(), 400)].into();
    closed(2, 1).second(s)
}

#[test]
fn a_run_of_404s_shows_its_latency_and_names_the_option_that_expects_them() {
    let text = refusing().written("text", Lang::En);
    for said in [
        "No request succeeded; latency of the 400 failed responses:",
        "p99    50.0 µs",
        "no request succeeded: every response was 404; if that is what you expect, use --expect-status 404",
    ] {
        assert!(text.contains(said), "{said} is missing in\n{text}");
    }
    assert!(refusing().written("markdown", Lang::En).contains("latency of the 400 failed responses"));
    assert!(refusing().written("text", Lang::Zh).contains("400 个失败响应的延迟"));
    let json = refusing().json();
    assert_eq!(json["latency"]["failed_responses"]["count"], 400);
    assert_eq!(refusing().summary().exit.code(), 20, "a run in which nothing succeeded is no success");
}

#[test]
fn latency_is_split_by_outcome_where_both_exist() {
    let mut s = second(0).answered(300, ms(2)).failing(100, "wrong_status", "first_byte", None);
    s.latency.failed_responses.record_n(Nanos::from_micros(50), 100);
    s = s.failing(3, "reset", "first_byte", None);
    let text = closed(2, 1).second(s).written("text", Lang::En);
    let row = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).map(str::to_owned);
    assert!(row("failed responses").is_some_and(|row| row.contains("100")), "{text}");
    assert!(row("failures  ").is_some_and(|row| row.contains("103")), "{text}");
    assert!(!text.contains("latency of the"), "{text}");
}

#[test]
fn poisson_arrivals_say_how_many_were_to_be_expected() {
    let run = open(200.0, 1).second(second(0).answered(189, ms(2)));
    let text = run.written("text", Lang::En);
    assert!(text.contains("sent 189 of 189; Poisson arrivals: 200 ± 14 expected"), "{text}");
    let cut = open(200.0, 1).second(second(0).answered(18, ms(2))).ended(Some("interrupted"));
    assert!(!cut.written("text", Lang::En).contains("expected"));
}

#[test]
fn followed_redirects_and_resumed_handshakes_are_told() {
    let mut s = second(0).answered(40, ms(2));
    s.hops = 20;
    (s.connections.handshakes, s.connections.resumed) = (5, 5);
    let run = closed(2, 1).second(s);
    let text = run.written("text", Lang::En);
    assert!(text.contains("and 20 hops of redirects: each is part of the request that was redirected"), "{text}");
    assert!(text.contains("TLS handshakes 5, 5 resumed: cheaper than a new visitor's full handshake"), "{text}");
}

#[test]
fn junit_says_why_a_server_could_not_be_reached() {
    let mut run = closed(2, 1).ended(Some("aborted"));
    run.probe.as_mut().unwrap().failure = Some("Connection refused".into());
    let text = run.written("junit", Lang::En);
    let failure = text.lines().find(|line| line.contains("<failure")).unwrap_or_default();
    assert!(failure.contains("First request: Connection refused"), "{text}");
}

#[test]
fn an_objective_met_by_too_few_requests_is_a_caution() {
    let few = closed(1, 1).objectives(&["p99.9<1s", "p50<1s"]).second(second(0).answered(10, ms(2)));
    let text = few.written("text", Lang::En);
    assert!(text.contains("too few requests to confirm p99.9<1s; run longer or send more"), "{text}");
    assert!(few.summary().objectives.iter().all(|judged| judged.is_met()) && few.summary().exit.code() == 0);
    let enough = closed(1, 1).objectives(&["p99.9<1s"]).second(second(0).answered(4000, ms(2)));
    assert!(!enough.written("text", Lang::En).contains("too few"), "{}", enough.written("text", Lang::En));
}

#[test]
fn failures_have_chinese_names_in_a_chinese_report_and_their_codes_in_an_english_one() {
    let run = closed(1, 1).second(second(0).answered(10, ms(2)).failing(2, "wrong_status", "first_byte", None));
    assert!(run.written("text", Lang::Zh).contains("状态码不符 · 首字节"), "{}", run.written("text", Lang::Zh));
    assert!(run.written("markdown", Lang::Zh).contains("状态码不符 · 首字节"));
    assert!(run.written("text", Lang::En).contains("wrong_status · first_byte"));
}

#[test]
fn a_line_before_all_figures_says_whether_they_can_be_trusted() {
    let well = || open(100.0, 1).second(second(0).answered(1000, ms(5)));
    let mut late = open(100.0, 10);
    for n in 0..10 {
        late = late.second(overloaded(n));
    }
    let mut drained = second(10).within(brunt_record::RunPart::Drain).answered(800, ms(40));
    (drained.due, drained.sent) = (0, 800);
    let refused = second(0).answered(900, ms(5)).failing(100, "refused", "connect", None);
    let no_ports = second(0).answered(900, ms(5)).failing(3, "no_ports", "connect", None);
    for (run, said) in [
        (well(), "TRUSTED"),
        (
            late.second(drained),
            "TRUSTED, and the server is overloaded: it sustained about 20.0/s of the 100/s scheduled, and ",
        ),
        (open(100.0, 1).second(refused), "WITH CAUTION: 10.0 % of the requests failed: "),
        (closed(10, 1).second(no_ports), "NOT TRUSTED because 3 requests failed on this machine, "),
        (overload(), "NOT TRUSTED because p50, p99 are at least what is shown: "),
    ] {
        let json = run.json();
        let line = json["trust"]["line"].as_str().unwrap();
        assert!(line.starts_with(said), "{line}");
        assert_eq!(line.contains("; what to do: "), said.starts_with("NOT"), "{line}");
        let text = run.written("text", Lang::En);
        assert!(text.find(&format!("\n{line}\n")).unwrap() < text.find("Throughput").unwrap(), "{text}");
        let markdown = run.written("markdown", Lang::En);
        assert_eq!(markdown.lines().nth(2).unwrap().replace('\\', ""), format!("**{line}**"));
        let junit = run.written("junit", Lang::En).replace("&apos;", "'").replace("&lt;", "<");
        assert!(junit.contains(&format!("<system-out>{line}\n")), "{junit}");
        assert_eq!(junit.contains(&format!("<failure message=\"{line}")), said.starts_with("NOT"), "{junit}");
    }
    assert!(overload().json()["trust"]["line"].as_str().unwrap().contains("; and the server is overloaded: "));
}
