//! What holds for any bytes that are linted, for the fuzz target and for tests.

use brunt_i18n::Lang;
use brunt_measure::sanitize;

use super::{LintGrade, lint};

/// Lints bytes, and checks that there is a result or one sentence, and that nothing of it would act on a terminal.
///
/// # Panics
/// Panics if this does not hold.
pub fn check(bytes: &[u8]) {
    for lang in [Lang::En, Lang::Zh] {
        match lint(bytes) {
            Ok(report) => {
                let text = report.text(lang);
                assert!(!text.contains(|c: char| c != '\n' && sanitize::is_invisible(c)), "{text:?}");
                assert!(!text.contains(['{', '}']), "{text}");
                let document = report.document(lang);
                let weighty = document.findings.iter().filter(|found| found.grade != LintGrade::Note.name()).count();
                assert_eq!(document.count, weighty);
                assert!(document.findings.iter().all(|found| !found.check.is_empty() && !found.sentence.is_empty()));
                serde_json::to_string(&document).expect("a document is JSON");
            }
            Err(complaint) => assert!(!complaint.is_empty() && !complaint.contains('\n'), "{complaint}"),
        }
    }
}
