//! Remarks on steps with a rate limit (`at-most`) that the load of a plan exceeds.

use brunt_cause::{Complaint, complaint};
use brunt_contract::UsageError;
use brunt_plan::flow::{AT_MOST, Flow, RepeatCount, Step};
use brunt_plan::{Plan, WeightedUrl};

/// Maximum depth of calls between flows.
const DEEPEST: usize = 32;

/// Returns the remarks for the author before the run, one sentence each.
pub(super) fn remarks(plan: &Plan) -> Vec<Complaint> {
    let mut all = Vec::new();
    for (at, url) in plan.urls.iter().enumerate() {
        let Some(most) = url.max_rate() else { continue };
        if plan.urls.iter().take(at).any(|before| before.max_rate().is_some() && name(before) == name(url)) {
            continue;
        }
        let (asked, scenarios) = requested_rate(plan, name(url));
        if asked > most * 1.000_001 {
            let of = if scenarios.is_empty() { String::new() } else { format!("{}: ", scenarios.join(", ")) };
            all.push(complaint!(
                "{of}`{}` is limited to {most}/s, and the rate needs {asked}/s: a growing number of users will wait",
                "{of}`{}` 限制为 {most}/s，而速率需要 {asked}/s：等待的用户会越来越多",
                name(url)
            ));
        }
    }
    all
}

/// Returns the name of a step, or else its URL. Steps with the same name share a limit.
fn name(url: &WeightedUrl) -> &str {
    url.name.as_deref().unwrap_or(&url.url)
}

/// Returns the rate per second at which a plan would run the steps with this name, and the scenarios that run them.
fn requested_rate<'a>(plan: &'a Plan, wanted: &str) -> (f64, Vec<&'a str>) {
    let alone = plan.flow.iter().map(|flow| (None, flow, &plan.load));
    let several = plan.scenarios.iter().map(|scenario| (Some(&*scenario.name), &scenario.flow, &scenario.load));
    let (mut all, mut scenarios) = (0.0, Vec::new());
    for (scenario, flow, load) in alone.chain(several).filter(|(.., load)| load.is_open()) {
        let urls = plan.urls.iter().enumerate().filter(|(_, url)| url.max_rate().is_some() && name(url) == wanted);
        let asked = load.peak() * urls.map(|(at, _)| mean_requests(flow, &flow.steps, at as u32, 0)).sum::<f64>();
        if asked > 0.0 {
            all += asked;
            scenarios.extend(scenario);
        }
    }
    (all, scenarios)
}

/// Checks that steps with the same name have the same limit.
///
/// # Errors
/// Two steps with the same name have different limits.
pub(super) fn check(plan: &Plan) -> Result<(), UsageError> {
    for (at, url) in plan.urls.iter().enumerate() {
        let Some(most) = url.max_rate() else { continue };
        let mut others = plan.urls.iter().take(at).filter(|before| name(before) == name(url));
        if let Some(other) = others.find_map(|before| before.max_rate().filter(|other| *other != most)) {
            let trouble = complaint!(
                "is {other}/s at one step called `{0}` and {most}/s at another, and steps with the same name share one limit; use the same value, or give one of them another `name`",
                "在名为 `{0}` 的一个步骤是 {other}/s，在另一个是 {most}/s，而同名的步骤共用一个限制；请写成一样，或给其中一个另取 `name`",
                name(url)
            );
            return Err(UsageError::new(AT_MOST, trouble));
        }
    }
    Ok(())
}

/// Returns the mean number of times that these steps send a request. Steps that depend on values are not counted.
fn mean_requests(flow: &Flow, steps: &[Step], wanted: u32, depth: usize) -> f64 {
    if depth > DEEPEST {
        return 0.0;
    }
    let inner = |steps: &[Step]| mean_requests(flow, steps, wanted, depth + 1);
    let of = |step: &Step| match step {
        Step::Request { url, .. } => f64::from(u8::from(*url == wanted)),
        Step::Group { steps, .. } => inner(steps),
        Step::Repeat { times: RepeatCount::Times(times), steps } => f64::from(*times) * inner(steps),
        Step::Choose { ways } => {
            let whole: f64 = ways.iter().map(|way| way.weight).sum();
            ways.iter().map(|way| way.weight / whole * inner(&way.steps)).sum()
        }
        Step::Call { flow: called, .. } => flow.named_flow(called).map_or(0.0, |called| inner(&called.steps)),
        _ => 0.0,
    };
    steps.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use brunt_measure::Nanos;

    use super::super::file_tests::{is_refused, of_file};
    use super::*;

    #[test]
    fn steps_have_timeouts_and_turns_and_say_them_again() {
        let text = "users: 2\nflow:\n  - {url: http://h/a, timeout: 500ms, at-most: 300/min}\n  - batch: [{url: http://h/b, timeout: 2s}]\n";
        let plan = of_file(text, &[]);
        let of = |at: usize| (plan.urls[at].timeout(), plan.urls[at].max_rate());
        assert_eq!([of(0), of(1)], [(Some(Nanos::from_millis(500)), Some(5.0)), (Some(Nanos::from_secs(2)), None)]);
        assert_eq!(of_file(&brunt_plan::document::yaml(&plan), &[]).urls, plan.urls);
        for (text, expected) in [
            ("users: 2\nflow: [{url: h, timeout: 0}]\n", "line 2 column 26 (timeout): `0` is missing its unit"),
            (
                "users: 2\nflow: [{url: h, at-most: never}]\n",
                "(at-most): `never` is not a rate; use one such as 5000/s",
            ),
            (
                "users: 2\nflow: [{batch: [{url: h, at-most: 5/s}]}]\n",
                "(at-most): is inside a batch, where requests do not wait",
            ),
            ("users: 2\nurls: [{url: h, at-most: 5/s}]\n", "(at-most): "),
        ] {
            is_refused(text, &[], expected);
        }
    }

    #[test]
    fn a_name_has_one_bound_and_all_that_ask_for_it_are_held_against_that() {
        let text = |load: &str, second: &str| {
            format!(
                "{load}\nflow: [{{url: http://h/a, at-most: 50/s, name: a}}, {{url: http://h/b, at-most: {second}, name: a}}]\n"
            )
        };
        is_refused(&text("users: 2", "20/s"), &[], "is 50/s at one step called `a` and 20/s at another");
        assert_eq!(remarks(&of_file(&text("rate: 25/s", "50/s"), &[])), [""; 0]);
        let all = remarks(&of_file(&text("rate: 30/s", "50/s"), &[]));
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(all[0].starts_with("`a` is limited to 50/s, and the rate needs 60/s"), "{all:?}");
    }

    #[test]
    fn a_rate_that_its_steps_cannot_have_is_told() {
        let said = |load: &str| {
            let text = format!(
                "{load}\nflow: [{{url: http://h/a, at-most: 50/s, name: a}}, {{repeat: 2, steps: [{{url: http://h/b, at-most: 60/s}}]}}]\n"
            );
            remarks(&of_file(&text, &[]))
        };
        assert_eq!(said("rate: 30/s"), [""; 0]);
        assert_eq!(said("users: 1000"), [""; 0]);
        let all = said("rate: 55/s");
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[0].starts_with("`a` is limited to 50/s, and the rate needs 55/s"), "{all:?}");
        assert!(all[1].starts_with("`http://h/b` is limited to 60/s, and the rate needs 110/s"), "{all:?}");
    }
}
