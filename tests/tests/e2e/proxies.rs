//! Tests of runs through proxies: every protocol, counted on both sides, and the attribution of
//! failures to proxy or target.

use brunt_tests::certificates::Certificates;
use brunt_tests::redis::RedisProcess;
use brunt_tests::report::report;
use brunt_tests::{ScriptedPeer, TargetProcess, TestProxy, brunt, prepare, skip};

/// Returns the port of a target.
fn port(target: &TargetProcess) -> String {
    target.host().rsplit_once(':').expect("a port").1.to_owned()
}

#[test]
fn http_in_clear_is_sent_on_by_an_http_proxy() {
    let (target, proxy) = (TargetProcess::healthy(), TestProxy::with_password("ann:p w"));
    // A name that only the proxy resolves.
    let url = format!("http://inside.test:{}/echo?a=b", port(&target));
    let through = format!("http://ann:p%20w@127.0.0.1:{}", proxy.port());
    let report = report(&["-x", &through, "-n", "40", "-c", "2", "--data", "c={counter}", &url]).with_code(0);
    assert_eq!(report.requests(), [40, 40, 0, 0], "{report}");
    assert_eq!(report.notices(), ["proxy"], "{report}");
    let done = proxy.counts();
    assert_eq!((done.forwarded, done.connects, done.refused), (40, 0, 0), "{done:?}");
    assert_eq!(done.places, [format!("inside.test:{}", port(&target))]);
    assert_eq!(done.connections, 3, "two users and the first response: connections are kept");
    assert_eq!(target.requests(), 40);
}

#[test]
fn everything_else_goes_through_a_tunnel() {
    let (target, proxy) = (TargetProcess::healthy(), TestProxy::open());
    for scheme in ["http", "socks5", "socks5h"] {
        let (before, through) = (proxy.counts(), proxy.url(scheme));
        for options in [&["--http2"][..], &["--no-keepalive", "--net", "epoll"]] {
            let clear = options[0] == "--no-keepalive" && scheme == "http";
            let url = target.url("");
            let report = report(&[options, &["-x", &through, "-n", "20", "-c", "2", &url]].concat()).with_code(0);
            assert_eq!(report.requests(), [20, 20, 0, 0], "{scheme} {options:?}: {report}");
            assert!(clear || proxy.counts().connects + proxy.counts().socks > before.connects + before.socks);
        }
        let url = target.url("").replace("http:", "ws:");
        let ws = report(&["-x", &through, "-n", "20", "-c", "2", "--data", "hello", &url]).with_code(0);
        assert_eq!(ws.requests(), [20, 20, 0, 0], "{scheme}: {ws}");
        let done = proxy.counts();
        assert_eq!(done.refused, 0, "{done:?}");
        match scheme {
            // Two users and the pre-flight request over HTTP/2, and the same number over WebSocket.
            "http" => assert_eq!(done.connects - before.connects, 6, "{done:?}"),
            // Without keep-alive, each request has its own connection.
            _ => assert_eq!(done.socks - before.socks, 6 + 21, "{done:?}"),
        }
    }
}

#[test]
fn tls_is_spoken_with_the_target_and_not_with_the_proxy() {
    let Some(certificates) = Certificates::make() else { return skip("no openssl") };
    let paths = ["server.pem", "server.key"].map(|name| certificates.path(name).display().to_string());
    let (target, proxy) = (TargetProcess::with(&["--cert", &paths[0], "--key", &paths[1]]), TestProxy::open());
    for (scheme, version) in [("http", "1.1"), ("socks5h", "2")] {
        let words = ["-k", "--http", version, "-x", &proxy.url(scheme), "-n", "20", "-c", "2", &target.url("")];
        let report = report(&words).with_code(0);
        assert_eq!(report.requests(), [20, 20, 0, 0], "{scheme}: {report}");
        assert_eq!(report.count("connections.handshakes"), 2, "{report}");
    }
    let done = proxy.counts();
    assert_eq!((done.connects, done.socks, done.forwarded), (3, 3, 0), "{done:?}");
}

#[test]
fn redis_and_private_protocols_go_through_socks() {
    let proxy = TestProxy::open();
    let peer = ScriptedPeer::new(|mut connection| {
        while let Some(bytes) = connection.bytes() {
            connection.send(&bytes);
        }
    });
    let url = peer.url().replace("http:", "tcp:");
    let words = ["-x", &proxy.url("socks5"), "-n", "10", "-c", "2", "--send", "x\\n", "--until", "\\n", &url];
    let raw = report(&words).with_code(0);
    assert_eq!(raw.requests(), [10, 10, 0, 0], "{raw}");
    assert_eq!(proxy.counts().socks, 3);
    // A server that speaks first: its greeting may arrive in one piece with the proxy's reply.
    let greeting = ScriptedPeer::new(|mut connection| {
        connection.send(b"hello\n");
        while let Some(bytes) = connection.bytes() {
            connection.send(&bytes);
        }
    });
    let url = greeting.url().replace("http:", "tcp:");
    for scheme in ["socks5", "http"] {
        let through = proxy.url(scheme);
        let words = ["--greeting", "-x", &through, "-n", "10", "-c", "2", "--send", "x\\n", "--until", "\\n", &url];
        let raw = report(&words).with_code(0);
        assert_eq!(raw.requests(), [10, 10, 0, 0], "{scheme}: {raw}");
    }
    assert_eq!((proxy.counts().socks, proxy.counts().connects), (6, 3));
    let Some(redis) = RedisProcess::start(&[]) else { return skip("no redis-server") };
    let words = ["-x", &proxy.url("socks5h"), "-n", "30", "-c", "3", "--command", "PING", &redis.url(0)];
    let report = report(&words).with_code(0);
    assert_eq!(report.requests(), [30, 30, 0, 0], "{report}");
    assert_eq!(proxy.counts().socks, 6 + 4, "{:?}", proxy.counts());
}

#[test]
fn what_a_proxy_refuses_is_its_own_fault() {
    let (target, locked) = (TargetProcess::healthy(), TestProxy::with_password("ann:pw"));
    let url = target.url("");
    for (scheme, options, said) in [
        ("http", &["--http2"][..], "refused the tunnel to 127.0.0.1:"),
        ("socks5", &[], "requires a name and a password"),
        ("http", &["--http2", "-U", "ann:no"], "it does not accept this name and password"),
        ("socks5h", &["-U", "ann:no"], "does not accept this name and password"),
    ] {
        let through = locked.url(scheme);
        brunt([options, &["-x", &through, "-n", "4", &url]].concat())
            .with_code(30)
            .containing("cannot be reached: the proxy")
            .containing(said);
    }
    brunt(["--http2", "-x", &locked.url("http"), "-n", "4", &url]).containing("407 Proxy Authentication Required");
    // Without TLS the proxy answers in place of the target.
    let report = report(&["-x", &locked.url("http"), "-n", "4", "-c", "1", &url]).with_code(20);
    assert_eq!(report.failures().into_keys().collect::<Vec<_>>(), ["proxy"], "{report}");
    assert_eq!(target.requests(), 0);
    brunt(["-x", "http://127.0.0.1:1", "-n", "1", &url])
        .with_code(30)
        .containing("no connection to the proxy http://127.0.0.1:1 (127.0.0.1:1): Connection refused");
    brunt(["-x", "http://nowhere.invalid:1", "-n", "1", &url])
        .with_code(30)
        .containing("the proxy http://nowhere.invalid:1 cannot be found");
    brunt(["-x", &locked.url("socks5").replace("socks5:", "socks4:"), &url])
        .with_code(64)
        .containing("socks4:// is an old version");
    brunt(["-x", "p", "--send", "x", "udp://127.0.0.1:9"]).with_code(64).containing("-x: is for connections");
}

/// Uses a proxy that accepts the tunnel of the pre-flight request only.
#[test]
fn tunnels_refused_in_a_run_are_counted_as_the_proxys() {
    let proxy = ScriptedPeer::new(|mut connection| {
        if connection.request().is_none() {
            return;
        }
        if connection.number > 0 {
            connection.send(b"HTTP/1.1 429 Too many tunnels\r\n\r\n");
            return;
        }
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n");
        while connection.bytes().is_some_and(|_| connection.send(b"pong\n")) {}
    });
    let through = format!("http://127.0.0.1:{}", proxy.port());
    let words = ["-x", &through, "-n", "3", "-c", "1", "--send", "ping", "--until", "\\n", "tcp://inside.test:7"];
    let report = report(&words).with_code(20);
    assert_eq!(report.failures().into_iter().collect::<Vec<_>>(), [("proxy".to_owned(), 3)], "{report}");
    let failure = report.at("failures.0");
    assert_eq!(failure["phase"], "connect", "{report}");
    assert!(failure.to_string().contains("refused the tunnel to inside.test:7: 429 Too many tunnels"), "{report}");
}

#[test]
fn a_proxy_of_the_environment_is_told_of_and_not_used_for_this_machine() {
    let (target, proxy) = (TargetProcess::healthy(), TestProxy::open());
    let inside = format!("http://inside.test:{}/", port(&target));
    let run = |variables: &[(&str, &str)], words: &[&str]| {
        let prepared = prepare([&["-n", "10", "-c", "1"][..], words].concat());
        variables.iter().fold(prepared, |prepared, (name, value)| prepared.env(name, value)).run()
    };
    let url = proxy.url("http");
    run(&[("http_proxy", &url)], &[&inside])
        .with_code(0)
        .containing(&format!("The environment sets http_proxy: requests go through {url}"))
        .containing(&format!("through {url}"));
    assert_eq!(proxy.counts().forwarded, 11);
    run(&[("http_proxy", &url)], &[&target.url("")]).with_code(0);
    run(&[("http_proxy", &url), ("no_proxy", "localhost.test,inside.test")], &[&inside])
        .with_code(30)
        .containing("the name inside.test was not found");
    run(&[("http_proxy", &url)], &["--noproxy", "*", &inside]).with_code(30);
    run(&[("HTTP_PROXY", &url)], &[&inside]).with_code(30);
    assert_eq!(proxy.counts().forwarded, 11, "none of these went through it");
    run(&[("all_proxy", &proxy.url("socks5h"))], &[&inside]).with_code(0);
    assert_eq!(proxy.counts().socks, 2);
    run(&[("no_proxy", "127.0.0.1")], &["-x", &url, &target.url("")]).with_code(0);
    assert_eq!(proxy.counts().forwarded, 22, "-x means what it says");
}

#[test]
fn a_proxy_is_seen_wherever_the_target_is() {
    let (target, proxy) = (TargetProcess::healthy(), TestProxy::with_password("ann:s3cr3t"));
    let through = format!("socks5h://ann:s3cr3t@127.0.0.1:{}", proxy.port());
    let shown = proxy.url("socks5h");
    let ended = brunt(["-x", &through, "-n", "4", "-c", "1", &target.url("")]).with_code(0);
    ended.containing(&format!(", the proxy {shown}")).containing(&format!("Connections went through {shown}"));
    let debug = brunt(["--debug", "-x", &through, &target.url("")]).with_code(0);
    assert!(debug.out.contains(&format!("· the proxy {shown} ·")), "{}", debug.out);
    let zh = brunt(["--lang", "zh", "-x", &through, "-n", "4", "-c", "1", &target.url("")]).with_code(0);
    let all = format!("{}{}", zh.out, zh.err);
    assert!(all.contains(&format!("，经由 {shown}")) && all.contains(&format!("连接经由 {shown}")), "{all}");
    for words in [&["-x", &through][..], &["--proxy-user", "ann:s3cr3t", "-x", &shown]] {
        let json = brunt([words, &["--format", "json", "-n", "4", "-c", "1", &target.url("")]].concat()).with_code(0);
        assert!(!json.out.contains("s3cr3t") && !json.err.contains("s3cr3t"), "{}", json.out);
        assert!(json.out.contains(&format!("socks5h://***@127.0.0.1:{}", proxy.port())), "{}", json.out);
    }
    let plan = brunt(["plan", "--keep-secrets", "-x", &through, &target.url("")]).with_code(0);
    assert!(
        plan.out.contains(&format!("proxy: \"{through}\"")) || plan.out.contains(&format!("proxy: {through}")),
        "{}",
        plan.out
    );
}

#[test]
fn redirects_and_addresses_of_connect_to_go_through_it_too() {
    let (target, proxy) = (TargetProcess::healthy(), TestProxy::open());
    let to = format!("http://second.test:{}/", port(&target));
    let peer = ScriptedPeer::answering(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"));
    let url = format!("http://first.test:{}/", peer.port());
    let report = report(&["-x", &proxy.url("http"), "-L", "-n", "6", "-c", "1", &url]).with_code(0);
    assert_eq!((report.requests()[1], report.count("requests.hops")), (6, 6), "{report}");
    assert_eq!(proxy.counts().forwarded, 14);
    assert_eq!(target.requests(), 7);
    let elsewhere = format!("a.test:443:b.test:{}", port(&target));
    let words = ["-x", &proxy.url("socks5h"), "--connect-to", &elsewhere, "-n", "2", "-c", "1", "http://a.test:443/"];
    brunt(words).with_code(0);
    assert!(proxy.counts().places.contains(&format!("b.test:{}", port(&target))), "{:?}", proxy.counts());
}

#[test]
fn processes_and_uring_go_through_it_like_threads() {
    let (target, proxy) = (TargetProcess::healthy(), TestProxy::with_password("ann:pw"));
    let through = format!("socks5://ann:pw@127.0.0.1:{}", proxy.port());
    let report = report(&["-x", &through, "--processes", "2", "-n", "20", "-c", "4", &target.url("")]).with_code(0);
    assert_eq!(report.requests(), [20, 20, 0, 0], "{report}");
    assert_eq!(proxy.counts().socks, 5);
    if let Some(report) = brunt_tests::report::report_if_possible(&[
        "--net",
        "uring",
        "-x",
        &through,
        "-n",
        "20",
        "-c",
        "4",
        &target.url(""),
    ]) {
        assert_eq!(report.requests(), [20, 20, 0, 0], "{report}");
        assert_eq!(proxy.counts().socks, 10);
    }
}
