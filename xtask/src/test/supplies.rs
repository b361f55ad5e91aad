//! What the steps use beside Rust, from Debian, npm, PyPI and Go: fetched while the sources compile, which waits for none of it.

use std::thread::JoinHandle;

use super::{StepOutcome, StepProgress, web};
use crate::{install, places};

/// What is being fetched.
pub(super) struct TestDependencies(JoinHandle<FetchResult>);

/// What came of it.
struct FetchResult {
    missing: Vec<&'static str>,
    troubles: Vec<String>,
    pages: Option<JoinHandle<Result<(), String>>>,
}

/// Begins to fetch all of it, and to check the sources of the pages where that follows: neither waits for what cargo builds.
pub(super) fn begin(pages_follow: bool) -> TestDependencies {
    TestDependencies(std::thread::spawn(move || {
        let tools: Vec<_> = install::FOR_TESTS.iter().chain(install::FOR_WEB).copied().collect();
        install::from_debian(&tools);
        let packages = web::packages();
        let pages = (pages_follow && packages.is_ok()).then(|| std::thread::spawn(web::sources));
        // Whoever needs what could not be had says so again.
        let troubles =
            packages.err().into_iter().chain(brunt_programs::servers::prepare_all(&places::target_dir())).collect();
        FetchResult { missing: install::missing(install::FOR_TESTS), troubles, pages }
    }))
}

/// Waits for them; what stays missing skips its group loudly.
pub(super) fn wait(progress: &mut StepProgress) -> StepOutcome {
    let Some(supplies) = progress.supplies.take() else { return StepOutcome::Passed };
    let Ok(fetched) = supplies.0.join() else { return StepOutcome::Failed("what fetches them broke".into()) };
    progress.pages = fetched.pages;
    for trouble in &fetched.troubles {
        eprintln!("{trouble}");
    }
    if fetched.missing.is_empty() {
        println!("nginx, curl, zstd and the others are here");
        return StepOutcome::Passed;
    }
    StepOutcome::Skipped(format!("{} not here: the tests that need it are left out", fetched.missing.join(", ")))
}
