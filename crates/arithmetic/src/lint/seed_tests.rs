//! The errors of published articles that two lines of arithmetic disprove (docs/measurement.md 3.9), as small excerpts.

use brunt_i18n::Lang;

use super::{LintGrade, LintReport, lint};

fn report(text: &str) -> LintReport {
    lint(text.as_bytes()).unwrap_or_else(|complaint| panic!("{complaint}\n{text}"))
}

/// Returns the sentence of the only finding of a check.
fn only(text: &str, check: &str, grade: LintGrade) -> String {
    let report = report(text);
    let found: Vec<_> = report.findings.iter().filter(|found| found.check == check).collect();
    let [one] = found[..] else { panic!("{check}: {:#?}", report.findings) };
    assert_eq!(one.grade, grade, "{one:?}");
    assert!(one.command.as_ref().is_some_and(|command| command.starts_with("brunt ")), "{one:?}");
    one.text(Lang::En)
}

#[test]
fn an_output_of_a_hundred_users_is_none_of_three_hundred() {
    let text = "\
命令：`ab -n 3000 -c 300 \"http://10.1.2.3/test/\"`
Requests per second:    1448.86 [#/sec] (mean)
Time per request:       69.020 [ms] (mean)
Total:          5   67  29.7     64     165

Requests per second:    3395.25 [#/sec] (mean)
Time per request:       29.453 [ms] (mean)
Total:          2   29  13.4     26      86
";
    let report = report(text);
    let found: Vec<String> =
        report.findings.iter().filter(|found| found.check == "little").map(|found| found.text(Lang::En)).collect();
    let wanted = [("line 2", "1,448.86/s × 69.02 ms = 100"), ("line 6", "3,395.25/s × 29.45 ms = 100")];
    assert_eq!(found.len(), 2, "{found:#?}");
    for (found, (line, arithmetic)) in found.iter().zip(wanted) {
        assert!(found.starts_with(line) && found.contains(arithmetic) && found.contains("300 users"), "{found}");
    }
    assert_eq!(report.findings[0].command.as_deref(), Some("brunt -c 300 -d 30s --no-keepalive http://10.1.2.3/test/"));
}

#[test]
fn concurrency_divided_by_the_mean_since_the_start_is_no_throughput() {
    let text = "\
go run main.go -c 300 -n 1000 -u grpc://127.0.0.1:8099 -data world
 耗时 │ 并发数 │ 成功数 │ 失败数 │   qps  │最长耗时  │最短耗时 │平均耗时  │下载字节 │字节每秒  │ 错误码
   1s│    186│  14086│      0│34177.69│   22.40│    0.63│    8.78│        │        │200:14086
   2s│    265│  30408│      0│26005.09│   32.68│    0.63│   11.54│        │        │200:30408
   3s│    300│  46747│      0│21890.46│   40.84│    0.63│   13.70│        │        │200:46747
   4s│    300│  62837│      0│20057.06│   45.81│    0.63│   14.96│        │        │200:62837
   5s│    300│  79119│      0│19134.52│   45.81│    0.63│   15.68│        │        │200:79119
";
    let found = only(text, "cumulative", LintGrade::Wrong);
    for arithmetic in ["19,134.52/s", "14,086, 16,322, 16,339, 16,090, 16,282", "16,258/s", "+18 %", "18.46 ms"] {
        assert!(found.contains(arithmetic), "{arithmetic}: {found}");
    }
    assert!(report(text).findings.iter().all(|found| found.check != "little"), "300 ÷ 15.68 ms is what it prints");
}

#[test]
fn more_users_than_the_knee_only_wait() {
    let text = "\
| 并发数  |  go_stress_testing QPS  |
| :----: |  :----:  |
|   1    | 6394.86  |
|   4    | 16909.36 |
|   10   | 18456.81 |
|   30   | 19947.47 |
|   100  | 18336.46 |
";
    let found = only(text, "scaling", LintGrade::Note);
    assert!(found.contains("19,947.47/s ÷ 6,394.86/s = 3.12 requests"), "{found}");
    assert_eq!(report(text).count(), 0, "nothing is wrong with the table");
}

#[test]
fn machines_are_rounded_up() {
    let text = "- 假设:单台机器的的QPS是69，需要需要多少台机器来支撑？\n> 1389 / 69 ≈ 20\n";
    let found = only(text, "rounding", LintGrade::Wrong);
    assert!(found.contains("1,389 ÷ 69 = 20.13, so 21 machines and not 20") && found.contains("takes 29"), "{found}");
    let settled = report(text).findings[0].command.clone();
    assert_eq!(settled.as_deref(), Some("brunt capacity --peak 1389/s --per-machine 69/s"));
    assert_eq!(report(&text.replace("20", "21")).count(), 0);
}

#[test]
fn ports_are_counted_for_each_pair_of_addresses() {
    let text =
        "如果需要100W长连接，每台机器有 65535-1024 个端口， 100W / (65535-1024) ≈ 15.5，所以这里需要16台服务器\n";
    let found = only(text, "addresses", LintGrade::Wrong);
    assert!(found.contains("1,000,000 connections ÷ 64,511 ports = 15.5 are pairs of addresses"), "{found}");
}

#[test]
fn pages_a_minute_are_no_requests_a_second() {
    let text = "\
300 clients, running 60 sec.

Speed=24525 pages/min, 20794612 bytes/sec.
Requests: 24525 susceed, 0 failed.

每秒钟响应请求数(qps):24525 pages/min,每秒钟传输数据量20794612 bytes/sec.

Speed=24920 pages/min, 21037312 bytes/sec.
Requests: 24833 susceed, 87 failed.
";
    let found = only(text, "units", LintGrade::Wrong);
    assert!(found.starts_with("line 6: ") && found.contains("24,525 ÷ 60 = 408.75/s"), "{found}");
    let settled: Vec<_> = report(text).findings.iter().filter_map(|found| found.command.clone()).collect();
    assert!(settled.contains(&"brunt -c 300 -d 30s --no-keepalive URL".to_owned()), "{settled:?}");
    let found = only(text, "failures", LintGrade::Weak);
    assert!(found.contains("87 failed requests as pages: 24,833 succeeded, which is 413.88/s"), "{found}");
}

#[test]
fn five_times_the_throughput_of_four_times_the_threads_is_an_error() {
    let text = "\
QPSWRK 并发连接 1000WRK 并发连接 2000WRK 并发连接 5000WRK 并发连接 10000
IO线程数为 127000 QPS26000 QPS20000 QPS20000 QPS
IO线程数为 4140000 QPS130000 QPS123000 QPS118000 QPS
IO线程数为 8135000 QPS120000 QPS100000 QPS100000 QPS
IO线程数为 16125000 QPS127000 QPS123000 QPS118000 QPS
";
    let found = only(text, "scaling", LintGrade::Wrong);
    assert!(found.contains("from 27,000/s to 140,000/s: 5.19 times with 4 times as many"), "{found}");
}
