//! What a tool always does, and what its figures mean for that reason: no contradiction is found where there is none.

use brunt_i18n::Lang;

use super::sample_outputs::{AB, GO_STRESS, HEY, WRK, found, report};

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
fn a_rate_of_oha_that_was_not_made_is_told() {
    let oha =
        HEY.replace("hey -n 10000", "oha -n 10000 -q 5000").replace("Summary:", "Summary:\n  Success rate: 100.00%");
    assert_eq!(found(&oha), Vec::<&str>::new());
    assert_eq!(found(&oha.replace("-q 5000", "-q 50000")), ["rate"]);
}

#[test]
fn time_outs_of_wrk2_are_no_requests() {
    let errors = "  Socket errors: connect 0, read 0, write 0, timeout 9000\nRequests/sec";
    let asked = format!("wrk -t2 -c100 -d30s -R10000 http://127.0.0.1:8080/\n{}", WRK.replace("Requests/sec", errors));
    assert_eq!(found(&asked), Vec::<&str>::new());
    assert!(report(&asked).text(Lang::En).contains("the 9,000 time-outs are no number of requests"));
    let failing = asked.replace("Requests/sec", "  Non-2xx or 3xx responses: 3\nRequests/sec");
    assert!(report(&failing).text(Lang::En).contains("3 of 300,000 requests"));
}

#[test]
fn the_qps_of_go_stress_testing_may_leave_out_failures() {
    let rows = [(1000, 0), (2000, 0), (3000, 500)];
    let table = |rate: f64, mean: f64| {
        let row = |(at, (good, bad)): (usize, &(u64, u64))| {
            format!("{}s│ 10│ {good}│ {bad}│ {rate:.2}│ 20.00│ 1.00│ {mean:.2}│200:{good}\n", at + 1)
        };
        rows.iter().enumerate().map(row).collect::<String>()
    };
    let told = |text: &str| found(text).contains(&"cumulative");
    assert!(!told(&table(1000.0, 10.0)) && !told(&table(1250.0, 8.0)) && told(&table(2000.0, 5.0)));
    assert!(!told(&table(2000.0, 5.0).replace("00│ 0│", "│ 0│").replace("3000│ 500", "30│ 5")), "too few requests");
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
