//! What holds for every connection of a run.

use memchr::memmem::Finder;

use super::expect::Expect;
use super::field::Field;
use super::options::Wishes;
use super::request::Message;
use super::steps::Step;
use super::upgrade::Upgrade;
use values::beside::Beside;
use values::kept::Budget;

/// What holds for every connection of a run.
#[derive(Debug)]
pub struct Rules {
    /// The request of the upgrade for each URL.
    pub upgrades: Vec<Upgrade>,
    /// Sub-protocols that were offered.
    pub subprotocols: Vec<String>,
    /// The field that answers are matched by.
    pub field: Option<Field>,
    /// What every answer must hold.
    pub expect: Option<Finder<'static>>,
    /// Each answer must hold a text of its own.
    pub expects_filled: bool,
    /// What is said beside messages.
    pub beside: Beside<Message>,
    /// Nobody answers.
    pub one_way: bool,
    /// Messages that nobody asked for are no fault.
    pub push: bool,
    /// Compression is offered.
    pub compress: bool,
    /// What answers are kept within.
    pub kept: Budget,
    /// Steps of a flow, where they are said; none in other runs.
    pub steps: Vec<Step>,
}

impl Rules {
    /// What was wished, and the request of the upgrade for each URL.
    pub fn new(wishes: Wishes, upgrades: Vec<Upgrade>, expect: Expect, beside: Beside<Message>) -> Rules {
        let Wishes { subprotocols, field, one_way, push, compress, .. } = wishes;
        let kept = Budget::default();
        let expects_filled = expect.filled().is_some();
        let expect = if let Expect::Text(text) = expect { Some(Finder::new(&text).into_owned()) } else { None };
        let steps = Vec::new();
        Rules { upgrades, subprotocols, field, expect, expects_filled, beside, one_way, push, compress, kept, steps }
    }

    /// True where the next message is taken for the next answer, and none was said to be a push.
    pub fn pairs_by_order(&self) -> bool {
        self.field.is_none() && !self.push
    }

    /// Where the content of an answer matters: what it is kept within.
    pub fn looks(&self) -> Option<&Budget> {
        let of_answers = self.field.is_some() || self.expect.is_some() || self.expects_filled;
        (of_answers || !self.steps.is_empty() || self.beside.opens() || self.beside.listens()).then_some(&self.kept)
    }
}
