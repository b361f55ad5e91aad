//! Exit codes and their precedence.

use record::Probe;
use report::{Grade, Lang};

use crate::made_up::{Filled, Run, closed, ms, open, second};

fn good() -> Run {
    open(1000.0, 1).second(second(0).answered(1000, ms(20)))
}

fn off_by(percent: i128) -> Run {
    let mut s = second(0).answered(1000, ms(20));
    s.service_ns += s.service_ns * percent / 100;
    open(1000.0, 1).second(s)
}

fn wrongly_counted() -> Run {
    let mut s = second(0).answered(1000, ms(20));
    s.due += 1;
    open(1000.0, 1).second(s)
}

fn nobody_there() -> Run {
    let mut run = open(1.0, 1).ended(Some("aborted"));
    run.probe = Some(Probe { failure: Some("connection refused".into()), ..Probe::default() });
    run
}

fn refused() -> Run {
    open(1000.0, 1).second(second(0).failing(1000, "refused", "connect", Some("ECONNREFUSED")))
}

fn hung(n: u64) -> Run {
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
        ("a lower bound that misses", hung(10).objectives(missed), 10),
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

#[test]
fn a_cut_off_record_counts_what_was_open_as_without_an_end() {
    let mut s = second(0).answered(1000, ms(20));
    s.due += 7;
    let summary = closed(7, 1).second(s).ended(None).summary();
    assert_eq!(summary.totals.censored, 7);
    assert!(summary.totals.add_up());
    assert_eq!(summary.throughput_per_s(), 1000.0, "over the seconds that are there");
}

#[test]
fn a_violated_account_is_loud() {
    let text = wrongly_counted().written("text", Lang::En);
    assert!(text.contains("1,001 due ≠ 1,000 finished + 0 failed + 0 without an end"), "{text}");
    assert!(text.contains("This is a bug in brunt; no figure of this run stands"), "{text}");
    assert!(text.contains("Exit code 70"), "{text}");
}
