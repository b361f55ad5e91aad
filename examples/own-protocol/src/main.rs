//! A brunt with one more protocol: `lines://host:port` sends a line of text and takes the next line as its answer.
//!
//! A protocol consists of its name, schemes and options (flags, plan keys and help are derived from them), the
//! requests, prepared once before the run, and a session without I/O. Load, figures, faults, reports and plan files
//! come from brunt.

use std::process::ExitCode;
use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Event, EventBuffer, ExchangeEnd, ExchangeId, FaultKind, OptionSpec, Origin, OutputBuffer,
    PreparedWorkload, Protocol, ProtocolConfig, ProtocolDescription, ProtocolError, Request, RequestNames, Session,
    SessionFull, SlotContext, SubmitOutcome, UsageError, UserState, WeightedRequest, Workload, one,
};

// Errors of a session, as shown in reports.
brunt_cause::sentences! { "lines":
    long_line = "a line is longer than 64 KiB", "一行超过 64 KiB";
    unsolicited_line = "a line nobody asked for", "未经请求的一行";
    more_than_a_line = "more than the line that was asked for", "多于所请求的一行";
}

/// Maximum length of an answer: nothing from the network may grow without bound.
const LONGEST: usize = 64 * 1024;

struct LineProtocol;

const OPTIONS: &[OptionSpec] = &[
    one("line", "TEXT", "The line to send [default: hello]", "发送的一行文本（默认 hello）"),
    one("expect-line", "TEXT", "Count an answer as failed unless it is this line", "应答不是该行则计为失败"),
];

impl Protocol for LineProtocol {
    fn description(&self) -> ProtocolDescription<'_> {
        ProtocolDescription::new("lines", &["lines"], OPTIONS, &["line", "expect-line"])
    }
    fn prepare(&self, config: &ProtocolConfig) -> Result<Arc<dyn Workload>, UsageError> {
        let (mut requests, mut origins, mut names) = (Vec::new(), Vec::new(), RequestNames::default());
        for (at, url) in config.urls.iter().enumerate() {
            // The options of a URL, or of a step of a flow, take precedence over those of the run.
            let alone = config.for_url(at);
            let options = alone.as_ref().unwrap_or(config);
            let line = options.value("line").unwrap_or("hello");
            let expected = options.value("expect-line").map(|line| line.as_bytes().into());
            let host = url.url.trim_start_matches("lines://").trim_end_matches('/');
            let (host, port) = host.rsplit_once(':').unwrap_or((host, "7"));
            let port = port.parse().map_err(|_| UsageError::new("URL", "has no port; write lines://host:7"))?;
            names.add(config.name(at).unwrap_or(line));
            let line = LineRequest { text: format!("{line}\n"), expected };
            requests.push(WeightedRequest::new(line, origins.len(), url.weight));
            origins.push(Origin::tcp(host, port, false));
        }
        Ok(Arc::new(LineWorkload { prepared: PreparedWorkload::new(requests, origins, names) }))
    }
}

/// A request: the line to send, and the only correct answer, if it is checked.
struct LineRequest {
    text: String,
    expected: Option<Arc<[u8]>>,
}

/// The workload of a run.
struct LineWorkload {
    prepared: PreparedWorkload,
}

impl Workload for LineWorkload {
    fn prepared(&self) -> &PreparedWorkload {
        &self.prepared
    }
    fn encoded_with(&self, request: &Request, _: &SlotContext, _: Option<&UserState>) -> Vec<u8> {
        request.downcast::<LineRequest>().text.clone().into_bytes()
    }
    fn session(&self, _: &Origin, _: &EstablishedConnection) -> Box<dyn Session> {
        Box::new(LineSession { in_flight: None, answer: Vec::new(), expected: None })
    }
}

/// A session on one connection.
struct LineSession {
    in_flight: Option<ExchangeId>,
    answer: Vec<u8>,
    expected: Option<Arc<[u8]>>,
}

impl Session for LineSession {
    fn submit(
        &mut self,
        id: ExchangeId,
        request: &Request,
        _: &SlotContext,
        out: &mut OutputBuffer,
    ) -> Result<SubmitOutcome, SessionFull> {
        let None = self.in_flight else { return Err(SessionFull) };
        self.in_flight = Some(id);
        let line = request.downcast::<LineRequest>();
        self.expected.clone_from(&line.expected);
        out.put(line.text.as_bytes());
        Ok(SubmitOutcome::AwaitingResponse)
    }
    fn receive(&mut self, bytes: &[u8], _: &mut OutputBuffer, done: &mut EventBuffer) -> Result<(), ProtocolError> {
        self.answer.extend_from_slice(bytes);
        let Some(end) = self.answer.iter().position(|b| *b == b'\n') else {
            return if self.answer.len() > LONGEST { Err(ProtocolError(long_line())) } else { Ok(()) };
        };
        let id = self.in_flight.take().ok_or(ProtocolError(unsolicited_line()))?;
        let wrong = self.expected.as_ref().is_some_and(|expected| **expected != self.answer[..end]);
        let (fault, payload) = (wrong.then_some(FaultKind::WrongBody), end as u64);
        done.push(Event::Ended(ExchangeEnd {
            id,
            fault,
            code: 0,
            payload,
            excerpt: None,
            follow_up: None,
            cause: None,
        }));
        let more = self.answer.len() > end + 1;
        self.answer.clear();
        if more { Err(ProtocolError(more_than_a_line())) } else { Ok(()) }
    }
    fn room(&self) -> usize {
        usize::from(self.in_flight.is_none())
    }
}

fn main() -> ExitCode {
    brunt_cli::main_with(brunt_protocols::with_composite(vec![
        Arc::new(brunt_protocols::http::Http),
        Arc::new(LineProtocol),
    ]))
}
