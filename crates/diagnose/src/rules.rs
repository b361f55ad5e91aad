//! The rules, one per file, and their list in the order of the request path.
//!
//! Rules are independent of each other; a new one is a file and a line in the list. Each is tested with the fault that
//! it detects and with a similar case that has another cause.

// Building blocks that every rule imports from here.
use brunt_i18n::text::{Text, text};
use brunt_i18n::{Lang, LocalizedSentence, numbers};

use crate::case::Case;
use crate::counter_summary::CounterSummary;
use crate::limit_finding::{LimitFinding, PathStage, Proof, RuleVerdict, consistent, proved};
use crate::load_results::{
    DurationCounts, GeneratorDoubt, LoadResults, Outage, RateShortfall, RejectionSign, SilentStretch, WidenedFigure,
};
#[cfg(test)]
use crate::load_results::{DurationStats, FailureCount};
use crate::repeat_command::ExperimentLoad;
use crate::stated_bound::StatedBound;

mod watched_log;

/// Declares the modules of the rules and lists them.
macro_rules! rules {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// All rules.
        const ALL: &[LimitRule] = &[$($name::RULE),*];

        /// The sources of all rules.
        #[cfg(test)]
        const ALL_TEXTS: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("rules/", stringify!($name), ".rs")))),*];
    };
}

rules! {
    uneven_workers,
    generator_full,
    steal,
    descriptors,
    ports,
    own_connections,
    own_memory,
    link,
    retransmits,
    lost_segments,
    lost_connects,
    conntrack,
    tcp_memory,
    receive_drops,
    time_wait_table,
    limiter,
    one_proxy_worker,
    nginx_connections,
    proxy_descriptors,
    proxy_ports,
    upstream_down,
    upstream_slow,
    upstream_queue,
    proxy_limit,
    client_closed,
    accept_queue,
    syn_queue,
    recycled_ports,
    stuck_listener,
    service_descriptors,
    gone,
    idle_closes,
    delayed_ack,
    workers_busy,
    application_pool,
    out_of_memory,
    out_of_threads,
    disk_full,
    redis_clients,
    redis_evictions,
    database_connections,
    whole_tables,
    row_locks,
    mysql_churn,
    quota,
    cores_full,
    redis_command,
    redis_thread,
    single_thread,
    slow_reader,
    waiting_for_disk,
    leak,
    periodic_stalls,
    stood_still,
    two_speeds,
    unanswered,
    capacity,
    pool,
    serial,
    buffer_pool,
    mysql_commits,
    mysql_crowd,
    round_timeouts,
    unknown_lines,
    server_errors,
}

/// The rule about the generator itself.
pub(crate) const GENERATOR: &str = generator_full::RULE.rule;
/// The rule about workers of one machine that are loaded unevenly.
pub(crate) const UNEVEN_WORKERS: &str = uneven_workers::RULE.rule;
/// Rule of the capacity, which explains nothing by itself.
pub const CAPACITY: &str = capacity::RULE.rule;
/// Rule of the connections of the run itself.
pub const OWN_CONNECTIONS: &str = own_connections::RULE.rule;
/// Rules that judge by the codes of responses or by outages, which no delay of the generator makes: an outage is one
/// only if it is longer than twice the time for which brunt was away.
pub(crate) const BEYOND_DELAYS: [&str; 2] = [limiter::RULE.rule, stood_still::RULE.rule];
/// Rules of full pools and queues, and of errors, which another finding may explain: a slow database fills both.
pub(crate) const CONSEQUENCES: [&str; 3] =
    [workers_busy::RULE.rule, upstream_queue::RULE.rule, server_errors::RULE.rule];

/// Iterates over all rules, in the order of the request path.
pub fn rules() -> impl Iterator<Item = &'static LimitRule> {
    ALL.iter()
}

/// A rule: its documentation (the source of `brunt explain` and `docs/limits.md`) and its check of a case.
pub struct LimitRule {
    /// Identifier: `N2`.
    pub rule: &'static str,
    /// Machine whose counters the rule uses.
    origin: CounterOrigin,
    /// Position of its finding on the request path, unless the verdict overrides it.
    stage: PathStage,
    /// Title of its page.
    pub title: Text,
    /// Symptoms that a user sees when running a load.
    pub symptom: Text,
    /// Recommended change.
    pub remedy: Text,
    /// Experiment that would refute the finding; its placeholders are filled by the verdict, which also says with which
    /// load to repeat the run.
    experiment: Text,
    /// Common advice that is wrong, or a pitfall.
    pub caution: Option<Text>,
    judge: fn(&Case) -> Option<RuleVerdict>,
}

/// The machine whose counters a rule uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CounterOrigin {
    /// The machine that generates the load, with the counters that services reported to it.
    Generator,
    /// The service's machine if its counters were recorded; otherwise the generator's.
    Service,
    /// Either machine.
    Either,
}

const SIGN: Text = text("looks like: {sign}", "现象：{sign}");
const REMEDY: Text = text("fix: {remedy}", "改进：{remedy}");
const COMMAND: Text = text(": `{command}`", "：`{command}`");
const CAUTION: Text = text("caution: {caution}", "注意：{caution}");

impl LimitRule {
    /// Returns the paragraphs of the rule's page, without the title.
    pub fn paragraphs(&self, lang: Lang) -> Vec<String> {
        let mut all = vec![
            lang.fill(SIGN, &[("sign", lang.of(self.symptom))]),
            lang.fill(REMEDY, &[("remedy", lang.of(self.remedy))]),
        ];
        all.extend(self.caution.map(|caution| lang.fill(CAUTION, &[("caution", lang.of(caution))])));
        all
    }

    /// Returns the rule's finding; `there` is the case as seen from the service's machine, if that is a different one.
    pub(crate) fn find(&self, case: &Case, there: Option<&Case>) -> Option<LimitFinding> {
        let elsewhere = || {
            let host = case.service_host.as_ref().map(|elsewhere| elsewhere.host.clone());
            Some(LimitFinding { host, ..self.judge_host(there?)? })
        };
        match self.origin {
            CounterOrigin::Generator => self.judge_host(case),
            CounterOrigin::Service if there.is_some() => elsewhere(),
            CounterOrigin::Service => self.judge_host(case),
            CounterOrigin::Either => self.judge_host(case).or_else(elsewhere),
        }
    }

    /// Returns the rule's finding for the counters of one machine; `None` also if the figures of the run refute a bound
    /// that its claim states.
    fn judge_host(&self, case: &Case) -> Option<LimitFinding> {
        let verdict = (self.judge)(case)?;
        if !verdict.bounds.iter().all(|bound| bound.holds(&case.run)) {
            return None;
        }
        let experiment = LocalizedSentence::new(verdict.experiment.unwrap_or(self.experiment), verdict.facts);
        let command = verdict.load.and_then(|load| case.run.repeat.command(&load));
        let experiment = match command {
            Some(command) => experiment.with_clause(COMMAND, [("command", command)]),
            None => experiment,
        };
        Some(LimitFinding {
            rule: self.rule,
            stage: verdict.stage.unwrap_or(self.stage),
            proof: verdict.proof,
            is_limit: verdict.is_limit,
            host: verdict.host,
            claim: verdict.claim,
            evidence: verdict.evidence,
            remedy: verdict.remedy.unwrap_or(self.remedy),
            experiment,
        })
    }
}

/// Formats a counter for a sentence.
fn whole(n: f64) -> String {
    numbers::count(n as u64)
}

/// Cases for tests: a healthy closed run of 50 users without pauses, and counters that increase.
#[cfg(test)]
pub(crate) mod made_up {
    use super::{Case, LimitRule};
    use crate::counter_summary::CounterSummary;
    use crate::load_results::{DurationStats, LoadResults};
    use crate::repeat_command::{RepeatCommand, RepeatedPlan};

    /// Returns a run of fifty users against a service with uniform response times.
    pub fn run() -> LoadResults {
        LoadResults {
            url: "http://127.0.0.1:8080/".into(),
            repeat: RepeatCommand::new(&[], "http://127.0.0.1:8080/", RepeatedPlan::default()),
            users: 50,
            window_s: 10.0,
            scheduled: 10_000,
            succeeded_per_s: 1000.0,
            in_flight: 50.0,
            service: DurationStats {
                count: 10_000,
                min: 0.03,
                mean: 0.05,
                deviation: 0.04,
                longest: 0.0,
                second_or_more: 0.0,
            },
            opened: 50,
            ..LoadResults::default()
        }
    }

    /// Returns counters with these values at the start of the window and at its end, ten seconds later.
    pub fn counted(courses: &[(&str, f64, f64)]) -> CounterSummary {
        let mut counted = CounterSummary::default();
        for at in 0..=10 {
            let share = f64::from(at) / 10.0;
            let values = courses.iter().map(|(name, from, to)| (*name, from + (to - from) * share));
            counted.add_reading(i64::from(at) * 1_000_000_000, values);
        }
        counted
    }

    /// Returns counters of a machine with two cores, `busy` of them busy, and the other counters.
    pub fn cores(busy: f64, others: &[(&str, f64, f64)]) -> CounterSummary {
        let zero = |name| (name, 0.0, 0.0);
        let mut all = vec![
            ("cpu.all.user", 0.0, busy * 1e10),
            ("cpu.all.idle", 0.0, (2.0 - busy) * 1e10),
            ("cpu.count", 2.0, 2.0),
        ];
        all.extend(["cpu.all.system", "cpu.all.irq", "cpu.all.softirq", "cpu.all.steal", "cpu.all.iowait"].map(zero));
        all.extend_from_slice(others);
        counted(&all)
    }

    /// Returns the proof of a rule's finding for a changed run and these counters.
    pub fn judged(
        rule: &LimitRule,
        change: impl FnOnce(&mut LoadResults),
        here: CounterSummary,
    ) -> Option<&'static str> {
        proof(rule, change, Case { counters: here, ..Case::default() })
    }

    /// Like [`judged`], with counters reported by a service.
    pub fn judged_told(
        rule: &LimitRule,
        change: impl FnOnce(&mut LoadResults),
        told: CounterSummary,
    ) -> Option<&'static str> {
        proof(rule, change, Case { reported: vec![told], ..Case::default() })
    }

    fn proof(rule: &LimitRule, change: impl FnOnce(&mut LoadResults), mut case: Case) -> Option<&'static str> {
        case.run = run();
        change(&mut case.run);
        let found = rule.judge_host(&case)?;
        for lang in [brunt_i18n::Lang::En, brunt_i18n::Lang::Zh] {
            for said in [found.claim(lang), found.evidence(lang), found.remedy(lang), found.experiment(lang)] {
                assert!(!said.is_empty() && !said.contains(['{', '}']), "{}: {said}", found.rule);
            }
        }
        Some(found.proof.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_page_of_its_own() {
        let mut seen = Vec::new();
        for page in rules() {
            assert!(!seen.contains(&page.rule), "{} twice", page.rule);
            seen.push(page.rule);
            for lang in [Lang::En, Lang::Zh] {
                let all = page.paragraphs(lang).join(" ") + lang.of(page.title);
                assert!(!all.contains(['{', '}']), "{all}");
            }
        }
        assert!(seen.len() > 20);
    }

    /// Commands of experiments come from `RepeatCommand` alone, which is tested with the command-line parser for every
    /// load model (in `config`).
    #[test]
    fn no_rule_writes_a_command_itself() {
        for (file, text) in ALL_TEXTS {
            assert!(!text.contains("`brunt -"), "{file} has a command line in a sentence");
        }
        assert_eq!(ALL_TEXTS.len(), ALL.len());
    }
}
