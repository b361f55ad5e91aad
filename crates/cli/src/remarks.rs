//! Remarks that follow from several events of a run, such as that all responses were redirects, or that answers may
//! have been matched to the wrong requests.

use std::collections::BTreeMap;

use brunt_contract::OrderedResponses;
use brunt_record::{HostCounters, Notice, RunEvent, RunListener, RunPart, Second, Subject};

/// The state collected from the seconds and counters so far.
#[derive(Default)]
pub struct RunRemarks {
    status: BTreeMap<String, u64>,
    failed: u64,
    /// Set if redirects are followed: one that is counted had no `Location`.
    follows: bool,
    /// Set if answers are matched to requests by order alone; holds the reason why that is unreliable.
    by_order: Option<OrderedResponses>,
    strays: u64,
    /// Time at which the process named by `--watch-pid` was found to have ended, since the start of the window.
    service_ended: Option<i64>,
}

impl RunListener for RunRemarks {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        match event {
            RunEvent::Started(started) => {
                let most = started.plan.options.get("redirects").and_then(|values| values.first());
                self.follows = most.is_some_and(|most| most != "0");
            }
            RunEvent::Second(second) => self.second(second),
            RunEvent::Counters(counters) => self.counters(counters),
            _ => {}
        }
        Ok(())
    }

    fn final_notices(&mut self) -> Vec<Notice> {
        self.only_redirects().into_iter().chain(self.doubts()).chain(self.ended()).collect()
    }
}

impl RunRemarks {
    /// Creates the remarks of a run whose answers may be matched by order alone.
    pub fn new(by_order: Option<OrderedResponses>) -> RunRemarks {
        RunRemarks { by_order, ..RunRemarks::default() }
    }

    fn second(&mut self, second: &Second) {
        for (status, count) in &second.status {
            brunt_record::add_code(&mut self.status, status, *count);
        }
        self.failed += second.failed;
        if second.part != RunPart::Warmup {
            self.strays += second.strays;
        }
    }

    fn counters(&mut self, counters: &HostCounters) {
        let ended = |why: &String| why.strip_prefix("service: ") == Some(brunt_counters::ENDED);
        if self.service_ended.is_none() && counters.unobservable.iter().any(ended) {
            self.service_ended = Some(counters.at_ns);
        }
    }

    fn ended(&self) -> Option<Notice> {
        let at = self.service_ended?.max(0) as f64 / 1e9;
        Some(Notice::new(Subject::ServiceEnded, [("at", at.round().to_string())]))
    }

    /// Returns a notice if answers are matched by order alone and some came unexpectedly.
    fn doubts(&self) -> Option<Notice> {
        let subject = match self.by_order? {
            OrderedResponses::Datagrams => Subject::DatagramsByOrder,
            OrderedResponses::Messages => Subject::MessagesByOrder,
        };
        (self.strays > 0).then(|| Notice::new(subject, [("strays", self.strays.to_string())]))
    }

    /// Returns a notice if every answer was a redirect.
    fn only_redirects(&self) -> Option<Notice> {
        // 300, 304, 305 and 306 do not redirect by themselves (RFC 9110 15.4).
        let is_redirect = |status: &String| matches!(status.as_str(), "301" | "302" | "303" | "307" | "308");
        let all = !self.status.is_empty() && self.status.keys().all(is_redirect) && self.failed == 0;
        let most = self.status.iter().max_by_key(|(_, count)| **count)?;
        let subject = if self.follows { Subject::NoLocation } else { Subject::OnlyRedirects };
        all.then(|| Notice::new(subject, [("status", most.0.clone())]))
    }
}

#[cfg(test)]
mod tests {
    use brunt_record::Failure;

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
        // A timeout closes its connection, so it cannot cause wrong matches.
        let timeout = Failure { kind: "timeout".into(), count: 3, ..Failure::default() };
        let late = Second { failures: vec![timeout], ..second(5, 3, &[]) };
        let warm = Second { part: RunPart::Warmup, ..stray.clone() };
        for (seconds, facts) in [
            (vec![second(5, 1, &[])], None),
            (vec![warm], None),
            (vec![late.clone()], None),
            (vec![stray.clone(), stray.clone()], Some("4")),
            (vec![late, stray], Some("2")),
        ] {
            for code in [None, Some(OrderedResponses::Datagrams)] {
                let mut remarks = RunRemarks { by_order: code, ..RunRemarks::default() };
                seconds.iter().for_each(|second| remarks.second(second));
                let told = remarks.doubts();
                let told = told.as_ref().map(|told| &*told.facts["strays"]);
                assert_eq!(told, code.and(facts), "{seconds:?}");
            }
        }
    }

    #[test]
    fn a_watched_process_that_ends_is_told_once_with_its_moment() {
        let sample = |at_ns, unobservable: &[&str]| HostCounters {
            at_ns,
            unobservable: unobservable.iter().map(ToString::to_string).collect(),
            ..HostCounters::default()
        };
        let mut remarks = RunRemarks::default();
        remarks.counters(&sample(1_000_000_000, &["service: permission", "psi: not there"]));
        assert_eq!(remarks.ended(), None);
        let ended = format!("service: {}", brunt_counters::ENDED);
        remarks.counters(&sample(2_900_000_000, &[&ended]));
        remarks.counters(&sample(3_900_000_000, &[&ended]));
        assert_eq!(remarks.ended().unwrap().facts["at"], "3");
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
            let mut remarks = RunRemarks::default();
            remarks.second(&second);
            assert_eq!(remarks.only_redirects().is_some(), said, "{second:?}");
            let mut following = RunRemarks { follows: true, ..RunRemarks::default() };
            following.second(&second);
            let subject = following.only_redirects().and_then(|notice| notice.subject());
            assert_eq!(subject, said.then_some(Subject::NoLocation), "nothing was there to follow");
        }
    }
}
