//! Detection of users who waited to send a rate-limited step (`at-most`).

use brunt_plan::WeightedUrl;

use crate::sums::RunSums;

/// Share of the limit from which users must have waited nearly all the time, because a turn is lost if no user waits
/// for it.
const NEARLY: f64 = 0.97;

/// Returns the name and the maximum rate per second of the step that used the largest share of its limit, if it used
/// nearly all of it.
pub(crate) fn saturated_step(sums: &RunSums) -> Option<(String, f64)> {
    let plan = &sums.started.as_ref()?.plan;
    let turns = plan.urls.iter().enumerate().filter_map(|(at, url)| {
        let (name, due) = due(sums, at, url)?;
        let rate = url.max_rate()?;
        Some((sums.per_s(due) / rate, name, rate))
    });
    let most = turns.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (plan.has_flows() && most.0 >= NEARLY).then_some((most.1, most.2))
}

/// Returns the name of a step and the number of its requests that were due; `None` if its name does not identify it.
fn due(sums: &RunSums, at: usize, url: &WeightedUrl) -> Option<(String, u64)> {
    let (plan, names) = (&sums.started.as_ref()?.plan, sums.names());
    let of_step = names.len() == plan.urls.len();
    let row = names.iter().position(|name| Some(name) == url.name.as_ref()).or_else(|| of_step.then_some(at));
    match (row, &plan.urls[..]) {
        (_, [only]) => Some((names.first().or(only.name.as_ref()).unwrap_or(&only.url).clone(), sums.totals.due)),
        (Some(row), _) => Some((names[row].clone(), sums.totals.named.each().get(row)?.counts.due)),
        (None, _) => None,
    }
}
