//! Slots in a text with literal braces: JSON, GraphQL, CSS, URI templates.
//!
//! A brace begins a slot only if the name of a slot follows directly and the rest parses as one (`{counter}`, `{random
//! 1..9}`, `{base64 {user}:x}`, `{id={uuid}}` and then `{id}`); every other brace is literal. `{{counter}}` is the
//! literal text `{counter}`. A word one typo away from the name of a slot that is possible there is an error, since
//! `{countr}` is hardly intended; any other word is literal.
//!
//! The name of a function alone does not make a slot, because `{length width}` is GraphQL: there must be another slot in
//! it. Names with a digit or a dash are no words of such languages: `{sha256 hello}` is a slot, and `{sha512 hello}` an
//! error.

use super::parse::{is_function, is_name, program};
use super::slots::{SlotScope, VALUES};
use super::{DataFiles, Notation};
use brunt_cause::{Complaint, complaint};

/// A piece of a text with literal braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotTextPiece<'a> {
    /// Literal text.
    Text(&'a str),
    /// A slot including its braces.
    Slot(&'a str),
}

/// Collects the names of the parts that a text defines: `{id={uuid}}` names a part, `{id=7}` does not.
pub fn collect_part_names(text: &str, scope: SlotScope<'_>, names: &mut Vec<String>) {
    for (at, _) in text.match_indices('{') {
        let rest = &text[at..];
        let name = leading_name(rest);
        if !name.is_empty()
            && rest[1 + name.len()..].starts_with('=')
            && !is_reserved_name(name, scope)
            && !names.iter().any(|known| known == name)
            && balanced_slot(rest).is_some_and(|slot| holds_slot(&slot[2 + name.len()..], &[], scope))
        {
            names.push(name.to_owned());
        }
    }
}

/// Returns the length of the slot at the beginning of a text; `None` if the text does not begin with a slot.
pub fn slot_length(text: &str) -> Option<usize> {
    slot(text, &[], SlotScope::default()).map(str::len)
}

/// Splits a text into pieces; `names` are the names of its parts.
///
/// # Errors
/// A word is probably a misspelled slot.
pub fn split_pieces<'a>(
    text: &'a str,
    names: &[String],
    scope: SlotScope<'_>,
) -> Result<Vec<SlotTextPiece<'a>>, Complaint> {
    let (mut all, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(brace) = memchr::memchr(b'{', &text.as_bytes()[at..]).map(|found| at + found) {
        let rest = &text[brace..];
        at = brace + 1;
        // `{{counter}}` is the literal text `{counter}`.
        if let Some(slot) = rest.strip_prefix('{').and_then(|inner| slot(inner, names, scope))
            && rest[1 + slot.len()..].starts_with('}')
        {
            all.push(SlotTextPiece::Text(&text[from..brace]));
            all.push(SlotTextPiece::Text(slot));
            from = brace + slot.len() + 2;
            at = from;
            continue;
        }
        let Some(slot) = slot(rest, names, scope) else {
            if brace == 0 || text.as_bytes()[brace - 1] != b'{' {
                reject_misspelled(rest, names, scope)?;
            }
            continue;
        };
        all.push(SlotTextPiece::Text(&text[from..brace]));
        all.push(SlotTextPiece::Slot(slot));
        from = brace + slot.len();
        at = from;
    }
    all.push(SlotTextPiece::Text(&text[from..]));
    all.retain(|piece| *piece != SlotTextPiece::Text(""));
    Ok(all)
}

/// Joins pieces to a template, with literal braces doubled.
pub fn to_template(pieces: &[SlotTextPiece<'_>]) -> String {
    let mut whole = String::new();
    for piece in pieces {
        match piece {
            SlotTextPiece::Text(text) => whole += &text.replace('{', "{{").replace('}', "}}"),
            SlotTextPiece::Slot(slot) => whole += slot,
        }
    }
    whole
}

/// Returns the word after a brace if it begins with a letter, otherwise an empty string.
fn leading_name(rest: &str) -> &str {
    let word = &rest[1..];
    let word = &word[..word.find(|c: char| !is_name(c)).unwrap_or(word.len())];
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { "" }
}

fn is_reserved_name(name: &str, scope: SlotScope<'_>) -> bool {
    scope.is_value(name) || is_function(name) || name == "text"
}

/// Returns the slot at the beginning of `rest`, if there is one.
fn slot<'a>(rest: &'a str, names: &[String], scope: SlotScope<'_>) -> Option<&'a str> {
    if !rest.starts_with('{') {
        return None;
    }
    let name = leading_name(rest);
    let behind = &rest[1 + name.len()..];
    if scope.is_value(name) || names.iter().any(|known| known == name) && !behind.starts_with('=') {
        let words = slot_words(behind)?;
        // Only encodings may follow the name of a part.
        let fits = scope.is_value(name) || words.is_empty() || words.trim_start().starts_with('|');
        return fits.then(|| &rest[..2 + name.len() + words.len()]);
    }
    let holds = match behind.chars().next()? {
        '=' => names.iter().any(|known| known == name),
        ' ' => is_function(name) || name == "text",
        _ => false,
    };
    let slot = balanced_slot(rest).filter(|_| holds)?;
    let content = &slot[2 + name.len()..];
    let is_constant = is_function(name) && is_no_word(name) && is_one_line(content);
    (is_constant || holds_slot(content, names, scope) || name == "text" && content.starts_with("{{")).then_some(slot)
}

/// Returns `true` for a name that other languages with braces do not use as a word.
fn is_no_word(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_digit() || c == '-')
}

/// Returns `true` if the content of a slot, up to its last brace, is a text on one line.
fn is_one_line(content: &str) -> bool {
    let text = content.strip_suffix('}').unwrap_or(content);
    !text.trim().is_empty() && !text.contains(['{', '"', '\n', '\r'])
}

/// Returns `true` for a name like those of digests, checksums and encodings: letters and a number of bits.
fn is_like_function(name: &str) -> bool {
    let name = name.strip_prefix("hmac-").unwrap_or(name);
    ["base", "sha", "md", "crc"].iter().any(|kind| {
        let bits = name.strip_prefix(kind).map(|bits| bits.trim_start_matches('-'));
        bits.is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Returns the words in a value slot up to its closing brace.
fn slot_words(behind: &str) -> Option<&str> {
    let words = &behind[..behind.find(['}', '{', '\n', '\r', '"'])?];
    let begins = words.is_empty() || words.starts_with([' ', '|']);
    (begins && behind[words.len()..].starts_with('}')).then_some(words)
}

/// Returns the text up to the brace that closes the first one.
fn balanced_slot(rest: &str) -> Option<&str> {
    let mut depth = 0;
    rest.char_indices().take(4096).find_map(|(at, c)| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        (depth == 0).then(|| &rest[..=at])
    })
}

/// Returns `true` if the content of a slot contains another slot.
fn holds_slot(content: &str, names: &[String], scope: SlotScope<'_>) -> bool {
    let mut left = content.match_indices('{').take(64);
    left.any(|(at, _)| {
        let rest = &content[at..];
        let name = leading_name(rest);
        let known = scope.is_value(name) || names.iter().any(|known| known == name);
        known && slot_words(&rest[1 + name.len()..]).is_some()
    })
}

/// Rejects a misspelled slot.
///
/// # Errors
/// The word after this brace is one typo away from the name of a slot that is possible there.
fn reject_misspelled(rest: &str, names: &[String], scope: SlotScope<'_>) -> Result<(), Complaint> {
    let name = leading_name(rest);
    let behind = &rest[1 + name.len().min(rest.len() - 1)..];
    if name.len() < 3 || is_reserved_name(name, scope) {
        return Ok(());
    }
    if is_like_function(name)
        && behind.starts_with(' ')
        && let Some(slot) = balanced_slot(rest)
        && (is_one_line(&slot[2 + name.len()..]) || holds_slot(&slot[2 + name.len()..], names, scope))
    {
        return Err(complaint!(
            "{{{name} …}} is not a slot; use {{base64 …}}, {{md5 …}}, {{sha1 …}}, {{sha256 …}}, {{hmac-sha256 KEY …}} or \
                {{crc32 …}}, or {{text {{{{{name}}}}}}} to send such a brace as it is",
            "{{{name} …}} 不是占位符；请用 {{base64 …}}、{{md5 …}}、{{sha1 …}}、{{sha256 …}}、{{hmac-sha256 KEY …}} 或 {{crc32 …}}；若要原样发送这个花括号，请写 {{text {{{{{name}}}}}}}"
        ));
    }
    let known = VALUES.into_iter().chain(scope.extra_names()).find(|right| is_typo(name, right));
    let own = names.iter().map(String::as_str).find(|right| is_typo(name, right));
    let Some(right) = own.or(known) else { return Ok(()) };
    let Some(words) = slot_words(behind) else { return Ok(()) };
    let corrected = format!("{{{right}{words}}}");
    let fits = match right {
        // Incomplete without words, but clearly meant as a slot.
        "random" if words.is_empty() => true,
        // The existence of the file or variable is not checked here.
        "csv" | "jsonl" => words.trim().contains('.'),
        "env" => !words.trim().is_empty() && !words.trim().contains(' '),
        _ if !scope.is_value(right) => words.is_empty(),
        _ => program(&corrected, (Notation::Plain, scope), &mut DataFiles::default()).is_ok(),
    };
    if !fits {
        return Ok(());
    }
    let wrong = format!("{{{name}{words}}}");
    let (right, wrong) =
        if right == "random" && words.is_empty() { ("{random 16}", wrong) } else { (&*corrected, wrong) };
    Err(complaint!(
        "{wrong} is not a slot; use {right}, or {{text {{{wrong}}}}} to send it as is",
        "{wrong} 不是占位符；请用 {right}，若要原样发送请写 {{text {{{wrong}}}}}"
    ))
}

/// Returns `true` if the words differ only in case or by one letter (missing, added, replaced or swapped with its
/// neighbour).
pub fn is_typo(wrong: &str, right: &str) -> bool {
    let lower = wrong.to_ascii_lowercase();
    let (a, b) = (lower.as_bytes(), right.as_bytes());
    if a == b {
        return wrong != right;
    }
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([_, a @ ..], b) if a == b => true,
        (a, [_, b @ ..]) if a == b => true,
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        ([p, q, a @ ..], [r, s, b @ ..]) => p == s && q == r && a == b,
        _ => false,
    }
}
