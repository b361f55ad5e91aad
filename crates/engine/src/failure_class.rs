//! Kinds of failure: what went wrong, where in the life of a request, and the system's error number.

use brunt_contract::{FaultKind, Phase};

/// A kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FailureClass {
    pub kind: FaultKind,
    pub phase: Phase,
    pub errno: Option<i32>,
}

/// The largest error number (of Linux).
pub(crate) const MAX_ERRNO: i32 = 4095;

/// The symbolic name of an errno (`ECONNREFUSED`), or `errno 42`.
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
