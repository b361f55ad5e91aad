//! Tests against nginx: its access log verifies our counts, even if it cuts connections or restarts, or if the run is
//! interrupted; also TLS with our own certificates.

use brunt_tests::certificates::Certificates;
use brunt_tests::nginx::NginxProcess;
use brunt_tests::program::until;
use brunt_tests::report::report;
use brunt_tests::{TestReport, brunt, prepare};
use rustix::process::Signal;

const ONE_BYTE: &str = "location / { default_type text/plain; return 200 x; }";

/// Returns how many requests in the log were answered and cut, without the pre-flight request.
fn counts(log: &[String]) -> (u64, u64) {
    let of = |status: &str| log.iter().skip(1).filter(|line| line.starts_with(status)).count() as u64;
    (of("200"), of("444"))
}

/// Checks that finished ≤ the server's count ≤ finished + failed + censored.
#[track_caller]
fn between(report: &TestReport, count: u64) {
    let [_, finished, failed, censored] = report.requests();
    assert!(finished <= count && count <= finished + failed + censored, "nginx counts {count}: {report}");
}

#[test]
fn nginx_counts_what_we_count_for_users_and_for_a_rate() {
    for load in
        [&["-c", "20", "-n", "5000"][..], &["-r", "2000/s", "-d", "1s"], &["-c", "5", "-d", "500ms", "--no-keepalive"]]
    {
        let Some(nginx) = NginxProcess::start("", "", ONE_BYTE) else { return };
        let report = report(&[load, &[&nginx.url()]].concat()).with_code(0);
        let (answered, _) = counts(&nginx.stop_and_read_log());
        assert_eq!(report.requests(), [answered, answered, 0, 0], "{report}");
    }
    // In a run without a flow, each check passes or fails for as many responses as there were requests.
    let Some(nginx) = NginxProcess::start("", "", ONE_BYTE) else { return };
    let checks = ["--expect-status", "200", "--expect-body", "no such text"];
    let report = report(&[&["-c", "5", "-n", "500", "-w", "2"][..], &checks, &[&nginx.url()]].concat());
    let (answered, _) = counts(&nginx.stop_and_read_log());
    assert_eq!((report.requests(), answered), ([500, 0, 500, 0], 500), "{report}");
    let rows = report.json["checks"].as_array().expect("checks");
    let rows: Vec<_> =
        rows.iter().map(|row| (row["name"].as_str(), row["passed"].as_u64(), row["failed"].as_u64())).collect();
    let expected =
        [(Some("status 200"), Some(answered), Some(0)), (Some("contains no such text"), Some(0), Some(answered))];
    assert_eq!(rows, expected, "{report}");
}

#[test]
fn nginx_cuts_connections_in_the_middle_and_each_is_one_failure() {
    let http = "split_clients $request_id $cut { 10% 1; * 0; }";
    let Some(nginx) = NginxProcess::start(http, "", "location / { if ($cut) { return 444; } return 200 x; }") else {
        return;
    };
    let report = report(&["-c", "10", "-n", "3000", "-w", "2", &nginx.url()]);
    let (answered, cut) = counts(&nginx.stop_and_read_log());
    let [due, finished, failed, censored] = report.requests();
    assert_eq!((due, finished, failed, censored), (3000, answered, cut, 0), "{report}");
    assert!(cut > 100, "{report}");
    // A connection is opened for each user and after each cut, unless the user had no request left.
    let opened = report.count("connections.opened");
    assert!((cut..=cut + 10).contains(&opened), "{report}");
    assert_eq!(opened + report.count("connections.reused"), due, "{report}");
}

#[test]
fn nginx_restarts_during_the_run_and_every_request_is_accounted_for() {
    let Some(mut nginx) = NginxProcess::start("", "", ONE_BYTE) else { return };
    let line = ["-r", "500/s", "-d", "3s", "--max-connections", "20", "--quiet", "--format", "json", &nginx.url()];
    let running = prepare(line).start();
    until("the run has begun", || nginx.logged() > 300);
    nginx.stop();
    let away = std::time::Instant::now();
    until("a moment without nginx", || away.elapsed().as_millis() > 200);
    nginx.start_again();
    let report = TestReport::of(running.end());
    let (answered, _) = counts(&nginx.stop_and_read_log());
    between(&report, answered);
    assert!(report.count("requests.failed") > 0, "{report}");
    let last = report.json["seconds"].as_array().unwrap().iter().rfind(|s| s["part"] == "window").unwrap();
    assert!(last["succeeded"].as_u64().unwrap() > 0, "nginx is back and nobody noticed: {report}");
}

#[test]
fn nginx_counts_what_an_interrupted_run_counts() {
    for load in [&["-c", "20"][..], &["-r", "3000/s"]] {
        let Some(nginx) = NginxProcess::start("", "", ONE_BYTE) else { return };
        let line = ["-d", "60s", "--quiet", "--format", "json", &nginx.url()];
        let running = prepare(load.iter().chain(&line)).start();
        until("the run has begun", || nginx.logged() > 500);
        running.signal(Signal::INT);
        let report = TestReport::of(running.end()).with_code(21);
        let (answered, _) = counts(&nginx.stop_and_read_log());
        between(&report, answered);
    }
}

#[test]
fn nginx_serves_large_files_chunked_and_sized() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("large.bin"), vec![7_u8; 3_000_000]).unwrap();
    // As root, nginx reads files as another user if it has worker processes; here it is a single process.
    let server = format!("location / {{ root {}; }}", directory.path().display());
    let Some(nginx) = NginxProcess::start("", "", &server) else { return };
    let report = report(&["-n", "12", "-c", "3", &format!("{}large.bin", nginx.url())]).with_code(0);
    assert_eq!(report.count("bytes.payload"), 36_000_000, "{report}");
    assert!(report.number("phases.transfer.max_us") > 0.0, "{report}");
}

/// Starts nginx with TLS. Returns it and its certificates.
fn secure(more: &str) -> Option<(NginxProcess, Certificates)> {
    let Some(certificates) = Certificates::make() else {
        brunt_tests::skip("openssl is not installed");
        return None;
    };
    let tls = format!(
        "ssl_certificate {}; ssl_certificate_key {}; ssl_session_cache shared:S:1m; {} {ONE_BYTE}",
        certificates.text("server.pem"),
        certificates.text("server.key"),
        more.replace("CA", &certificates.text("ca.pem"))
    );
    Some((NginxProcess::start("", "ssl", &tls)?, certificates))
}

#[test]
fn nginx_with_an_unknown_certificate_is_refused_in_a_sentence() {
    let Some((nginx, _certificates)) = secure("") else { return };
    let ended = brunt(["-n", "10", &nginx.secure_url()]).with_code(30);
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    assert!(ended.err.contains("unknown issuer") && ended.err.contains("--insecure"), "{ended:?}");
}

#[test]
fn nginx_with_our_own_certificate_is_loaded_and_its_handshakes_are_timed() {
    let Some((nginx, certificates)) = secure("") else { return };
    let cacert = certificates.text("ca.pem");
    for trust in [&["-k"][..], &["--cacert", &cacert]] {
        let report = report(&[trust, &["-n", "60", "-c", "3", &nginx.secure_url()]].concat()).with_code(0);
        assert_eq!(report.requests(), [60, 60, 0, 0], "{report}");
        assert_eq!(report.count("connections.handshakes"), 3, "{report}");
        assert_eq!(report.count("phases.tls.count"), 3, "{report}");
        assert!(report.number("phases.tls.min_us") > 0.0, "{report}");
        assert_eq!(report.notices().contains(&"insecure".to_string()), trust == ["-k"], "{report}");
    }
}

#[test]
fn nginx_tells_which_handshakes_were_resumed() {
    let Some((nginx, certificates)) = secure("") else { return };
    let cacert = certificates.text("ca.pem");
    let line = ["--cacert", &cacert, "--no-keepalive", "-n", "60", "-c", "2", "-w", "1"];
    let resumed = report(&[&line[..], &[&nginx.secure_url()]].concat()).with_code(0);
    assert_eq!(resumed.count("connections.handshakes"), 60, "{resumed}");
    let with = nginx.logged();
    let full = report(&[&line[..], &["--no-resume", &nginx.secure_url()]].concat()).with_code(0);
    assert_eq!(full.count("connections.resumed"), 0, "{full}");
    let log = nginx.stop_and_read_log();
    let seen = |lines: &[String]| lines.iter().filter(|line| line.ends_with(" r")).count() as u64;
    assert_eq!(seen(&log[with..]), 0);
    assert!(resumed.count("connections.resumed") > 30, "{resumed}");
    // The pre-flight request may have been a resumption, which nginx and brunt count differently.
    assert!(seen(&log[..with]).abs_diff(resumed.count("connections.resumed")) <= 1, "{} {resumed}", seen(&log[..with]));
}

#[test]
fn nginx_asks_for_a_client_certificate_and_gets_it() {
    let Some((nginx, certificates)) = secure("ssl_client_certificate CA; ssl_verify_client on;") else { return };
    let (cacert, cert, key) =
        (certificates.text("ca.pem"), certificates.text("client.pem"), certificates.text("client.key"));
    let without = report(&["--cacert", &cacert, "-n", "4", "-c", "2", &nginx.secure_url()]);
    assert_ne!(without.code, 0, "{without}");
    assert_eq!(without.json["status"]["400"], 4, "{without}");
    let line = ["--cacert", &cacert, "--cert", &cert, "--key", &key, "-n", "20", "-c", "2", &nginx.secure_url()];
    assert_eq!(report(&line).with_code(0).requests(), [20, 20, 0, 0]);
}

#[test]
fn nginx_under_another_name_is_refused() {
    let Some((nginx, certificates)) = secure("") else { return };
    let cacert = certificates.text("ca.pem");
    let rule = format!("other.example:443:127.0.0.1:{}", nginx.port);
    let line = ["--cacert", &cacert, "-n", "10", "--connect-to", &rule, "https://other.example/"];
    brunt(line).with_code(30).containing("other.example");
}

/// A page from a file, with the resources that it names.
const KEPT: &str = "<link rel=stylesheet href=a.css><script src=b.js></script><img src=c.png>";

/// Runs users with browser caches that load a page with files.
fn loaded_with_caches(nginx: &NginxProcess, plan: &std::path::Path) -> TestReport {
    std::fs::create_dir(nginx.file("kept")).unwrap();
    for (name, text) in [("page.html", KEPT), ("a.css", "a.css"), ("b.js", "/*b*/ ;"), ("c.png", "png")] {
        std::fs::write(nginx.file("kept").join(name), text).unwrap();
    }
    let flow = format!("flow: [{{url: {}kept/page.html, name: kept, expect-status: 200}}]", nginx.url());
    std::fs::write(plan, format!("users: 5\niterations: 100\nresources: 3\ncache: yes\n{flow}\n")).unwrap();
    report(&[&plan.display().to_string()])
}

/// Returns the output of `--debug` for a page loaded twice, the second time from the cache, with one line per resource.
fn shown_with_caches(nginx: &NginxProcess, plan: &std::path::Path) -> Vec<String> {
    let page = format!("{{url: {}kept/page.html?debug, name: kept}}", nginx.url());
    let missing = format!("{{url: {}page, name: home}}", nginx.url());
    let flow = format!("flow: [{page}, {page}, {missing}, {{batch: [{missing}]}}]");
    std::fs::write(plan, format!("resources: 3\nresources-may-fail: true\ncache: yes\n{flow}\n")).unwrap();
    let said = brunt(["--debug", &plan.display().to_string()]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let lines = said.out.lines().filter_map(|line| line.strip_prefix("--- resource of "));
    let lines: Vec<String> = lines.map(|line| line.replace(&nginx.url(), "/")).collect();
    assert!(said.out.contains("--- 1 resource on other hosts not fetched"), "{}", said.out);
    lines
}

#[test]
fn nginx_is_asked_for_what_its_pages_name_as_often_as_pages_are_loaded_and_their_users_have_none_of_it() {
    let page = "<link rel=stylesheet href=a.css><script src=/b.js></script><img src=c.png><img src=c.png>\
                <img src=missing.png><img src=http://other.test/x>";
    let server = format!(
        "access_log access.log paths; default_type text/html; location = /page {{ return 200 '{page}'; }}\n\
         location ~ ^/(a.css|b.js|c.png)$ {{ default_type text/plain; return 200 x; }} location / {{ return 404; }}\n\
         location /kept/ {{ root .; add_header Cache-Control no-cache; types {{ text/html html; }} }}\n\
         location ~ ^/kept/.*css$ {{ root .; expires 1h; }}\n\
         location ~ ^/kept/.*png$ {{ root .; add_header Cache-Control no-store; }}"
    );
    let Some(nginx) = NginxProcess::start("log_format paths '$status $uri';", "", &server) else { return };
    let directory = tempfile::tempdir().unwrap();
    let plan = directory.path().join("plan.yaml");
    let text = format!(
        "users: 5\niterations: 100\nresources: 3 at once\nresources-may-fail: true\nflow: [{{url: {}page, name: home}}]\n",
        nginx.url()
    );
    std::fs::write(&plan, text).unwrap();
    let first = report(&[&plan.display().to_string()]);
    let kept = loaded_with_caches(&nginx, &plan);
    let shown = shown_with_caches(&nginx, &plan);
    let log = nginx.stop_and_read_log();
    let served = |line: &str| log.iter().skip(1).filter(|served| *served == line).count();
    // Files with their caching headers, and the probe of the second run: nginx answers 304 for those that must be
    // revalidated, and sees one request per user for those that are fresh.
    let of_kept = [
        "200 /kept/page.html",
        "304 /kept/page.html",
        "200 /kept/b.js",
        "304 /kept/b.js",
        "200 /kept/a.css",
        "200 /kept/c.png",
    ];
    assert_eq!(of_kept.map(served), [6 + 1, 95 + 1, 5 + 1, 95 + 1, 5 + 1, 100 + 2], "{kept}");
    assert_eq!(kept.requests(), [305, 305, 0, 0], "{kept}");
    let count = |name: &str| kept.json["requests"][name].as_u64();
    assert_eq!(
        (count("from_cache"), count("not_modified"), count("not_cached")),
        (Some(95), Some(190), Some(0)),
        "{kept}"
    );
    assert_eq!(count("cache_bytes"), Some(95 * (KEPT.len() as u64 + 5 + 7)), "{kept}");
    let by_name = kept.json["by_name"].as_array().unwrap().iter().find(|row| row["name"] == "resources of kept");
    assert_eq!(by_name.expect("a row of the resources")["from_cache"], 95, "{kept}");
    let (report, log) = (first, log.into_iter().filter(|line| !line.contains("/kept/")).collect::<Vec<_>>());
    let served = |line: &str| log.iter().skip(1).filter(|served| *served == line).count();
    let paths = ["200 /page", "200 /a.css", "200 /b.js", "200 /c.png", "404 /missing.png"];
    // This includes the requests of `--debug`: the page is also in a batch, where it fetches nothing.
    assert_eq!((paths.map(served), log.len() - 1), ([102, 101, 101, 101, 101], 506), "{report}");
    let expected = [
        "kept: /kept/a.css  200, 5 bytes",
        "kept: /kept/b.js  200, 7 bytes",
        "kept: /kept/c.png  200, 3 bytes",
        "kept: /kept/a.css  from the cache, 5 bytes",
        "kept: /kept/b.js  304, 0 bytes",
        "kept: /kept/c.png  200, 3 bytes",
        "home: /a.css  200, 1 byte",
        "home: /b.js  200, 1 byte",
        "home: /c.png  200, 1 byte",
    ];
    assert_eq!(shown[..9], expected, "{shown:?}");
    assert!(shown.len() == 10 && shown[9].starts_with("home: /missing.png  wrong_status (404)"), "{shown:?}");
    assert_eq!(report.requests(), [500, 400, 100, 0], "{report}");
    let iterations = &report.json["iterations"][0];
    assert_eq!((iterations["started"].as_u64(), iterations["succeeded"].as_u64()), (Some(100), Some(100)), "{report}");
    let group = report.json["iterations"].as_array().unwrap().iter().find(|row| row["name"] == "page home");
    assert_eq!(group.expect("a row of the page")["succeeded"], 100, "{report}");
}
