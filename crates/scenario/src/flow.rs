//! A flow: the steps a user performs in order, iteration after iteration.
//!
//! The step tree of a plan is compiled to a list of operations. The state of a user is a position in that list, a few
//! counters and the start times of its groups. Nothing is allocated once all users have started.

mod batch;
mod failure;
mod position;
mod span_event;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use brunt_contract::{RequestId, UserValues};
use brunt_measure::{Nanos, Rng};
use brunt_plan::flow::{OnFailure, Pause, ROUNDS};

use crate::elements::element;
use crate::program::{ElementSource, FlowOp, FlowProgram};
use crate::{Action, Actions, RateLimit, Scenario, UserEvent, UserIndex, Wakeup};

pub use batch::BatchMember;
use position::{FlowPosition, FlowSection, NEW, NOT_BEGUN, OpenSpan, SOON};
pub use span_event::{SpanEvent, SpanEventKind};

/// Minimum duration of an iteration that sends nothing, so that its user does not occupy a core.
const IDLE: Nanos = Nanos::from_millis(10);
/// Maximum number of operations that one user executes before others get their turn.
const AT_A_TIME: u32 = 1000;
/// Number of consecutive [`Action::Yielded`] turns after which a user counts as stuck in an endless loop; this amounts
/// to a million operations without a request.
pub const ENDLESS: u32 = 1000;

/// The scope that a failed step stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopScope {
    /// Set if the whole run stops.
    pub run: bool,
    /// Set if the user stops for good.
    pub user: bool,
}

/// The flow state of all users of one worker.
#[derive(Debug)]
pub struct FlowScenario {
    program: Arc<FlowProgram>,
    positions: Vec<FlowPosition>,
    /// Loop counters, `program.loops` per user.
    counters: Vec<u32>,
    /// Spans, `program.spans` per user.
    spans: Vec<OpenSpan>,
    span_events: Vec<SpanEvent>,
    rng: Rng,
    /// Rate limits by request; `None` for requests without one, and empty if no request has one.
    rate_limits: Vec<Option<RateLimit>>,
    stops: StopScope,
    /// Set if arrivals bring the users, so that nobody begins an iteration because another one ended.
    by_arrivals: bool,
    /// Usual duration of the iterations that succeeded; `None` before the first.
    usual_duration: Option<Nanos>,
    /// Indices of the `close` steps passed by the user that was just advanced; their connections are closed before its
    /// next action.
    pending_closes: Vec<usize>,
    /// Scratch buffer for assembling a text.
    text: Vec<u8>,
}

impl FlowScenario {
    /// Creates a flow whose random numbers are derived from this seed.
    pub fn new(program: Arc<FlowProgram>, seed: u64) -> FlowScenario {
        let rng = Rng::new(seed).fork(4);
        FlowScenario {
            program,
            positions: Vec::new(),
            counters: Vec::new(),
            spans: Vec::new(),
            span_events: Vec::new(),
            rng,
            rate_limits: Vec::new(),
            stops: StopScope::default(),
            by_arrivals: false,
            usual_duration: None,
            pending_closes: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Sets the rate limits of requests.
    pub fn with_rate_limits(self, turns: Vec<Option<RateLimit>>) -> FlowScenario {
        FlowScenario { rate_limits: turns, ..self }
    }

    /// Sets whether arrivals bring the users.
    pub fn with_arrivals(self, by_arrivals: bool) -> FlowScenario {
        FlowScenario { by_arrivals, ..self }
    }

    /// Applies an event to a user.
    fn apply_event(&mut self, user: UserIndex, event: UserEvent, at: Nanos) {
        match event {
            UserEvent::Begin => self.begin(user, at),
            UserEvent::Resumed | UserEvent::NoMoreVisits => {}
            UserEvent::Ended { fault, on_failure, .. } => self.request_ended(user, fault.map(|_| on_failure), at),
            UserEvent::Cached => self.request_cached(user, at),
        }
    }

    fn begin(&mut self, user: UserIndex, at: Nanos) {
        let needed = user.at() + 1;
        if self.positions.len() < needed {
            self.positions.resize(needed, NEW);
            self.counters.resize(needed * self.program.counters, 0);
            self.spans.resize(needed * self.program.spans, NOT_BEGUN);
        }
        let first = self.positions[user.at()].section == FlowSection::Before;
        match self.program.start.filter(|_| first) {
            Some(from) => self.enter_section(user, at, (FlowSection::Start, from)),
            None => {
                self.enter_section(user, at, (FlowSection::Iterations, 0));
                self.spans_of(user)[0] = OpenSpan { began: at, ..NOT_BEGUN };
                self.span_events.push(SpanEvent { user, span: 0, began: at, kind: SpanEventKind::Began });
            }
        }
    }

    fn enter_section(&mut self, user: UserIndex, at: Nanos, (phase, from): (FlowSection, u32)) {
        let player = &mut self.positions[user.at()];
        *player = FlowPosition {
            at: from,
            active: true,
            section: phase,
            has_iterated: player.has_iterated,
            cut_in_a_row: player.cut_in_a_row,
            began: at,
            last_answer: at,
            ..NEW
        };
        self.spans_of(user).fill(NOT_BEGUN);
    }

    /// Advances the user until it waits, pauses or is done.
    fn advance(&mut self, user: UserIndex, at: Nanos, values: &mut UserValues, actions: &mut Actions) {
        loop {
            let act = self.next_action(user, at, values);
            let batch = self.last_batch_member(user);
            actions.extend(self.pending_closes.drain(..).rev().map(Action::Close));
            actions.extend(self.span_events.drain(..).map(Action::Report));
            match (act, batch) {
                (Action::Send(request), Some(batch)) => actions.push_back(Action::SendInBatch(request, batch)),
                (Action::Leave, _) if self.enter_end_section(user, at) => {}
                (act, _) => return actions.push_back(act),
            }
        }
    }

    /// Starts the end section of a user that begins no further iteration; returns `false` if there is no end section to
    /// run.
    fn enter_end_section(&mut self, user: UserIndex, at: Nanos) -> bool {
        let iterated = |player: &&FlowPosition| {
            player.section == FlowSection::Iterations || (player.section == FlowSection::Start && !player.leaving)
        };
        let ready = self.positions.get(user.at()).filter(iterated).is_some_and(|player| !player.active);
        let Some(from) = self.program.end.filter(|_| ready) else { return false };
        self.enter_section(user, at, (FlowSection::End, from));
        true
    }

    fn spans_of(&mut self, user: UserIndex) -> &mut [OpenSpan] {
        let spans = self.program.spans;
        &mut self.spans[user.at() * spans..][..spans]
    }

    fn counter(&mut self, user: UserIndex, which: u32) -> &mut u32 {
        &mut self.counters[user.at() * self.program.counters + which as usize]
    }

    /// Handles a finished request: after a failure, the user abandons the iteration or continues. `failed` carries the
    /// failure policy of a batch member.
    fn request_ended(&mut self, user: UserIndex, failed: Option<OnFailure>, at: Nanos) {
        let program = Arc::clone(&self.program);
        let Some(player) = self.positions.get_mut(user.at()).filter(|player| player.active) else { return };
        (player.last_answer, player.paused_by_answer) = (at, player.paused);
        (player.answered, player.cached_in_a_row, player.busy_turns) = (true, 0, 0);
        player.in_flight = player.in_flight.saturating_sub(1);
        if let Some(in_batch) = failed {
            self.request_failed(user, in_batch);
        }
        let player = &mut self.positions[user.at()];
        if player.batch_failed && player.in_flight == 0 {
            (player.batch_failed, player.batch_sent) = (false, 0);
            // An iterating user passes through the remaining steps without sending; a user that leaves or failed in its
            // start section is done.
            player.only_waits = player.section == FlowSection::Iterations && !player.leaving;
            if !player.only_waits {
                player.at = program.ops.len() as u32;
            }
        }
    }

    /// Handles a request answered from the user's cache. The user continues, but yields to others after many of these
    /// in a row.
    fn request_cached(&mut self, user: UserIndex, at: Nanos) {
        let Some(player) = self.positions.get(user.at()) else { return };
        let FlowPosition {
            answered: sent,
            cached_in_a_row: recalled,
            busy_turns: busy,
            last_answer,
            paused_by_answer: slept_by_answer,
            ..
        } = *player;
        self.request_ended(user, None, at);
        let player = &mut self.positions[user.at()];
        (player.answered, player.cached_in_a_row, player.busy_turns) = (sent, recalled + 1, busy);
        // A group does not end with a cached response.
        (player.last_answer, player.paused_by_answer) = (last_answer, slept_by_answer);
    }

    /// Returns the next action of a user. [`Action::Done`] ends its iteration.
    fn next_action(&mut self, user: UserIndex, at: Nanos, values: &mut UserValues) -> Action {
        let player = &mut self.positions[user.at()];
        let act = if player.cached_in_a_row >= AT_A_TIME && player.in_flight == 0 {
            player.cached_in_a_row = 0;
            Action::Yielded(player.busy_turns + 1)
        } else {
            self.run_operations(user, at, values)
        };
        let player = &mut self.positions[user.at()];
        player.busy_turns = match act {
            Action::Yielded(_) => player.busy_turns.saturating_add(1),
            // The request may turn out to be cached, so that nothing is sent.
            Action::Send(_) => player.busy_turns,
            _ => 0,
        };
        act
    }

    fn run_operations(&mut self, user: UserIndex, at: Nanos, values: &mut UserValues) -> Action {
        let program = Arc::clone(&self.program);
        for _ in 0..AT_A_TIME {
            let player = &mut self.positions[user.at()];
            if player.in_flight > 0 && player.batch_sent == 0 {
                return Action::Wait;
            }
            let Some(op) = program.ops.get(player.at as usize) else { return self.finish_operations(user, at) };
            player.at += 1;
            if player.only_waits && self.skips(user, op, values) {
                continue;
            }
            match op {
                FlowOp::Send(..) if self.positions[user.at()].disconnected => {
                    self.positions[user.at()].at -= 1;
                    return Action::Wait;
                }
                FlowOp::Send(request, _) => {
                    if let Some(wait) = self.rate_limit_delay(user, *request, at) {
                        return self.pause(user, wait);
                    }
                    self.positions[user.at()].in_flight = 1;
                    return Action::Send(*request);
                }
                FlowOp::Batch(batch) => {
                    if let Some(act) = self.next_of_batch(user, *batch, at) {
                        return act;
                    }
                }
                FlowOp::Pause(pause) => {
                    let pause = draw_pause(pause, &mut self.rng);
                    // A pause of zero length does not let others run.
                    if pause > Nanos::ZERO {
                        return self.pause(user, pause);
                    }
                }
                FlowOp::Pace(pace) => {
                    let left = self.positions[user.at()].began.saturating_add(*pace) - at;
                    if left > Nanos::ZERO {
                        return self.pause(user, left);
                    }
                }
                FlowOp::Close(which) => self.queue_close(*which),
                FlowOp::Begin(span) => self.spans_of(user)[usize::from(*span)] = OpenSpan { began: SOON, ..NOT_BEGUN },
                FlowOp::End(span) => self.end_group(user, *span),
                op => self.execute(user, op, values),
            }
        }
        Action::Yielded(self.positions[user.at()].busy_turns + 1)
    }

    /// Queues a `close` step unless it is already queued, because a loop may pass it more than once.
    fn queue_close(&mut self, which: usize) {
        if !self.pending_closes.contains(&which) {
            self.pending_closes.push(which);
        }
    }

    /// Returns how long the user waits for its turn to send this request; `None` if it may send now.
    fn rate_limit_delay(&mut self, user: UserIndex, request: RequestId, at: Nanos) -> Option<Nanos> {
        let turns = self.rate_limits.get(request.at())?.as_ref()?;
        let player = &mut self.positions[user.at()];
        if std::mem::take(&mut player.has_turn) {
            return None;
        }
        let wait = turns.next_delay(at);
        player.has_turn = wait > Nanos::ZERO;
        player.at -= u32::from(player.has_turn);
        player.has_turn.then_some(wait)
    }

    /// Executes an operation that sends nothing and takes no time, such as a jump or an assignment.
    fn execute(&mut self, user: UserIndex, op: &FlowOp, values: &mut UserValues) {
        let program = Arc::clone(&self.program);
        let player = &mut self.positions[user.at()];
        match op {
            FlowOp::Repeat(which, times) => *self.counter(user, *which) = *times,
            FlowOp::RepeatValue(which, value, _, past) => match rounds(values.get(*value)) {
                0 => player.at = *past,
                times => *self.counter(user, *which) = times,
            },
            FlowOp::EndRepeat(which, to, _) => {
                let left = self.counter(user, *which);
                *left -= 1;
                if *left > 0 {
                    self.positions[user.at()].at = *to;
                }
            }
            FlowOp::Choose(which) => {
                let (mix, ways) = &program.choices[*which];
                player.at = ways[mix.next_from(&mut self.rng)];
            }
            FlowOp::Goto(to) | FlowOp::NextRound(to, _) => player.at = *to,
            FlowOp::Unless(condition, to) if !program.conditions[*condition].holds(|at| values.get(at)) => {
                player.at = *to
            }
            FlowOp::Once(past) if player.has_iterated => player.at = *past,
            FlowOp::NextElement(list, counter, _, past) if !self.next_element(user, (*list, *counter), values) => {
                self.positions[user.at()].at = *past;
            }
            FlowOp::Set(variable, made) => {
                made.write(values, &mut self.text);
                values.set(*variable, &self.text);
            }
            FlowOp::Call(back, to) => {
                let from = std::mem::replace(&mut self.positions[user.at()].at, *to);
                *self.counter(user, *back) = from;
            }
            FlowOp::Return(back) => self.positions[user.at()].at = *self.counter(user, *back),
            // The other operations are handled by the caller.
            _ => {}
        }
    }

    /// Stores the next element of a list as a value; returns `false` at the end of the list.
    fn next_element(&mut self, user: UserIndex, (list, counter): (usize, u32), values: &mut UserValues) -> bool {
        let program = Arc::clone(&self.program);
        let Some(list) = program.lists.get(list) else { return false };
        let taken = *self.counter(user, counter) as usize;
        self.text.clear();
        match &list.source {
            ElementSource::Fixed(texts) => match texts.get(taken) {
                Some(made) => made.write(values, &mut self.text),
                None => return false,
            },
            ElementSource::Value(value) => match element(values, *value, taken) {
                Some(element) => self.text.extend_from_slice(&element),
                None => return false,
            },
        }
        values.set(list.variable, &self.text);
        *self.counter(user, counter) += 1;
        true
    }

    fn pause(&mut self, user: UserIndex, pause: Nanos) -> Action {
        let player = &mut self.positions[user.at()];
        player.paused = player.paused.saturating_add(pause);
        Action::Pause(pause)
    }

    /// Starts pending groups: a group begins with the first request actually sent.
    fn begin_groups(&mut self, user: UserIndex, at: Nanos) {
        if self.program.spans == 1 {
            return;
        }
        let FlowPosition { paused, delayed, .. } = self.positions[user.at()];
        for span in 1..self.program.spans {
            let group = &mut self.spans_of(user)[span];
            if group.began == SOON {
                (group.began, group.paused_before, group.delayed_before) = (at, paused, delayed);
                self.span_events.push(SpanEvent { user, span: span as u16, began: at, kind: SpanEventKind::Began });
            }
        }
    }

    /// Ends a group at the time of its last response; a group that sent nothing is not reported.
    fn end_group(&mut self, user: UserIndex, span: u16) {
        let FlowPosition { last_answer, paused_by_answer: slept_by_answer, .. } = self.positions[user.at()];
        let group = std::mem::replace(&mut self.spans_of(user)[usize::from(span)], NOT_BEGUN);
        if group.began < SOON {
            self.record_end(user, span, group, (last_answer, slept_by_answer));
        }
    }

    /// Records the end of a span. `until` is when it ended, `slept` how long the user had paused by then.
    fn record_end(&mut self, user: UserIndex, span: u16, ended: OpenSpan, (until, slept): (Nanos, Nanos)) {
        let slept = slept - ended.paused_before;
        let lasted = until - ended.began;
        let own = self.positions[user.at()].delayed - ended.delayed_before;
        let what = SpanEventKind::Ended { passed: !ended.failed, lasted, active: lasted - slept, own };
        self.span_events.push(SpanEvent { user, span, began: ended.began, kind: what });
    }

    /// Handles the end of the operation list: all steps are done, or one failed.
    fn finish_operations(&mut self, user: UserIndex, at: Nanos) -> Action {
        let player = &mut self.positions[user.at()];
        if !player.active {
            return Action::Done;
        }
        if player.section != FlowSection::Iterations {
            player.active = false;
            let goes_on = player.section == FlowSection::Start && !player.leaving;
            self.end_groups(user);
            return if goes_on { Action::Done } else { Action::Leave };
        }
        if !std::mem::replace(&mut player.answered, true) {
            return self.pause(user, IDLE);
        }
        if let Some(wait) = self.cut_short_delay(user, at) {
            return self.pause(user, wait);
        }
        self.end_iteration(user, at);
        if self.positions[user.at()].leaving { Action::Leave } else { Action::Done }
    }

    fn end_groups(&mut self, user: UserIndex) {
        (1..self.program.spans as u16).for_each(|span| self.end_group(user, span));
    }

    fn end_iteration(&mut self, user: UserIndex, at: Nanos) {
        self.end_groups(user);
        let player = &mut self.positions[user.at()];
        (player.active, player.has_iterated) = (false, true);
        let (failed, slept) = (player.failed, player.paused);
        let iteration = std::mem::replace(&mut self.spans_of(user)[0], NOT_BEGUN);
        if !failed {
            self.passed(user, at - iteration.began);
        }
        self.record_end(user, 0, OpenSpan { failed, ..iteration }, (at, slept));
    }

    /// Reports the open spans of a leaving user: as failed if the iteration had failed and would have sent nothing
    /// more, otherwise as cut.
    fn cut_spans(&mut self, user: UserIndex, at: Nanos, anew: bool) {
        let Some(player) = self.positions.get_mut(user.at()) else { return };
        let (plays, iterates) = (std::mem::take(&mut player.active), player.section == FlowSection::Iterations);
        player.has_iterated &= !anew;
        // The next user with this index starts from the beginning.
        (player.in_flight, player.section, player.cut_in_a_row) = (0, FlowSection::Before, 0);
        if !plays {
            return;
        }
        if iterates && player.failed && (player.only_waits || player.at as usize >= self.program.ops.len()) {
            return self.end_iteration(user, at);
        }
        for span in 0..self.program.spans {
            let cut = std::mem::replace(&mut self.spans_of(user)[span], NOT_BEGUN);
            if cut.began < SOON {
                let what = SpanEventKind::Cut(at - cut.began);
                self.span_events.push(SpanEvent { user, span: span as u16, began: cut.began, kind: what });
            }
        }
    }
}

impl Scenario for FlowScenario {
    fn wake(
        &mut self,
        Wakeup { user, event: news, at, disconnected: rests, .. }: Wakeup,
        values: &mut UserValues,
        actions: &mut Actions,
    ) {
        if news == UserEvent::NoMoreVisits && !self.enter_end_section(user, at) {
            return actions.push_back(Action::Leave);
        }
        self.apply_event(user, news, at);
        let stops = std::mem::take(&mut self.stops);
        if stops != StopScope::default() {
            actions.push_back(Action::Stop(stops));
        }
        // With several requests in flight, the last one to end decides what the user does.
        if rests && self.in_flight(user) > 0 {
            return actions.push_back(Action::Wait);
        }
        if let Some(position) = self.positions.get_mut(user.at()) {
            position.disconnected = rests;
        }
        self.advance(user, at, values, actions);
    }
    fn has_iterations(&self) -> bool {
        true
    }
    fn has_start_section(&self, user: UserIndex) -> bool {
        let first = self.positions.get(user.at()).is_none_or(|player| player.section == FlowSection::Before);
        first && self.program.start.is_some()
    }
    fn in_flight(&self, user: UserIndex) -> u32 {
        self.positions.get(user.at()).map_or(0, |player| player.in_flight)
    }
    fn is_in_batch(&self, user: UserIndex) -> bool {
        self.last_batch_member(user).is_some()
    }
    fn on_sent(&mut self, user: UserIndex, at: Nanos, actions: &mut Actions) {
        self.begin_groups(user, at);
        actions.extend(self.span_events.drain(..).map(Action::Report));
    }
    fn on_delayed(&mut self, user: UserIndex, own: Nanos, at: Nanos) {
        if let Some(position) = self.positions.get_mut(user.at()) {
            // Requests under way at the same time share their delays: what ends together was delayed once.
            position.delayed += own.min(at - position.delayed_until);
            position.delayed_until = at;
        }
    }
    fn on_leave(&mut self, user: UserIndex, at: Nanos, anew: bool, actions: &mut Actions) {
        self.cut_spans(user, at, anew);
        actions.extend(self.span_events.drain(..).map(Action::Report));
    }
}

/// Returns the number of rounds that a value stands for; none if it is missing or not a whole number.
fn rounds(value: Option<&[u8]>) -> u32 {
    let digits = value.and_then(|value| std::str::from_utf8(value).ok());
    digits.and_then(|digits| digits.trim().parse::<u32>().ok()).unwrap_or(0).min(ROUNDS)
}

/// Draws the length of a pause.
fn draw_pause(pause: &Pause, rng: &mut Rng) -> Nanos {
    let spread = |mean: Nanos, by: f64| Nanos::from_secs_f64((mean.as_secs_f64() + by).max(0.0));
    match *pause {
        Pause::Uniform { from, to } => rng.between(from, to),
        Pause::Normal { mean, deviation } => spread(mean, rng.normal() * deviation.as_secs_f64()),
        Pause::Exponential { mean } => Nanos::from_secs_f64(mean.as_secs_f64() * rng.exponential()),
    }
}
