//! Regression tests with inputs found by fuzzing, each a bug at the time or close to one; see `fuzz/`.

use crate::http1::oracle;

#[test]
fn what_fuzzing_found_stays_found() {
    // More fields than `httparse` had room for.
    let fields = format!("GET / HTTP/1.1\r\n{}\r\n", "a:b\n".repeat(65));
    let answer = fields.replace("GET / HTTP/1.1", "HTTP/1.1 204");
    let inputs: &[&[u8]] = &[fields.as_bytes(), answer.as_bytes()];
    for input in inputs {
        for at in 0..=input.len() {
            oracle::response(input, at);
            oracle::request(input, at);
        }
    }
}
