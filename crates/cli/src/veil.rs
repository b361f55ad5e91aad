//! Secrets out of the events of a run, before anything shows or keeps them.

use plan::mask;
use record::{Probe, RunEvent};

/// Hides the secrets of an event; the plan and the command of its head are masked where they are made.
pub fn event(event: &mut RunEvent) {
    match event {
        RunEvent::Example(example) => {
            example.detail = mask::exchange(&example.detail);
            example.sent = mask::exchange(&example.sent);
            example.received = mask::exchange(&example.received);
        }
        RunEvent::Probe(found) => probe(found),
        // A server's reasons are its own words.
        RunEvent::Second(second) => {
            second.losses.iter_mut().for_each(|loss| loss.detail = mask::exchange(&loss.detail));
        }
        RunEvent::Started(_) | RunEvent::Notice(_) | RunEvent::Ended(_) => {}
    }
}

/// Hides the secrets of a probe.
pub fn probe(probe: &mut Probe) {
    probe.url = mask::url(&probe.url);
    probe.failure = probe.failure.take().map(|failure| mask::exchange(&failure));
}

/// Bytes as text: what is not text is written as \x escapes, secrets are hidden where `masked`.
pub fn bytes(bytes: &[u8], masked: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\r' | '\n' | '\t' => text.push(c),
                c if c.is_control() => {
                    c.to_string().bytes().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
                }
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    if masked { mask::exchange(&text) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Example;

    #[test]
    fn examples_and_probes_are_masked() {
        let mut example = RunEvent::Example(Example {
            sent: "GET /?token=a HTTP/1.1\r\nCookie: b\r\n".into(),
            received: "HTTP/1.1 500 Oh\r\nSet-Cookie: c\r\n".into(),
            ..Example::default()
        });
        event(&mut example);
        let RunEvent::Example(example) = example else { unreachable!() };
        assert_eq!(example.sent, "GET /?token=*** HTTP/1.1\r\nCookie: ***\r\n");
        assert_eq!(example.received, "HTTP/1.1 500 Oh\r\nSet-Cookie: ***\r\n");
        let mut found = RunEvent::Probe(Probe { url: "http://u:p@h/".into(), ..Probe::default() });
        event(&mut found);
        assert_eq!(found, RunEvent::Probe(Probe { url: "http://***@h/".into(), ..Probe::default() }));
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(bytes(b"a\x00\xff\xc3\xa9\r\n", true), "a\\x00\\xff\u{e9}\r\n");
        assert_eq!(bytes(b"Cookie: a\n", true), "Cookie: ***\n");
        assert_eq!(bytes(b"Cookie: a\n", false), "Cookie: a\n");
    }
}
