//! `--expect-header 'Content-Type: application/json*'`: a line that an answer must have.

/// One header line that is expected.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    name: String,
    /// The texts between stars, in order; None: any value.
    value: Option<Vec<String>>,
}

impl Header {
    /// Reads `NAME`, `NAME: VALUE` or `NAME: VA*UE`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Header, String> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value.trim().split('*').map(str::to_owned).collect())),
            None => (text, None),
        };
        let token = |b: u8| b.is_ascii_graphic() && !b"\"(),/:;<=>?@[\\]{}".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            return Err(format!(
                "\"{text}\" names no header; write NAME: VALUE, such as Content-Type: application/json*"
            ));
        }
        Ok(Header { name: name.to_owned(), value })
    }

    /// True where the head has such a line.
    pub fn holds(&self, head: &[u8]) -> bool {
        values(head, &self.name).any(|found| self.value.as_ref().is_none_or(|parts| fits(found, parts)))
    }
}

/// All values of a field in a head as HTTP/1 writes it.
pub fn values<'a>(head: &'a [u8], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let mut from = memchr::memchr(b'\n', head).map(|end| end + 1);
    let lines = std::iter::from_fn(move || {
        let rest = &head[from?..];
        let end = memchr::memchr(b'\n', rest);
        from = from.zip(end).map(|(from, end)| from + end + 1);
        Some(&rest[..end.unwrap_or(rest.len())])
    });
    lines.filter_map(move |line| {
        let (own, rest) = line.split_at_checked(name.len())?;
        let value = rest.strip_prefix(b":").filter(|_| own.eq_ignore_ascii_case(name.as_bytes()))?;
        Some(value.trim_ascii())
    })
}

/// Whether `found` is the parts with anything between them.
fn fits(found: &[u8], parts: &[String]) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| only.as_bytes() == found);
    };
    let Some(mut rest) = found.strip_prefix(first.as_bytes()) else { return false };
    for part in middle {
        let Some(at) = memchr::memmem::find(rest, part.as_bytes()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last.as_bytes())
}
