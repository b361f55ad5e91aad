//! Code shared by the rules about a proxy's log: counts of matching lines, and evidence from them.

use super::*;

const EVIDENCE: Text = text("log: {n} lines with `{text}`", "日志中有 {n} 行包含 {text}");

/// Returns the number of lines of a followed log that matched within the window; `None` if no request of this run
/// failed, because the lines are then about other clients.
pub fn lines(case: &Case, name: &str) -> Option<f64> {
    if case.run.failures.is_empty() {
        return None;
    }
    let rise = |counted: &CounterSummary| counted.increase(&format!("log.{name}"));
    case.reported_by("log.").filter_map(rise).find(|rise| *rise > 0.0)
}

/// Creates the evidence that `lines` lines contain a text.
pub fn evidence(lines: f64, text: &'static str) -> LocalizedSentence {
    LocalizedSentence::new(EVIDENCE, [("n", whole(lines)), ("text", text.to_owned())])
}

/// Returns a verdict based on the first of these counts that increased; each is given with its text in the log.
pub fn found(case: &Case, claim: Text, signs: &[(&str, &'static str)]) -> Option<RuleVerdict> {
    let (lines, text) = signs.iter().find_map(|(name, text)| Some((lines(case, name)?, *text)))?;
    Some(proved(claim, evidence(lines, text)))
}

/// Asserts that a rule has a finding for log lines of one kind, but none for other lines or a run without failures.
#[cfg(test)]
pub fn assert_finds(rule: &LimitRule, name: &str) {
    use super::made_up::{counted, judged_told};

    let failed = |run: &mut LoadResults| run.failures = vec![FailureCount::default()];
    let log = |name: &str, to: f64| counted(&[("log.lines", 0.0, 99.0), (&format!("log.{name}"), 4.0, to)]);
    assert_eq!(judged_told(rule, failed, log(name, 9.0)), Some("proved"));
    assert_eq!(judged_told(rule, failed, log(name, 4.0)), None, "lines from before the run");
    assert_eq!(judged_told(rule, failed, log("another", 9.0)), None);
    assert_eq!(judged_told(rule, |_| (), log(name, 9.0)), None, "none of ours failed");
}
