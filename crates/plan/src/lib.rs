//! What was asked of a run: target, load, limits, objectives.
