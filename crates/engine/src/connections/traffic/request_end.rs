//! Ends of requests: results are counted, the first failure of each class is kept, state is updated from responses, and
//! users are notified.

use brunt_cause::StaticCause;
use brunt_contract::{
    EventBuffer, ExchangeEnd, FaultKind, Origin, Phase, Request, ResourceSearch, SlotContext, StateUpdate, Trace,
    UserState,
};
use brunt_measure::Nanos;
use brunt_scenario::UserEvent;

use crate::exchange::{Exchange, ExchangeState, OF_PAGE, REUSED};
use crate::failure_cause::FailureCause;
use crate::failure_class::FailureClass;
use crate::ids::{ExchangeId, RequestId, UserId};
use crate::outcome::{FinishedRequest, NextHop, UserOutcome};
use crate::traces;
use crate::worker_message::{RawExample, WorkerMessage};

use super::Traffic;

impl Traffic {
    /// Ends the run: requests in flight are counted as unfinished.
    pub fn censor_all(&mut self) {
        for id in self.in_flight.all() {
            let x = self.in_flight.take(id);
            self.recorder.unfinished(&x, &self.limits, self.stamp);
        }
        for outcome in &self.outcomes {
            if let UserOutcome::Finished(FinishedRequest { follow: Some(next), .. }) = outcome {
                self.recorder.unfinished(&next.visit, &self.limits, self.stamp);
            }
        }
    }

    /// Ends a visit whose last hop its user had in its cache.
    pub fn ended_in_cache(&mut self, visit: &Exchange) {
        self.recorder.end(visit, self.stamp, !visit.is_warmup());
        self.recorder.succeeded(visit, self.stamp, Nanos::ZERO);
    }

    /// Reports the early failures, once: when they are due, or at once with `now_or_never`.
    pub fn report_early(&mut self, now_or_never: bool) {
        self.recorder.report_early(self.stamp, now_or_never);
    }

    /// Ends an exchange that its session has ended. `late` is set if it had timed out before; `broken` is the protocol
    /// error, if any. After it was sent, brunt itself may have delayed it by `late_by`.
    #[inline]
    pub fn ended(
        &mut self,
        x: &Exchange,
        mut ended: ExchangeEnd,
        (late, broken): (bool, Option<StaticCause>),
        late_by: Nanos,
        done: &mut EventBuffer,
    ) {
        let follow = if ended.fault.is_none() { ended.follow_up.take() } else { None };
        match follow.is_some() {
            true => self.recorder.redirected(x, ended.payload),
            false => self.visit_ended(x, &ended, (late, broken), late_by, done),
        }
        let lesson = self.state_update.take();
        let found = lesson.and_then(|lesson| self.update_state(x, ended.id, lesson)).filter(|_| ended.fault.is_none());
        self.in_flight.forget(x, ended.id);
        let event = UserEvent::Ended { code: ended.code, fault: ended.fault, on_failure: x.on_failure() };
        let timeout = self.in_flight.timeout(ended.id);
        let own = late_by + x.delayed.get();
        let follow = follow.map(|follow| {
            let mut visit = *x;
            visit.delayed.add(late_by);
            Box::new(NextHop { follow: *follow, visit, timeout })
        });
        let (user, page_finder) = (x.user, found);
        let over = FinishedRequest { user, follow, page_finder, timeout, event, back_off: false, own };
        self.outcomes.push(UserOutcome::Finished(over));
    }

    /// Counts the end of a request, or of the last hop of a visit.
    #[inline]
    fn visit_ended(
        &mut self,
        x: &Exchange,
        ended: &ExchangeEnd,
        (late, broken): (bool, Option<StaticCause>),
        late_by: Nanos,
        done: &mut EventBuffer,
    ) {
        self.recorder.end(x, self.stamp, ended.fault.is_none() && !x.is_warmup());
        self.recorder.responded(x, ended.code, ended.payload, late);
        if let Some(checks) = &self.checks {
            let failed = match ended.fault {
                None => Some(0),
                Some(_) => done.take_failed_checks(ended.id),
            };
            // Of a visit, only the last response is checked. Resources of a page have no checks.
            if let Some(failed) = failed.filter(|_| x.flags & OF_PAGE == 0) {
                self.recorder.checked(x.is_warmup(), checks.checks_of(x), failed);
            }
        }
        match ended.fault {
            None => {
                self.recorder.succeeded(x, self.stamp, late_by);
                self.traced(x, ended.id, traces::TracedOutcome { code: ended.code, failed: None });
            }
            Some(kind) => self.ended_with_fault(x, ended, kind, broken),
        }
    }

    /// Updates a user's state from the response to its request; returns the search for page resources, if any.
    #[cold]
    fn update_state(&mut self, x: &Exchange, id: ExchangeId, update: StateUpdate) -> Option<ResourceSearch> {
        let fill = self.in_flight.filled(x, id);
        let request = self.in_flight.request(&*self.workload, x, id)?;
        let mut none = UserState::default();
        let memory = self.user_states.as_mut().map_or(&mut none, |memories| memories.of(x.user));
        let found = self.workload.update_state(request, &fill, update, memory);
        if self.caches {
            self.recorder.cache_update(x, std::mem::take(&mut memory.savings));
        }
        found
    }

    fn ended_with_fault(&mut self, x: &Exchange, ended: &ExchangeEnd, kind: FaultKind, broken: Option<StaticCause>) {
        let phase = match kind {
            // The answer to a stream with messages has begun, whatever its final status.
            FaultKind::WrongStatus if x.last_message > Nanos::ZERO => Phase::Transfer,
            // The phase of a fault in a complete response must not depend on the pieces in which it arrived.
            FaultKind::WrongStatus | FaultKind::WrongHeader | FaultKind::TooManyRedirects => Phase::FirstByte,
            FaultKind::WrongBody | FaultKind::Unchecked => Phase::Transfer,
            FaultKind::BadValue => Phase::Wait,
            FaultKind::Timeout if self.in_flight.began_late(ended.id, x) => Phase::FirstByte,
            _ if x.first_byte == Nanos::ZERO => Phase::FirstByte,
            _ => Phase::Transfer,
        };
        let known = || match kind {
            FaultKind::BrokenProtocol | FaultKind::Unchecked => broken,
            FaultKind::Timeout => Some(brunt_cause::response::late()),
            _ => self.workload.code_meaning(ended.code),
        };
        let known = if ended.cause.is_none() { known().map(brunt_cause::Cause::from) } else { None };
        let why = ended.cause.as_ref().or(known.as_ref());
        let cause = FailureCause { sort: FailureClass { kind, phase, errno: None }, code: ended.code, why };
        self.failed(x, ended.id, &cause, ended.excerpt.as_deref());
    }

    /// Looks a request up in its user's cache. A hit is counted, and updates the user's state. Returns `None` on a
    /// miss, otherwise the search for page resources in the answer, if any.
    pub fn cached(
        &mut self,
        (user, name): (UserId, u16),
        due: Nanos,
        (request, fill): (&Request, &SlotContext<'_>),
    ) -> Option<Option<ResourceSearch>> {
        let memory = self.user_states.as_mut()?.of(user);
        let recalled = self.workload.cached_response(request, fill, memory)?;
        let found = recalled.update.and_then(|lesson| self.workload.update_state(request, fill, lesson, memory));
        self.recorder.cache_hit((name, user), recalled.bytes, due < self.limits.window);
        Some(found)
    }

    /// Replaces a request that leads where a value of its user says with the one that goes there, and returns its origin;
    /// `None` if it is no such request.
    ///
    /// # Errors
    /// Returns why it leads nowhere.
    #[cold]
    pub fn address(&mut self, id: ExchangeId) -> Option<Result<Origin, brunt_cause::Cause>> {
        let fill = self.in_flight.fill(id, self.stamp);
        let x = *self.in_flight.get(id);
        let request = self.in_flight.request(&*self.workload, &x, id)?;
        let addressed = match &mut self.user_states {
            None => self.workload.addressed(request, &fill),
            Some(memories) => {
                let memory = memories.of(x.user);
                self.workload.addressed(request, &SlotContext { values: &memory.values, ..fill })
            }
        };
        Some(addressed?.map(|follow| {
            let timeout = self.in_flight.timeout_of(x.request);
            self.in_flight.get(id).request = RequestId::NONE;
            self.in_flight.set_timeout(id, timeout);
            self.in_flight.set_request(id, follow.request);
            follow.origin
        }))
    }

    /// Fails an exchange now.
    pub fn fail(&mut self, id: ExchangeId, cause: &FailureCause<'_>, back_off: bool) {
        self.fail_with(id, cause, None, back_off);
    }

    /// Like [`Traffic::fail`]; `came` is the received part of the response.
    pub fn fail_with(&mut self, id: ExchangeId, cause: &FailureCause<'_>, came: Option<&[u8]>, back_off: bool) {
        let x = self.in_flight.take(id);
        self.recorder.end(&x, self.stamp, false);
        self.recorder.code(&x, cause.code);
        self.failed(&x, id, cause, came);
        self.in_flight.forget(&x, id);
        let fault = Some(cause.sort.kind);
        let news = UserEvent::Ended { code: cause.code, fault, on_failure: x.on_failure() };
        self.outcomes.push(UserOutcome::Finished(FinishedRequest {
            own: x.delayed.get(),
            back_off,
            ..FinishedRequest::of(x.user, news)
        }));
    }

    /// Counts a failure, and keeps the first example of its class.
    pub fn failed(&mut self, x: &Exchange, id: ExchangeId, cause: &FailureCause<'_>, excerpt: Option<&[u8]>) {
        self.recorder.failed(x, cause.sort, &self.limits, self.stamp);
        self.traced(x, id, traces::TracedOutcome { code: cause.code, failed: Some(cause.sort) });
        if !x.is_warmup() {
            self.keep_example(cause, Some((x, id)), excerpt);
        }
    }

    /// Records the failure of a connection for which no request waits: no request fails, but the failure is reported.
    pub fn connection_failed(&mut self, cause: &FailureCause<'_>) {
        self.recorder.count_failure(cause.sort);
        let code = Some(cause.code).filter(|code| *code > 0).map(|code| self.workload.code_name(code));
        let unsaid = code.filter(|code| cause.why.is_none_or(|why| !why.en().contains(code)));
        let whole = unsaid.map(|code| match cause.why {
            Some(why) => brunt_cause::response::with_code(code, why.clone()),
            None => brunt_cause::response::code_alone(code),
        });
        self.recorder.connection_not_opened(cause.sort, whole.as_ref().or(cause.why));
        self.keep_example(cause, None, None);
    }

    /// Keeps an example of a failure, if one of its class is wanted; `of` is the request that failed.
    pub fn keep_example(
        &mut self,
        cause: &FailureCause<'_>,
        of: Option<(&Exchange, ExchangeId)>,
        excerpt: Option<&[u8]>,
    ) {
        let FailureCause { sort, code, why } = *cause;
        if excerpt.is_some() {
            self.examples.count_excerpt(sort.kind);
        }
        let is_late = why.is_some_and(|why| *why == brunt_cause::response::late().into());
        if !self.examples.is_new(sort, is_late, of.map(|(x, _)| (x.name, code))) {
            return;
        }
        let sent = match of {
            Some((x, id)) if x.state == ExchangeState::InFlight => self.sent_bytes(x, id),
            _ => Vec::new(),
        };
        let values =
            of.zip(self.user_states.as_ref()).map(|((x, _), memories)| memories.used_values(x.user, x.request));
        let trace = of.filter(|_| self.recorder.has_traces()).and_then(|(x, id)| self.trace_of(x, id));
        let reused = of.is_some_and(|(x, _)| x.flags & REUSED != 0);
        let name = of.filter(|_| self.recorder.by_name()).map(|(x, _)| x.name);
        let code = if of.is_some() { code } else { 0 };
        let at_ns = self.stamp.0 as i64 - self.limits.window.0 as i64;
        let received = excerpt.unwrap_or_default().to_vec();
        let awaited = match of {
            Some((x, id)) if sort.kind == FaultKind::Timeout && why.is_none() => self.awaited(x, id),
            _ => None,
        };
        let why = awaited.or_else(|| why.cloned());
        self.recorder.report(WorkerMessage::Example(RawExample {
            sort,
            name,
            code,
            at_ns,
            why,
            sent,
            received,
            reused,
            trace,
            values: values.unwrap_or_default(),
        }));
    }

    /// Returns a description of the message that the request was waiting for, if only other messages arrived.
    fn awaited(&self, x: &Exchange, id: ExchangeId) -> Option<brunt_cause::Cause> {
        let request = self.in_flight.request(&*self.workload, x, id).filter(|_| x.state == ExchangeState::InFlight)?;
        Some(brunt_cause::connecting::none_like(self.workload.response_condition(request)?))
    }

    /// Keeps the trace of a completed request, if it is among the slowest.
    #[inline]
    pub fn traced(&mut self, x: &Exchange, id: ExchangeId, outcome: traces::TracedOutcome) {
        if self.recorder.has_traces()
            && !x.is_warmup()
            && let Some(trace) = self.trace_of(x, id)
        {
            self.recorder.traced(x, trace, outcome, self.stamp);
        }
    }

    /// Returns the trace of a request; `None` if it was never sent.
    fn trace_of(&self, x: &Exchange, id: ExchangeId) -> Option<Trace> {
        if x.state != ExchangeState::InFlight {
            return None;
        }
        let request = self.in_flight.request(&*self.workload, x, id)?;
        let fill = self.in_flight.filled(x, id);
        let unsaid = || self.workload.carries_no_trace(request).then(|| self.recorder.implicit_trace(&fill)).flatten();
        self.workload.trace(request, &fill).or_else(unsaid)
    }

    /// Returns the bytes that were sent, by encoding the request again.
    fn sent_bytes(&mut self, x: &Exchange, id: ExchangeId) -> Vec<u8> {
        let Some(request) = self.in_flight.request(&*self.workload, x, id) else { return Vec::new() };
        if let Some(memories) = &mut self.user_states {
            let memory = memories.of(x.user);
            let fill = SlotContext { values: &memory.values, ..self.in_flight.filled(x, id) };
            return self.workload.encoded_with(request, &fill, Some(memory));
        }
        if !self.in_flight.has_slots() || x.request == RequestId::NONE {
            return self.workload.encoded_with(request, &SlotContext::default(), None);
        }
        self.workload.encoded_with(request, &self.in_flight.filled(x, id), None)
    }
}
