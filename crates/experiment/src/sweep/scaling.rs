//! How throughput scales along an axis of users, and from which rate on a queue grows.

use brunt_config::AxisKind;
use brunt_measure::steady::median;

use super::{SweepOutcome, TableCell};
use crate::laws::bounds::Demands;
use crate::laws::kneedle::{CurveShape, knee};
use crate::laws::usl::ScalabilityFit;

/// Share of what as many users alone would get below which the service is saturated: else the highest throughput is that of
/// the users, and no bound.
const SATURATED: f64 = 0.7;
/// Share of a rate below which it was not sustained.
const KEPT: f64 = 0.95;

/// What is known of the cells along one axis, for one value of the other.
#[derive(Clone, Debug)]
pub struct CurveScaling {
    /// Name of the other axis, and its value, as written; `None` if there is none.
    pub of: Option<(String, String)>,
    /// What the loads are.
    pub kind: AxisKind,
    /// Loads and throughput, per second, ascending.
    pub points: Vec<(f64, f64)>,
    /// Universal scalability law, along users.
    pub usl: Option<ScalabilityFit>,
    /// Asymptotic bounds, if a single user was measured, and more than the service can serve.
    pub bounds: Option<Demands>,
    /// Where the curve bends to the eye.
    pub visual_knee: Option<f64>,
    /// Lowest load at which fewer requests succeeded than were scheduled; along rates.
    pub unsustained: Option<f64>,
}

/// Returns a curve for each value of the axis beside that of the load.
pub(super) fn curves(found: &SweepOutcome) -> Vec<CurveScaling> {
    let axes = &found.plan.axes;
    let Some(along) = axes.iter().position(|axis| axis.kind != AxisKind::Other) else { return Vec::new() };
    let beside = (0..axes.len()).find(|axis| *axis != along);
    let values = beside.map_or(1, |beside| axes[beside].values.len());
    let curve = |value: usize| {
        let is_of = |cell: &&TableCell| beside.is_none_or(|beside| cell.at[beside] == value);
        let point = |cell: &TableCell| Some((cell.load, cell.throughput()?));
        let mut points: Vec<(f64, f64)> = found.cells.iter().filter(is_of).filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let unsustained = found.cells.iter().filter(is_of).filter(|cell| is_unsustained(cell)).map(|cell| cell.load);
        let unsustained = unsustained.reduce(f64::min).filter(|_| axes[along].kind == AxisKind::Rate);
        let of = beside.map(|beside| (axes[beside].name.clone(), axes[beside].values[value].clone()));
        CurveScaling { unsustained, ..curve_of(of, axes[along].kind, points, found.plan.seed) }
    };
    (0..values).map(curve).collect()
}

/// Returns `true` if fewer requests of a rate succeeded than were scheduled.
pub(super) fn is_unsustained(cell: &TableCell) -> bool {
    let scheduled = median(&cell.scheduled_per_s);
    cell.throughput().is_some_and(|throughput| throughput < KEPT * scheduled)
}

/// Returns what the points of a curve alone say.
pub(super) fn curve_of(
    of: Option<(String, String)>,
    kind: AxisKind,
    points: Vec<(f64, f64)>,
    seed: u64,
) -> CurveScaling {
    let is_users = kind == AxisKind::Users;
    let highest = points.iter().map(|(_, x)| *x).fold(0.0, f64::max);
    let alone = points.iter().find(|(n, x)| *n == 1.0 && *x > 0.0).map(|(_, x)| *x);
    let is_saturated = |alone: &f64| points.last().is_some_and(|(n, x)| *x < SATURATED * n * alone);
    let bounds = alone.filter(|_| is_users).filter(is_saturated).map(|alone| Demands::of_throughput(alone, highest));
    let usl = is_users.then(|| ScalabilityFit::of(&points, true, seed)).flatten();
    let visual_knee = if is_users { knee(&points, CurveShape::ConcaveIncreasing) } else { None };
    CurveScaling { of, kind, points, usl, bounds, visual_knee, unsustained: None }
}
