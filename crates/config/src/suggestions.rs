//! Suggestions for misspelled words.

/// Returns the most similar known word; up to a quarter of its letters may differ.
pub fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (letters, near) = known.map(|known| (distance(wrong, known), known)).min()?;
    (letters <= 1 + wrong.len() / 4).then_some(near)
}

/// Returns the number of letters to change, add, remove or swap with the next one between two words (Damerau 1964, each
/// letter changed once).
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let swap = (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]).then(|| rows[i - 2][j - 2] + 1);
            let least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            row.push(swap.map_or(least, |swap| swap.min(least)));
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_are_swapped_count_once() {
        for (a, b, letters) in
            [("quite", "quiet", 1), ("", "ab", 2), ("abc", "abc", 0), ("kitten", "sitting", 3), ("ca", "abc", 3)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (letters, letters), "{a} {b}");
        }
    }
}
