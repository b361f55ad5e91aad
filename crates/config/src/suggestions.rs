//! Suggestions for misspelled words.

/// Returns the most similar known word; up to a quarter of its letters may differ.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (letters, near) = known.map(|known| (distance(wrong, known), known)).min()?;
    (letters <= 1 + wrong.len() / 4).then_some(near)
}

/// Returns the number of letters to change, add or remove between two words (Levenshtein 1966).
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
