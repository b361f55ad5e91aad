//! Standard input in place of a file. It can be read only once, so its content is kept for the option that reads it, and
//! another option that names it is refused.

use brunt_cause::{Complaint, complaint};
use std::sync::{Arc, Mutex, PoisonError};

use crate::file::TEXT_BOUND;
use crate::pipe;

/// The file name that stands for standard input.
pub const NAME: &str = "-";

/// Standard input as one option read it.
struct ReadInput {
    option: String,
    content: Result<Arc<[u8]>, Complaint>,
}

static READ: Mutex<Option<ReadInput>> = Mutex::new(None);

/// Returns the content of standard input for an option.
///
/// # Errors
/// It cannot be read, is larger than `bound`, or was read by another option.
pub fn read(option: &str, bound: u64) -> Result<Arc<[u8]>, Complaint> {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let input = read.get_or_insert_with(|| {
        let content = pipe::read_standard_input(TEXT_BOUND, pipe::PATIENCE);
        let content = content
            .map(Arc::from)
            .map_err(|error| complaint!("standard input cannot be read ({error})", "标准输入无法读取（{error}）"));
        ReadInput { option: option.to_owned(), content }
    });
    if input.option != option {
        return Err(complaint!(
            "standard input is already read by {}, and can be read only once; write the name of a file",
            "标准输入已由 {} 读取，且只能读取一次；请写文件名",
            input.option
        ));
    }
    let (content, bound) = (input.content.clone()?, bound.min(TEXT_BOUND));
    if content.len() as u64 > bound {
        return Err(complaint!(
            "standard input is larger than {} MiB, or endless; use a file",
            "标准输入超过 {} MiB，或没有尽头；请用文件",
            bound >> 20
        ));
    }
    Ok(content)
}
