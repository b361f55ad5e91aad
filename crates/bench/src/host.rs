//! The generator's machine: its description in the record, and its file descriptor limit.

use brunt_record::GeneratorHost;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of file descriptors to the hard one: each user needs a descriptor, and the soft limit is low
/// only for the sake of programs that use select(2). On failure the limit stays unchanged.
pub fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

/// Returns the soft limit of file descriptors.
pub fn descriptors() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Returns the description of this machine.
pub fn facts() -> GeneratorHost {
    let system = rustix::system::uname();
    let memory = rustix::system::sysinfo();
    GeneratorHost {
        name: system.nodename().to_string_lossy().into_owned(),
        kernel: format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy()),
        cores: crate::cores::available(),
        descriptors: descriptors(),
        // c_ulong and u32: their widths differ between platforms.
        memory: (memory.totalram as u64).saturating_mul(u64::from(memory.mem_unit.max(1))),
        calibration: None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn facts_are_there() {
        let host = super::facts();
        assert!(host.kernel.starts_with("Linux "), "{}", host.kernel);
        assert!(host.memory > 1 << 20 && host.descriptors > 0 && host.cores > 0.0);
    }
}
