//! Failure classes: the kind of fault, the phase of the request, and the error number of the system.

use brunt_contract::{FaultKind, Phase};

/// A class of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailureClass {
    pub kind: FaultKind,
    pub phase: Phase,
    pub errno: Option<i32>,
}

/// The largest error number on Linux.
pub(crate) const MAX_ERRNO: i32 = 4095;

/// Returns the symbolic name of an errno (`ECONNREFUSED`), or `errno 42`.
pub(crate) fn errno_name(errno: i32) -> String {
    let name = match errno {
        libc::ECONNREFUSED => "ECONNREFUSED",
        libc::ECONNRESET => "ECONNRESET",
        libc::ECONNABORTED => "ECONNABORTED",
        libc::EPIPE => "EPIPE",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EADDRNOTAVAIL => "EADDRNOTAVAIL",
        libc::EADDRINUSE => "EADDRINUSE",
        libc::EMFILE => "EMFILE",
        libc::ENFILE => "ENFILE",
        libc::EHOSTUNREACH => "EHOSTUNREACH",
        libc::ENETUNREACH => "ENETUNREACH",
        libc::ENOBUFS => "ENOBUFS",
        libc::ENOMEM => "ENOMEM",
        libc::EACCES => "EACCES",
        libc::EPERM => "EPERM",
        libc::EINVAL => "EINVAL",
        libc::ENOENT => "ENOENT",
        libc::EAGAIN => "EAGAIN",
        other => return format!("errno {other}"),
    };
    name.into()
}
