//! Steps that load a page with its resources. Each becomes a group, so that the whole page is timed.

use super::{Flow, RESOURCES, Step};
use crate::{PlanOptions, WeightedUrl};

impl Flow {
    /// Wraps each request whose resources are fetched in a group `page NAME`, unless it is already in such a group.
    /// `options` apply to all URLs.
    #[must_use]
    pub fn with_pages(mut self, urls: &[WeightedUrl], options: &PlanOptions) -> Flow {
        let wrap = |steps: &mut Vec<Step>| around(steps, (urls, options), &mut Vec::new());
        [&mut self.steps, &mut self.start, &mut self.end].into_iter().for_each(wrap);
        self.flows.iter_mut().for_each(|called| wrap(&mut called.steps));
        self
    }
}

/// Returns `true` if the resources of the page at this URL are fetched.
pub fn is_page(url: &WeightedUrl, options: &PlanOptions) -> bool {
    let wished = url.options.get(RESOURCES).or_else(|| options.get(RESOURCES)).and_then(|texts| texts.last());
    wished.is_some_and(|text| text.trim() != "0") && ["http://", "https://"].iter().any(|s| url.url.starts_with(s))
}

fn around(steps: &mut Vec<Step>, all: (&[WeightedUrl], &PlanOptions), within: &mut Vec<String>) {
    for step in steps {
        match step {
            Step::Request { url, .. } => {
                let page = all.0.get(*url as usize).filter(|page| is_page(page, all.1));
                let name = page.map(|page| format!("page {}", page.name.as_deref().unwrap_or(path(&page.url))));
                if let Some(name) = name.filter(|name| !within.contains(name)) {
                    *step = Step::Group { name, steps: vec![step.clone()] };
                }
            }
            Step::Group { name, steps } => {
                within.push(name.clone());
                around(steps, all, within);
                within.pop();
            }
            Step::Repeat { steps, .. }
            | Step::While { steps, .. }
            | Step::ForEach { steps, .. }
            | Step::Once { steps } => around(steps, all, within),
            Step::If { steps, otherwise, .. } => {
                around(steps, all, within);
                around(otherwise, all, within);
            }
            Step::Choose { ways } => ways.iter_mut().for_each(|way| around(&mut way.steps, all, within)),
            Step::Batch { .. } | Step::Pause(_) | Step::Pace(_) | Step::Close { .. } | Step::Call { .. } => {}
        }
    }
}

/// Returns the path of a URL as written.
fn path(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let path = behind.find('/').map_or("/", |at| &behind[at..]);
    path.split(['?', '#']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::OnFailure;

    #[test]
    fn each_page_is_a_group_once_and_nothing_else_is() {
        let urls = ["http://h/a?x=1", "http://h/b", "redis://h"].map(WeightedUrl::plain);
        let mut urls = urls.to_vec();
        urls[1].options.insert(RESOURCES.into(), vec!["0".into()]);
        let request = |url| Step::Request { url, on_failure: OnFailure::default() };
        let steps = vec![Step::Repeat { times: 2.into(), steps: vec![request(0)] }, request(1), request(2)];
        let all = PlanOptions::from([(RESOURCES.to_owned(), vec!["6 at once".to_owned()])]);
        let flow = Flow { steps, ..Flow::default() };
        let once = flow.clone().with_pages(&urls, &all);
        assert_eq!((once.groups(), once.urls()), (vec!["page /a"], vec![0, 1, 2]));
        assert_eq!(once.clone().with_pages(&urls, &all), once);
        assert_eq!(flow.clone().with_pages(&urls, &PlanOptions::default()), flow);
    }
}
