//! Suggestions for a misspelled name.

/// Returns the nearest of `names` if it is near enough: a third of the letters may differ (optimal string alignment
/// distance).
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (wrong.chars().count() / 3).max(1);
    let distances =
        names.into_iter().map(|name| (strsim::osa_distance(&wrong.to_lowercase(), &name.to_lowercase()), name));
    distances.filter(|(far, _)| *far <= bound).min_by_key(|(far, _)| *far).map(|(_, name)| name)
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
