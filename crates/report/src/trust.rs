//! Whether to trust the figures: what the run says about itself.
//!
//! The accounting, Little's law second by second (V3), whether the headline is more than a lower bound, outages
//! ([`crate::outages`]) and the generator's own health ([`crate::generator`]). Every finding is a [`Reason`] with a grade; the
//! verdict is the worst of them. New checks are new reasons.

use measure::Nanos;
use plan::Plan;
use record::{Failure, Heartbeats, Second};

use crate::generator::{self, Trouble};
use crate::limit::Limited;
use crate::pairing;
use crate::summary::{End, Summary};
use crate::totals::Totals;

/// How a check came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Nothing to say.
    #[default]
    Ok,
    /// Worth knowing; the figures stand.
    Warn,
    /// The figures do not stand.
    Fail,
}

impl Grade {
    /// The verdict's word in documents, when this is the worst grade.
    pub fn verdict(self) -> &'static str {
        match self {
            Grade::Ok => "trusted",
            Grade::Warn => "caution",
            Grade::Fail => "not_trusted",
        }
    }
    /// The word for a single check.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Ok => "ok",
            Grade::Warn => "warn",
            Grade::Fail => "fail",
        }
    }
}

/// One thing found out about the run's own truth.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Due = finished + failed + censored.
    Accounting {
        /// Whether it holds.
        holds: bool,
    },
    /// Requests in flight against throughput × service time.
    Little {
        /// The largest deviation of a second, as a fraction; None where no second had enough in flight to be judged.
        worst: Option<f64>,
        /// The beginning of that second since the start of the window.
        at: Nanos,
        /// How many seconds were judged.
        judged: u64,
    },
    /// Headline quantiles that are only lower bounds.
    LowerBound {
        /// Their names.
        quantiles: Vec<&'static str>,
        /// Requests that did not finish.
        unfinished: u64,
    },
    /// Objectives that were met by all of too few requests to say anything about such a quantile.
    FewRequests {
        /// As written.
        objectives: Vec<String>,
    },
    /// Not one request finished.
    NothingFinished,
    /// A material share of the requests failed, and the latency is that of the others.
    Failures {
        /// How many.
        failed: u64,
        /// Of how many.
        due: u64,
        /// Whether an objective decides about it.
        judged: bool,
    },
    /// Stretches of a second and more in which requests were in flight, or failed, and not one succeeded.
    Outage {
        /// When the longest began, which is when the last success before it ended, since the start of the window.
        from: Nanos,
        /// Its end: the next success, or the end of the window.
        to: Nanos,
        /// How long all of them were together.
        total: Nanos,
        /// How many others there were.
        further: u64,
        /// A caution; in closed load, where requests stop coming with the answers, a failure if it is long or the last.
        grade: Grade,
    },
    /// In closed load: users were stuck in requests that never ended well, and sent no others.
    UsersStuck {
        /// The share of the time spent waiting for answers.
        share: f64,
    },
    /// Heartbeats were sent, and not one was answered.
    HeartbeatsUnanswered {
        /// How many were sent.
        sent: u64,
    },
    /// In closed load: users got no connection of any use, and paused before they tried again.
    UsersKeptOut {
        /// The share of the users' time.
        share: f64,
    },
    /// Requests that never left this machine, because it had no ports or descriptors left for them (V14, V15).
    LocalLimit {
        /// How many.
        failed: u64,
    },
    /// Fewer connections stood than were asked for.
    HeldFewer {
        /// The most that stood.
        held: u64,
        /// Asked for.
        asked: u64,
        /// Whether some did not come to stand.
        failed: bool,
        /// Whether some stood and were lost.
        lost: bool,
    },
    /// Connections that were part of the plan were lost.
    ConnectionsLost {
        /// How many.
        lost: u64,
    },
    /// Answers belong to requests by order alone, and more came than were asked for.
    Pairing {
        /// How many more.
        strays: u64,
        /// They may have shifted many pairs.
        shifted: bool,
    },
    /// The target's system refused datagrams that nobody waits for an answer to: they were written, and reached nobody.
    Unheard {
        /// Refusals that came back; one may stand for several requests.
        refused: u64,
        /// Requests nobody answers.
        sent: u64,
    },
    /// Arrivals waited for a share of the limit of connections: with other workers the figures would be others.
    SplitLimit(Limited),
    /// The generator itself was not well.
    Generator(Trouble),
    /// The run was interrupted.
    Interrupted,
    /// Workers were lost, with what they counted last.
    Partial,
    /// The run could not go on.
    Aborted,
    /// The record stops before its end.
    CutOff,
}

/// Limits of V3.
const LITTLE_OK: f64 = 0.02;
const LITTLE_FAIL: f64 = 0.05;
/// A second with fewer requests in flight on average, or shorter than this, is too coarse to judge.
const LITTLE_IN_FLIGHT: f64 = 0.5;
const LITTLE_LENGTH: Nanos = Nanos::from_millis(100);
/// In closed load: a share of the time spent waiting that may go to requests that never ended well.
const STUCK_OK: f64 = 0.01;
const STUCK_FAIL: f64 = 0.05;
/// One failure in so many requests is worth a word.
const FAILED_ONE_IN: u64 = 1000;

impl Reason {
    /// A stable word for documents.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Accounting { .. } => "accounting",
            Reason::Little { .. } => "little",
            Reason::LowerBound { .. } => "lower_bound",
            Reason::NothingFinished => "nothing_succeeded",
            Reason::FewRequests { .. } => "few_requests",
            Reason::Failures { .. } => "failures",
            Reason::Outage { .. } => "outage",
            Reason::LocalLimit { .. } => "local_limit",
            Reason::HeldFewer { .. } => "held_fewer",
            Reason::ConnectionsLost { .. } => "connections_lost",
            Reason::Pairing { .. } => "pairing",
            Reason::Unheard { .. } => "unheard",
            Reason::SplitLimit(_) => "split_limit",
            Reason::UsersStuck { .. } => "users_stuck",
            Reason::UsersKeptOut { .. } => "users_kept_out",
            Reason::HeartbeatsUnanswered { .. } => "heartbeats_unanswered",
            Reason::Generator(trouble) => trouble.code(),
            Reason::Interrupted => "interrupted",
            Reason::Partial => "partial",
            Reason::Aborted => "aborted",
            Reason::CutOff => "cut_off",
        }
    }

    /// How bad it is.
    pub fn grade(&self) -> Grade {
        match self {
            Reason::Accounting { holds: true } | Reason::Little { worst: None, .. } => Grade::Ok,
            Reason::Little { worst: Some(worst), .. } if *worst < LITTLE_OK => Grade::Ok,
            Reason::Little { worst: Some(worst), .. } if *worst <= LITTLE_FAIL => Grade::Warn,
            Reason::Accounting { .. } | Reason::Little { .. } => Grade::Fail,
            Reason::LowerBound { .. } | Reason::NothingFinished | Reason::LocalLimit { .. } => Grade::Fail,
            Reason::HeldFewer { .. } | Reason::Unheard { .. } => Grade::Fail,
            Reason::Pairing { shifted: true, .. } => Grade::Fail,
            Reason::ConnectionsLost { .. } | Reason::Pairing { .. } => Grade::Warn,
            Reason::SplitLimit(_) | Reason::FewRequests { .. } => Grade::Warn,
            Reason::Failures { .. } => Grade::Warn,
            Reason::Outage { grade, .. } => *grade,
            Reason::Generator(trouble) => trouble.grade(),
            Reason::UsersStuck { share } | Reason::UsersKeptOut { share } if *share <= STUCK_FAIL => Grade::Warn,
            Reason::UsersStuck { .. } | Reason::UsersKeptOut { .. } | Reason::HeartbeatsUnanswered { .. } => {
                Grade::Fail
            }
            Reason::Interrupted | Reason::Partial | Reason::Aborted | Reason::CutOff => Grade::Warn,
        }
    }
}

/// Little's law, checked second by second while a record streams by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Little {
    worst: Option<(f64, i64)>,
    judged: u64,
}

impl Little {
    /// Judges a second of the window.
    pub fn see(&mut self, s: &Second, length: Nanos) {
        let in_flight_ns = s.in_flight_ns as f64;
        if length < LITTLE_LENGTH || in_flight_ns < LITTLE_IN_FLIGHT * length.0 as f64 {
            return;
        }
        self.judged += 1;
        let off = (in_flight_ns - s.service_ns as f64).abs() / in_flight_ns;
        if self.worst.is_none_or(|(worst, _)| off > worst) {
            self.worst = Some((off, s.from_ns));
        }
    }

    fn reason(&self) -> Reason {
        Reason::Little {
            worst: self.worst.map(|(off, _)| off),
            at: Nanos(self.worst.map_or(0, |(_, at)| u64::try_from(at).unwrap_or(0))),
            judged: self.judged,
        }
    }
}

/// The verdict of a run with all its reasons, good ones included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    /// Everything that was checked, in the order it is shown.
    pub reasons: Vec<Reason>,
}

impl Trust {
    /// Judges a run.
    pub fn judge(summary: &Summary) -> Trust {
        let totals = &summary.totals;
        let mut reasons = vec![Reason::Accounting { holds: totals.add_up() }, totals.little.reason()];
        reasons.extend(held(summary));
        reasons.extend(heartbeats_unanswered(totals.heartbeats, summary.end));
        if summary.only_holds() {
            // There is no latency to judge.
        } else if totals.finished == 0 {
            reasons.push(Reason::NothingFinished);
        } else {
            reasons.extend(lower_bound(summary));
            reasons.extend(users_kept_out(totals));
            reasons.extend(failures(summary));
        }
        reasons.extend(few_requests(summary));
        reasons.extend(totals.outages.reason(totals, summary.open));
        reasons.extend(users_stuck(summary));
        reasons.extend(local_limit(&totals.failures));
        reasons.extend(unheard(totals));
        reasons.extend(pairing::judged(summary));
        reasons.extend(Limited::of(summary).filter(Limited::is_split).map(Reason::SplitLimit));
        reasons.extend(generator::troubles(summary).into_iter().map(Reason::Generator));
        reasons.extend(match summary.end {
            End::Completed => None,
            End::Interrupted => Some(Reason::Interrupted),
            End::Partial => Some(Reason::Partial),
            End::Aborted => Some(Reason::Aborted),
            End::CutOff => Some(Reason::CutOff),
        });
        Trust { reasons }
    }

    /// The worst grade.
    pub fn verdict(&self) -> Grade {
        self.reasons.iter().map(Reason::grade).max().unwrap_or_default()
    }

    /// True where a reason of this sort fails.
    pub fn failed(&self, sort: impl Fn(&Reason) -> bool) -> bool {
        self.reasons.iter().any(|r| r.grade() == Grade::Fail && sort(r))
    }
}

fn lower_bound(summary: &Summary) -> Option<Reason> {
    let headline = summary.headline();
    if summary.end == End::Interrupted && headline.unfinished() <= summary.totals.censored {
        // Whoever interrupted the run cut these requests; the verdict says that it was interrupted.
        return None;
    }
    let quantiles: Vec<&str> = [("p50", 0.5), ("p99", 0.99)]
        .into_iter()
        .filter(|&(_, q)| headline.is_lower_bound(q))
        .map(|(n, _)| n)
        .collect();
    (!quantiles.is_empty()).then(|| Reason::LowerBound { quantiles, unfinished: headline.unfinished() })
}

/// Where connections are held, or nothing but opened: whether all of them stood, and whether they stayed.
fn held(summary: &Summary) -> Vec<Reason> {
    let asked_for = |plan: &&Plan| plan.hold.is_some() || summary.only_holds();
    let Some(plan) = summary.started.as_ref().map(|s| &s.plan).filter(asked_for) else {
        return Vec::new();
    };
    let (held, asked) = (summary.totals.standing, plan.load.peak().round() as u64);
    let connections = &summary.totals.connections;
    let (failed, lost) = (connections.failed > 0, connections.lost);
    // The peak of a ramp may be its last moment.
    let all_could = summary.end == End::Completed && plan.load.is_level();
    let fewer =
        (held < asked && (all_could || held == 0)).then_some(Reason::HeldFewer { held, asked, failed, lost: lost > 0 });
    fewer.into_iter().chain((lost > 0).then_some(Reason::ConnectionsLost { lost })).collect()
}

/// A connection whose heartbeats are answered late is lost; where the run ends before that, this is all that tells.
fn heartbeats_unanswered(beats: Heartbeats, end: End) -> Option<Reason> {
    let cut_early = beats.missed == 0 && end == End::Interrupted;
    (beats.sent > 0 && beats.answered == 0 && !cut_early).then_some(Reason::HeartbeatsUnanswered { sent: beats.sent })
}

/// One request in a thousand cannot be judged by ten: an objective that is met so far may be missed by the next.
fn few_requests(summary: &Summary) -> Option<Reason> {
    let few = summary.objectives.iter().filter(|judged| judged.met && judged.few);
    let objectives: Vec<String> = few.map(|judged| judged.objective.clone()).collect();
    (!objectives.is_empty()).then_some(Reason::FewRequests { objectives })
}

fn failures(summary: &Summary) -> Option<Reason> {
    let (failed, due) = (summary.totals.failed, summary.totals.due);
    let material = failed > 0 && failed.saturating_mul(FAILED_ONE_IN) >= due;
    material.then(|| Reason::Failures { failed, due, judged: summary.failures_are_judged() })
}

/// A user that waits for an answer that never comes sends nothing else: its requests are few among those of the others,
/// however long it waited. What an interruption cut was not stuck.
fn users_stuck(summary: &Summary) -> Option<Reason> {
    let totals = &summary.totals;
    if summary.open || totals.in_flight_ns == 0 || summary.end == End::Interrupted {
        return None;
    }
    let share = totals.unanswered_ns as f64 / totals.in_flight_ns as f64;
    (share > STUCK_OK).then_some(Reason::UsersStuck { share: share.min(1.0) })
}

/// Users who are refused make few attempts, with pauses between them: they are hardly seen among the requests of the others.
fn users_kept_out(totals: &Totals) -> Option<Reason> {
    let out = totals.kept_out_ns as f64;
    let share = out / (out + totals.in_flight_ns as f64);
    (share > STUCK_OK).then_some(Reason::UsersKeptOut { share })
}

/// Failures of our own making: fewer users ran than the report names, and nothing of that is the target's doing.
fn local_limit(failures: &[Failure]) -> Option<Reason> {
    let own = failures.iter().filter(|f| matches!(f.kind.as_str(), "no_ports" | "no_descriptors"));
    let failed = own.map(|f| f.count).sum();
    (failed > 0).then_some(Reason::LocalLimit { failed })
}

/// Where requests are answered, a refusal fails one; where nobody answers, it is all that tells of a closed port.
fn unheard(totals: &Totals) -> Option<Reason> {
    let (refused, sent) = (totals.connections.refused, totals.one_way);
    (refused > 0 && sent > 0).then_some(Reason::Unheard { refused, sent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn little(seconds: &[(u128, i128)]) -> Reason {
        let mut little = Little::default();
        for (n, &(in_flight_ns, service_ns)) in seconds.iter().enumerate() {
            let from_ns = n as i64 * 1_000_000_000;
            little.see(&Second { from_ns, in_flight_ns, service_ns, ..Second::default() }, Nanos::from_secs(1));
        }
        little.reason()
    }

    #[test]
    fn what_failed_on_this_machine_is_not_the_targets_doing() {
        let failure = |kind: &str, count| Failure { kind: kind.into(), count, ..Failure::default() };
        let all = [failure("refused", 5), failure("no_ports", 2), failure("no_descriptors", 1)];
        assert_eq!(local_limit(&all), Some(Reason::LocalLimit { failed: 3 }));
        assert_eq!(local_limit(&all).map(|reason| reason.grade()), Some(Grade::Fail));
        assert_eq!(local_limit(&all[..1]), None);
    }

    #[test]
    fn connections_that_answer_no_heartbeat_are_not_held() {
        let beats = |sent, answered, missed| Heartbeats { sent, answered, missed, open: sent - answered - missed };
        let judged = |beats, end| heartbeats_unanswered(beats, end).map(|reason| reason.grade());
        assert_eq!(judged(beats(10, 0, 0), End::Completed), Some(Grade::Fail));
        assert_eq!(judged(beats(10, 0, 2), End::Interrupted), Some(Grade::Fail));
        assert_eq!(judged(beats(10, 0, 0), End::Interrupted), None, "nobody waited for the answers");
        assert_eq!(judged(beats(10, 1, 0), End::Completed), None);
        assert_eq!(judged(beats(0, 0, 0), End::Completed), None);
    }

    #[test]
    fn users_who_are_refused_cost_trust_though_they_hardly_ask() {
        let second = |kept_out_ns| Second { kept_out_ns, in_flight_ns: 11_000_000_000, ..Second::default() };
        let judged = |kept_out_ns| {
            let mut totals = Totals::default();
            totals.add(&second(kept_out_ns));
            users_kept_out(&totals).map(|reason| reason.grade())
        };
        let grades = [0, 50_000_000, 300_000_000, 9_000_000_000].map(judged);
        assert_eq!(grades, [None, None, Some(Grade::Warn), Some(Grade::Fail)]);
    }

    #[test]
    fn a_refusal_makes_a_run_untrusted_where_nobody_answers() {
        let mut totals = Totals::default();
        totals.add(&Second { one_way: 5, ..Second::default() });
        assert_eq!(unheard(&totals), None);
        totals.connections.refused = 1;
        assert_eq!(unheard(&totals), Some(Reason::Unheard { refused: 1, sent: 5 }));
        assert_eq!(unheard(&totals).map(|reason| reason.grade()), Some(Grade::Fail));
        totals.one_way = 0;
        assert_eq!(unheard(&totals), None);
    }

    #[test]
    fn littles_law_is_judged_by_its_worst_second() {
        const G: u128 = 1_000_000_000;
        let g = G as i128;
        for (seconds, grade) in [
            (vec![(10 * G, 10 * g)], Grade::Ok),
            (vec![(100 * G, 101 * g), (100 * G, 99 * g)], Grade::Ok),
            (vec![(100 * G, 97 * g)], Grade::Warn),
            (vec![(100 * G, 103 * g)], Grade::Warn),
            (vec![(100 * G, 106 * g), (100 * G, 100 * g)], Grade::Fail),
            (vec![(100 * G, -g)], Grade::Fail),
            // Hardly anything in flight: not judged, however far off.
            (vec![(G / 10, 0)], Grade::Ok),
            (vec![], Grade::Ok),
        ] {
            assert_eq!(little(&seconds).grade(), grade, "{seconds:?}");
        }
        let reason = little(&[(100 * G, 100 * g), (100 * G, 110 * g), (100 * G, 99 * g)]);
        assert_eq!(reason, Reason::Little { worst: Some(0.1), at: Nanos::from_secs(1), judged: 3 });
    }
}
