//! The table of results: medians over the rounds, and the median of the ratios within each round.

use serde_json::{Value, json};

use super::peer::Peer;
use super::scenario::{BenchScenario, ScenarioRun};

/// Minimum share of an open schedule that brunt must have sent.
const SENT_BY_DUE: f64 = 0.999;

/// The figures of one contender.
pub(super) struct FigureRow {
    peer: Peer,
    per_second: f64,
    cpu_per_million: f64,
    user_share: f64,
    server_cpu_per_million: f64,
    peak_mib: f64,
    requests_per_connection: f64,
    /// CPU time per request relative to the yardstick's.
    cpu_ratio: Option<f64>,
    /// Requests per second relative to the yardstick's.
    rate_ratio: Option<f64>,
    limit: Option<f64>,
    /// Ratio of requests sent to requests due, the minimum of the rounds.
    sent_by_due: Option<f64>,
    /// The generator's own lateness.
    gen_late_p99_us: Option<f64>,
    /// Number of rounds that remained disturbed.
    disturbed: usize,
    /// Number of runs with a nonzero exit code.
    failed: usize,
}

/// Returns the medians and ratios of every contender, in the scenario's order.
pub(super) fn summarise(scenario: &BenchScenario, rounds: &[Vec<ScenarioRun>]) -> Vec<FigureRow> {
    scenario.peers.iter().filter_map(|&peer| row(scenario, peer, rounds)).collect()
}

fn row(scenario: &BenchScenario, peer: Peer, rounds: &[Vec<ScenarioRun>]) -> Option<FigureRow> {
    let of = |wanted: Peer| rounds.iter().filter_map(move |runs| runs.iter().find(|run| run.peer == wanted));
    let over = |figure: fn(&ScenarioRun) -> f64| median(of(peer).map(figure).collect());
    let ratio = |figure: fn(&ScenarioRun) -> f64| {
        let pairs = rounds.iter().filter_map(|runs| {
            let mine = runs.iter().find(|run| run.peer == peer)?;
            let theirs = runs.iter().find(|run| run.peer == scenario.yardstick)?;
            Some(figure(mine) / figure(theirs))
        });
        median(pairs.collect())
    };
    Some(FigureRow {
        peer,
        per_second: over(ScenarioRun::per_second)?,
        cpu_per_million: over(ScenarioRun::cpu_per_million)?,
        user_share: over(|run| run.usage.user_s / run.usage.cpu_s().max(1e-9))?,
        server_cpu_per_million: over(|run| run.server_cpu_s / run.requests.max(1) as f64 * 1e6)?,
        peak_mib: over(|run| run.usage.peak_kib as f64 / 1024.0)?,
        requests_per_connection: over(|run| run.requests as f64 / run.accepted.max(1) as f64)?,
        cpu_ratio: ratio(ScenarioRun::cpu_per_million),
        rate_ratio: ratio(ScenarioRun::per_second),
        limit: scenario.limits.iter().find(|(limited, _)| *limited == peer).map(|(_, limit)| *limit),
        sent_by_due: of(peer).filter_map(|run| run.kept).map(|kept| kept.sent_by_due).min_by(f64::total_cmp),
        gen_late_p99_us: median(of(peer).filter_map(|run| run.kept).map(|kept| kept.gen_late_p99_us).collect()),
        disturbed: of(peer).filter(|run| run.noise.is_some()).count(),
        failed: of(peer).filter(|run| run.usage.exit != 0).count(),
    })
}

/// Returns the median; for an even number of values, the mean of the two middle ones.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

pub(super) fn print(scenario: &BenchScenario, rows: &[FigureRow], together: f64) {
    let yardstick = scenario.yardstick.name();
    println!("\n{}, medians; ratios to {yardstick} within each round", scenario.what);
    println!(
        "{:<12} {:>10} {:>7}  {:>9} {:>6}  {:>7} {:>8} {:>6}  {:>8} {:>9}",
        "", "requests/s", "ratio", "CPU s/10⁶", "user", "ratio", "limit", "", "nginx", "peak MiB"
    );
    for row in rows {
        let verdict = match (row.cpu_ratio, row.limit) {
            (Some(ratio), Some(limit)) => {
                if ratio <= limit {
                    "kept"
                } else {
                    "MISSED"
                }
            }
            _ => "",
        };
        let limit = row.limit.map(|limit| format!("≤ {limit:.2}")).unwrap_or_default();
        println!(
            "{:<12} {:>10.0} {:>7}  {:>9.3} {:>5.0}%  {:>7} {:>8} {:>6}  {:>8.3} {:>9.1}{}{}",
            row.peer.name(),
            row.per_second,
            shown(row.rate_ratio),
            row.cpu_per_million,
            row.user_share * 100.0,
            shown(row.cpu_ratio),
            limit,
            verdict,
            row.server_cpu_per_million,
            row.peak_mib,
            if row.disturbed > 0 { format!("  disturbed ×{}", row.disturbed) } else { String::new() },
            if row.failed > 0 { format!("  failed ×{}", row.failed) } else { String::new() },
        );
    }
    for row in rows {
        if let (Some(sent), Some(late)) = (row.sent_by_due, row.gen_late_p99_us) {
            let verdict = if sent >= SENT_BY_DUE { "kept" } else { "MISSED" };
            let name = row.peer.name();
            println!("{name:<12} sent ÷ due {sent:.5} (≥ {SENT_BY_DUE}: {verdict}), p99 of gen_late {late:.0} µs");
        }
    }
    if together < 0.9 {
        println!("note: with both cores busy, each runs at {:.0} % of its speed alone", together * 100.0);
    }
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default()
}

/// Returns the results as JSON for the history: name → figures.
pub(super) fn as_json(rows: &[FigureRow]) -> Value {
    let rounded = |value: f64| (value * 10_000.0).round() / 10_000.0;
    let mut all = serde_json::Map::new();
    for row in rows {
        let figures = json!({
            "per_second": row.per_second.round(),
            "cpu_s_per_million": rounded(row.cpu_per_million),
            "user_share": rounded(row.user_share),
            "nginx_cpu_s_per_million": rounded(row.server_cpu_per_million),
            "peak_mib": rounded(row.peak_mib),
            "requests_per_connection": rounded(row.requests_per_connection),
            "cpu_ratio": row.cpu_ratio.map(rounded),
            "rate_ratio": row.rate_ratio.map(rounded),
            "limit": row.limit,
            "sent_by_due": row.sent_by_due.map(rounded),
            "gen_late_p99_us": row.gen_late_p99_us.map(rounded),
            "disturbed": row.disturbed,
        });
        all.insert(row.peer.name().replace(' ', "_"), figures);
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let cases =
            [(vec![], None), (vec![3.0], Some(3.0)), (vec![3.0, 1.0, 2.0], Some(2.0)), (vec![4.0, 1.0], Some(2.5))];
        for (values, expected) in cases {
            assert_eq!(median(values.clone()), expected, "{values:?}");
        }
    }
}
