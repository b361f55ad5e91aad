//! What is said where the system refuses a thread.

use std::io;

use rustix::process::{Resource, getrlimit};

/// Why no thread could be started, and the limit that most often is the reason.
pub fn no_thread(why: &io::Error) -> String {
    let limit = getrlimit(Resource::Nproc).current.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    format!(
        "no thread could be started: {why}; this user may have {limit} processes and threads, raise that (ulimit -u)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named() {
        let said = no_thread(&io::Error::from_raw_os_error(libc::EAGAIN));
        assert!(said.contains("ulimit -u") && said.contains("os error 11") && !said.contains('\n'), "{said}");
    }
}
