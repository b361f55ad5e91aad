//! What a request says that decides whether it may be answered with what is kept, read in its head, whatever options, slots and cookies
//! made it (RFC 9111 4, 5.2.1).

use values::verify::header;

/// Lines with which a user of a plan says itself what it has: nothing is answered for it, and nothing kept.
const OWN: [&str; 6] = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range"];

/// A request that may be answered with what is kept.
#[derive(Debug)]
pub struct Asking<'a> {
    /// The head.
    head: &'a [u8],
    /// Whoever has it asks nevertheless (`no-cache`).
    pub anew: bool,
}

impl<'a> Asking<'a> {
    /// Of a head as HTTP/1 writes it. None: it is no plain `GET`.
    pub fn read(head: &'a [u8]) -> Option<Asking<'a>> {
        let end = memchr::memmem::find(head, b"\r\n\r\n")?;
        let head = &head[..end + 2];
        let plain = head.starts_with(b"GET ") && OWN.iter().all(|name| header::values(head, name).next().is_none());
        let says = |name, words: &[&[u8]]| {
            let words = |line: &[u8]| {
                line.split(|b| *b == b',')
                    .any(|said| words.iter().any(|word| said.trim_ascii().eq_ignore_ascii_case(word)))
            };
            header::values(head, name).any(words)
        };
        let anew = says("cache-control", &[b"no-cache", b"max-age=0"]) || says("pragma", &[b"no-cache"]);
        (plain && !says("cache-control", &[b"no-store"])).then_some(Asking { head, anew })
    }

    /// What a response depends on that names these fields, by their values; in the order they are named in.
    pub fn selecting(&self, vary: &str) -> Box<[u8]> {
        let mut all = Vec::new();
        for name in vary.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            for value in header::values(self.head, name) {
                all.extend_from_slice(value);
                all.push(b',');
            }
            all.push(b'\n');
        }
        all.into()
    }
}

/// What an answer to a request with this head is kept under: where it goes. None: there is no whole head.
pub fn key(head: &[u8], secure: bool, key: &mut Vec<u8>) -> Option<()> {
    key.clear();
    let line = &head[..memchr::memchr(b'\r', head)?];
    let target = line.split(|b| *b == b' ').nth(1)?;
    key.push(if secure { b's' } else { b'p' });
    key.extend_from_slice(header::values(head, "host").next().unwrap_or_default());
    key.push(b' ');
    key.extend_from_slice(target);
    Some(())
}
