//! Errors for threads or descriptors that the system refused to provide, with the limit, the number needed, and the
//! remedy.

use std::io;

use brunt_cause::Cause;
use rustix::process::{Resource, getrlimit};

/// Number of descriptors of a run besides its connections: standard streams, event loops, timers, counters, files.
const BESIDE: u64 = 32;

/// Returns the cause for a thread that could not be started, with the limit that is most likely responsible.
pub fn no_thread(why: &io::Error) -> Cause {
    if why.raw_os_error() == Some(libc::EMFILE) {
        return no_descriptors();
    }
    let own = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    brunt_cause::connecting::no_thread(why.to_string(), limit(Resource::Nproc), own)
}

/// Returns the cause for exhausted descriptors.
pub fn no_descriptors() -> Cause {
    brunt_cause::connecting::no_descriptors(limit(Resource::Nofile), BESIDE)
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
        // An error unrelated to thread limits.
        let said = no_thread(&io::Error::from_raw_os_error(libc::EMFILE)).to_string();
        assert!(said.contains("needs 32 plus one per connection; raise the limit: ulimit -n"), "{said}");
        assert!(!said.contains("ulimit -u"), "{said}");
    }
}
