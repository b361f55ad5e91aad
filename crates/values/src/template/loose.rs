//! Slots in a text that has braces of its own: JSON, GraphQL, CSS, URI templates.
//!
//! A brace begins a slot only where a slot's name stands directly behind it and what follows reads as one (`{counter}`,
//! `{random 1..9}`, `{base64 {user}:x}`, `{id={uuid}}` and then `{id}`); every other brace is itself. `{{counter}}` is
//! `{counter}` itself. A word that is one slip away from a slot's name is a complaint where the slot it was meant for could stand
//! there, since nobody sends `{countr}` on purpose; any other word is left alone.

use super::parse::{is_function, is_name, program};
use super::slots::{Scope, VALUES};
use super::{Files, Notation};

/// A piece of such a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// It stands for itself.
    Text(&'a str),
    /// A slot, braces included.
    Slot(&'a str),
}

/// The names that texts give to parts of theirs: `{id={uuid}}` names one, `{id=7}` does not.
pub fn names(text: &str, scope: Scope<'_>, names: &mut Vec<String>) {
    for (at, _) in text.match_indices('{') {
        let rest = &text[at..];
        let name = name_of(rest);
        if !name.is_empty()
            && rest[1 + name.len()..].starts_with('=')
            && !is_taken(name, scope)
            && !names.iter().any(|known| known == name)
            && whole(rest).is_some_and(|slot| holds_slot(&slot[2 + name.len()..], &[], scope))
        {
            names.push(name.to_owned());
        }
    }
}

/// How long the slot is that begins at the beginning of a text; None: none begins there.
pub fn slot_at(text: &str) -> Option<usize> {
    slot(text, &[], Scope::default()).map(str::len)
}

/// The pieces of a text in which parts have these names.
///
/// # Errors
/// A word that was meant to be a slot and is none.
pub fn pieces<'a>(text: &'a str, names: &[String], scope: Scope<'_>) -> Result<Vec<Found<'a>>, String> {
    let (mut all, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(brace) = memchr::memchr(b'{', &text.as_bytes()[at..]).map(|found| at + found) {
        let rest = &text[brace..];
        at = brace + 1;
        // `{{counter}}` is `{counter}`, without a value.
        if let Some(slot) = rest.strip_prefix('{').and_then(|inner| slot(inner, names, scope))
            && rest[1 + slot.len()..].starts_with('}')
        {
            all.push(Found::Text(&text[from..brace]));
            all.push(Found::Text(slot));
            from = brace + slot.len() + 2;
            at = from;
            continue;
        }
        let Some(slot) = slot(rest, names, scope) else {
            if brace == 0 || text.as_bytes()[brace - 1] != b'{' {
                meant(rest, names, scope)?;
            }
            continue;
        };
        all.push(Found::Text(&text[from..brace]));
        all.push(Found::Slot(slot));
        from = brace + slot.len();
        at = from;
    }
    all.push(Found::Text(&text[from..]));
    all.retain(|piece| *piece != Found::Text(""));
    Ok(all)
}

/// Pieces as a template has them: braces of the text's own doubled.
pub fn strict(pieces: &[Found<'_>]) -> String {
    let mut whole = String::new();
    for piece in pieces {
        match piece {
            Found::Text(text) => whole += &text.replace('{', "{{").replace('}', "}}"),
            Found::Slot(slot) => whole += slot,
        }
    }
    whole
}

/// The word behind a brace, where it begins with a letter.
fn name_of(rest: &str) -> &str {
    let word = &rest[1..];
    let word = &word[..word.find(|c: char| !is_name(c)).unwrap_or(word.len())];
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word } else { "" }
}

fn is_taken(name: &str, scope: Scope<'_>) -> bool {
    scope.is_value(name) || is_function(name) || name == "text"
}

/// The slot that begins with the brace at the beginning of `rest`.
fn slot<'a>(rest: &'a str, names: &[String], scope: Scope<'_>) -> Option<&'a str> {
    if !rest.starts_with('{') {
        return None;
    }
    let name = name_of(rest);
    let behind = &rest[1 + name.len()..];
    if scope.is_value(name) || names.iter().any(|known| known == name) && !behind.starts_with('=') {
        let words = words(behind)?;
        // A name of the text's own takes encodings and nothing else.
        let fits = scope.is_value(name) || words.is_empty() || words.trim_start().starts_with('|');
        return fits.then(|| &rest[..2 + name.len() + words.len()]);
    }
    let holds = match behind.chars().next()? {
        '=' => names.iter().any(|known| known == name),
        ' ' => is_function(name) || name == "text",
        _ => false,
    };
    let slot = whole(rest).filter(|_| holds)?;
    let content = &slot[2 + name.len()..];
    (holds_slot(content, names, scope) || name == "text" && content.starts_with("{{")).then_some(slot)
}

/// The words of a value's slot, up to its closing brace.
fn words(behind: &str) -> Option<&str> {
    let words = &behind[..behind.find(['}', '{', '\n', '\r', '"'])?];
    let begins = words.is_empty() || words.starts_with([' ', '|']);
    (begins && behind[words.len()..].starts_with('}')).then_some(words)
}

/// Up to the brace that closes the first one.
fn whole(rest: &str) -> Option<&str> {
    let mut depth = 0;
    rest.char_indices().take(4096).find_map(|(at, c)| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        (depth == 0).then(|| &rest[..=at])
    })
}

/// True where a slot stands in a content.
fn holds_slot(content: &str, names: &[String], scope: Scope<'_>) -> bool {
    let mut left = content.match_indices('{').take(64);
    left.any(|(at, _)| {
        let rest = &content[at..];
        let name = name_of(rest);
        let known = scope.is_value(name) || names.iter().any(|known| known == name);
        known && words(&rest[1 + name.len()..]).is_some()
    })
}

/// # Errors
/// The word behind this brace is no slot, and one slip away from one that could stand here.
fn meant(rest: &str, names: &[String], scope: Scope<'_>) -> Result<(), String> {
    let name = name_of(rest);
    let behind = &rest[1 + name.len().min(rest.len() - 1)..];
    if name.len() < 3 || is_taken(name, scope) {
        return Ok(());
    }
    let known = VALUES.into_iter().chain(scope.own()).find(|right| is_one_slip(name, right));
    let own = names.iter().map(String::as_str).find(|right| is_one_slip(name, right));
    let Some(right) = own.or(known) else { return Ok(()) };
    let Some(words) = words(behind) else { return Ok(()) };
    let corrected = format!("{{{right}{words}}}");
    let fits = match right {
        // Without words it says too little, and was meant all the same.
        "random" if words.is_empty() => true,
        // Whether there is such a file or variable is another matter.
        "csv" | "jsonl" => words.trim().contains('.'),
        "env" => !words.trim().is_empty() && !words.trim().contains(' '),
        _ if !scope.is_value(right) => words.is_empty(),
        _ => program(&corrected, (Notation::Plain, scope), &mut Files::default()).is_ok(),
    };
    if !fits {
        return Ok(());
    }
    let wrong = format!("{{{name}{words}}}");
    let (right, wrong) =
        if right == "random" && words.is_empty() { ("{random 16}", wrong) } else { (&*corrected, wrong) };
    Err(format!("{wrong} is not a slot; write {right}, or {{text {{{wrong}}}}} to send it as is"))
}

/// Equal but for one letter: missing, too many, another, or changed places with its neighbour; or but for capitals.
pub fn is_one_slip(wrong: &str, right: &str) -> bool {
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
