//! Where a curve bends: Kneedle (Satopää and others 2011), as the `kneed` package computes it, with sensitivity 1.
//!
//! The knee depends on the range of x that was measured: it is a visual aid, and no capacity.

/// How far the difference must fall below a maximum, in mean steps of x.
const SENSITIVITY: f64 = 1.0;

/// The shape of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveShape {
    /// Rises ever more slowly, as throughput with users does.
    ConcaveIncreasing,
    /// Falls ever faster.
    ConcaveDecreasing,
    /// Rises ever faster, as latency with load does.
    ConvexIncreasing,
    /// Falls ever more slowly.
    ConvexDecreasing,
}

/// Returns the x of the knee of points that are sorted by x; `None` if there is none.
pub fn knee(points: &[(f64, f64)], shape: CurveShape) -> Option<f64> {
    let xs = normalized(points.iter().map(|(x, _)| *x).collect())?;
    let mut ys = normalized(points.iter().map(|(_, y)| *y).collect())?;
    // Every shape is turned into the concave increasing one.
    let is_mirrored = matches!(shape, CurveShape::ConcaveDecreasing | CurveShape::ConvexIncreasing);
    if matches!(shape, CurveShape::ConvexIncreasing | CurveShape::ConvexDecreasing) {
        ys.iter_mut().for_each(|y| *y = 1.0 - *y);
    }
    if is_mirrored {
        ys.reverse();
    }
    let differences: Vec<f64> = ys.iter().zip(&xs).map(|(y, x)| y - x).collect();
    let at = first_knee(&differences, 1.0 / (xs.len() - 1) as f64)?;
    let at = if is_mirrored { points.len() - 1 - at } else { at };
    Some(points[at].0)
}

/// Scales values to 0 to 1; `None` if they are fewer than two, or all equal.
fn normalized(values: Vec<f64>) -> Option<Vec<f64>> {
    let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    (values.len() > 1 && most > least).then(|| values.iter().map(|v| (v - least) / (most - least)).collect())
}

/// Returns the index of the first maximum after which the differences fall below its threshold.
fn first_knee(differences: &[f64], mean_step: f64) -> Option<usize> {
    let last = differences.len() - 1;
    let neighbours = |i: usize| [differences[i.saturating_sub(1)], differences[(i + 1).min(last)]];
    let mut armed: Option<(usize, f64)> = None;
    for i in 0..last {
        let here = differences[i];
        if neighbours(i).iter().all(|other| here >= *other) {
            armed = Some((i, here - SENSITIVITY * mean_step));
        }
        if neighbours(i).iter().all(|other| here <= *other) {
            armed = None;
        }
        if let Some((at, threshold)) = armed
            && differences[i + 1] < threshold
        {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(ys: [f64; 10]) -> Vec<(f64, f64)> {
        ys.into_iter().enumerate().map(|(x, y)| (x as f64, y)).collect()
    }

    #[test]
    fn knees_are_those_of_kneed() {
        let hyperbola: Vec<(f64, f64)> =
            (0..10).map(|i| f64::from(i) / 9.0).map(|x| (x, -1.0 / (x + 0.1) + 5.0)).collect();
        let found = knee(&hyperbola, CurveShape::ConcaveIncreasing).expect("a knee");
        assert!((found - 0.2222).abs() < 1e-4, "{found}");
        let table = [
            ([0.0, 60.0, 80.0, 85.0, 90.0, 95.0, 96.0, 97.0, 98.0, 99.0], CurveShape::ConcaveIncreasing, 2.0),
            ([99.0, 98.0, 97.0, 96.0, 95.0, 90.0, 85.0, 80.0, 60.0, 0.0], CurveShape::ConcaveDecreasing, 7.0),
            ([1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0, 40.0, 100.0], CurveShape::ConvexIncreasing, 7.0),
            ([100.0, 40.0, 20.0, 15.0, 10.0, 5.0, 4.0, 3.0, 2.0, 1.0], CurveShape::ConvexDecreasing, 2.0),
        ];
        for (ys, shape, right) in table {
            assert_eq!(knee(&numbered(ys), shape), Some(right), "{shape:?}");
        }
    }

    #[test]
    fn flat_and_short_curves_have_none() {
        assert_eq!(knee(&numbered([5.0; 10]), CurveShape::ConcaveIncreasing), None);
        let short = [(1.0, 0.9048), (2.0, 0.8187), (3.0, 0.7408)];
        assert_eq!(knee(&short, CurveShape::ConvexDecreasing), None);
        assert_eq!(knee(&short[..1], CurveShape::ConvexDecreasing), None);
    }

    #[test]
    fn the_ladder_of_the_seed_bends_at_ten_users() {
        let users = [1.0, 4.0, 10.0, 20.0, 30.0, 50.0, 80.0, 100.0];
        let per_s = [6394.86, 16909.36, 18456.81, 19490.50, 19947.47, 19922.56, 19155.33, 18336.46];
        let points: Vec<(f64, f64)> = users.into_iter().zip(per_s).collect();
        assert_eq!(knee(&points, CurveShape::ConcaveIncreasing), Some(10.0));
    }
}
