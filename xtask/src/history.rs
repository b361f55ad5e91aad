//! Commit subjects: at most 72 characters, without a full stop, so that logs and lists show them in full.

use std::process::Command;

use crate::places;

/// The last commit that is exempt from the rule.
const SINCE: &str = "f150ceca";
/// Maximum length of a subject in characters.
const LONGEST: usize = 72;

/// Checks the log since [`SINCE`]. A tree without that commit (an archive, a shallow clone) is not checked.
pub fn check() -> Result<(), String> {
    let range = format!("{SINCE}..HEAD");
    let log = Command::new("git").args(["log", "--format=%h %s", &range]).current_dir(places::root()).output();
    let Some(log) = log.ok().filter(|log| log.status.success()) else {
        println!("commit {SINCE} is not in this tree: subjects are not checked");
        return Ok(());
    };
    let log = String::from_utf8_lossy(&log.stdout);
    let wrong: Vec<_> = log.lines().filter(|line| !is_subject(line.split_once(' ').map_or("", |(_, s)| s))).collect();
    if wrong.is_empty() {
        println!("{} subjects are fine", log.lines().count());
        return Ok(());
    }
    Err(format!("subjects longer than {LONGEST} characters or ending with a full stop:\n  {}", wrong.join("\n  ")))
}

fn is_subject(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= LONGEST && !text.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_subjects() {
        assert!(is_subject("Widen a figure by what the generator may have added"));
        assert!(is_subject(&"é".repeat(LONGEST)));
        assert!(!is_subject(&"x".repeat(LONGEST + 1)));
        assert!(!is_subject("Widen a figure."));
        assert!(!is_subject(""));
    }
}
