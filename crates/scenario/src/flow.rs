//! A flow: the steps a user performs in order, iteration after iteration.
//!
//! The step tree of a plan is compiled once to a list of operations. A user is then a position in that list, a few
//! counters and the start times of its groups. Nothing is allocated once all users have started.

mod batch;
mod player;
#[cfg(test)]
mod tests;
mod told;

use std::sync::Arc;

use measure::{Nanos, Rng};
use plan::flow::{OnFailure, Pause};
use wire::{RequestId, Values};

use crate::program::{Of, Op, Program};
use crate::{Act, Acts, News, Scenario, Turns, UserIndex, Woken};

pub use batch::InBatch;
use player::{NEW, NOT_BEGUN, Phase, Player, SOON, Span};
pub use told::{Told, What};

/// Minimum duration of an iteration that sends nothing, so that a user with nothing to send does not spin on a core.
const IDLE: Nanos = Nanos::from_millis(10);
/// Maximum number of operations that one user executes before others get their turn.
const AT_A_TIME: u32 = 1000;
/// Number of consecutive [`Act::Busy`] turns without a request after which a user counts as stuck in an endless loop: a
/// million operations.
pub const ENDLESS: u32 = 1000;

/// The scope that a failed step stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// Set if the whole run stops.
    pub run: bool,
    /// Set if the user stops for good.
    pub user: bool,
}

/// The flow state of all users of one worker.
#[derive(Debug)]
pub struct Flow {
    program: Arc<Program>,
    players: Vec<Player>,
    /// Loop counters, `program.loops` per user.
    counters: Vec<u32>,
    /// Spans, `program.spans` per user.
    spans: Vec<Span>,
    told: Vec<Told>,
    rng: Rng,
    /// Rate limits by request; `None` for requests without one, and empty if no request has one.
    turns: Vec<Option<Turns>>,
    stops: Stops,
    /// Indices of the `close` steps that the user just advanced has passed; their connections are closed before its
    /// next action.
    closing: Vec<usize>,
    /// Scratch buffer for a text under construction.
    text: Vec<u8>,
}

impl Flow {
    /// Creates a flow whose users draw random numbers from this seed.
    pub fn new(program: Arc<Program>, seed: u64) -> Flow {
        let rng = Rng::new(seed).fork(4);
        Flow {
            program,
            players: Vec::new(),
            counters: Vec::new(),
            spans: Vec::new(),
            told: Vec::new(),
            rng,
            turns: Vec::new(),
            stops: Stops::default(),
            closing: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Sets the rate limits of requests.
    pub fn with_turns(self, turns: Vec<Option<Turns>>) -> Flow {
        Flow { turns, ..self }
    }

    /// Applies an event to a user.
    fn hear(&mut self, user: UserIndex, news: News, at: Nanos) {
        match news {
            News::Begin => self.begin(user, at),
            News::Awake | News::NoMore => {}
            News::Ended { fault, on_failure, .. } => self.answered(user, fault.map(|_| on_failure), at),
            News::Recalled => self.recalled(user, at),
        }
    }

    fn begin(&mut self, user: UserIndex, at: Nanos) {
        let needed = user.at() + 1;
        if self.players.len() < needed {
            self.players.resize(needed, NEW);
            self.counters.resize(needed * self.program.loops, 0);
            self.spans.resize(needed * self.program.spans, NOT_BEGUN);
        }
        let first = self.players[user.at()].phase == Phase::Before;
        match self.program.start.filter(|_| first) {
            Some(from) => self.goes_on(user, at, (Phase::Start, from)),
            None => {
                self.goes_on(user, at, (Phase::Iterations, 0));
                self.spans_of(user)[0] = Span { began: at, ..NOT_BEGUN };
                self.told.push(Told { user, span: 0, began: at, what: What::Began });
            }
        }
    }

    fn goes_on(&mut self, user: UserIndex, at: Nanos, (phase, from): (Phase, u32)) {
        let player = &mut self.players[user.at()];
        *player = Player { at: from, plays: true, phase, again: player.again, last_answer: at, ..NEW };
        self.spans_of(user).fill(NOT_BEGUN);
    }

    /// Advances the user until it waits, pauses or is done.
    fn go_on(&mut self, user: UserIndex, at: Nanos, values: &mut Values, acts: &mut Acts) {
        loop {
            let act = self.next(user, at, values);
            let batch = self.batch(user);
            acts.extend(self.closing.drain(..).rev().map(Act::Close));
            acts.extend(self.told.drain(..).map(Act::Tell));
            match (act, batch) {
                (Act::Send(request), Some(batch)) => acts.push_back(Act::SendTogether(request, batch)),
                (Act::Leave, _) if self.ends(user, at) => {}
                (act, _) => return acts.push_back(act),
            }
        }
    }

    /// Starts the end section of a user that begins no further iteration; returns `false` if there is none left to run.
    fn ends(&mut self, user: UserIndex, at: Nanos) -> bool {
        let iterated =
            |player: &&Player| player.phase == Phase::Iterations || (player.phase == Phase::Start && !player.leaves);
        let ready = self.players.get(user.at()).filter(iterated).is_some_and(|player| !player.plays);
        let Some(from) = self.program.end.filter(|_| ready) else { return false };
        self.goes_on(user, at, (Phase::End, from));
        true
    }

    fn spans_of(&mut self, user: UserIndex) -> &mut [Span] {
        let spans = self.program.spans;
        &mut self.spans[user.at() * spans..][..spans]
    }

    fn counter(&mut self, user: UserIndex, which: u32) -> &mut u32 {
        &mut self.counters[user.at() * self.program.loops + which as usize]
    }

    /// Handles a finished request: after a failure the user abandons the iteration or goes on. `failed` carries the
    /// failure policy of a batch member.
    fn answered(&mut self, user: UserIndex, failed: Option<OnFailure>, at: Nanos) {
        let program = Arc::clone(&self.program);
        let Some(player) = self.players.get_mut(user.at()).filter(|player| player.plays) else { return };
        (player.last_answer, player.slept_by_answer) = (at, player.slept);
        (player.sent, player.recalled, player.busy) = (true, 0, 0);
        player.flying = player.flying.saturating_sub(1);
        if let Some(in_batch) = failed {
            self.failed(user, in_batch);
        }
        let player = &mut self.players[user.at()];
        if player.dropped && player.flying == 0 {
            (player.dropped, player.batch) = (false, 0);
            // An iterating user passes through the remaining steps without sending; one that leaves, or failed in its
            // start section, is done.
            player.only_waits = player.phase == Phase::Iterations && !player.leaves;
            if !player.only_waits {
                player.at = program.ops.len() as u32;
            }
        }
    }

    /// Handles a request answered from the user's cache. The user goes on, but after many of these in a row it yields
    /// to others.
    fn recalled(&mut self, user: UserIndex, at: Nanos) {
        let Some(player) = self.players.get(user.at()) else { return };
        let Player { sent, recalled, busy, last_answer, slept_by_answer, .. } = *player;
        self.answered(user, None, at);
        let player = &mut self.players[user.at()];
        (player.sent, player.recalled, player.busy) = (sent, recalled + 1, busy);
        // A cached response is not a response that a group could end with.
        (player.last_answer, player.slept_by_answer) = (last_answer, slept_by_answer);
    }

    /// Handles a failed request according to its failure policy.
    fn failed(&mut self, user: UserIndex, in_batch: OnFailure) {
        let program = Arc::clone(&self.program);
        let player = &mut self.players[user.at()];
        player.failed = true;
        let op = |at: u32| program.ops.get(at as usize);
        let on_failure = match (op(player.at), player.at.checked_sub(1).and_then(op)) {
            (Some(Op::Batch(_)), _) if player.batch > 0 => in_batch,
            (_, Some(Op::Send(_, on_failure))) => *on_failure,
            _ => OnFailure::NextIteration,
        };
        player.dropped |= on_failure != OnFailure::GoOn;
        // A user whose start section failed has nothing to go on with.
        let begins = player.phase == Phase::Start && on_failure != OnFailure::GoOn;
        let leaves = begins || matches!(on_failure, OnFailure::StopUser | OnFailure::StopRun);
        let leaves_now = leaves && !player.leaves;
        player.leaves |= leaves;
        self.stops.run |= on_failure == OnFailure::StopRun;
        self.stops.user |= leaves_now && (begins || on_failure == OnFailure::StopUser);
        let under_way = |span: &&mut Span| span.began < SOON;
        self.spans_of(user).iter_mut().filter(under_way).for_each(|span| span.failed = true);
    }

    /// Returns the next action of a user. [`Act::Done`] ends its iteration.
    fn next(&mut self, user: UserIndex, at: Nanos, values: &mut Values) -> Act {
        let player = &mut self.players[user.at()];
        let act = if player.recalled >= AT_A_TIME && player.flying == 0 {
            player.recalled = 0;
            Act::Busy(player.busy + 1)
        } else {
            self.act(user, at, values)
        };
        let player = &mut self.players[user.at()];
        player.busy = match act {
            Act::Busy(_) => player.busy.saturating_add(1),
            // The request may turn out to be cached, so that nothing is sent.
            Act::Send(_) => player.busy,
            _ => 0,
        };
        act
    }

    fn act(&mut self, user: UserIndex, at: Nanos, values: &mut Values) -> Act {
        let program = Arc::clone(&self.program);
        for _ in 0..AT_A_TIME {
            let player = &mut self.players[user.at()];
            if player.flying > 0 && player.batch == 0 {
                return Act::Wait;
            }
            let Some(op) = program.ops.get(player.at as usize) else { return self.over(user, at) };
            player.at += 1;
            if player.only_waits && Flow::is_left_out(op, player.at) {
                continue;
            }
            match op {
                Op::Send(request, _) => {
                    if let Some(wait) = self.waits_for_turn(user, *request, at) {
                        return self.pause(user, wait);
                    }
                    self.players[user.at()].flying = 1;
                    return Act::Send(*request);
                }
                Op::Batch(batch) => {
                    if let Some(act) = self.next_of_batch(user, *batch, at) {
                        return act;
                    }
                }
                Op::Pause(pause) => {
                    let pause = drawn(pause, &mut self.rng);
                    // A pause of zero length gives others no turn.
                    if pause > Nanos::ZERO {
                        return self.pause(user, pause);
                    }
                }
                Op::Pace(pace) => {
                    let began = self.spans_of(user)[0].began;
                    let left = began.saturating_add(*pace) - at;
                    if left > Nanos::ZERO {
                        return self.pause(user, left);
                    }
                }
                Op::Close(which) => self.closes(*which),
                Op::Begin(span) => self.spans_of(user)[usize::from(*span)] = Span { began: SOON, ..NOT_BEGUN },
                Op::End(span) => self.group_ends(user, *span),
                op => self.turns(user, op, values),
            }
        }
        Act::Busy(self.players[user.at()].busy + 1)
    }

    /// Returns `true` for operations that a user skips after a failed step: everything that reaches a server, and every
    /// backward jump. The rest of the iteration still takes as long as its pauses and its pace say. A loop that the
    /// user reaches is passed once, even if the list it iterates over was never captured.
    fn is_left_out(op: &Op, next: u32) -> bool {
        match op {
            Op::Send(..) | Op::Batch(_) | Op::Again(..) | Op::Begin(_) | Op::Close(_) | Op::Element(..) => true,
            Op::Goto(to) => *to < next,
            _ => false,
        }
    }

    /// Queues a `close` step, once: a loop may pass the same one again.
    fn closes(&mut self, which: usize) {
        if !self.closing.contains(&which) {
            self.closing.push(which);
        }
    }

    /// Returns how long the user waits for its turn to send this request; `None` if it may send now.
    fn waits_for_turn(&mut self, user: UserIndex, request: RequestId, at: Nanos) -> Option<Nanos> {
        let turns = self.turns.get(request.at())?.as_ref()?;
        let player = &mut self.players[user.at()];
        if std::mem::take(&mut player.has_turn) {
            return None;
        }
        let wait = turns.take(at);
        player.has_turn = wait > Nanos::ZERO;
        player.at -= u32::from(player.has_turn);
        player.has_turn.then_some(wait)
    }

    /// Executes an operation that sends nothing and takes no time, such as a jump or an assignment.
    fn turns(&mut self, user: UserIndex, op: &Op, values: &mut Values) {
        let program = Arc::clone(&self.program);
        let player = &mut self.players[user.at()];
        match op {
            Op::Repeat(which, times) => *self.counter(user, *which) = *times,
            Op::Again(which, to) => {
                let left = self.counter(user, *which);
                *left -= 1;
                if *left > 0 {
                    self.players[user.at()].at = *to;
                }
            }
            Op::Choose(which) => {
                let (mix, ways) = &program.choices[*which];
                player.at = ways[mix.pick(&mut self.rng)];
            }
            Op::Goto(to) => player.at = *to,
            Op::Unless(condition, to) if !program.conditions[*condition].holds(|at| values.get(at)) => player.at = *to,
            Op::Once(past) if player.again => player.at = *past,
            Op::Element(list, counter, past) if !self.next_element(user, (*list, *counter), values) => {
                self.players[user.at()].at = *past;
            }
            Op::Set(variable, made) => {
                made.write(values, &mut self.text);
                values.set(*variable, &self.text);
            }
            Op::Call(back, to) => {
                let from = std::mem::replace(&mut self.players[user.at()].at, *to);
                *self.counter(user, *back) = from;
            }
            Op::Return(back) => self.players[user.at()].at = *self.counter(user, *back),
            // The other operations are handled by the caller.
            _ => {}
        }
    }

    /// Stores the next element of a list as a value; returns `false` at the end of the list.
    fn next_element(&mut self, user: UserIndex, (list, counter): (usize, u32), values: &mut Values) -> bool {
        let program = Arc::clone(&self.program);
        let Some(list) = program.lists.get(list) else { return false };
        let taken = *self.counter(user, counter) as usize;
        self.text.clear();
        match &list.of {
            Of::Fixed(texts) => match texts.get(taken) {
                Some(made) => made.write(values, &mut self.text),
                None => return false,
            },
            Of::Value(value) => match values.element(*value, taken) {
                Some(element) => self.text.extend_from_slice(element),
                None => return false,
            },
        }
        values.set(list.variable, &self.text);
        *self.counter(user, counter) += 1;
        true
    }

    fn pause(&mut self, user: UserIndex, pause: Nanos) -> Act {
        let player = &mut self.players[user.at()];
        player.slept = player.slept.saturating_add(pause);
        Act::Pause(pause)
    }

    /// Starts pending groups: a group begins with its first request that is really sent.
    fn groups_begin(&mut self, user: UserIndex, at: Nanos) {
        if self.program.spans == 1 {
            return;
        }
        let slept = self.players[user.at()].slept;
        for span in 1..self.program.spans {
            let group = &mut self.spans_of(user)[span];
            if group.began == SOON {
                (group.began, group.slept) = (at, slept);
                self.told.push(Told { user, span: span as u16, began: at, what: What::Began });
            }
        }
    }

    /// Ends a group with its last response; a group that sent nothing is not reported.
    fn group_ends(&mut self, user: UserIndex, span: u16) {
        let Player { last_answer, slept_by_answer, .. } = self.players[user.at()];
        let group = std::mem::replace(&mut self.spans_of(user)[usize::from(span)], NOT_BEGUN);
        if group.began < SOON {
            self.tell_end(user, span, group, (last_answer, slept_by_answer));
        }
    }

    /// Records the end of a span. `until` is when it ended, `slept` how long the user had paused by then.
    fn tell_end(&mut self, user: UserIndex, span: u16, ended: Span, (until, slept): (Nanos, Nanos)) {
        let slept = slept - ended.slept;
        let lasted = until - ended.began;
        let what = What::Ended { passed: !ended.failed, lasted, active: lasted - slept };
        self.told.push(Told { user, span, began: ended.began, what });
    }

    /// Handles the end of the operation list: all steps are done, or one failed.
    fn over(&mut self, user: UserIndex, at: Nanos) -> Act {
        let player = &mut self.players[user.at()];
        if !player.plays {
            return Act::Done;
        }
        if player.phase != Phase::Iterations {
            player.plays = false;
            let goes_on = player.phase == Phase::Start && !player.leaves;
            self.end_groups(user);
            return if goes_on { Act::Done } else { Act::Leave };
        }
        if !std::mem::replace(&mut player.sent, true) {
            return self.pause(user, IDLE);
        }
        self.end(user, at);
        if self.players[user.at()].leaves { Act::Leave } else { Act::Done }
    }

    fn end_groups(&mut self, user: UserIndex) {
        (1..self.program.spans as u16).for_each(|span| self.group_ends(user, span));
    }

    fn end(&mut self, user: UserIndex, at: Nanos) {
        self.end_groups(user);
        let player = &mut self.players[user.at()];
        (player.plays, player.again) = (false, true);
        let (failed, slept) = (player.failed, player.slept);
        let iteration = std::mem::replace(&mut self.spans_of(user)[0], NOT_BEGUN);
        self.tell_end(user, 0, Span { failed, ..iteration }, (at, slept));
    }

    /// Reports the open spans of a leaving user as cut, or as failed if the failure only had to be reported.
    fn left(&mut self, user: UserIndex, at: Nanos, anew: bool) {
        let Some(player) = self.players.get_mut(user.at()) else { return };
        let (plays, iterates) = (std::mem::take(&mut player.plays), player.phase == Phase::Iterations);
        player.again &= !anew;
        // The next user with this index starts from the beginning.
        (player.flying, player.phase) = (0, Phase::Before);
        if !plays {
            return;
        }
        if iterates && player.failed && (player.only_waits || player.at as usize >= self.program.ops.len()) {
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
}

impl Scenario for Flow {
    fn wake(&mut self, Woken { user, news, at, rests, .. }: Woken, values: &mut Values, acts: &mut Acts) {
        if news == News::NoMore && !self.ends(user, at) {
            return acts.push_back(Act::Leave);
        }
        self.hear(user, news, at);
        let stops = std::mem::take(&mut self.stops);
        if stops != Stops::default() {
            acts.push_back(Act::Stop(stops));
        }
        match (rests, self.under_way(user)) {
            (false, _) => self.go_on(user, at, values, acts),
            (true, 0) => {}
            // With several requests in flight, the last one to end decides what the user does.
            (true, _) => acts.push_back(Act::Wait),
        }
    }
    fn iterates(&self) -> bool {
        true
    }
    fn prepares(&self, user: UserIndex) -> bool {
        let first = self.players.get(user.at()).is_none_or(|player| player.phase == Phase::Before);
        first && self.program.start.is_some()
    }
    fn under_way(&self, user: UserIndex) -> u32 {
        self.players.get(user.at()).map_or(0, |player| player.flying)
    }
    fn is_in_batch(&self, user: UserIndex) -> bool {
        self.batch(user).is_some()
    }
    fn sends(&mut self, user: UserIndex, at: Nanos, acts: &mut Acts) {
        self.groups_begin(user, at);
        acts.extend(self.told.drain(..).map(Act::Tell));
    }
    fn leaves(&mut self, user: UserIndex, at: Nanos, anew: bool, acts: &mut Acts) {
        self.left(user, at, anew);
        acts.extend(self.told.drain(..).map(Act::Tell));
    }
}

/// Draws the length of a pause.
fn drawn(pause: &Pause, rng: &mut Rng) -> Nanos {
    let spread = |mean: Nanos, by: f64| Nanos::from_secs_f64((mean.as_secs_f64() + by).max(0.0));
    match *pause {
        Pause::Uniform { from, to } => rng.between(from, to),
        Pause::Normal { mean, deviation } => spread(mean, rng.normal() * deviation.as_secs_f64()),
        Pause::Exponential { mean } => Nanos::from_secs_f64(mean.as_secs_f64() * rng.exponential()),
    }
}
