//! Placeholders of values in the texts of a plan: `{token}`, `{csv users.csv.password | url}`, `{base64 {user}:{pw}}`.
//! A placeholder is not secret, but the value it is filled with may be.

/// Maximum length of a placeholder in bytes.
const LONGEST: usize = 512;

/// Returns the placeholder at the beginning of a text.
///
/// A placeholder that contains others has no text of its own beside them but a name before a colon, so that
/// `{base64 {user}:secret}` is a text.
pub fn slot_at(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{').filter(|inner| inner.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    let mut depth = 1;
    let is_end = |(_, c): &(usize, char)| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        depth == 0 || matches!(c, '"' | '\n')
    };
    let (end, last) = inner.char_indices().take(LONGEST).find(is_end)?;
    let inner = &inner[..end];
    let own = match inner.split_once(' ') {
        Some((_, own)) if inner.contains('{') => {
            outside(own).all(|text| text.ends_with(':') || !text.contains(char::is_alphanumeric))
        }
        _ => !inner.contains(['{', ':']),
    };
    (last == '}' && own).then(|| &text[..end + 2])
}

/// Returns the parts of a text outside its placeholders.
pub fn outside(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let found = text.match_indices('{').find_map(|(at, _)| Some((at, slot_at(&text[at..])?)));
        let Some((at, slot)) = found else { return Some(text) };
        rest = Some(&text[at + slot.len()..]);
        Some(&text[..at])
    })
}

/// Returns the placeholders of a text, without their braces; instead of one that contains others, those behind its last
/// colon, as the name before a password is not secret.
pub fn slots(text: &str) -> Vec<&str> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(at) = text[from..].find('{').map(|at| from + at) {
        let Some(slot) = slot_at(&text[at..]) else {
            from = at + 1;
            continue;
        };
        from = at + slot.len();
        let inner = &slot[1..slot.len() - 1];
        match inner.contains('{') {
            true => found.extend(slots(inner.rsplit_once(':').map_or(inner, |(_, behind)| behind))),
            false => found.push(inner),
        }
    }
    found
}

/// Returns the name at the beginning of a placeholder's text, `token` of `token | url`.
pub fn name_of(slot: &str) -> &str {
    slot.split([' ', '|']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_texts_in_braces() {
        for slot in
            ["{token}", "{csv users.csv.password | url}", "{base64 {user}:{pw}}", "{base64 ann:{pw}}", "{env T}"]
        {
            assert_eq!(slot_at(&format!("{slot} x")), Some(slot));
        }
        for text in
            ["{}", "{\"a\":1}", "{a:1}", "{base64 {user}:pw}", "{base64 a:b}", "{token", "{1}", "x{token}", "{a\n}"]
        {
            assert_eq!(slot_at(text), None, "{text}");
        }
        assert_eq!(outside("a{b}c{\"d\"}").collect::<Vec<_>>(), ["a", "c{\"d\"}"]);
        assert_eq!(slots("{base64 {user}:{pw}} {csv f.key} {x"), ["pw", "csv f.key"]);
        assert_eq!(name_of("token | url"), "token");
    }
}
