//! S15: the service responded with errors.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "S15",
    origin: CounterOrigin::Generator,
    stage: PathStage::Service,
    title: text("The service responds with errors", "服务返回错误"),
    symptom: text("a share of the responses is 500, 502, 503 …", "部分响应是 500、502、503 等"),
    remedy: text(
        "look at the kept example (its body often says why) and at the service's log at that time; --watch-log FILE and \
            --watch of the database beside the load name many causes",
        "查看保留的样例（响应正文往往说明原因）以及服务此时的日志；压测时用 --watch-log FILE 以及对数据库的 --watch，可直接指出许多原因",
    ),
    experiment: text(
        "with one user the errors should be gone if the load causes them",
        "若错误由负载所致，只有一个用户时应不再出现",
    ),
    caution: Some(text(
        "errors are often quicker than successes: a higher throughput with more of them is no gain",
        "错误往往比成功更快：错误增多带来的更高吞吐量并非好事",
    )),
    judge,
};

const CLAIM: Text = text(
    "the service responded with errors: {n} {n|response was|responses were} {codes}",
    "服务返回了错误：{n} 个响应为 {codes}",
);
const EVIDENCE: Text = text(
    "{share} of the responses; failed responses took {failed} on average",
    "占响应的 {share}；失败的响应平均耗时 {failed}",
);
const SUCCESSES: Text = text(", successes {succeeded}", "，成功的响应 {succeeded}");

/// Share of the responses from which the run is affected.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    // Rules of proxies and limiters say more about the codes that are theirs.
    let of_proxy = [&super::limiter::RULE, &super::upstream_down::RULE].iter().any(|rule| (rule.judge)(case).is_some());
    let is_theirs = |code: &str| of_proxy && ["502", "503", "504"].contains(&code);
    let is_error = |code: &str| code.len() == 3 && code.starts_with('5') && !is_theirs(code);
    let codes: Vec<&str> = run.status.keys().map(String::as_str).filter(|code| is_error(code)).collect();
    let (all, n) = (run.status.values().sum::<u64>(), run.answered(&codes));
    if run.expects_status || n == 0 || (n as f64) < SHARE * all as f64 || run.failures.is_empty() {
        return None;
    }
    let claim = LocalizedSentence::new(CLAIM, [("n", numbers::count(n)), ("codes", codes.join(", "))]);
    let [failed, succeeded] = [run.failed_responses.mean, run.service.mean].map(numbers::seconds);
    let evidence = LocalizedSentence::new(EVIDENCE, [("share", numbers::percent(n, all)), ("failed", failed)]);
    let evidence = match run.service.count {
        0 => evidence,
        _ => evidence.with_clause(SUCCESSES, [("succeeded", succeeded)]),
    };
    Some(proved(claim, evidence).repeated_with(ExperimentLoad::Users(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged, run};

    fn answered(code: &'static str, n: u64) -> impl FnOnce(&mut LoadResults) {
        move |run| {
            run.status = [("200".to_owned(), 1000), (code.to_owned(), n)].into();
            run.failures = vec![FailureCount { kind: "wrong_status".into(), count: n, ..FailureCount::default() }];
        }
    }

    #[test]
    fn errors_have_a_finding_of_their_own() {
        assert_eq!(judged(&RULE, answered("500", 300), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, answered("500", 5), counted(&[])), None, "one in two hundred");
        assert_eq!(judged(&RULE, answered("404", 300), counted(&[])), None, "the request's own");
        assert_eq!(judged(&RULE, answered("503", 300), counted(&[])), None, "P7 tells of it");
        let expected = |run: &mut LoadResults| {
            answered("500", 300)(run);
            run.expects_status = true;
        };
        assert_eq!(judged(&RULE, expected, counted(&[])), None);
    }

    #[test]
    fn successes_are_compared_if_there_are_any() {
        let evidence = |count: u64| {
            let mut run = run();
            answered("500", 300)(&mut run);
            (run.service.count, run.failed_responses.mean) = (count, 0.003);
            RULE.judge_host(&Case { run, ..Case::default() }).expect("errors").evidence(brunt_i18n::Lang::En)
        };
        assert_eq!(evidence(0), "23.1 % of the responses; failed responses took 3.00 ms on average");
        assert!(evidence(10).ends_with("on average, successes 50.0 ms"), "{}", evidence(10));
    }

    #[test]
    fn a_disturbed_generator_does_not_hide_them() {
        let mut disturbed = LoadResults { generator_doubt: Some(GeneratorDoubt::Absent), ..run() };
        answered("500", 300)(&mut disturbed);
        let conclusion = crate::conclude(&Case { run: disturbed, ..Case::default() });
        let rules: Vec<&str> = conclusion.findings.iter().map(|found| found.rule).collect();
        assert_eq!(rules, ["S15", "C1"]);
    }
}
