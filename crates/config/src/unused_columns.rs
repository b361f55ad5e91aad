//! Remarks on unused columns and short rows of data files: too expensive before every run, but useful when a plan is only checked.

use brunt_cause::{Complaint, complaint};
use brunt_plan::Plan;

use super::draft::{DraftUrl, RunDraft};

/// Maximum number of columns named for each file.
const NAMED: usize = 8;

/// Returns remarks on the data files of a plan, one sentence each.
pub(super) fn remarks(plan: &Plan, draft: &RunDraft) -> Vec<Complaint> {
    let options = |options: &brunt_plan::PlanOptions| -> Vec<String> { options.values().flatten().cloned().collect() };
    let mut texts = options(&plan.options);
    for url in &plan.urls {
        texts.push(url.url.clone());
        texts.extend(options(&url.options));
    }
    // Bodies may be in files with placeholders.
    let files: Vec<String> = texts.iter().filter_map(|text| file_text(text)).collect();
    texts.extend(files);
    let unused = brunt_protocols::template::unused_columns(texts.iter().map(String::as_str));
    let one = |unused: &brunt_protocols::template::UnusedColumns| {
        let names_it = |text: &str| text.contains(&format!(" {}.", unused.file));
        let said = draft.values.iter().find(|said| names_it(&said.text)).map(|said| &said.origin);
        let of_url = |url: &'_ DraftUrl| {
            let own = url.own.iter().find(|said| names_it(&said.text)).map(|said| said.origin.clone());
            own.or_else(|| names_it(&url.url).then(|| url.origin.clone()))
        };
        let origin = said.cloned().or_else(|| draft.urls.iter().find_map(of_url));
        let place = origin.and_then(|origin| origin.place()).map(|place| format!("{place}: ")).unwrap_or_default();
        let (more, more_zh) = match unused.columns.len().saturating_sub(NAMED) {
            0 => (String::new(), String::new()),
            more => (format!(" and {more} more"), format!(" 等 {} 个", unused.columns.len())),
        };
        let names: Vec<String> = unused.columns.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        let (word, verb) = if unused.columns.len() == 1 { ("column", "is") } else { ("columns", "are") };
        complaint!(
            "{place}the {word} {}{more} of {} {verb} not used",
            "{place}列 {}{more_zh}（{}）没有使用",
            names.join(", "),
            unused.file
        )
    };
    let short = brunt_protocols::template::short_rows(texts.iter().map(String::as_str));
    let short = short.iter().map(|row| {
        complaint!(
            "{} has {} of {} values; the missing ones are empty",
            "{} 有 {} 个值，而应有 {} 个；缺少的为空",
            row.place,
            row.values,
            row.columns
        )
    });
    unused.iter().map(one).chain(short).collect()
}

/// Returns the contents of the file named by an option: `@body.json`, `body.json`.
pub(super) fn file_text(text: &str) -> Option<String> {
    let path = text.rsplit_once(['@', '<']).map_or(text, |(_, path)| path);
    let named = !path.is_empty() && path.len() < 1024 && !path.contains(['\n', '{', '\0']);
    let bytes = named.then(|| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)).flatten();
    bytes
        .and_then(|_| brunt_protocols::file::read_bounded("--data-file", path, 1 << 20).ok())
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::file_tests::with_file;

    #[test]
    fn columns_of_data_files_that_nothing_uses_are_told_at_their_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("users.csv"), "name,age,city\nann,3,x\n").expect("written");
        std::fs::write(path("body"), format!("{{csv {}.city}}", path("users.csv"))).expect("written");
        let said = |more: &str| {
            let text = format!("users: 1\nflow:\n  - url: http://h/{{csv {}.name}}\n{more}", path("users.csv"));
            let intent = with_file(&text, &[]).unwrap_or_else(|complaint| panic!("{complaint}"));
            let all = intent.unused_columns();
            all.into_iter()
                .inspect(|said| assert!(said.is_translated(), "{said}"))
                .map(String::from)
                .map(|said| said.rsplit_once("p.yaml ").map_or(said.clone(), |(_, said)| said.to_owned()))
                .collect::<Vec<_>>()
        };
        let file = path("users.csv");
        let both = format!("line 3 column 5 (URL): the columns `age`, `city` of {file} are not used");
        assert_eq!(said(""), [both]);
        let one = format!("line 3 column 5 (URL): the column `age` of {file} is not used");
        assert_eq!(said(&format!("    data: '@{}'\n", path("body"))), [one]);
        let all = format!("    data: '{{csv {file}.age u32}}{{csv {file}.city | url}}'\n");
        assert_eq!(said(&all), [""; 0]);
        std::fs::write(&file, "name,age,city\nann,3\n").expect("written");
        assert_eq!(said(&all), [format!("{file} line 2 has 2 of 3 values; the missing ones are empty")]);
    }
}
