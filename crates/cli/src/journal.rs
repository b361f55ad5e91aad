//! What becomes of the events of a run: masked, kept, summed up and shown, in this order, once each.
//!
//! Nothing here may stop a run: a full disk costs the record and is told, a screen nobody reads is left alone. The
//! journal also says what the events show and no single one of them says: that all there was were redirects.

use std::collections::BTreeMap;
use std::path::PathBuf;

use record::{Notice, Part, Past, ReadFault, Reader, RecordFile, RunEvent, Second, Spool, Writer};
use report::{Summary, Summing};

use crate::redact::Redaction;
use crate::view::View;

/// A file that events are written to.
struct Log {
    writer: Writer,
    path: PathBuf,
    /// The notice where it cannot be written any more.
    trouble: &'static str,
}

/// While it is read its writer is there, too: nobody else deletes it.
impl Past for Log {
    fn replay(&self) -> Result<Reader<'_>, ReadFault> {
        Reader::open(&self.path)
    }
}

/// The events of one run.
pub struct Journal<'a> {
    view: &'a mut View,
    redaction: Redaction,
    logs: Vec<Log>,
    spool: Option<Spool>,
    summing: Summing,
    seen: Seen,
    /// What to add before the end: said by others while the run went on.
    last_words: Vec<Notice>,
    /// The end of the last second.
    until: Option<i64>,
}

/// What the seconds have shown so far.
#[derive(Default)]
struct Seen {
    status: BTreeMap<String, u64>,
    failed: u64,
    /// The notice where answers belong to requests by order alone, and what makes that doubtful.
    by_order: Option<&'static str>,
    strays: u64,
}

impl<'a> Journal<'a> {
    /// A journal that writes to nothing yet.
    pub fn new(view: &'a mut View, redaction: Redaction) -> Journal<'a> {
        let (logs, spool, last_words) = (Vec::new(), None, Vec::new());
        let (summing, seen) = (Summing::default(), Seen::default());
        Journal { view, redaction, logs, spool, summing, seen, last_words, until: None }
    }

    /// Also writes to this file; `trouble` is the code of the notice where that ends.
    pub fn write_to(&mut self, writer: Writer, path: PathBuf, trouble: &'static str) {
        self.logs.push(Log { writer, path, trouble });
    }

    /// Makes sure that the events can be read again at the end, where no file holds them.
    pub fn spool_if_needed(&mut self) {
        if self.logs.is_empty() {
            self.spool = Spool::new().ok();
        }
    }

    /// What to say before the run ends.
    pub fn say_at_end(&mut self, notice: Notice) {
        self.last_words.push(notice);
    }

    /// Answers belong to requests by order alone: the notice that says so where that was seen to be doubtful.
    pub fn pairs_by_order(&mut self, code: Option<&'static str>) {
        self.seen.by_order = code;
    }

    /// Takes the next event of the engine.
    pub fn take(&mut self, event: RunEvent) {
        match event {
            RunEvent::Second(second) => {
                self.until = Some(second.to_ns);
                self.seen.second(&second);
                self.put(RunEvent::Second(second));
            }
            RunEvent::Ended(_) => {
                let words = std::mem::take(&mut self.last_words);
                let notices =
                    words.into_iter().chain(self.seen.only_redirects()).chain(self.seen.doubts()).collect::<Vec<_>>();
                // The summary follows at once and shows them: the table need not.
                for notice in notices {
                    let mut said = RunEvent::Notice(notice);
                    self.redaction.event(&mut said);
                    self.keep(said);
                }
                self.put(event);
            }
            _ => self.put(event),
        }
    }

    /// Keeps and shows an event.
    fn put(&mut self, mut event: RunEvent) {
        self.redaction.event(&mut event);
        self.view.show(&event);
        self.keep(event);
    }

    /// Keeps an event that holds no secret any more.
    fn keep(&mut self, mut event: RunEvent) {
        if let RunEvent::Notice(notice) = &mut event {
            notice.at_ns = notice.at_ns.or(self.until);
        }
        let mut troubles = Vec::new();
        for log in &mut self.logs {
            if let Err(error) = log.writer.write(&event) {
                let facts = [("file", log.path.display().to_string()), ("error", error.to_string())];
                troubles.push(notice(log.trouble, facts));
            }
        }
        if let Some(spool) = &mut self.spool {
            // A spool that cannot be written costs the seconds of a document, not the run.
            let _ = spool.push(&event);
        }
        self.summing.see(&event);
        troubles.into_iter().for_each(|trouble| self.put(RunEvent::Notice(trouble)));
    }

    /// True once the reader of the screen has gone.
    pub fn nobody_reads(&self) -> bool {
        self.view.nobody_reads()
    }

    /// The run summed up and judged, and its events to be read again.
    pub fn finish(self) -> (Summary, Box<dyn Past>) {
        let mut logs = self.logs;
        logs.sort_by_key(|log| (!log.writer.is_broken(), log.writer.bytes()));
        let past: Box<dyn Past> = match (logs.pop(), self.spool) {
            (Some(log), _) => Box::new(log),
            (None, Some(spool)) => Box::new(spool),
            (None, None) => Box::new(RecordFile(PathBuf::from("/dev/null"))),
        };
        (self.summing.finish(), past)
    }
}

/// A notice with its facts.
pub fn notice<const N: usize>(code: &str, facts: [(&str, String); N]) -> Notice {
    let facts = facts.into_iter().map(|(name, fact)| (name.to_string(), fact)).collect();
    Notice { code: code.into(), facts, at_ns: None }
}

impl Seen {
    /// Takes a second.
    fn second(&mut self, second: &Second) {
        for (status, count) in &second.status {
            record::add_code(&mut self.status, status, *count);
        }
        self.failed += second.failed;
        if second.part != Part::Warmup {
            self.strays += second.strays;
        }
    }

    /// A notice where answers belong to requests by order alone, and some came that nobody waited for.
    fn doubts(&self) -> Option<Notice> {
        let code = self.by_order?;
        (self.strays > 0).then(|| notice(code, [("strays", self.strays.to_string())]))
    }

    /// A notice where answers came and each of them was a redirect.
    fn only_redirects(&self) -> Option<Notice> {
        // 300, 304, 305 and 306 lead nowhere by themselves (RFC 9110 15.4).
        let is_redirect = |status: &String| matches!(status.as_str(), "301" | "302" | "303" | "307" | "308");
        let all = !self.status.is_empty() && self.status.keys().all(is_redirect) && self.failed == 0;
        let most = self.status.iter().max_by_key(|(_, count)| **count)?;
        all.then(|| notice("only_redirects", [("status", most.0.clone())]))
    }
}

#[cfg(test)]
mod tests {
    use record::Failure;

    use super::*;

    fn second(finished: u64, failed: u64, status: &[(&str, u64)]) -> Second {
        let failure =
            |count| Failure { kind: "refused".into(), errno: Some("ECONNREFUSED".into()), count, ..Failure::default() };
        Second {
            finished,
            failed,
            failures: (failed > 0).then(|| failure(failed)).into_iter().collect(),
            status: status.iter().map(|(code, count)| (code.to_string(), *count)).collect(),
            ..Second::default()
        }
    }

    #[test]
    fn pairing_by_order_is_doubted_where_something_was_seen_that_speaks_against_it() {
        let stray = Second { unsolicited: 3, strays: 2, ..second(5, 0, &[]) };
        // A timeout gives its connection up: nothing can be paired wrongly by it.
        let timeout = Failure { kind: "timeout".into(), count: 3, ..Failure::default() };
        let late = Second { failures: vec![timeout], ..second(5, 3, &[]) };
        let warm = Second { part: Part::Warmup, ..stray.clone() };
        for (seconds, facts) in [
            (vec![second(5, 1, &[])], None),
            (vec![warm], None),
            (vec![late.clone()], None),
            (vec![stray.clone(), stray.clone()], Some("4")),
            (vec![late, stray], Some("2")),
        ] {
            for code in [None, Some("datagrams_by_order")] {
                let mut seen = Seen { by_order: code, ..Seen::default() };
                seconds.iter().for_each(|second| seen.second(second));
                let told = seen.doubts();
                let told = told.as_ref().map(|told| &*told.facts["strays"]);
                assert_eq!(told, code.and(facts), "{seconds:?}");
            }
        }
    }

    #[test]
    fn only_redirects_is_said_where_nothing_else_came() {
        let table: [(Second, bool); 7] = [
            (second(5, 0, &[("301", 2), ("302", 3)]), true),
            (second(5, 0, &[("304", 5)]), false),
            (second(5, 0, &[("308", 4), ("300", 1)]), false),
            (second(5, 0, &[("301", 2), ("200", 3)]), false),
            (second(5, 1, &[("301", 5)]), false),
            (second(0, 0, &[]), false),
            (second(5, 0, &[("OK", 5)]), false),
        ];
        for (second, said) in table {
            let mut seen = Seen::default();
            seen.second(&second);
            assert_eq!(seen.only_redirects().is_some(), said, "{second:?}");
        }
    }
}
