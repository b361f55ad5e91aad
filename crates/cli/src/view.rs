//! The output during and after a run, and the stream it goes to.
//!
//! Table and summary go to standard output. If a document goes there, they go to standard error instead, so that
//! `brunt --format json URL | jq` gets only the document.

use brunt_measure::Nanos;
use brunt_plan::Plan;
use brunt_record::{FirstResponse, Notice, ReplaySource, RunEvent, RunListener, Subject};
use brunt_report::formats::{FORMATS, Style};
use brunt_report::{Lang, LiveMode, RecordedSeconds, SecondsTable, Summary};

use crate::screen::{OutputStream, Screen};
use brunt_config::Presentation;

/// The output of one command.
pub struct View {
    screen: Screen,
    lang: Lang,
    color: bool,
    document_on_stdout: bool,
    is_brief: bool,
    table: Option<LiveTable>,
}

/// The table of a run in progress.
struct LiveTable {
    live: SecondsTable,
    duration: Option<Nanos>,
    requests: Option<u64>,
    /// Set once the final notices are due.
    ending: bool,
}

impl View {
    /// Creates the output of a command.
    pub fn new(shown: &Presentation, lang: Lang) -> View {
        // `--quiet` keeps the screen clean, but a document that was requested explicitly and has no file goes to
        // standard output.
        let document_on_stdout =
            shown.files.is_empty() && !shown.format.is_on_screen() && (shown.format_given || !shown.quiet);
        let side = match (shown.quiet, document_on_stdout) {
            (true, _) => OutputStream::Discard,
            (false, true) => OutputStream::Error,
            (false, false) => OutputStream::Out,
        };
        let screen = Screen::new(side);
        let plain = shown.no_color || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
        let color = screen.is_terminal() && !plain;
        View { screen, lang, color, document_on_stdout, is_brief: !shown.verbose, table: None }
    }

    /// Writes a line of the program itself.
    pub fn print(&mut self, text: &str) {
        if !self.screen.is_terminal() {
            return self.screen.line(text);
        }
        let cells = self.screen.width();
        let lines: Vec<String> = text.split('\n').map(|line| brunt_report::wrap(line, cells)).collect();
        self.screen.line(&lines.join("\n"));
    }

    /// Suppresses all further output.
    pub fn silence(&mut self) {
        self.screen = Screen::new(OutputStream::Discard);
    }

    /// Shows the first answer.
    pub fn probe(&mut self, probe: &FirstResponse) {
        let live = self.live(LiveMode::Closed);
        self.screen.line(&live.probe(probe));
    }

    /// Shows a notice outside a run's table.
    pub fn notice(&mut self, notice: &Notice) {
        let live = self.live(LiveMode::Closed);
        self.screen.line(&live.notice(notice));
    }

    /// Starts the table of a run, which shows one row for each second.
    pub fn begin_table(&mut self, plan: &Plan) {
        let mode = match (plan.load.is_open(), plan.hold) {
            (true, _) => LiveMode::Open,
            (false, None) => LiveMode::Closed,
            (false, Some(_)) => LiveMode::Held,
        };
        let (duration, requests) = (plan.duration, plan.requests);
        self.table = Some(LiveTable { live: self.live(mode), duration, requests, ending: false });
    }

    fn live(&self, mode: LiveMode) -> SecondsTable {
        SecondsTable::new(self.lang, self.color, self.screen.width(), self.screen.is_terminal(), mode)
    }

    /// Shows the summary.
    pub fn summary(&mut self, summary: &Summary, past: Option<&dyn ReplaySource>) {
        self.screen.end_progress();
        let mut summary = summary.clone();
        if self.table.take().is_some() {
            self.screen.line("");
            // This notice was shown with the table's first rows, and the failures themselves follow.
            summary.notices.retain(|notice| notice.subject() != Some(Subject::OnlyErrors));
        }
        let style = Style { is_brief: self.is_brief, ..self.style() };
        // The summary is a page or two long even for a long run, so it fits in memory.
        let mut page = Vec::new();
        match FORMATS[0].write(&summary, &RecordedSeconds(past), style, &mut page) {
            Ok(()) => self.screen.line(&String::from_utf8_lossy(&page)),
            Err(error) => self.screen.line(&error.to_string()),
        }
    }

    /// Returns the style of text on this screen.
    pub fn style(&self) -> Style {
        let cells = self.screen.is_terminal().then(|| self.screen.width());
        Style { lang: self.lang, color: self.color, cells, ..Style::default() }
    }

    /// Takes the error of standard output, if it could not be written.
    pub fn take_error(&mut self) -> Option<std::io::Error> {
        self.screen.take_error()
    }

    /// Returns `true` if the output is a terminal.
    pub fn is_watched(&self) -> bool {
        self.screen.is_terminal()
    }

    /// Returns `true` if the requested document goes to standard output.
    pub fn document_on_stdout(&self) -> bool {
        self.document_on_stdout
    }
}

/// Rows and notices are shown up to the final notices, which are part of the summary.
impl RunListener for View {
    fn observe(&mut self, event: &RunEvent) -> Result<(), Notice> {
        let Some(table) = &mut self.table else { return Ok(()) };
        match event {
            RunEvent::Second(second) => {
                if SecondsTable::has_row(second) && !table.live.was_shown(second) {
                    self.screen.line(&table.live.row(second));
                }
                self.screen.progress(&table.live.progress(second, table.duration, table.requests));
            }
            RunEvent::Provisional(second) => {
                let row = table.live.provisional_row(second);
                row.iter().for_each(|row| self.screen.line(row));
            }
            RunEvent::Changed(changed) => self.screen.line(&table.live.changed(changed)),
            RunEvent::Notice(notice) if !table.ending => self.screen.line(&table.live.notice(notice)),
            RunEvent::Ended(_) => self.screen.end_progress(),
            _ => {}
        }
        Ok(())
    }

    fn final_notices(&mut self) -> Vec<Notice> {
        self.table.iter_mut().for_each(|table| table.ending = true);
        Vec::new()
    }

    /// Returns `true` until the reader has gone.
    fn keeps_run_alive(&self) -> bool {
        !self.screen.closed()
    }
}
