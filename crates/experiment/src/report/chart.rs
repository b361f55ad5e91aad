//! Pictures: points with intervals on two axes, drawn by the page.

use brunt_i18n::Lang;
use brunt_report::contrast::Measure;
use serde::Serialize;

use crate::words::short_name;

/// What the numbers of an axis are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "unit", rename_all = "snake_case")]
pub enum AxisUnit {
    /// Users.
    Users,
    /// Requests per second.
    PerSecond,
    /// Microseconds.
    Micros,
    /// A share, 1 is all.
    Share,
    /// Seconds since the beginning.
    Elapsed,
    /// Milliseconds since 1970.
    Moment,
    /// Plain numbers, such as those of runs.
    Number,
    /// Names; a number is an index of one.
    Names {
        /// All of them.
        names: Vec<String>,
    },
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// Unit of its numbers.
    #[serde(flatten)]
    pub unit: AxisUnit,
    /// Set if it is logarithmic.
    pub log: bool,
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Points, with their intervals as bars.
    Points,
    /// Points joined by a line.
    Line,
    /// A line that stays at a value until the next point.
    Steps,
    /// Bars from zero.
    Bars,
    /// Filled cells, coloured by their value.
    Cells,
}

/// A point.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChartPoint {
    /// Where it is on the first axis.
    pub x: f64,
    /// Where it is on the second axis.
    pub y: f64,
    /// Ends of its interval on the second axis, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Value of a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Value of a cell, with its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What it is, in words, shown when pointed at; empty for a point of a curve, which has no sign.
    pub label: String,
}

impl ChartPoint {
    /// Creates a point.
    pub fn new(x: f64, y: f64, label: String) -> ChartPoint {
        ChartPoint { x, y, label, ..ChartPoint::default() }
    }
}

/// Points of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartSeries {
    /// Name in the legend.
    pub name: String,
    /// How it is drawn.
    pub kind: SeriesKind,
    /// Its colour by meaning; `Plain` for one of a palette.
    pub tone: super::Tone,
    /// Points, by the first axis.
    pub points: Vec<ChartPoint>,
}

impl ChartSeries {
    /// Creates a series of the palette.
    pub fn new(name: String, kind: SeriesKind, points: Vec<ChartPoint>) -> ChartSeries {
        ChartSeries { name, kind, tone: super::Tone::Plain, points }
    }
}

impl Axis {
    /// Creates a linear axis.
    pub fn new(label: impl Into<String>, unit: AxisUnit) -> Axis {
        Axis { label: label.into(), unit, log: false }
    }

    /// Creates a logarithmic axis.
    pub fn logarithmic(label: impl Into<String>, unit: AxisUnit) -> Axis {
        Axis { log: true, ..Axis::new(label, unit) }
    }

    /// Creates the axis of a measure.
    pub fn of(measure: &Measure, lang: Lang) -> Axis {
        let unit = match measure.quantile() {
            Some(_) => AxisUnit::Micros,
            None if measure.is_share => AxisUnit::Share,
            None => AxisUnit::PerSecond,
        };
        Axis::new(short_name(measure, lang), unit)
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// What it shows, as a sentence without a full stop.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Series, the first below.
    pub series: Vec<ChartSeries>,
}
