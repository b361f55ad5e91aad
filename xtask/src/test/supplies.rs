//! Dependencies of the steps other than Rust, from Debian, npm, PyPI and Go, fetched while the sources compile.

use std::thread::JoinHandle;

use super::{StepOutcome, StepProgress, web};
use crate::{install, places};

/// The dependencies being fetched.
pub(super) struct TestDependencies(JoinHandle<FetchResult>);

/// The result of fetching the dependencies.
struct FetchResult {
    missing: Vec<&'static str>,
    troubles: Vec<String>,
    pages: Option<JoinHandle<Result<(), String>>>,
}

/// Starts fetching the dependencies, and, if a later step checks the pages, the check of their
/// sources: neither needs cargo.
pub(super) fn begin(pages_follow: bool) -> TestDependencies {
    TestDependencies(std::thread::spawn(move || {
        let tools: Vec<_> = install::FOR_TESTS.iter().chain(install::FOR_WEB).copied().collect();
        install::from_debian(&tools);
        let packages = web::packages();
        let pages = (pages_follow && packages.is_ok()).then(|| std::thread::spawn(web::sources));
        // A step that needs a missing dependency reports the error again.
        let troubles =
            packages.err().into_iter().chain(brunt_programs::servers::prepare_all(&places::target_dir())).collect();
        FetchResult { missing: install::missing(install::FOR_TESTS), troubles, pages }
    }))
}

/// Waits for the dependencies; tests whose dependency is missing are skipped with a message.
pub(super) fn wait(progress: &mut StepProgress) -> StepOutcome {
    let Some(supplies) = progress.supplies.take() else { return StepOutcome::Passed };
    let Ok(fetched) = supplies.0.join() else {
        return StepOutcome::Failed("the thread that fetches them panicked".into());
    };
    progress.pages = fetched.pages;
    for trouble in &fetched.troubles {
        eprintln!("{trouble}");
    }
    if fetched.missing.is_empty() {
        println!("nginx, curl, zstd and the others are installed");
        return StepOutcome::Passed;
    }
    StepOutcome::Skipped(format!("{} not installed: the tests that need them are skipped", fetched.missing.join(", ")))
}
