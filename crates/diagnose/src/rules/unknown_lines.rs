//! W6: lines of a watched log that brunt does not know grew with the failures.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "W6",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text(
        "The log grew with the failures",
        "日志随失败增长",
    ),
    symptom: text(
        "requests fail, and the watched log has about as many lines that say why",
        "请求失败，而所关注的日志中有数量相近的行说明原因",
    ),
    remedy: text(
        "read these lines: the program that wrote them says what it could not do",
        "查看这些日志行：写日志的程序已说明它做不到什么",
    ),
    experiment: text(
        "at a load at which nothing fails, these lines should not appear",
        "在没有请求失败的负载下，这些行不应出现",
    ),
    caution: None,
    judge,
};

const CLAIM: Text = text(
    "the watched log has {n} {n|line|lines} that brunt does not know, about as many as requests failed ({failed})",
    "所关注的日志中有 {n} 行 brunt 不认识的内容，数量与失败的请求（{failed} 个）相近",
);
const FIRST: Text = text("{n}× `{line}`", "{n} 行：{line}");
const NEXT: Text = text("; {n}× `{line}`", "；{n} 行：{line}");

/// Maximum number of kinds of lines shown.
const MOST_SHOWN: usize = 5;
/// Number of lines, as a share of the failures, of those that can be about the failures: each writes a few at most.
const ABOUT: std::ops::RangeInclusive<f64> = 0.3..=2.0;
/// Minimum number of lines of a kind.
const FEWEST: f64 = 3.0;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let failed: u64 = case.run.failures.iter().map(|failure| failure.count).sum();
    let mut lines: Vec<(&str, f64)> = Vec::new();
    for log in case.reported_by("log.") {
        let grown = |line| Some((line, log.increase_from_zero(&format!("log.other.{line}"))?));
        lines.extend(log.name_middles("log.other.", "").filter_map(grown));
    }
    let succeeded = case.run.succeeded_per_s * case.run.window_s;
    // Lines that are as many as the successes are written for each of them.
    let of_successes = |n: f64| succeeded > failed as f64 && ABOUT.contains(&(n / succeeded));
    lines.retain(|(_, n)| *n >= FEWEST && ABOUT.contains(&(*n / failed as f64)) && !of_successes(*n));
    lines.sort_by(|a, b| b.1.total_cmp(&a.1));
    lines.truncate(MOST_SHOWN);
    let fact = |(line, n): &(&str, f64)| [("n", whole(*n)), ("line", (*line).to_owned())];
    let first = LocalizedSentence::new(FIRST, fact(lines.first()?));
    let evidence = lines.iter().skip(1).fold(first, |all, line| all.with_clause(NEXT, fact(line)));
    let all: f64 = lines.iter().map(|(_, n)| n).sum();
    let claim = LocalizedSentence::new(CLAIM, [("n", whole(all)), ("failed", numbers::count(failed))]);
    // The lines are there, whatever disturbed the generator; what they say is for the reader to judge.
    Some(proved(claim, evidence).limiting(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged_told, run};

    fn failed(run: &mut LoadResults) {
        run.failures = vec![FailureCount { count: 500, ..FailureCount::default() }];
    }

    #[test]
    fn lines_as_many_as_failures() {
        let log = |lines: f64| counted(&[("log.lines", 0.0, 9e4), ("log.other.shard 1 is fenced", 0.0, lines)]);
        assert_eq!(judged_told(&RULE, failed, log(500.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, failed, log(9_500.0)), None, "what it writes for every request");
        assert_eq!(judged_told(&RULE, failed, log(5.0)), None, "what it writes once in a while");
        assert_eq!(judged_told(&RULE, |_| (), log(500.0)), None, "nothing failed");
        let most_succeed = |run: &mut LoadResults| {
            failed(run);
            run.succeeded_per_s = 900.0 / run.window_s;
        };
        assert_eq!(judged_told(&RULE, most_succeed, log(900.0)), None, "what it writes for every success");
    }

    #[test]
    fn the_most_frequent_lines_are_shown_with_their_counts_and_limit_nothing() {
        let log = counted(&[
            ("log.lines", 0.0, 9e4),
            ("log.other.shard 1 is fenced", 0.0, 480.0),
            ("log.other.giving up on 9", 0.0, 300.0),
        ]);
        let mut case = Case { run: run(), reported: vec![log], ..Case::default() };
        failed(&mut case.run);
        let found = RULE.judge_host(&case).expect("a finding");
        assert_eq!(found.evidence(Lang::En), "480× `shard 1 is fenced`; 300× `giving up on 9`");
        assert!(!found.is_limit && found.claim(Lang::En).contains("780 lines"), "{}", found.claim(Lang::En));
    }
}
