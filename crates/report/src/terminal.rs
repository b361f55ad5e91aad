//! The live view: one table row per second, with the counts of that second, and a line below it with the totals so far.
//!
//! It returns strings and writes no output itself. In a pipe, rows are plain and never cut. Quantiles require the same
//! minimum sample size as those of a run, so that in a slow run a row covers the seconds before it as well.

use brunt_measure::{Nanos, sanitize};
use brunt_record::{FirstResponse, LoadChange, Notice, RunPart, Second};

use crate::columns::{Paint, pad_left, pad_right, truncate, width, wrap};
use crate::finding::Grade;
use crate::formats::text::head;
use crate::judgement;
use crate::numbers;
use crate::ranked::{QuantileEstimate, RankedLatency, headline, heartbeats};
use crate::running::{RecentLatency, RunningTotals};
use crate::sentences as say;
use crate::text::{Lang, Text};

/// The kind of load, which determines the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveMode {
    /// Arrivals at a rate.
    Open,
    /// Users.
    Closed,
    /// Held connections.
    Held,
}

/// Number of rows after which the headings are repeated.
const ROWS_BETWEEN_HEADINGS: u32 = 20;
/// Length (in seconds) below which a partial second has counts but no rates.
const RATED_LEAST: f64 = 0.1;
/// Width below which the column of status codes is omitted.
const STATUS_LEAST: usize = 8;
/// Width of the column of status codes (also used for the labels of warm-up and drain) below which other columns are
/// dropped.
const STATUS_WANTED: usize = 10;

/// The live view of a run.
#[derive(Clone, Debug)]
pub struct SecondsTable {
    lang: Lang,
    paint: Paint,
    cells: Option<usize>,
    mode: LiveMode,
    rows: u32,
    recent: RecentLatency,
    totals: RunningTotals,
    /// Set once the mark of widened figures was explained.
    is_mark_explained: bool,
    /// Set once it was explained that latencies cover several seconds.
    is_span_explained: bool,
    /// Set once it was explained that some agents are not in a row.
    is_share_explained: bool,
    /// Start of the last second that was shown before all agents had told it.
    provisional: Option<i64>,
}

/// A column: heading, minimum width, and rank for removal on a narrow terminal (0: never).
struct LiveColumn {
    heading: Text,
    cells: usize,
    drop_rank: u8,
}

const fn column(heading: Text, cells: usize, spare: u8) -> LiveColumn {
    LiveColumn { heading, cells, drop_rank: spare }
}

const P50: Text = crate::text::text("p50", "p50");
const P99: Text = crate::text::text("p99", "p99");

fn columns(mode: LiveMode) -> [LiveColumn; 9] {
    if mode == LiveMode::Held {
        return [
            column(say::TIME, 5, 0),
            column(say::LIVE, 9, 0),
            column(say::OK, 9, 2),
            column(say::FAILED, 6, 0),
            column(say::OPENED_RATE, 9, 1),
            column(say::PING_P50, 9, 4),
            column(say::PING_P99, 9, 0),
            column(say::MAX, 9, 3),
            column(say::MEGABYTES, 6, 5),
        ];
    }
    let load = if mode == LiveMode::Open { say::IN_FLIGHT } else { say::USERS };
    // The successes of a whole second are also its rate.
    [
        column(say::TIME, 5, 0),
        column(load, 6, 3),
        column(say::OK, 9, 0),
        column(say::FAILED, 6, 0),
        column(say::RATE, 9, 4),
        column(P50, 9, 2),
        column(P99, 9, 0),
        column(say::MAX, 9, 1),
        column(say::MEGABYTES, 6, 5),
    ]
}

/// Returns `true` if the figure of a second has too wide a band to trust it.
fn is_widened(figure: QuantileEstimate) -> bool {
    figure.grade() == Grade::Fail
}

/// Formats the figure of a second; one that cannot be trusted has a mark.
fn marked(figure: QuantileEstimate) -> String {
    if is_widened(figure) { format!("~{}", figure.figure.show()) } else { figure.figure.show() }
}

/// Formats the share of the run whose figures are in a second; never 100 %.
fn share_there(s: &Second) -> String {
    format!("{:.0} %", ((1.0 - s.missing_share).clamp(0.0, 1.0) * 100.0).floor())
}

impl SecondsTable {
    /// Creates a view that is `cells` cells wide; the width is used only on a terminal.
    pub fn new(lang: Lang, color: bool, cells: usize, is_tty: bool, mode: LiveMode) -> SecondsTable {
        SecondsTable {
            lang,
            paint: Paint(color),
            cells: is_tty.then_some(cells.max(20)),
            mode,
            rows: 0,
            recent: RecentLatency::default(),
            totals: RunningTotals::default(),
            is_mark_explained: false,
            is_span_explained: false,
            is_share_explained: false,
            provisional: None,
        }
    }

    /// Formats the first answer, before the table.
    pub fn probe(&self, probe: &FirstResponse) -> String {
        self.wrapped(&head::first_answer(probe, self.lang))
    }

    /// Formats a notice, between two rows.
    pub fn notice(&self, notice: &Notice) -> String {
        self.wrapped(&self.paint.yellow(&format!("! {}", judgement::notice(notice, self.lang))))
    }

    /// Formats a coming change of load, between two rows.
    pub fn changed(&self, changed: &LoadChange) -> String {
        self.wrapped(&self.paint.yellow(&format!("→ {}", judgement::change(changed, self.lang))))
    }

    fn wrapped(&self, text: &str) -> String {
        self.cells.map_or_else(|| text.to_owned(), |cells| wrap(text, cells))
    }

    /// Returns `false` for a drain without requests to wait for, whose row would be empty, and for what workers told of the
    /// moment in which they ended unless requests ended in it.
    pub fn has_row(s: &Second) -> bool {
        let ended = s.finished + s.failed + s.censored + s.connections.lost;
        let waited_for = s.part != RunPart::Drain || s.in_flight + s.waiting > 0;
        ended > 0 || (waited_for && s.to_ns > s.from_ns)
    }

    /// Returns the row of a second of which some agents have told nothing yet, with the share that is there. The row of the
    /// whole second is not shown later.
    pub fn provisional_row(&mut self, s: &Second) -> Option<String> {
        let is_new = !self.was_shown(s) && SecondsTable::has_row(s);
        is_new.then(|| {
            self.provisional = Some(s.from_ns);
            self.row(s)
        })
    }

    /// Returns `true` if a second was shown before it was whole.
    pub fn was_shown(&self, s: &Second) -> bool {
        self.provisional.is_some_and(|until| s.from_ns <= until)
    }

    /// Returns the row of a second, without a trailing newline, preceded by the headings if they are due, and followed
    /// by explanations of what is new in it.
    pub fn row(&mut self, s: &Second) -> String {
        self.recent.add(self.latency_of(s), s.part);
        let shown = self.shown();
        let mut out = String::new();
        if self.rows.is_multiple_of(ROWS_BETWEEN_HEADINGS) {
            let mut heading: Vec<String> =
                shown.iter().map(|(c, cells, _)| pad_left(self.lang.of(c.heading), *cells)).collect();
            if self.status_room(&shown).is_none_or(|room| room >= STATUS_LEAST) {
                heading.push(self.lang.of(say::STATUS).into());
            }
            out += &self.paint.bold(&heading.join("  "));
            out.push('\n');
        }
        self.rows += 1;
        out += &self.figures(s, &shown);
        if !self.is_mark_explained && self.is_marked(s) {
            self.is_mark_explained = true;
            out.push('\n');
            out += &self.wrapped(&self.paint.dim(self.lang.of(say::SECOND_NOTE)));
        }
        if !self.is_span_explained && self.recent.is_of_several() && s.part == RunPart::Window {
            self.is_span_explained = true;
            out.push('\n');
            out += &self.wrapped(&self.paint.dim(self.lang.of(say::SPAN_NOTE)));
        }
        if !self.is_share_explained && s.missing_share > 0.0 {
            self.is_share_explained = true;
            out.push('\n');
            let said = self.lang.fill(say::SHARE_NOTE, &[("share", &share_there(s))]);
            out += &self.wrapped(&self.paint.dim(&said));
        }
        out
    }

    /// Returns the latency that the rows show.
    fn latency_of<'s>(&self, s: &'s Second) -> RankedLatency<'s> {
        match self.mode {
            LiveMode::Held => heartbeats(&s.latency),
            LiveMode::Open | LiveMode::Closed => headline(&s.latency, self.mode == LiveMode::Open),
        }
    }

    /// Returns `true` if a figure of the second's row is marked: its band is too wide to trust the figure.
    fn is_marked(&self, s: &Second) -> bool {
        s.part != RunPart::Warmup
            && self.mode != LiveMode::Held
            && [0.5, 0.99].iter().any(|q| is_widened(self.recent.ranked().quantile(*q)))
    }

    /// Returns the columns that fit, with their widths and positions.
    fn shown(&self) -> Vec<(LiveColumn, usize, usize)> {
        let all = columns(self.mode).into_iter().enumerate();
        let mut shown: Vec<(LiveColumn, usize, usize)> = all
            .map(|(place, c)| (width(self.lang.of(c.heading)).max(c.cells), c, place))
            .map(|(w, c, p)| (c, w, p))
            .collect();
        while self.status_room(&shown).is_some_and(|room| room < STATUS_WANTED) {
            let Some(most) = shown.iter().map(|(c, ..)| c.drop_rank).max().filter(|&spare| spare > 0) else { break };
            shown.retain(|(c, ..)| c.drop_rank != most);
        }
        shown
    }

    /// Returns the number of cells left for status codes: `None` if unlimited, 0 if even the other columns do not fit.
    fn status_room(&self, shown: &[(LiveColumn, usize, usize)]) -> Option<usize> {
        let taken: usize = shown.iter().map(|(_, cells, _)| cells + 2).sum();
        self.cells.map(|cells| (cells + 2).saturating_sub(taken).saturating_sub(2))
    }

    fn figures(&self, s: &Second, shown: &[(LiveColumn, usize, usize)]) -> String {
        let no_room = self.status_room(shown).is_some_and(|room| room < STATUS_LEAST);
        let mut values = self.values(s);
        match s.part {
            // The label does not fit after the figures, so it replaces the time, which follows from the previous row.
            RunPart::Warmup if no_room => values[0] = self.lang.of(say::WARMUP_SHORT).into(),
            RunPart::Drain if no_room => values[0] = self.lang.of(say::DRAIN).into(),
            _ => {}
        }
        let mut cells: Vec<String> = shown
            .iter()
            .map(|(_, cells, place)| {
                let text = pad_left(&values[*place], *cells);
                if *place == 3 && s.failed + s.connections.lost > 0 { self.paint.red(&text) } else { text }
            })
            .collect();
        let share = (s.missing_share > 0.0).then(|| share_there(s));
        let mark = match s.part {
            RunPart::Warmup => self.lang.fill(say::WARMUP, &[("n", &numbers::count(s.warmup))]),
            RunPart::Drain => self.lang.of(say::DRAIN).into(),
            RunPart::Window => String::new(),
        };
        let codes = s.status.iter().map(|(code, n)| format!("{}:{}", sanitize::line(code), numbers::count(*n)));
        let last: Vec<String> = share.into_iter().chain(Some(mark)).filter(|m| !m.is_empty()).chain(codes).collect();
        let last = last.join(" ");
        match self.status_room(shown) {
            Some(room) if room < STATUS_LEAST => {}
            Some(room) => cells.push(truncate(&last, room)),
            None => cells.push(last),
        }
        let row = cells.join("  ").trim_end().to_owned();
        if s.part == RunPart::Window { row } else { self.paint.dim(&row) }
    }

    /// Returns the cells of a row, in the order of [`columns`].
    fn values(&self, s: &Second) -> [String; 9] {
        let length_s = (s.to_ns - s.from_ns) as f64 / 1e9;
        let per_s = |n: u64| n as f64 / length_s;
        // A count over a very short time is not a rate, and requests that end after the window are not in the
        // throughput.
        let has_rate = length_s >= RATED_LEAST && s.part != RunPart::Drain;
        let rate = |shown: fn(f64) -> String, n| if has_rate { shown(per_s(n)) } else { numbers::WITHHELD.to_owned() };
        let time = format!("{:.0}s", (s.to_ns as f64 / 1e9).round());
        let load = if self.mode == LiveMode::Open { s.in_flight.saturating_add(s.waiting) } else { s.users };
        let load = numbers::count(u64::from(load));
        if s.part == RunPart::Warmup {
            let none = || numbers::WITHHELD.to_owned();
            return [time, load, none(), none(), none(), none(), none(), none(), none()];
        }
        let latency = self.recent.ranked();
        if self.mode == LiveMode::Held {
            return [
                time,
                numbers::count(u64::from(s.connections.open)),
                numbers::count(s.finished),
                numbers::count(s.failed + s.connections.failed + s.connections.lost),
                rate(numbers::rate, s.connections.opened.saturating_sub(s.connections.ahead)),
                latency.quantile(0.5).figure.show(),
                latency.quantile(0.99).figure.show(),
                latency.max().show(),
                rate(numbers::megabytes_per_s, s.bytes.received),
            ];
        }
        [
            time,
            load,
            numbers::count(s.finished),
            numbers::count(s.failed),
            rate(numbers::rate, s.successes()),
            marked(latency.quantile(0.5)),
            marked(latency.quantile(0.99)),
            latency.max().show(),
            rate(numbers::megabytes_per_s, s.bytes.received),
        ]
    }

    /// Returns the line of progress after another second: a bar, elapsed and total time, and the totals of the run so far.
    /// The line has no newline, because a terminal overwrites it.
    pub fn progress(&mut self, second: &Second, total: Option<Nanos>, asked: Option<u64>) -> String {
        const BAR: usize = 10;
        self.totals.add(second, self.mode == LiveMode::Open);
        let (elapsed, done) = (Nanos(second.to_ns.max(0) as u64), self.totals.ended);
        let by_time = total.filter(|t| t.0 > 0).map(|t| elapsed.as_secs_f64() / t.as_secs_f64());
        let by_count = asked.filter(|&n| n > 0).map(|n| done as f64 / n as f64);
        let share = by_time.into_iter().chain(by_count).fold(None, |a: Option<f64>, b| Some(a.map_or(b, |a| a.max(b))));
        let mut parts = Vec::new();
        if let Some(share) = share {
            let filled = (share.clamp(0.0, 1.0) * BAR as f64).floor() as usize;
            parts.push(format!("[{}{}]", "█".repeat(filled), "·".repeat(BAR - filled)));
            parts.push(pad_left(&format!("{:.0} %", (share.clamp(0.0, 1.0) * 100.0).floor()), 5));
        }
        let clock = |t: Nanos| format!("{} s", t.0 / 1_000_000_000);
        parts.push(total.map_or_else(|| clock(elapsed), |t| format!("{} / {}", clock(elapsed), clock(t))));
        if let Some(asked) = asked {
            let requests = format!("{} / {}", numbers::count(done), numbers::count(asked));
            parts.push(self.lang.fill(say::REQUESTS_ASKED, &[("n", &requests)]));
        }
        parts.extend(self.totals_so_far());
        let line = parts.join("  ");
        self.cells.map_or_else(|| line.clone(), |cells| pad_right(&truncate(&line, cells - 1), cells - 1))
    }

    /// Returns the totals of the run so far, the most important first.
    fn totals_so_far(&self) -> Vec<String> {
        let totals = &self.totals;
        let counts = [totals.succeeded, totals.failed].map(numbers::count);
        let mut parts = vec![
            self.lang.fill(say::SUCCEEDED_SO_FAR, &[("n", &counts[0])]),
            self.lang.fill(say::FAILED_SO_FAR, &[("n", &counts[1])]),
        ];
        let rate = totals.rate_per_s().filter(|_| self.mode != LiveMode::Held);
        parts.extend(rate.map(|rate| self.lang.fill(say::RATE_SO_FAR, &[("rate", &numbers::rate(rate))])));
        let p99 = totals.latency().quantile(0.99);
        if totals.latency().count() > 0 && self.mode != LiveMode::Held {
            parts.push(format!("p99 {}", marked(p99)));
        }
        parts
    }
}
