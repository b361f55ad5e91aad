//! The secrets of a plan: which texts of it, and which values that its users capture or take from files.
//!
//! A value of a user is secret if its name or the place it is captured from says so, if it is put where a secret
//! belongs, or if it is made of such a value.

use std::collections::BTreeSet;

use super::blanks::Blanks;
use super::bodies::compared;
use super::places::{self, PlanPlace};
use super::positions::SecretSpans;
use super::values::Secrets;
use super::{names, slots};
use crate::flow::{CAPTURE, Flow, LoopList, Step};
use crate::{Plan, PlanOptions, WeightedUrl};

/// Maximum number of URLs that are searched for all values; those of a longer list are masked by position only, because
/// that would take too long.
const SEARCHED: usize = 1000;

/// The secrets of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanSecrets {
    /// The values that are known before the run, and the names of those that are not.
    pub secrets: Secrets,
    /// The placeholders whose values are secret, without their braces: `csv users.csv.password`.
    pub slots: BTreeSet<String>,
}

impl PlanSecrets {
    /// Collects the secrets of a plan and of the bodies in files that it names.
    pub fn of(plan: &Plan, bodies: &[String]) -> PlanSecrets {
        let mut found = PlanSecrets::default();
        for target in &plan.urls {
            found.text(PlanPlace::Url, &target.url);
            found.options(&target.options);
        }
        found.options(&plan.options);
        // The URLs are not copied: there may be a million.
        let mut others = Plan { urls: crate::Urls::default(), options: PlanOptions::new(), ..plan.clone() };
        places::each_text(&mut others, &mut |place, text| found.text(place, text));
        bodies.iter().for_each(|text| found.text(PlanPlace::Text, text));
        found.secrets.variables = found.variables(plan);
        for (name, value) in flows(plan).flat_map(Flow::conditions).flat_map(|text| compared(text, true)) {
            if found.secrets.variables.contains(name) {
                found.secrets.learn_value(value);
            }
        }
        found
    }

    fn options(&mut self, options: &PlanOptions) {
        for (name, value) in options.iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value))) {
            self.slots(&PlanPlace::Option(name).spans(value), value);
            self.secrets.learn_option(name, value);
        }
    }

    fn text(&mut self, place: PlanPlace<'_>, text: &str) {
        self.slots(&place.spans(text), text);
        self.secrets.learn_place(place, text);
    }

    /// Adds the placeholders of a text that stand in the place of a secret or are named like one.
    fn slots(&mut self, spans: &SecretSpans<'_>, text: &str) {
        let named = |slot: &&str| {
            let words = slot.split('|').next().unwrap_or_default();
            let name = match slots::name_of(slot) {
                "csv" | "jsonl" => words.rsplit_once('.').map(|(_, column)| column),
                "env" => words.split_once(' ').map(|(_, variable)| variable),
                _ => None,
            };
            name.is_some_and(is_secret)
        };
        let named = slots::slots(text).into_iter().filter(named);
        self.slots.extend(spans.slots().iter().copied().chain(named).map(str::to_owned));
    }

    /// Returns the names of the secret values of users.
    fn variables(&self, plan: &Plan) -> BTreeSet<String> {
        let mut secret: BTreeSet<String> = self.slots.iter().map(|slot| value_of(slot).to_owned()).collect();
        for capture in plan.urls.iter().filter_map(|url| url.options.get(CAPTURE)).flatten() {
            if let Some((name, source)) = capture.split_once(' ')
                && (is_secret(name) || is_secret_source(source))
            {
                secret.insert(name.to_owned());
            }
        }
        // A value passed on is secret, too; each round finds at least one more name.
        loop {
            let known = secret.len();
            for flow in flows(plan) {
                flow.visit_all_steps(&mut |step| pass_on(step, &mut secret));
            }
            if secret.len() == known {
                return secret;
            }
        }
    }
}

/// Returns the flows of a plan.
fn flows(plan: &Plan) -> impl Iterator<Item = &Flow> {
    plan.flow.iter().chain(&plan.common).chain(plan.scenarios.iter().map(|scenario| &scenario.flow))
}

/// Returns the name of the value in a placeholder; of a value that no user has, the whole text names it.
fn value_of(slot: &str) -> &str {
    let name = slots::name_of(slot);
    if matches!(name, "csv" | "jsonl" | "env") { slot } else { name }
}

/// Adds the names of values that a step makes of secret ones.
fn pass_on(step: &Step, secret: &mut BTreeSet<String>) {
    let made_of = |text: &str, secret: &BTreeSet<String>| {
        slots::slots(text).into_iter().any(|slot| secret.contains(value_of(slot)))
    };
    match step {
        Step::ForEach { name, list, .. } => {
            let of_secret = match list {
                LoopList::Captured(list) => secret.contains(list),
                LoopList::Fixed(texts) => texts.iter().any(|text| made_of(text, secret)),
            };
            if of_secret || is_secret(name) {
                secret.insert(name.clone());
            }
        }
        Step::Call { with, .. } => {
            for (name, text) in with {
                if is_secret(name) || made_of(text, secret) {
                    secret.insert(name.clone());
                }
            }
        }
        _ => {}
    }
}

/// Returns `true` if what a capture takes is a secret: a cookie, or what the last name of its source stands for.
fn is_secret_source(source: &str) -> bool {
    let (kind, place) = source.split_once(' ').unwrap_or((source, ""));
    let place = place.split(" | ").next().unwrap_or_default();
    let mut words =
        place.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c)).filter(|word| !word.is_empty());
    match kind {
        "cookie" => true,
        "header" | "trailer" => names::is_secret_header(place, "x1"),
        "json" => words.rfind(|word| *word != "value" && word.parse::<u64>().is_err()).is_some_and(is_secret),
        "css" | "xpath" | "regex" | "between" | "column" => words.any(is_secret),
        _ => false,
    }
}

fn is_secret(word: &str) -> bool {
    names::is_secret(word, "x1")
}

/// Returns a plan with its secrets masked.
pub fn plan(plan: &Plan, secrets: &Secrets) -> Plan {
    let shown = |spans: &SecretSpans<'_>| spans.masked();
    replaced(plan, secrets, shown)
}

/// Returns a plan with a named blank for each of its secrets.
pub fn plan_with_blanks(plan: &Plan, secrets: &Secrets) -> (Plan, Blanks) {
    let mut blanks = Blanks::default();
    let plan = replaced(plan, secrets, |spans| spans.blanked(&mut blanks));
    (plan, blanks)
}

fn replaced(plan: &Plan, secrets: &Secrets, mut replace: impl FnMut(&SecretSpans<'_>) -> String) -> Plan {
    let none = Secrets::default();
    let of_urls = if plan.urls.len() <= SEARCHED { secrets } else { &none };
    let marked = |secrets: &Secrets, place: PlanPlace<'_>, text: &str| {
        let mut spans = place.spans(text);
        secrets.mark(&mut spans);
        (spans.count() > 0).then(|| replace(&spans))
    };
    let mut marked = marked;
    let mut shown = plan.clone();
    // If nothing is masked, the URLs stay shared with the original plan.
    let open = |target: &WeightedUrl| {
        let mut spans = PlanPlace::Url.spans(&target.url);
        of_urls.mark(&mut spans);
        spans.count() == 0 && target.options.is_empty() && target.name.is_none()
    };
    if !shown.urls.iter().all(open) {
        for target in shown.urls.make_mut() {
            let mut hear = |place: PlanPlace<'_>, text: &mut String| {
                marked(of_urls, place, text).into_iter().for_each(|shown| *text = shown);
            };
            hear(PlanPlace::Url, &mut target.url);
            target.name.iter_mut().for_each(|name| hear(PlanPlace::Text, name));
            places::options(&mut target.options, &mut hear);
        }
    }
    places::each_text(&mut shown, &mut |place, text| {
        marked(secrets, place, text).into_iter().for_each(|shown| *text = shown);
    });
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::testing::request;

    #[test]
    fn values_of_users_are_secret_by_where_they_come_from_and_where_they_go() {
        for (source, secret) in [
            ("json $.access_token", true),
            ("json $.tokens[0].value | all", true),
            ("json $.session.user.id", false),
            ("json $['password']", true),
            ("cookie theme", true),
            ("header X-Auth-Token", true),
            ("header Location", false),
            ("css input[name=csrf_token] @value", true),
            ("regex \"token\":\"(.+?)\"", true),
            ("between 'id=' '&'", false),
            ("status", false),
            ("body", false),
        ] {
            assert_eq!(is_secret_source(source), secret, "{source}");
        }
    }

    #[test]
    fn secrecy_is_passed_on() {
        let url = |url: &str, options: &[(&str, &str)]| WeightedUrl {
            options: options.iter().map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()])).collect(),
            ..WeightedUrl::plain(url)
        };
        let urls = vec![
            url("http://h/", &[(CAPTURE, "v json $.access_token")]),
            url(
                "http://h/{id}",
                &[("header", "Authorization: Basic {base64 {user}:{pw}}"), (CAPTURE, "list json $.ids")],
            ),
            url("http://h/?key={csv keys.csv.k | url}", &[("data", "{csv users.csv.password}{csv users.csv.name}")]),
        ];
        let with = [("arg", "x{v}"), ("plain", "{id}")].map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let steps = vec![
            request(0),
            Step::Call { flow: "called".into(), with },
            Step::ForEach { name: "each".into(), list: LoopList::Captured("arg".into()), steps: vec![request(1)] },
            Step::If { condition: "v == 'tok-4711'".into(), steps: Vec::new(), otherwise: Vec::new() },
            Step::ForEach { name: "id".into(), list: LoopList::Captured("list".into()), steps: vec![request(2)] },
        ];
        let plan =
            Plan { urls: urls.into(), flow: Some(Flow { steps, ..Flow::default() }), ..super::super::tests::plan() };
        let found = PlanSecrets::of(&plan, &[]);
        for (name, secret) in
            [("v", true), ("arg", true), ("each", true), ("pw", true), ("user", false), ("id", false), ("plain", false)]
        {
            assert_eq!(found.secrets.is_secret_variable(name), secret, "{name}");
        }
        assert_eq!(found.slots, ["csv keys.csv.k | url", "csv users.csv.password", "pw"].map(str::to_owned).into());
        let (_, blanks) = plan_with_blanks(&plan, &found.secrets);
        assert_eq!(
            blanks.variables(),
            ["BRUNT_SECRET_1"],
            "placeholders are no secrets, but what one is compared with is"
        );
    }
}
