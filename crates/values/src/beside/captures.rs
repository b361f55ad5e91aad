//! What the groups of a pattern found, once it is known that it matches: a second, slower look at a message that is short.
//!
//! Its working memory is one of the thread's and no connection's: a million of them may have such a pattern.

use std::cell::RefCell;

use regex_automata::Input;
use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::{Builder, Cache, Config, PikeVM};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;

thread_local! {
    static MEMORY: RefCell<Option<Cache>> = const { RefCell::new(None) };
}

/// Most bytes that a pattern may come to.
const SIZE_BOUND: usize = 1 << 20;
/// Most groups of a pattern.
const MOST_GROUPS: usize = 32;

/// A pattern whose groups are asked for.
#[derive(Debug)]
pub struct Captures {
    machine: PikeVM,
}

impl Captures {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str) -> Result<Captures, String> {
        let machine = Builder::new()
            .configure(Config::new())
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().utf8(false).nfa_size_limit(Some(SIZE_BOUND)))
            .build(pattern);
        let machine = machine.map_err(|error| format!("\"{pattern}\" is not a valid regular expression ({error})"))?;
        let captures = Captures { machine };
        if captures.groups() > MOST_GROUPS {
            return Err(format!("\"{pattern}\" has more than {MOST_GROUPS} groups; write (?:…) for unused ones"));
        }
        Ok(captures)
    }

    /// How many groups it has.
    pub fn groups(&self) -> usize {
        self.machine.get_nfa().group_info().group_len(regex_automata::PatternID::ZERO).saturating_sub(1)
    }

    /// Shows what its first group finds (all that it matches, where it has none), match after match, until `more` wants no more.
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

    /// Appends where in `message` all of the pattern and then each group was found; nothing stands where one found nothing.
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
