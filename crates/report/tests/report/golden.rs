//! Complete pages, in both languages. `UPDATE_GOLDEN=1 cargo test -p brunt-report` rewrites them; review the
//! diff.

use std::path::PathBuf;

use brunt_measure::Nanos;
use brunt_plan::Change;
use brunt_record::{Notice, RunEvent, RunPart, Subject};
use brunt_report::Lang;

use crate::run_builder::{FillSecond, RunBuilder, closed, ms, open, second};

fn check(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == actual, "{name} differs; it would now be:\n{actual}");
}

/// Creates an open run that covers most sections of a report.
fn open_run() -> RunBuilder {
    let mut before = second(-1).within(RunPart::Warmup);
    before.warmup = 1000;
    let mut run = open(1000.0, 6).second(before).objectives(&["p99<50ms", "p99.9<=1s", "failed<0.1%", "rate>=900/s"]);
    run.plan.warmup = Nanos::from_secs(1);
    for n in 0..6 {
        let mut s = second(n).answered(700, Nanos::from_micros(900)).answered(250, ms(2)).answered(45, ms(15));
        s.connections.opened = if n == 0 { 10 } else { 0 };
        s.latency.connect.record_n(Nanos::from_micros(120), s.connections.opened);
        run = run.second(if n == 2 { s.failing(6, "wrong_status", "transfer", None) } else { s });
    }
    run.elapsed = Nanos::from_secs(8);
    run.second(second(6).unfinished(3, ms(5_000)).within(RunPart::Drain)).example(
        "wrong_status",
        "transfer",
        None,
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "HTTP/1.1 503 Service Unavailable\r\n\r\n"),
    )
}

/// Creates a small closed run in which nearly every request fails.
fn closed_run() -> RunBuilder {
    closed(1, 2)
        .second(second(0).answered(20, ms(40)).failing(3, "refused", "connect", Some("ECONNREFUSED")))
        .second(second(1).answered(10, ms(50)).failing(40, "no_ports", "connect", Some("EADDRNOTAVAIL")))
        .notice("only_errors", &[("count", "3"), ("kind", "3 × refused (ECONNREFUSED)")])
        .ended(Some("interrupted"))
}

/// Creates a run whose rate was changed and that was paused.
fn changed_run() -> RunBuilder {
    let mut run = open(100.0, 8).changed(1_300, Change::Rate(150.0)).changed(3_000, Change::Pause);
    run = run.changed(5_000, Change::Resume);
    for n in 0..8 {
        let many = [100, 135, 150, 0, 0, 150, 150, 150][n as usize];
        run = run.second(second(n).answered(many, ms(3)));
    }
    run
}

/// Creates a run whose users increased and were paused twice, the second time until the end.
fn changed_users() -> RunBuilder {
    let mut run = closed(10, 6).changed(-500, Change::Users(11)).changed(2_000, Change::Pause);
    run = run.changed(3_000, Change::Resume).changed(5_000, Change::Pause);
    for n in 0..6 {
        let many = [1000, 1000, 0, 1000, 1000, 0][n as usize];
        run = run.second(second(n).answered(many, ms(10)));
    }
    run
}

#[test]
fn pages_of_runs_whose_load_was_changed() {
    for (lang, suffix) in [(Lang::En, "en"), (Lang::Zh, "zh")] {
        for (name, run) in [("changed", changed_run()), ("changed-users", changed_users())] {
            check(&format!("{name}.{suffix}.txt"), &run.written("text", lang));
            check(&format!("{name}.{suffix}.md"), &run.written("markdown", lang));
        }
    }
    check("changed.json", &changed_run().written("json", Lang::En));
    check("changed.junit.xml", &changed_run().written("junit", Lang::En));
}

#[test]
fn pages_of_a_run_of_many_agents() {
    let run = crate::agents::with_a_lost_agent();
    for (lang, suffix) in [(Lang::En, "en"), (Lang::Zh, "zh")] {
        check(&format!("agents.{suffix}.txt"), &run.written("text", lang));
        check(&format!("agents.{suffix}.md"), &run.written("markdown", lang));
        check(&format!("agents.{suffix}.brief.txt"), &on_a_screen(&run, lang, Some(80)));
    }
    check("agents.json", &run.written("json", Lang::En));
}

#[test]
fn pages() {
    for (lang, suffix) in [(Lang::En, "en"), (Lang::Zh, "zh")] {
        check(&format!("open.{suffix}.txt"), &open_run().written("text", lang));
        check(&format!("closed.{suffix}.txt"), &closed_run().written("text", lang));
        check(&format!("open.{suffix}.md"), &open_run().written("markdown", lang));
        check(&format!("closed.{suffix}.md"), &closed_run().written("markdown", lang));
    }
    check("open.junit.xml", &open_run().written("junit", Lang::En));
    check("open.json", &open_run().written("json", Lang::En));
    check("open.csv", &open_run().written("csv", Lang::En));
}

/// Returns the summary for a screen of this width.
pub fn on_a_screen(run: &RunBuilder, lang: Lang, cells: Option<usize>) -> String {
    let style = brunt_report::Style { lang, cells, is_brief: true, ..brunt_report::Style::default() };
    let mut out = Vec::new();
    brunt_report::format("text").unwrap().write(&run.summary(), &Vec::new(), style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_screen_without_room_for_all_notices_still_tells_of_the_agents() {
    let mut run = crate::agents::with_a_lost_agent();
    for n in 0..9 {
        let facts = [("agent", format!("us-{n}")), ("why", "nothing heard for 90 s".to_owned())];
        run.events.push(RunEvent::Notice(Notice::new(Subject::AgentLost, facts)));
    }
    let page = on_a_screen(&run, Lang::En, Some(80));
    assert!(page.contains("\nAgents       4 agents; "), "{page}");
    assert!(!page.contains("us-8 was lost"), "{page}");
}

#[test]
fn summaries_for_a_screen() {
    for (lang, suffix) in [(Lang::En, "en"), (Lang::Zh, "zh")] {
        for (name, run) in [("open", open_run()), ("closed", closed_run()), ("changed", changed_run())] {
            check(&format!("{name}.{suffix}.brief.txt"), &on_a_screen(&run, lang, Some(80)));
        }
    }
}

#[test]
fn a_screen_of_24_lines_holds_the_answer() {
    let runs = || [open_run(), closed_run(), changed_run(), changed_users()];
    for (lang, words) in [
        (Lang::En, ["Throughput", "p50", "p95", "p99", "max", "failed", "Exit code"]),
        (Lang::Zh, ["吞吐量", "p50", "p95", "p99", "最大", "失败", "退出码"]),
    ] {
        for run in runs() {
            let text = on_a_screen(&run, lang, Some(80));
            // One line is the prompt, and one separates the summary from the table of the run.
            assert!(text.lines().count() <= 22, "{} lines:\n{text}", text.lines().count());
            for word in words {
                assert!(text.contains(word), "{word}:\n{text}");
            }
            for line in text.lines() {
                assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
            }
            // Without a terminal the same lines are chosen, and none is wrapped.
            let piped = on_a_screen(&run, lang, None);
            let words = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(words(&piped), words(&text));
        }
    }
}

#[test]
fn a_reason_stands_once() {
    for run in [open_run(), closed_run()] {
        let brief = on_a_screen(&run, Lang::En, Some(200));
        let summary = run.summary();
        for text in [brief, run.written("text", Lang::En)] {
            for found in &summary.trust.findings {
                assert!(text.matches(&found.sentence(Lang::En)).count() <= 1, "{}:\n{text}", found.sentence(Lang::En));
            }
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for (lang, run) in
        [(Lang::En, open_run()), (Lang::Zh, open_run()), (Lang::En, closed_run()), (Lang::Zh, closed_run())]
    {
        let style = brunt_report::Style { lang, cells: Some(80), ..brunt_report::Style::default() };
        let mut out = Vec::new();
        brunt_report::format("text").unwrap().write(&run.summary(), &Vec::new(), style, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for line in text.lines() {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
        }
        let words = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(words(&text), words(&run.written("text", lang)), "nothing is lost");
    }
}

#[test]
fn tables_lose_columns_on_a_narrow_terminal_and_no_cell_is_broken() {
    for (lang, cells) in [(Lang::En, 40), (Lang::Zh, 40), (Lang::En, 60), (Lang::Zh, 30)] {
        for run in [open_run(), closed_run()] {
            let style = brunt_report::Style { lang, cells: Some(cells), ..brunt_report::Style::default() };
            let mut out = Vec::new();
            brunt_report::format("text").unwrap().write(&run.summary(), &Vec::new(), style, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            // The continuation of a wrapped line is indented further than the rows.
            let begins = ["Where the time went", "耗时分解"];
            let table =
                text.lines().skip_while(|line| !begins.contains(line)).skip(2).take_while(|line| !line.is_empty());
            let rows: Vec<&str> = table.collect();
            assert!(!rows.is_empty() && rows.iter().all(|row| !row.starts_with("   ")), "{text}");
            assert!(!text.lines().any(|line| line.trim_start().starts_with('█')), "{text}");
        }
    }
}
