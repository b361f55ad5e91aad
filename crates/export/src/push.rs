//! Export of figures to an OpenTelemetry collector, once a second, on a separate thread.
//!
//! Each export contains all current figures, so that a slow collector gets fewer exports, and one that was unreachable
//! misses no totals. A failure is reported when it first occurs and at the end; it has no other effect.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brunt_record::{Notice, RunEvent, RunListener, Subject};

use crate::collector::CollectorClient;
use crate::figures::LiveFigures;
use crate::otlp;

/// The export of a run's figures to a collector.
pub struct FiguresPush {
    figures: LiveFigures,
    shown: String,
    /// Maximum time that the end of a run waits for the last export.
    last: Duration,
    /// Time until which the end of a run waits; `None` before it.
    until: Option<Instant>,
    sent: Arc<PushStatus>,
    /// Set once a failure has been reported.
    failure_reported: bool,
}

#[derive(Default)]
struct PushStatus {
    account: Mutex<PushAccount>,
    over: Condvar,
}

/// Counts of the exports by outcome.
#[derive(Clone, Debug, Default)]
struct PushAccount {
    exports: u64,
    missed: u64,
    /// Reason for the last failed export.
    last_error: Option<String>,
    /// Whether the final export was accepted; `None` until it has been attempted.
    ended: Option<bool>,
}

impl FiguresPush {
    /// Starts sending these figures.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn start(collector: CollectorClient, figures: LiveFigures) -> Result<FiguresPush, String> {
        let (shown, last) = (collector.shown(), collector.final_wait());
        let (sent, read) = (Arc::new(PushStatus::default()), figures.clone());
        let account = Arc::clone(&sent);
        let thread =
            std::thread::Builder::new().name("otlp".into()).spawn(move || run_pusher(&collector, &read, &account));
        thread.map_err(|why: io::Error| why.to_string())?;
        Ok(FiguresPush { figures, shown, last, until: None, sent, failure_reported: false })
    }

    fn missed(&self, account: &PushAccount) -> Option<Notice> {
        let facts = [
            ("url", self.shown.clone()),
            ("why", account.last_error.clone()?),
            ("missed", account.missed.to_string()),
            ("exports", account.exports.to_string()),
        ];
        Some(Notice::new(Subject::OtlpAway, facts))
    }
}

impl RunListener for FiguresPush {
    fn observe(&mut self, _event: &RunEvent) -> Result<(), Notice> {
        Ok(())
    }

    /// Reports the first failed export.
    fn next_notice(&mut self) -> Option<Notice> {
        if self.failure_reported {
            return None;
        }
        let notice = self.missed(&self.sent.now())?;
        self.failure_reported = true;
        Some(notice)
    }

    fn run_over(&mut self) {
        self.until = Some(Instant::now() + self.last);
        self.figures.end();
    }

    /// Waits for the last export.
    fn final_notices(&mut self) -> Vec<Notice> {
        let rest = self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        let account = self.sent.account.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.sent.over.wait_timeout_while(account, rest, |account| account.ended.is_none());
        let account = waited.unwrap_or_else(PoisonError::into_inner).0.clone();
        if account.ended == Some(true) {
            return self.missed(&account).into_iter().collect();
        }
        // The export in progress is given up with the wait for it.
        let given_up = u64::from(account.ended.is_none());
        let facts = [
            ("url", self.shown.clone()),
            ("why", account.last_error.unwrap_or_else(|| "no response in time".into())),
            ("missed", (account.missed + given_up).to_string()),
            ("exports", (account.exports + given_up).to_string()),
        ];
        vec![Notice::new(Subject::OtlpIncomplete, facts)]
    }
}

impl PushStatus {
    fn now(&self) -> PushAccount {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, outcome: &Result<(), String>, last: bool) {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.exports += 1;
        if let Err(why) = outcome {
            (account.missed, account.last_error) = (account.missed + 1, Some(why.clone()));
        }
        if last {
            account.ended = Some(outcome.is_ok());
        }
        self.over.notify_all();
    }
}

/// Sends new figures until the run is over.
fn run_pusher(collector: &CollectorClient, figures: &LiveFigures, sent: &PushStatus) {
    let mut seen = 0;
    loop {
        let (seconds, ended) = figures.wait_for_more(seen);
        seen = seconds;
        let reading = figures.read();
        let body = otlp::metrics(&reading, &collector.resource);
        let mut outcome = collector.send("metrics", &body);
        if ended && outcome.is_err() {
            outcome = collector.send("metrics", &body);
        }
        sent.add(&outcome, ended);
        if ended {
            return;
        }
    }
}
