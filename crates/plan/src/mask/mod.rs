//! Masking of secrets in everything that is shown or recorded.
//!
//! Secrets are found by their position (`positions`, `names`, `redis`, `sql`), then by value wherever else they occur
//! (`values`). In case of doubt, text is hidden: anything in a body that looks like the position of a secret is masked.
//! The rest of a body stays visible.

mod json;
mod names;
mod positions;
mod redis;
mod sql;
#[cfg(test)]
mod tests;
mod values;

pub use values::Secrets;

use crate::{Plan, WeightedUrl};
use positions::SecretSpans;

/// The replacement for a secret.
pub const MASK: &str = "***";

/// Options whose whole value is a secret.
const SECRET_OPTIONS: [&str; 9] =
    ["user", "proxy-user", "probe-token", "key", "password", "token", "auth", "bearer", "cookie"];

/// Masks the user info, the fragment and the values of secret query parameters of a URL, whose scheme may be missing.
pub fn url(text: &str) -> String {
    SecretSpans::of_url(text).masked()
}

/// Masks the secrets in a text written, sent or received, which are recognized by their context.
pub fn exchange(text: &str) -> String {
    SecretSpans::of_text(text).masked()
}

/// Returns `true` if a value with this name is a secret.
pub fn is_secret_name(name: &str) -> bool {
    names::is_secret(name, "x1")
}

/// Masks the value of a protocol option.
pub fn option(name: &str, value: &str) -> String {
    option_spans(name, value).masked()
}

fn option_spans<'a>(name: &str, value: &'a str) -> SecretSpans<'a> {
    if SECRET_OPTIONS.contains(&name) {
        let mut spans = SecretSpans::none(value);
        spans.hide(value);
        return spans;
    }
    if matches!(name, "request-target" | "proxy") {
        return SecretSpans::of_url(value);
    }
    if name == "header" && !is_header_line(value) {
        let mut spans = SecretSpans::none(value);
        spans.hide(value);
        return spans;
    }
    let mut spans = SecretSpans::of_text(value);
    if matches!(name, "command" | "before" | "after" | "on-connect") {
        redis::commands(&mut spans, value);
    }
    spans
}

/// Returns `true` for a line with a header name and for the path of a file with header lines (`@FILE`). Any other text,
/// such as a bare token, may be a secret as a whole.
fn is_header_line(value: &str) -> bool {
    let name = value.split_once(':').map(|(name, _)| name).or_else(|| value.trim_end().strip_suffix(';'));
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    value.starts_with('@') || name.is_some_and(|name| !name.is_empty() && name.chars().all(is_part))
}

/// Returns a plan with its secrets masked.
pub fn plan(plan: &Plan) -> Plan {
    let secrets = Secrets::of_plan(plan);
    // The URLs of a long list are masked by position only, because searching each URL for all values would take too
    // long.
    let of_urls = if plan.urls.len() <= 1000 { secrets.clone() } else { Secrets::default() };
    let mut shown = plan.clone();
    // If nothing is masked, the URLs stay shared with the original plan.
    let open = |target: &WeightedUrl| target.options.is_empty() && of_urls.hide(&url(&target.url)) == target.url;
    if !shown.urls.iter().all(open) {
        for target in shown.urls.make_mut() {
            target.url = of_urls.hide(&url(&target.url));
            options(&mut target.options, &of_urls);
        }
    }
    options(&mut shown.options, &secrets);
    for proxy in [&mut shown.proxies.clear, &mut shown.proxies.tls].into_iter().flatten() {
        *proxy = url(proxy);
    }
    if let Some(key) = &mut shown.tls.key {
        *key = MASK.to_string();
    }
    shown
}

fn options(options: &mut crate::PlanOptions, secrets: &Secrets) {
    for (name, values) in options {
        for value in values {
            *value = secrets.hide(&option(name, value));
        }
    }
}

/// Masks every argument of a command line that is, or ends with, one of the `secrets`, pairs of the original and the
/// masked text.
pub fn command(arguments: &[String], secrets: &[(String, String)]) -> Vec<String> {
    arguments.iter().map(|argument| masked_argument(argument, secrets)).collect()
}

fn masked_argument(argument: &str, secrets: &[(String, String)]) -> String {
    for (raw, shown) in secrets.iter().filter(|(raw, shown)| raw != shown && !raw.is_empty()) {
        if argument == raw {
            return shown.clone();
        }
        if let Some(flag) = argument.strip_suffix(raw.as_str())
            && flag.starts_with('-')
        {
            return format!("{flag}{shown}");
        }
    }
    argument.to_string()
}
