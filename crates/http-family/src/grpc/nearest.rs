//! The name that somebody who wrote another one may have meant.

/// The nearest of `names`, where it is near: a third of the letters may differ (Damerau-Levenshtein without gaps).
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (wrong.chars().count() / 3).max(1);
    let distances = names.into_iter().map(|name| (distance(&wrong.to_lowercase(), &name.to_lowercase()), name));
    distances.filter(|(far, _)| *far <= bound).min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// Letters to insert, remove, replace or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = [Vec::new(), (0..=b.len()).collect::<Vec<usize>>(), Vec::new()];
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = rows[1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(rows[1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(rows[0][j - 2] + 1);
            }
        }
        rows.swap(0, 1);
        rows[1] = row;
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant() {
        let names = ["Check", "Watch", "SayHello"];
        let table = [
            ("check", Some("Check")),
            ("Chekc", Some("Check")),
            ("SayHelo", Some("SayHello")),
            ("Sayhello", Some("SayHello")),
            ("List", None),
            ("", None),
        ];
        for (wrong, meant) in table {
            assert_eq!(nearest(wrong, names), meant, "{wrong}");
        }
    }
}
