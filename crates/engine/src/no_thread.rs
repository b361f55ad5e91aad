//! What is said where the system refuses a thread or a descriptor: the limit, what is needed, and what to do.

use std::io;

use rustix::process::{Resource, getrlimit};

/// Descriptors of a run beside its connections: standard streams, loops, timers, counters, files.
const BESIDE: u64 = 32;

/// Why no thread could be started, and the limit that most often is the reason.
pub fn no_thread(why: &io::Error) -> String {
    if why.raw_os_error() == Some(libc::EMFILE) {
        return no_descriptors();
    }
    let own = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    format!(
        "cannot start a thread: {why}; this user may have {} processes and threads, and brunt needs more than its \
            {own}: raise the limit by 10 or more (ulimit -u), or use fewer workers (-w)",
        limit(Resource::Nproc)
    )
}

/// What is said where all descriptors are taken.
pub fn no_descriptors() -> String {
    format!(
        "out of file descriptors: this process may have {} (ulimit -n), and brunt needs {BESIDE} plus one per \
            connection; raise the limit: ulimit -n 1024",
        limit(Resource::Nofile)
    )
}

fn limit(of: Resource) -> String {
    getrlimit(of).current.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_and_what_to_do() {
        let said = no_thread(&io::Error::from_raw_os_error(libc::EAGAIN));
        let own = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert!(
            own > 0 && said.contains("ulimit -u") && said.contains("os error 11") && !said.contains('\n'),
            "{said}"
        );
        // No limit of threads has to do with it.
        let said = no_thread(&io::Error::from_raw_os_error(libc::EMFILE));
        assert!(said.contains("needs 32 plus one per connection; raise the limit: ulimit -n"), "{said}");
        assert!(!said.contains("ulimit -u"), "{said}");
    }
}
