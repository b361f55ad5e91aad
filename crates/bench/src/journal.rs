//! Distribution of the events of a run: secrets are masked, then every listener receives the event, in list order.
//!
//! Nothing here may stop a run: a listener that fails (a full disk) is removed, and its notice goes to the others; a
//! screen without a reader is ignored.

use brunt_record::{Notice, RunEvent, RunListener};

use brunt_config::redact::Redaction;

/// The events of one run and their listeners.
pub struct Journal<'a> {
    redaction: Redaction,
    /// Listeners that have not failed.
    listeners: Vec<&'a mut dyn RunListener>,
    /// Notices to add before the end, collected during the run.
    final_notices: Vec<Notice>,
    /// The end of the last second.
    until: Option<i64>,
}

impl<'a> Journal<'a> {
    /// Creates a journal without listeners.
    pub fn new(redaction: Redaction) -> Journal<'a> {
        Journal { redaction, listeners: Vec::new(), final_notices: Vec::new(), until: None }
    }

    /// Adds a listener, which receives everything from now on.
    pub fn add_listener(&mut self, listener: &'a mut dyn RunListener) {
        self.listeners.push(listener);
    }

    /// Adds a notice to report before the run ends.
    pub fn add_final_notice(&mut self, notice: Notice) {
        self.final_notices.push(notice);
    }

    /// Returns `true` while a listener wants the run to continue.
    pub fn is_wanted(&self) -> bool {
        self.listeners.iter().any(|listener| listener.keeps_run_alive())
    }

    /// Processes the next event of the engine.
    pub fn process(&mut self, event: RunEvent) {
        match &event {
            RunEvent::Second(second) => self.until = Some(second.to_ns),
            RunEvent::Ended(_) => {
                self.listeners.iter_mut().for_each(|listener| listener.run_over());
                let theirs: Vec<Notice> =
                    self.listeners.iter_mut().flat_map(|listener| listener.final_notices()).collect();
                let words = std::mem::take(&mut self.final_notices).into_iter().chain(theirs);
                words.for_each(|notice| self.broadcast(RunEvent::Notice(notice)));
            }
            _ => {}
        }
        let after_a_second = matches!(event, RunEvent::Second(_));
        self.broadcast(event);
        if after_a_second {
            let said: Vec<Notice> = self.listeners.iter_mut().filter_map(|listener| listener.next_notice()).collect();
            said.into_iter().for_each(|notice| self.broadcast(RunEvent::Notice(notice)));
        }
    }

    /// Sends an event to all listeners, and the notices of those that fail to the others.
    fn broadcast(&mut self, mut event: RunEvent) {
        self.redaction.event(&mut event);
        if let RunEvent::Notice(notice) = &mut event {
            notice.at_ns = notice.at_ns.or(self.until);
        }
        let mut troubles = Vec::new();
        self.listeners
            .retain_mut(|listener| listener.observe(&event).map_err(|trouble| troubles.push(trouble)).is_ok());
        troubles.into_iter().for_each(|trouble| self.broadcast(RunEvent::Notice(trouble)));
    }
}

#[cfg(test)]
mod tests {
    use brunt_record::{RunEnd, Second, Subject};

    use super::*;

    /// A listener that fails after a number of events and wants the run to continue until then.
    struct FailingListener {
        hears: usize,
        heard: Vec<RunEvent>,
    }

    impl FailingListener {
        fn after(hears: usize) -> FailingListener {
            FailingListener { hears, heard: Vec::new() }
        }
        fn words(&self) -> Vec<&str> {
            let word = |event: &RunEvent| match event {
                RunEvent::Second(_) => "second",
                RunEvent::Notice(notice) if notice.subject() == Some(Subject::DiskFull) => "deaf",
                RunEvent::Notice(_) => "notice",
                RunEvent::Ended(_) => "ended",
                _ => "other",
            };
            self.heard.iter().map(word).collect()
        }
    }

    impl RunListener for FailingListener {
        fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
            if self.heard.len() == self.hears {
                return Err(Notice::new(Subject::DiskFull, [("secret", "hunter-22".into())]));
            }
            self.heard.push(event.clone());
            Ok(())
        }
        fn final_notices(&mut self) -> Vec<Notice> {
            vec![Notice::new(Subject::OnlyRedirects, [])]
        }
        fn keeps_run_alive(&self) -> bool {
            true
        }
    }

    fn second(n: i64) -> RunEvent {
        RunEvent::Second(Box::new(Second { to_ns: n, ..Second::default() }))
    }

    #[test]
    fn one_that_fails_is_told_no_more_and_the_others_hear_everything_and_why() {
        let (mut before, mut failing, mut after) =
            (FailingListener::after(99), FailingListener::after(1), FailingListener::after(99));
        let redaction = Redaction::for_command_line(&["--user".into(), "ann:hunter-22".into()]);
        let mut journal = Journal::new(redaction);
        journal.add_listener(&mut before);
        journal.add_listener(&mut failing);
        journal.add_listener(&mut after);
        (1..4).for_each(|n| journal.process(second(n)));
        journal.add_final_notice(Notice::new(Subject::RunTimeout, []));
        journal.process(RunEvent::Ended(RunEnd::default()));
        assert!(journal.is_wanted());
        let all = ["second", "second", "deaf", "second", "notice", "notice", "notice", "ended"];
        assert_eq!((before.words(), after.words()), (all.to_vec(), all.to_vec()), "two listeners had a last word");
        assert_eq!(failing.words(), ["second"]);
        let RunEvent::Notice(why) = &before.heard[2] else { panic!("{:?}", before.heard) };
        assert_eq!((&*why.facts["secret"], why.at_ns), ("***", Some(2)), "without secrets, with its moment");
    }

    /// A listener that returns the same notice after each second.
    struct RepeatingListener;

    impl RunListener for RepeatingListener {
        fn observe(&mut self, _event: &RunEvent) -> Result<(), Notice> {
            Ok(())
        }
        fn next_notice(&mut self) -> Option<Notice> {
            Some(Notice::new(Subject::OtlpAway, []))
        }
    }

    #[test]
    fn what_a_listener_says_on_the_way_is_told_after_a_second_and_never_behind_the_end() {
        let (mut talks, mut hears) = (RepeatingListener, FailingListener::after(99));
        let mut journal = Journal::new(Redaction::default());
        journal.add_listener(&mut talks);
        journal.add_listener(&mut hears);
        journal.process(second(1));
        journal.process(RunEvent::Ended(RunEnd::default()));
        assert_eq!(hears.words(), ["second", "notice", "notice", "ended"], "the last one is its own last word");
    }

    #[test]
    fn a_run_that_no_listener_wants_is_wanted_by_nobody() {
        let mut failing = FailingListener::after(0);
        let mut journal = Journal::new(Redaction::default());
        assert!(!journal.is_wanted());
        journal.add_listener(&mut failing);
        assert!(journal.is_wanted());
        journal.process(second(1));
        assert!(!journal.is_wanted());
    }

    /// A listener that notes what is asked of it at the end.
    struct EndListener<'a>(&'a std::cell::RefCell<Vec<&'static str>>);

    impl RunListener for EndListener<'_> {
        fn observe(&mut self, _event: &RunEvent) -> Result<(), Notice> {
            Ok(())
        }
        fn run_over(&mut self) {
            self.0.borrow_mut().push("over");
        }
        fn final_notices(&mut self) -> Vec<Notice> {
            self.0.borrow_mut().push("waits");
            Vec::new()
        }
    }

    #[test]
    fn everybody_knows_of_the_end_before_anybody_waits_for_it() {
        let asked = std::cell::RefCell::default();
        let (mut one, mut other) = (EndListener(&asked), EndListener(&asked));
        let mut journal = Journal::new(Redaction::default());
        journal.add_listener(&mut one);
        journal.add_listener(&mut other);
        journal.process(RunEvent::Ended(RunEnd::default()));
        assert_eq!(*asked.borrow(), ["over", "over", "waits", "waits"]);
    }
}
