//! Positions of the steps of a plan file, for remarks before the run.

use brunt_cause::{Complaint, complaint};
use brunt_plan::yaml::FilePosition;

/// A section of steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Section<'a> {
    /// Steps of a scenario, with its name and the section (`flow`, `start`, `end`). A single flow has an empty name.
    Own(&'a str, &'a str),
    /// Steps of a named flow.
    Called(&'a str),
}

/// The positions of steps and requests. The steps of a section are in reading order: each before the steps nested in
/// it.
#[derive(Default)]
pub(super) struct StepPositions {
    /// Steps of the section being read.
    open: Vec<FilePosition>,
    /// Scenario, section name, and steps; the scenario is `None` for a named flow.
    sections: Vec<(Option<String>, String, Vec<FilePosition>)>,
    /// Position of each URL of the plan.
    urls: Vec<FilePosition>,
    /// Captures: URL, name, and position.
    captures: Vec<(u32, String, FilePosition)>,
    /// Named flows, with their positions.
    called: Vec<(String, FilePosition)>,
}

impl StepPositions {
    /// Records a step.
    pub(super) fn step(&mut self, at: FilePosition) {
        self.open.push(at);
    }

    /// Records the next request of the plan.
    pub(super) fn url(&mut self, at: FilePosition) {
        self.urls.push(at);
    }

    /// Records a capture of the next URL of the plan.
    pub(super) fn capture(&mut self, name: &str, at: FilePosition) {
        self.captures.push((self.urls.len() as u32, name.to_owned(), at));
    }

    /// Records a named flow.
    pub(super) fn called(&mut self, name: &str, at: FilePosition) {
        self.called.push((name.to_owned(), at));
    }

    /// Ends a section.
    pub(super) fn close(&mut self, section: &Section<'_>) {
        let steps = std::mem::take(&mut self.open);
        self.sections.push(match section {
            Section::Own(of, name) => (Some((*of).to_owned()), (*name).to_owned(), steps),
            Section::Called(name) => (None, (*name).to_owned(), steps),
        });
    }

    /// Returns the positions of the steps of a section; empty if it is not in the file.
    pub(super) fn of(&self, section: &Section<'_>) -> &[FilePosition] {
        let (of, name) = match section {
            Section::Own(of, name) => (Some(*of), *name),
            Section::Called(name) => (None, *name),
        };
        let found = self.sections.iter().find(|(whose, what, _)| whose.as_deref() == of && what == name);
        found.map_or(&[], |(_, _, steps)| steps)
    }

    /// Returns the position of a request.
    pub(super) fn of_url(&self, url: u32) -> FilePosition {
        self.urls.get(url as usize).copied().unwrap_or(NOWHERE)
    }

    /// Returns the position of a capture of a request.
    pub(super) fn of_capture(&self, url: u32, name: &str) -> FilePosition {
        let found = self.captures.iter().find(|(of, known, _)| *of == url && known == name);
        found.map_or_else(|| self.of_url(url), |(.., at)| *at)
    }

    /// Returns the position of a named flow.
    pub(super) fn of_called(&self, name: &str) -> FilePosition {
        self.called.iter().find(|(known, _)| known == name).map_or(NOWHERE, |(_, at)| *at)
    }
}

/// Placeholder for an unknown position.
pub(super) const NOWHERE: FilePosition = FilePosition { line: 0, column: 0 };

/// Formats remarks with their positions, sorted by line.
pub(super) fn format_remarks(mut all: Vec<(FilePosition, Complaint)>) -> Vec<Complaint> {
    all.sort_by_key(|(at, _)| at.line);
    let one = |(at, sentence): (FilePosition, Complaint)| match at.line {
        0 => sentence,
        line => {
            let zh = sentence.zh();
            complaint!("line {line}: {sentence}", "第 {line} 行：{zh}")
        }
    };
    all.into_iter().map(one).collect()
}
