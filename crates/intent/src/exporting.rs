//! The flags that say where the figures of a run go while it goes on: to Prometheus, to OpenTelemetry.

use std::net::{SocketAddr, ToSocketAddrs};

use clap::Arg;
use measure::Nanos;
use plan::{Options, WeightedUrl};
use wire::{Complaint, OptionSpec};

use super::flags;
use super::matched::Matched;
use super::otlp::{self, Otlp};

/// The port where Prometheus' exporters of OpenTelemetry listen, and we do unless another is said.
const PORT: u16 = 9464;

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

/// The flags, under no heading yet.
pub fn described() -> Vec<Arg> {
    vec![
        flags::one(
            "prometheus",
            None,
            "ADDRESS",
            "Serve live metrics to Prometheus at http://ADDRESS/metrics: 9464 (this machine only), 0.0.0.0:9464",
        ),
        flags::one(
            "linger",
            None,
            "TIME",
            "With --prometheus: keep the final metrics until they are scraped once, at most TIME [default: 20s]",
        ),
        flags::one(
            "trace",
            None,
            "SHARE",
            "Send a W3C traceparent with each request (each iteration is one trace), SHARE of them sampled: 1%",
        ),
        flags::one(
            "otlp",
            None,
            "URL",
            "Send live metrics to an OpenTelemetry collector once a second, and spans with --trace: \
                http://127.0.0.1:4318, grpc://127.0.0.1:4317, or env for OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
    ]
}

/// Reads them.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn read(flags: &Matched<'_>) -> Result<Exporting, Complaint> {
    let prometheus = flags.parsed("prometheus", "--prometheus", address)?;
    let linger = flags.parsed("linger", "--linger", plan::quantity::duration)?;
    if linger.is_some() && prometheus.is_none() {
        return Err(Complaint::new("--linger", "needs --prometheus; add --prometheus 9464"));
    }
    let otlp = flags.text("otlp").map(|text| otlp::read(text, &|name| std::env::var(name).ok())).transpose()?;
    Ok(Exporting { prometheus, linger, otlp, traced: flags.text("trace").is_some() })
}

/// `--trace SHARE`: a header line that every request has, also those with lines of their own. Requests that have none belong to a trace
/// nobody hears of but a collector. Gives the share.
///
/// # Errors
/// The user's mistake, naming the option.
pub fn trace(
    flags: &Matched<'_>,
    specs: &[OptionSpec],
    (options, urls): (&mut Options, &mut [WeightedUrl]),
) -> Result<Option<f64>, Complaint> {
    let Some(share) = flags.text("trace") else { return Ok(None) };
    let wrong = |trouble: String| Err(Complaint::new("--trace", trouble));
    let Some(part) = part(share) else {
        return wrong(format!("`{share}` is not a share of the traces; write for instance 1%"));
    };
    if !specs.iter().any(|spec| spec.name == "header") {
        if flags.text("otlp").is_none() {
            return wrong(
                "has no header to go in with this protocol, and makes spans for a collector alone; add --otlp URL, or leave it out".into(),
            );
        }
        return Ok(Some(part));
    }
    let all = || urls.iter().map(|url| &url.options).chain([&*options]).filter_map(|options| options.get("header"));
    // A plan that was written of a run has both, and they say the same.
    let same = |line: &str| {
        let text = line.strip_prefix(&format!("{TRACE}: {{{TRACE} ")).and_then(|text| text.strip_suffix('}'));
        text.and_then(self::part).is_some_and(|other| (other - part).abs() < 1e-9)
    };
    if all().flatten().any(|line| same(line)) {
        return Ok(Some(part));
    }
    let is_taken =
        |line: &String| line.split([':', ';']).next().is_some_and(|name| name.trim().eq_ignore_ascii_case(TRACE));
    if all().flatten().any(is_taken) {
        return wrong("sets the traceparent header, and so does -H; leave one of them out".into());
    }
    let line = format!("{TRACE}: {{{TRACE} {share}}}");
    let own = urls.iter_mut().filter_map(|url| url.options.get_mut("header"));
    own.for_each(|lines| lines.push(line.clone()));
    options.entry("header".into()).or_default().push(line);
    Ok(Some(part))
}

/// A share: `1%`, `0.01`.
fn part(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%').map_or(text.parse(), |percent| percent.parse().map(|n: f64| n / 100.0));
    number.ok().filter(|share| (0.0..=1.0).contains(share))
}

/// The header of a trace, and the slot that fills it.
const TRACE: &str = "traceparent";

/// An address to listen at: a port of this machine, `:PORT` of all its addresses, a host with or without a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    let whole = match (text.parse::<u16>(), text.strip_prefix(':')) {
        (Ok(_), _) => format!("127.0.0.1:{text}"),
        (_, Some(port)) => format!("0.0.0.0:{port}"),
        _ => text.to_owned(),
    };
    // A bare number that is no port would be taken for an address of one part.
    let number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let named = || (&*whole, PORT).to_socket_addrs();
    let found = whole.to_socket_addrs().or_else(|why| if number { Err(why) } else { named() });
    found.ok().and_then(|mut all| all.next()).ok_or_else(|| {
        format!(
            "`{text}` is not an address to listen on; write a port such as {PORT}, or \
            127.0.0.1:{PORT}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_is_this_machines_alone() {
        let of = |text: &str| address(text).map(|found| found.to_string());
        assert_eq!(of("9999").unwrap(), "127.0.0.1:9999");
        assert_eq!(of(":9999").unwrap(), "0.0.0.0:9999");
        assert_eq!(of("127.0.0.1").unwrap(), "127.0.0.1:9464");
        assert_eq!(of("[::1]:80").unwrap(), "[::1]:80");
        for wrong in ["", "99999", "127.0.0.1:x", "http://127.0.0.1:80"] {
            assert!(of(wrong).is_err_and(|said| said.contains("is not an address to listen on")), "{wrong}");
        }
    }
}
