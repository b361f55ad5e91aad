//! An element of an HTML document that counts the steps of the search for a selector.
//!
//! The search of the library has no bound: a selector with several parts may look at all siblings of all ancestors of each
//! element. All of it goes through these methods. Once the budget is spent, an element has no neighbours and matches
//! nothing, so that the search ends soon; its result then means nothing.

use html5ever::Namespace;
use scraper::selector::{CssLocalName, CssString, NonTSPseudoClass, PseudoElement, Simple};
use scraper::{ElementRef, Node};
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::matching::{ElementSelectorFlags, MatchingContext};
use selectors::{Element, OpaqueElement};

use crate::steps::StepBudget;

/// Steps of the budget for a look at a node or an attribute.
const STEPS_PER_LOOK: u64 = 10;

/// An element, and the budget of the search.
#[derive(Clone, Debug)]
pub(super) struct CountedElement<'a> {
    pub element: ElementRef<'a>,
    pub steps: &'a StepBudget,
}

type NodeRef<'a> = <ElementRef<'a> as std::ops::Deref>::Target;

impl<'a> CountedElement<'a> {
    /// Returns the first element among nodes.
    fn first(&self, nodes: impl Iterator<Item = NodeRef<'a>>) -> Option<CountedElement<'a>> {
        let mut nodes = nodes.take_while(|_| self.steps.spend(STEPS_PER_LOOK));
        let element = nodes.find_map(ElementRef::wrap)?;
        Some(CountedElement { element, steps: self.steps })
    }
}

impl Element for CountedElement<'_> {
    type Impl = Simple;

    fn opaque(&self) -> OpaqueElement {
        self.element.opaque()
    }

    fn parent_element(&self) -> Option<Self> {
        self.first(self.element.parent().into_iter())
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.first(self.element.prev_siblings())
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.first(self.element.next_siblings())
    }

    fn first_element_child(&self) -> Option<Self> {
        self.first(self.element.children())
    }

    fn is_empty(&self) -> bool {
        let mut children = self.element.children().take_while(|_| self.steps.spend(STEPS_PER_LOOK));
        !children.any(|child| matches!(child.value(), Node::Element(_) | Node::Text(_)))
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&Namespace>,
        name: &CssLocalName,
        operation: &AttrSelectorOperation<&CssString>,
    ) -> bool {
        let attributes = self.element.value().attrs();
        let cost: u64 = attributes.map(|(_, value)| STEPS_PER_LOOK + value.len() as u64 / 8).sum();
        self.steps.spend(cost) && self.element.attr_matches(namespace, name, operation)
    }

    fn has_class(&self, name: &CssLocalName, case: CaseSensitivity) -> bool {
        self.steps.spend(STEPS_PER_LOOK * self.element.value().classes().count() as u64)
            && self.element.has_class(name, case)
    }

    fn has_id(&self, id: &CssLocalName, case: CaseSensitivity) -> bool {
        self.steps.spend(STEPS_PER_LOOK) && self.element.has_id(id, case)
    }

    fn has_local_name(&self, name: &CssLocalName) -> bool {
        self.steps.spend(1) && self.element.has_local_name(name)
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        self.element.has_namespace(namespace)
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.element.is_same_type(&other.element)
    }

    fn is_root(&self) -> bool {
        self.element.is_root()
    }

    fn is_link(&self) -> bool {
        self.element.is_link()
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.element.is_html_element_in_html_document()
    }

    fn is_html_slot_element(&self) -> bool {
        self.element.is_html_slot_element()
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn is_part(&self, _name: &CssLocalName) -> bool {
        false
    }

    fn imported_part(&self, _: &CssLocalName) -> Option<CssLocalName> {
        None
    }

    fn match_non_ts_pseudo_class(&self, class: &NonTSPseudoClass, _: &mut MatchingContext<'_, Simple>) -> bool {
        match *class {}
    }

    fn match_pseudo_element(&self, element: &PseudoElement, _: &mut MatchingContext<'_, Simple>) -> bool {
        match *element {}
    }

    fn has_custom_state(&self, _name: &CssLocalName) -> bool {
        false
    }

    fn apply_selector_flags(&self, _flags: ElementSelectorFlags) {}

    fn add_element_unique_hashes(&self, _filter: &mut BloomFilter) -> bool {
        false
    }
}
