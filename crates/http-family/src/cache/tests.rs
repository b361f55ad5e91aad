use super::*;

/// Time of the requests, in seconds since 1970: Thu, 01 Jan 1970 00:16:40 GMT.
const BASE: u64 = 1000;
const SECOND: u64 = 1_000_000_000;

fn rule(word: &str) -> CacheSettings {
    let asked =
        ProtocolConfig { options: [(CACHE.to_owned(), vec![word.to_owned()])].into(), ..ProtocolConfig::default() };
    CacheSettings::read(&asked).expect("a word").expect("a rule")
}

fn sent(head: &str, at: u64) -> OutgoingRequest<'_> {
    OutgoingRequest { head: head.as_bytes(), secure: false, at: at * SECOND, iteration: 0 }
}

fn get(path: &str, lines: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n{lines}\r\n")
}

fn head(lines: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n").into_bytes()
}

/// Creates a cache that stored this 200 response to `GET /` at [`BASE`].
fn heard(lines: &str, body: &[u8]) -> Cache {
    let mut cache = Cache::default();
    hear(&mut cache, &get("/", ""), lines, body);
    cache
}

fn hear(cache: &mut Cache, request: &str, lines: &str, body: &[u8]) -> bool {
    let (mut judged, need) = (CacheObserver::default(), NeededParts { head: true, body: true, trailers: false });
    assert!(judged.head("GET", need, 200, &head(lines)).is_none());
    judged.feed(body, &MemoryBudget::default());
    let heard = judged.take().expect("an answer");
    cache.learn(&rule("per-user"), sent(request, BASE), heard)
}

fn is_fresh(cache: &mut Cache, request: &str, at: u64) -> bool {
    cache.fresh(&rule("yes"), sent(request, at), NeededParts::default()).is_some()
}

/// Returns the first second after the request at which the response is no longer used; `None` if it is always
/// validated.
fn good_for(lines: &str) -> Option<u64> {
    let mut cache = heard(lines, b"x");
    (0..5000).find(|n| !is_fresh(&mut cache, &get("/", ""), BASE + n)).filter(|n| *n > 0)
}

#[test]
fn an_answer_is_good_as_long_as_its_head_says() {
    let date = "Date: Thu, 01 Jan 1970 00:16:40 GMT\r\n";
    let table = [
        ("Cache-Control: max-age=60\r\n", Some(60)),
        ("cache-control: private, MAX-AGE=\"60\"\r\nAge: 20\r\n", Some(40)),
        ("Cache-Control: public\r\nCache-Control: max-age=60, immutable, must-revalidate\r\n", Some(60)),
        ("Cache-Control: s-maxage=60\r\nETag: \"a\"\r\n", None),
        ("Cache-Control: max-age=60, no-cache\r\nETag: \"a\"\r\n", None),
        ("Cache-Control: max-age=60, no-store\r\n", None),
        ("Cache-Control: max-age=x\r\nExpires: Thu, 01 Jan 1970 00:17:40 GMT\r\n", None),
        ("Cache-Control: max-age=60\r\nExpires: 0\r\n", Some(60)),
        ("Expires: Thu, 01 Jan 1970 00:17:40 GMT\r\n", Some(60)),
        ("Expires: 0\r\nLast-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n", None),
        ("Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n", Some(100)),
        ("Last-Modified: yesterday\r\n", None),
        ("ETag: \"a\"\r\n", None),
        ("", None),
    ];
    for (lines, expected) in table {
        assert_eq!(good_for(&format!("{date}{lines}")), expected, "{lines}");
    }
    // The response is twenty seconds old by its own clock.
    assert_eq!(good_for("Date: Thu, 01 Jan 1970 00:16:20 GMT\r\nCache-Control: max-age=60\r\n"), Some(40));
    assert_eq!(good_for("Cache-Control: max-age=60\r\n"), Some(60), "without a date");
}

#[test]
fn of_what_is_good_no_more_is_asked_with_what_it_was_marked_by() {
    let marks = "ETag: W/\"a\"\r\nLast-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\nCache-Control: max-age=5\r\n";
    let mut cache = heard(marks, b"body");
    let (rule, asked) = (rule("per-user"), get("/", ""));
    assert!(!is_fresh(&mut cache, &asked, BASE + 5));
    let condition = cache.revalidation(&rule, sent(&asked, BASE + 5), NeededParts::default()).expect("a condition");
    let mut bytes = b"before".to_vec();
    bytes.extend_from_slice(asked.as_bytes());
    condition.put_into(&mut bytes, 6);
    let expected = get("/", "If-None-Match: W/\"a\"\r\nIf-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
    assert_eq!(String::from_utf8_lossy(&bytes[6..]), expected);
    // Confirmed by a 304, with a new lifetime.
    let mut judged = CacheObserver::default();
    judged.stored = Some(condition.response);
    let answer =
        judged.head("GET", NeededParts::default(), 304, &head("Cache-Control: max-age=9\r\n")).expect("what is kept");
    assert_eq!((answer.body(), answer.size, answer.status), (&b"body"[..], 4, 200));
    assert!(cache.learn(&rule, sent(&asked, BASE + 6), judged.take().expect("heard")));
    assert!(is_fresh(&mut cache, &asked, BASE + 14) && !is_fresh(&mut cache, &asked, BASE + 15));
    assert!(cache.revalidation(&rule, sent(&asked, BASE + 15), NeededParts::default()).is_some(), "the marks stay");
}

#[test]
fn requests_that_say_so_are_not_answered_with_what_is_kept() {
    let mut cache = heard("Cache-Control: max-age=60\r\nETag: \"a\"\r\n", b"x");
    let asks = |cache: &mut Cache, request: &str| {
        let condition = cache.revalidation(&rule("yes"), sent(request, BASE + 1), NeededParts::default());
        (is_fresh(cache, request, BASE + 1), condition.is_some())
    };
    assert_eq!(asks(&mut cache, &get("/", "")), (true, true));
    for anew in ["Cache-Control: no-cache\r\n", "Cache-Control: x, max-age=0\r\n", "Pragma: no-cache\r\n"] {
        assert_eq!(asks(&mut cache, &get("/", anew)), (false, true), "{anew}");
    }
    for own in ["Cache-Control: no-store\r\n", "Range: bytes=0-1\r\n", "If-None-Match: \"b\"\r\n"] {
        assert_eq!(asks(&mut cache, &get("/", own)), (false, false), "{own}");
    }
    assert_eq!(asks(&mut cache, &get("/?a", "")), (false, false));
    assert_eq!(asks(&mut cache, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"), (false, false));
    assert_eq!(asks(&mut cache, "GET / HTTP/1.1\r\nHost: other\r\n\r\n"), (false, false));
    // An unsafe method.
    let mut judged = CacheObserver::default();
    judged.head("POST", NeededParts::default(), 204, &head(""));
    let post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    cache.learn(&rule("yes"), sent(post, BASE + 1), judged.take().expect("heard"));
    assert_eq!(asks(&mut cache, &get("/", "")), (false, false));
}

#[test]
fn what_depends_on_a_field_is_good_for_requests_that_say_the_same_in_it() {
    let request = |language: &str| get("/", &format!("Accept-Language: {language}\r\nCookie: a=1\r\n"));
    let mut cache = Cache::default();
    hear(&mut cache, &request("de"), "Vary: Accept-Encoding, accept-language\r\nCache-Control: max-age=9\r\n", b"x");
    assert!(is_fresh(&mut cache, &request("de"), BASE) && !is_fresh(&mut cache, &request("en"), BASE));
    hear(&mut cache, &request("en"), "Vary: *\r\nCache-Control: max-age=9\r\n", b"x");
    assert!(!is_fresh(&mut cache, &request("de"), BASE) && !is_fresh(&mut cache, &request("en"), BASE));
}

#[test]
fn answers_have_what_is_looked_at_and_caches_are_emptied_with_iterations_where_asked() {
    let mut cache = Cache::default();
    let mut judged = CacheObserver::default();
    judged.head("GET", NeededParts::default(), 200, &head("Cache-Control: max-age=9\r\n"));
    judged.feed(b"12345", &MemoryBudget::default());
    let (rule, asked) = (rule("per-iteration"), get("/", ""));
    cache.learn(&rule, sent(&asked, BASE), judged.take().expect("heard"));
    let of = |iteration| OutgoingRequest { iteration, ..sent(&asked, BASE) };
    assert!(
        cache.fresh(&rule, of(0), NeededParts { head: true, ..NeededParts::default() }).is_none(),
        "nobody looked at it"
    );
    assert!(
        cache.fresh(&rule, of(0), NeededParts { trailers: true, ..NeededParts::default() }).is_none(),
        "no trailers are kept"
    );
    assert_eq!(cache.fresh(&rule, of(0), NeededParts::default()).map(|answer| answer.size), Some(5));
    assert!(cache.fresh(&rule, of(1), NeededParts::default()).is_none());
    let head = without(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nX: y\r\n\r\n");
    assert_eq!(head, b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n");
    for (word, expected) in [("no", None), ("sometimes", Some("\"sometimes\" is not a kind of cache"))] {
        let asked =
            ProtocolConfig { options: [(CACHE.to_owned(), vec![word.to_owned()])].into(), ..ProtocolConfig::default() };
        let read = CacheSettings::read(&asked);
        match expected {
            None => assert!(read.expect("read").is_none()),
            Some(said) => {
                assert!(read.map_err(crate::bilingual).expect_err("wrong").starts_with(&format!("--cache: {said}")))
            }
        }
    }
}

fn without(head: &[u8]) -> Vec<u8> {
    let mut judged = CacheObserver::default();
    judged.head("GET", NeededParts { head: true, ..NeededParts::default() }, 200, head);
    match judged.take() {
        Some(CacheEffect::Store(new)) => new.head.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cache_has_a_bound_and_what_was_used_longest_ago_goes_first() {
    let (mut cache, body) = (Cache::default(), vec![b'x'; 1 << 20]);
    let path = |n: usize| get(&format!("/{n}"), "");
    for n in 0..40 {
        assert!(hear(&mut cache, &path(n), "Cache-Control: max-age=60\r\n", &body), "{n}");
        assert!(cache.bytes <= USER_LIMIT);
        assert!(is_fresh(&mut cache, &path(0), BASE), "used all the time");
    }
    let there: Vec<usize> = (0..40).filter(|n| is_fresh(&mut cache, &path(*n), BASE)).collect();
    assert_eq!(there, [&[0][..], &(26..40).collect::<Vec<_>>()].concat());
    let more = vec![b'x'; (1 << 20) + 1];
    assert!(!hear(&mut cache, &path(50), "Cache-Control: max-age=60\r\n", &more), "too large");
    // The bound of all users together.
    let poor = CacheSettings { budget: MemoryBudget::of(700), ..rule("yes") };
    let fresh = || {
        let mut judged = CacheObserver::default();
        judged.head("GET", NeededParts::default(), 200, &head("Cache-Control: max-age=60\r\n"));
        judged.take().expect("heard")
    };
    let (mut one, mut other) = (Cache::default(), Cache::default());
    let kept: Vec<bool> = (0..3).map(|n| one.learn(&poor, sent(&path(n), BASE), fresh())).collect();
    assert_eq!(kept, [true, true, false]);
    assert!(!other.learn(&poor, sent(&path(0), BASE), fresh()));
    drop(one);
    assert!(other.learn(&poor, sent(&path(0), BASE), fresh()));
}
