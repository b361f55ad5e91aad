//! Invariants checked by the fuzz target for bodies: any input gets a verdict, and limits are respected.

use super::{AnswerChecks, CheckTexts, Expectations, KEPT_BOUND};
use crate::budget::MemoryBudget;

/// Checks arbitrary bytes as a body with none, one or two known codings.
///
/// # Panics
/// Panics if an oversized body is accepted.
pub fn body(coding: u8, bytes: &[u8]) {
    let codings = ["identity", "gzip", "deflate", "br", "zstd", "gzip, zstd", "br, deflate", "rot13"];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {}\r\nX: y\r\n\r\n", codings[usize::from(coding) % 8]);
    let rules = ["$.a[0].b == 1", "$.*[*] != x", "$['a'] contains 1"].map(String::from).to_vec();
    let texts = CheckTexts { json: rules, headers: vec!["X: *".to_owned()], ..CheckTexts::default() };
    let expected = Expectations::parse(&texts).ok().flatten();
    let Some(mut seen) = AnswerChecks::from_head(expected.as_ref(), (true, false), head.as_bytes()) else { return };
    let budget = MemoryBudget::default();
    bytes.chunks(1 + bytes.len() / 3).for_each(|piece| seen.feed(piece, &budget));
    let verdict = seen.verdict(expected.as_ref(), None, &budget);
    assert!(bytes.len() <= KEPT_BOUND || verdict.is_some());
}
