//! Files and environment variables to which a plan refers, with their contents on the machine where the plan was made.
//! They are sent with the plan, so that processes and machines without them prepare identical requests.

use brunt_cause::{Complaint, complaint};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Contents of files and variables by the names used in the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// Files by their path as written.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// Environment variables by name.
    pub variables: BTreeMap<String, String>,
}

impl Bundle {
    /// Maximum total size of the files sent with a plan, in bytes.
    pub const BOUND: u64 = 1 << 30;
    /// Maximum number of files.
    pub const FILES: usize = 1 << 16;
    /// Maximum total size of the names and values of variables, in bytes; a Linux environment cannot be larger.
    pub const VARIABLES: u64 = 8 << 20;
    /// Maximum length of the name of a file or a variable, in bytes.
    pub const LONGEST_NAME: usize = 4 << 10;

    /// Returns the total size of the files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.values().map(|content| content.len() as u64).sum()
    }

    /// Checks the bundle against these limits.
    ///
    /// # Errors
    /// A limit is exceeded; the error states the size and the limit.
    pub fn check(&self) -> Result<(), Complaint> {
        if self.files.len() > Bundle::FILES {
            let files = self.files.len();
            return Err(complaint!(
                "every process gets the files of the plan, and {files} files are more than the limit of {}; use fewer, or leave it out",
                "每个进程都会得到计划的文件，而 {files} 个文件超过上限 {} 个；请减少，或去掉",
                Bundle::FILES
            ));
        }
        let names = self.files.keys().chain(self.variables.keys());
        if let Some(name) = names.into_iter().find(|name| name.len() > Bundle::LONGEST_NAME) {
            return Err(complaint!(
                "every process gets the names in the plan, and a name of {} bytes is longer than the limit of {}; leave it out",
                "每个进程都会得到计划中的名称，而 {} 字节的名称超过上限 {} 字节；请去掉",
                name.len(),
                Bundle::LONGEST_NAME
            ));
        }
        let variables: usize = self.variables.iter().map(|(name, value)| name.len() + value.len()).sum();
        if variables as u64 > Bundle::VARIABLES {
            return Err(complaint!(
                "every process gets the variables of the plan, which take {variables} bytes, and the limit is {}; use a file, or leave it \
                 out",
                "每个进程都会得到计划的变量，它们共 {variables} 字节，上限为 {} 字节；请用文件，或去掉",
                Bundle::VARIABLES
            ));
        }
        if self.bytes() <= Bundle::BOUND {
            return Ok(());
        }
        let largest = self.files.iter().max_by_key(|(_, content)| content.len()).map_or("", |(path, _)| path);
        Err(complaint!(
            "every process gets the files of the plan, which take {} MiB, and the limit is {} MiB; use files smaller than {largest}, or \
             leave it out",
            "每个进程都会得到计划的文件，它们共 {} MiB，上限为 {} MiB；请用比 {largest} 更小的文件，或去掉",
            self.bytes().div_ceil(1 << 20),
            Bundle::BOUND >> 20
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_to_travel_is_told_with_its_largest_file() {
        let mut bundle = Bundle::default();
        assert_eq!(bundle.check(), Ok(()));
        let variable = |name: &str, bytes: usize| Bundle {
            variables: [(name.to_owned(), "x".repeat(bytes))].into(),
            ..Bundle::default()
        };
        let most = Bundle::VARIABLES as usize - "TOKEN".len();
        assert_eq!(variable("TOKEN", most).check(), Ok(()));
        assert!(
            variable("TOKEN", most + 1).check().is_err_and(|said| said.contains("variables of the plan, which take"))
        );
        assert!(
            variable(&"N".repeat(Bundle::LONGEST_NAME + 1), 1)
                .check()
                .is_err_and(|said| said.contains("is longer than the limit of"))
        );
        let nothing: Arc<[u8]> = Arc::from([]);
        let files = (0..=Bundle::FILES).map(|nth| (nth.to_string(), Arc::clone(&nothing)));
        let many = Bundle { files: files.collect(), ..Bundle::default() };
        assert!(many.check().is_err_and(|said| said.contains("and 65537 files are more than the limit of 65536")));
        let half: Arc<[u8]> = std::iter::repeat_n(0, 1 << 29).collect();
        for name in ["a", "b"] {
            bundle.files.insert(name.into(), Arc::clone(&half));
        }
        assert_eq!((bundle.bytes(), bundle.check()), (Bundle::BOUND, Ok(())));
        bundle.files.insert("c".into(), Arc::from([1]));
        let said = bundle.check().expect_err("one byte too many");
        assert!(said.contains("take 1025 MiB, and the limit is 1024 MiB; use files smaller than b"), "{said}");
    }
}
