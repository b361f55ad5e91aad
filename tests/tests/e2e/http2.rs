//! Tests against third-party HTTP/2 servers, nginx, nghttpd, Go and Node, whose own counts verify ours.

use brunt_tests::certificates::Certificates;
use brunt_tests::http2::{Http2TestServer, Nghttpd};
use brunt_tests::nginx::NginxProcess;
use brunt_tests::peer::ScriptedPeer;
use brunt_tests::report::report;
use brunt_tests::{TestReport, brunt};

const ONE_BYTE: &str = "location / { default_type text/plain; return 200 x; }";

/// Checks that every request finished, and that the server counted all of them and the pre-flight request.
#[track_caller]
fn agree(report: &TestReport, requests: u64, counted: u64) {
    assert_eq!((report.requests(), counted), ([requests, requests, 0, 0], requests + 1), "{report}");
}

#[test]
fn nginx_counts_what_we_count_over_shared_connections() {
    for load in [
        &["-c", "20", "--streams", "10", "-n", "5000"][..],
        &["-c", "7", "-n", "500"],
        &["-r", "2000/s", "-d", "1s", "--streams", "50"],
        &["-c", "5", "-n", "200", "--no-keepalive"],
    ] {
        let Some(nginx) = NginxProcess::start("", "http2", ONE_BYTE) else { return };
        let report = report(&[load, &["--http2", &nginx.url()]].concat()).with_code(0);
        let log = nginx.stop_and_read_log();
        agree(&report, report.requests()[0], log.iter().filter(|line| line.starts_with("200")).count() as u64);
        if load[0] == "-c" && load.contains(&"--streams") {
            assert!((2..=4).contains(&report.count("connections.opened")), "{report}");
        }
    }
}

/// Uses an nginx that ends connections after a number of requests; requests that it did not process
/// are resent on another connection, and none is lost.
#[test]
fn nginx_goes_away_and_nothing_is_lost() {
    let server = format!("keepalive_requests 100; {ONE_BYTE}");
    let Some(nginx) = NginxProcess::start("", "http2", &server) else { return };
    let report =
        report(&["--http2", "-c", "10", "--streams", "10", "-n", "3000", "-w", "1", &nginx.url()]).with_code(0);
    let log = nginx.stop_and_read_log();
    agree(&report, 3000, log.iter().filter(|line| line.starts_with("200")).count() as u64);
    assert!(report.count("connections.opened") >= 30, "{report}");
}

fn certificates() -> Option<(Certificates, Vec<String>)> {
    let made = Certificates::make();
    if made.is_none() {
        brunt_tests::skip("openssl is not installed");
    }
    made.map(|c| {
        let files = vec![c.text("server.pem"), c.text("server.key")];
        (c, files)
    })
}

#[test]
fn nginx_chooses_the_version_by_alpn() {
    let Some((certificates, files)) = certificates() else { return };
    let tls = format!("ssl_certificate {}; ssl_certificate_key {}; {ONE_BYTE}", files[0], files[1]);
    let cacert = certificates.text("ca.pem");
    for (listen, options, spoken) in [
        ("ssl http2", &["--http", "auto"][..], "HTTP/2"),
        ("ssl http2", &["--http2"], "HTTP/2"),
        ("ssl http2", &[], "HTTP/1.1"),
        ("ssl", &["--http", "auto"], "HTTP/1.1"),
    ] {
        let Some(nginx) = NginxProcess::start("", listen, &tls) else { return };
        let line = ["--cacert", &cacert, "-c", "4", "-n", "200", &nginx.secure_url()];
        let ended = brunt([&line[..], options].concat()).with_code(0);
        assert!(ended.out.contains(spoken) || ended.err.contains(spoken), "{options:?}: {ended:?}");
    }
}

#[test]
fn go_counts_what_we_count_in_the_clear_and_over_tls() {
    for secure in [false, true] {
        let Some((certificates, files)) = certificates() else { return };
        let Some(go) = Http2TestServer::go(if secure { &files } else { &[] }) else { return };
        let url = if secure { go.secure_url("") } else { go.url("") };
        let cacert = certificates.text("ca.pem");
        let trust = if secure { &["--cacert", cacert.as_str()][..] } else { &[] };
        let line = ["--http2", "-c", "20", "--streams", "5", "-n", "3000", &url];
        let report = report(&[trust, &line].concat()).with_code(0);
        let [answered, two] = go.counts();
        agree(&report, 3000, answered);
        assert_eq!(two, answered, "all of them by HTTP/2");
    }
}

#[test]
fn go_sends_large_bodies_trailers_and_interim_answers() {
    for (path, each) in [("bytes/3000000", 3_000_000), ("trailer", 5), ("early", 5), ("bytes/0", 0)] {
        let Some(go) = Http2TestServer::go(&[]) else { return };
        let report = report(&["--http2", "-c", "4", "--streams", "4", "-n", "40", &go.url(path)]).with_code(0);
        agree(&report, 40, go.counts()[0]);
        assert_eq!(report.count("bytes.payload"), 40 * each, "{report}");
    }
    for version in [&["--http2", "--streams", "4"][..], &[]] {
        let Some(go) = Http2TestServer::go(&[]) else { return };
        let url = go.url("trailer");
        let line = ["-c", "4", "-n", "40", "--expect-trailer", "x-sum: 1", &url];
        let good = report(&[version, &line].concat()).with_code(0);
        assert_eq!((good.requests(), &good.json["checks"][0]["passed"]), ([40, 40, 0, 0], &40.into()), "{good}");
        let bad = report(&[version, &["-c", "4", "-n", "40", "--expect-trailer", "X-Size", &url]].concat());
        assert_eq!(bad.requests(), [40, 0, 40, 0], "{bad}");
        assert!(
            bad.json.to_string().contains("expected the trailer X-Size, the trailers are X-Sum")
                || bad.json.to_string().contains("expected the trailer X-Size, the trailers are x-sum"),
            "{bad}"
        );
    }
}

#[test]
fn go_resets_streams_and_each_is_one_failure() {
    let Some(go) = Http2TestServer::go(&[]) else { return };
    let report = report(&["--http2", "-c", "4", "--streams", "4", "-n", "2000", "-w", "1", &go.url("abort")]);
    let [due, finished, failed, censored] = report.requests();
    assert_eq!((due, finished + failed, censored), (2000, 2000, 0), "{report}");
    assert!(failed > 0 && report.count("connections.opened") < 10, "the others on the connection live on: {report}");
}

#[test]
fn node_counts_what_we_count_with_bodies_and_with_fewer_streams_than_wished() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 200_000]).unwrap();
    let path = file.path().to_str().unwrap();
    for (options, requests) in [(&["-c", "20", "--streams", "20"][..], 1000), (&["-c", "3", "--data-file", path], 60)] {
        let Some(node) = Http2TestServer::node(&[]) else { return };
        let line = ["--http2", "-w", "1", "-n", &requests.to_string(), &node.url("")];
        let report = report(&[&line[..], options].concat()).with_code(0);
        let [answered, two] = node.counts();
        // The pre-flight sends no body.
        agree(&report, requests, answered + u64::from(options.contains(&"--data-file")));
        assert_eq!(two, answered);
    }
}

#[test]
fn node_answers_with_failures_and_they_are_counted() {
    let Some(node) = Http2TestServer::node(&[]) else { return };
    let report = report(&["--http2", "-c", "2", "-n", "100", &node.url("status")]);
    assert_eq!(report.requests(), [100, 0, 100, 0], "{report}");
    assert_eq!(report.json["status"]["503"], 100, "{report}");
    assert_eq!(node.counts()[0], 101);
}

#[test]
fn nghttpd_counts_what_we_count_with_paddings_and_small_tables() {
    for more in
        [&[][..], &["--padding=100"], &["--header-table-size=0", "--encoder-header-table-size=0"], &["-w", "16"]]
    {
        let Some(server) = Nghttpd::start(more) else { return };
        let report = report(&["--http2", "-c", "10", "--streams", "10", "-n", "500", &server.url()]).with_code(0);
        agree(&report, 500, server.count());
        assert_eq!(report.count("bytes.payload"), 2500, "{report}");
    }
}

#[test]
fn a_server_of_http1_is_said_to_be_one() {
    let Some(nginx) = NginxProcess::start("", "", ONE_BYTE) else { return };
    let ended = brunt(["--http2", "-n", "10", &nginx.url()]);
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.err.contains("does not support HTTP/2") || ended.out.contains("does not support HTTP/2"),
        "{ended:?}"
    );
}

/// Encodes an HTTP/2 frame (RFC 9113 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let size = payload.len() as u8;
    [&[0, 0, size, kind, flags][..], &stream.to_be_bytes(), payload].concat()
}

#[test]
fn a_server_that_refuses_streams_is_not_said_to_have_closed_a_connection() {
    const PREFACE: usize = 24;
    // On each connection, one request is answered and all others are refused.
    let peer = ScriptedPeer::new(|mut connection| {
        let mut came = Vec::new();
        let mut at = PREFACE;
        connection.send(&frame(4, 0, 0, &[]));
        while let Some(bytes) = connection.bytes() {
            came.extend_from_slice(&bytes);
            while let Some(head) = came.get(at..at + 9) {
                let size = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                match (head[3], stream) {
                    (1, 1) => connection.send(&frame(1, 5, 1, &[0x88])),
                    (1, _) => connection.send(&frame(3, 0, stream, &7_u32.to_be_bytes())),
                    (4, _) if head[4] == 0 => connection.send(&frame(4, 1, 0, &[])),
                    _ => true,
                };
                at += 9 + size;
            }
        }
    });
    let url = peer.url();
    let ended = brunt(["-n", "3", "-c", "1", "--http2", &url]);
    assert!(ended.out.contains("the server kept refusing the stream (RST_STREAM REFUSED_STREAM)"), "{ended:?}");
    assert!(!ended.out.contains("closed it as idle"), "{ended:?}");
}
