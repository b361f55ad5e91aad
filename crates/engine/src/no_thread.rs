//! What is said where the system refuses a thread or a descriptor: the limit, what is needed, and what to do.

use std::io;

use cause::Cause;
use rustix::process::{Resource, getrlimit};

/// Descriptors of a run beside its connections: standard streams, loops, timers, counters, files.
const BESIDE: u64 = 32;

/// Why no thread could be started, and the limit that most often is the reason.
pub fn no_thread(why: &io::Error) -> Cause {
    if why.raw_os_error() == Some(libc::EMFILE) {
        return no_descriptors();
    }
    let own = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    cause::connecting::no_thread(why.to_string(), limit(Resource::Nproc), own)
}

/// What is said where all descriptors are taken.
pub fn no_descriptors() -> Cause {
    cause::connecting::no_descriptors(limit(Resource::Nofile), BESIDE)
}

fn limit(of: Resource) -> String {
    getrlimit(of).current.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_and_what_to_do() {
        let said = no_thread(&io::Error::from_raw_os_error(libc::EAGAIN)).to_string();
        let own = std::fs::read_dir("/proc/self/task").unwrap().count();
        assert!(
            own > 0 && said.contains("ulimit -u") && said.contains("os error 11") && !said.contains('\n'),
            "{said}"
        );
        // No limit of threads has to do with it.
        let said = no_thread(&io::Error::from_raw_os_error(libc::EMFILE)).to_string();
        assert!(said.contains("needs 32 plus one per connection; raise the limit: ulimit -n"), "{said}");
        assert!(!said.contains("ulimit -u"), "{said}");
    }
}
