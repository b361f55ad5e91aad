//! Export of a run's metrics to Prometheus and OpenTelemetry.

use brunt_cause::complaint;
use std::net::SocketAddr;
use std::time::Duration;

use brunt_contract::UsageError;
use brunt_engine::Stop;
use brunt_export::{CollectorClient, FiguresPush, LingerOutcome, LiveFigures, PrometheusServer, SpanPush};
use brunt_measure::Nanos;
use brunt_record::RunListener;
use brunt_report::Lang;

use crate::messages;
use crate::preflight::span;
use crate::view::View;
use brunt_config::ExportSettings;

/// Default time for which the final metrics can be scraped: most servers scrape every 15 s.
const LINGER: Nanos = Nanos::from_secs(20);

/// The exporters of a run; none by default.
#[derive(Default)]
pub struct Exporters {
    figures: Option<LiveFigures>,
    prometheus: Option<PrometheusServer>,
    otlp: Option<FiguresPush>,
    spans: Option<SpanPush>,
    /// Destinations of metrics and spans, with secrets masked.
    sent: [Option<String>; 2],
    linger: Option<Nanos>,
}

impl Exporters {
    /// Opens the requested exporters before anything is sent.
    ///
    /// # Errors
    /// Returns an error if the address cannot be listened on or a setting is wrong.
    pub fn begin(asked: &ExportSettings) -> Result<Exporters, UsageError> {
        if asked.prometheus.is_none() && asked.otlp.is_none() {
            return Ok(Exporters::default());
        }
        let figures = LiveFigures::new();
        let prometheus = asked.prometheus.map(|address| listen(address, &figures)).transpose()?;
        let wrong = |trouble| UsageError::new("--otlp", trouble);
        let of = |place: &Option<(brunt_export::Endpoint, brunt_export::ExporterSettings)>| {
            place.as_ref().map(|(endpoint, settings)| CollectorClient::new(endpoint.clone(), settings)).transpose()
        };
        let both = asked.otlp.as_ref().map(|otlp| Ok((of(&otlp.metrics)?, of(&otlp.traces)?))).transpose();
        let (metrics, traces) = both.map_err(wrong)?.unwrap_or_default();
        let sent =
            [&metrics, if asked.traced { &traces } else { &None }].map(|to| to.as_ref().map(CollectorClient::shown));
        let spans = traces.map(SpanPush::new);
        let otlp =
            metrics.map(|collector| FiguresPush::start(collector, figures.clone())).transpose().map_err(wrong)?;
        Ok(Exporters { figures: Some(figures), prometheus, otlp, spans, sent, linger: asked.linger })
    }

    /// Shows where the metrics are served and sent.
    pub fn introduce(&self, view: &mut View, lang: Lang) {
        if let Some(prometheus) = &self.prometheus {
            let address = prometheus.address().to_string();
            view.print(&lang.fill(messages::PROMETHEUS, &[("address", &address)]));
        }
        let [metrics, spans] = &self.sent;
        let said = match (metrics, spans) {
            (Some(url), Some(other)) if url == other => vec![(messages::OTLP_BOTH, url)],
            _ => [(messages::OTLP, metrics), (messages::OTLP_SPANS, spans)]
                .into_iter()
                .filter_map(|(text, url)| Some((text, url.as_ref()?)))
                .collect(),
        };
        said.into_iter().for_each(|(text, url)| view.print(&lang.fill(text, &[("url", url)])));
    }

    /// Returns the listeners for the events of the run.
    pub fn listeners(&mut self) -> impl Iterator<Item = &mut dyn RunListener> {
        let figures = self.figures.iter_mut().map(|figures| figures as &mut dyn RunListener);
        let spans = self.spans.iter_mut().map(|push| push as &mut dyn RunListener);
        figures.chain(spans).chain(self.otlp.iter_mut().map(|push| push as &mut dyn RunListener))
    }

    /// Keeps serving the final metrics until they have been scraped, the time for that is over, or the user interrupts.
    pub fn linger(&self, stop: &Stop, view: &mut View, lang: Lang) {
        let Some(prometheus) = self.prometheus.as_ref().filter(|p| self.linger.is_some() || p.is_awaited()) else {
            return;
        };
        let at_most = self.linger.unwrap_or(LINGER);
        if at_most == Nanos::ZERO {
            return;
        }
        view.print(&lang.fill(messages::LINGERS, &[("time", &span(at_most))]));
        // If the run was interrupted already, the next interrupt ends the process.
        let ended = stop.requested();
        let fetched = prometheus.linger(Duration::from_nanos(at_most.0), &|| !ended && stop.requested());
        if fetched == LingerOutcome::NotFetched {
            view.print(lang.of(messages::NOT_FETCHED));
        }
    }
}

fn listen(address: SocketAddr, figures: &LiveFigures) -> Result<PrometheusServer, UsageError> {
    PrometheusServer::listen(address, figures.clone()).map_err(|why| {
        let trouble = complaint!(
            "cannot listen on {address}: {why}; use another address, or 0 for any free port",
            "无法监听 {address}：{why}；请用其他地址，或用 0 表示任意空闲端口"
        );
        UsageError::new("--prometheus", trouble)
    })
}
