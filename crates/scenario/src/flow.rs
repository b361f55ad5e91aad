//! A flow: what a user does in order, iteration after iteration.
//!
//! The tree of a plan is compiled to a list of operations once; a user is then a place in that list, a few counters and the
//! moments at which its groups began. Nothing is allocated once all users have come.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use measure::{Nanos, Rng};
use plan::flow::{OnFailure, Pause};
use wire::Values;

use crate::program::{Op, Program};
use crate::{Act, News};

/// Not begun.
const NEVER: Nanos = Nanos::MAX;
/// Begun, but nothing was sent yet.
const SOON: Nanos = Nanos(u64::MAX - 1);
/// An iteration that sends nothing lasts at least so long, so that a user without anything to send keeps no core busy.
const IDLE: Nanos = Nanos::from_millis(10);
/// So many operations are gone through before others have their turn.
const AT_A_TIME: u32 = 1000;

/// An iteration, or a group of it, began or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whose.
    pub user: u32,
    /// Which: 0 is the iteration as a whole, the groups follow in the order of [`plan::flow::Flow::groups`].
    pub span: u16,
    /// When it began: for an iteration, when it was due; for a group, when its first request was.
    pub began: Nanos,
    /// What became of it.
    pub what: What,
}

/// What became of an iteration or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It began.
    Began,
    /// Its steps are done, or one of them failed so that it was left.
    Ended {
        /// No step of it failed.
        passed: bool,
        /// How long it took.
        lasted: Nanos,
        /// The same without pauses.
        active: Nanos,
    },
    /// The run ended before it did, when it had lasted so long.
    Cut(Nanos),
}

/// Where a user stands.
#[derive(Clone, Copy, Debug)]
struct Player {
    at: u32,
    /// It is in the middle of an iteration.
    plays: bool,
    /// A step of this iteration failed.
    failed: bool,
    /// A request of this iteration was sent.
    sent: bool,
    /// It leaves for good after this iteration.
    leaves: bool,
    /// It finished an iteration before.
    again: bool,
    /// Pauses of this iteration so far.
    slept: Nanos,
    last_answer: Nanos,
}

/// One iteration or group of a user under way.
#[derive(Clone, Copy, Debug)]
struct Span {
    began: Nanos,
    /// What the user had slept by then.
    slept: Nanos,
    failed: bool,
}

const NEW: Player = Player {
    at: 0,
    plays: false,
    failed: false,
    sent: false,
    leaves: false,
    again: false,
    slept: Nanos::ZERO,
    last_answer: Nanos::ZERO,
};
const NOT_BEGUN: Span = Span { began: NEVER, slept: Nanos::ZERO, failed: false };

/// The users of one worker, each somewhere in the flow.
#[derive(Debug)]
pub struct Flow {
    program: Arc<Program>,
    players: Vec<Player>,
    /// For each user, as many as there are loops.
    counters: Vec<u32>,
    /// For each user, as many as there are spans.
    spans: Vec<Span>,
    told: Vec<Told>,
    rng: Rng,
}

impl Flow {
    /// A flow whose users draw from this seed.
    pub fn new(program: Arc<Program>, seed: u64) -> Flow {
        let rng = Rng::new(seed).fork(4);
        Flow { program, players: Vec::new(), counters: Vec::new(), spans: Vec::new(), told: Vec::new(), rng }
    }

    /// What began and ended since this was last asked; the vector is given back by [`Flow::give_back`].
    pub fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// The memory of [`Flow::told`] again.
    pub fn give_back(&mut self, mut told: Vec<Told>) {
        told.clear();
        if self.told.is_empty() {
            self.told = told;
        }
    }

    /// What happened to a user, and when.
    pub fn hear(&mut self, user: u32, news: News, at: Nanos) {
        match news {
            News::Begin => self.begin(user, at),
            News::Awake => {}
            News::Ended { fault, .. } => self.answered(user, fault.is_some(), at),
        }
    }

    fn begin(&mut self, user: u32, at: Nanos) {
        let needed = user as usize + 1;
        if self.players.len() < needed {
            self.players.resize(needed, NEW);
            self.counters.resize(needed * self.program.loops, 0);
            self.spans.resize(needed * self.program.spans, NOT_BEGUN);
        }
        let player = &mut self.players[user as usize];
        *player = Player { plays: true, again: player.again, last_answer: at, ..NEW };
        self.spans_of(user).fill(NOT_BEGUN);
        self.spans_of(user)[0] = Span { began: at, ..NOT_BEGUN };
        self.told.push(Told { user, span: 0, began: at, what: What::Began });
    }

    fn spans_of(&mut self, user: u32) -> &mut [Span] {
        let spans = self.program.spans;
        &mut self.spans[user as usize * spans..][..spans]
    }

    fn counter(&mut self, user: u32, which: u32) -> &mut u32 {
        &mut self.counters[user as usize * self.program.loops + which as usize]
    }

    /// A request is over: of one that failed the user leaves the iteration, or goes on.
    fn answered(&mut self, user: u32, failed: bool, at: Nanos) {
        let program = Arc::clone(&self.program);
        let Some(player) = self.players.get_mut(user as usize).filter(|player| player.plays) else { return };
        player.last_answer = at;
        if !failed {
            return;
        }
        player.failed = true;
        let before = player.at.checked_sub(1).and_then(|at| program.ops.get(at as usize));
        let on_failure = match before {
            Some(Op::Send(_, on_failure)) => *on_failure,
            _ => OnFailure::NextIteration,
        };
        if on_failure != OnFailure::GoOn {
            player.at = program.ops.len() as u32;
        }
        player.leaves |= on_failure == OnFailure::StopUser;
        let under_way = |span: &&mut Span| span.began < SOON;
        self.spans_of(user).iter_mut().filter(under_way).for_each(|span| span.failed = true);
    }

    /// What a user does next who knows these values, at a moment. [`Act::Done`]: its iteration is over.
    pub fn next(&mut self, user: u32, at: Nanos, values: &Values) -> Act {
        let program = Arc::clone(&self.program);
        for _ in 0..AT_A_TIME {
            let player = &mut self.players[user as usize];
            let Some(op) = program.ops.get(player.at as usize) else { return self.over(user, at) };
            player.at += 1;
            match op {
                Op::Send(request, _) => {
                    player.sent = true;
                    self.first_of_groups(user, at);
                    return Act::Send(*request);
                }
                Op::Pause(pause) => {
                    let pause = drawn(pause, &mut self.rng);
                    return self.pause(user, pause);
                }
                Op::Pace(pace) => {
                    let began = self.spans_of(user)[0].began;
                    let left = began.saturating_add(*pace) - at;
                    if left > Nanos::ZERO {
                        return self.pause(user, left);
                    }
                }
                Op::Begin(span) => self.spans_of(user)[usize::from(*span)] = Span { began: SOON, ..NOT_BEGUN },
                Op::End(span) => self.group_ends(user, *span),
                Op::Repeat(which, times) => *self.counter(user, *which) = *times,
                Op::Again(which, to) => {
                    let left = self.counter(user, *which);
                    *left -= 1;
                    if *left > 0 {
                        self.players[user as usize].at = *to;
                    }
                }
                Op::Choose(which) => {
                    let (mix, ways) = &program.choices[*which];
                    player.at = ways[mix.pick(&mut self.rng)];
                }
                Op::Goto(to) => player.at = *to,
                Op::Unless(condition, to) if !program.conditions[*condition].holds(|at| values.get(at)) => {
                    player.at = *to;
                }
                Op::Unless(..) => {}
                Op::Once(past) if player.again => player.at = *past,
                Op::Once(_) => {}
            }
        }
        Act::Pause(Nanos(1))
    }

    fn pause(&mut self, user: u32, pause: Nanos) -> Act {
        let player = &mut self.players[user as usize];
        player.slept = player.slept.saturating_add(pause);
        Act::Pause(pause)
    }

    /// Groups begin with their first request.
    fn first_of_groups(&mut self, user: u32, at: Nanos) {
        if self.program.spans == 1 {
            return;
        }
        let slept = self.players[user as usize].slept;
        for span in 1..self.program.spans {
            let group = &mut self.spans_of(user)[span];
            if group.began == SOON {
                (group.began, group.slept) = (at, slept);
                self.told.push(Told { user, span: span as u16, began: at, what: What::Began });
            }
        }
    }

    /// A group ends with its last answer; one that sent nothing was none.
    fn group_ends(&mut self, user: u32, span: u16) {
        let until = self.players[user as usize].last_answer;
        let group = std::mem::replace(&mut self.spans_of(user)[usize::from(span)], NOT_BEGUN);
        if group.began < SOON {
            self.tell_end(user, span, group, until);
        }
    }

    fn tell_end(&mut self, user: u32, span: u16, ended: Span, until: Nanos) {
        let slept = self.players[user as usize].slept - ended.slept;
        let lasted = until - ended.began;
        let what = What::Ended { passed: !ended.failed, lasted, active: lasted - slept };
        self.told.push(Told { user, span, began: ended.began, what });
    }

    /// All steps are done, or one failed.
    fn over(&mut self, user: u32, at: Nanos) -> Act {
        let player = &mut self.players[user as usize];
        if !player.plays {
            return Act::Done;
        }
        if !std::mem::replace(&mut player.sent, true) {
            return self.pause(user, IDLE);
        }
        self.end(user, at);
        if self.players[user as usize].leaves { Act::Leave } else { Act::Done }
    }

    fn end(&mut self, user: u32, at: Nanos) {
        for span in 1..self.program.spans as u16 {
            self.group_ends(user, span);
        }
        let player = &mut self.players[user as usize];
        (player.plays, player.again) = (false, true);
        let failed = player.failed;
        let iteration = std::mem::replace(&mut self.spans_of(user)[0], NOT_BEGUN);
        self.tell_end(user, 0, Span { failed, ..iteration }, at);
    }

    /// A user does nothing more: what it was in the middle of is cut, or failed where it had only to be told so. Somebody else may
    /// have its number next, where `anew`.
    pub fn left(&mut self, user: u32, at: Nanos, anew: bool) {
        let Some(player) = self.players.get_mut(user as usize) else { return };
        let plays = std::mem::take(&mut player.plays);
        player.again &= !anew;
        if !plays {
            return;
        }
        if player.failed && player.at as usize >= self.program.ops.len() {
            return self.end(user, at);
        }
        for span in 0..self.program.spans {
            let cut = std::mem::replace(&mut self.spans_of(user)[span], NOT_BEGUN);
            if cut.began < SOON {
                let what = What::Cut(at - cut.began);
                self.told.push(Told { user, span: span as u16, began: cut.began, what });
            }
        }
    }

    /// The run ends: nobody does anything more.
    pub fn all_left(&mut self, at: Nanos) {
        (0..self.players.len() as u32).for_each(|user| self.left(user, at, true));
    }
}

/// How long a pause is this time.
fn drawn(pause: &Pause, rng: &mut Rng) -> Nanos {
    let spread = |mean: Nanos, by: f64| Nanos::from_secs_f64((mean.as_secs_f64() + by).max(0.0));
    match *pause {
        Pause::Uniform { from, to } => rng.between(from, to),
        Pause::Normal { mean, deviation } => spread(mean, rng.normal() * deviation.as_secs_f64()),
        Pause::Exponential { mean } => Nanos::from_secs_f64(mean.as_secs_f64() * rng.exponential()),
    }
}
