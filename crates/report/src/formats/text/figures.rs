//! The headline and its supporting figures: quantiles, throughput, distribution, phases.

use brunt_measure::Nanos;
use brunt_measure::quantile::minimum_count;
use brunt_plan::{Arrivals, Change, Load, Stage};
use brunt_record::{End, LoadChange};

use super::{TextPage, head};
use crate::bars;
use crate::columns::table;
use crate::finding::Grade;
use crate::numbers;
use crate::ranked::{ALL_NAMES, Figure, QUANTILES, QuantileEstimate, RankedLatency, grade_of_width, heartbeats};
use crate::sentences as say;
use crate::summary::{Headroom, Summary};
use crate::text::{Lang, Text};

/// Adds the main result of the run, above all other figures; under closed load, with a warning about what it may hide.
pub(super) fn headline(page: &mut TextPage, summary: &Summary) {
    if summary.only_holds() {
        return page.section(&heading(summary, page.lang));
    }
    let ranked = summary.headline();
    page.section(&(heading(summary, page.lang) + &sample_size(summary, page.lang)));
    let answered = failed_responses(summary);
    if ranked.count() == 0 && answered.count() > 0 {
        let heading = page.lang.fill(say::ONLY_FAILED_RESPONSES, &[("n", &numbers::count(answered.count()))]);
        page.indented_line(&heading);
        return quantiles(page, &answered);
    }
    if ranked.count() == 0 {
        return page.indented_line(page.translate(no_latency(summary)));
    }
    quantiles(page, &ranked);
    if shows_bands(summary, &ALL_NAMES) {
        page.indented_line(page.translate(say::BAND_NOTE));
    }
    if !summary.open {
        hidden(summary, page.lang).iter().for_each(|line| page.indented_line(line));
    }
}

/// Returns `true` if a figure of the run, or of one of its names, is printed as a band.
pub(crate) fn shows_bands(summary: &Summary, names: &[&str]) -> bool {
    let shows = |ranked: RankedLatency<'_>| ranked.shows_bands(names);
    shows(summary.headline())
        || summary.by_name().any(|row| shows(row.totals.ranked()))
        || summary.scenarios().any(|row| shows(row.totals.ranked()))
        || summary.spans().any(|row| shows(row.duration()) || shows(row.active()))
}

/// Returns the latency of responses that count as failures.
pub(crate) fn failed_responses(summary: &Summary) -> RankedLatency<'_> {
    RankedLatency::finished_only(&summary.totals.latency.failed_responses)
}

/// Adds the quantiles that enough requests support, and the extremes.
fn quantiles(page: &mut TextPage, ranked: &RankedLatency<'_>) {
    let enough = ranked.count() >= minimum_count(0.5);
    let mut rows = Vec::new();
    if enough && !lacks_intervals(ranked) {
        rows.push(vec![String::new(), String::new(), page.translate(say::INTERVAL).to_owned()]);
    }
    rows.extend(ranked.show_min(page.lang).map(|min| vec![page.translate(say::MIN).into(), min, String::new()]));
    for named in QUANTILES.iter().filter(|_| enough) {
        let q = ranked.quantile(named.q);
        rows.push(vec![named.name.into(), q.show(page.lang), interval(q)]);
    }
    rows.push(vec![page.translate(say::MAX).into(), ranked.show_max(page.lang)]);
    rows.push(vec![page.translate(say::MEAN).into(), ranked.show_mean(page.lang)]);
    rows.push(vec![page.translate(say::DEVIATION).into(), ranked.deviation().show()]);
    table(&rows).iter().for_each(|line| page.indented_line(line));
    footnotes(ranked, page.lang, &ALL_NAMES).iter().for_each(|line| page.indented_line(line));
    if lacks_intervals(ranked) {
        page.indented_line(page.translate(say::NO_INTERVALS));
    }
}

/// Returns the warning that stalls may be hidden: under closed load, waiting users send no requests.
pub(super) fn hidden(summary: &Summary, lang: Lang) -> Vec<String> {
    // While the load is paused, there are no requests that a stall could hide.
    let loaded_s = (summary.window - summary.paused()).as_secs_f64();
    let per_s = if loaded_s > 0.0 { summary.totals.finished_in_window as f64 / loaded_s } else { 0.0 };
    if per_s.round() < 1.0 {
        return Vec::new();
    }
    let mut lines = vec![lang.fill(say::HIDDEN, &[("n", &numbers::count(per_s.round() as u64))])];
    // With a flow, the rate is in iterations.
    if summary.scenarios().next().is_some() {
        return lines;
    }
    let visits = summary.spans().next().map_or(summary.totals.finished_in_window, |row| row.totals.finished_in_window);
    let visits_per_s = visits as f64 / loaded_s;
    if visits_per_s >= 2.0 {
        lines.push(lang.fill(say::HIDDEN_OPEN, &[("n", &format!("{:.0}", visits_per_s / 2.0))]));
    }
    lines
}

/// Returns the heading: response time under open load, or service time at a number of users under closed load, which is
/// never presented as the latency that a visitor experiences. The number of users is the requested one, because none
/// are left at the end of a run with a fixed number of requests.
pub(crate) fn heading(summary: &Summary, lang: Lang) -> String {
    if summary.only_holds() {
        let lost = summary.totals.connections.lost;
        let facts = [("n", &*numbers::count(summary.totals.max_established)), ("lost", &*numbers::count(lost))];
        return lang.fill(if lost == 0 { say::HELD } else { say::HELD_LOST }, &facts);
    }
    if summary.open {
        return lang.of(say::RESPONSE_HEADLINE).into();
    }
    let users = match summary.started.as_ref().map(|s| &s.plan.load) {
        Some(Load::Closed { stages, .. }) => head::users(&with_changes(stages, &summary.changes), lang),
        _ => lang.fill(say::USERS_N, &[("n", &numbers::count(u64::from(summary.totals.users)))]),
    };
    lang.fill(say::SERVICE_HEADLINE, &[("users", &users)])
}

/// Merges changes into the stages of users: if the users were changed during the run, the result is a single stage from
/// the fewest to the most.
fn with_changes(stages: &[Stage], changes: &[LoadChange]) -> Vec<Stage> {
    let changed = changes.iter().filter_map(|changed| match changed.change {
        Change::Users(users) => Some(f64::from(users)),
        Change::Rate(_) | Change::Pause | Change::Resume | Change::Drain => None,
    });
    let changed: Vec<f64> = changed.collect();
    if changed.is_empty() {
        return stages.to_vec();
    }
    let all = || stages.iter().flat_map(|stage| [stage.from, stage.to]).chain(changed.iter().copied());
    let (from, to) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    vec![Stage { lasts: Nanos::ZERO, from, to }]
}

/// Returns the number of requests that the figures are based on, in brackets.
pub(crate) fn sample_size(summary: &Summary, lang: Lang) -> String {
    let ranked = summary.headline();
    let n = numbers::count(ranked.count());
    let mut how_many = match ranked.unfinished() {
        0 => lang.fill(say::RANKED, &[("n", &n)]),
        u => lang.fill(say::RANKED_UNFINISHED, &[("n", &n), ("unfinished", &numbers::count(u))]),
    };
    let apart = summary.failed_outside_headline();
    if apart > 0 {
        how_many += &lang.fill(say::FAILED_APART, &[("failed", &numbers::count(apart))]);
    }
    lang.fill(say::BRACKETS, &[("inner", &how_many)])
}

/// Returns the reason why there is no latency to show.
pub(crate) fn no_latency(summary: &Summary) -> Text {
    match (summary.totals.due, summary.totals.one_way) {
        (0, _) if summary.end != End::Completed && summary.totals.warmup > 0 => say::NOTHING_BUT_WARMUP,
        (0, _) if summary.end != End::Completed => say::NOTHING_BEGUN,
        (0, _) => say::NOTHING_DUE,
        (_, 0) => say::NO_LATENCY,
        _ => say::NO_LATENCY_ONE_WAY,
    }
}

/// Returns `true` if quantiles are shown without intervals because the run is too short to compute them.
pub(crate) fn lacks_intervals(ranked: &RankedLatency<'_>) -> bool {
    let median = ranked.quantile(0.5);
    median.figure != Figure::Withheld && median.interval.is_none()
}

/// Formats the 95 % interval of a shown quantile.
pub(crate) fn interval(quantile: QuantileEstimate) -> String {
    let Some([low, high]) = quantile.interval else { return String::new() };
    let low = low.map_or("0".into(), numbers::duration);
    format!("{low} – {}", high.map_or("∞".into(), numbers::duration))
}

/// Returns explanations of those of the named quantiles that are withheld, and of lower bounds.
pub(super) fn footnotes(ranked: &RankedLatency<'_>, lang: Lang, names: &[&str]) -> Vec<String> {
    let least = minimum_count(0.5);
    let mut lines = Vec::new();
    if ranked.count() < least {
        lines.push(lang.fill(say::NO_QUANTILES, &[("needed", &numbers::count(least))]));
    }
    for named in QUANTILES.iter().filter(|named| names.contains(&named.name)) {
        let needed = minimum_count(named.q);
        if (least..needed).contains(&ranked.count()) {
            let facts = [("names", named.name), ("needed", &*numbers::count(needed))];
            lines.push(lang.fill(say::TOO_FEW, &facts));
        }
    }
    if ranked.unfinished() > 0 {
        lines.push(lang.of(say::LOWER_BOUND_NOTE).to_owned());
    }
    lines
}

pub(super) fn throughput(page: &mut TextPage, summary: &Summary) {
    if !summary.only_holds() {
        page.section(page.translate(say::THROUGHPUT));
        throughput_lines(summary, page.lang).iter().for_each(|line| page.indented_line(line));
    }
}

/// Returns the successes per second; under open load, also the requested rate.
pub(crate) fn throughput_lines(summary: &Summary, lang: Lang) -> Vec<String> {
    let totals = &summary.totals;
    let (least, most) = (summary.throughput_per_s(), summary.throughput_at_most_per_s());
    let rate = match grade_of_width(1.0 - least / most.max(f64::MIN_POSITIVE)) {
        Grade::Fail if most > 0.0 => show_rate_band([least, most], lang),
        _ => brunt_measure::format_rate(least),
    };
    let mut line = lang.fill(say::THROUGHPUT_LINE, &[("rate", &rate), ("window", &numbers::duration(summary.window))]);
    let paused = summary.paused();
    if paused > Nanos::ZERO {
        line += &lang.fill(say::THROUGHPUT_PAUSED, &[("paused", &numbers::duration(paused))]);
    }
    let mut lines = vec![line];
    // With a flow, the rate is in iterations and is shown in their rows.
    if summary.open && summary.spans().next().is_none() {
        let due = numbers::rate(summary.per_s(totals.due));
        let facts = [("due", &*due), ("sent", &*numbers::count(totals.sent)), ("n", &*numbers::count(totals.due))];
        let expected = poisson_expected(summary).map_or(String::new(), |n| {
            let facts = [("n", &*numbers::count(n.round() as u64)), ("off", &*numbers::count(n.sqrt().round() as u64))];
            lang.fill(say::POISSON_EXPECTED, &facts)
        });
        lines.push(lang.fill(say::ASKED_RATE, &facts) + &expected);
    }
    lines.extend(summary.headroom().map(|Headroom { most_per_s: most, times, is_at_least }| {
        let times = if times < 10.0 { format!("{times:.1}") } else { numbers::count(times as u64) };
        lang.fill(
            if is_at_least { say::HEADROOM_HERE } else { say::HEADROOM },
            &[("most", &*numbers::count(most as u64)), ("times", &*times)],
        )
    }));
    lines
}

/// Formats the band of a throughput: `500/s to 700/s`.
pub(crate) fn show_rate_band(ends: [f64; 2], lang: Lang) -> String {
    let [least, most] = ends.map(brunt_measure::format_rate);
    lang.fill(say::BAND, &[("least", &least), ("most", &most)])
}

/// Returns the expected number of Poisson arrivals over all stages of a run; its square root is the standard deviation.
fn poisson_expected(summary: &Summary) -> Option<f64> {
    let plan = &summary.started.as_ref()?.plan;
    let Load::Open { stages, arrivals: Arrivals::Poisson } = &plan.load else { return None };
    let n: f64 = stages.iter().map(|s| s.lasts.as_secs_f64() * (s.from + s.to) / 2.0).sum();
    let as_planned =
        !plan.has_flows() && plan.requests.is_none() && summary.end == End::Completed && summary.changes.is_empty();
    (as_planned && n >= 1.0).then_some(n)
}

pub(super) fn distribution(page: &mut TextPage, summary: &Summary) {
    const CELLS: usize = 30;
    /// Shortest useful bar.
    const LEAST_CELLS: usize = 5;
    let ranked = summary.headline();
    if ranked.count() < 2 {
        return;
    }
    page.section(page.translate(say::DISTRIBUTION));
    let mut above = None;
    let mut rows = Vec::new();
    for bin in bars::bins(ranked.finished) {
        let up_to = numbers::duration(bin.up_to);
        let begins = above.replace(up_to.clone());
        rows.push((begins.map_or_else(|| format!("≤ {up_to}"), |begins| format!("{begins} – {up_to}")), bin.count));
    }
    if ranked.unfinished() > 0 {
        rows.push((page.translate(say::WITHOUT_ANSWER).into(), ranked.unfinished()));
    }
    let most = rows.iter().map(|(_, n)| *n).max().unwrap_or(0);
    let width = rows.iter().map(|(label, _)| crate::columns::width(label)).max().unwrap_or(0);
    let counts = rows.iter().map(|(_, n)| numbers::count(*n).len()).max().unwrap_or(0);
    for (label, n) in rows {
        let (label, count) =
            (crate::columns::pad_left(&label, width), crate::columns::pad_left(&numbers::count(n), counts));
        let share = crate::columns::pad_left(&numbers::percent(n, ranked.count()), 8);
        let figures = format!("{label}  {count}  {share}");
        // Width left between the figures (with the section's margin) and the edge of the terminal.
        let room =
            page.cells.map_or(CELLS, |cells| cells.saturating_sub(crate::columns::width(&figures) + 4).min(CELLS));
        let bar = if room < LEAST_CELLS { String::new() } else { bars::bar(n, most, room) };
        page.indented_line(format!("{figures}  {bar}").trim_end());
    }
}

pub(super) fn where_time_went(page: &mut TextPage, summary: &Summary) {
    let mut rows = parts(summary, page.lang);
    if rows.len() > 1 {
        page.section(page.translate(say::WHERE_TIME));
        let too_wide = |page: &TextPage, rows: &[Vec<String>]| {
            page.cells.is_some_and(|cells| table(rows).iter().any(|line| crate::columns::width(line) + 2 > cells))
        };
        // On a narrow terminal the least important figures are dropped first: the count, the median, the
        // maximum, the mean.
        for column in [1, 2, 3, 1] {
            if too_wide(page, &rows) {
                rows.iter_mut().for_each(|row| drop(row.remove(column)));
            }
        }
        table(&rows).iter().for_each(|line| page.indented_line(line));
    }
}

/// Returns the phases of requests and of connections that occurred: rows below a heading.
pub(crate) fn parts(summary: &Summary, lang: Lang) -> Vec<Vec<String>> {
    let l = &summary.totals.latency;
    let waited = RankedLatency::with_unfinished(&l.wait_conn, &l.wait_conn_at_least);
    let served = RankedLatency::with_unfinished(&l.service, &l.service_at_least);
    // Steps of flows have due times that brunt may miss, even under closed load.
    let late = summary.open || summary.started.as_ref().is_some_and(|started| started.plan.has_flows());
    let parts = [
        (say::GEN_LATE, RankedLatency::finished_only(&l.gen_late), late),
        (say::WAIT_CONN, waited, summary.open),
        (say::SERVICE, served, summary.open),
        (say::CONNECT, RankedLatency::finished_only(&l.connect), true),
        (say::TLS, RankedLatency::finished_only(&l.tls), true),
        (say::GREETING, RankedLatency::finished_only(&l.greeting), true),
        (say::FIRST_BYTE, RankedLatency::finished_only(&l.first_byte), true),
        (say::TRANSFER, RankedLatency::finished_only(&l.transfer), true),
        (say::MESSAGE_GAP, RankedLatency::finished_only(&l.message_gap), true),
        (say::HEARTBEAT, heartbeats(l), true),
        (say::FAILED_RESPONSES, RankedLatency::finished_only(&l.failed_responses), true),
        // Identical to the previous row unless some failed without a response.
        (say::FAILURES_TIME, RankedLatency::finished_only(&l.failed), l.failed.count() > l.failed_responses.count()),
    ];
    let heading = [lang.of(say::TIMES), lang.of(say::MEAN), "p50", "p99", lang.of(say::MAX)];
    let mut rows = vec![std::iter::once("").chain(heading).map(String::from).collect::<Vec<_>>()];
    for (name, ranked, _) in parts.into_iter().filter(|(_, ranked, shown)| *shown && ranked.count() > 0) {
        let figures = [ranked.mean(), ranked.quantile(0.5).figure, ranked.quantile(0.99).figure, ranked.max()];
        let mut row = vec![lang.of(name).to_owned(), numbers::count(ranked.count())];
        row.extend(figures.map(Figure::show));
        rows.push(row);
    }
    rows
}
