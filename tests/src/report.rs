//! The JSON document of a run, and the identities that hold in every such document.

use serde_json::Value;

use crate::TargetProcess;
use crate::program::{ProgramOutput, is_generator_doubt, prepare};

/// The JSON document of a run, and the program's other output.
#[derive(Debug)]
pub struct TestReport {
    /// The document.
    pub json: Value,
    /// Exit code.
    pub code: i32,
    /// Standard error.
    pub err: String,
}

/// Runs brunt with these arguments and parses the JSON document it prints.
///
/// # Panics
/// Panics if it prints no document, or one whose counts do not add up.
#[track_caller]
pub fn report(args: &[&str]) -> TestReport {
    // The report of a load of failures is wanted too.
    TestReport::of(prepare(args.iter().chain(&["--quiet", "--format", "json", "--force"])).run())
}

/// Like [`report`], but returns `None` if the program reports that it cannot do this here (exit code 64).
///
/// # Panics
/// Like [`report`].
#[track_caller]
pub fn report_if_possible(args: &[&str]) -> Option<TestReport> {
    let ended = prepare(args.iter().chain(&["--quiet", "--format", "json"])).run();
    (ended.code != Some(64)).then(|| TestReport::of(ended))
}

/// Asserts that no request was lost: the server received exactly the load, the warm-up and the pre-flight request.
///
/// # Panics
/// Panics if it received more or fewer.
#[track_caller]
pub fn assert_exact_count(target: &TargetProcess, report: &TestReport) {
    let counted =
        ["succeeded", "failed", "hops", "warmup", "probe"].map(|name| report.count(&format!("requests.{name}")));
    assert_eq!(report.count("requests.unfinished"), 0, "{report}");
    assert_eq!(target.requests(), counted.iter().sum::<u64>(), "the target's count, against {report}");
}

impl TestReport {
    /// Parses the report in the program's output.
    ///
    /// # Panics
    /// Panics if the output is not a document, or if the program panicked.
    #[track_caller]
    pub fn of(ended: ProgramOutput) -> TestReport {
        assert!(!ended.err.contains("panicked"), "brunt panicked:\n{}", ended.err);
        let json = serde_json::from_str(&ended.out)
            .unwrap_or_else(|error| panic!("no document ({error}):\n{}\n{}", ended.out, ended.err));
        TestReport::checked(json, ended.code.expect("no signal ended it"), ended.err)
    }

    /// Parses the report in a file.
    ///
    /// # Panics
    /// Panics if the file is not a document.
    #[track_caller]
    pub fn in_file(path: &std::path::Path) -> TestReport {
        let text = std::fs::read_to_string(path).expect("the document is there");
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("no document ({error}):\n{text}"));
        let code = json["exit"].as_i64().expect("an exit code") as i32;
        TestReport::checked(json, code, String::new())
    }

    #[track_caller]
    fn checked(json: Value, code: i32, err: String) -> TestReport {
        let report = TestReport { json, code, err };
        assert_eq!(report.json["exit"], code, "the document names another exit code: {report}");
        report.adds_up();
        report
    }

    /// Returns a number by its path, such as `requests.succeeded`.
    ///
    /// # Panics
    /// Panics if there is none.
    #[track_caller]
    pub fn number(&self, path: &str) -> f64 {
        self.at(path).as_f64().unwrap_or_else(|| panic!("{path} is no number in {self}"))
    }

    /// Returns a count by its path.
    ///
    /// # Panics
    /// Panics if there is none.
    #[track_caller]
    pub fn count(&self, path: &str) -> u64 {
        self.at(path).as_u64().unwrap_or_else(|| panic!("{path} is no count in {self}"))
    }

    /// Returns a value by its path; null if there is none.
    pub fn at(&self, path: &str) -> &Value {
        path.split('.').fold(&self.json, |value, name| match name.parse::<usize>() {
            Ok(index) if value.is_array() => &value[index],
            _ => &value[name],
        })
    }

    /// Returns the numbers scheduled, succeeded, failed and unfinished.
    #[track_caller]
    pub fn requests(&self) -> [u64; 4] {
        ["scheduled", "succeeded", "failed", "unfinished"].map(|name| self.count(&format!("requests.{name}")))
    }

    /// Returns the failures by kind.
    pub fn failures(&self) -> std::collections::BTreeMap<String, u64> {
        let mut kinds = std::collections::BTreeMap::new();
        for failure in self.json["failures"].as_array().expect("failures") {
            *kinds.entry(failure["kind"].as_str().expect("a kind").to_string()).or_default() +=
                failure["count"].as_u64().expect("a count");
        }
        kinds
    }

    /// Returns the codes of the notices.
    pub fn notices(&self) -> Vec<String> {
        let notices = self.json["notices"].as_array().expect("notices");
        notices.iter().map(|notice| notice["code"].as_str().unwrap_or_default().to_string()).collect()
    }

    /// Returns the report if the exit code is the expected one.
    ///
    /// # Panics
    /// Panics if it is not.
    #[track_caller]
    pub fn with_code(self, code: i32) -> TestReport {
        let only_busy = is_doubted_for_the_generator_alone(&self.json);
        let as_expected = self.code == code || is_generator_doubt(self.code, code, only_busy);
        assert!(as_expected, "exit code {}, not {code}, of {self}", self.code);
        self
    }

    /// Checks every identity between the counts of one document.
    #[track_caller]
    fn adds_up(&self) {
        let [due, finished, failed, censored] = self.requests();
        assert_eq!(due, finished + failed + censored, "scheduled = succeeded + failed + unfinished in {self}");
        let sum = |name: &str, parts: &[&str]| -> u64 {
            let seconds = self.json["seconds"].as_array().expect("seconds").iter();
            let wanted = seconds.filter(|second| parts.iter().any(|part| second["part"] == *part));
            wanted.map(|second| second[name].as_u64().unwrap_or_else(|| panic!("{name} in {second}"))).sum()
        };
        assert_eq!(sum("succeeded", &["window", "drain"]), finished, "succeeded, second by second, in {self}");
        assert_eq!(sum("failed", &["window", "drain"]), failed, "failed, second by second, in {self}");
        assert_eq!(self.failures().values().sum::<u64>(), failed, "failures by kind in {self}");
        let window = self.number("window_s");
        if window > 0.0 {
            // Throughput is completions inside the window ÷ its length, without the drain.
            let inside = (sum("succeeded", &["window"]) + sum("succeeded_of_warmup", &["window"])) as f64;
            let off = (self.number("throughput_per_s") * window - inside).abs();
            assert!(off <= 0.5 + inside * 1e-6, "throughput × window is not the completions inside, in {self}");
        }
        let exact = if self.json["mode"] == "open" { "latency.response" } else { "latency.service" };
        // Requests that get no answer have no latency.
        let ranked = finished - self.count("requests.one_way") + self.count(&format!("{exact}.unanswered"));
        assert_eq!(self.count(&format!("{exact}.count")), ranked, "the histogram holds every answer, in {self}");
    }
}

/// Returns `true` if every reason against the run of this document concerns the generator itself.
pub(crate) fn is_doubted_for_the_generator_alone(json: &Value) -> bool {
    let reasons = json["trust"]["reasons"].as_array().into_iter().flatten();
    let mut failing = reasons.filter(|reason| reason["grade"] == "fail").peekable();
    let of_generator = |reason: &Value| reason["code"].as_str().is_some_and(|code| code.starts_with("generator_"));
    failing.peek().is_some() && failing.all(of_generator)
}

impl std::fmt::Display for TestReport {
    /// Formats the document without its longest parts.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut short = self.json.clone();
        strip(&mut short);
        write!(f, "\n{short:#}\n{}", self.err)
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            ["histogram", "host", "plan", "distribution"].iter().for_each(|name| drop(fields.remove(*name)));
            fields.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}
