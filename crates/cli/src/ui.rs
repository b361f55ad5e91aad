//! `brunt ui`: the console in the browser, until a signal ends it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use brunt_cause::complaint;
use brunt_console::{Console, ConsoleSettings, FleetPlace};
use brunt_contract::{Protocol, UsageError};
use brunt_report::text::{Text, text};
use brunt_report::{Exit, Lang};

use crate::plans::PlanParser;
use crate::run::CommandResult;
use crate::{fleet, kept_runs, signals};
use brunt_config::{Defaults, UiSettings};

const LINK: Text = text("console: {link}", "控制台：{link}");
const LOOK: Text = text("view only: {link}", "只读链接：{link}");
const PASSWORD: Text = text("both links require the password", "两个链接都需要密码");
const END: Text = text("Ctrl-C stops it and the runs started from it", "按 Ctrl-C 结束控制台及其启动的压测");
/// Library file of earlier versions, which kept everything in one database.
const EARLIER_FILE: &str = "library.sqlite";
const EARLIER: Text = text(
    "{file}: names, notes and tags from an earlier version of brunt are still in it; docs/guide/console.md has the command to move them; then delete the file",
    "{file}：旧版 brunt 中填写的名称、备注和标签仍在此文件中；迁移命令见 docs/guide/console.md；迁移后请删除该文件",
);

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// Returns an error if the address cannot be listened on or the library cannot be opened.
pub fn serve(asked: UiSettings, protocols: &[Arc<dyn Protocol>], defaults: &Defaults) -> CommandResult {
    let lang = asked.language.unwrap_or_else(Lang::from_env);
    let signals = signals::EndSignals::register().map_err(|error| UsageError::new("signals", error.to_string()))?;
    let kept = kept_runs::directory();
    let library = asked.library.or_else(kept_runs::library).ok_or_else(|| {
        UsageError::new(
            "--library",
            complaint!(
                "there is no home directory to keep runs in; add --library DIR",
                "没有可保存压测的主目录；请加 --library DIR"
            ),
        )
    })?;
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("brunt"));
    let earlier = Some(library.join(EARLIER_FILE)).filter(|file| file.exists());
    let asks_password = asked.password.is_some();
    let place = asked.fleet.clone();
    let fleet = FleetPlace { asked: asked.fleet, exists: Box::new(move || fleet::exists(place.as_deref())) };
    let console = Console::start(ConsoleSettings {
        listen: asked.listen,
        names: asked.names,
        password: asked.password,
        tls: asked.tls.map(|tls| tls.config()),
        library,
        renew_links: asked.new_links,
        kept,
        program,
        fleet,
        plans: Arc::new(PlanParser { protocols: protocols.to_vec(), defaults: *defaults }),
    });
    let console = console.map_err(|(option, trouble)| UsageError::new(option, trouble))?;
    let link = console.link(true);
    let mut said = vec![lang.fill(LINK, &[("link", &link)]), lang.fill(LOOK, &[("link", &console.link(false))])];
    said.extend(asks_password.then(|| lang.of(PASSWORD).to_owned()));
    said.push(lang.of(END).to_owned());
    // The parent process may not read the output, which is no reason to stop serving.
    let _ = writeln!(std::io::stdout(), "{}", said.join("\n"));
    if let Some(file) = earlier {
        let _ = writeln!(std::io::stderr(), "{}", lang.fill(EARLIER, &[("file", &file.display().to_string())]));
    }
    if asked.open {
        open(&link);
    }
    signals.wait();
    drop(console);
    Ok(Exit::Ok.code())
}

/// Opens a browser if there is a desktop; otherwise the printed link remains.
fn open(link: &str) {
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !desktop {
        return;
    }
    let quiet = || Stdio::null();
    let opened = Command::new("xdg-open").arg(link).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Ok(mut browser) = opened {
        // The command passes the link on and exits.
        let _ = std::thread::Builder::new().name("browser".into()).spawn(move || browser.wait());
    }
}
