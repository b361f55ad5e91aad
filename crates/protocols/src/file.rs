//! Files that options name. Each is read once and whole before the run, up to a bound: a device or a pipe may have no end,
//! and a mistaken path must not fill the memory.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use wire::Complaint;

/// The largest file of texts (plans, columns, commands), and the most read of what is no regular file.
pub const TEXT_BOUND: u64 = 64 << 20;

/// The largest body.
pub const BODY_BOUND: u64 = 1 << 30;

/// The bytes of a body that the option `place` names.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn body(place: &str, path: &str) -> Result<Vec<u8>, Complaint> {
    bounded(path, BODY_BOUND).map_err(|trouble| Complaint::new(place, trouble))
}

/// As [`body`], of what is sent as it is: held once, whatever its size.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn shared(place: &str, path: &str) -> Result<Arc<[u8]>, Complaint> {
    let size = |file: &File| file.metadata().ok().filter(|data| data.is_file() && data.len() <= BODY_BOUND);
    if let Ok(mut file) = File::open(path)
        && let Some(size) = size(&file).and_then(|data| usize::try_from(data.len()).ok())
    {
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, size).collect();
        let read = Arc::get_mut(&mut bytes).map_or(Ok(()), |bytes| file.read_exact(bytes));
        let trouble = |error| format!("{path} cannot be read ({error}); write the path of a readable file");
        return read.map(|()| bytes).map_err(|error| Complaint::new(place, trouble(error)));
    }
    body(place, path).map(Arc::from)
}

/// A text that the option `place` names.
///
/// # Errors
/// It cannot be read, is too large, or is no UTF-8.
pub fn text(place: &str, path: &str) -> Result<String, Complaint> {
    let text = bounded(path, TEXT_BOUND).and_then(|mut bytes| {
        if bytes.starts_with(MARK.as_bytes()) {
            bytes.drain(..MARK.len());
        }
        String::from_utf8(bytes).map_err(|_| format!("{path} is no text (UTF-8); write the path of one that is"))
    });
    text.map_err(|trouble| Complaint::new(place, trouble))
}

/// What some editors begin a text with: it says that what follows is UTF-8, and is no part of it.
const MARK: &str = "\u{feff}";

/// A text without a byte-order mark.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The bytes of a file of up to so many.
///
/// # Errors
/// It cannot be read, or is larger.
pub fn bounded(path: &str, bound: u64) -> Result<Vec<u8>, String> {
    let unreadable = |error| format!("{path} cannot be read ({error}); write the path of a readable file");
    let file = File::open(path).map_err(unreadable)?;
    let data = file.metadata().map_err(unreadable)?;
    let bound = if data.is_file() { bound } else { bound.min(TEXT_BOUND) };
    let mut bytes = Vec::new();
    if data.len() <= bound {
        file.take(bound + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if data.len() > bound || bytes.len() as u64 > bound {
        return Err(format!("{path} is larger than {} MiB, or has no end; give a smaller file", bound >> 20));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{BODY_BOUND, TEXT_BOUND, body, bounded, shared, text};

    #[test]
    fn files_are_read_up_to_a_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let sparse = |name: &str, size: u64| {
            std::fs::File::create(path(name)).and_then(|file| file.set_len(size)).expect("made");
            path(name)
        };
        assert_eq!(bounded(&sparse("fits", 10), 10), Ok(vec![0; 10]));
        let said = |path: &str| format!("{path} is larger than 64 MiB, or has no end; give a smaller file");
        let large = sparse("large", TEXT_BOUND + 1);
        assert_eq!(bounded(&large, TEXT_BOUND), Err(said(&large)));
        assert_eq!(body("--data-file", &large).map(|bytes| bytes.len() as u64), Ok(TEXT_BOUND + 1));
        assert_eq!(shared("--data-file", &sparse("held once", 10)), Ok(Arc::from([0; 10])));
        assert!(shared("--data-file", &sparse("too large", BODY_BOUND + 1)).is_err());
        let larger = body("--form", &sparse("larger", (1 << 30) + 1)).expect_err("too large").to_string();
        assert!(larger.starts_with("--form: ") && larger.contains("larger than 1024 MiB"), "{larger}");
    }

    #[test]
    fn what_has_no_end_is_refused() {
        assert_eq!(
            body("--data-file", "/dev/zero").expect_err("endless").to_string(),
            "--data-file: /dev/zero is larger than 64 MiB, or has no end; give a smaller file"
        );
        assert!(text("PLAN", "/dev/zero").is_err());
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let said = text("--urls", "/nowhere/x").expect_err("no such file").to_string();
        assert!(said.starts_with("--urls: /nowhere/x cannot be read (No such file"), "{said}");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), [0xff, 0xfe]).expect("written");
        let path = file.path().display().to_string();
        let marked = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(marked.path(), "\u{feff}url: h").expect("written");
        assert_eq!(text("PLAN", &marked.path().display().to_string()).as_deref(), Ok("url: h"));
        let said = text("--urls", &path).expect_err("no text").to_string();
        assert_eq!(said, format!("--urls: {path} is no text (UTF-8); write the path of one that is"));
    }
}
