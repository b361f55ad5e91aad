//! Agents that are started over ssh, with OpenSSH's own server.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use brunt_tests::daemon::{Daemon, find, free_datagram_port};
use brunt_tests::report::assert_exact_count;
use brunt_tests::{TargetProcess, TestFleet};

/// A server whose only user is that of the tests, with a home directory of its own; clients are `ssh` and `scp` in `bin`.
fn serve() -> Option<Daemon> {
    let keys = find("ssh-keygen")?;
    let port = free_datagram_port();
    let server = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {{dir}}/key\nAuthorizedKeysFile {{dir}}/key.pub\nPidFile none\n\
         StrictModes no\nUsePAM no\nForceCommand {{dir}}/command\nSubsystem sftp internal-sftp\n"
    );
    let client = format!(
        "Host box\n HostName 127.0.0.1\n Port {port}\n IdentityFile {{dir}}/key\n StrictHostKeyChecking no\n \
         UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
    );
    // Where privileges are separated, the server wants this directory, which its package makes at the start of a system.
    let _ = std::fs::create_dir_all("/run/sshd");
    let script = "#!/bin/sh\nexport HOME={dir}/home\nmkdir -p $HOME && cd $HOME\ncase $SSH_ORIGINAL_COMMAND in\n\
                  internal-sftp) exec $(ls /usr/lib/openssh/sftp-server /usr/libexec/sftp-server 2>/dev/null | head -1);;\n\
                  *) exec sh -c \"$SSH_ORIGINAL_COMMAND\";;\nesac\n";
    let wrapped = |program: &str| format!("#!/bin/sh\nexec /usr/bin/{program} -F {{dir}}/client \"$@\"\n");
    let (ssh, scp) = (wrapped("ssh"), wrapped("scp"));
    let files = [("conf", &*server), ("client", &client), ("command", script), ("ssh", &ssh), ("scp", &scp)];
    // The keys come first: without them the server ends.
    let wait = "cd {dir} && chmod +x command ssh scp && $0 -q -t ed25519 -N '' -f key && exec $1 -D -e -f conf";
    let sshd = find("sshd")?;
    let words = ["-c", wait, keys.to_str()?, sshd.to_str()?];
    let running = Daemon::start("sh", &words, &files)?;
    Some(running.up(|server| server.text("said").contains("Server listening")))
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o777)
}

#[test]
fn a_machine_behind_sshd_gets_both_programs_and_its_agent_joins() {
    let Some(server) = serve() else { return };
    let fleet = TestFleet::init(0);
    let path = format!("{}:{}", server.directory().display(), std::env::var("PATH").unwrap());
    let ssh = |words: &[&str]| fleet.prepare(words).env("PATH", &path).run();
    let refused = ssh(&["fleet", "ssh", "box", "--agent-option=--label", "--agent-option", "it's eu"]).with_code(64);
    assert!(refused.err.contains("box: brunt: --label"), "{refused:?}\n{}", server.text("said"));
    let started = ssh(&["fleet", "ssh", "box", "--agent-option=--label", "--agent-option=eu"]).with_code(0);
    assert!(started.out.contains("agent box started"), "{started:?}\n{}", server.text("said"));
    fleet.wait_for(1);
    let place = server.directory().join("home/.cache/brunt-agent");
    assert_eq!((mode(&place.join("token")), mode(&place)), (0o600, 0o700), "others cannot read the token");
    let target = TargetProcess::healthy();
    let told = fleet.report(&["-n", "50", "-c", "2", "--agents", "label=eu", &target.address]);
    assert_eq!(told.requests(), [50, 50, 0, 0], "{told}");
    assert_exact_count(&target, &told);
    let option = ssh(&["fleet", "ssh", "box", "--", "--label"]).with_code(64);
    assert!(option.err.contains("--agent-option"), "{option:?}");
    let again = ssh(&["fleet", "ssh", "box"]).with_code(64);
    assert!(again.err.contains("box is an agent already"), "{again:?}");
    let nobody = ssh(&["fleet", "ssh", "elsewhere.invalid"]).with_code(64);
    assert!(nobody.err.contains("elsewhere.invalid"), "{nobody:?}");
    // Its token was taken back, so that the next attempt can have the name.
    ssh(&["fleet", "remove", "elsewhere-invalid"]).with_code(64);
}
