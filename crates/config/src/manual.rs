//! The manual page, in roff.

use clap::Command;
use clap_mangen::Man;

/// Exit codes and their meanings.
const EXITS: [(u8, &str); 7] = [
    (0, "Objectives met; without objectives, the results can be used."),
    (10, "An objective was missed for certain; lint found something."),
    (20, "Not trusted, or an objective cannot be decided."),
    (21, "Interrupted, or an output file could not be written."),
    (30, "The target cannot be reached; no load was sent."),
    (64, "The command line or the plan is wrong."),
    (70, "A bug in brunt."),
];

/// Returns the page: the options of a run, then the commands, each with a sentence about it, and the exit codes.
pub fn page(run: Command, commands: impl Iterator<Item = (&'static str, String)>) -> String {
    let man = Man::new(run);
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let parts = [Man::render_title, Man::render_name_section, Man::render_synopsis_section];
    parts.into_iter().for_each(|part| drop(part(&man, &mut page)));
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    let mut page = String::from_utf8_lossy(&page).into_owned();
    page.push_str(".SH COMMANDS\n");
    commands.for_each(|(name, about)| page.push_str(&item(&format!("brunt {name}"), &about)));
    page.push_str(".SH \"EXIT STATUS\"\n");
    EXITS.iter().for_each(|(code, meaning)| page.push_str(&item(&code.to_string(), meaning)));
    let mut rest = Vec::new();
    let _ = man.render_version_section(&mut rest);
    page + &String::from_utf8_lossy(&rest)
}

/// Returns an item of a list.
fn item(name: &str, text: &str) -> String {
    format!(".TP\n\\fB{name}\\fR\n{}\n", text.replace('\\', "\\\\").replace('-', "\\-"))
}
