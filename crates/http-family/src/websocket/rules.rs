//! The settings shared by every connection of a run.

use memchr::memmem::Finder;

use super::expect::ExpectedText;
use super::json_path::JsonPath;
use super::options::WebSocketOptions;
use super::request::WebSocketMessage;
use super::steps::WebSocketStep;
use super::upgrade::HandshakeRequest;
use brunt_values::budget::MemoryBudget;
use brunt_values::side_messages::SideMessages;

/// The settings shared by every connection of a run.
#[derive(Debug)]
pub struct WebSocketRules {
    /// The upgrade request for each URL.
    pub upgrades: Vec<HandshakeRequest>,
    /// The field by which answers are matched.
    pub field: Option<JsonPath>,
    /// The text expected in every answer.
    pub expect: Option<Finder<'static>>,
    /// Set if each answer has its own expected text.
    pub expects_filled: bool,
    /// Rules for side messages.
    pub side_messages: SideMessages<WebSocketMessage>,
    /// Set if messages are not answered.
    pub one_way: bool,
    /// Set if unsolicited messages are allowed.
    pub push: bool,
    /// The memory budget for kept answers.
    pub budget: MemoryBudget,
    /// The steps of a flow; empty in other runs.
    pub steps: Vec<WebSocketStep>,
}

impl WebSocketRules {
    /// Creates the settings from the options and the upgrade request for each URL.
    pub fn new(
        wishes: WebSocketOptions,
        upgrades: Vec<HandshakeRequest>,
        expect: ExpectedText,
        beside: SideMessages<WebSocketMessage>,
    ) -> WebSocketRules {
        let WebSocketOptions { field, one_way, push, .. } = wishes;
        let kept = MemoryBudget::default();
        let expects_filled = expect.filled().is_some();
        let expect =
            if let ExpectedText::Constant(text) = expect { Some(Finder::new(&text).into_owned()) } else { None };
        let steps = Vec::new();
        WebSocketRules {
            upgrades,
            field,
            expect,
            expects_filled,
            side_messages: beside,
            one_way,
            push,
            budget: kept,
            steps,
        }
    }

    /// Returns `true` if the next message counts as the next answer, because there is no matching field and pushes are
    /// not allowed.
    pub fn pairs_by_order(&self) -> bool {
        self.field.is_none() && !self.push
    }

    /// Returns the memory budget for answers if their content is examined.
    pub fn examined_budget(&self) -> Option<&MemoryBudget> {
        let of_answers = self.field.is_some() || self.expect.is_some() || self.expects_filled;
        (of_answers || !self.steps.is_empty() || self.side_messages.has_opening() || self.side_messages.has_replies())
            .then_some(&self.budget)
    }
}
