//! The result of a simulated run: its events, sums over them, and the invariants of any run.

use std::sync::atomic::Ordering;

use brunt_measure::Nanos;
use brunt_record::{
    FailureExample, Latency, LoadChange, Notice, RunEnd, RunEvent, RunPart, Second, Subject, WindowStart,
};

use super::harness::ServerLog;

/// The result of a run.
#[derive(Debug)]
pub struct SimResult {
    pub seconds: Vec<Second>,
    /// Spans of the traced requests.
    pub spans: Vec<brunt_record::RequestSpan>,
    pub examples: Vec<FailureExample>,
    pub notices: Vec<Notice>,
    pub changes: Vec<LoadChange>,
    pub ended: RunEnd,
    pub began: Option<WindowStart>,
    pub sum: SecondSums,
    pub heard: u64,
    pub asks: Vec<(Nanos, String)>,
    pub wire_sent: u64,
    pub wire_received: u64,
    pub looks: u64,
}

/// The sum of the seconds of a run. Of the warm-up, only connections and bytes are included, as in a report.
#[derive(Debug, Default)]
pub struct SecondSums {
    pub due: u64,
    pub sent: u64,
    pub hops: u64,
    pub finished: u64,
    pub failed: u64,
    pub censored: u64,
    pub warmup: u64,
    pub opened: u64,
    pub connect_failed: u64,
    pub reused: u64,
    pub handshakes: u64,
    pub resumed: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub payload: u64,
    pub latency: Latency,
    /// Counts by `kind/phase/errno`.
    pub failures: std::collections::BTreeMap<String, u64>,
    pub status: std::collections::BTreeMap<String, u64>,
}

impl SecondSums {
    pub fn failures(&self, sort: &str) -> u64 {
        self.failures.iter().filter(|(k, _)| k.starts_with(sort)).map(|(_, n)| n).sum()
    }

    fn add(&mut self, s: &Second) {
        self.due += s.due;
        self.sent += s.sent;
        self.hops += s.hops;
        self.finished += s.finished;
        self.failed += s.failed;
        self.censored += s.censored;
        self.warmup += s.warmup;
        self.opened += s.connections.opened;
        self.connect_failed += s.connections.failed;
        self.reused += s.connections.reused;
        self.handshakes += s.connections.handshakes;
        self.resumed += s.connections.resumed;
        self.bytes_sent += s.bytes.sent;
        self.bytes_received += s.bytes.received;
        self.payload += s.bytes.payload;
        self.latency.merge(&s.latency);
        for f in &s.failures {
            let sort = format!("{}/{}/{}", f.kind, f.phase, f.errno.as_deref().unwrap_or(""));
            *self.failures.entry(sort).or_default() += f.count;
        }
        for (code, n) in &s.status {
            *self.status.entry(code.clone()).or_default() += n;
        }
    }
}

impl SimResult {
    pub(super) fn of(events: Vec<RunEvent>, books: &ServerLog) -> SimResult {
        let mut played = SimResult {
            seconds: vec![],
            spans: vec![],
            examples: vec![],
            notices: vec![],
            changes: vec![],
            ended: RunEnd::default(),
            began: None,
            sum: SecondSums::default(),
            heard: books.heard.load(Ordering::Relaxed),
            asks: std::mem::take(&mut books.asks.lock().unwrap()),
            wire_sent: books.sent.load(Ordering::Relaxed),
            wire_received: books.received.load(Ordering::Relaxed),
            looks: books.looks.load(Ordering::Relaxed),
        };
        for event in events {
            match event {
                RunEvent::Second(second) => {
                    played.sum.add(&second);
                    played.seconds.push(*second);
                }
                RunEvent::Spans(told) => played.spans.extend(told.spans),
                RunEvent::Example(example) => played.examples.push(example),
                RunEvent::Ended(ended) => played.ended = ended,
                RunEvent::Began(began) => {
                    assert!(played.began.is_none() && played.seconds.is_empty(), "said once, before the first second");
                    played.began = Some(began);
                }
                RunEvent::Notice(notice) if notice.subject() == Some(Subject::OnlyErrors) => {}
                RunEvent::Notice(notice) if notice.subject() == Some(Subject::ProcessLost) => {
                    played.notices.push(notice)
                }
                RunEvent::Changed(changed) => played.changes.push(changed),
                other => panic!("{other:?}"),
            }
        }
        played
    }

    /// Returns the sums over one part of the run.
    pub fn part(&self, part: RunPart) -> SecondSums {
        let mut sum = SecondSums::default();
        self.seconds.iter().filter(|s| s.part == part).for_each(|s| sum.add(s));
        sum
    }

    /// Returns the seconds without the one figure that a simulation cannot repeat: the CPU time of the thread that ran
    /// it.
    pub fn timeless(&self) -> Vec<Second> {
        self.seconds.iter().map(|s| Second { cpu_ns: 0, ..s.clone() }).collect()
    }

    /// Checks the invariants of every run, whatever went wrong in it.
    pub fn check(&self) {
        let s = &self.sum;
        assert_eq!(s.due, s.finished + s.failed + s.censored, "every request is accounted for: {s:?}");
        assert!(s.finished <= self.heard, "{} finished, the server heard {}", s.finished, self.heard);
        let most = s.finished + s.failed + s.censored + s.hops + s.warmup;
        assert!(self.heard <= most, "the server heard {}, we count {most}", self.heard);
        assert!(s.sent <= s.due, "{} sent, {} due", s.sent, s.due);
        assert_eq!(s.failures.values().sum::<u64>(), s.failed);
        for second in &self.seconds {
            assert_eq!(second.in_flight_ns as i128, second.service_ns, "Little's law in {}", second.from_ns);
        }
        for pair in self.seconds.windows(2) {
            assert_eq!(pair[0].to_ns, pair[1].from_ns, "no gap and no overlap between seconds");
        }
        for second in self.seconds.iter().filter(|s| s.part == RunPart::Warmup) {
            let counted = second.due + second.sent + second.hops + second.finished + second.failed + second.censored;
            assert_eq!(counted, 0, "the warm-up is in no figure");
        }
        assert_eq!(s.bytes_sent, self.wire_sent, "bytes sent");
        assert_eq!(s.bytes_received, self.wire_received, "bytes received");
        self.check_latency();
        if self.seconds.iter().any(|second| !second.named.is_empty()) {
            self.seconds.iter().for_each(super::named_figures::check);
        }
        let handshakes = s.handshakes;
        assert!(handshakes == 0 || handshakes == s.opened, "{handshakes} handshakes, {} opened", s.opened);
        assert!(s.reused <= s.sent + s.hops, "reused and sent");
        if self.ended.reason == brunt_record::End::Completed {
            let of_window: i64 =
                self.seconds.iter().filter(|s| s.part == RunPart::Window).map(|s| s.to_ns - s.from_ns).sum();
            assert_eq!(of_window, self.ended.window.0 as i64, "the seconds of the window are the window");
        }
    }

    fn check_latency(&self) {
        let (s, l) = (&self.sum, &self.sum.latency);
        assert_eq!(l.service.count(), s.finished);
        assert_eq!(l.first_byte.count(), s.finished);
        assert_eq!(l.transfer.count(), s.finished);
        assert_eq!(l.failed.count(), s.failed);
        let timeouts = s.failures("timeout");
        let unfinished = l.service_at_least.count() + l.wait_conn_at_least.count();
        assert_eq!(unfinished, s.censored + timeouts, "a lower bound for each that did not finish");
        if l.gen_late.count() > 0 || l.response.count() > 0 {
            assert_eq!(l.response.count(), s.finished);
            assert_eq!(l.response_at_least.count(), s.censored + timeouts);
            assert_eq!(l.gen_late.count(), l.wait_conn.count());
        }
        if s.finished == s.due && l.response.count() > 0 {
            let parts = l.wait_conn.sum() + l.gen_late.sum() + l.service.sum();
            assert_eq!(l.response.sum(), parts, "response = wait_conn + gen_late + service");
        }
    }
}
