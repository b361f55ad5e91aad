//! Requests as client spans, sent to an OpenTelemetry collector on a separate thread.
//!
//! The queue is bounded and never blocks the run: spans that do not fit, and spans that the collector does not accept,
//! are counted and reported at the end. If the collector is unreachable, the export of a batch is retried a few times.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brunt_record::{Notice, RequestSpan, RunEvent, RunListener, Subject};

use crate::client_spans::SpanContext;
use crate::collector::CollectorClient;

/// Maximum number of spans in the queue.
const QUEUE: usize = 16 << 10;
/// Maximum number of spans in one export.
const BATCH: usize = 512;
/// Time for which an incomplete batch waits for more spans.
const GATHER: Duration = Duration::from_secs(1);
/// Number of attempts for a batch, and the pause between them.
const TRIES: u32 = 3;
const BETWEEN: Duration = Duration::from_secs(1);

/// The export of a run's spans to a collector.
pub struct SpanPush {
    shown: String,
    /// Maximum time that the end of a run waits for the last spans.
    last: Duration,
    /// Time until which the end of a run waits; `None` before it.
    until: Option<Instant>,
    /// Collector; `None` once the first span has started the thread.
    collector: Option<CollectorClient>,
    shared: Arc<SharedSpans>,
}

#[derive(Default)]
struct SharedSpans {
    state: Mutex<SpanQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct SpanQueueState {
    context: SpanContext,
    queue: VecDeque<RequestSpan>,
    /// Number of spans in the export in progress.
    exporting: u64,
    account: SpanAccount,
    /// Set once the run is over.
    ended: bool,
    /// Set once every span has been sent or given up.
    done: bool,
}

/// Counts of the spans by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SpanAccount {
    sent: u64,
    /// Spans that the collector did not accept.
    lost: u64,
    /// Spans that did not fit into a second's selection or into the queue.
    dropped: u64,
    /// Reason for the last loss.
    last_error: Option<String>,
}

impl SharedSpans {
    fn lock(&self) -> MutexGuard<'_, SpanQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpanPush {
    /// Creates an export to a collector, which a run without traces never contacts.
    pub fn new(collector: CollectorClient) -> SpanPush {
        SpanPush {
            shown: collector.shown(),
            last: collector.final_wait(),
            until: None,
            collector: Some(collector),
            shared: Arc::default(),
        }
    }

    fn take(&mut self, spans: &brunt_record::RequestSpans) {
        let mut state = self.shared.lock();
        let room = QUEUE.saturating_sub(state.queue.len());
        state.queue.extend(spans.spans.iter().take(room).cloned());
        state.account.dropped += spans.left_out + spans.spans.len().saturating_sub(room) as u64;
        self.shared.changed.notify_all();
        drop(state);
        let Some(collector) = self.collector.take() else { return };
        let shared = Arc::clone(&self.shared);
        let thread =
            std::thread::Builder::new().name("otlp-spans".into()).spawn(move || run_pusher(&collector, &shared));
        if let Err(why) = thread {
            let mut state = self.shared.lock();
            (state.done, state.account.last_error) = (true, Some(why.to_string()));
        }
    }
}

impl RunListener for SpanPush {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        match event {
            RunEvent::Spans(spans) => self.take(spans),
            RunEvent::Started(started) => self.shared.lock().context.started(started),
            RunEvent::FirstResponse(answer) => self.shared.lock().context.answered(answer),
            RunEvent::Began(began) => self.shared.lock().context.unix_ns = began.unix_ns,
            _ => {}
        }
        Ok(())
    }

    fn run_over(&mut self) {
        self.until = Some(Instant::now() + self.last);
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }

    /// Waits for the last spans.
    fn final_notices(&mut self) -> Vec<Notice> {
        let mut state = self.shared.lock();
        if self.collector.is_none() {
            let rest = self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            let waited = self.shared.changed.wait_timeout_while(state, rest, |state| !state.done);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let SpanAccount { sent, mut lost, dropped: left_out, last_error: why } = state.account.clone();
        if !state.done {
            lost += state.queue.len() as u64 + state.exporting;
        }
        let url = || ("url", self.shown.clone());
        let mut said = Vec::new();
        if lost > 0 || (why.is_some() && sent == 0) {
            let why = why.unwrap_or_else(|| "no response in time".into());
            let facts = [url(), ("lost", lost.to_string()), ("spans", (sent + lost).to_string()), ("why", why)];
            said.push(Notice::new(Subject::OtlpSpansLost, facts));
        }
        if left_out > 0 {
            let facts = [("left_out", left_out.to_string()), ("spans", (sent + lost).to_string())];
            said.push(Notice::new(Subject::OtlpSpansLeftOut, facts));
        }
        said
    }
}

/// Sends queued spans until the run is over.
fn run_pusher(collector: &CollectorClient, shared: &SharedSpans) {
    loop {
        let state = shared.lock();
        let waits = |state: &mut SpanQueueState| state.queue.len() < BATCH && !state.ended;
        let waited = shared.changed.wait_timeout_while(state, GATHER, waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let many = state.queue.len().min(BATCH);
        let batch: Vec<RequestSpan> = state.queue.drain(..many).collect();
        if batch.is_empty() {
            if state.ended {
                state.done = true;
                shared.changed.notify_all();
                return;
            }
            continue;
        }
        state.exporting = many as u64;
        let body = state.context.export(&batch, &collector.resource);
        drop(state);
        let outcome = send_with_retries(collector, shared, &body);
        let mut state = shared.lock();
        state.exporting = 0;
        match outcome {
            Ok(()) => state.account.sent += many as u64,
            Err(why) => {
                state.account.lost += many as u64;
                state.account.last_error = Some(why);
            }
        }
    }
}

/// Sends a batch and retries it if it is not accepted, without pauses once the run has ended.
fn send_with_retries(collector: &CollectorClient, shared: &SharedSpans, body: &[u8]) -> Result<(), String> {
    let mut tries = 1;
    loop {
        let outcome = collector.send("traces", body);
        if outcome.is_ok() || tries == TRIES {
            return outcome;
        }
        tries += 1;
        let until = Instant::now() + BETWEEN;
        let mut state = shared.lock();
        while !state.ended && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::collector::{Endpoint, ExporterSettings};

    use super::*;

    #[test]
    fn what_finds_no_room_and_what_nobody_takes_is_counted_and_told_and_a_run_without_spans_tells_nothing() {
        // The port of a dropped listener is closed.
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|gone| gone.local_addr()).expect("a port").port();
        let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{port}")).expect("a URL");
        let push = || {
            SpanPush::new(CollectorClient::new(endpoint.clone(), &ExporterSettings::default()).expect("a collector"))
        };
        assert!(push().final_notices().is_empty());
        let mut push = push();
        let spans = vec![RequestSpan { sampled: true, ..RequestSpan::default() }; QUEUE + 100];
        push.observe(&RunEvent::Spans(brunt_record::RequestSpans { spans, left_out: 5 })).expect("never in the way");
        push.run_over();
        let said = push.final_notices();
        let facts: Vec<_> = said.iter().map(|notice| (notice.subject(), notice.facts.clone())).collect();
        let [(Some(Subject::OtlpSpansLost), lost), (Some(Subject::OtlpSpansLeftOut), left_out)] = &facts[..] else {
            panic!("{facts:?}")
        };
        let queued = QUEUE.to_string();
        assert_eq!((&lost["lost"], &lost["spans"], lost["why"].is_empty()), (&queued, &queued, false));
        assert!(left_out["left_out"].parse::<u64>().is_ok_and(|n| (5..=105).contains(&n)));
    }

    #[test]
    fn what_a_silent_collector_did_not_take_is_counted_with_the_export_in_progress() {
        // Connections are accepted by the kernel, and nobody ever answers.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", silent.local_addr().expect("an address"));
        let settings = ExporterSettings { timeout: Some(Duration::from_millis(500)), ..ExporterSettings::default() };
        let collector = || CollectorClient::new(Endpoint::parse(&url).expect("a URL"), &settings).expect("a collector");
        let mut spans = SpanPush::new(collector());
        let mut figures = crate::FiguresPush::start(collector(), crate::LiveFigures::new()).expect("a thread");
        let many = vec![RequestSpan { sampled: true, ..RequestSpan::default() }; 3 * BATCH];
        spans.observe(&RunEvent::Spans(brunt_record::RequestSpans { spans: many, left_out: 0 })).expect("taken");
        let mut all: [&mut dyn RunListener; 2] = [&mut spans, &mut figures];
        all.iter_mut().for_each(|listener| listener.run_over());
        let said: Vec<Notice> = all.iter_mut().flat_map(|listener| listener.final_notices()).collect();
        let facts = |subject| {
            let notice = said.iter().find(|notice| notice.subject() == Some(subject));
            notice.unwrap_or_else(|| panic!("{said:?}")).facts.clone()
        };
        let lost = facts(Subject::OtlpSpansLost);
        assert_eq!((&*lost["lost"], &*lost["spans"]), ("1536", "1536"), "those in the export in progress too");
        let missed = facts(Subject::OtlpIncomplete);
        assert_eq!((&*missed["missed"], &*missed["exports"]), ("1", "1"));
    }
}
