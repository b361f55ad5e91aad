//! The reference page of the guide: every option and every key of plan files.
//!
//! Generated from the program's own output, `--help` and the JSON Schema of plan files, so that all three share one
//! description.

use std::fmt::Write;
use std::process::Command;

use serde_json::{Map, Value};

use crate::{places, shell};

const HEAD: &str = "\
# Options and plan keys

Generated from `brunt --help` and `brunt plan --schema` by `cargo xtask generate`.

- Options marked *key* can also be written in a [plan file](plans.md), by their long name: `-c 50` is `users: 50`. Options that can be
  repeated take a list.
- Times carry a unit (`500ms`, `10s`, `1m30s`), and so do rates (`100/s`, `300/min`).
- Where an option means something else in some protocol, its text says so after the name of the protocol.
";

/// Commands that have options of their own.
const COMMANDS: [&str; 16] = [
    "find",
    "compare",
    "sweep",
    "ladder",
    "report",
    "trend",
    "plan",
    "demo",
    "calibrate",
    "capacity",
    "lint",
    "target",
    "probe",
    "fleet",
    "agent",
    "ui",
];
/// The heading in `--help` of the options that every command has, and of those that only one
/// command has.
const EVERYWHERE: &str = "Options";

/// An option as `--help` shows it.
#[derive(Debug, PartialEq)]
struct OptionHelp {
    /// `-c, --users <N>`.
    option: String,
    text: String,
}

impl OptionHelp {
    /// The long name without the dashes, which is the key in a plan file.
    fn key(&self) -> &str {
        let long = self.option.split("--").nth(1).unwrap_or_default();
        long.split(' ').next().unwrap_or_default()
    }
}

/// A group of options: its heading and the options.
type HelpGroup = (String, Vec<OptionHelp>);

/// Generates the whole page.
pub fn page() -> Result<String, String> {
    let schema: Value = serde_json::from_str(&said(&["plan", "--schema"])?).map_err(|e| format!("the schema: {e}"))?;
    let keys = properties(&schema);
    let groups = groups(&said(&["--help"])?);
    let mut page = HEAD.to_owned();
    for (title, options) in groups.iter().filter(|(title, _)| title != EVERYWHERE) {
        heading(&mut page, 2, title);
        table(&mut page, options, Some(keys));
    }
    plan_keys(&mut page, keys, &groups);
    for command in COMMANDS {
        let help = said(&[command, "--help"])?;
        heading(&mut page, 2, &format!("brunt {command}"));
        let _ = writeln!(page, "\n{}", cell(&about(&help)));
        table(&mut page, &own_options(&help), None);
    }
    Ok(page)
}

/// Runs the built program and returns its output.
fn said(words: &[&str]) -> Result<String, String> {
    shell::capture(Command::new(places::brunt("debug")).args(words))
}

/// Parses the options in a help text. A line that begins with a dash within six columns is an
/// option; a line indented deeper continues it.
fn groups(help: &str) -> Vec<HelpGroup> {
    let mut groups: Vec<HelpGroup> = Vec::new();
    for line in help.lines() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        let last = groups.last_mut();
        match last {
            _ if indent == 0 && text.ends_with(':') => groups.push((text.trim_end_matches(':').to_owned(), Vec::new())),
            Some((_, options)) if (1..=6).contains(&indent) && text.starts_with('-') => {
                let (option, text) = text.split_once("  ").unwrap_or((text, ""));
                options.push(OptionHelp { option: option.to_owned(), text: text.trim().to_owned() });
            }
            Some((_, options)) if indent > 6 && !text.is_empty() => {
                if let Some(option) = options.last_mut() {
                    option.text.push_str(if option.text.is_empty() { "" } else { " " });
                    option.text.push_str(text);
                }
            }
            _ => {}
        }
    }
    groups.retain(|(_, options)| !options.is_empty());
    groups
}

/// Returns the options of a command, except for those of every command. If the command takes the
/// options of a run, these are omitted as well.
fn own_options(help: &str) -> Vec<OptionHelp> {
    let groups = groups(help);
    let reads_a_run = groups.iter().any(|(title, _)| title == "Load");
    let own = groups.into_iter().filter(|(title, _)| !reads_a_run || title == EVERYWHERE);
    own.flat_map(|(_, options)| options).filter(|option| !["help", "version"].contains(&option.key())).collect()
}

/// Returns the description of a command: the text before its usage.
fn about(help: &str) -> String {
    let lines = help.lines().take_while(|line| !line.starts_with("Usage:"));
    lines.filter(|line| !line.trim().is_empty()).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Appends the keys that no option has, and those of steps and scenarios.
fn plan_keys(page: &mut String, keys: &Map<String, Value>, groups: &[HelpGroup]) {
    let is_option = |name: &str| groups.iter().flat_map(|(_, options)| options).any(|option| option.key() == name);
    heading(page, 2, "Keys of plan files only");
    let only = keys.iter().filter(|(name, _)| !is_option(name) && !name.contains('_') || *name == "urls");
    table_of_keys(
        page,
        only.map(|(name, schema)| (name, same_as(schema, keys).unwrap_or_else(|| description(schema)))),
    );

    heading(page, 2, "Keys of a URL");
    page.push_str("\nBeside `url`, an entry of `urls` can have `weight`, `name`, and these options, if its protocol has them:\n\n");
    let url = keys.get("urls").map(|urls| &urls["anyOf"][0]["anyOf"][1]);
    let names = url.map(properties).into_iter().flat_map(Map::keys);
    let names: Vec<String> = names
        .filter(|name| is_option(name) && !["name", "url"].contains(&name.as_str()))
        .map(|n| format!("`{n}`"))
        .collect();
    let _ = writeln!(page, "{}", names.join(", "));

    heading(page, 2, "Keys of a step");
    page.push_str(
        "\nSteps with a `url` have the keys of a URL except `weight`. [Flows](flows.md#steps) explain all of these.\n",
    );
    let steps = keys.get("flow").and_then(|flow| flow["items"]["anyOf"].as_array()).into_iter().flatten();
    let all = steps.flat_map(|step| properties(step).iter());
    let mut own: Vec<(&String, String)> = Vec::new();
    for (name, schema) in all.filter(|(name, _)| *name == "timeout" || !keys.contains_key(*name)) {
        if own.iter().all(|(known, _)| *known != name) && name != "steps" {
            own.push((name, description(schema)));
        }
    }
    table_of_keys(page, own.into_iter());

    heading(page, 2, "Keys of a scenario");
    page.push_str("\n[Scenarios](scenarios.md) explain them.\n");
    let scenario = keys.get("scenarios").map(|all| &all["anyOf"][0]["additionalProperties"]);
    let own = scenario.map(properties).into_iter().flatten();
    table_of_keys(page, own.map(|(name, schema)| (name, same_as_key(schema).unwrap_or_else(|| description(schema)))));
}

/// Returns the key of which a key is an alias.
fn same_as(schema: &Value, keys: &Map<String, Value>) -> Option<String> {
    let known = ["stage", "objective", "source", "ping"].into_iter().find(|name| keys.get(*name) == Some(schema))?;
    Some(format!("Same as `{known}`"))
}

/// Returns the plan key to which a scenario key corresponds.
fn same_as_key(schema: &Value) -> Option<String> {
    let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
    schema.get("description").is_none().then(|| format!("As the key `{name}` of a plan"))
}

fn properties(schema: &Value) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    schema["properties"].as_object().unwrap_or(&NONE)
}

/// Returns the description of a key, with its allowed values.
fn description(schema: &Value) -> String {
    let list =
        |name: &str| -> Vec<&str> { schema[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect() };
    let mut text = schema["description"].as_str().unwrap_or_default().to_owned();
    for (name, words) in [("one of", list("enum")), ("such as", list("examples"))] {
        if !words.is_empty() && text.len() + words.len() > 0 {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            let _ = write!(text, "; {name} {}", words.join(", "));
        }
    }
    text
}

fn heading(page: &mut String, level: usize, title: &str) {
    let _ = writeln!(page, "\n{} {title}", "#".repeat(level));
}

/// Appends a table of options; `keys` are the keys of plan files.
fn table(page: &mut String, options: &[OptionHelp], keys: Option<&Map<String, Value>>) {
    page.push_str(if keys.is_some() {
        "\n| option | plan | |\n|---|---|---|\n"
    } else {
        "\n| option | |\n|---|---|\n"
    });
    for option in options {
        let key =
            keys.map(|keys| if keys.contains_key(option.key()) && option.key() != "urls" { " *key* |" } else { " |" });
        let _ = writeln!(
            page,
            "| `{}` |{} {} |",
            option.option.replace('|', "\\|"),
            key.unwrap_or_default(),
            by_protocol(&cell(&option.text))
        );
    }
}

fn table_of_keys<'a>(page: &mut String, keys: impl Iterator<Item = (&'a String, String)>) {
    page.push_str("\n| key | |\n|---|---|\n");
    for (name, text) in keys {
        let _ = writeln!(page, "| `{name}` | {} |", cell(&text));
    }
}

/// Formats plain text as a table cell, with Markdown escaped outside backticks.
fn cell(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(n, part)| {
        let part = part.replace('|', "\\|");
        if n % 2 == 1 { part } else { part.replace('<', "&lt;").replace('*', "\\*") }
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Puts the meaning of an option in another protocol, `[grpc: …]`, on a line of its own.
fn by_protocol(text: &str) -> String {
    let mut lines = String::new();
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        let rest = &text[at + letter.len_utf8()..];
        match letter {
            '[' if depth == 0 && names_protocols(rest) => {
                depth = 1;
                lines.truncate(lines.trim_end().len());
                lines.push_str("<br>");
                continue;
            }
            '[' if depth > 0 => depth += 1,
            ']' if depth == 1 => {
                depth = 0;
                continue;
            }
            ']' if depth > 1 => depth -= 1,
            _ => {}
        }
        lines.push(letter);
    }
    lines
}

/// Returns `true` for `grpc: …` and `mysql, postgres: …`, and not for `default: …`.
fn names_protocols(text: &str) -> bool {
    let names = text.split_once(": ").map(|(names, _)| names).unwrap_or_default();
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase());
    names != "default" && names.split(", ").all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Usage: brunt [OPTIONS]

Options:
  -h, --help  Show help

Load:
  -c, --users <N>  Users, each sending
                   back to back
      --stage <TIME:LEVEL>
          A stage: 30s:1|2
      --yes  Do not ask

Example: brunt -c 5
";

    #[test]
    fn reads_the_options_of_a_help_text() {
        let described = |option: &str, text: &str| OptionHelp { option: option.into(), text: text.into() };
        let load = vec![
            described("-c, --users <N>", "Users, each sending back to back"),
            described("--stage <TIME:LEVEL>", "A stage: 30s:1|2"),
            described("--yes", "Do not ask"),
        ];
        assert_eq!(
            groups(HELP),
            [("Options".to_owned(), vec![described("-h, --help", "Show help")]), ("Load".to_owned(), load)]
        );
        let keys: Vec<String> = groups(HELP)[1].1.iter().map(|option| option.key().to_owned()).collect();
        assert_eq!(keys, ["users", "stage", "yes"]);
    }

    #[test]
    fn a_command_has_its_own_options() {
        assert_eq!(own_options(HELP), [], "the options of a run are shown once");
        assert_eq!(own_options(&HELP.replace("Load:", "Output:")).len(), 3);
        assert_eq!(about("Show a run.\nAgain.\n\nUsage: brunt\n"), "Show a run. Again.");
    }

    #[test]
    fn other_protocols_have_lines_of_their_own() {
        assert_eq!(
            by_protocol("N at once (default 1) [raw: N on a [b] [default: 1]] [mysql, postgres: none] [c]"),
            "N at once (default 1)<br>raw: N on a [b] [default: 1]<br>mysql, postgres: none [c]"
        );
        assert_eq!(by_protocol("N [default: 1] [also raw]"), "N [default: 1] [also raw]");
    }

    #[test]
    fn cells_hold_plain_text() {
        assert_eq!(cell("a|b <c> * `d|<e>*`"), "a\\|b &lt;c> \\* `d\\|<e>*`");
    }
}
