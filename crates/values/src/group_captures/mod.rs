//! Captures of pattern groups, found in a second, slower search of a short message that is known to match.
//!
//! The search caches are per thread and not per connection, because a million connections may use such a pattern.

use std::cell::RefCell;

use regex_automata::Input;
use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::{Builder, Cache, Config, PikeVM};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;

thread_local! {
    static MEMORY: RefCell<Option<Cache>> = const { RefCell::new(None) };
}

/// Maximum size of a compiled pattern, in bytes.
const SIZE_BOUND: usize = 1 << 20;
/// Maximum number of groups of a pattern.
const MOST_GROUPS: usize = 32;

/// A pattern whose groups are captured.
#[derive(Debug)]
pub struct GroupCaptures {
    machine: PikeVM,
}

impl GroupCaptures {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The pattern is invalid or too large; the error describes why.
    pub fn new(pattern: &str) -> Result<GroupCaptures, String> {
        let machine = Builder::new()
            .configure(Config::new())
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_BOUND)))
            .build(pattern);
        let machine = machine.map_err(|error| format!("\"{pattern}\" is not a valid regular expression ({error})"))?;
        let captures = GroupCaptures { machine };
        if captures.groups() > MOST_GROUPS {
            return Err(format!("\"{pattern}\" has more than {MOST_GROUPS} groups; write (?:…) for unused ones"));
        }
        Ok(captures)
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.machine.get_nfa().group_info().group_len(regex_automata::PatternID::ZERO).saturating_sub(1)
    }

    /// Passes the first group of each match (the whole match if there is no group) to `more`, until `more` returns
    /// `false`.
    pub fn each(&self, text: &[u8], more: &mut dyn FnMut(&[u8]) -> bool) {
        let group = self.groups().min(1);
        MEMORY.with_borrow_mut(|memory| {
            let cache = memory.get_or_insert_with(|| self.machine.create_cache());
            cache.reset(&self.machine);
            for found in self.machine.captures_iter(cache, text) {
                let span = found.get_group(group);
                if !span.is_none_or(|span| more(&text[span.start..span.end])) {
                    break;
                }
            }
        });
    }

    /// Appends the spans of the whole match and of each group in `message`; the span of a group that did not take part
    /// in the match is empty.
    pub fn find(&self, message: &[u8], spans: &mut Vec<(u32, u32)>) {
        let mut slots = [None; 2 * (MOST_GROUPS + 1)];
        let slots = &mut slots[..2 * (self.groups() + 1)];
        MEMORY.with_borrow_mut(|memory| {
            let cache = memory.get_or_insert_with(|| self.machine.create_cache());
            cache.reset(&self.machine);
            self.machine.search_slots(cache, &Input::new(message), slots);
        });
        let at = |slot: Option<NonMaxUsize>| slot.map_or(0, |at| at.get() as u32);
        spans.extend(slots.chunks(2).map(|pair| (at(pair[0]), at(pair[1]))));
    }
}
