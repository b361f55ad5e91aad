//! Statuses by name, and mappings from other codes.

use super::super::status::{GrpcStatusSet, counted, name, of_counted, of_http, of_reset, parse};

#[test]
fn names_and_numbers() {
    for number in 0..17 {
        assert_eq!(parse(&name(number)), Some(number));
        assert_eq!(parse(&name(number).to_lowercase()), Some(number));
        assert_eq!(parse(&number.to_string()), Some(number));
        assert_eq!(of_counted(counted(number)), number);
        assert_ne!(counted(number), 0, "the engine skips 0");
    }
    assert_eq!((parse("17"), parse("FINE"), parse("")), (None, None, None));
    assert_eq!(GrpcStatusSet::parse("OK, 5"), GrpcStatusSet::parse("NOT_FOUND,ok"));
    assert_eq!(GrpcStatusSet::parse("OK,FINE"), Err("FINE".to_owned()));
}

#[test]
fn what_stands_in_for_a_status() {
    for (http, status) in
        [(400, 13), (401, 16), (403, 7), (404, 12), (429, 14), (502, 14), (503, 14), (504, 14), (500, 2)]
    {
        assert_eq!(of_http(http), status, "HTTP {http}");
    }
    for (code, status) in
        [(0, 13), (1, 13), (2, 13), (3, 13), (4, 13), (6, 13), (7, 14), (8, 1), (9, 13), (10, 13), (11, 8), (12, 7)]
    {
        assert_eq!(of_reset(code), status, "reset {code}");
    }
}
