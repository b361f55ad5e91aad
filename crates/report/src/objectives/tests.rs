//! Objectives as written, and their results.

use super::*;
use brunt_measure::Histogram;

fn check(objective: &str, facts: &ObjectiveInputs<'_>, wanted: &str) {
    let judged = Objective::parse(objective).unwrap().judge(facts);
    let verdict = judged.outcome.name();
    let few = if judged.too_few_requests { ", few" } else { "" };
    assert_eq!(format!("{verdict}: {}{few}", judged.measured), wanted, "{objective}");
}

fn times(counts: &[(u64, u64)]) -> Histogram {
    let mut h = Histogram::new();
    counts.iter().for_each(|&(ms, n)| h.record_n(Nanos::from_millis(ms), n));
    h
}

#[test]
fn judged_over_all_due_requests() {
    let finished = times(&[(10, 990), (100, 5)]);
    let none = Histogram::new();
    let good = ObjectiveInputs {
        due: 1000,
        failed: 5,
        censored: 0,
        dropped: 0,
        cut: false,
        finished: 995,
        throughput_per_s: 1000.0,
        throughput_at_most_per_s: 1000.0,
        unchecked: 0,
        latency: RankedLatency::with_unfinished(&finished, &none),
        granted: 0,
    };
    check("p50<50ms", &good, "met: p50 10.0 ms");
    check("p99<50ms", &good, "met: p99 10.0 ms");
    // The p99.5 of the 995 finished requests is 100 ms; among the 1000 due, p99.5 is a failure.
    check("p99.5 <= 100ms", &good, "met: p99.5 100 ms");
    check("p99.6 <= 100ms", &good, "missed: p99.6 100 ms");
    check("max<2s", &good, "missed: max 100 ms");
    check("mean<10.5ms", &good, "met: mean 10.5 ms");
    check("mean<10ms", &good, "missed: mean 10.5 ms");
    check("failed<0.5%", &good, "missed: failed 0.50 %");
    check("failed<=0.5%", &good, "met: failed 0.50 %");
    check("rate>=1000/s", &good, "met: rate 1,000/s");
    check("rate>1000/s", &good, "missed: rate 1,000/s");
    check("rate>=60000/min", &good, "met: rate 1,000/s");
    // One more failure and p99 is missed, although no finished request is slower.
    let worse = ObjectiveInputs { due: 1001, failed: 6, ..good };
    check("p99<50ms", &worse, "missed: p99 10.0 ms");
}

#[test]
fn the_unfinished_cannot_meet_anything() {
    let (finished, hung) = (times(&[(1, 5)]), times(&[(5000, 5)]));
    let latency = RankedLatency::with_unfinished(&finished, &hung);
    let facts = ObjectiveInputs {
        due: 10,
        failed: 0,
        censored: 5,
        dropped: 0,
        cut: false,
        finished: 5,
        throughput_per_s: 0.5,
        throughput_at_most_per_s: 0.5,
        unchecked: 0,
        latency,
        granted: 0,
    };
    check("p50<50ms", &facts, "met: p50 ≥ 1.00 ms");
    check("p60<50ms", &facts, "missed: p60 ≥ 5.00 s");
    check("max<1h", &facts, "missed: max ≥ 5.00 s");
    check("mean<1h", &facts, "undecided: mean ≥ 2.50 s");
    check("failed<1%", &facts, "missed: failed 50.0 %");
}

#[test]
fn what_a_stop_cut_off_before_the_limit_had_passed_misses_nothing() {
    let (finished, cut_off) = (times(&[(1, 950)]), times(&[(20, 40), (5000, 10)]));
    let latency = RankedLatency::with_unfinished(&finished, &cut_off);
    let facts = ObjectiveInputs {
        due: 1000,
        failed: 0,
        censored: 50,
        dropped: 0,
        cut: true,
        finished: 950,
        throughput_per_s: 95.0,
        throughput_at_most_per_s: 95.0,
        unchecked: 0,
        latency,
        granted: 0,
    };
    check("p98<50ms", &facts, "met: p98 ≥ 20.0 ms");
    check("p99<50ms", &facts, "missed: p99 ≥ 20.0 ms");
    check("p98<10ms", &facts, "missed: p98 ≥ 20.0 ms");
    check("max<50ms", &facts, "missed: max ≥ 5.00 s");
    check("max<10s", &facts, "met: max ≥ 5.00 s");
    check("failed<1%", &facts, "met: failed 0 %");
    check("p98<50ms", &ObjectiveInputs { cut: false, ..facts }, "missed: p98 ≥ 20.0 ms");
}

#[test]
fn a_withheld_quantile_is_judged_by_counting_and_says_so() {
    let finished = times(&[(1, 20)]);
    let facts = ObjectiveInputs {
        due: 20,
        failed: 0,
        censored: 0,
        dropped: 0,
        cut: false,
        finished: 20,
        throughput_per_s: 2.0,
        throughput_at_most_per_s: 2.0,
        unchecked: 0,
        latency: RankedLatency::finished_only(&finished),
        granted: 0,
    };
    check("p99<50ms", &facts, "met: p99 –, few");
    check("p99<1ms", &facts, "missed: p99 –, few");
    check("p99<=1ms", &facts, "met: p99 –, few");
    let facts = ObjectiveInputs { due: 21, failed: 1, ..facts };
    check("p99<50ms", &facts, "missed: p99 –, few");
}

#[test]
fn of_nothing_only_a_rate_can_be_told() {
    let none = Histogram::new();
    let facts = ObjectiveInputs {
        due: 0,
        failed: 0,
        censored: 0,
        dropped: 0,
        cut: false,
        finished: 0,
        throughput_per_s: 0.0,
        throughput_at_most_per_s: 0.0,
        unchecked: 0,
        latency: RankedLatency::finished_only(&none),
        granted: 0,
    };
    for (objective, wanted) in [
        ("p99<1s", "undecided: p99 –"),
        ("mean<1s", "undecided: mean –"),
        ("max<1s", "undecided: max –"),
        ("failed<1%", "undecided: failed 0 %"),
        ("rate>1/s", "missed: rate 0/s"),
    ] {
        check(objective, &facts, wanted);
    }
}

#[test]
fn what_brunt_does_not_know_decides_nothing() {
    let (finished, none) = (times(&[(10, 950)]), Histogram::new());
    let unchecked = ObjectiveInputs {
        due: 1000,
        failed: 50,
        censored: 0,
        dropped: 0,
        cut: false,
        finished: 950,
        throughput_per_s: 950.0,
        throughput_at_most_per_s: 950.0,
        unchecked: 45,
        latency: RankedLatency::finished_only(&finished),
        granted: 0,
    };
    check("failed<1%", &unchecked, "undecided: failed 5.0 %");
    check("p99<50ms", &unchecked, "undecided: p99 10.0 ms");
    check("failed<0.5%", &unchecked, "missed: failed 5.0 %");
    check("failed<6%", &unchecked, "met: failed 5.0 %");
    let one_way =
        ObjectiveInputs { failed: 5, finished: 995, latency: RankedLatency::finished_only(&none), ..unchecked };
    let one_way = ObjectiveInputs { unchecked: 0, ..one_way };
    check("p99<50ms", &one_way, "undecided: p99 –");
    check("p99.9<50ms", &one_way, "missed: p99.9 –");
    check("mean<50ms", &one_way, "undecided: mean –");
    assert_eq!(Objective::parse("p99<50ms").unwrap().judge(&one_way).counted, None, "none was measured");
}

#[test]
fn names_stand_in_braces_and_may_hold_braces_and_comparisons() {
    for (text, name) in [
        ("p99<50ms", None),
        ("p99{checkout}<50ms", Some("checkout")),
        ("failed{GET /items/{id}}<1%", Some("GET /items/{id}")),
        ("p99.9{ SELECT 1 WHERE a >= 2 } <= 5s", Some("SELECT 1 WHERE a >= 2")),
        ("rate{a}>=1/s", Some("a")),
    ] {
        assert_eq!(Objective::parse(text).as_ref().map(Objective::name), Ok(name), "{text}");
    }
}

#[test]
fn mistakes_get_one_sentence() {
    for (text, wanted) in [
        ("p99", "objective `p99`: has no comparison; add one, for example p99<50ms, failed<0.1% or rate>=1000/s"),
        ("p99=50ms", "objective `p99=50ms`: a figure is never exactly equal; compare with <, <=, > or >="),
        ("p99>50ms", "objective `p99>50ms`: the comparison is the wrong way round; use p99<50ms"),
        ("rate<9/s", "objective `rate<9/s`: the comparison is the wrong way round; use rate>=1000/s"),
        ("errors<1%", "objective `errors<1%`: `errors` has a different name here; use failed<1%"),
        (
            "http_req_failed<0.01",
            "objective `http_req_failed<0.01`: `http_req_failed` has a different name here; use failed<1%",
        ),
        ("rps>100", "objective `rps>100`: `rps` has a different name here; use rate>100/s"),
        ("p(95)<200", "objective `p(95)<200`: `p(95)` has a different name here; use p95<200ms"),
        ("p(99.9) <= 2s", "objective `p(99.9) <= 2s`: `p(99.9)` has a different name here; use p99.9<=2s"),
        ("p99<50", "objective `p99<50`: the limit `50` is missing its unit; use 50s, 50ms or 50m"),
        ("p100<1s", "objective `p100<1s`: `p100` is not a metric; write p50, p99, p99.9, mean, max, failed or rate"),
        ("p0<1s", "objective `p0<1s`: `p0` is not a metric; write p50, p99, p99.9, mean, max, failed or rate"),
        (
            "latency<1s",
            "objective `latency<1s`: `latency` is not a metric; write p50, p99, p99.9, mean, max, failed or rate",
        ),
        (
            "p99{GET /a{b}<50ms",
            "objective `p99{GET /a{b}<50ms`: has an unclosed brace; write, for example, p99{checkout}<50ms",
        ),
        ("p99{ }<5s", "objective `p99{ }<5s`: has no name in the braces; write, for example, p99{checkout}<50ms"),
        (
            "p99{a}b<5s",
            "objective `p99{a}b<5s`: `p99b` is not a metric; write p50, p99, p99.9, mean, max, failed or rate",
        ),
        ("failed<5", "objective `failed<5`: `5` is not a share; use a percentage from 0% to 100%, such as 0.1%"),
    ] {
        assert_eq!(Objective::parse(text), Err(wanted.into()));
    }
}

#[test]
fn an_objective_may_be_about_any_stretch_and_stop_the_run() {
    let parsed = |text: &str| Objective::parse(text).map(|o| (o.stretch, o.stop_after, o.name().map(str::to_owned)));
    let name = |name: &str| Some(name.to_owned());
    for (text, wanted) in [
        ("p95<300ms", (None, None, None)),
        ("p95<300ms for 10s", (Some(Nanos::from_secs(10)), None, None)),
        ("failed<5% for 1m stop", (Some(Nanos::from_secs(60)), Some(Nanos::ZERO), None)),
        ("p95{wait for 3s}<300ms", (None, None, name("wait for 3s"))),
        ("p95{wait for 3s}<300ms for 2s stop", (Some(Nanos::from_secs(2)), Some(Nanos::ZERO), name("wait for 3s"))),
        ("failed<5% for 10s stop after 1m", (Some(Nanos::from_secs(10)), Some(Nanos::from_secs(60)), None)),
        ("p95{a stop after 3s}<1s stop after 30s", (None, Some(Nanos::from_secs(30)), name("a stop after 3s"))),
    ] {
        assert_eq!(parsed(text), Ok(wanted), "{text}");
    }
    for (text, said) in [
        (
            "failed<5% stop",
            "objective `failed<5% stop`: `stop` needs a time: write, for example, failed<5% for 10s stop",
        ),
        (
            "failed<5% stop after 3",
            "objective `failed<5% stop after 3`: the time to stop after `3` is missing its unit",
        ),
        ("failed<5% for 10", "objective `failed<5% for 10`: the time `10` is missing its unit; use 10s, 10ms or 10m"),
        ("failed<5% for 2h", "objective `failed<5% for 2h`: `2h` is not between 1s and 10m; use a time in that range"),
        ("failed<5% for 10s halt", "objective `failed<5% for 10s halt`: the time `10s halt` is not a time"),
    ] {
        let complaint = parsed(text).expect_err(text);
        assert!(complaint.starts_with(said), "{complaint}");
    }
}
