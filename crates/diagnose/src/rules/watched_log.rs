//! Code shared by the rules about watched logs: counts of lines that name a limit, and evidence from them.

use super::*;

const EVIDENCE: Text =
    text("log, within the window: {n} {n|line|lines} with `{text}`", "日志在统计窗口内有 {n} 行包含 {text}");
const OLDER: Text =
    text("log, within the window: {n} {n|line|lines} about `{text}`", "日志在统计窗口内有 {n} 行属于 {text}");

/// Minimum number of lines, as a share of the failures, if each failure writes one: fewer are about something else.
const SHARE: f64 = 0.01;

/// Statuses that say what is wrong with a request: no limit of a service causes them.
const OF_THE_REQUEST: [&str; 12] = ["400", "401", "404", "405", "406", "410", "411", "413", "414", "415", "417", "422"];

/// Returns `true` if this many events at a service can be the cause of failures of this run; fewer are about other
/// clients.
pub fn explains(run: &LoadResults, events: f64) -> bool {
    let failed: u64 = run.failures.iter().map(|failure| failure.count).sum();
    let of_the_request = if run.expects_status { 0 } else { run.answered(&OF_THE_REQUEST) };
    failed > of_the_request && events >= SHARE * (failed - of_the_request) as f64
}

/// Minimum share of the failures that must come while the events do, and the time in seconds by which readings and
/// timeouts shift them.
const MEANWHILE: f64 = 0.5;
const SHIFT_S: f64 = 1.5;

/// Returns `true` if most failures of the run came between these times (since the start of the window, in seconds), in
/// which a counter of events at a service rose; others have another cause.
pub fn coincides(run: &LoadResults, rose: Option<[f64; 2]>) -> bool {
    let Some([from, to]) = rose else { return false };
    let failed =
        |of: &dyn Fn(&&crate::SecondFigures) -> bool| run.seconds.iter().filter(of).map(|s| s.failed).sum::<u64>();
    let all = failed(&|_| true);
    let meanwhile = failed(&|s| s.from_s + s.length_s >= from - SHIFT_S && s.from_s <= to + SHIFT_S);
    meanwhile as f64 >= MEANWHILE * all as f64
}

/// Lines of a watched log that name a limit.
pub struct LimitLines {
    /// Number of lines within the window.
    pub count: f64,
    /// The most frequent text in them; the name of their counter in older records, which have no texts.
    text: String,
    is_text: bool,
}

impl LimitLines {
    /// Returns the lines that name a limit, of the log with the most; `None` if there were none within the window.
    fn of(case: &Case, limit: &str) -> Option<LimitLines> {
        let name = format!("log.{limit}");
        let counted = |log: &CounterSummary| {
            let count = log.increase(&name).filter(|count| *count > 0.0)?;
            let prefix = format!("{name}.");
            let rise = |text: &&str| log.increase_from_zero(&format!("{prefix}{text}")).unwrap_or(0.0);
            let text = log.name_middles(&prefix, "").max_by(|a, b| rise(a).total_cmp(&rise(b))).map(str::to_owned);
            let is_text = text.is_some();
            Some(LimitLines { count, text: text.unwrap_or_else(|| limit.to_owned()), is_text })
        };
        case.reported_by("log.").filter_map(counted).max_by(|a, b| a.count.total_cmp(&b.count))
    }

    /// Returns the lines as evidence.
    pub fn evidence(self) -> LocalizedSentence {
        let evidence = if self.is_text { EVIDENCE } else { OLDER };
        LocalizedSentence::new(evidence, [("n", whole(self.count)), ("text", self.text)])
    }
}

/// Returns the lines that name a limit, written for requests that fail; `None` if they are about other clients, because
/// hardly any failure of this run can have caused them.
pub fn lines(case: &Case, limit: &str) -> Option<LimitLines> {
    LimitLines::of(case, limit).filter(|lines| explains(&case.run, lines.count))
}

/// Returns a verdict based on the most frequent of these limits, if requests of this run failed.
pub fn found(case: &Case, claim: Text, limits: &[&str]) -> Option<RuleVerdict> {
    let lines = limits.iter().filter_map(|limit| lines(case, limit));
    let most = lines.max_by(|a, b| a.count.total_cmp(&b.count))?;
    Some(proved(claim, most.evidence()))
}

/// Returns a verdict based on a message that a program writes at most once a second, if requests of this run failed.
pub fn found_at_times(case: &Case, claim: Text, limit: &str) -> Option<RuleVerdict> {
    let lines = LimitLines::of(case, limit).filter(|_| explains(&case.run, f64::INFINITY))?;
    Some(proved(claim, lines.evidence()))
}

/// Returns a verdict based on a warning that a program writes once, however many requests are affected, if this run
/// asked for more than it got.
pub fn warned(case: &Case, claim: Text, limits: &[&str]) -> Option<RuleVerdict> {
    if case.run.failures.is_empty() && !case.run.is_saturated() {
        return None;
    }
    let lines = limits.iter().find_map(|limit| LimitLines::of(case, limit))?;
    Some(proved(claim, lines.evidence()))
}

/// Asserts that a rule has a finding for log lines of one kind, but none for other lines, a run without failures, or
/// few lines among many failures.
#[cfg(test)]
pub fn assert_finds(rule: &LimitRule, name: &str) {
    assert_finds_in_crowd(rule, name, None);
}

/// Like [`assert_finds`], with the finding for few lines among many failures.
#[cfg(test)]
pub fn assert_finds_in_crowd(rule: &LimitRule, name: &str, in_crowd: Option<&'static str>) {
    use super::made_up::{counted, judged_told};

    let failed = |run: &mut LoadResults| run.failures = vec![FailureCount { count: 5, ..FailureCount::default() }];
    let crowd = |run: &mut LoadResults| run.failures = vec![FailureCount { count: 5000, ..FailureCount::default() }];
    let log = |name: &str, to: f64| counted(&[("log.lines", 0.0, 99.0), (&format!("log.{name}"), 4.0, to)]);
    assert_eq!(judged_told(rule, failed, log(name, 9.0)), Some("proved"));
    assert_eq!(judged_told(rule, failed, log(name, 4.0)), None, "lines from before the run");
    assert_eq!(judged_told(rule, failed, log("another", 9.0)), None);
    assert_eq!(judged_told(rule, |_| (), log(name, 9.0)), None, "none of ours failed");
    let not_found = |run: &mut LoadResults| {
        failed(run);
        run.status = [("404".to_owned(), 5)].into();
    };
    assert_eq!(judged_told(rule, not_found, log(name, 9.0)), None, "all of ours failed for another reason");
    assert_eq!(judged_told(rule, crowd, log(name, 9.0)), in_crowd, "a few lines among thousands of failures");
}

/// Asserts that a rule has a finding for a warning in the log of a run that asked for more, and none otherwise.
#[cfg(test)]
pub fn assert_warns(rule: &LimitRule, name: &str, proof: &'static str) {
    use super::made_up::{counted, judged_told};

    let log = |to: f64| counted(&[("log.lines", 0.0, 99.0), (&format!("log.{name}"), 0.0, to)]);
    let crowd = |run: &mut LoadResults| run.failures = vec![FailureCount { count: 5000, ..FailureCount::default() }];
    assert_eq!(judged_told(rule, crowd, log(1.0)), Some(proof));
    assert_eq!(judged_told(rule, |_| (), log(1.0)), Some(proof), "users without pauses wait");
    assert_eq!(judged_told(rule, |run| run.is_open = true, log(1.0)), None, "the rate was kept");
    assert_eq!(judged_told(rule, crowd, log(0.0)), None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::counted;

    #[test]
    fn the_evidence_is_the_text_of_most_lines() {
        let log = counted(&[
            ("log.upstream_reset", 0.0, 9.0),
            ("log.upstream_reset.(104: rare)", 0.0, 2.0),
            ("log.upstream_reset.(104: frequent)", 0.0, 7.0),
        ]);
        let run = LoadResults {
            failures: vec![FailureCount { count: 9, ..FailureCount::default() }],
            ..LoadResults::default()
        };
        let case = Case { run, reported: vec![counted(&[("log.lines", 0.0, 1.0)]), log], ..Case::default() };
        let lines = lines(&case, "upstream_reset").expect("lines");
        assert_eq!(lines.evidence().render(Lang::En), "log, within the window: 9 lines with `(104: frequent)`");
        assert!(super::lines(&case, "upstream_refused").is_none());
    }
}
