//! A brunt with one more protocol: `lines://host:port` sends a line of text and takes the next line as its answer.
//!
//! A protocol consists of its name, schemes and options (flags, plan keys and help are derived from them), the
//! requests, prepared once before the run, and a session without I/O. Load, figures, faults, reports and plan files
//! come from brunt.

use std::process::ExitCode;
use std::sync::Arc;

use wire::{
    About, Asked, Broken, Complaint, Dialogue, Done, Ended, Established, Event, ExchangeId, FaultKind, Fill, Full,
    Memory, Names, OptionSpec, Origin, Out, Prepared, Protocol, Request, Sent, Session, Weighted, one,
};

// Errors of a session, as shown in reports.
cause::sentences! { "lines":
    long_line = "a line is longer than 64 KiB", "一行超过 64 KiB";
    unsolicited_line = "a line nobody asked for", "未经请求的一行";
    more_than_a_line = "more than the line that was asked for", "多于所请求的一行";
}

/// Maximum length of an answer: nothing from the network may grow without bound.
const LONGEST: usize = 64 * 1024;

struct Lines;

const OPTIONS: &[OptionSpec] = &[
    one("line", "TEXT", "The line to send [default: hello]", "发送的一行文本（默认 hello）"),
    one("expect-line", "TEXT", "Count an answer as failed unless it is this line", "应答不是该行则计为失败"),
];

impl Protocol for Lines {
    fn about(&self) -> About<'_> {
        About::new("lines", &["lines"], OPTIONS, &["line", "expect-line"])
    }
    fn prepare(&self, asked: &Asked) -> Result<Arc<dyn Dialogue>, Complaint> {
        let (mut requests, mut origins, mut names) = (Vec::new(), Vec::new(), Names::default());
        for (at, url) in asked.urls.iter().enumerate() {
            // Options of this URL, or step of a flow, take precedence over those of the run.
            let alone = asked.alone(at);
            let options = alone.as_ref().unwrap_or(asked);
            let line = options.value("line").unwrap_or("hello");
            let expected = options.value("expect-line").map(|line| line.as_bytes().into());
            let host = url.url.trim_start_matches("lines://").trim_end_matches('/');
            let (host, port) = host.rsplit_once(':').unwrap_or((host, "7"));
            let port = port.parse().map_err(|_| Complaint::new("URL", "has no port; write lines://host:7"))?;
            names.add(asked.name(at).unwrap_or(line));
            let line = Line { text: format!("{line}\n"), expected };
            requests.push(Weighted::new(line, origins.len(), url.weight));
            origins.push(Origin::tcp(host, port, false));
        }
        Ok(Arc::new(Said { prepared: Prepared::new(requests, origins, names) }))
    }
}

/// A request: the line to send, and the only correct answer.
struct Line {
    text: String,
    expected: Option<Arc<[u8]>>,
}

/// The workload of a run.
struct Said {
    prepared: Prepared,
}

impl Dialogue for Said {
    fn prepared(&self) -> &Prepared {
        &self.prepared
    }
    fn sent_with(&self, request: &Request, _: &Fill, _: Option<&Memory>) -> Vec<u8> {
        request.of::<Line>().text.clone().into_bytes()
    }
    fn session(&self, _: &Origin, _: &Established) -> Box<dyn Session> {
        Box::new(Conversation { asked: None, answer: Vec::new(), expected: None })
    }
}

/// A session on one connection.
struct Conversation {
    asked: Option<ExchangeId>,
    answer: Vec<u8>,
    expected: Option<Arc<[u8]>>,
}

impl Session for Conversation {
    fn submit(&mut self, id: ExchangeId, request: &Request, _: &Fill, out: &mut Out) -> Result<Sent, Full> {
        let None = self.asked else { return Err(Full) };
        self.asked = Some(id);
        let line = request.of::<Line>();
        self.expected.clone_from(&line.expected);
        out.put(line.text.as_bytes());
        Ok(Sent::Asked)
    }
    fn receive(&mut self, bytes: &[u8], _: &mut Out, done: &mut Done) -> Result<(), Broken> {
        self.answer.extend_from_slice(bytes);
        let Some(end) = self.answer.iter().position(|b| *b == b'\n') else {
            return if self.answer.len() > LONGEST { Err(Broken(long_line())) } else { Ok(()) };
        };
        let id = self.asked.take().ok_or(Broken(unsolicited_line()))?;
        let wrong = self.expected.as_ref().is_some_and(|expected| **expected != self.answer[..end]);
        let (fault, payload) = (wrong.then_some(FaultKind::WrongBody), end as u64);
        done.push(Event::Ended(Ended { id, fault, code: 0, payload, excerpt: None, follow: None, why: None }));
        let more = self.answer.len() > end + 1;
        self.answer.clear();
        if more { Err(Broken(more_than_a_line())) } else { Ok(()) }
    }
    fn room(&self) -> usize {
        usize::from(self.asked.is_none())
    }
}

fn main() -> ExitCode {
    cli::main_with(protocols::with_mixed(vec![Arc::new(protocols::http::Http), Arc::new(Lines)]))
}
