//! Nonlinear least squares by the method of Levenberg and Marquardt (Marquardt 1963), with bounds on the parameters.
//!
//! Steps are solved by Householder reflections of the damped Jacobian, whose columns are scaled: normal equations would
//! lose half of the digits. A parameter at a bound that the next step would leave is held for this step.

/// Iterations after which a fit is taken as it is.
const MOST_ITERATIONS: u32 = 20_000;
/// Damping at the start, its least factor after a good step, and where no step helps any more.
const DAMPING: f64 = 1e-3;
const EASED: f64 = 1.0 / 3.0;
const MOST_DAMPING: f64 = 1e25;
/// Relative change of all parameters below which the fit is done.
const PRECISE: f64 = 1e-14;

/// A curve: its value with these parameters at x; fills in its derivatives by the parameters.
pub type FitModel<'a> = dyn Fn(&[f64], f64, &mut [f64]) -> f64 + 'a;

/// A model with its data.
pub struct FitProblem<'a> {
    /// Points: x and y.
    pub points: &'a [(f64, f64)],
    /// Weight of the squared residual of each point; `None` for 1.
    pub weights: Option<&'a [f64]>,
    /// The curve to be fitted.
    pub model: &'a FitModel<'a>,
    /// Lowest and highest value of each parameter.
    pub bounds: &'a [[f64; 2]],
}

/// The parameters of a model at which the sum of squared residuals is least.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterFit {
    /// Parameters.
    pub values: Vec<f64>,
    /// Standard error of each; infinite where the data say nothing.
    pub errors: Vec<f64>,
    /// Weighted sum of squared residuals.
    pub squares: f64,
    /// Residual standard deviation: √(squares ÷ (points − parameters)); `None` if there are as many parameters.
    pub deviation: Option<f64>,
}

/// Residuals and their derivatives, a row for each point.
struct Linearized {
    rows: Vec<Vec<f64>>,
    residuals: Vec<f64>,
    squares: f64,
}

impl FitProblem<'_> {
    /// Fits the parameters, beginning at `start`. Returns `None` if the model has no finite value there, or there are
    /// fewer points than parameters.
    pub fn fit(&self, start: &[f64]) -> Option<ParameterFit> {
        let mut values = self.within_bounds(start);
        let mut at = self.linearize(&values);
        if self.points.len() < values.len() || !at.squares.is_finite() {
            return None;
        }
        let (mut damping, mut raised) = (DAMPING, 2.0);
        let mut scales = vec![0.0; values.len()];
        for _ in 0..MOST_ITERATIONS {
            let step = self.step(&values, &at, damping, &mut scales);
            let next = self.within_bounds(&values.iter().zip(&step).map(|(value, by)| value + by).collect::<Vec<_>>());
            let tried = self.linearize(&next);
            if tried.squares <= at.squares {
                let moved = |(a, b): (&f64, &f64)| (a - b).abs() > PRECISE * a.abs().max(b.abs());
                let is_done = !values.iter().zip(&next).any(moved);
                let eased = EASED.max(1.0 - (2.0 * gain(&at, &tried, &step) - 1.0).powi(3));
                (values, at, damping, raised) = (next, tried, damping * eased, 2.0);
                if is_done {
                    break;
                }
            } else if damping < MOST_DAMPING {
                damping *= raised;
                raised *= 2.0;
            } else {
                break;
            }
        }
        Some(self.finish(values, &at))
    }

    fn within_bounds(&self, values: &[f64]) -> Vec<f64> {
        values.iter().zip(self.bounds).map(|(value, [low, high])| value.clamp(*low, *high)).collect()
    }

    fn linearize(&self, values: &[f64]) -> Linearized {
        let (mut rows, mut residuals) = (Vec::new(), Vec::new());
        for (i, (x, y)) in self.points.iter().enumerate() {
            let mut row = vec![0.0; values.len()];
            let root = self.weights.map_or(1.0, |weights| weights[i].sqrt());
            residuals.push(root * (y - (self.model)(values, *x, &mut row)));
            row.iter_mut().for_each(|derivative| *derivative *= root);
            rows.push(row);
        }
        let squares = residuals.iter().map(|residual| residual * residual).sum();
        Linearized { rows, residuals, squares }
    }

    /// Returns the damped step of those parameters that are not held at a bound. Each is scaled by the largest norm that
    /// its column ever had, as in MINPACK, so that the damping never lets go of a parameter whose influence fades.
    fn step(&self, values: &[f64], at: &Linearized, damping: f64, scales: &mut [f64]) -> Vec<f64> {
        let downhill =
            |j: usize| at.rows.iter().zip(&at.residuals).map(|(row, residual)| row[j] * residual).sum::<f64>();
        let is_free = |j: &usize| {
            let ([low, high], towards) = (self.bounds[*j], downhill(*j));
            let leaves = (values[*j] <= low && towards < 0.0) || (values[*j] >= high && towards > 0.0);
            !leaves
        };
        let free: Vec<usize> = (0..values.len()).filter(is_free).collect();
        for (j, scale) in scales.iter_mut().enumerate() {
            *scale = scale.max(norm(at.rows.iter().map(|row| row[j])));
        }
        let scales: Vec<f64> = free.iter().map(|j| scales[*j]).collect();
        let scaled = |row: &Vec<f64>| free.iter().zip(&scales).map(|(j, scale)| row[*j] / scale).collect::<Vec<f64>>();
        let mut rows: Vec<Vec<f64>> = at.rows.iter().map(scaled).collect();
        let mut right = at.residuals.clone();
        for j in 0..free.len() {
            rows.push((0..free.len()).map(|i| if i == j { damping.sqrt() } else { 0.0 }).collect());
            right.push(0.0);
        }
        let solved = solve(rows, right);
        let mut step = vec![0.0; values.len()];
        free.iter().zip(solved).zip(&scales).for_each(|((j, by), scale)| step[*j] = by / scale);
        step
    }

    fn finish(&self, values: Vec<f64>, at: &Linearized) -> ParameterFit {
        let freedom = self.points.len() - values.len();
        let deviation = (freedom > 0).then(|| (at.squares / freedom as f64).sqrt());
        let errors = match deviation {
            Some(deviation) => unscaled_errors(at, values.len()).iter().map(|error| deviation * error).collect(),
            None => vec![f64::INFINITY; values.len()],
        };
        ParameterFit { values, errors, squares: at.squares, deviation }
    }
}

/// Returns the decrease of the sum of squares, as a share of what the linear model promised (Nielsen 1999).
fn gain(before: &Linearized, after: &Linearized, step: &[f64]) -> f64 {
    let left = |(row, residual): (&Vec<f64>, &f64)| {
        residual - row.iter().zip(step).map(|(derivative, by)| derivative * by).sum::<f64>()
    };
    let promised: f64 = before.rows.iter().zip(&before.residuals).map(left).map(|residual| residual * residual).sum();
    (before.squares - after.squares) / (before.squares - promised).max(f64::MIN_POSITIVE)
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    let norm = values.map(|value| value * value).sum::<f64>().sqrt();
    if norm > 0.0 { norm } else { 1.0 }
}

/// Returns √diag((JᵀJ)⁻¹): with R of J = QR, the norms of the rows of R⁻¹.
fn unscaled_errors(at: &Linearized, n: usize) -> Vec<f64> {
    let (mut rows, mut unused) = (at.rows.clone(), at.residuals.clone());
    triangulate(&mut rows, &mut unused);
    let columns: Vec<Vec<f64>> = (0..n)
        .map(|j| back_substitute(&rows, &(0..n).map(|i| f64::from(u8::from(i == j))).collect::<Vec<_>>()))
        .collect();
    let of_row = |i: usize| columns.iter().map(|column| column[i] * column[i]).sum::<f64>().sqrt();
    (0..n).map(of_row).map(|error| if error.is_finite() { error } else { f64::INFINITY }).collect()
}

/// Solves an overdetermined system in the sense of least squares.
fn solve(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    triangulate(&mut rows, &mut right);
    let n = rows.first().map_or(0, Vec::len);
    back_substitute(&rows, &right[..n])
}

/// Makes the system upper triangular by Householder reflections.
fn triangulate(rows: &mut [Vec<f64>], right: &mut [f64]) {
    for j in 0..rows.first().map_or(0, Vec::len) {
        let length = rows[j..].iter().map(|row| row[j] * row[j]).sum::<f64>().sqrt();
        if length == 0.0 {
            continue;
        }
        let head = rows[j][j];
        let diagonal = if head > 0.0 { -length } else { length };
        let mut mirror: Vec<f64> = rows[j..].iter().map(|row| row[j]).collect();
        mirror[0] -= diagonal;
        let square: f64 = mirror.iter().map(|part| part * part).sum();
        let reflect = |column: &mut dyn FnMut(usize) -> f64| -> f64 {
            2.0 * mirror.iter().enumerate().map(|(i, part)| part * column(j + i)).sum::<f64>() / square
        };
        for k in j..rows[j].len() {
            let by = reflect(&mut |i| rows[i][k]);
            mirror.iter().enumerate().for_each(|(i, part)| rows[j + i][k] -= by * part);
        }
        let by = reflect(&mut |i| right[i]);
        mirror.iter().enumerate().for_each(|(i, part)| right[j + i] -= by * part);
    }
}

/// Solves the upper triangular system; not finite where it is singular.
fn back_substitute(rows: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let n = right.len();
    let mut solved = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| rows[i][k] * solved[k]).sum();
        solved[i] = (right[i] - known) / rows[i][i];
    }
    solved
}

#[cfg(test)]
mod tests {
    //! Data sets for nonlinear regression of the Statistical Reference Datasets of NIST, with their certified values.

    use super::*;

    const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

    fn check(
        points: &[(f64, f64)],
        model: &FitModel<'_>,
        starts: &[&[f64]],
        (certified, squares): (&[f64], f64),
    ) -> ParameterFit {
        let bounds = vec![FREE; certified.len()];
        let problem = FitProblem { points, weights: None, model, bounds: &bounds };
        let mut last = None;
        for start in starts {
            let found = problem.fit(start).expect("a fit");
            for (found, right) in found.values.iter().zip(certified) {
                assert!((found / right - 1.0).abs() < 1e-7, "{start:?}: {found} is not {right}");
            }
            assert!((found.squares / squares - 1.0).abs() < 1e-8, "{start:?}: {} is not {squares}", found.squares);
            last = Some(found);
        }
        last.expect("a start")
    }

    #[test]
    fn misra1a() {
        let x = [77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0];
        let y = [10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let model = |b: &[f64], x: f64, by: &mut [f64]| {
            let falling = (-b[1] * x).exp();
            by.copy_from_slice(&[1.0 - falling, b[0] * x * falling]);
            b[0] * (1.0 - falling)
        };
        let certified = (&[238.942_129_18, 5.501_564_318_1e-4][..], 0.124_551_388_94);
        let found = check(&points, &model, &[&[500.0, 0.0001], &[250.0, 0.0005]], certified);
        for (found, right) in found.errors.iter().zip([2.707_007_524_1, 7.266_868_843_6e-6]) {
            assert!((found / right - 1.0).abs() < 1e-6, "{found} is not {right}");
        }
        assert!((found.deviation.expect("freedom") - 0.101_878_763_30).abs() < 1e-9);
    }

    #[test]
    fn mgh10_is_hard() {
        let y = [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872];
        let points: Vec<(f64, f64)> = (0..16).map(|i| 50.0 + 5.0 * f64::from(i)).zip(y.map(f64::from)).collect();
        let model = |b: &[f64], x: f64, by: &mut [f64]| {
            let e = (b[1] / (x + b[2])).exp();
            by.copy_from_slice(&[e, b[0] * e / (x + b[2]), -b[0] * e * b[1] / (x + b[2]).powi(2)]);
            b[0] * e
        };
        let certified = (&[5.609_636_471_0e-3, 6.181_346_346_3e3, 3.452_236_346_2e2][..], 87.945_855_171);
        check(&points, &model, &[&[2.0, 400_000.0, 25_000.0], &[0.02, 4000.0, 250.0]], certified);
    }

    #[test]
    fn rat42_and_dan_wood() {
        let x = [9.0, 14.0, 21.0, 28.0, 42.0, 57.0, 63.0, 70.0, 79.0];
        let y = [8.930, 10.800, 18.590, 22.330, 39.350, 56.110, 61.730, 64.620, 67.080];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let model = |b: &[f64], x: f64, by: &mut [f64]| {
            let e = (b[1] - b[2] * x).exp();
            let share = 1.0 / (1.0 + e);
            by.copy_from_slice(&[share, -b[0] * e * share * share, b[0] * x * e * share * share]);
            b[0] * share
        };
        let certified = (&[72.462_237_576, 2.618_076_840_2, 0.067_359_200_066][..], 8.056_522_933_8);
        check(&points, &model, &[&[100.0, 1.0, 0.1], &[75.0, 2.5, 0.07]], certified);

        let x = [1.309, 1.471, 1.490, 1.565, 1.611, 1.680];
        let y = [2.138, 3.421, 3.597, 4.340, 4.882, 5.660];
        let points: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        let model = |b: &[f64], x: f64, by: &mut [f64]| {
            let power = x.powf(b[1]);
            by.copy_from_slice(&[power, b[0] * power * x.ln()]);
            b[0] * power
        };
        let certified = (&[0.768_862_261_76, 3.860_405_587_1][..], 4.317_308_408_3e-3);
        check(&points, &model, &[&[1.0, 5.0], &[0.7, 4.0]], certified);
    }

    #[test]
    fn a_bound_holds_and_the_other_parameters_fit_beside_it() {
        // y = 3 − x, fitted by a slope of at least 0: the constant alone is the mean.
        let points: Vec<(f64, f64)> = (0..5).map(|x| (f64::from(x), 3.0 - f64::from(x))).collect();
        let model = |b: &[f64], x: f64, by: &mut [f64]| {
            by.copy_from_slice(&[1.0, x]);
            b[0] + b[1] * x
        };
        let problem = FitProblem { points: &points, weights: None, model: &model, bounds: &[FREE, [0.0, 9.0]] };
        let found = problem.fit(&[0.0, 5.0]).expect("a fit");
        assert!((found.values[0] - 1.0).abs() < 1e-12 && found.values[1] == 0.0, "{found:?}");
        let heavy = [1e6, 1.0, 1.0, 1.0, 1.0];
        let found = FitProblem { weights: Some(&heavy), ..problem }.fit(&[0.0, 5.0]).expect("a fit");
        assert!((found.values[0] - 3.0).abs() < 1e-4, "{found:?}");
        assert_eq!(FitProblem { points: &points[..1], ..problem }.fit(&[0.0, 5.0]), None);
    }
}
