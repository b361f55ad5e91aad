//! What the end of a stream that is held open means for the step that is on it: to one with `finish` its response, to another that
//! what it awaits never comes.

use cause::Cause;
use wire::{Done, Ended, Event, FaultKind};

use super::compressed::Encoding;
use super::expect::Came;
use super::held::{Awaiting, Over};
use super::said::EXCERPT_BOUND;
use super::status;
use super::steps::Step;
use values::kept::Budget;
use values::verify::header::Lines;

/// Tells it.
pub fn told(
    awaiting: Awaiting,
    steps: &[Step],
    metadata: &[Lines; 2],
    over: &Over,
    (budget, done): (&Budget, &mut Done),
) {
    let Awaiting { id, step, random, response, messages, payload, .. } = awaiting;
    let step = &steps[step];
    let status = over.status.unwrap_or(status::OK);
    let came = Came { heard: &response, metadata, status, encoding: Encoding::Identity, messages };
    let (mut fault, mut ours) = (over.fault.filter(|kind| *kind != FaultKind::WrongStatus), None::<Cause>);
    if fault.is_none() {
        fault = match step.finish {
            true if !step.success.has(status) => Some(FaultKind::WrongStatus),
            true => match step.expected.look(&came, (budget, random)) {
                Ok(taken) => {
                    if step.expected.takes() {
                        done.push(Event::Learnt(id, Box::new(taken)));
                    }
                    None
                }
                Err((kind, why)) => {
                    ours = Some(why);
                    Some(kind)
                }
            },
            false if status == status::OK => {
                ours = Some(cause::grpc::ended_ok().into());
                Some(FaultKind::WrongBody)
            }
            false => Some(FaultKind::WrongStatus),
        };
    }
    if fault.is_some() {
        let failed = step.expected.failed(&came, step.success, budget);
        let bits = if step.finish { failed.bits() } else { step.expected.all_failed().bits() };
        done.failed(id, bits);
    }
    let wanted = fault.filter(|kind| done.wants_example(*kind));
    let excerpt = wanted.filter(|_| ours.is_none()).map(|_| {
        let name = over.status.map(status::name).unwrap_or_default();
        let text =
            [name.as_str(), &over.said.en()].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(": ");
        text.into_bytes().into_iter().take(EXCERPT_BOUND).collect()
    });
    let why = if fault == Some(FaultKind::Closed) { Some(over.said.clone()) } else { ours };
    let code = over.status.map_or(0, status::counted);
    done.push(Event::Ended(Ended { id, fault, code, payload, excerpt, follow: None, why }));
}
