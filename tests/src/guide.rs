//! The guide's worked examples, as commands.

/// Returns the guide's commands for this URL, each as its arguments, with the server's port filled in.
///
/// # Panics
/// Panics if the guide has no such command.
pub fn from_guide(url: &str, port: u16) -> Vec<Vec<String>> {
    let pages = concat!(include_str!("../../docs/guide/raw.md"), include_str!("../../docs/guide/websocket.md"));
    let block = pages.split("```").find(|block| block.starts_with("sh ") && block.contains(url));
    let (_, script) = block.unwrap_or_else(|| panic!("{url} is in the guide")).split_once('\n').expect("lines");
    let here = format!("{}:{port}", url.rsplit_once(':').expect("a port").0);
    let tell = format!("brunt() {{ printf '%s\\0' \"$@\"; echo; }}\n{}", script.replace(url, &here));
    let told = std::process::Command::new("bash").args(["-c", &tell]).output().expect("bash").stdout;
    let told = String::from_utf8(told).expect("text");
    told.lines().map(|line| line.split_terminator('\0').map(String::from).collect()).collect()
}
