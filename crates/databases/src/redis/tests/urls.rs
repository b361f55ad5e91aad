//! URLs: their targets, and the errors for mistakes in them.

use super::*;

#[test]
fn urls_name_a_place() {
    for (url, host, port, tls) in [
        ("redis://h", "h", 6379, false),
        ("rediss://h:1/5", "h", 1, true),
        ("redis://u:p@[::1]:7/", "::1", 7, false),
        ("redis://127.0.0.1/0", "127.0.0.1", 6379, false),
    ] {
        let dialogue = dialogue(url, &[]);
        let origin = &dialogue.origins()[0];
        assert_eq!((&*origin.host, origin.port, origin.tls, origin.datagrams), (host, port, tls, false), "{url}");
    }
}

#[test]
fn the_same_address_with_another_database_is_another_origin() {
    let urls = ["redis://h/0", "redis://h/1", "redis://h"];
    let urls = urls.map(|url| RequestedUrl { url: url.to_owned(), weight: 2.0 }).to_vec();
    let dialogue = RedisProtocol.prepare(&ProtocolConfig { urls, ..ProtocolConfig::default() }).expect("good");
    assert_eq!(dialogue.origins().iter().map(|o| o.bound).collect::<Vec<_>>(), [0, 1]);
    let requests: Vec<_> = dialogue.requests().iter().map(|r| (r.origin, r.weight)).collect();
    assert_eq!(requests, [(0, 2.0), (1, 2.0), (0, 2.0)]);
}

#[test]
fn mistakes_are_answered_by_one_sentence() {
    for (url, trouble) in [
        ("redis://", "it has no host"),
        ("redis://me@h", "the password is missing after the name; a password alone is written as :password@"),
        ("redis://h/x", "\"x\" is not a database number"),
        ("redis://h/1?x=1", "it has a query or fragment, which Redis URLs do not have"),
        ("redis://h:99999", "invalid port number"),
    ] {
        let said = prepared(url, &[]).map_err(crate::bilingual).unwrap_err();
        assert_eq!(said, format!("URL: \"{url}\" cannot be used ({trouble}); use redis://host:port/database"));
    }
}
