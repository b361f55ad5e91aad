//! Words that are near each other: what somebody meant who wrote another one.

/// The word that somebody who wrote another one may have meant: a quarter of its letters may differ.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (letters, near) = known.map(|known| (distance(wrong, known), known)).min()?;
    (letters <= 1 + wrong.len() / 4).then_some(near)
}

/// Letters to change, add or leave out between two words (Levenshtein 1966).
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = change.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
