//! Valid, nearly valid and random replies, checked by [`crate::redis::oracle`].

use proptest::prelude::*;

use crate::redis::oracle;

const PARTS: &[&str] = &[
    "+OK\r\n",
    "-ERR no\r\n",
    "!5\r\nERR x\r\n",
    ":1\r\n",
    "$3\r\nabc\r\n",
    "$-1\r\n",
    "$2\r\nab\r\n",
    "*2\r\n",
    "*0\r\n",
    "*-1\r\n",
    "_\r\n",
    "#t\r\n",
    ",1.5\r\n",
    "(12\r\n",
    "=5\r\ntxt:a\r\n",
    "%1\r\n",
    "~2\r\n",
    "|1\r\n",
    ">1\r\n",
    "$",
    "*",
    "\r\n",
    "\n",
    "\r",
    "3",
    "9999999999",
    "$?\r\n",
    "PING\r\n",
    "-",
    "+ab",
    "*1\r\n$4\r\nPING\r\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn replies_and_nearly_replies(
        parts in prop::collection::vec(prop::sample::select(PARTS), 0..14),
        spoil in proptest::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>())),
        at in any::<prop::sample::Index>(),
    ) {
        let mut text = parts.concat().into_bytes();
        if let Some((place, byte)) = spoil && !text.is_empty() {
            let place = place.index(text.len());
            text[place] = byte;
        }
        let at = at.index(text.len() + 1);
        oracle::check_replies(&text, at);
        oracle::check_captures(&text, at);
        oracle::check_commands(&text, at);
    }

    #[test]
    fn noise(noise in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()) {
        let at = at.index(noise.len() + 1);
        oracle::check_replies(&noise, at);
        oracle::check_captures(&noise, at);
        oracle::check_commands(&noise, at);
    }
}
