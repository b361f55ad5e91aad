//! P7: a rate limiter counts requests and rejects the rest.

use super::*;
use crate::load_seconds::SecondFigures;

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

/// Minimum number of whole seconds, and of responses in each, that show by what the rejected ones are chosen, and number
/// of standard deviations within which chance lies.
const SECONDS: usize = 5;
const RESPONSES: u64 = 10;
const BY_CHANCE: f64 = 3.0;

/// Number of standard deviations from which successes are evener than chance.
const EVEN: f64 = 2.3;

/// Returns `true` if each response was rejected by chance, whatever the rate: then the share of each second varies as that
/// of a binomial distribution, and so do the successes, or more if the number of responses varies. A limiter lets the same
/// number through in each second, and rejects what exceeds it.
fn is_by_chance(run: &LoadResults) -> bool {
    let answered = |s: &SecondFigures| s.succeeded + s.failed_responses;
    let whole = |s: &&SecondFigures| s.length_s >= 0.9 && answered(s) >= RESPONSES;
    let seconds: Vec<&SecondFigures> = run.seconds.iter().filter(whole).collect();
    let sum = |of: fn(&SecondFigures) -> u64| seconds.iter().map(|s| of(s)).sum::<u64>() as f64;
    let (rejected, kept) = (sum(|s| s.failed_responses), sum(|s| s.succeeded));
    if seconds.len() < SECONDS || rejected == 0.0 || kept == 0.0 {
        return false;
    }
    let (share, mean, free) = (rejected / (rejected + kept), kept / seconds.len() as f64, (seconds.len() - 1) as f64);
    let of_shares = seconds.iter().map(|s| {
        let n = answered(s) as f64;
        (s.failed_responses as f64 - share * n).powi(2) / (n * share * (1.0 - share))
    });
    let of_successes = seconds.iter().map(|s| (s.succeeded as f64 - mean).powi(2) / (mean * share));
    // Wilson and Hilferty: the cube root of chi-square ÷ its degrees of freedom is nearly normal.
    let deviation = |chi_square: f64| ((chi_square / free).cbrt() - (1.0 - 2.0 / (9.0 * free))) / (2.0 / (9.0 * free)).sqrt();
    let is_even = deviation(of_successes.sum()) < -EVEN;
    deviation(of_shares.sum()).abs() <= BY_CHANCE && !is_even
}

fn judge(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let all: u64 = run.status.values().sum();
    let told = |code: &str| Some(run.answered(&[code])).filter(|n| *n > 0 && *n as f64 >= SHARE * all as f64);
    let limits = ["limiting_requests", "limiting_connections"];
    let logged = limits.iter().find_map(|limit| watched_log::lines(case, limit));
    let (n, text, proof) = match (told("429"), told("503")) {
        _ if run.expects_status => return None,
        (None, Some(n)) if logged.is_some() => (n, LOGGED, Proof::Proved),
        // A limiter lets some through, as many whatever the rate; a service that is down, none.
        (Some(_), _) | (_, Some(_)) if run.succeeded_per_s == 0.0 => return None,
        (Some(n), _) => (n, LIMITED, Proof::Proved),
        (None, Some(_)) if is_by_chance(run) => return None,
        (None, Some(n)) if run.rejections.get("503") == Some(&RejectionSign::RetryLater) => {
            (n, RETRY_LATER, Proof::Proved)
        }
        // The proxy says that the service behind it failed: another rule's.
        (None, Some(_)) if run.rejections.contains_key("503") => return None,
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
        let never = |run: &mut LoadResults| {
            answered("429", 500)(run);
            run.succeeded_per_s = 0.0;
        };
        assert_eq!(judged(&RULE, never, counted(&[])), None, "no rate was let through");
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
    fn what_is_rejected_by_chance_meets_no_limiter() {
        // Seconds of about 200 responses, as arrivals come by chance.
        let due = [214, 188, 203, 196, 179, 221, 207, 192, 205, 195];
        let by_chance = [23, 17, 22, 20, 14, 25, 19, 18, 24, 16];
        let rejected = |of: fn(u64, u64) -> u64| {
            move |run: &mut LoadResults| {
                let second = |(due, chance): (u64, u64)| {
                    let failed_responses = of(due, chance);
                    SecondFigures { length_s: 1.0, succeeded: due - failed_responses, failed_responses, ..Default::default() }
                };
                run.seconds = due.into_iter().zip(by_chance).map(second).collect();
                let n = run.seconds.iter().map(|s| s.failed_responses).sum();
                run.status = [("200".to_owned(), 1000), ("503".to_owned(), n)].into();
                run.is_open = true;
            }
        };
        assert_eq!(judged(&RULE, rejected(|_, chance| chance), counted(&[])), None, "a tenth");
        assert_eq!(judged(&RULE, rejected(|due, _| due - 100), counted(&[])), Some("consistent"), "a hundred succeed");
        let spaced = |run: &mut LoadResults| rejected(|due, _| due - 66 - due / 50 + 4)(run);
        assert_eq!(judged(&RULE, spaced, counted(&[])), Some("consistent"), "nearly as many succeed");
        let closed = |run: &mut LoadResults| {
            // Users who are rejected send again at once: 20,000 responses a second, of which a hundred succeed.
            rejected(|due, _| due - 100)(run);
            run.is_open = false;
            let sent = [20_300, 19_100, 20_900, 19_700, 20_100, 18_800, 20_400, 19_900, 20_600, 19_400];
            run.seconds.iter_mut().zip(sent).for_each(|(s, sent)| s.failed_responses = sent);
        };
        assert_eq!(judged(&RULE, closed, counted(&[])), Some("consistent"), "as many, of ever so many");
        let says_when = |run: &mut LoadResults| {
            rejected(|_, chance| chance)(run);
            run.rejections = [("503".to_owned(), RejectionSign::RetryLater)].into();
        };
        assert_eq!(judged(&RULE, says_when, counted(&[])), None, "whatever it says");
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
