//! Masking of secrets in everything that is shown or recorded.
//!
//! A secret is found by the place it is in, by the grammar of that place (`positions` and the files beside it), then by
//! its value wherever else it occurs (`values`), in every notation (`readings`). In case of doubt, text is hidden; the
//! rest of a body stays visible, and JSON stays JSON.
//!
//! A plan that is saved has a named blank for each secret instead (`blanks`), so that it can be run again.

mod blanks;
mod bodies;
mod inserts;
mod json;
mod names;
mod needles;
#[cfg(any(test, feature = "oracle"))]
pub mod oracle;
mod places;
mod plan;
mod positions;
mod readings;
mod redis;
mod slots;
mod sql;
#[cfg(test)]
mod tests;
mod url;
mod values;

pub use blanks::{Blanks, FilledBlanks};
pub use plan::{PlanSecrets, plan, plan_with_blanks};
pub use positions::TextOrigin;
pub use values::Secrets;

use places::PlanPlace;

/// The replacement for a secret.
pub const MASK: &str = "***";

/// Masks the user info, the fragment and the values of secret query parameters of a URL, whose scheme may be missing.
pub fn url(text: &str) -> String {
    PlanPlace::Url.spans(text).masked()
}

/// Masks the value of a protocol option.
pub fn option(name: &str, value: &str) -> String {
    PlanPlace::Option(name).spans(value).masked()
}

/// Returns `true` if an option has a mask in the place of a secret: it was shown, and cannot be sent.
pub fn is_masked(name: &str, value: &str) -> bool {
    let spans = if name == "URL" { PlanPlace::Url.spans(value) } else { PlanPlace::Option(name).spans(value) };
    spans.ranges().into_iter().any(|range| value[range].contains(MASK))
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
