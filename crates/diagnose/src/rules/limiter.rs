//! P7: a rate limiter counts requests and rejects the rest.

use super::*;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "P7",
    origin: CounterOrigin::Generator,
    stage: PathStage::Proxy,
    title: text("A rate limiter", "限流"),
    symptom: text(
        "a fixed rate succeeds, and the rest immediately gets 429 or 503",
        "成功速率固定，其余立即返回 429 或 503",
    ),
    remedy: text(
        "exempt the test from the limit (nginx: limit_req, limit_conn), or report it as the limit",
        "让压测流量不受限流约束（nginx：limit_req、limit_conn），或把该限额作为瓶颈如实报告",
    ),
    experiment: text(
        "at {half} no request should be rejected",
        "速率为 {half} 时不应再有请求被拒绝",
    ),
    caution: None,
    judge,
};

const LIMITED: Text = text(
    "a rate limiter rejected requests: {n} {n|response was|responses were} 429, and {kept}/s succeeded",
    "限流器拒绝了请求：{n} 个响应为 429，成功 {kept}/s",
);
const UNAVAILABLE: Text = text(
    "the service, or a rate limiter in front of it, rejected requests: {n} {n|response was|responses were} 503, and {kept}/s succeeded",
    "服务或其前面的限流器拒绝了请求：{n} 个响应为 503，成功 {kept}/s",
);
const LOGGED: Text = text(
    "a rate limiter of the proxy rejected requests: {n} {n|response was|responses were} 503, and {kept}/s succeeded",
    "代理的限流器拒绝了请求：{n} 个响应为 503，成功 {kept}/s",
);
const RETRY_LATER: Text = text(
    "a limiter rejected requests: {n} {n|response was|responses were} 503 and said when to come again (Retry-After, \
        RateLimit), and {kept}/s succeeded",
    "限流器拒绝了请求：{n} 个响应为 503，并说明何时重试（Retry-After、RateLimit），成功 {kept}/s",
);
const EVIDENCE: Text = text("{share} of the responses", "占响应的 {share}");
const EXPERIMENT_SCENARIOS: Text =
    text("at half the load of each scenario, no request should be rejected", "各场景负载减半时不应再有请求被拒绝");

/// Share of rejected responses above which the run is affected.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let all: u64 = run.status.values().sum();
    let told = |code: &str| Some(run.answered(&[code])).filter(|n| *n > 0 && *n as f64 >= SHARE * all as f64);
    let limits = ["limiting_requests", "limiting_connections"];
    let logged = limits.iter().find_map(|limit| watched_log::lines(case, limit));
    let (n, text, proof) = match (told("429"), told("503")) {
        _ if run.expects_status => return None,
        (Some(n), _) => (n, LIMITED, Proof::Proved),
        (None, Some(n)) if logged.is_some() => (n, LOGGED, Proof::Proved),
        (None, Some(n)) if run.rejections.get("503") == Some(&RejectionSign::RetryLater) => {
            (n, RETRY_LATER, Proof::Proved)
        }
        // The proxy says that the service behind it failed: another rule's.
        (None, Some(_)) if run.rejections.contains_key("503") => return None,
        // A limiter lets some through; a service that is down, none.
        (None, Some(_)) if run.succeeded_per_s == 0.0 => return None,
        (None, Some(n)) => (n, UNAVAILABLE, Proof::Consistent),
        (None, None) => return None,
    };
    let claim = LocalizedSentence::new(text, [("n", numbers::count(n)), ("kept", numbers::rate(run.succeeded_per_s))]);
    let share = LocalizedSentence::new(EVIDENCE, [("share", numbers::percent(n, all))]);
    let evidence = logged.map_or(share, watched_log::LimitLines::evidence);
    let verdict = RuleVerdict::new(proof, claim, evidence);
    Some(match run.has_scenarios {
        true => verdict.experiment(EXPERIMENT_SCENARIOS),
        false => {
            let half = run.rate_for(run.succeeded_per_s / 2.0);
            verdict.experiment_with([("half", half.clone())]).repeated_with(ExperimentLoad::Rate(half))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repeat_command::{RepeatCommand, RepeatedPlan};
    use crate::rules::made_up::{counted, judged};

    #[test]
    fn who_turns_away_says_so_itself() {
        let answered = |code: &'static str, n: u64| {
            move |run: &mut LoadResults| run.status = [("200".to_owned(), 1000), (code.to_owned(), n)].into()
        };
        assert_eq!(judged(&RULE, answered("429", 500), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, answered("503", 500), counted(&[])), Some("consistent"));
        assert_eq!(judged(&RULE, answered("500", 500), counted(&[])), None);
        assert_eq!(judged(&RULE, answered("503", 5), counted(&[])), None);
        let down = |run: &mut LoadResults| {
            answered("503", 500)(run);
            run.succeeded_per_s = 0.0;
        };
        assert_eq!(judged(&RULE, down, counted(&[])), None);
        let expected = |run: &mut LoadResults| {
            answered("503", 500)(run);
            run.expects_status = true;
        };
        assert_eq!(judged(&RULE, expected, counted(&[])), None);
    }

    #[test]
    fn a_503_is_told_by_what_it_says() {
        let answered = |sign: RejectionSign| {
            move |run: &mut LoadResults| {
                run.status = [("200".to_owned(), 1000), ("503".to_owned(), 500)].into();
                run.rejections = [("503".to_owned(), sign)].into();
            }
        };
        assert_eq!(judged(&RULE, answered(RejectionSign::RetryLater), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, answered(RejectionSign::Upstream(Some("HAProxy"))), counted(&[])), None, "P5");
    }

    #[test]
    fn the_log_of_the_proxy_says_who_rejected() {
        let rejected = |run: &mut LoadResults| {
            run.status = [("200".to_owned(), 1000), ("503".to_owned(), 500)].into();
            run.failures = vec![FailureCount { count: 500, ..FailureCount::default() }];
        };
        let log = |lines: f64| counted(&[("log.limiting_requests", 0.0, lines)]);
        let judged_told = crate::rules::made_up::judged_told;
        assert_eq!(judged_told(&RULE, rejected, log(500.0)), Some("proved"));
        assert_eq!(judged_told(&RULE, rejected, log(0.0)), Some("consistent"));
    }

    #[test]
    fn the_experiment_has_half_of_what_succeeded_in_what_a_rate_counts() {
        let said = |change: fn(&mut LoadResults)| {
            let mut run = LoadResults { succeeded_per_s: 984.0, repeat: RepeatCommand::new(&[], "p7.yaml", RepeatedPlan::default()), ..LoadResults::default() };
            run.status = [("200".to_owned(), 10), ("503".to_owned(), 1)].into();
            change(&mut run);
            let found = RULE.judge_host(&Case { run, ..Case::default() }).expect("a limiter");
            (found.claim(brunt_i18n::Lang::En), found.experiment(brunt_i18n::Lang::En))
        };
        let (claim, experiment) = said(|_| ());
        assert!(claim.contains("1 response was 503"), "{claim}");
        assert!(experiment.contains("at 492/s") && experiment.contains("brunt -r 492/s p7.yaml"), "{experiment}");
        let (_, of_iterations) = said(|run| run.per_iteration = Some(2.0));
        assert!(of_iterations.contains("brunt -r 246/s p7.yaml"), "{of_iterations}");
        let (_, of_scenarios) = said(|run| run.has_scenarios = true);
        assert!(!of_scenarios.contains("brunt"), "{of_scenarios}");
    }
}
