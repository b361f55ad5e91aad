//! Cache lookup for a request: reads its encoded head, so that options, slots and cookies are already applied (RFC 9111
//! 4, 5.2.1).

use brunt_values::verify::header;

/// Fields with which a plan makes its own conditional or range request. Such a request bypasses the cache.
const BYPASS_FIELDS: [&str; 6] =
    ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range"];

/// A request that may be served from the cache.
#[derive(Debug)]
pub struct CacheLookup<'a> {
    /// Request head, up to and including the CR LF of its last field line.
    head: &'a [u8],
    /// Set if the request demands revalidation (`no-cache`, `max-age=0`).
    pub revalidates: bool,
}

impl<'a> CacheLookup<'a> {
    /// Reads a request head in HTTP/1 form. Returns `None` unless it is a plain `GET` without `no-store`.
    pub fn read(head: &'a [u8]) -> Option<CacheLookup<'a>> {
        let end = memchr::memmem::find(head, b"\r\n\r\n")?;
        let head = &head[..end + 2];
        let plain = head.starts_with(b"GET ")
            && BYPASS_FIELDS.iter().all(|name| header::field_values(head, name).next().is_none());
        let says = |name, words: &[&[u8]]| {
            let words = |line: &[u8]| {
                line.split(|b| *b == b',')
                    .any(|said| words.iter().any(|word| said.trim_ascii().eq_ignore_ascii_case(word)))
            };
            header::field_values(head, name).any(words)
        };
        let anew = says("cache-control", &[b"no-cache", b"max-age=0"]) || says("pragma", &[b"no-cache"]);
        (plain && !says("cache-control", &[b"no-store"])).then_some(CacheLookup { head, revalidates: anew })
    }

    /// Returns the values of the fields named by `vary`, in that order (RFC 9111 4.1).
    pub fn vary_values(&self, vary: &str) -> Box<[u8]> {
        let mut all = Vec::new();
        for name in vary.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            for value in header::field_values(self.head, name) {
                all.extend_from_slice(value);
                all.push(b',');
            }
            all.push(b'\n');
        }
        all.into()
    }
}

/// Writes the cache key of a request (scheme, host and target) to `key`. Returns `None` if the head is incomplete.
pub fn key(head: &[u8], secure: bool, key: &mut Vec<u8>) -> Option<()> {
    key.clear();
    let line = &head[..memchr::memchr(b'\r', head)?];
    let target = line.split(|b| *b == b' ').nth(1)?;
    key.push(if secure { b's' } else { b'p' });
    key.extend_from_slice(header::field_values(head, "host").next().unwrap_or_default());
    key.push(b' ');
    key.extend_from_slice(target);
    Some(())
}
