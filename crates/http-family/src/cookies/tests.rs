//! Tests of the cookie jar against RFC 6265bis, and against peers that try to fill it.

use proptest::prelude::*;

use super::*;

const NOW: u64 = 1_700_000_000;

/// Returns the site of a URL without a query.
fn place(url: &str) -> CookieSite<'_> {
    let (scheme, rest) = url.split_once("://").expect("a scheme");
    let at = rest.find('/').unwrap_or(rest.len());
    let path = if rest[at..].is_empty() { "/" } else { &rest[at..] };
    CookieSite { host: rest[..at].into(), path: path.as_bytes(), secure: scheme == "https" }
}

/// Creates a jar from responses of these URLs with these `Set-Cookie` lines.
fn jar(said: &[(&str, &str)]) -> CookieJar {
    let mut jar = CookieJar::default();
    for (url, line) in said {
        learn(&mut jar, url, line, NOW);
    }
    jar
}

fn learn(jar: &mut CookieJar, url: &str, line: &str, now: u64) {
    let head = format!("HTTP/1.1 200 OK\r\nSet-Cookie: {line}\r\nX-Other: 1\r\n\r\n");
    if let Some(lesson) = read_set_cookies(head.as_bytes(), &budget()).expect("room") {
        jar.learn(&place(url), *lesson, now);
    }
}

/// Returns the cookies sent to a URL.
fn sent(jar: &CookieJar, url: &str, now: u64) -> String {
    let mut out = Vec::new();
    assert_eq!(jar.put(&place(url), b"", now, &mut out), !out.is_empty());
    String::from_utf8(out).expect("text")
}

#[test]
fn a_cookie_goes_where_its_domain_path_and_safety_lead() {
    let table = [
        // Host-only, unless a domain is named.
        ("http://h.example/", "a=1", "http://h.example/x", true),
        ("http://h.example/", "a=1", "http://www.h.example/", false),
        ("http://www.h.example/", "a=1; Domain=h.example", "http://h.example/", true),
        ("http://www.h.example/", "a=1; Domain=.H.Example", "http://api.h.example/", true),
        ("http://www.h.example/", "a=1; domain=h.example", "http://evilh.example/", false),
        // Domains that the host must not set.
        ("http://h.example/", "a=1; Domain=other.example", "http://other.example/", false),
        ("http://h.example/", "a=1; Domain=www.h.example", "http://www.h.example/", false),
        ("http://h.example/", "a=1; Domain=example", "http://h.example/", false),
        ("http://10.0.0.1/", "a=1; Domain=0.0.1", "http://10.0.0.1/", false),
        ("http://10.0.0.1/", "a=1; Domain=10.0.0.1", "http://10.0.0.1/", true),
        ("http://localhost/", "a=1; Domain=localhost", "http://localhost/", true),
        // Paths.
        ("http://h/a/b", "a=1", "http://h/a/c", true),
        ("http://h/a/b", "a=1", "http://h/ab", false),
        ("http://h/a", "a=1; Path=/x", "http://h/x/y", true),
        ("http://h/a", "a=1; Path=/x", "http://h/xy", false),
        ("http://h/a", "a=1; Path=/x/", "http://h/x", false),
        ("http://h/a/b", "a=1; Path=relative", "http://h/a/", true),
        ("http://h/a/b", "a=1; Path=relative", "http://h/", false),
        // Secure cookies.
        ("https://h/", "a=1; Secure", "https://h/", true),
        ("https://h/", "a=1; Secure", "http://h/", false),
        ("http://h/", "a=1; Secure", "https://h/", false),
        ("https://h/", "__Secure-a=1", "https://h/", false),
        ("https://h/", "__Host-a=1; Secure; Path=/", "https://h/", true),
        ("https://h/", "__host-a=1; Secure; Path=/; Domain=h", "https://h/", false),
        ("https://h/", "__Host-a=1; Secure", "https://h/", false),
    ];
    for (from, line, to, goes) in table {
        assert_eq!(!sent(&jar(&[(from, line)]), to, NOW).is_empty(), goes, "{line} of {from} to {to}");
    }
}

#[test]
fn a_cookie_ends_by_its_age_or_its_date_and_age_decides() {
    let table = [
        ("a=1", Some(u64::MAX / 2)),
        ("a=1; Max-Age=10", Some(NOW + 10)),
        ("a=1; Max-Age=0", None),
        ("a=1; Max-Age=-5", None),
        ("a=1; Max-Age=x", Some(u64::MAX / 2)),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("a=1; Expires=Tue, 14 Nov 2023 22:13:30 GMT", Some(NOW + 10)),
        ("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=10", Some(NOW + 10)),
        ("a=1; Max-Age=99999999999999999999999", Some(NOW + 400 * 86_400)),
        ("a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT", Some(NOW + 400 * 86_400)),
    ];
    for (line, ends) in table {
        let jar = jar(&[("http://h/", line)]);
        let Some(ends) = ends else {
            assert_eq!(sent(&jar, "http://h/", NOW), "", "{line}");
            continue;
        };
        assert_eq!(sent(&jar, "http://h/", ends - 1), "a=1", "{line}");
        assert_eq!(sent(&jar, "http://h/", ends).is_empty(), ends < u64::MAX / 2, "{line}");
    }
}

#[test]
fn the_same_cookie_is_replaced_and_taken_away_and_keeps_its_place() {
    let mut jar = jar(&[("http://h/", "a=1"), ("http://h/", "b=2"), ("http://h/", "a=3"), ("http://h/x/y", "deep=4")]);
    assert_eq!(sent(&jar, "http://h/", NOW), "a=3; b=2");
    assert_eq!(sent(&jar, "http://h/x/z", NOW), "deep=4; a=3; b=2", "the longest path first");
    learn(&mut jar, "http://h/", "a=; Max-Age=0", NOW);
    assert_eq!(sent(&jar, "http://h/", NOW), "b=2");
    learn(&mut jar, "http://h/", "a=5", NOW);
    assert_eq!(sent(&jar, "http://h/", NOW), "b=2; a=5");
}

#[test]
fn a_cookie_that_is_set_again_as_it_was_keeps_its_place_and_lasts_as_long_as_it_says_now() {
    let mut jar = jar(&[("https://h/", "a=1; Max-Age=10"), ("https://h/", "b=2")]);
    let taken: usize = jar.cookies.iter().map(|c| c.taken.bytes()).sum();
    learn(&mut jar, "https://h/", "a=1; Max-Age=100", NOW);
    assert_eq!(
        (sent(&jar, "https://h/", NOW + 99), sent(&jar, "https://h/", NOW + 100)),
        ("a=1; b=2".into(), "b=2".into())
    );
    learn(&mut jar, "https://h/", "a=1; Secure", NOW);
    assert_eq!((sent(&jar, "https://h/", NOW + 500), sent(&jar, "http://h/", NOW)), ("a=1; b=2".into(), "b=2".into()));
    assert_eq!(jar.cookies.iter().map(|c| c.taken.bytes()).sum::<usize>(), taken, "and takes no more room");
    learn(&mut jar, "https://h/", "a=1; Max-Age=0", NOW);
    assert_eq!(sent(&jar, "https://h/", NOW), "b=2");
}

#[test]
fn what_was_set_in_safety_is_not_touched_from_outside_of_it() {
    let mut jar = jar(&[("https://h/", "sid=good; Secure")]);
    learn(&mut jar, "http://h/", "sid=bad", NOW);
    assert_eq!((sent(&jar, "https://h/", NOW), sent(&jar, "http://h/", NOW)), ("sid=good".into(), String::new()));
}

#[test]
fn lines_are_read_as_browsers_read_them() {
    for (line, expected) in [
        ("  a = 1 ; Path=/", "a=1"),
        ("a=\"1;2\"", "a=\"1"),
        ("a=b=c", "a=b=c"),
        ("alone", "alone"),
        ("=x", "x"),
        ("a=", "a="),
        ("=", ""),
        (";", ""),
        ("a=1; SameSite=None; Priority=High; ; =; HttpOnly", "a=1"),
    ] {
        assert_eq!(sent(&jar(&[("http://h/", line)]), "http://h/", NOW), expected, "{line}");
    }
    let long = format!("a={}", "x".repeat(4096));
    assert_eq!(sent(&jar(&[("http://h/", &long)]), "http://h/", NOW), "");
    assert_eq!(sent(&jar(&[("http://h/", &long[..4097])]), "http://h/", NOW).len(), 4097);
}

#[test]
fn a_jar_is_bounded_and_the_oldest_go_first() {
    let mut jar = CookieJar::default();
    for n in 0..60 {
        learn(&mut jar, "http://h.example/", &format!("n{n}=1"), NOW);
        learn(&mut jar, &format!("http://h{n}.example/"), "other=1; Max-Age=5", NOW);
    }
    let kept = sent(&jar, "http://h.example/", NOW);
    assert_eq!((kept.split("; ").count(), kept.split("; ").next()), (50, Some("n10=1")));
    assert_eq!(sent(&jar, "http://h0.example/", NOW), "other=1", "another domain's are not in the way");
    let large = "x".repeat(4000);
    for n in 0..100 {
        learn(&mut jar, &format!("http://l{n}.example/"), &format!("l={large}"), NOW + 10);
    }
    let bytes: usize = jar.cookies.iter().map(|c| c.taken.bytes()).sum();
    assert!((USER_LIMIT - 4200..=USER_LIMIT).contains(&bytes), "{bytes}");
    assert!(!sent(&jar, "http://l99.example/", NOW + 10).is_empty());
}

#[test]
fn all_jars_together_have_a_bound_and_what_finds_no_room_is_told() {
    let (few, head) = (MemoryBudget::of(1000), b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\n\r\n");
    let mut kept = Vec::new();
    let told = loop {
        match read_set_cookies(head, &few) {
            Ok(lesson) => kept.push(lesson),
            Err(told) => break told,
        }
    };
    assert_eq!((told, kept.len()), (NO_ROOM, 1000 / (OVERHEAD + 2)));
    kept.clear();
    assert_eq!(few.reserved(), 0, "given back with its jar");
}

#[test]
fn a_request_of_its_own_cookies_has_one_line_and_each_name_once() {
    let jar = jar(&[("http://h.example/", "sid=7"), ("http://h.example/", "x=8")]);
    let table = [
        (
            "GET /a?b HTTP/1.1\r\nHost: h.example:80\r\nX: 1\r\n\r\nbody\r\n\r\n",
            "GET /a?b HTTP/1.1\r\nHost: h.example:80\r\nX: 1\r\nCookie: sid=7; x=8\r\n\r\nbody\r\n\r\n",
        ),
        (
            "GET / HTTP/1.1\r\nHost: H.example\r\ncookie: a=1; sid=0;b=2\r\nX: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: H.example\r\ncookie: a=1; b=2; sid=7; x=8\r\nX: 1\r\n\r\n",
        ),
        (
            "GET / HTTP/1.1\r\nHost: h.example\r\nCookie: \r\nCookies: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: h.example\r\nCookie: sid=7; x=8\r\nCookies: 1\r\n\r\n",
        ),
        (
            "GET http://h.example/ HTTP/1.1\r\nHost: h.example\r\n\r\n",
            "GET http://h.example/ HTTP/1.1\r\nHost: h.example\r\nCookie: sid=7; x=8\r\n\r\n",
        ),
        (
            "GET / HTTP/1.1\r\nHost: other.example\r\nCookie: sid=0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: other.example\r\nCookie: sid=0\r\n\r\n",
        ),
    ];
    for (request, expected) in table {
        for before in ["", "GET / HTTP/1.1\r\nHost: before\r\n\r\n"] {
            let mut bytes = format!("{before}{request}").into_bytes();
            jar.put_into(&mut bytes, before.len(), false, NOW);
            CookieJar::default().put_into(&mut bytes, before.len(), false, NOW);
            assert_eq!(String::from_utf8_lossy(&bytes), format!("{before}{expected}"));
        }
    }
}

#[test]
fn this_machine_is_safe() {
    for host in ["localhost:8080", "127.0.0.1", "[::1]:80"] {
        let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert!(site(head.as_bytes(), false).expect("a head").site.secure, "{host}");
    }
    assert!(!site(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", false).expect("a head").site.secure);
}

proptest! {
    #[test]
    fn whatever_is_said_a_jar_stays_small_and_sends_one_line(lines in prop::collection::vec("[ -~\\x80-\\xff]{0,80}", 0..80)) {
        let mut jar = CookieJar::default();
        for line in &lines {
            learn(&mut jar, "http://www.h.example/a/b", line, NOW);
        }
        prop_assert!(jar.cookies.len() <= 2 * MAX_PER_DOMAIN);
        let mut out = Vec::new();
        jar.put(&place("http://www.h.example/a/b"), b"own=1", NOW, &mut out);
        prop_assert!(!out.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)));
    }
}
