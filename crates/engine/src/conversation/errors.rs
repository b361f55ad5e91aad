//! Errors of a conversation that did not get the expected response.

use brunt_cause::{connecting, response};
use brunt_contract::{FaultKind, ProtocolError, Session, bracketed};

use super::text::describe;
use super::{OneShotConversation, OneShotError, no_answer, unreachable};

impl OneShotConversation<'_> {
    /// Returns the failure for a peer that violates the protocol, or refuses a request within it.
    pub(super) fn protocol_error(&self, broken: ProtocolError) -> OneShotError {
        let kind = self.links.session(self.conn).map_or(FaultKind::BrokenProtocol, Session::refusal_kind);
        let kind = if broken.0.is_own_limit() { FaultKind::Unchecked } else { kind };
        let error = match kind {
            FaultKind::BrokenProtocol => no_answer(response::broken(broken.0)),
            _ => no_answer(broken.0),
        };
        // Before the first response, malformed bytes are those of another protocol.
        let foreign = kind == FaultKind::BrokenProtocol && self.completed() == 0;
        OneShotError { fault: Some(kind), refused: !self.is_ready || foreign, ..error }
    }

    /// Returns the failure for a connection that could not be established.
    pub(super) fn connect_error(&self, errno: i32) -> OneShotError {
        unreachable(connecting::no_connection(self.name.clone(), describe(errno)))
    }

    /// Returns the failure for an expired timeout.
    pub(super) fn timeout_error(&self) -> OneShotError {
        let span = if self.begun > 0 { self.one_shot.timeout } else { self.one_shot.setup.plan.connect_timeout };
        let origin = self.one_shot.origin;
        let beyond = self.one_shot.setup.security.proxy(origin).filter(|_| self.reached);
        let target = || format!("{}:{}", bracketed(&origin.host), origin.port);
        let name = beyond.map_or_else(|| self.name.clone(), |proxy| brunt_cause::proxy::behind(target(), proxy).into());
        let span = brunt_measure::format_duration(span);
        let asked = self.requests.get(self.completed()).filter(|_| self.begun > self.completed());
        let awaited = asked.and_then(|request| self.one_shot.workload.response_condition(request));
        let (why, fault) = match awaited {
            _ if self.one_shot.deadline < self.deadline => (connecting::run_timeout(name), None),
            // Other messages may have arrived, so "no answer" would be wrong.
            Some(awaited) => (connecting::none_like_within(awaited, span), Some(FaultKind::Timeout)),
            None if self.links.partial_response(self.conn).is_empty() => (connecting::not_within(name, span), None),
            None => (connecting::not_whole_within(name, span), None),
        };
        OneShotError { why, unreachable: self.links.session(self.conn).is_none(), fault, refused: false }
    }
}
