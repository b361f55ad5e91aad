//! Tests of version selection and of its errors.

use std::sync::Arc;

use brunt_contract::{
    EstablishedConnection, Origin, OutputBuffer, Protocol, ProtocolConfig, RequestedUrl, UsageError, Workload,
};

use super::Http;

pub fn prepare(url: &str, options: &[&str]) -> Result<Arc<dyn Workload>, UsageError> {
    Http.prepare(&asked(url, options))
}

fn asked(url: &str, options: &[&str]) -> ProtocolConfig {
    let mut asked =
        ProtocolConfig { urls: vec![RequestedUrl { url: url.to_owned(), weight: 1.0 }], ..ProtocolConfig::default() };
    for option in options {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        asked.options.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    asked
}

pub fn established(alpn: Option<&str>) -> EstablishedConnection {
    EstablishedConnection { alpn: alpn.map(Into::into), tls: alpn.is_some(), ..EstablishedConnection::default() }
}

#[test]
fn the_version_is_the_one_asked_for_or_chosen() {
    for (options, offered, chosen, spoken) in [
        (&[][..], "http/1.1", None, "HTTP/1.1"),
        (&["http=1.1"], "http/1.1", Some("http/1.1"), "HTTP/1.1"),
        (&["http=2"], "h2", None, "HTTP/2"),
        (&["http2"], "h2", Some("h2"), "HTTP/2"),
        (&["http2", "http=2"], "h2", Some("h2"), "HTTP/2"),
        (&["http=auto"], "h2,http/1.1", Some("h2"), "HTTP/2"),
        (&["http=auto"], "h2,http/1.1", Some("http/1.1"), "HTTP/1.1"),
        (&["http=auto"], "h2,http/1.1", None, "HTTP/1.1"),
    ] {
        let dialogue = prepare("https://h/", options).unwrap();
        let names: Vec<_> =
            dialogue.alpn(&dialogue.origins()[0]).iter().map(|name| std::str::from_utf8(name).unwrap()).collect();
        assert_eq!(names.join(","), offered, "{options:?}");
        let established = established(chosen);
        assert_eq!(dialogue.protocol_version(&established), spoken, "{options:?}");
        // Only HTTP/2 sends a preface before the first request.
        let mut preface = OutputBuffer::default();
        dialogue.session(&Origin::default(), &established).open(&mut preface);
        assert_eq!(!preface.is_empty(), spoken == "HTTP/2");
    }
}

#[test]
fn streams_are_for_a_version_that_has_them() {
    assert_eq!(prepare("http://h/", &[]).unwrap().prepared().exchanges_per_connection, 1);
    assert_eq!(prepare("http://h/", &["http2", "streams=10"]).unwrap().prepared().exchanges_per_connection, 10);
    assert_eq!(prepare("https://h/", &["http=auto", "streams=7"]).unwrap().prepared().exchanges_per_connection, 7);
}

#[test]
fn heartbeats_are_for_a_version_that_has_them() {
    let told = |url, options: &[&str]| Http.check_heartbeats(&asked(url, options));
    let plain = "HTTP/1.1 has no heartbeat; add --http2, or leave it out";
    assert_eq!(told("http://h/", &[]), Err(plain.into()));
    assert_eq!(told("https://h/", &["http=1.1"]), Err(plain.into()));
    assert!(told("http://h/", &["http=auto"]).is_err_and(|why| why.contains("on http://")));
    assert_eq!((told("https://h/", &["http=auto"]), told("http://h/", &["http2"])), (Ok(()), Ok(())));
}

#[test]
fn mistakes_are_named() {
    for (options, complaint) in [
        (&["http=3"][..], "--http: \"3\" is not a supported version; use 1.1, 1.0, 2 or auto"),
        (&["http=1.1", "http2"], "--http2: contradicts --http; leave out one of them"),
        (&["http2", "streams=0"], "--streams: \"0\" is not a number from 1 to 100000; use, for example, 10"),
        (
            &["http2", "streams=4", "no-keepalive"],
            "--streams: cannot be combined with --no-keepalive, where requests never share a connection; leave one of them \
                out",
        ),
        (&["streams=2"], "--streams: HTTP/1.1 handles one request at a time; add --http2, or leave it out"),
    ] {
        assert_eq!(prepare("http://h/", options).map_err(crate::bilingual).unwrap_err(), complaint);
    }
}

/// Size of an HTTP/2 connection, apart from its streams and the peer's HPACK table.
#[test]
fn a_session_of_http2_is_small() {
    assert!(size_of::<crate::http2::Http2Session>() <= 1024, "{}", size_of::<crate::http2::Http2Session>());
}
