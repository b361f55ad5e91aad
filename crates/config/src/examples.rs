//! Example plans, one for each kind of test: `brunt plan --example soak`.

use brunt_cause::complaint;
use brunt_contract::UsageError;

/// The plans by name.
const EXAMPLES: [(&str, &str); 10] = [
    ("smoke", include_str!("examples/smoke.yaml")),
    ("load", include_str!("examples/load.yaml")),
    ("users", include_str!("examples/users.yaml")),
    ("stress", include_str!("examples/stress.yaml")),
    ("spike", include_str!("examples/spike.yaml")),
    ("soak", include_str!("examples/soak.yaml")),
    ("concurrency", include_str!("examples/concurrency.yaml")),
    ("breakpoint", include_str!("examples/breakpoint.yaml")),
    ("flow", include_str!("examples/flow.yaml")),
    ("scenarios", include_str!("examples/scenarios.yaml")),
];

/// The address under test in the examples.
const PLACEHOLDER: &str = "http://localhost:8080";

/// Returns the names of the plans.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|(name, _)| *name)
}

/// Returns the plan with this name. If a URL is given, it replaces the address in the plan.
///
/// # Errors
/// There is no plan with that name, there are several URLs, or the URL does not fit the plan.
pub(super) fn find(name: &str, urls: &[&str]) -> Result<String, UsageError> {
    let Some((_, text)) = EXAMPLES.iter().find(|(known, _)| *known == name) else {
        let names = EXAMPLES.map(|(name, _)| name).join(", ");
        return Err(UsageError::new(
            "--example",
            complaint!("`{name}` is not one of {names}", "`{name}` 不在 {names} 之列"),
        ));
    };
    match urls {
        [] => Ok((*text).to_owned()),
        [url] if url.contains(['{', '"', '\'', '#', ' ']) => Err(UsageError::new(
            "URL",
            complaint!(
                "must be a plain address, such as http://localhost:8080",
                "必须是简单的地址，例如 http://localhost:8080"
            ),
        )),
        [url] if url.contains("://") => with_address((name, text), url),
        [url] => with_address((name, text), &format!("http://{url}")),
        [_, second, ..] => Err(UsageError::new(
            *second,
            complaint!("is a second address; an example takes only one", "是第二个地址；示例只接受一个"),
        )),
    }
}

/// Inserts an address into a plan: URLs of the plan without a path are replaced by `url`, the others by their path
/// below it.
fn with_address((name, text): (&str, &str), url: &str) -> Result<String, UsageError> {
    let has_path = url.split_once("://").is_some_and(|(_, behind)| behind.contains(['/', '?']));
    let alone = format!("{PLACEHOLDER}/\n");
    let text = text.replace(&alone, &format!("{url}{}\n", if has_path { "" } else { "/" }));
    if !text.contains(PLACEHOLDER) {
        return Ok(text);
    }
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let trouble = complaint!(
            "has HTTP steps, and {url} is not an HTTP URL; use http://… or https://…, or the example `load`",
            "含有 HTTP 步骤，而 {url} 不是 HTTP URL；请用 http://… 或 https://…，或用示例 `load`"
        );
        return Err(UsageError::new("--example", trouble.map(|text| format!("`{name}` {text}"))));
    }
    if let Some((path, _)) = url.split_once('?') {
        let trouble = complaint!(
            "has steps at paths below the URL, so the URL must have no query; use {path}",
            "含有位于该 URL 之下的路径，因此 URL 不能带查询参数；请用 {path}"
        );
        return Err(UsageError::new("--example", trouble.map(|text| format!("`{name}` {text}"))));
    }
    Ok(text.replace(PLACEHOLDER, url.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::super::file_tests::with_file;
    use super::*;

    #[test]
    fn every_example_is_a_plan_that_can_be_run_and_says_what_it_is_for() {
        for (name, text) in EXAMPLES {
            let intent = with_file(text, &[]).unwrap_or_else(|complaint| panic!("{name}: {complaint}"));
            assert!(!intent.plan.objectives.is_empty(), "{name}");
            assert_eq!(intent.flow_remarks, [""; 0], "{name}");
            assert!(text.starts_with("# ") && text.contains(PLACEHOLDER), "{name}");
        }
    }

    /// Neither the examples nor the plans in the documentation cause remarks.
    #[test]
    fn no_plan_that_we_show_is_remarked_on() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let mut plans = Vec::new();
        for folder in std::fs::read_dir(docs.join("examples")).expect("examples").flatten() {
            let text = std::fs::read_to_string(folder.path().join("plan.yaml")).expect("a plan");
            plans.push((
                folder.path().display().to_string(),
                text.replace("csv ", &format!("csv {}/", folder.path().display())),
            ));
        }
        let guide = std::fs::read_dir(docs.join("guide")).expect("the guide").flatten().map(|entry| entry.path());
        for page in guide.chain([docs.join("../README.md")]).filter(|page| page.extension().is_some_and(|e| e == "md"))
        {
            let text = std::fs::read_to_string(&page).expect("a page");
            let files = text.split("<<'PLAN'\n").skip(1).filter_map(|rest| rest.split("\nPLAN\n").next());
            let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
            plans.extend(files.chain(blocks).map(|plan| (page.display().to_string(), plan.to_owned())));
        }
        assert!(plans.len() >= 20, "{}", plans.len());
        for (place, text) in plans {
            let intent = with_file(&text, &[]).unwrap_or_else(|complaint| panic!("{place}: {complaint}"));
            assert_eq!((&intent.flow_remarks, intent.unused_columns()), (&Vec::new(), Vec::new()), "{place}: {text}");
        }
    }

    #[test]
    fn an_example_takes_the_address_of_a_url() {
        let urls = |text: &str| with_file(text, &[]).expect("a plan").plan.urls[0].url.clone();
        assert_eq!(urls(&find("soak", &["https://shop.example/"]).expect("soak")), "https://shop.example/");
        assert_eq!(urls(&find("flow", &["shop.example:81/v1"]).expect("flow")), "http://shop.example:81/v1/login");
        for (url, wanted) in [
            ("http://h/shop", "http://h/shop"),
            ("http://h/shop/", "http://h/shop/"),
            ("http://h/items?page=2", "http://h/items?page=2"),
            ("http://h?page=2", "http://h?page=2"),
            ("redis://h:1/2", "redis://h:1/2"),
            ("h", "http://h/"),
        ] {
            for name in ["smoke", "load", "users", "stress", "spike", "soak", "concurrency", "breakpoint"] {
                let text = find(name, &[url]).unwrap_or_else(|complaint| panic!("{name} {url}: {complaint}"));
                assert!(text.contains(&format!("  - {wanted}\n")), "{name} {url}: {text}");
            }
        }
        for (url, wanted) in
            [("redis://h/", "has HTTP steps, and redis://h/ is not an HTTP URL"), ("http://h/a?b=1", "use http://h/a")]
        {
            for name in ["flow", "scenarios"] {
                let said = find(name, &[url]).expect_err("no such steps").to_string();
                assert!(said.contains(wanted), "{said}");
            }
        }
        let said = find("sok", &[]).expect_err("none").to_string();
        assert!(said.starts_with("--example: `sok` is not one of smoke, load"), "{said}");
        for (beside, named) in [(["-c", "5"], "-c"), (["--think", "5s"], "--think"), (["--show", "h"], "--show")] {
            let line = ["plan", "--example", "soak"].iter().chain(&beside).map(ToString::to_string).collect::<Vec<_>>();
            let said = super::super::read(&line, &super::super::tests::protocols(), &super::super::tests::DEFAULTS);
            let said = said.expect_err("without effect").to_string();
            assert_eq!(
                said,
                format!("{named}: cannot be combined with --example, which only prints a plan; leave it out")
            );
        }
        assert!(find("soak", &["a", "b"]).is_err() && find("soak", &["h/{x}"]).is_err());
    }
}
