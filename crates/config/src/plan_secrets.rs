//! The secrets of a plan, including those in the files that it names: bodies, and columns of data files.

use brunt_plan::Plan;
use brunt_plan::mask::{PlanSecrets, Secrets};

use super::unused_columns::file_text;

/// Maximum number of URLs whose own files are read.
const URLS: usize = 1000;
/// Number of values of a data file that are masked in every form; of more, those up to [`MOST_VALUES`] as they are.
const ENCODED_VALUES: u64 = 4096;
const MOST_VALUES: u64 = 1 << 16;

/// Collects the secrets of a plan.
pub(super) fn secrets(plan: &Plan) -> Secrets {
    let own = plan.urls.iter().take(URLS).map(|url| &url.options);
    let options = own.chain([&plan.options]).flatten().flat_map(|(name, values)| values.iter().map(move |v| (name, v)));
    // A value that only looks like the name of a file is none that exists.
    let named = options.filter(|(name, value)| value.contains(['@', '<']) || name.ends_with("-file"));
    let bodies: Vec<String> = named.filter_map(|(_, value)| file_text(value)).collect();
    let PlanSecrets { mut secrets, slots } = PlanSecrets::of(plan, &bodies);
    for column in brunt_protocols::template::columns(slots.iter().map(String::as_str)) {
        let learn = if column.count() <= ENCODED_VALUES { Secrets::learn_value } else { Secrets::learn_plainly };
        let mut value = Vec::new();
        for row in 0..column.count().min(MOST_VALUES) {
            value.clear();
            column.append(row, &mut value);
            std::str::from_utf8(&value).into_iter().for_each(|value| learn(&mut secrets, value));
        }
    }
    secrets
}

#[cfg(test)]
mod tests {
    use super::super::file_tests::with_file;

    #[test]
    fn secrets_in_files_are_known_by_the_places_they_are_put_in() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name).display().to_string();
            std::fs::write(&path, text).expect("written");
            path
        };
        let users = file("users.csv", "name,password,k\nann,hunter-22,key-4711\n");
        let lines = file("users.jsonl", "{\"pin\":\"x\",\"token\":\"tok-99812\"}\n");
        let body = file("body.json", &format!("{{\"pw\":\"in-file-77\",\"x\":\"{{jsonl {lines}.token}}\"}}"));
        let text = format!(
            "urls: ['http://h/?q={{csv {users}.password}}&name={{csv {users}.name}}']\nheader: 'X-Api-Key: {{csv \
             {users}.k | url}}'\ndata: '@{body}'"
        );
        let intent = with_file(&text, &[]).unwrap_or_else(|complaint| panic!("{complaint}"));
        let shown = intent.redaction.sentence("ann hunter-22 key-4711 tok-99812 in-file-77 x");
        assert_eq!(shown, "ann *** *** *** *** x");
    }
}
