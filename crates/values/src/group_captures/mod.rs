//! Patterns whose groups are captured: in a response, or in a message that is replied to.
//!
//! Two tables find where a match begins and ends, with a few nanoseconds per byte. They are left out if they would
//! become too large. The groups within a match are found by a simulation of the pattern (`machine`), which alone can
//! find everything, but is slower. Both count their steps, so that no pattern and no text can take longer than a budget.

mod machine;

use brunt_cause::{Complaint, complaint};
use std::cell::RefCell;

use regex_automata::dfa::{Automaton, StartKind, dense, regex};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use crate::pattern;
use crate::steps::{OutOfSteps, StepBudget};
use machine::{GroupMachine, MachineMemory};

thread_local! {
    /// Per thread and not per connection, because a million connections may use such a pattern.
    static MEMORY: RefCell<MachineMemory> = RefCell::default();
}

/// Maximum size of a compiled pattern, in bytes.
const SIZE_BOUND: usize = 1 << 20;
/// Maximum size of each table, in bytes.
const TABLE_BOUND: usize = 1 << 20;
/// Maximum number of groups of a pattern.
const MOST_GROUPS: usize = 32;
/// Maximum number of bytes of a text that are searched.
pub const LOOKED_INTO: usize = 1 << 20;

/// A pattern whose groups are captured.
#[derive(Debug)]
pub struct GroupCaptures {
    nfa: NFA,
    tables: Option<Box<regex::Regex>>,
}

impl GroupCaptures {
    /// Compiles a pattern for many texts.
    ///
    /// # Errors
    /// The pattern is invalid or too large; the error describes why.
    pub fn new(text: &str) -> Result<GroupCaptures, Complaint> {
        let captures = GroupCaptures::for_one_text(text)?;
        let size = Some(TABLE_BOUND);
        let config = dense::Config::new().start_kind(StartKind::Unanchored).dfa_size_limit(size);
        let tables = regex::Builder::new()
            .dense(config.determinize_size_limit(size.map(|size| 4 * size)))
            .syntax(bytes_syntax())
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_BOUND)))
            .build(text);
        Ok(GroupCaptures { tables: tables.ok().map(Box::new), ..captures })
    }

    /// Compiles a pattern for a single search, without tables, which are worth their cost only if they are used again.
    ///
    /// # Errors
    /// See [`GroupCaptures::new`].
    pub fn for_one_text(text: &str) -> Result<GroupCaptures, Complaint> {
        let nfa = thompson::Compiler::new()
            .syntax(bytes_syntax())
            .configure(thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_BOUND)))
            .build(text)
            .map_err(|_| pattern::fault(text))?;
        let captures = GroupCaptures { nfa, tables: None };
        if captures.groups() > MOST_GROUPS {
            return Err(complaint!(
                "\"{text}\" has more than {MOST_GROUPS} groups; write (?:…) for unused ones",
                "“{text}”的分组超过 {MOST_GROUPS} 个；不用的分组请写 (?:…)"
            ));
        }
        Ok(captures)
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.nfa.group_info().group_len(regex_automata::PatternID::ZERO).saturating_sub(1)
    }

    /// Passes the first group of each match (the whole match if there is no group) to `more`, until `more` returns
    /// `false`.
    ///
    /// # Errors
    /// The budget was spent before the end of the search.
    pub fn each(&self, text: &[u8], steps: &StepBudget, more: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), OutOfSteps> {
        let text = &text[..text.len().min(LOOKED_INTO)];
        let group = self.groups().min(1);
        let (mut at, mut last_end) = (0, None);
        while let Some(spans) = self.find_from(text, at, group, steps)? {
            let (start, end) = spans[0];
            // An empty match directly behind the previous one is part of it.
            if start == end && last_end == Some(end) {
                at = end + 1;
                continue;
            }
            (at, last_end) = (end, Some(end));
            if spans[group] != NO_SPAN && !more(&text[spans[group].0..spans[group].1]) {
                break;
            }
        }
        Ok(())
    }

    /// Appends the spans of the whole match and of each group in `message`; the span of a group that did not take part
    /// in the match is empty.
    ///
    /// # Errors
    /// The search would take too long.
    pub fn find(&self, message: &[u8], spans: &mut Vec<(u32, u32)>) -> Result<(), OutOfSteps> {
        let found = self.find_from(message, 0, self.groups(), &StepBudget::default())?;
        let span = |span| if span == NO_SPAN { (0, 0) } else { span };
        let found = found.unwrap_or(NO_SPANS).into_iter().take(self.groups() + 1);
        spans.extend(found.map(span).map(|(from, to)| (from as u32, to as u32)));
        Ok(())
    }

    /// Returns the spans of the next match at or after `at` and of its groups up to `group`.
    fn find_from(
        &self,
        text: &[u8],
        at: usize,
        group: usize,
        steps: &StepBudget,
    ) -> Result<Option<MatchSpans>, OutOfSteps> {
        if at > text.len() {
            return Ok(None);
        }
        let mut from = (at, Anchored::No);
        if let Some(tables) = &self.tables {
            let Some((start, end)) = span_from(tables, text, at, steps)? else { return Ok(None) };
            if group == 0 {
                let mut spans = NO_SPANS;
                spans[0] = (start, end);
                return Ok(Some(spans));
            }
            from = (start, Anchored::Yes);
        }
        MEMORY.with_borrow_mut(|memory| GroupMachine { nfa: &self.nfa, text, steps }.find(from, group, memory))
    }
}

/// Start and end of a match or group in a text.
type Span = (usize, usize);

/// The span of a group that did not take part in the match.
const NO_SPAN: Span = (usize::MAX, usize::MAX);

/// The spans of a match and of its groups, without allocation.
type MatchSpans = [Span; MOST_GROUPS + 1];

const NO_SPANS: MatchSpans = [NO_SPAN; MOST_GROUPS + 1];

/// Patterns match bytes.
fn bytes_syntax() -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(false)
}

/// Returns the span of the next match at or after `at`.
fn span_from(tables: &regex::Regex, text: &[u8], at: usize, steps: &StepBudget) -> Result<Option<Span>, OutOfSteps> {
    let Some(end) = end_from(tables.forward(), text, at, steps)? else { return Ok(None) };
    // Matches do not overlap, so that searches for their starts read each byte once.
    steps.spend((end - at) as u64);
    let backwards = Input::new(text).range(at..end).anchored(Anchored::Yes);
    let start = tables.reverse().try_search_rev(&backwards).ok().flatten().map_or(at, |start| start.offset());
    steps.result().map(|()| Some((start, end)))
}

/// Returns the end of the next match that begins at or after `at`.
fn end_from(
    table: &dense::DFA<Vec<u32>>,
    text: &[u8],
    at: usize,
    steps: &StepBudget,
) -> Result<Option<usize>, OutOfSteps> {
    let start = table.start_state_forward(&Input::new(text).range(at..));
    // Fails only for a kind of search that the table was not built for.
    let Ok(mut state) = start else { return Ok(None) };
    let mut end = None;
    for (index, &byte) in text[at..].iter().enumerate() {
        state = table.next_state(state, byte);
        if table.is_special_state(state) {
            // The table reports a match one byte late.
            if table.is_match_state(state) {
                end = Some(at + index);
            } else if table.is_dead_state(state) {
                steps.spend(index as u64);
                return steps.result().map(|()| end);
            }
        }
    }
    if table.is_match_state(table.next_eoi_state(state)) {
        end = Some(text.len());
    }
    steps.spend((text.len() - at) as u64);
    steps.result().map(|()| end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the first group of each match, found with tables and without.
    fn found(pattern: &str, text: &str) -> Vec<String> {
        let of = |captures: &GroupCaptures| {
            let mut all = Vec::new();
            let each = &mut |found: &[u8]| {
                all.push(String::from_utf8_lossy(found).into_owned());
                true
            };
            captures.each(text.as_bytes(), &StepBudget::default(), each).expect("few steps");
            all
        };
        let (with, without) = (GroupCaptures::new(pattern), GroupCaptures::for_one_text(pattern));
        let (with, without) = (of(&with.expect(pattern)), of(&without.expect(pattern)));
        assert_eq!(with, without, "{pattern} in {text:?}");
        with
    }

    #[test]
    fn groups_are_those_of_the_leftmost_match() {
        for (pattern, text, wanted) in [
            ("id=(\\d+)", "id=1 id= id=23", &["1", "23"][..]),
            ("a|ab", "abab", &["a", "a"]),
            ("(ab|a)(bc)?", "abcabc", &["ab", "ab"]),
            ("x*", "axxb", &["", "xx", ""]),
            ("^(\\w+)", "one two", &["one"]),
            ("(?m)^(\\w+)$", "one\ntwo x\nsix", &["one", "six"]),
            ("\\b(\\d)\\b", "1 22 3", &["1", "3"]),
            ("(?s)<b>(.*)</b>", "<b>1\n2</b> </b>", &["1\n2</b> "]),
            ("(?s)<b>(.*?)</b>", "<b>1</b><b>2</b>", &["1", "2"]),
            ("(a)|b", "ba", &["a"]),
            ("$", "ab", &[""]),
        ] {
            assert_eq!(found(pattern, text), wanted, "{pattern}");
        }
    }

    #[test]
    fn a_search_that_takes_too_long_is_given_up() {
        let text = "a".repeat(900_000);
        let given_up = |pattern: &str, text: &str| {
            let captures = GroupCaptures::new(pattern).expect(pattern);
            captures.each(text.as_bytes(), &StepBudget::default(), &mut |_| true).is_err()
        };
        // Quadratic: each `a` is a match, and each time all the rest is searched for a longer one.
        assert!(given_up("(?s)a(.*b)?", &text));
        // Without tables, because they would be too large.
        assert!(given_up("(a.{0,300}b.{0,300}c)", &text));
        assert!(!given_up("(a{0,1000}b)", &text), "one byte after the other by a table");
        assert!(!given_up("(?s)a(.*)", &text));
        assert!(!given_up("(a)", &text[..100_000]));
    }

    proptest! {
        #[test]
        fn the_groups_are_those_that_another_engine_finds(
            pattern in "([ab.]|\\([ab|]{0,3}\\)|\\^|\\$|\\\\b|[ab][*+?]{1,2}|\\(a[ab]\\)[*+?]|\\|){1,6}",
            text in "[ab \n]{0,12}",
        ) {
            let machine = regex_automata::nfa::thompson::pikevm::PikeVM::builder()
                .syntax(bytes_syntax())
                .thompson(thompson::Config::new().utf8(false))
                .build(&pattern);
            prop_assume!(machine.is_ok());
            let machine = machine.expect("compiled");
            let group = GroupCaptures::for_one_text(&pattern).expect("compiled").groups().min(1);
            let mut cache = machine.create_cache();
            let wanted: Vec<String> = machine
                .captures_iter(&mut cache, &text)
                .filter_map(|found| found.get_group(group))
                .map(|span| text[span.start..span.end].to_owned())
                .collect();
            prop_assert_eq!(found(&pattern, &text), wanted);
        }
    }
}
