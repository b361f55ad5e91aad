//! What holds for any text that is masked, for the fuzz target and for tests.

use serde::de::IgnoredAny;

use super::{Secrets, TextOrigin};

/// Masks a text from a peer, and checks that a document of JSON is one still, and that a secret that is known or has its
/// place in the text is not shown.
///
/// # Panics
/// Panics if this does not hold.
pub fn check(text: &str) {
    const PLANTED: &str = "pl4nted/9+Zq";
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    for origin in [TextOrigin::Received, TextOrigin::Sent, TextOrigin::Plan] {
        let mut shown = text.to_owned();
        Secrets::default().hide_all(&mut [(&mut shown, origin)]);
        assert!(!is_json(text) || is_json(&shown), "{text}\n{shown}");
    }
    let coded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, PLANTED);
    for planted in [PLANTED, "pl4nted%2F9%2BZq", "pl4nted\\/9\\u002bZq", &coded] {
        for mut said in [format!("{text}\n{planted}\n"), format!("\n{planted}\n{text}")] {
            let mut sent = format!("GET /?token={PLANTED} HTTP/1.1");
            let texts = &mut [(&mut sent, TextOrigin::Sent), (&mut said, TextOrigin::Received)];
            Secrets::default().hide_all(texts);
            assert!(!said.contains(planted) && !sent.contains(PLANTED), "{said}");
        }
    }
}
