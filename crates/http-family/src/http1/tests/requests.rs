//! Tests of encoded requests, and of the errors for invalid ones.

use std::io::Write as _;
use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, ExchangeId, Origin, OutputBuffer, Protocol, ProtocolConfig, Proxy, ProxyException,
    ProxyRules, SlotContext, Workload,
};

use super::{Http1, asked, dialogue};

fn sent(url: &str, options: &[&str]) -> String {
    let dialogue = dialogue(url, options);
    String::from_utf8(dialogue.encoded(&dialogue.requests()[0].request)).expect("text")
}

/// Returns the request to `http://h/` without the lines that all requests have.
fn lines(url: &str, options: &[&str]) -> String {
    sent(url, options)
        .replace(&format!("User-Agent: brunt/{}\r\n", env!("CARGO_PKG_VERSION")), "")
        .replace("Accept: */*\r\n", "")
}

fn complaint(urls: &[&str], options: &[&str]) -> String {
    Http1.prepare(&asked(urls, options)).map_err(crate::bilingual).expect_err("a complaint")
}

#[test]
fn a_plain_request_says_what_curl_would() {
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!("GET /a?b HTTP/1.1\r\nHost: h:8080\r\nUser-Agent: brunt/{version}\r\nAccept: */*\r\n\r\n");
    assert_eq!(sent("http://h:8080/a?b", &[]), expected);
}

#[test]
fn targets_and_hosts() {
    for (url, line, host) in [
        ("http://h", "/", "h"),
        ("http://h:80/", "/", "h"),
        ("https://h:443/", "/", "h"),
        ("https://h:80/", "/", "h:80"),
        ("http://[::1]:81/x", "/x", "[::1]:81"),
        ("http://[::1]", "/", "[::1]"),
        ("http://h/a b?c d#frag", "/a%20b?c%20d", "h"),
        ("http://h/%41%zz?%20+", "/%41%zz?%20+", "h"),
        ("http://h/\u{e9}?\u{e9}", "/%C3%A9?%C3%A9", "h"),
        ("http://h?", "/?", "h"),
        ("http://b\u{fc}cher.example/", "/", "xn--bcher-kva.example"),
    ] {
        assert_eq!(lines(url, &[]), format!("GET {line} HTTP/1.1\r\nHost: {host}\r\n\r\n"), "{url}");
    }
}

#[test]
fn options_change_the_request() {
    let head = |rest: &str| format!("{rest}\r\n");
    for (options, expected) in [
        (&["method=DELETE"][..], head("DELETE / HTTP/1.1\r\nHost: h\r\n")),
        (&["method=POST"], head("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n")),
        (&["header=host: x"], head("GET / HTTP/1.1\r\nhost: x\r\n")),
        (&["header=Host:"], head("GET / HTTP/1.1\r\n")),
        (&["header=X;", "header=Y:  a b "], head("GET / HTTP/1.1\r\nHost: h\r\nX:\r\nY:  a b \r\n")),
        (&["header=X:y", "header=Accept: "], head("GET / HTTP/1.1\r\nHost: h\r\nX:y\r\n")),
        (&["header=X: 1", "header=X: 2"], head("GET / HTTP/1.1\r\nHost: h\r\nX: 1\r\nX: 2\r\n")),
        (&["no-keepalive"], head("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n")),
        (&["user=a:b:c"], head("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YTpiOmM=\r\n")),
        (&["user=a:b", "header=Authorization: B"], head("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: B\r\n")),
        (
            &["data=a=1", "data=b=2"],
            head(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            ) + "a=1&b=2",
        ),
        (
            &["data="],
            head(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            ),
        ),
        (
            &["data=x", "method=PUT", "header=content-type: t/t"],
            head("PUT / HTTP/1.1\r\nHost: h\r\ncontent-type: t/t\r\nContent-Length: 1\r\n") + "x",
        ),
        (&["request-target=*", "method=OPTIONS"], head("OPTIONS * HTTP/1.1\r\nHost: h\r\n")),
        (
            &["data=a", "data-raw=@b", "header=X: 1"],
            head(
                "POST / HTTP/1.1\r\nHost: h\r\nX: 1\r\nContent-Length: 4\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            ) + "a&@b",
        ),
        (
            &["data=x", "header=Content-Length: 1"],
            head(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            ) + "x",
        ),
    ] {
        assert_eq!(lines("http://h/", options), expected, "{options:?}");
    }
    assert!(
        sent("http://h/", &["header=User-Agent: me", "header=Accept:"]).ends_with("Host: h\r\nUser-Agent: me\r\n\r\n")
    );
    let own = lines("http://us%40er:p%3Aw@h/", &["user=a:b"]);
    assert_eq!(own, "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic dXNAZXI6cDp3\r\n\r\n");
}

#[test]
fn a_form_is_multipart() {
    let mut file = tempfile::Builder::new().suffix(".txt").tempfile().expect("a file");
    file.write_all(b"in\0side").expect("written");
    let path = file.path().to_str().expect("text");
    let name = file.path().file_name().and_then(|n| n.to_str()).expect("text");
    let fields = [
        "form-string=s=@1;type=x".to_owned(),
        "form=a=1;type=text/x;charset=y".to_owned(),
        "form=q=\"1;2\\\"\";filename=f".to_owned(),
        format!("form=f=@{path}"),
        format!("form=t=<{path}"),
        format!("form=g\"h=@{path};type=image/x;filename=\"n;m.png\""),
    ];
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let text = lines("http://h/", &fields);
    let boundary = text.split("boundary=").nth(1).and_then(|t| t.split("\r\n").next()).expect("a boundary");
    let part =
        |head: &str, body: &str| format!("--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n");
    let body = [
        part("name=\"a\"\r\nContent-Type: text/x;charset=y", "1"),
        part("name=\"q\"; filename=\"f\"", "1;2\""),
        part(&format!("name=\"f\"; filename=\"{name}\"\r\nContent-Type: text/plain"), "in\0side"),
        part("name=\"t\"", "in\0side"),
        part("name=\"g%22h\"; filename=\"n;m.png\"\r\nContent-Type: image/x", "in\0side"),
        part("name=\"s\"", "@1;type=x"),
        format!("--{boundary}--\r\n"),
    ]
    .concat();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\nContent-Type: multipart/form-data; boundary={boundary}\r\n\r\n",
        body.len()
    );
    assert_eq!(text, head + &body);
    assert_eq!(text, lines("http://h/", &fields), "the seed decides the boundary");
}

/// Matches curl 7.88 except for the boundaries.
#[test]
fn several_files_of_one_field_are_a_body_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("text").to_owned()
    };
    let (a, b) = (path("a.txt", "AAA"), path("b,c.png", "BBB"));
    let text = lines("http://h/", &[&format!("form=files=@{a};type=text/x,\"{b}\";filename=\"z,z\""), "form=n=1,2"]);
    let boundary = text.split("boundary=").nth(1).and_then(|t| t.split("\r\n").next()).expect("a boundary");
    let inner = text.split("multipart/mixed; boundary=").nth(1).and_then(|t| t.split("\r\n").next()).expect("another");
    let body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"files\"\r\nContent-Type: multipart/mixed; \
         boundary={inner}\r\n\r\n--{inner}\r\nContent-Disposition: attachment; filename=\"a.txt\"\r\nContent-Type: \
         text/x\r\n\r\nAAA\r\n--{inner}\r\nContent-Disposition: attachment; filename=\"z,z\"\r\nContent-Type: \
         application/octet-stream\r\n\r\nBBB\r\n--{inner}--\r\n\r\n--{boundary}\r\nContent-Disposition: form-data; \
         name=\"n\"\r\n\r\n1,2\r\n--{boundary}--\r\n"
    );
    assert_eq!(text.split_once("\r\n\r\n").map(|(_, body)| body), Some(&*body));
}

#[test]
fn a_form_whose_type_is_given_tells_its_boundary() {
    let boundary =
        |text: &str| text.split("\r\n\r\n--").nth(1).map(|rest| rest.split("\r\n").next().unwrap().to_owned());
    for (header, kind) in [
        ("header=Content-Type: multipart/form-data", "multipart/form-data"),
        ("header=content-type:multipart/mixed", "multipart/mixed"),
    ] {
        let text = lines("http://h/", &["form=a=1", header, "header=X: 1"]);
        let boundary = boundary(&text).expect("a part");
        let start = "POST / HTTP/1.1\r\nHost: h\r\nX: 1\r\nContent-Length: ";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains(&format!("\r\nContent-Type: {kind}; boundary={boundary}\r\n\r\n")), "{text}");
        assert_eq!(text.to_ascii_lowercase().matches("content-type").count(), 1, "{text}");
    }
}

#[test]
fn a_url_may_have_options_of_its_own() {
    let mut asked = asked(&["http://h/a", "http://h/b"], &["header=X: 1", "expect-status=204"]);
    asked.url_options = vec![Default::default(), [("header".to_owned(), vec!["Y: 2".to_owned()])].into()];
    let dialogue = Http1.prepare(&asked).expect("a good plan");
    let sent = |n: usize| String::from_utf8(dialogue.encoded(&dialogue.requests()[n].request)).expect("text");
    assert!(sent(0).contains("\r\nX: 1\r\n") && !sent(0).contains("Y: 2"), "{}", sent(0));
    assert!(sent(1).contains("\r\nY: 2\r\n") && !sent(1).contains("X: 1"), "{}", sent(1));
    for (name, said) in [
        ("cookie-jar", "URL 2, cookie-jar: applies to the whole run; put it next to the URLs, not inside one"),
        ("method", "URL 2, --method: \"a b\" is not a method; write one word, for example PUT"),
    ] {
        asked.url_options[1] = [(name.to_owned(), vec!["a b".to_owned()])].into();
        assert_eq!(Http1.prepare(&asked).map_err(crate::bilingual).expect_err("a complaint"), said);
    }
}

#[test]
fn a_large_body_is_shared_and_a_file_goes_as_it_is() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    let bytes: Vec<u8> = (0..16_384u32).map(|n| (n * 7) as u8).collect();
    file.write_all(&bytes).expect("written");
    let option = format!("data-file={}", file.path().display());
    let dialogue = dialogue("http://h/", &[&option]);
    let request = &dialogue.requests()[0].request;
    let mut out = OutputBuffer::default();
    dialogue
        .session(&Origin::default(), &EstablishedConnection::default())
        .submit(ExchangeId(0), request, &SlotContext::default(), &mut out)
        .expect("room");
    assert!(out.bytes().starts_with(b"POST / HTTP/1.1\r\n") && out.bytes().ends_with(b"Content-Length: 16384\r\n\r\n"));
    assert_eq!(out.tail().map(|t| &t[..]), Some(&bytes[..]));
    assert!(dialogue.encoded(request).ends_with(&bytes));
}

#[test]
fn of_many_urls_each_keeps_its_target_and_says_what_it_says_alone() {
    let large = format!("data={}", "x".repeat(20_000));
    let urls = ["http://h/a?b=c", "http://h/", "http://g:81/a", "http://me:pw@h/d"];
    for options in [&["header=A: b"][..], &["data=small"], &[&large], &["request-target=*", "method=OPTIONS"]] {
        let many = Http1.prepare(&asked(&urls, options)).expect("a good plan");
        let put = |workload: &Arc<dyn Workload>, n: usize| {
            let (mut out, request) = (OutputBuffer::default(), &workload.requests()[n].request);
            let mut session = workload.session(&Origin::default(), &EstablishedConnection::default());
            session.submit(ExchangeId(0), request, &SlotContext::default(), &mut out).expect("room");
            [out.bytes(), out.tail().map(|tail| &**tail).unwrap_or_default()].concat()
        };
        for (n, url) in urls.iter().enumerate() {
            let alone = dialogue(url, options);
            assert_eq!(put(&many, n), put(&alone, 0), "{url} {options:?}");
            assert_eq!(put(&many, n), alone.encoded(&alone.requests()[0].request));
            assert_eq!(many.encoded(&many.requests()[n].request), put(&alone, 0));
        }
        let common =
            |n: usize| many.requests()[n].request.downcast::<super::HttpRequest>().tail.as_ref().expect("many");
        assert!(std::sync::Arc::ptr_eq(common(0), common(1)), "{options:?}");
        assert!(common(0) != common(2) && common(0) != common(3), "another host, another password");
        assert!(
            many.requests()[0].request.downcast::<super::HttpRequest>().bytes.len() <= "GET /a?b=c".len() + 1,
            "{options:?}"
        );
    }
}

#[test]
fn several_urls_share_their_origins() {
    let urls = ["http://h/a", "https://h/b", "http://h:80/c", "http://[::1]:8080/"];
    let dialogue = Http1.prepare(&asked(&urls, &[])).expect("a good plan");
    let origins: Vec<_> = dialogue.origins().iter().map(|o| (o.host.as_str(), o.port, o.tls)).collect();
    assert_eq!(origins, [("h", 80, false), ("h", 443, true), ("::1", 8080, false)]);
    assert_eq!(dialogue.requests().iter().map(|r| r.origin).collect::<Vec<_>>(), [0, 1, 0, 2]);
    assert!(!dialogue.prepared().one_exchange_per_connection);
}

#[test]
fn one_exchange_a_connection_where_asked() {
    assert!(dialogue("http://h/", &["no-keepalive"]).prepared().one_exchange_per_connection);
    assert!(dialogue("http://h/", &["header=connection: close"]).prepared().one_exchange_per_connection);
}

#[test]
fn mistakes_get_a_sentence() {
    let good = "http://h/";
    #[rustfmt::skip]
    let cases: &[(&[&str], &[&str], &str)] = &[
        (&[], &[], "URL: none given; add one, such as http://127.0.0.1:8080/"),
        (&["http://"], &[], "URL: \"http://\" cannot be used (empty host); use http://host:port/path"),
        (&["ftp://h/"], &[], "URL: \"ftp://h/\" cannot be used (its scheme is neither http nor https); use http://host:port/path"),
        (&["http://h:99999/"], &[], "URL: \"http://h:99999/\" cannot be used (invalid port number); use http://host:port/path"),
        (&[good], &["method=get"], "--method: methods are case-sensitive: use GET instead of get"),
        (&[good], &["method=A B"], "--method: \"A B\" is not a method; write one word, for example PUT"),
        (&[good], &["method=CONNECT"], "--method: CONNECT opens a tunnel and has no response to measure; use \
            another method"),
        (&[good], &["header=X"], "--header: a line has no colon between name and value; use -H 'NAME: VALUE', as in -H 'Accept: text/html'"),
        (&[good], &["header=X Y: a"], "--header: \"X Y: a\" has no valid name before the colon; write NAME: VALUE"),
        (&[good], &["header=X: a\nb"], "--header: \"X: a\\nb\" contains a line break or another control character; \
            write NAME: VALUE"),
        (&[good], &["header=Transfer-Encoding: chunked"], "--header: Transfer-Encoding: chunked needs a body; add \
            --data, or leave it out"),
        (&[good], &["data=a", "header=Transfer-Encoding: gzip"], "--header: Transfer-Encoding can only be chunked; write `Transfer-Encoding: chunked`, or leave it out"),
        (&[good], &["data=a", "http=1.0", "header=Transfer-Encoding: chunked"], "--header: Transfer-Encoding: \
            chunked is HTTP/1.1 only; leave it out, or use --http 1.1"),
        (&[good], &["data={counter}", "header=Transfer-Encoding: chunked"], "--header: Transfer-Encoding: chunked \
            cannot be combined with a body with slots; leave one of them out"),
        (&[good], &["data=a", "header=Content-Length: 1", "header=Transfer-Encoding: chunked"], "--header: Content-Length cannot be combined with Transfer-Encoding: chunked; leave one of them out"),
        (&[good], &["data=abc", "header=Content-Length: 2"], "--header: Content-Length: 2 does not match the body of 3 bytes; leave it out"),
        (&[good], &["data=abc", "header=Content-Length:"], "--header: Content-Length cannot be left out of a request with a body"),
        (&[good], &["data=a", "form=a=b"], "--form: cannot be combined with --data, as a request has one body; leave one of them out"),
        (&[good], &["data=a", "data-file=b"], "--data-file: cannot be combined with --data, as a request has one body; leave one of them out"),
        (&[good], &["data=@f"], "--data: files are not read here; use --data-file f"),
        (&[good], &["form=a"], "--form: \"a\" has no =; write NAME=VALUE or NAME=@FILE"),
        (&[good], &["form=a=b;c"], "--form: \"a=b;c\" has \"c\" after its value, where only ;type= and ;filename= are allowed; leave it out, or use --form-string 'a=b;c' to send it as is"),
        (&[good], &["request-target=a b"], "--request-target: \"a b\" has spaces, which would break the request line; write it without spaces, for example /a?b"),
        (&[good], &["form==a"], "--form: \"=a\" has no name; write NAME=VALUE or NAME=@FILE"),
        (
            &[good],
            &["user=5"],
            "--user: takes NAME:PASSWORD, not a bare number; for 5 users, use -c 5, or `users: 5` in a plan",
        ),
        (&[good], &["user=me"], "--user: the password is missing; write NAME:PASSWORD"),
        (&[good], &["redirects=many"], "--redirects: \"many\" is not a number from 0 to 100; use, for example, 5"),
        (&[good], &["expect-status=200,2x"], "--expect-status: \"2x\" is not a status; use 200, 2xx or 200-299, separated by commas"),
        (&[good], &["expect-status=300-200"], "--expect-status: \"300-200\" is not a status; use 200, 2xx or 200-299, separated by commas"),
    ];
    for (urls, options, expected) in cases {
        assert_eq!(complaint(urls, options), *expected);
    }
    assert!(complaint(&[good], &["data-file=/no/such"]).starts_with("--data-file: /no/such cannot be read ("));
    assert!(complaint(&[good], &["form=a=@/no/such"]).starts_with("--form: /no/such cannot be read ("));
}

#[test]
fn bodies_in_chunks_and_the_old_version() {
    assert_eq!(
        lines("http://h/", &["header=Transfer-Encoding: chunked", "data=a=b", "header=Content-Type:"]),
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na=b\r\n0\r\n\r\n"
    );
    assert_eq!(lines("http://h/a", &["http=1.0"]), "GET /a HTTP/1.0\r\nHost: h\r\n\r\n");
    assert!(dialogue("http://h/", &["http=1.0"]).prepared().one_exchange_per_connection);
    let kept = &["http=1.0", "header=Connection: keep-alive"];
    assert_eq!(lines("http://h/", kept), "GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n");
    assert!(!dialogue("http://h/", kept).prepared().one_exchange_per_connection);
}

#[test]
fn a_proxy_is_told_the_whole_url_and_who_asks() {
    let through = |url: &str, proxy: &str, options: &[&str]| {
        let proxy = Some(Arc::new(Proxy::parse(proxy).unwrap()));
        let proxies = ProxyRules { clear: proxy.clone(), tls: proxy, exceptions: ProxyException::parse_list("near") };
        let asked = ProtocolConfig { proxies: Arc::new(proxies), ..asked(&[url], options) };
        let dialogue = Http1.prepare(&asked).unwrap();
        let text = String::from_utf8(dialogue.encoded(&dialogue.requests()[0].request)).unwrap();
        (dialogue.origins()[0].forwarded, text)
    };
    let (forwarded, text) = through("http://h:8080/a?b", "http://ann:pw@p", &["header=X: y"]);
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "GET http://h:8080/a?b HTTP/1.1\r\nHost: h:8080\r\nProxy-Authorization: Basic YW5uOnB3\r\nUser-Agent: brunt/{version}\r\n\
         Accept: */*\r\nProxy-Connection: Keep-Alive\r\nX: y\r\n\r\n"
    );
    assert_eq!((forwarded, text), (true, expected));
    let (_, text) = through("http://h/", "http://p", &["request-target=/x", "header=Proxy-Connection:"]);
    assert!(text.starts_with("GET http://h/x HTTP/1.1\r\nHost: h\r\nUser-Agent") && !text.contains("Proxy-"), "{text}");
    let (_, text) = through("http://h/", "http://p", &["request-target=*", "method=OPTIONS"]);
    assert!(text.starts_with("OPTIONS * HTTP/1.1\r\n"), "{text}");
    // Tunnels and direct connections do not mention a proxy.
    for (url, proxy) in
        [("https://h/", "http://a:b@p"), ("http://h/", "socks5://a:b@p"), ("http://near/", "http://a:b@p")]
    {
        let (forwarded, text) = through(url, proxy, &[]);
        assert!(!forwarded && text.starts_with("GET / HTTP/1.1\r\n") && !text.contains("Proxy-"), "{url}: {text}");
    }
}

#[test]
fn a_session_is_small() {
    assert!(size_of::<crate::http1::Http1Session>() <= 56, "{}", size_of::<crate::http1::Http1Session>());
}
