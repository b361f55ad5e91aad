//! N11: no process listened at the service's address, for a while or until the end of the run.

use super::*;
use crate::load_results::HeldConnections;
use crate::rules::stood_still::outage;

pub(super) const RULE: LimitRule = LimitRule {
    rule: "N11",
    origin: CounterOrigin::Generator,
    stage: PathStage::ServerKernel,
    title: text("Nothing listening", "端口无人监听"),
    symptom: text(
        "connects start being refused, for a while or for good, after earlier ones succeeded",
        "原本能成功的建连，从某一刻起或在一段时间内被拒绝",
    ),
    remedy: text(
        "find out why the service exited or restarted at that moment: its log, `journalctl -u`, `dmesg` (OOM killer); \
            if several instances share the address, why some are down",
        "查明服务当时退出或重启的原因：查看服务日志、`journalctl -u`、`dmesg` 中的 OOM killer；若同一地址后面有多个实例，查明为何有实例没有运行",
    ),
    experiment: text(
        "while the service is up, a second client should always be able to connect",
        "只要服务在运行，另一个客户端应随时可以连接",
    ),
    caution: Some(text(
        "the few requests in flight fail with closed or reset: that is not an idle timeout",
        "当时在途的少数请求会以 closed 或 reset 失败：这不是空闲超时",
    )),
    judge,
};

const GONE: Text = text(
    "the service was down from {from} on: nothing was listening, and no request succeeded",
    "服务自 {from} 起停止监听，此后没有请求成功",
);
const AWAY: Text = text(
    "the service was down from {from} to {to}: nothing was listening, and no request succeeded",
    "服务在 {from} 到 {to} 之间停止监听，其间没有请求成功",
);
const REFUSED: Text =
    text("nothing was listening at times: {refused} connects were refused", "服务有时未在监听：{refused} 次建连被拒绝");
const ONE_DEAD: Text = text(
    "{connects} connects to {addresses} failed; {opened} to the others succeeded",
    "到 {addresses} 的 {connects} 次建连失败；到其他地址的 {opened} 次成功",
);
const TAKE_OUT: Text = text(
    "start the service at that address, or take the address out of the name; --connect-to HOST:PORT:ADDRESS:PORT tests \
        the others alone",
    "在该地址启动服务，或从域名中移除该地址；用 --connect-to HOST:PORT:ADDRESS:PORT 可只测其他地址",
);
const EACH_ALONE: Text = text(
    "with --connect-to, a load on each of the other addresses alone should succeed",
    "用 --connect-to 分别只压其他地址时应能成功",
);
const EVIDENCE: Text = text(
    "{refused} of {scheduled} scheduled requests failed with a refused connect (ECONNREFUSED)",
    "{refused} 个请求因建连被拒绝而失败（ECONNREFUSED）；计划共 {scheduled} 个请求",
);

/// Minimum number of failed connects to an address.
const FEWEST: u64 = 3;
const HELD_GONE: Text = text(
    "the service was down from {from} on: its process ended or closed its port, and {lost} of {most} held connections \
        were lost",
    "服务自 {from} 起停止监听：进程已退出或关闭了端口，保持的 {most} 个连接断开了 {lost} 个",
);
const HELD_AWAY: Text = text(
    "the service was down for a while from {from} on: its process ended or closed its port, and {lost} connections \
        that were held ({most} at the same time) were lost and opened again",
    "服务自 {from} 起一度停止监听：进程退出或关闭了端口，同时保持的 {most} 个连接先后断开 {lost} 次，之后重新建立",
);
const HELD_EVIDENCE: Text = text(
    "{refused} reconnects were refused (ECONNREFUSED) after {lost} connections had been lost",
    "{lost} 个连接断开之后，{refused} 次重连被拒绝（ECONNREFUSED）",
);

/// Minimum share of refused requests without an outage, as when one of several servers is down.
const SHARE: f64 = 0.01;

fn judge(case: &Case) -> Option<RuleVerdict> {
    one_of_several(case).or_else(|| nobody(case))
}

/// Judges a name some of whose addresses fail.
fn one_of_several(case: &Case) -> Option<RuleVerdict> {
    let (run, failed) = (&case.run, case.run.failed_addresses.as_ref()?);
    // Users back off from a dead address: its few connects are to be compared with connects, not with requests.
    if failed.count < FEWEST || (failed.count as f64) < SHARE * (failed.count + run.opened) as f64 {
        return None;
    }
    let (claim, facts) = failed.sentence();
    let evidence = [
        ("connects", numbers::count(failed.count)),
        ("addresses", failed.addresses.join(", ")),
        ("opened", numbers::count(run.opened)),
    ];
    let found = proved(LocalizedSentence::new(claim, facts), LocalizedSentence::new(ONE_DEAD, evidence));
    Some(found.remedy(TAKE_OUT).experiment(EACH_ALONE))
}

fn nobody(case: &Case) -> Option<RuleVerdict> {
    let run = &case.run;
    let refused = refused(case);
    let count = numbers::count;
    if let Some(held) = run.held.filter(|held| held.lost > 0 && held.refused > 0) {
        return Some(held_gone(held));
    }
    let claim = match run.outage {
        _ if refused == 0 => return None,
        Some(out) if out.to_the_end => outage(GONE, out),
        Some(out) => outage(AWAY, out),
        None if (refused as f64) < SHARE * run.scheduled as f64 => return None,
        None => LocalizedSentence::new(REFUSED, [("refused", count(refused))]),
    };
    let evidence = LocalizedSentence::new(EVIDENCE, [("refused", count(refused)), ("scheduled", count(run.scheduled))]);
    Some(proved(claim, evidence).repeated_with(ExperimentLoad::Users(1)))
}

/// Returns the verdict on a run that holds connections: they had been open, and then nothing listened.
fn held_gone(held: HeldConnections) -> RuleVerdict {
    let facts = |extra: (&'static str, String)| {
        [extra, ("lost", numbers::count(held.lost)), ("most", numbers::count(held.most))]
    };
    let text = if held.restored { HELD_AWAY } else { HELD_GONE };
    let claim = LocalizedSentence::new(text, facts(("from", format!("{:.1} s", held.lost_from_s))));
    proved(claim, LocalizedSentence::new(HELD_EVIDENCE, facts(("refused", numbers::count(held.refused)))))
}

/// Returns the number of refused connects.
pub(super) fn refused(case: &Case) -> u64 {
    case.run.failed_in("refused", "connect")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::made_up::{counted, judged, run};
    use brunt_i18n::Lang;

    /// Adds `n` refused connects to a run, with or without an outage of a second or more.
    fn refused(n: u64, outage: Option<Outage>) -> impl FnOnce(&mut LoadResults) {
        move |run| {
            run.outage = outage;
            run.failures = vec![FailureCount { kind: "refused".into(), phase: "connect".into(), count: n }];
        }
    }

    #[test]
    fn a_service_that_is_gone_refuses_connects() {
        let out = Outage { from_s: 1.8, to_s: 3.0, to_the_end: true, more: 0 };
        assert_eq!(judged(&RULE, refused(123, Some(out)), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, refused(123, None), counted(&[])), Some("proved"), "one of several");
        assert_eq!(judged(&RULE, refused(5, None), counted(&[])), None, "a few of 10,000");
        let stopped = move |run: &mut LoadResults| run.outage = Some(out);
        assert_eq!(judged(&RULE, stopped, counted(&[])), None, "it listened, and did not answer");
    }

    #[test]
    fn one_of_two_addresses_is_named() {
        let failed = |count| crate::FailedAddresses {
            host: "m.test".into(),
            of: 2,
            addresses: vec!["127.0.0.9".into()],
            count,
            are_refused: true,
        };
        let with = |count| move |run: &mut LoadResults| run.failed_addresses = Some(failed(count));
        assert_eq!(judged(&RULE, with(20), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, with(2), counted(&[])), None, "two connects");
        let many = |run: &mut LoadResults| (run.failed_addresses, run.opened) = (Some(failed(20)), 50_000);
        assert_eq!(judged(&RULE, many, counted(&[])), None, "20 of 50,000 connects");
        let mut case = Case { run: run(), ..Case::default() };
        case.run.failed_addresses = Some(failed(20));
        let claim = RULE.judge_host(&case).unwrap().claim(Lang::En);
        assert_eq!(claim, "1 of the 2 addresses of m.test refuses: 127.0.0.9");
    }

    #[test]
    fn held_connections_whose_server_ended() {
        let held = |lost, refused, restored| {
            move |run: &mut LoadResults| {
                run.held = Some(HeldConnections { most: 200, lost, refused, lost_from_s: 3.0, restored });
            }
        };
        assert_eq!(judged(&RULE, held(200, 3_725, false), counted(&[])), Some("proved"));
        assert_eq!(judged(&RULE, held(200, 12, true), counted(&[])), Some("proved"), "restarted");
        assert_eq!(judged(&RULE, held(7, 0, false), counted(&[])), None, "lost one by one, and it still listens");
        assert_eq!(judged(&RULE, held(0, 9, false), counted(&[])), None, "it never admitted all");
    }

    #[test]
    fn it_says_from_when_on() {
        let said = |to_the_end| {
            let mut case = Case { run: run(), ..Case::default() };
            refused(9, Some(Outage { from_s: 1.8, to_s: 3.0, to_the_end, more: 0 }))(&mut case.run);
            RULE.judge_host(&case).unwrap().claim(Lang::En)
        };
        assert!(said(true).contains("from 1.8 s on"), "{}", said(true));
        assert!(said(false).contains("from 1.8 s to 3.0 s"), "{}", said(false));
    }
}
