//! Inputs that fuzzing found once, each a bug then or nearly one; see `fuzz/`.

use crate::http1::oracle;

#[test]
fn what_fuzzing_found_stays_found() {
    let inputs: &[&[u8]] = &[];
    for input in inputs {
        for at in 0..=input.len() {
            oracle::answer(input, at);
            oracle::asking(input, at);
        }
    }
}
