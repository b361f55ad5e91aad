//! A fleet on this machine: a coordinator's directory, and agents that are processes of their own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use brunt_programs::nats::NatsServer;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::program::{ProgramCommand, RunningProgram, prepare_under, until};
use crate::{ProgramOutput, TestReport};

/// A fleet with agents; all ends when this is dropped.
pub struct TestFleet {
    home: TempDir,
    tokens: Vec<String>,
    port: u16,
    /// Over NATS instead.
    nats: Option<NatsServer>,
    agents: Vec<RunningProgram>,
}

impl TestFleet {
    /// Makes a fleet whose agents `a1`, `a2` … may come.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub fn init(agents: usize) -> TestFleet {
        let home = tempfile::tempdir().expect("a home for a fleet");
        let port = crate::daemon::free_datagram_port();
        let names: Vec<String> = (1..=agents).map(|n| format!("a{n}")).collect();
        let mut fleet = TestFleet { home, tokens: Vec::new(), port, nats: None, agents: Vec::new() };
        let words = ["fleet", "init", "--host", "127.0.0.1", "--port"].map(str::to_owned);
        let made = fleet.prepare(words.into_iter().chain([port.to_string()]).chain(names)).run().with_code(0);
        let token =
            |line: &str| line.strip_prefix("brunt agent ")?.rsplit_once(" --token ").map(|(_, it)| it.to_owned());
        fleet.tokens = made.out.lines().filter_map(token).collect();
        assert_eq!(fleet.tokens.len(), agents, "{}", made.out);
        fleet
    }

    /// Makes a fleet, and starts its agents with these options.
    pub fn with(agents: usize, options: &[&str]) -> TestFleet {
        let mut fleet = TestFleet::init(agents);
        (0..agents).for_each(|agent| fleet.start_agent(agent, options));
        fleet
    }

    /// Makes a fleet over a NATS server of its own, and starts its agents; `None` if the server cannot be built here.
    ///
    /// # Panics
    /// Panics if there is no home for it.
    pub fn over_nats(agents: usize) -> Option<TestFleet> {
        let home = tempfile::tempdir().expect("a home for a fleet");
        let nats =
            match crate::external::target().and_then(|target| NatsServer::start(&target, &home.path().join("nats"))) {
                Ok(nats) => nats,
                Err(why) => {
                    crate::skip(&why);
                    return None;
                }
            };
        let tokens = vec![String::new(); agents];
        let mut fleet = TestFleet { home, tokens, port: 0, nats: Some(nats), agents: Vec::new() };
        (0..agents).for_each(|agent| fleet.start_agent(agent, &[]));
        Some(fleet)
    }

    /// Returns the NATS server of the fleet.
    ///
    /// # Panics
    /// Panics if it has none.
    pub fn nats(&self) -> &NatsServer {
        self.nats.as_ref().expect("a fleet over NATS")
    }

    /// Starts an agent with a token of another fleet.
    pub fn start_stranger(&mut self, other: &TestFleet) {
        self.tokens.push(other.tokens[0].clone());
        self.start_agent(self.tokens.len() - 1, &[]);
    }

    /// Starts another agent with the token of the one with this index.
    pub fn start_twin(&mut self, agent: usize) {
        self.tokens.push(self.tokens[agent].clone());
        self.start_agent(self.tokens.len() - 1, &[]);
    }

    /// Starts the agent with this index, or starts it again.
    pub fn start_agent(&mut self, agent: usize, options: &[&str]) {
        self.start_agent_under(agent, &["env"], options);
    }

    /// Starts the agent with this index by another program, which may take something away from it.
    ///
    /// # Panics
    /// Panics if its token cannot be written.
    pub fn start_agent_under(&mut self, agent: usize, wrapper: &[&str], options: &[&str]) {
        let file = self.home.path().join(format!("token-{agent}"));
        std::fs::write(&file, &self.tokens[agent]).expect("a token");
        let (join, token, name) = (self.join(), format!("@{}", file.display()), format!("a{}", agent + 1));
        let own = if self.nats.is_some() { ["--name", &name] } else { ["--token", &token] };
        let words = ["agent", "--join", &join, own[0], own[1]];
        let command = prepare_under(wrapper, words.iter().chain(options));
        let started = command.env("XDG_STATE_HOME", self.state_of(agent)).start();
        if agent < self.agents.len() {
            self.agents[agent] = started;
        } else {
            self.agents.push(started);
        }
    }

    /// Returns what agents join.
    fn join(&self) -> String {
        self.nats.as_ref().map_or_else(|| format!("127.0.0.1:{}", self.port), |nats| nats.url.clone())
    }

    /// Returns the directory in which an agent keeps what it has not handed in.
    pub fn state_of(&self, agent: usize) -> PathBuf {
        self.home.path().join(format!("agent-{agent}"))
    }

    /// Returns the directory of the runs in progress.
    pub fn runs(&self) -> PathBuf {
        self.home.path().join("state/brunt/fleet-runs")
    }

    /// Returns the home of the coordinator.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Prepares brunt as the coordinator of the fleet.
    pub fn prepare<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> ProgramCommand {
        self.prepare_under(&["env"], words)
    }

    /// Prepares brunt as the coordinator, started by another program, which may take something away from it.
    pub fn prepare_under<S: AsRef<OsStr>>(
        &self,
        wrapper: &[&str],
        words: impl IntoIterator<Item = S>,
    ) -> ProgramCommand {
        let home = self.home.path();
        prepare_under(wrapper, words)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
    }

    /// Runs brunt as the coordinator, and returns the report.
    #[track_caller]
    pub fn report(&self, words: &[&str]) -> TestReport {
        TestReport::of(self.run(words))
    }

    /// Runs brunt as the coordinator with a report as JSON.
    pub fn run(&self, words: &[&str]) -> ProgramOutput {
        self.prepare(words.iter().chain(&["--quiet", "--format", "json"])).run()
    }

    /// Starts brunt as the coordinator with a report as JSON.
    pub fn start(&self, words: &[&str]) -> RunningProgram {
        self.prepare(words.iter().chain(&["--quiet", "--format", "json"])).start()
    }

    /// Sends a signal to an agent.
    pub fn signal(&self, agent: usize, signal: Signal) {
        self.agents[agent].signal(signal);
    }

    /// Returns `true` while an agent has a process that measures.
    pub fn measures(&self, agent: usize) -> bool {
        let id = self.agents[agent].id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
        let is_share = |child: &str| {
            std::fs::read(format!("/proc/{child}/cmdline"))
                .is_ok_and(|line| line.windows(10).any(|word| word == b"take-share"))
        };
        children.split_whitespace().any(is_share)
    }

    /// Kills the link of the coordinator, as a crash of its libraries would.
    pub fn kill_link(&self) {
        let directory = self.home.path().join("config/brunt/fleet").display().to_string();
        kill(|line| line.contains("brunt-link") && line.contains(&directory));
    }

    /// Kills all agents with their links, as the loss of their machines would.
    pub fn kill_agents(&self) {
        let join = format!("--join {}", self.join());
        kill(|line| line.contains(&join));
    }

    /// Returns `true` once this process looks who is there: it is connected with the link.
    pub fn is_watched_by(&self, id: u32) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
        names.into_iter().any(|name| name.trim() == "link")
    }

    /// Waits until this many agents are there.
    pub fn wait_for(&self, agents: usize) {
        until("the agents are there", || {
            let shown = self.prepare(["fleet", "--json", "--wait", "2s"]).run();
            let told: serde_json::Value = serde_json::from_str(&shown.out).unwrap_or_default();
            told["agents"].as_array().is_some_and(|there| there.len() == agents)
        });
    }
}

impl Drop for TestFleet {
    fn drop(&mut self) {
        // An agent that is suspended cannot end.
        self.agents.iter().for_each(|agent| agent.signal(Signal::CONT));
        self.agents.clear();
        self.kill_link();
        // Those that were started in other ways, too.
        self.kill_agents();
    }
}

/// Kills the processes whose command lines are so.
fn kill(is_it: impl Fn(&str) -> bool) {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ids = ids.filter(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        is_it(&String::from_utf8_lossy(&line).replace('\0', " "))
    });
    for id in ids.filter_map(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(id, Signal::KILL);
    }
}
