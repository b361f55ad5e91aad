//! Where the steps of a plan file stand in it, so that what is said of them before the run names their lines.

use plan::yaml::At;

/// Whose steps these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Section<'a> {
    /// Those of a scenario, or of the one flow where that has no name: `flow`, `start`, `end`.
    Own(&'a str, &'a str),
    /// Of a flow that is called by this name.
    Called(&'a str),
}

/// Where steps and requests stand. The steps of a section are in the order in which they are read: each before those within it.
#[derive(Default)]
pub(super) struct Places {
    /// Those of the section that is being read.
    open: Vec<At>,
    /// Whose, its name, and its steps; None: of a flow that is called.
    sections: Vec<(Option<String>, String, Vec<At>)>,
    /// Of each URL of the plan.
    urls: Vec<At>,
    /// Values that are captured: by which URL, the name, and where that stands.
    captures: Vec<(u32, String, At)>,
    /// Flows that are called, by their names.
    called: Vec<(String, At)>,
}

impl Places {
    /// A step begins here.
    pub(super) fn step(&mut self, at: At) {
        self.open.push(at);
    }

    /// A request stands here, the next of the plan.
    pub(super) fn url(&mut self, at: At) {
        self.urls.push(at);
    }

    /// A value that the next URL of the plan captures.
    pub(super) fn capture(&mut self, name: &str, at: At) {
        self.captures.push((self.urls.len() as u32, name.to_owned(), at));
    }

    /// A flow that is called begins here.
    pub(super) fn called(&mut self, name: &str, at: At) {
        self.called.push((name.to_owned(), at));
    }

    /// All steps of this section have been read.
    pub(super) fn close(&mut self, section: &Section<'_>) {
        let steps = std::mem::take(&mut self.open);
        self.sections.push(match section {
            Section::Own(of, name) => (Some((*of).to_owned()), (*name).to_owned(), steps),
            Section::Called(name) => (None, (*name).to_owned(), steps),
        });
    }

    /// Where the steps of a section stand; none where they stand nowhere in so many words.
    pub(super) fn of(&self, section: &Section<'_>) -> &[At] {
        let (of, name) = match section {
            Section::Own(of, name) => (Some(*of), *name),
            Section::Called(name) => (None, *name),
        };
        let found = self.sections.iter().find(|(whose, what, _)| whose.as_deref() == of && what == name);
        found.map_or(&[], |(_, _, steps)| steps)
    }

    /// Where a request stands.
    pub(super) fn of_url(&self, url: u32) -> At {
        self.urls.get(url as usize).copied().unwrap_or(NOWHERE)
    }

    /// Where a request captures a value.
    pub(super) fn of_capture(&self, url: u32, name: &str) -> At {
        let found = self.captures.iter().find(|(of, known, _)| *of == url && known == name);
        found.map_or_else(|| self.of_url(url), |(.., at)| *at)
    }

    /// Where a flow that is called stands.
    pub(super) fn of_called(&self, name: &str) -> At {
        self.called.iter().find(|(known, _)| known == name).map_or(NOWHERE, |(_, at)| *at)
    }
}

/// Where nothing stands.
pub(super) const NOWHERE: At = At { line: 0, column: 0 };

/// Sentences about what stands here and there, line by line.
pub(super) fn said(mut all: Vec<(At, String)>) -> Vec<String> {
    all.sort_by_key(|(at, _)| at.line);
    let one = |(at, sentence): (At, String)| match at.line {
        0 => sentence,
        line => format!("line {line}: {sentence}"),
    };
    all.into_iter().map(one).collect()
}
