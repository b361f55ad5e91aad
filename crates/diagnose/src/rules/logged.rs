//! Shared parts of the rules about a proxy's log: counts of matching lines, and their evidence.

use super::*;

const EVIDENCE: Text = text("log: {n} lines with «{text}»", "日志：{n} 行包含 {text}");

/// Returns how many lines of a followed log matched within the window, if requests of this run failed: otherwise the
/// lines are about other clients.
pub fn lines(case: &Case, name: &str) -> Option<f64> {
    if case.run.failures.is_empty() {
        return None;
    }
    let rise = |counted: &Counted| counted.rise(&format!("log.{name}"));
    case.told("log.").filter_map(rise).find(|rise| *rise > 0.0)
}

/// Creates the evidence that this many lines contain a text.
pub fn evidence(lines: f64, text: &'static str) -> Said {
    Said::new(EVIDENCE, [("n", whole(lines)), ("text", text.to_owned())])
}

/// Judges by the first of these counts that increased, each given with the text in the log.
pub fn found(case: &Case, claim: Text, signs: &[(&str, &'static str)]) -> Option<Verdict> {
    let (lines, text) = signs.iter().find_map(|(name, text)| Some((lines(case, name)?, *text)))?;
    Some(proved(claim, evidence(lines, text)))
}

/// Tests a rule that finds lines of one kind, and nothing in a log of other lines or in a run without failures.
#[cfg(test)]
pub fn tried(rule: &Rule, name: &str) {
    use super::made_up::{counted, judged_told};

    let failed = |run: &mut Run| run.failures = vec![Failures::default()];
    let log = |name: &str, to: f64| counted(&[("log.lines", 0.0, 99.0), (&format!("log.{name}"), 4.0, to)]);
    assert_eq!(judged_told(rule, failed, log(name, 9.0)), Some("proved"));
    assert_eq!(judged_told(rule, failed, log(name, 4.0)), None, "lines from before the run");
    assert_eq!(judged_told(rule, failed, log("another", 9.0)), None);
    assert_eq!(judged_told(rule, |_| (), log(name, 9.0)), None, "none of ours failed");
}
