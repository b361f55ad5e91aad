//! The destination of `--otlp`: a URL, or that in the standard OpenTelemetry exporter variables. The other exporter
//! variables apply in both cases.
//!
//! A variable alone does not enable the export: it is often set for whole sessions, and the metrics of a load test are
//! sent only on request.

use brunt_cause::{Complaint, complaint};
use std::time::Duration;

use brunt_contract::UsageError;
use brunt_export::{Endpoint, EnvVariable, ExporterSettings};

use super::proxies;
use super::values::SettingValue;

/// A collector and its settings.
type OtlpCollector = (Endpoint, ExporterSettings);

/// The collectors of a run.
#[derive(Clone, Debug, Default)]
pub struct OtlpCollectors {
    /// Collector of metrics.
    pub metrics: Option<OtlpCollector>,
    /// Collector of spans.
    pub traces: Option<OtlpCollector>,
}

/// Value of the option that selects the destination in the variables.
const ENV: &str = "env";
/// Common prefix of the variables.
const PREFIX: &str = "OTEL_EXPORTER_OTLP_";

/// Reads `--otlp` together with `variables`.
///
/// # Errors
/// A setting is invalid; the error names the option or the variable.
pub fn read(value: &SettingValue, variables: &dyn Fn(&str) -> Option<String>) -> Result<OtlpCollectors, UsageError> {
    let url = Some(&value.text).filter(|text| !text.eq_ignore_ascii_case(ENV));
    let given = url.map(|url| Endpoint::parse(url)).transpose();
    let given = given.map_err(|trouble| {
        let zh = trouble.zh();
        value.wrong("--otlp", complaint!("{trouble}, or {ENV}", "{zh}，或 {ENV}"))
    })?;
    let of = |signal: &str| {
        let exporter = format!("OTEL_{signal}_EXPORTER");
        if variables(&exporter).is_some_and(|text| text.trim() == "none") {
            return Ok(None);
        }
        let told = SignalVariables { value, signal, variables };
        let mut settings = told.settings()?;
        let endpoint = given.clone().map_or_else(|| told.endpoint(&settings), Ok)?;
        settings.proxy = proxies::collector_proxy(&endpoint.shown(), variables)?;
        Ok(Some((endpoint, settings)))
    };
    Ok(OtlpCollectors { metrics: of("METRICS")?, traces: of("TRACES")? })
}

/// The variables of one signal.
struct SignalVariables<'a> {
    value: &'a SettingValue,
    signal: &'a str,
    variables: &'a dyn Fn(&str) -> Option<String>,
}

impl SignalVariables<'_> {
    /// Returns the variable of the signal, or else the common one of all signals; empty variables are ignored.
    fn variable(&self, name: &str) -> Option<EnvVariable> {
        let said = |name: String| {
            let text = (self.variables)(&name).filter(|text| !text.trim().is_empty())?;
            Some(EnvVariable { name, value: text.trim().to_owned() })
        };
        said(format!("{PREFIX}{}_{name}", self.signal)).or_else(|| said(format!("{PREFIX}{name}")))
    }

    fn settings(&self) -> Result<ExporterSettings, UsageError> {
        let plain = |name: &str| (self.variables)(name).filter(|text| !text.is_empty());
        let read = |file: EnvVariable| {
            let pem = std::fs::read(&file.value);
            pem.map_err(|why| {
                UsageError::new(file.name, complaint!("{} cannot be read: {why}", "{} 无法读取：{why}", file.value))
            })
        };
        Ok(ExporterSettings {
            protocol: self.variable("PROTOCOL"),
            headers: self.variable("HEADERS"),
            timeout: self.variable("TIMEOUT").map(timeout).transpose()?,
            certificate: self.variable("CERTIFICATE").map(read).transpose()?,
            attributes: plain("OTEL_RESOURCE_ATTRIBUTES"),
            service: plain("OTEL_SERVICE_NAME"),
            proxy: None,
        })
    }

    /// Returns the endpoint in the variables.
    fn endpoint(&self, settings: &ExporterSettings) -> Result<Endpoint, UsageError> {
        let Some(said) = self.variable("ENDPOINT") else {
            let trouble = complaint!(
                "{ENV} asks for {PREFIX}ENDPOINT, which is not set; set it, or write the URL here",
                "{ENV} 需要 {PREFIX}ENDPOINT，而它没有设置；请设置它，或在这里写 URL"
            );
            return Err(self.value.wrong("--otlp", trouble));
        };
        let wrong = |trouble: Complaint| UsageError::new(said.name.clone(), trouble);
        let of_all = said.name == format!("{PREFIX}ENDPOINT");
        let by_grpc = settings.protocol.as_ref().is_some_and(|protocol| protocol.value == "grpc");
        if by_grpc && !said.value.contains("://") {
            let insecure = self.variable("INSECURE").is_some_and(|text| text.value.eq_ignore_ascii_case("true"));
            let scheme = if insecure { "grpc" } else { "grpcs" };
            return Endpoint::parse(&format!("{scheme}://{}", said.value)).map_err(wrong);
        }
        let read = if of_all || by_grpc { Endpoint::parse } else { Endpoint::parse_exact };
        read(&said.value).map_err(wrong)
    }
}

/// Parses a number of milliseconds.
fn timeout(said: EnvVariable) -> Result<Duration, UsageError> {
    let number = said.value.parse().ok().filter(|ms| *ms > 0 && *ms <= 600_000);
    number.map(Duration::from_millis).ok_or_else(|| {
        let trouble = complaint!(
            "`{}` is not a time from 1 to 600000 milliseconds; use, for example, 10000",
            "`{}` 不是 1 到 600000 毫秒的时间；请写，例如 10000",
            said.value
        );
        UsageError::new(said.name, trouble)
    })
}

#[cfg(test)]
mod tests {
    use super::super::origin::ValueOrigin;
    use super::*;

    fn with(text: &str, set: &[(&str, &str)]) -> Result<OtlpCollectors, String> {
        let variables = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
        let said = SettingValue { name: "otlp", text: text.to_owned(), origin: ValueOrigin::CommandLine };
        read(&said, &variables).map_err(|complaint| complaint.to_string())
    }

    fn places(read: Result<OtlpCollectors, String>) -> [String; 2] {
        let otlp = read.expect("right");
        [otlp.metrics, otlp.traces].map(|place| place.map_or("none".into(), |(endpoint, _)| format!("{endpoint:?}")))
    }

    fn at(url: &str) -> String {
        format!("{:?}", Endpoint::parse(url).expect("a URL"))
    }

    #[test]
    fn a_proxy_of_the_environment_is_for_collectors_elsewhere() {
        let proxies = [("http_proxy", "p:1"), ("https_proxy", "http://a:b@q:2"), ("no_proxy", "inside")];
        let of = |url| {
            let (_, settings) = with(url, &proxies).expect("right").metrics.expect("a place");
            settings.proxy.map(|proxy| proxy.to_string())
        };
        assert_eq!(of("http://h:1").as_deref(), Some("http://p:1"));
        assert_eq!(of("https://h").as_deref(), Some("http://q:2"));
        assert_eq!([of("http://inside:1"), of("localhost")], [None, None]);
    }

    #[test]
    fn the_variables_say_where_and_a_url_says_it_before_them() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318/x/");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://own/here");
        assert_eq!(places(with("env", &[all])), [at("http://all:4318/x"), at("http://all:4318/x")]);
        let exactly = format!("{:?}", Endpoint::parse_exact(own.1).expect("a URL"));
        assert_eq!(places(with("ENV", &[all, own])), [at(all.1), exactly]);
        assert_eq!(places(with("http://h:1", &[all, own])), [at("http://h:1"), at("http://h:1")]);
        let none = ("OTEL_METRICS_EXPORTER", "none");
        assert_eq!(places(with("env", &[all, none])), ["none".to_owned(), at(all.1)]);
        let said = with("env", &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).expect_err("nothing is set");
        assert!(said.starts_with("--otlp: env asks for OTEL_EXPORTER_OTLP_ENDPOINT, which is not set"), "{said}");
        let said = with("env", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://h")]).expect_err("no URL");
        assert!(said.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT: `ftp://h` is not the URL"), "{said}");
    }

    #[test]
    fn an_address_of_grpc_without_a_scheme_is_reached_by_tls_unless_it_is_said() {
        let set = [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "h:4317")];
        assert_eq!(places(with("env", &set))[0], at("grpcs://h:4317"));
        let insecure = [set[0], set[1], ("OTEL_EXPORTER_OTLP_INSECURE", "true")];
        assert_eq!(places(with("env", &insecure))[0], at("grpc://h:4317"));
    }

    #[test]
    fn what_is_said_of_one_signal_goes_before_what_is_said_of_all() {
        let set = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=b"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "c=d"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_SERVICE_NAME", "load"),
        ];
        let OtlpCollectors { metrics: Some((_, metrics)), traces: Some((_, traces)) } = with("h", &set).expect("right")
        else {
            panic!("both are sent")
        };
        let headers = [metrics.headers, traces.headers].map(|said| said.map(|said| said.value));
        assert_eq!(headers, [Some("a=b".into()), Some("c=d".into())]);
        assert_eq!((metrics.timeout, traces.service.as_deref()), (Some(Duration::from_millis(2500)), Some("load")));
        for wrong in ["0", "10s", "-1", "9999999"] {
            let said = with("h", &[("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", wrong)]).expect_err("no time");
            assert!(
                said.starts_with(&format!("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: `{wrong}` is not a time")),
                "{said}"
            );
        }
        let said = with("h", &[("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem")]).expect_err("no file");
        assert!(said.starts_with("OTEL_EXPORTER_OTLP_CERTIFICATE: /nowhere.pem cannot be read"), "{said}");
    }
}
