//! Small outputs of each tool, right and wrong in one respect, and bytes of any kind.

use brunt_i18n::Lang;
use proptest::prelude::*;

use super::{LintReport, lint, oracle};

const AB: &str = "\
Server Hostname:        localhost
Document Path:          /
Concurrency Level:      10
Time taken for tests:   20.000 seconds
Complete requests:      10000
Failed requests:        0
Keep-Alive requests:    10000
Requests per second:    500.00 [#/sec] (mean)
Time per request:       20.000 [ms] (mean)
Total:          5   20   9.7     18      65
  50%     18
  99%     60
 100%     65 (longest request)
";

const WRK: &str = "\
Running 30s test @ http://127.0.0.1:8080/
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    10.00ms    3.00ms  50.00ms   70.00%
    Req/Sec     5.00k   100.00     6.00k    70.00%
  Latency Distribution
     50%    9.50ms
     99%   25.00ms
  300000 requests in 30.00s, 40.00MB read
Requests/sec:  10000.00
";

const HEY: &str = "\
hey -n 10000 -c 50 http://127.0.0.1:8080/
Summary:
  Total:\t2.0000 secs
  Slowest:\t0.0500 secs
  Fastest:\t0.0010 secs
  Average:\t0.0099 secs
  Requests/sec:\t5000.0000
Latency distribution:
  50% in 0.0095 secs
  99% in 0.0300 secs
Status code distribution:
  [200]\t10000 responses
";

const GO_STRESS: &str = "\
   1s│     10│   1000│      0│ 1000.00│   20.00│    5.00│   10.00│200:1000
   2s│     10│   2000│      0│ 1000.00│   20.00│    5.00│   10.00│200:2000
   3s│     10│   3000│      0│ 1000.00│   20.00│    5.00│   10.00│200:3000
";

const K6: &str = "\
     http_req_duration..............: avg=17.47ms min=10.93ms med=17.31ms max=65.33ms p(90)=18.91ms p(95)=19.54ms
     http_req_failed................: 0.00%  ✓ 0           ✗ 45765
     http_reqs......................: 45765  4568.791991/s
     iteration_duration.............: avg=17.49ms min=10.94ms med=17.33ms max=70.26ms p(90)=18.92ms p(95)=19.56ms
     iterations.....................: 45765  4568.791991/s
     vus_max........................: 80     min=80        max=80
";

const JMETER: &str = "\
Label,# Samples,Average,Median,90% Line,95% Line,99% Line,Min,Max,Error %,Throughput
login,400,120,100,200,250,300,10,400,0.00%,4.0
list,600,60,50,100,125,150,5,200,0.00%,6.0
TOTAL,1000,84,60,170,210,280,5,400,0.00%,10.0
";

const LOCUST: &str = "\
Type     Name       # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
GET      /           40000     0(0.00%) |      7       1     106      6 |   99.07        0.00
         Aggregated  40000     0(0.00%) |      7       1     106      6 |   99.07        0.00
Response time percentiles (approximated)
Type     Name          50%    66%    95%    99%  99.9%   100% # reqs
GET      /               6      7     20     50    100    110  40000
         Aggregated      6      7     20     50    100    110  40000
";

const WEBBENCH: &str = "\
300 clients, running 60 sec.
Speed=24525 pages/min, 20794612 bytes/sec.
Requests: 24525 susceed, 0 failed.
";

fn report(text: &str) -> LintReport {
    lint(text.as_bytes()).unwrap_or_else(|complaint| panic!("{complaint}\n{text}"))
}

/// Returns the names of the checks with findings that are more than notes.
fn found(text: &str) -> Vec<&'static str> {
    let report = report(text);
    let weighty = report.findings.iter().filter(|found| found.grade > super::LintGrade::Note);
    weighty.map(|found| found.check).collect()
}

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
fn hey_keeps_the_first_million_only() {
    let text = HEY
        .replace("5000.0000", "700000.0000")
        .replace("10000 responses", "1000000 responses")
        .replace("0.0099", "0.0001");
    let report = report(&text.replace("-c 50", "-c 100").replace("Fastest:\t0.0010", "Fastest:\t0.0000"));
    let said = report.findings.iter().find(|found| found.check == "rate").map(|found| found.text(Lang::En));
    assert!(said.as_ref().is_some_and(|said| said.contains("1.4 times too high")), "{said:?}");
}

#[test]
fn old_versions_of_go_stress_testing_divide_the_mean_by_the_users() {
    let report = report(&GO_STRESS.replace("│   10.00│200", "│    1.00│200"));
    let said = report.findings.iter().find(|found| found.check == "little").map(|found| found.text(Lang::En));
    assert!(
        said.as_ref().is_some_and(|said| said.contains("÷ the 10 users") && said.contains("took 10 ms")),
        "{said:?}"
    );
}

#[test]
fn pipelined_requests_are_more_than_the_connections() {
    let many = WRK.replace("100 connections", "10 connections");
    assert_eq!(found(&many), ["little"]);
    assert!(report(&many).text(Lang::En).contains("(unless a script pipelined requests)"));
    let told = format!("wrk -t2 -c10 -d30s -s post.lua http://127.0.0.1:8080/\n{many}");
    assert_eq!(found(&told), ["little"]);
    assert_eq!(found(&told.replace("post", "pipeline")), Vec::<&str>::new());
}

#[test]
fn a_page_that_is_no_2xx_is_an_error_or_a_redirect() {
    let other = |n: &str| AB.replace("Keep-Alive", &format!("Non-2xx responses:      {n}\nKeep-Alive"));
    let said = |text: &str| report(text).text(Lang::En);
    assert_eq!(found(&other("10000")), ["failures"]);
    assert!(said(&other("10000")).contains("none of the 10,000 requests had a status of 2xx"));
    assert!(said(&other("100")).contains("100 of 10,000 requests (1.0 %) failed or had a status other than 2xx"));
    let lengths = "Failed requests:        100\n   (Connect: 0, Receive: 0, Length: 100, Exceptions: 0)";
    let both = |n: &str| other(n).replace("Failed requests:        0", lengths);
    assert!(!said(&both("100")).contains("another length") && said(&both("50")).contains("100 requests count as"));
}

#[test]
fn users_who_wait_until_a_request_is_due_leave_out_fewer() {
    let slow = HEY.replace("0.0500", "9.0000").replace("2.0000 secs", "20.0000 secs").replace("5000.0000", "500.0000");
    let slow = slow.replace("0.0099", "0.0990").replace("0.0095", "0.0950").replace("0.0300", "0.3000");
    assert_eq!(found(&slow), ["omission"]);
    assert_eq!(found(&slow.replace("-c 50", "-c 50 -q 10")), Vec::<&str>::new());
    assert_eq!(found(&slow.replace("-c 50", "-c 50 -q 0")), ["omission"]);
}

#[test]
fn time_outs_of_oha_have_the_limit_of_its_command() {
    let errors = "[200]\t9000 responses\nError distribution:\n  [1000] request timed out";
    let text = HEY.replace("[200]\t10000 responses", errors).replace("Summary:", "Summary:\n  Success rate: 90.00%");
    let checks = |text: &str| report(text).findings.iter().map(|found| found.check).collect::<Vec<_>>();
    assert_eq!(report(&text).outputs[0].0.name(), "oha");
    assert!(!checks(&text).contains(&"timeouts"));
    assert!(checks(&text.replace("hey -n 10000", "oha -t 3s")).contains(&"timeouts"));
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
    let wanted = "of 303,100, 1.0 % took that long; p99 is at least 2 s; the longest time is not 50 ms";
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
