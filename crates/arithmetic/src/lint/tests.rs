//! Small outputs of each tool, right and wrong in one respect, and bytes of any kind.

use brunt_i18n::Lang;
use proptest::prelude::*;

use super::sample_outputs::{AB, GO_STRESS, HEY, JMETER, K6, LOCUST, WEBBENCH, WRK, found, report};
use super::{lint, oracle};

#[test]
fn right_outputs_are_left_in_peace() {
    for text in [AB, WRK, HEY, GO_STRESS, K6, JMETER, LOCUST, WEBBENCH] {
        assert_eq!(found(text), Vec::<&str>::new(), "{}", report(text).text(Lang::En));
        let said = report(text).text(Lang::En);
        assert!(said.contains("nothing wrong found") && said.contains("checked: "), "{said}");
    }
    let all = [AB, WRK, HEY, GO_STRESS, K6, JMETER, LOCUST, WEBBENCH].join("\n\n");
    assert_eq!((report(&all).outputs.len(), report(&all).count()), (8, 0), "{}", report(&all).text(Lang::En));
}

#[test]
fn each_check_finds_its_mistake() {
    let rows = "TOTAL,1000,84,75,150,187.5,225,5,400,0.00%,10.0";
    let table = [
        (AB.replace("Level:      10", "Level:      30"), "little"),
        (WRK.replace("100 connections", "50 connections"), "little"),
        (WRK.replace("100 connections", "400 connections"), "little"),
        (HEY.replace("-c 50", "-c 20"), "little"),
        (K6.replace("max=80", "max=40"), "little"),
        (GO_STRESS.replace("│   10.00│200", "│    8.00│200"), "little"),
        (WRK.replace("Requests/sec:  10000.00", "Requests/sec:  20000.00").replace("10.00ms", "5.00ms"), "rate"),
        (HEY.replace("Fastest:\t0.0010", "Fastest:\t0.0200"), "order"),
        (
            HEY.replace("Latency distribution", "  0.001 [9000] |■■■\n  0.050 [1000] |■\nLatency distribution")
                .replace("Fastest:\t0.0010", "Fastest:\t0.0050"),
            "order",
        ),
        (
            AB.replace("5   20   9.7     18      65", "0    1   9.7      1      65")
                .replace("50%     18", "50%      1"),
            "little",
        ),
        (
            WRK.replace("Running 30s", "Running 10s")
                .replace("in 30.00s", "in 51.00h")
                .replace("Requests/sec:  10000.00", "Requests/sec:      1.63"),
            "rate",
        ),
        (
            WRK.replace("in 30.00s", "in 2.00ms")
                .replace("Requests/sec:  10000.00", "Requests/sec:  150000000.00")
                .replace("10.00ms", "1.00us"),
            "rate",
        ),
        (AB.replace("100%     65", "100%     55").replace("99%     60", "99%     80"), "order"),
        (format!("{WEBBENCH}\nQPS: 24525\n"), "units"),
        (format!("{WEBBENCH}\n24525 pages/min (QPS: 24525 pages/min)\n"), "units"),
        (format!("{WEBBENCH}\n每秒响应 24525 个请求\n"), "units"),
        (
            AB.replace("requests:      10000", "requests:      200").replace("20.000 seconds", "0.400 seconds"),
            "samples",
        ),
        (WRK.replace("50%    9.50ms", "50%    1.50ms"), "tail"),
        (WRK.replace("3.00ms  50", "13.00ms  50").replace("50%    9.50ms", "").replace("99%   25.00ms", ""), "tail"),
        (JMETER.lines().take(3).chain([rows]).collect::<Vec<_>>().join("\n"), "averaged"),
        (JMETER.replace(",280,5,", ",310,5,"), "averaged"),
        (JMETER.replace("5,400,0.00%,10.0", "5,400,2.00%,10.0"), "failures"),
        (HEY.replace("10000 responses", "9900 responses\n  [503]\t100 responses"), "failures"),
        (
            WRK.replace("Requests/sec", "  Socket errors: connect 0, read 900, write 0, timeout 0\nRequests/sec"),
            "failures",
        ),
        (
            WRK.replace("Requests/sec", "  Socket errors: connect 0, read 0, write 0, timeout 9\nRequests/sec"),
            "timeouts",
        ),
        (format!("{K6}     dropped_iterations.............: 12     1.2/s\n"), "timeouts"),
        (AB.replace("     18      65", "     18    9999").replace("100%     65", "100%   9999"), "omission"),
        (format!("{AB}apr_socket_connect(): Cannot assign requested address (99)\n"), "ports"),
        (
            format!("{HEY}  [5] Get \"http://a/\": dial tcp 127.0.0.1:80: connect: cannot assign requested address\n"),
            "ports",
        ),
    ];
    for (text, check) in table {
        assert_eq!(found(&text), [check], "{text}\n{}", report(&text).text(Lang::En));
    }
}

#[test]
fn a_rate_per_minute_may_be_called_one() {
    for said in
        ["每分钟处理 24525 个页面，吞吐量 4.3MB/秒", "24525 pages; another server reached a QPS of 9000", "QPS: 409"]
    {
        let text = format!("{WEBBENCH}\n{said}\n");
        assert_eq!(found(&text), Vec::<&str>::new(), "{}", report(&text).text(Lang::En));
    }
}

#[test]
fn ports_run_out_of_one_machine() {
    let fresh = AB
        .replace("Keep-Alive requests:    10000\n", "")
        .replace("requests:      10000", "requests:      100000")
        .replace(
            "Failed requests:        0",
            "Failed requests:        10\n   (Connect: 10, Receive: 0, Length: 0, Exceptions: 0)",
        )
        .replace("20.000 seconds", "50.000 seconds")
        .replace("500.00", "2000.00")
        .replace("20.000 [ms]", "5.000 [ms]");
    let report = report(&fresh);
    let said = report.findings.iter().find(|found| found.check == "ports").map(|found| found.text(Lang::En));
    assert!(
        said.as_ref().is_some_and(|said| said.contains("10 connections could not be made") && said.contains("14.1 s")),
        "{said:?}"
    );
}

#[test]
fn time_outs_move_the_percentiles_that_they_reach() {
    let errors = "  Socket errors: connect 0, read 0, write 0, timeout 3100\nRequests/sec";
    let report = report(&WRK.replace("Requests/sec", errors));
    let said = report.findings.iter().find(|found| found.check == "timeouts").map(|found| found.text(Lang::En));
    let wanted = "of 300,000, 1.0 % took that long; p99 is at least 2 s; the longest time is not 50 ms";
    assert!(said.as_ref().is_some_and(|said| said.ends_with(wanted)), "{said:?}");
}

#[test]
fn a_rate_that_was_not_kept_is_told_and_is_no_matter_of_littles_law() {
    let overloaded = WRK.replace("10.00ms", "17.30s").replace("50.00ms", "26.17s");
    let overloaded = overloaded.replace("50%    9.50ms", "50%   17.00s").replace("99%   25.00ms", "99%   26.00s");
    assert_eq!(found(&overloaded), Vec::<&str>::new(), "wrk has no such times");
    let asked = format!("wrk -t2 -c100 -d30s -R200000 http://127.0.0.1:8080/\n{overloaded}");
    assert_eq!(found(&asked), ["rate"]);
    assert_eq!(report(&asked).outputs[0].0.name(), "wrk2");
}

#[test]
fn superlinear_outputs_of_one_target_are_told() {
    let faster = WRK
        .replace("100 connections", "200 connections")
        .replace("10000.00", "40000.00")
        .replace("300000 requests", "1200000 requests")
        .replace("10.00ms", "5.00ms");
    assert_eq!(found(&format!("{WRK}\n{faster}")), ["scaling"]);
    let elsewhere = faster.replace("127.0.0.1:8080", "127.0.0.1:9090");
    assert_eq!(found(&format!("{WRK}\n{elsewhere}")), Vec::<&str>::new());
}

#[test]
fn findings_are_said_in_both_languages_with_their_command() {
    let text = AB.replace("Level:      10", "Level:      30");
    let [en, zh] = [Lang::En, Lang::Zh].map(|lang| report(&text).text(lang));
    assert!(en.starts_with("1 output (ab): 1 finding") && en.contains("\nx line 1, ab: 500/s × 20 ms = 10"), "{en}");
    assert!(en.contains("    to settle it: brunt -c 30 -d 30s URL\n"), "{en}");
    assert!(zh.starts_with("1 份输出（ab）：发现 1 个问题") && zh.contains("检查了：利特尔定律"), "{zh}");
    let document = serde_json::to_value(report(&text).document(Lang::En)).unwrap();
    assert_eq!((&document["findings"][0]["check"], &document["count"]), (&"little".into(), &1.into()));
}

#[test]
fn what_cannot_be_read_is_said_in_one_sentence() {
    for bytes in [&b""[..], b"hello", b"\xff\xfe", b"\x1b[2J", b"Requests per second:", b"Speed=5"] {
        let complaint = lint(bytes).unwrap_err();
        assert!(complaint.starts_with("has no output that can be checked; paste what ab, wrk"), "{complaint}");
        assert!(complaint.zh().starts_with("没有可以检查的输出"), "{}", complaint.zh());
    }
    assert!(lint(&vec![b' '; super::LONGEST_BYTES + 1]).unwrap_err().contains("is longer than 16 MB"));
}

/// Each of these would take minutes if lines were compared with all others.
#[test]
fn long_pastes_are_read_in_one_pass() {
    let lines: [fn(usize) -> String; 6] = [
        |n| format!("{n} pages/min\nnothing on line {n}"),
        |n| format!("ab -n 1 -c {n} http://a/\nRequests per second: {n} [#/sec]"),
        |n| format!("metric_{n}......: avg=1ms"),
        |n| format!("GET /{n} {n} 0(0.00%) | 7 1 106 6 | 99.07 0.00"),
        |n| format!("| {n} | {n} |"),
        |n| format!("1389 / {n} = 20"),
    ];
    for line in lines {
        let many: String = (1..20_000).map(|n| line(n) + "\n").collect();
        let heads = ["Name # reqs # fails\n", "| users | QPS |\n", "50% 100% # reqs\n"].concat();
        oracle::check(format!("{heads}{AB}{many}").as_bytes());
    }
}

/// Lines and fragments from which outputs are shuffled together.
fn fragment() -> impl Strategy<Value = String> {
    let lines: Vec<String> = [AB, WRK, HEY, GO_STRESS, K6, JMETER, LOCUST, WEBBENCH]
        .iter()
        .flat_map(|text| text.lines())
        .map(str::to_owned)
        .collect();
    prop_oneof![
        4 => prop::sample::select(lines),
        1 => any::<String>(),
        1 => "[0-9./,│|%:=() a-z]{0,40}",
        1 => "(Requests/sec:|Speed=|Label,# Samples,Average|summary =|[0-9]{1,30}) ?[0-9.e]{0,30}",
    ]
}

proptest! {
    #[test]
    fn random_pastes_have_a_result_or_a_sentence(lines in prop::collection::vec(fragment(), 0..40)) {
        oracle::check(lines.join("\n").as_bytes());
    }

    #[test]
    fn random_bytes_have_a_result_or_a_sentence(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        oracle::check(&bytes);
    }

    #[test]
    fn random_numbers_in_outputs_have_a_result(seed in any::<u64>(), text in prop::sample::select(vec![AB, WRK, HEY, GO_STRESS, K6, JMETER, LOCUST, WEBBENCH])) {
        let mut state = seed;
        let changed: String = text.chars().map(|c| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if c.is_ascii_digit() && (state >> 60) == 0 { char::from(b'0' + ((state >> 33) % 10) as u8) } else { c }
        }).collect();
        oracle::check(changed.as_bytes());
    }
}
