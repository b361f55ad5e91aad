//! Whether it was turns (`at-most`) that users waited for.

use plan::WeightedUrl;

use crate::sums::Sums;

/// A step that was due so near to as often as it may be had users waiting nearly all the time: a turn that nobody waits for is lost.
const NEARLY: f64 = 0.97;

/// The step of which the most turns were taken, where that is all of them: what it is called, and how often a second it may be sent.
pub(crate) fn all_taken(sums: &Sums) -> Option<(String, f64)> {
    let plan = &sums.started.as_ref()?.plan;
    let turns = plan.urls.iter().enumerate().filter_map(|(at, url)| {
        let (name, due) = due(sums, at, url)?;
        let rate = url.max_rate()?;
        Some((sums.per_s(due) / rate, name, rate))
    });
    let most = turns.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (plan.has_flows() && most.0 >= NEARLY).then_some((most.1, most.2))
}

/// How many requests of a step were due within the window; None where its name does not tell it from others.
fn due(sums: &Sums, at: usize, url: &WeightedUrl) -> Option<(String, u64)> {
    let (plan, names) = (&sums.started.as_ref()?.plan, sums.names());
    let of_step = names.len() == plan.urls.len();
    let row = names.iter().position(|name| Some(name) == url.name.as_ref()).or_else(|| of_step.then_some(at));
    match (row, &plan.urls[..]) {
        (_, [only]) => Some((names.first().or(only.name.as_ref()).unwrap_or(&only.url).clone(), sums.totals.due)),
        (Some(row), _) => Some((names[row].clone(), sums.totals.named.each().get(row)?.counts.due)),
        (None, _) => None,
    }
}
