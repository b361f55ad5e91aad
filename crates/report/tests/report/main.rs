//! Tests of the report through its public interface: synthetic records in, documents out.

mod agents;
mod answers;
mod changed;
mod checks;
mod documents;
mod exits;
mod failures;
mod golden;
mod hostile;
mod html;
mod iterations;
mod joined;
mod known_mistakes;
mod limits;
mod live;
mod long;
mod named;
mod reference;
mod run_builder;
mod scenarios;
mod stretches;
mod traced;
