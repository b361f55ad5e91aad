//! Choice of an image from a `srcset`, for a screen of common size and density.

/// Width of the screen in device pixels.
const WIDE: f64 = 1920.0;
/// Device pixels per CSS pixel.
const DENSE: f64 = 1.0;

/// Returns the chosen image of a `srcset`; `src` is the candidate of density 1 if the set has none. Returns `None` if
/// there is no candidate.
pub fn chosen<'t>(srcset: &'t str, src: Option<&'t str>) -> Option<&'t str> {
    let candidates = || Candidates(srcset).chain(src.map(|src| (src, DENSE)));
    let enough = |density: f64| density >= DENSE;
    let dense = candidates().filter(|(_, density)| enough(*density)).min_by(|a, b| a.1.total_cmp(&b.1));
    dense.or_else(|| candidates().max_by(|a, b| a.1.total_cmp(&b.1))).map(|(url, _)| url)
}

/// Iterator over the candidates of a `srcset` with their densities, parsed as HTML specifies (4.8.4.2.2).
struct Candidates<'t>(&'t str);

impl<'t> Iterator for Candidates<'t> {
    type Item = (&'t str, f64);

    fn next(&mut self) -> Option<(&'t str, f64)> {
        let rest = self.0.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, behind) = rest.split_at(end);
        if url.ends_with(',') {
            self.0 = behind;
            return Some((url.trim_end_matches(','), DENSE));
        }
        let end = end_of_descriptors(behind);
        self.0 = &behind[end..];
        Some((url, density(&behind[..end])))
    }
}

/// Returns the end of the descriptors; commas within parentheses do not count.
fn end_of_descriptors(text: &str) -> usize {
    let mut within = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => within = true,
            b')' => within = false,
            b',' if !within => return at,
            _ => {}
        }
    }
    text.len()
}

/// Parses `2x`, or `640w` for an image shown across the whole width of the screen.
fn density(descriptors: &str) -> f64 {
    let number =
        |word: &str, unit: char| word.strip_suffix(unit)?.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    let of = |word: &str| number(word, 'x').or_else(|| Some(number(word, 'w')? / WIDE));
    descriptors.split_ascii_whitespace().find_map(of).unwrap_or(DENSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_is_large_enough_is_taken_else_the_largest() {
        let check = |srcset, src, expected| assert_eq!(chosen(srcset, src), expected, "{srcset}");
        check("a.png 1x, b.png 2x", None, Some("a.png"));
        check("b.png 2x", Some("a.png"), Some("a.png"));
        check("b.png 2x, c.png 3x", None, Some("b.png"));
        check("s.png 640w, m.png 1920w, l.png 3840w", None, Some("m.png"));
        check("s.png 320w,  m.png 640w", None, Some("m.png"));
        check("a.png", None, Some("a.png"));
        check("a.png,", Some("z.png"), Some("a.png"));
        check(" , a.png ,b.png 2x", None, Some("a.png"));
        check("a,b.png 1x", None, Some("a,b.png"));
        check("a.png calc(1, 2) 3x, b.png 4x", None, Some("a.png"));
        check("a.png -1x, b.png NaNx", None, Some("a.png"));
        check("", None, None);
        check(" ,,, ", Some("a.png"), Some("a.png"));
    }
}
