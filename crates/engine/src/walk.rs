//! One user who goes through a flow once, alone and without its pauses: what `--debug` shows.

use std::cell::RefCell;
use std::sync::Arc;

use measure::{Clock, Nanos};
use plan::flow::Flow;
use scenario::{Act, News, Program};
use wire::{Dialogue, FaultKind, Values};

use crate::probe::{Way, probe_of};
use crate::{ProbeFailure, ProbeResult, Setup, Stop};

/// A loop that never ends is left after so many requests.
const MOST: usize = 200;

/// One step of a user who goes through a flow.
pub enum Walked {
    /// It sent a request.
    Sent {
        /// Which, by its index among those of the run.
        request: usize,
        /// What came of it.
        outcome: Result<Box<ProbeResult>, Box<ProbeFailure>>,
        /// The values it took out of the response, by name.
        captured: Vec<(String, Vec<u8>)>,
    },
    /// It would have paused for so long.
    Paused(Nanos),
    /// It was stopped after so many requests.
    TooFar(usize),
}

/// Goes through the flow of a plan once, each request on a connection of its own, unless it is on one that is the user's.
pub(crate) fn walk<D: Dialogue>(
    dialogue: &Arc<D>,
    (setup, stop): (&Setup, &Stop),
    flow: &Flow,
    told: &mut dyn FnMut(Walked),
) {
    let memory = RefCell::default();
    let way = Way::new(setup, stop, &memory);
    // Its conditions were read when the plan was checked.
    let program = Program::of(flow).unwrap_or_default();
    let mut user = scenario::Flow::new(Arc::new(program), setup.plan.seed);
    let mut now = Clock.now();
    user.hear(0, News::Begin, now);
    let mut sent = 0;
    while !stop.requested() {
        let act = user.next(0, now, &way.memory.borrow().values);
        match act {
            Act::Send(_) if sent == MOST => {
                told(Walked::TooFar(MOST));
                break;
            }
            Act::Send(request) => {
                let before = way.memory.borrow().values.clone();
                let outcome = probe_of(dialogue, request as usize, &way);
                sent += 1;
                now = now.max(Clock.now());
                user.hear(0, News::Ended { code: 0, fault: fault(&outcome) }, now);
                let captured = captured(flow, &before, &way.memory.borrow().values);
                told(Walked::Sent { request: request as usize, outcome: outcome.map(Box::new), captured });
            }
            Act::Pause(pause) => {
                now = now.saturating_add(pause);
                told(Walked::Paused(pause));
            }
            Act::Hold | Act::Done | Act::Leave => break,
        }
    }
    way.end();
}

fn fault(outcome: &Result<ProbeResult, Box<ProbeFailure>>) -> Option<FaultKind> {
    outcome.as_ref().err().map(|failure| failure.fault.unwrap_or(FaultKind::Closed))
}

/// The values that are others than before.
fn captured(flow: &Flow, before: &Values, after: &Values) -> Vec<(String, Vec<u8>)> {
    let changed = flow.variables.iter().enumerate().filter_map(|(at, name)| {
        let value = after.get(at as u16)?;
        (before.get(at as u16) != Some(value)).then(|| (name.clone(), value.to_vec()))
    });
    changed.collect()
}
