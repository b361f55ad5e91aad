//! Lines of a log grouped by their wording: lines that differ only in words with digits (numbers, addresses, times,
//! identifiers) are alike.
//!
//! Each wording is compared with the texts once. Memory is bounded: rare wordings are forgotten when there are too many.

use std::collections::HashMap;

use super::texts;

/// Maximum number of wordings kept.
const MOST: usize = 512;
/// Maximum length of a wording, in bytes.
const LONGEST_WORDING: usize = 1000;
/// Maximum length of an example, in bytes.
const LONGEST_EXAMPLE: usize = 200;
/// Maximum number of unknown wordings reported.
const MOST_REPORTED: usize = 32;
/// Minimum number of lines of an unknown wording that is reported.
const FEWEST: u64 = 2;

/// Lines with one wording.
#[derive(Debug)]
struct LineGroup {
    /// The first such line, truncated.
    example: String,
    lines: u64,
    /// Index of the text that it contains.
    known: Option<usize>,
    /// Set for the access log's line about a success.
    is_success: bool,
}

/// The wordings of a log, with the number of lines of each.
#[derive(Debug, Default)]
pub(super) struct LineGroups {
    groups: HashMap<String, LineGroup>,
    wording: String,
}

impl LineGroups {
    /// Counts a line; returns the index of the text that it contains.
    pub fn count(&mut self, line: &str) -> Option<usize> {
        let mut wording = std::mem::take(&mut self.wording);
        let status = word(line, &mut wording);
        // The rest of a longer line is not part of its wording.
        let whole = wording.len() < LONGEST_WORDING;
        let known = match self.groups.get_mut(&wording) {
            Some(group) => {
                group.lines += 1;
                if whole { group.known } else { texts::find(line) }
            }
            None => {
                let known = texts::find(line);
                self.make_room();
                if self.groups.len() < MOST {
                    let is_success = status.is_some_and(|status| (100..400).contains(&status));
                    let group = LineGroup { example: shown(line), lines: 1, known, is_success };
                    self.groups.insert(wording.clone(), group);
                }
                known
            }
        };
        self.wording = wording;
        known
    }

    /// Forgets the rarest wordings if there is no room for another one.
    fn make_room(&mut self) {
        if self.groups.len() < MOST {
            return;
        }
        let mut counts: Vec<u64> = self.groups.values().map(|group| group.lines).collect();
        counts.sort_unstable();
        let median = counts[counts.len() / 2];
        // Unless all are equally frequent, the frequent ones stay.
        self.groups.retain(|_, group| group.lines > median || (group.lines == median && median > 1));
        if self.groups.len() >= MOST {
            self.groups.clear();
        }
    }

    /// Returns the most frequent wordings that contain no known text, each as an example and its number of lines.
    pub fn unknown(&self) -> Vec<(&str, u64)> {
        let reported = |group: &&LineGroup| group.known.is_none() && !group.is_success && group.lines >= FEWEST;
        let mut all: Vec<(&str, u64)> =
            self.groups.values().filter(reported).map(|group| (&*group.example, group.lines)).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(MOST_REPORTED);
        all
    }
}

/// Writes the wording of a line: words with digits become `#`. The status of a response in an access log stays, and is
/// returned.
fn word(line: &str, wording: &mut String) -> Option<u16> {
    wording.clear();
    let mut status = None;
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        if wording.len() >= LONGEST_WORDING {
            break;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        if end == 0 {
            wording.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, behind) = rest.split_at(end);
        if !word.bytes().any(|byte| byte.is_ascii_digit()) {
            wording.push_str(&word[..word.floor_char_boundary(LONGEST_WORDING)]);
        } else if let Some(code) = Some(word).filter(|_| wording.ends_with("\" ")).and_then(status_code) {
            status = status.or(Some(code));
            wording.push_str(word);
        } else {
            wording.push('#');
        }
        rest = behind;
    }
    status
}

/// Parses the status of a response.
fn status_code(word: &str) -> Option<u16> {
    word.parse().ok().filter(|code| word.len() == 3 && (100..600).contains(code))
}

/// Returns a line as it is shown: truncated, without control characters.
fn shown(line: &str) -> String {
    let whole = line.trim();
    let cut = whole.len() > LONGEST_EXAMPLE;
    let kept = whole.floor_char_boundary(LONGEST_EXAMPLE);
    let mut text: String = whole[..kept].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if cut {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_numbers_and_addresses_are_alike() {
        let mut groups = LineGroups::default();
        for n in 0..50 {
            groups.count(&format!("2026/01/0{} [crit] {n}#7: *{n} shard {n} of 10.0.0.{n}:81 is fenced", n % 9));
        }
        groups.count("another line, once");
        let unknown = groups.unknown();
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert_eq!(unknown[0], ("2026/01/00 [crit] 0#7: *0 shard 0 of 10.0.0.0:81 is fenced", 50));
    }

    #[test]
    fn the_status_of_an_access_log_tells_lines_apart_and_successes_are_not_reported() {
        let mut groups = LineGroups::default();
        let line = |status: u16, n: u32| format!("127.0.0.1 - - [{n}] \"GET /item/{n} HTTP/1.1\" {status} {n} \"-\"");
        assert!((0..30).all(|n| groups.count(&line(200, n)).is_none()));
        assert!((0..20).all(|n| groups.count(&line(502, n)).is_none()));
        (0..10)
            .for_each(|n| assert_eq!(groups.count(&line(499, n)).map(|at| texts::TEXTS[at].2), Some("client_closed")));
        let unknown = groups.unknown();
        assert_eq!(unknown.len(), 1, "{unknown:?}");
        assert!(unknown[0].0.contains("502") && unknown[0].1 == 20, "{unknown:?}");
    }

    #[test]
    fn memory_is_bounded_and_what_is_frequent_stays() {
        let mut groups = LineGroups::default();
        let letters = |mut n: u32| {
            let mut text = String::new();
            for _ in 0..6 {
                text.push(char::from(b'a' + (n % 26) as u8));
                n /= 26;
            }
            text
        };
        for n in 0..3_000 {
            groups.count(&format!("{} {}", letters(n), "x".repeat(if n % 50 == 0 { 2000 } else { 9 })));
            if n % 10 == 0 {
                groups.count("the frequent one");
            }
        }
        assert!(groups.groups.len() <= MOST);
        assert!(groups.unknown().len() <= MOST_REPORTED);
        assert_eq!(groups.unknown()[0], ("the frequent one", 300));
        let kept = groups.groups.iter().map(|(wording, group)| (wording.len(), group.example.len()));
        assert!(
            kept.clone().all(|(wording, example)| wording <= 2 * LONGEST_WORDING && example <= LONGEST_EXAMPLE + 3)
        );
    }

    #[test]
    fn what_is_shown_has_no_control_characters_and_ends_at_a_character() {
        assert_eq!(shown("a\u{1b}[31mb\t"), "a [31mb");
        let long = shown(&"界".repeat(500));
        assert!(long.ends_with('…') && long.len() <= LONGEST_EXAMPLE + '…'.len_utf8());
    }
}
