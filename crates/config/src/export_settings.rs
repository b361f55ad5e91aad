//! Settings for the export of metrics during a run, to Prometheus and OpenTelemetry.

use std::net::SocketAddr;

use brunt_cause::complaint;
use brunt_contract::{OptionSpec, UsageError};
use brunt_measure::Nanos;
use brunt_plan::{PlanOptions, WeightedUrl};

use super::otlp::{self, OtlpCollectors};
use super::parsers::share;
use super::settings::{LINGER, OTLP, PROMETHEUS, TRACE};
use super::values::SettingValues;

/// The exports of a run.
#[derive(Clone, Debug, Default)]
pub struct ExportSettings {
    /// Address on which Prometheus metrics are served.
    pub prometheus: Option<SocketAddr>,
    /// Time for which the final metrics can still be scraped; `None` for the usual scrape interval.
    pub linger: Option<Nanos>,
    /// The OpenTelemetry collectors.
    pub otlp: Option<OtlpCollectors>,
    /// Set if requests are traced.
    pub traced: bool,
}

/// Reads the settings.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn read(values: &SettingValues) -> Result<ExportSettings, UsageError> {
    let prometheus = values.get(&PROMETHEUS)?;
    let linger = values.get(&LINGER)?;
    if linger.is_some() && prometheus.is_none() {
        return Err(values.wrong(
            &LINGER,
            complaint!("needs --prometheus; add --prometheus 9464", "需要 --prometheus；请加 --prometheus 9464"),
        ));
    }
    let otlp = values.named(OTLP.spec.name).next().map(|url| otlp::read(url, &|name| std::env::var(name).ok()));
    Ok(ExportSettings { prometheus, linger, otlp: otlp.transpose()?, traced: values.has(&TRACE) })
}

/// Adds the header line of `--trace SHARE` to every request, including those with their own header lines, and returns
/// the share. Traces of a protocol without headers are visible only to a collector.
///
/// # Errors
/// A setting is invalid; the error names the option.
pub fn trace(
    values: &SettingValues,
    specs: &[OptionSpec],
    (options, urls): (&mut PlanOptions, &mut [WeightedUrl]),
) -> Result<Option<f64>, UsageError> {
    let Some(part) = values.get(&TRACE)? else { return Ok(None) };
    if !specs.iter().any(|spec| spec.name == "header") {
        if !values.has(&OTLP) {
            let trouble = complaint!(
                "cannot be sent as a header with this protocol, and only makes spans for a collector; add --otlp URL, or leave it out",
                "该协议不能以请求头发送它，只能为 collector 生成 span；请加 --otlp URL，或去掉它"
            );
            return Err(values.wrong(&TRACE, trouble));
        }
        return Ok(Some(part));
    }
    let all = || urls.iter().map(|url| &url.options).chain([&*options]).filter_map(|options| options.get("header"));
    // A plan generated from a run has both the option and the header line, with the same value.
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
        return Err(values.wrong(
            &TRACE,
            complaint!(
                "sets the traceparent header, and so does -H; leave one of them out",
                "会设置 traceparent 请求头，-H 也设置了它；请去掉其中一个"
            ),
        ));
    }
    let line = format!("{HEADER}: {{{HEADER} {}}}", values.text(&TRACE).unwrap_or_default());
    let own = urls.iter_mut().filter_map(|url| url.options.get_mut("header"));
    own.for_each(|lines| lines.push(line.clone()));
    options.entry("header".into()).or_default().push(line);
    Ok(Some(part))
}

/// The trace header, and the placeholder for its value.
const HEADER: &str = "traceparent";
