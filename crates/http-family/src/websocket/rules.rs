//! The settings shared by every connection of a run.

use memchr::memmem::Finder;

use super::expect::Expect;
use super::field::Field;
use super::options::Wishes;
use super::request::Message;
use super::steps::Step;
use super::upgrade::Upgrade;
use values::beside::Beside;
use values::kept::Budget;

/// The settings shared by every connection of a run.
#[derive(Debug)]
pub struct Rules {
    /// The upgrade request for each URL.
    pub upgrades: Vec<Upgrade>,
    /// Offered subprotocols.
    pub subprotocols: Vec<String>,
    /// The field by which answers are matched.
    pub field: Option<Field>,
    /// The text expected in every answer.
    pub expect: Option<Finder<'static>>,
    /// Set if each answer has its own expected text.
    pub expects_filled: bool,
    /// Rules for side messages.
    pub beside: Beside<Message>,
    /// Set if messages are not answered.
    pub one_way: bool,
    /// Set if unsolicited messages are allowed.
    pub push: bool,
    /// Set if compression is offered.
    pub compress: bool,
    /// The memory budget for kept answers.
    pub kept: Budget,
    /// The steps of a flow; empty in other runs.
    pub steps: Vec<Step>,
}

impl Rules {
    /// Creates the settings from the options and the upgrade request for each URL.
    pub fn new(wishes: Wishes, upgrades: Vec<Upgrade>, expect: Expect, beside: Beside<Message>) -> Rules {
        let Wishes { subprotocols, field, one_way, push, compress, .. } = wishes;
        let kept = Budget::default();
        let expects_filled = expect.filled().is_some();
        let expect = if let Expect::Text(text) = expect { Some(Finder::new(&text).into_owned()) } else { None };
        let steps = Vec::new();
        Rules { upgrades, subprotocols, field, expect, expects_filled, beside, one_way, push, compress, kept, steps }
    }

    /// Returns `true` if the next message counts as the next answer: no matching field is given and pushes are not
    /// allowed.
    pub fn pairs_by_order(&self) -> bool {
        self.field.is_none() && !self.push
    }

    /// Returns the memory budget for answers if their content is examined.
    pub fn looks(&self) -> Option<&Budget> {
        let of_answers = self.field.is_some() || self.expect.is_some() || self.expects_filled;
        (of_answers || !self.steps.is_empty() || self.beside.opens() || self.beside.listens()).then_some(&self.kept)
    }
}
