//! Where the figures of a run go while it goes on: to Prometheus, to OpenTelemetry.

use std::net::SocketAddr;

use measure::Nanos;
use plan::{Options, WeightedUrl};
use wire::{Complaint, OptionSpec};

use super::otlp::{self, Otlp};
use super::reading::share;
use super::settings::{LINGER, OTLP, PROMETHEUS, TRACE};
use super::values::Values;

/// Where the figures of a run go while it goes on.
#[derive(Clone, Debug, Default)]
pub struct Exporting {
    /// Where they are served to Prometheus.
    pub prometheus: Option<SocketAddr>,
    /// How long the final figures are kept for it; None: as long as it usually takes to come.
    pub linger: Option<Nanos>,
    /// The collectors of OpenTelemetry that they are sent to.
    pub otlp: Option<Otlp>,
    /// Requests belong to traces.
    pub traced: bool,
}

/// Reads it.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(said: &Values) -> Result<Exporting, Complaint> {
    let prometheus = said.get(&PROMETHEUS)?;
    let linger = said.get(&LINGER)?;
    if linger.is_some() && prometheus.is_none() {
        return Err(said.wrong(&LINGER, "needs --prometheus; add --prometheus 9464"));
    }
    let otlp = said.named(OTLP.spec.name).next().map(|url| otlp::read(url, &|name| std::env::var(name).ok()));
    Ok(Exporting { prometheus, linger, otlp: otlp.transpose()?, traced: said.has(&TRACE) })
}

/// `--trace SHARE`: a header line that every request has, also those with lines of their own. Requests that have none belong to a trace
/// nobody hears of but a collector. Gives the share.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn trace(
    said: &Values,
    specs: &[OptionSpec],
    (options, urls): (&mut Options, &mut [WeightedUrl]),
) -> Result<Option<f64>, Complaint> {
    let Some(part) = said.get(&TRACE)? else { return Ok(None) };
    if !specs.iter().any(|spec| spec.name == "header") {
        if !said.has(&OTLP) {
            let trouble = "has no header to go in with this protocol, and makes spans for a collector alone; add --otlp URL, or leave it out";
            return Err(said.wrong(&TRACE, trouble));
        }
        return Ok(Some(part));
    }
    let all = || urls.iter().map(|url| &url.options).chain([&*options]).filter_map(|options| options.get("header"));
    // A plan that was written of a run has both, and they say the same.
    let same = |line: &str| {
        let text = line.strip_prefix(&format!("{HEADER}: {{{HEADER} ")).and_then(|text| text.strip_suffix('}'));
        text.and_then(share).is_some_and(|other| (other - part).abs() < 1e-9)
    };
    if all().flatten().any(|line| same(line)) {
        return Ok(Some(part));
    }
    let is_taken =
        |line: &String| line.split([':', ';']).next().is_some_and(|name| name.trim().eq_ignore_ascii_case(HEADER));
    if all().flatten().any(is_taken) {
        return Err(said.wrong(&TRACE, "sets the traceparent header, and so does -H; leave one of them out"));
    }
    let line = format!("{HEADER}: {{{HEADER} {}}}", said.text(&TRACE).unwrap_or_default());
    let own = urls.iter_mut().filter_map(|url| url.options.get_mut("header"));
    own.for_each(|lines| lines.push(line.clone()));
    options.entry("header".into()).or_default().push(line);
    Ok(Some(part))
}

/// The header of a trace, and the slot that fills it.
const HEADER: &str = "traceparent";
