//! The cause of a failure, passed from its detection to the recorder.

use brunt_contract::{Errno, FaultKind, Phase};

use crate::failure_class::FailureClass;

/// The cause of a failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailureCause<'a> {
    pub sort: FailureClass,
    /// The status code with which the peer refused; 0 if none.
    pub code: u32,
    /// Details: the last message of the peer, or our own.
    pub why: Option<&'a brunt_cause::Cause>,
}

impl<'a> FailureCause<'a> {
    pub fn new(kind: FaultKind, phase: Phase) -> FailureCause<'a> {
        FailureCause { sort: FailureClass { kind, phase, errno: None }, code: 0, why: None }
    }

    /// Sets the error of the operating system.
    pub fn with_errno(self, errno: Option<Errno>) -> FailureCause<'a> {
        FailureCause { sort: FailureClass { errno: errno.map(|e| e.0), ..self.sort }, ..self }
    }

    pub fn with_details(self, why: impl Into<Option<&'a brunt_cause::Cause>>) -> FailureCause<'a> {
        FailureCause { why: why.into(), ..self }
    }

    pub fn with_code(self, code: u32) -> FailureCause<'a> {
        FailureCause { code, ..self }
    }

    pub fn in_phase(self, phase: Phase) -> FailureCause<'a> {
        FailureCause { sort: FailureClass { phase, ..self.sort }, ..self }
    }
}

/// Returns the kind of failure that an errno indicates.
pub(crate) fn kind_of(errno: Option<Errno>) -> FaultKind {
    match errno.map(|e| e.0) {
        None => FaultKind::Closed,
        Some(libc::ECONNREFUSED | libc::ENOENT) => FaultKind::Refused,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => FaultKind::Unreachable,
        Some(libc::EADDRNOTAVAIL) => FaultKind::NoPorts,
        Some(libc::EMFILE | libc::ENFILE) => FaultKind::NoDescriptors,
        Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED) => FaultKind::Reset,
        Some(libc::ETIMEDOUT) => FaultKind::Timeout,
        Some(_) => FaultKind::Io,
    }
}
