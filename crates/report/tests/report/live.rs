//! The live table: alignment in both languages, narrow terminals, parts of a run.

use brunt_record::{RunPart, Second};
use brunt_report::{Lang, LiveMode, SecondsTable};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use crate::run_builder::{FillSecond, ms, second};
use brunt_measure::Nanos;

fn pipe(lang: Lang, mode: LiveMode) -> SecondsTable {
    SecondsTable::new(lang, false, 0, false, mode)
}

fn busy(n: i64) -> Second {
    Second { users: 10, ..second(n).answered(1200, ms(8)).failing(3, "reset", "first_byte", Some("ECONNRESET")) }
}

#[test]
fn rows_are_for_their_second() {
    let mut live = pipe(Lang::En, LiveMode::Closed);
    assert_eq!(
        live.row(&busy(0)),
        " time   users         ok  failed       ok/s        p50        p99        max  MB/s in  status\n   \
         1s      10      1,200       3      1,200    8.00 ms    8.00 ms    8.00 ms     1.02  200:1,200"
    );
    let mut warm = second(-1).within(RunPart::Warmup);
    warm.warmup = 77;
    assert_eq!(
        live.row(&warm),
        "   0s       0          –       –          –          –          –          –        –  warm-up: 77 requests"
    );
    // Twenty requests support a median and no other quantile.
    assert_eq!(
        live.row(&Second { users: 10, ..second(1).answered(20, ms(8)) }),
        "   2s      10         20       0       20.0    8.00 ms          –    8.00 ms     0.02  200:20"
    );
    assert_eq!(
        live.row(&second(2).unfinished(10, ms(300)).within(RunPart::Drain)),
        "   3s       0          0       0          –   ≥ 300 ms          –   ≥ 300 ms        –  drain"
    );
    let drain = |unfinished| second(2).unfinished(unfinished, ms(300)).within(RunPart::Drain);
    assert!(
        SecondsTable::has_row(&drain(10)) && !SecondsTable::has_row(&drain(0)) && SecondsTable::has_row(&second(2))
    );
    let moment = |finished| Second { to_ns: second(2).from_ns, in_flight: 3, finished, ..second(2) };
    assert!(!SecondsTable::has_row(&moment(0)) && SecondsTable::has_row(&moment(1)), "of a worker that ended");
    // One answer in a very short second is not a rate of thousands per second.
    let mut short = second(3).answered(1, ms(8));
    short.to_ns = short.from_ns + 130_000;
    let figures = live.row(&short);
    assert_eq!(figures.split_whitespace().nth(4), Some("–"), "{figures}");
}

#[test]
fn a_second_that_lacks_agents_is_shown_once_with_the_share_that_is_there() {
    let mut rows = pipe(Lang::En, LiveMode::Closed);
    let part = |n, missing_share| Second { missing_share, ..busy(n) };
    let row = rows.provisional_row(&part(0, 0.25)).expect("a row");
    assert!(row.contains("  75 % 200:1,200\n75 % before the status codes"), "{row}");
    assert_eq!(rows.provisional_row(&part(0, 0.125)), None, "some more of it is no new row");
    assert!(rows.was_shown(&part(0, 0.0)) && !rows.was_shown(&part(1, 0.0)));
    let next = rows.provisional_row(&part(1, 0.5)).expect("a row");
    assert!(next.ends_with("  50 % 200:1,200"), "explained once: {next}");
    let lost = rows.row(&part(2, 1.0 / 3.0));
    assert!(lost.ends_with("  66 % 200:1,200"), "{lost}");
}

#[test]
fn seconds_that_brunt_delayed_are_marked_and_the_mark_is_explained_once() {
    let mut rows = pipe(Lang::En, LiveMode::Closed);
    let delayed = |n| {
        let mut s = busy(n);
        s.latency.service.record_n(ms(90), 100);
        s.latency.service_delayed.record_n(ms(90), 100);
        s.latency.service_undelayed.record_n(ms(1), 100);
        s
    };
    let said: Vec<String> = [busy(0), delayed(1), delayed(2)].iter().map(|s| rows.row(s)).collect();
    assert!(!said[0].contains('~'), "{}", said[0]);
    assert!(said[1].contains("~90.0 ms") && said[1].contains("\n~ marks seconds"), "{}", said[1]);
    assert!(said[2].contains("~90.0 ms") && !said[2].contains("marks"), "{}", said[2]);
}

#[test]
fn connections_opened_ahead_are_not_in_the_rate_of_the_second_after() {
    let mut first = second(0);
    (first.connections.opened, first.connections.ahead, first.connections.ahead_ns) = (1007, 1000, 5_000_000_000);
    first.connections.open = 1007;
    let row = pipe(Lang::En, LiveMode::Held).row(&first);
    let figures: Vec<&str> = row.lines().last().unwrap_or_default().split_whitespace().collect();
    assert_eq!(figures[1..5], ["1,007", "0", "0", "7.00"], "live, ok, failed, opened/s of {row}");
}

#[test]
fn eighty_cells_keep_the_status_and_the_part_of_the_run() {
    for (lang, mode, words) in [
        (Lang::En, LiveMode::Closed, ["status", "200:1,200", "drain", "warm-up"]),
        (Lang::En, LiveMode::Open, ["status", "200:1,200", "drain", "warm-up"]),
        (Lang::Zh, LiveMode::Closed, ["状态码", "200:1,200", "收尾", "预热"]),
        (Lang::Zh, LiveMode::Open, ["状态码", "200:1,200", "收尾", "预热"]),
    ] {
        let mut live = SecondsTable::new(lang, false, 80, true, mode);
        let mut warm = second(-1).within(RunPart::Warmup);
        warm.warmup = 77;
        let rows = [busy(0), second(1).within(RunPart::Drain), warm].map(|s| live.row(&s)).join("\n");
        for word in words {
            assert!(rows.contains(word), "{word}: {rows}");
        }
        assert!(rows.contains("p99"), "{rows}");
    }
}

#[test]
fn forty_cells_tell_drain_and_warm_up_from_seconds_of_the_window() {
    for (lang, drain, warm) in [(Lang::En, "drain", "warm"), (Lang::Zh, "收尾", "预热")] {
        let mut live = SecondsTable::new(lang, false, 40, true, LiveMode::Closed);
        live.row(&busy(0));
        let drained = live.row(&second(1).within(RunPart::Drain));
        assert!(drained.trim_start().starts_with(drain), "{drained}");
        let warmed = live.row(&second(-1).within(RunPart::Warmup));
        assert!(warmed.trim_start().starts_with(warm), "{warmed}");
        assert!(live.row(&busy(1)).trim_start().starts_with("2s"));
    }
}

#[test]
fn many_status_codes_are_one_line_however_narrow() {
    let mut many = busy(0);
    many.status = (100..100 + brunt_record::MAX_CODES as u64).map(|code| (code.to_string(), code * 1000)).collect();
    // Text chosen by a peer may be long and consist of wide characters.
    many.status.insert("状态".repeat(200), 7);
    many.status.insert(brunt_record::OTHER_CODES.into(), u64::MAX);
    for cells in [20, 40, 80, 120] {
        for (lang, mode) in [(Lang::En, LiveMode::Closed), (Lang::Zh, LiveMode::Open), (Lang::En, LiveMode::Held)] {
            let mut live = SecondsTable::new(lang, false, cells, true, mode);
            live.row(&busy(0));
            for part in [RunPart::Window, RunPart::Drain, RunPart::Warmup] {
                let row = live.row(&many.clone().within(part));
                assert_eq!(row.lines().count(), 1, "{row}");
                assert!(row.width() <= cells.max(45), "{cells} cells: {row}");
            }
            let row = live.row(&many);
            assert_eq!(row.contains("100:"), cells >= 80, "what there is room for: {row}");
        }
    }
    // In a pipe no line is cut, even one with the maximum number of codes.
    let row = pipe(Lang::En, LiveMode::Closed).row(&many);
    assert_eq!((row.lines().count(), row.matches(':').count()), (2, brunt_record::MAX_CODES + 2));
}

#[test]
fn headings_come_again_every_twenty_rows() {
    let mut live = pipe(Lang::Zh, LiveMode::Open);
    let headings: Vec<usize> = (0..45).filter(|&n| live.row(&busy(n as i64)).contains("时间")).collect();
    assert_eq!(headings, [0, 20, 40]);
}

/// Returns the positions, in cells, at which the columns of a line end.
fn ends(line: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    for (at, _) in line.match_indices("  ").chain([(line.len(), "")]) {
        if at > 0 && !line[..at].ends_with(' ') {
            ends.push(line[..at].width());
        }
    }
    ends
}

proptest! {
    #[test]
    fn columns_stay_under_their_headings(
        n in 0u64..10_000_000, took in 1u64..60_000_000_000, users in 0u32..100_000, open: bool, zh: bool,
    ) {
        let (lang, mode) = (if zh { Lang::Zh } else { Lang::En }, if open { LiveMode::Open } else { LiveMode::Closed });
        let second = Second { users, in_flight: users, ..second(0).answered(n, Nanos(took)) };
        let mut second = second;
        second.status.clear();
        let text = pipe(lang, mode).row(&second);
        let (heading, row) = text.split_once('\n').unwrap();
        let (heading, row) = (ends(heading), ends(row));
        prop_assert_eq!(&heading[..9], &row[..9]);
    }

    #[test]
    fn nothing_is_wider_than_the_terminal(cells in 20usize..200, open: bool, zh: bool) {
        let (lang, mode) = (if zh { Lang::Zh } else { Lang::En }, if open { LiveMode::Open } else { LiveMode::Closed });
        let mut live = SecondsTable::new(lang, false, cells, true, mode);
        let mut warm = second(-1).within(RunPart::Warmup);
        warm.warmup = 1_234_567;
        for s in [busy(0), warm] {
            for line in live.row(&s).lines() {
                prop_assert!(line.width() <= cells.max(45), "{} cells: {line:?}", line.width());
            }
        }
        prop_assert!(live.progress(&busy(5), Some(Nanos::from_secs(10)), None).width() < cells);
    }
}

#[test]
fn progress_shows_whichever_is_further_and_the_totals_so_far() {
    let s = Nanos::from_secs;
    let line = |from, total, asked| {
        let mut live = pipe(Lang::En, LiveMode::Closed);
        let mut warm = second(-1).within(RunPart::Warmup);
        warm.warmup = 77;
        live.progress(&warm, total, asked);
        live.progress(&second(from - 1).answered(300, ms(8)), total, asked);
        live.progress(&second(from).answered(600, ms(2)).failing(3, "reset", "first_byte", None), total, asked)
    };
    let totals = "900 ok  3 failed  450 ok/s  p99 8.00 ms";
    for (line, wanted) in [
        (line(4, Some(s(10)), None), "[█████·····]   50 %  5 s / 10 s"),
        (line(4, Some(s(10)), Some(1_003)), "[█████████·]   90 %  5 s / 10 s  903 / 1,003 requests"),
        (line(4, None, None), "5 s"),
        (line(98, Some(s(10)), None), "[██████████]  100 %  99 s / 10 s"),
    ] {
        assert_eq!(line, format!("{wanted}  {totals}"));
    }
}

#[test]
fn a_slow_run_has_p99_in_every_row_once_there_are_enough_requests() {
    for mode in [LiveMode::Closed, LiveMode::Open] {
        let mut live = SecondsTable::new(Lang::En, false, 80, true, mode);
        let rows: Vec<String> = (0..9).map(|n| live.row(&second(n).answered(250 + n as u64 % 2 * 40, ms(8)))).collect();
        assert!(rows[0].contains("  –  "), "{}", rows[0]);
        assert!(rows[1].contains("\nLatencies cover as many of the last seconds"), "{}", rows[1]);
        for row in &rows[1..] {
            let first = row.lines().next().unwrap_or_default();
            assert!(!first.contains('–') && first.matches("8.00 ms").count() == 3, "p50, p99 and max: {row}");
        }
        assert!(rows[2..].iter().all(|row| row.lines().count() == 1), "it is explained once");
    }
}

#[test]
fn eighty_cells_have_room_for_the_maximum() {
    for (lang, max) in [(Lang::En, "max"), (Lang::Zh, "最大")] {
        for mode in [LiveMode::Closed, LiveMode::Open, LiveMode::Held] {
            let mut live = SecondsTable::new(lang, false, 80, true, mode);
            let row = live.row(&busy(0));
            assert!(row.contains(max) && row.contains("p99"), "{row}");
        }
    }
}
