//! Rates of parts in a column: rounded so that they add up to the rate of the whole as it is shown.

use brunt_i18n::numbers;

/// Formats the rates of all parts of a whole. Each is rounded up or down, those with the largest remainders up, so that
/// the sum of what is shown is what is shown of the whole. Parts that are not all of it are rounded one by one.
pub(super) fn add_up(whole: f64, parts: &[f64]) -> Vec<String> {
    let shown = numbers::rate(whole);
    let decimals = shown.find('.').map_or(0, |point| shown.len() - point - 1);
    let scale = 10_f64.powi(decimals as i32);
    let is_all = (parts.iter().sum::<f64>() - whole).abs() < 0.5 / scale;
    let units: Vec<f64> = parts.iter().map(|part| (part * scale + 1e-9).floor()).collect();
    // Those too small to be counted so are shown as they are.
    if !is_all || units.iter().zip(parts).any(|(units, part)| *units < 1.0 && *part > 0.0) {
        return parts.iter().map(|part| numbers::rate(*part)).collect();
    }
    let missing = (whole * scale).round() - units.iter().sum::<f64>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| (parts[*b] * scale - units[*b]).total_cmp(&(parts[*a] * scale - units[*a])));
    let mut rounded = units;
    order.into_iter().take(missing.max(0.0) as usize).for_each(|at| rounded[at] += 1.0);
    let show = |units: f64| match decimals {
        0 => numbers::count(units as u64),
        _ => format!("{:.decimals$}", units / scale),
    };
    rounded.into_iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_whole_as_it_is_shown() {
        assert_eq!(numbers::rate(308.8), "309");
        assert_eq!(add_up(308.8, &[154.4, 154.4]), ["155", "154"]);
        assert_eq!(add_up(100.0, &[33.4, 33.3, 33.3]), ["34", "33", "33"]);
        assert_eq!(add_up(3_001.0, &[1_500.5, 1_500.5]), ["1,501", "1,500"]);
        assert_eq!(add_up(10.0, &[3.34, 3.33, 3.33]), ["3.4", "3.3", "3.3"]);
        assert_eq!(add_up(900.0, &[250.0, 150.0, 250.0, 250.0]), ["250", "150", "250", "250"]);
    }

    #[test]
    fn other_parts_are_shown_as_they_are() {
        assert_eq!(add_up(308.8, &[154.4]), ["154"], "not all");
        assert_eq!(add_up(300.4, &[300.0, 0.4]), ["300", "0.400"], "too small to be rounded so");
        assert_eq!(add_up(0.0, &[0.0, 0.0]), ["0", "0"]);
    }
}
