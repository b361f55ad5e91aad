//! Figures sent to a collector of OpenTelemetry, once a second, on a thread of its own.
//!
//! What is sent is always the newest there is, and all of it: one that is slow gets fewer, one that was away misses none. It is
//! told of as soon as it does not answer, and once more at the end; nothing else becomes of that.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use record::{RunListener, Notice, RunEvent, Subject};

use crate::collector::Collector;
use crate::figures::Figures;
use crate::otlp;

/// A run's figures on their way to a collector.
pub struct Push {
    figures: Figures,
    shown: String,
    /// So long the end of a run waits for the last export.
    last: Duration,
    sent: Arc<Sent>,
    /// That it is away was told.
    told: bool,
}

#[derive(Default)]
struct Sent {
    account: Mutex<Account>,
    over: Condvar,
}

/// What became of the exports.
#[derive(Clone, Debug, Default)]
struct Account {
    exports: u64,
    missed: u64,
    /// Why the last one that was missed was.
    why: Option<String>,
    /// The last of all was tried, and taken or not.
    ended: Option<bool>,
}

impl Push {
    /// Sends these figures from now on.
    ///
    /// # Errors
    /// What the operating system refused.
    pub fn start(collector: Collector, figures: Figures) -> Result<Push, String> {
        let (shown, last) = (collector.shown(), collector.last());
        let (sent, read) = (Arc::new(Sent::default()), figures.clone());
        let account = Arc::clone(&sent);
        let thread = std::thread::Builder::new().name("otlp".into()).spawn(move || go_on(&collector, &read, &account));
        thread.map_err(|why: io::Error| why.to_string())?;
        Ok(Push { figures, shown, last, sent, told: false })
    }

    fn missed(&self, account: &Account) -> Option<Notice> {
        let facts = [
            ("url", self.shown.clone()),
            ("why", account.why.clone()?),
            ("missed", account.missed.to_string()),
            ("exports", account.exports.to_string()),
        ];
        Some(Notice::new(Subject::OtlpAway, facts))
    }
}

impl RunListener for Push {
    fn observe(&mut self, _event: &RunEvent) -> Result<(), Notice> {
        Ok(())
    }

    /// That the collector is away, the first time it is.
    fn next_notice(&mut self) -> Option<Notice> {
        if self.told {
            return None;
        }
        let notice = self.missed(&self.sent.now())?;
        self.told = true;
        Some(notice)
    }

    /// Waits for the last export.
    fn final_notices(&mut self) -> Vec<Notice> {
        self.figures.end();
        let account = self.sent.account.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.sent.over.wait_timeout_while(account, self.last, |account| account.ended.is_none());
        let account = waited.unwrap_or_else(PoisonError::into_inner).0.clone();
        if account.ended == Some(true) {
            return self.missed(&account).into_iter().collect();
        }
        let why = account.why.unwrap_or_else(|| "no response in time".into());
        vec![Notice::new(Subject::OtlpIncomplete, [("url", self.shown.clone()), ("why", why)])]
    }
}

impl Sent {
    fn now(&self) -> Account {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, outcome: &Result<(), String>, last: bool) {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.exports += 1;
        if let Err(why) = outcome {
            (account.missed, account.why) = (account.missed + 1, Some(why.clone()));
        }
        if last {
            account.ended = Some(outcome.is_ok());
        }
        self.over.notify_all();
    }
}

/// Sends what is new until there is nothing more.
fn go_on(collector: &Collector, figures: &Figures, sent: &Sent) {
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
