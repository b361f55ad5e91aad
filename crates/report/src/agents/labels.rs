//! The figures of the agents with a label: `eu`, `asia`.

use std::collections::BTreeMap;

use super::{AgentSummary, FleetFigures};

/// The agents with a label, summed up. An agent with two labels is in both rows.
#[derive(Clone, Debug)]
pub struct LabelSummary {
    /// The label.
    pub label: String,
    /// Indices of its agents.
    pub agents: Vec<usize>,
    /// Share of the run's workers.
    pub share: f64,
    /// Their figures.
    pub figures: FleetFigures,
}

/// Maximum number of labels summed up; a record from another source may have any number.
const LABELS: usize = 64;

/// Sums up the agents by label, in the order of the labels.
pub(crate) fn by_label(agents: &[AgentSummary]) -> Vec<LabelSummary> {
    let mut labelled: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, agent) in agents.iter().enumerate() {
        for label in &agent.head.labels {
            let of_label = labelled.entry(label).or_default();
            if of_label.last() != Some(&index) {
                of_label.push(index);
            }
        }
    }
    labelled.into_iter().take(LABELS).map(|(label, indices)| sum_up(label, indices, agents)).collect()
}

fn sum_up(label: &str, indices: Vec<usize>, agents: &[AgentSummary]) -> LabelSummary {
    let (mut figures, mut share) = (FleetFigures::default(), 0.0);
    for agent in indices.iter().map(|index| &agents[*index]) {
        figures.merge(&agent.figures);
        share += agent.share;
    }
    LabelSummary { label: label.to_owned(), agents: indices, share, figures }
}
