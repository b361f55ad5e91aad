//! The simulation of a pattern that counts its steps (R. Pike's machine: all ways to match are followed at once, in the
//! order in which the pattern prefers them).

use regex_automata::Anchored;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::{MatchSpans, NO_SPAN, NO_SPANS, Span};
use crate::steps::{OutOfSteps, StepBudget};

/// Steps of the budget for one visited state.
const STEPS_PER_VISIT: u64 = 4;

/// A text to search.
pub(super) struct GroupMachine<'a> {
    pub nfa: &'a NFA,
    pub text: &'a [u8],
    pub steps: &'a StepBudget,
}

/// Memory reused from search to search.
#[derive(Debug, Default)]
pub(super) struct MachineMemory {
    current: ThreadList,
    next: ThreadList,
    stack: Vec<Follow>,
    /// Slots of the thread being followed: start and end of each group.
    slots: Vec<usize>,
}

/// The states in which the pattern may be, with the slots of each.
#[derive(Debug, Default)]
struct ThreadList {
    order: Vec<StateID>,
    /// Position of each state in `order`; meaningless for a state that is not there.
    position: Vec<u32>,
    slots: Vec<usize>,
}

#[derive(Debug)]
enum Follow {
    State(StateID),
    /// Undo of a slot, once everything behind it has been followed.
    Restore(usize, usize),
}

/// The value of a slot that is not set.
const UNSET: usize = usize::MAX;

impl ThreadList {
    fn reset(&mut self, states: usize, slots: usize) {
        self.order.clear();
        if self.position.len() < states {
            self.position.resize(states, 0);
        }
        if self.slots.len() < states * slots {
            self.slots.resize(states * slots, UNSET);
        }
    }

    /// Adds a state; returns `false` if it is there already.
    fn insert(&mut self, state: StateID) -> bool {
        let position = &mut self.position[state.as_usize()];
        let is_there = self.order.get(*position as usize) == Some(&state);
        if !is_there {
            *position = self.order.len() as u32;
            self.order.push(state);
        }
        !is_there
    }

    fn slots_of(&mut self, state: StateID, count: usize) -> &mut [usize] {
        &mut self.slots[state.as_usize() * count..][..count]
    }
}

impl GroupMachine<'_> {
    /// Returns the spans of the first match and of its groups up to `group`.
    ///
    /// # Errors
    /// The budget is spent.
    pub fn find(
        &self,
        (from, anchored): (usize, Anchored),
        group: usize,
        memory: &mut MachineMemory,
    ) -> Result<Option<MatchSpans>, OutOfSteps> {
        let count = 2 * (group + 1);
        let states = self.nfa.states().len();
        memory.current.reset(states, count);
        memory.next.reset(states, count);
        memory.slots.clear();
        memory.slots.resize(count, UNSET);
        let start = if anchored == Anchored::No { self.nfa.start_unanchored() } else { self.nfa.start_anchored() };
        self.follow(start, from, memory);
        std::mem::swap(&mut memory.current, &mut memory.next);
        let mut found: Option<MatchSpans> = None;
        for at in from..=self.text.len() {
            if memory.current.order.is_empty() {
                break;
            }
            if self.advance(at, memory) {
                let spans = found.insert(NO_SPANS);
                spans.iter_mut().zip(memory.slots.chunks(2)).for_each(|(one, pair)| *one = span(pair[0], pair[1]));
            }
            std::mem::swap(&mut memory.current, &mut memory.next);
            self.steps.result()?;
        }
        Ok(found)
    }

    /// Reads the byte at `at` in all current states. Returns `true` if one of them is the end of a match, whose slots
    /// are then those of the memory: less preferred ones are not followed.
    fn advance(&self, at: usize, memory: &mut MachineMemory) -> bool {
        memory.next.order.clear();
        let count = memory.slots.len();
        for index in 0..memory.current.order.len() {
            let state = memory.current.order[index];
            self.steps.spend(STEPS_PER_VISIT);
            let next = match self.nfa.state(state) {
                State::ByteRange { trans } => trans.matches(self.text, at).then_some(trans.next),
                State::Sparse(sparse) => sparse.matches(self.text, at),
                State::Dense(dense) => dense.matches(self.text, at),
                State::Match { .. } => {
                    memory.slots.copy_from_slice(memory.current.slots_of(state, count));
                    return true;
                }
                _ => None,
            };
            if let Some(next) = next {
                memory.slots.copy_from_slice(memory.current.slots_of(state, count));
                self.follow(next, at + 1, memory);
            }
        }
        false
    }

    /// Adds a state, and those reached from it without reading a byte, to the next ones.
    fn follow(&self, from: StateID, at: usize, memory: &mut MachineMemory) {
        let MachineMemory { next, stack, slots, .. } = memory;
        stack.push(Follow::State(from));
        while let Some(follow) = stack.pop() {
            let state = match follow {
                Follow::State(state) => state,
                Follow::Restore(slot, value) => {
                    slots[slot] = value;
                    continue;
                }
            };
            self.steps.spend(STEPS_PER_VISIT);
            if !next.insert(state) {
                continue;
            }
            match self.nfa.state(state) {
                State::Look { look, next } => {
                    if self.nfa.look_matcher().matches(*look, self.text, at) {
                        stack.push(Follow::State(*next));
                    }
                }
                State::Union { alternates } => stack.extend(alternates.iter().rev().copied().map(Follow::State)),
                State::BinaryUnion { alt1, alt2 } => stack.extend([Follow::State(*alt2), Follow::State(*alt1)]),
                State::Capture { next, slot, .. } => {
                    if let Some(place) = slots.get_mut(slot.as_usize()) {
                        stack.push(Follow::Restore(slot.as_usize(), std::mem::replace(place, at)));
                    }
                    stack.push(Follow::State(*next));
                }
                _ => next.slots_of(state, slots.len()).copy_from_slice(slots),
            }
        }
    }
}

fn span(from: usize, to: usize) -> Span {
    if from == UNSET || to == UNSET { NO_SPAN } else { (from, to) }
}
