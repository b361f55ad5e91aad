//! Tables of throughput against load, as people put them into articles: threads, users or machines in the first column,
//! throughput in the others.

use super::paste::PastedText;
use super::quantities;
use super::tools::drawn_cells;

/// What the rows of a ladder differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RungKind {
    /// Threads, cores, processes or machines of the service.
    Resources,
    /// Users or connections.
    Users,
}

/// A row of a ladder.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Number of its line.
    pub line: usize,
    /// Threads, users or machines.
    pub level: f64,
    /// Throughput per second in each column.
    pub rates: Vec<f64>,
}

/// A table of throughput against load.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    /// What the rows differ in.
    pub kind: RungKind,
    /// Rows in the order of the table.
    pub rungs: Vec<Rung>,
}

impl Ladder {
    /// Returns `true` if a row belongs to the same table as the last one.
    fn continues_with(&self, kind: RungKind, rung: &Rung) -> bool {
        let is_near = self.rungs.last().is_some_and(|last| rung.line - last.line <= LONGEST_GAP);
        self.kind == kind && is_near
    }
}

/// What the head of a table says.
struct LadderHead {
    /// What the rows differ in.
    kind: RungKind,
    /// For each column after the first one, whether it is about throughput.
    columns: Vec<bool>,
}

/// Words for throughput, in lower case.
const THROUGHPUT: [&str; 9] =
    ["qps", "rps", "tps", "req/s", "requests/s", "reqs/s", "throughput", "吞吐", "requests per second"];
/// Words for resources of a service.
const RESOURCES: [&str; 11] =
    ["线程", "thread", "core", "cpu", "worker", "process", "进程", "machine", "机器", "node", "replica"];
/// Words for users.
const USERS: [&str; 8] = ["并发", "concurren", "user", "client", "connection", "连接", "vus", "用户"];

/// Lines between the head of a table and its first row, and between rows.
const LONGEST_GAP: usize = 3;

/// Returns the ladders in a paste, of at least two rows each.
pub fn ladders(paste: &PastedText) -> Vec<Ladder> {
    let mut found: Vec<Ladder> = Vec::new();
    // The head that rows belong to, and how many lines ago.
    let mut head: Option<(LadderHead, usize)> = None;
    for line in &paste.lines {
        let text = line.text.to_lowercase();
        let known = head.as_ref().map(|(head, _)| head);
        if let Some((kind, level, rates)) = rung(&text, known) {
            let rung = Rung { line: line.number, level, rates };
            match found.last_mut().filter(|last| head.is_some() && last.continues_with(kind, &rung)) {
                Some(last) => last.rungs.push(rung),
                None => found.push(Ladder { kind, rungs: vec![rung] }),
            }
            let known = head.map_or(LadderHead { kind, columns: Vec::new() }, |(head, _)| head);
            head = Some((known, 0));
        } else if let Some(new) = head_of(&text) {
            head = Some((new, 0));
        } else {
            head = head.map(|(head, ago)| (head, ago + 1)).filter(|(_, ago)| *ago < LONGEST_GAP);
        }
    }
    found.retain(|ladder| ladder.rungs.len() > 1);
    found
}

fn kind_of(text: &str) -> Option<RungKind> {
    let has = |words: &[&str]| words.iter().filter_map(|word| text.find(word)).min();
    match (has(&RESOURCES), has(&USERS)) {
        (Some(resources), Some(users)) if users < resources => Some(RungKind::Users),
        (Some(_), _) => Some(RungKind::Resources),
        (None, Some(_)) => Some(RungKind::Users),
        (None, None) => None,
    }
}

fn is_throughput(cell: &str) -> bool {
    THROUGHPUT.iter().any(|word| cell.contains(word))
}

/// Reads a head whose first column is about load, and another one about throughput: `| users | QPS | p99 |`.
fn head_of(text: &str) -> Option<LadderHead> {
    let cells = table_cells(text)?;
    let (first, others) = cells.split_first()?;
    let columns: Vec<bool> = others.iter().map(|cell| is_throughput(cell)).collect();
    // A cell that is a number belongs to a row.
    let is_head = columns.contains(&true) && !others.iter().any(|cell| quantities::number(cell).is_some());
    Some(LadderHead { kind: kind_of(first).filter(|_| is_head)?, columns })
}

/// Reads a row: `| 4 | 16909.36 |` below a head, or `threads: 4 | 140000 QPS | 130000 QPS`.
fn rung(text: &str, head: Option<&LadderHead>) -> Option<(RungKind, f64, Vec<f64>)> {
    if let Some(row) = glued_row(text) {
        return Some(row);
    }
    let cells = table_cells(text)?;
    let (first, others) = cells.split_first()?;
    let level = single_number(first)?;
    let is_named = others.iter().any(|cell| is_throughput(cell) && rate(cell).is_some());
    let is_of_rates = |(at, cell): &(usize, &&str)| match is_named {
        true => is_throughput(cell),
        false => head.is_some_and(|head| head.columns.get(*at) == Some(&true)),
    };
    let rates = others.iter().enumerate().filter(is_of_rates).map(|(_, cell)| rate(cell));
    let rates: Vec<f64> = rates.collect::<Option<_>>()?;
    let kind = if is_named { kind_of(first).or(head.map(|head| head.kind)) } else { head.map(|head| head.kind) };
    Some((kind.filter(|_| !rates.is_empty())?, level, rates))
}

/// Splits a drawn or tabulated row into cells; `None` if it is neither.
fn table_cells(text: &str) -> Option<Vec<&str>> {
    let cells: Vec<&str> = match text.contains('\t') {
        true => text.split('\t').map(str::trim).collect(),
        false => drawn_cells(text),
    };
    (cells.len() > 1).then_some(cells)
}

/// Returns the only number in a cell.
fn single_number(cell: &str) -> Option<f64> {
    let cell = cell.trim_end_matches('*');
    let start = cell.find(|c: char| c.is_ascii_digit())?;
    let (number, rest) = quantities::leading_number(&cell[start..])?;
    let is_only = !rest.contains(|c: char| c.is_ascii_digit());
    (is_only && number.value > 0.0).then_some(number.value)
}

/// Reads `140000 QPS`, `6394.86` or `12k`.
fn rate(cell: &str) -> Option<f64> {
    let (number, rest) = quantities::leading_number(cell)?;
    let rest = rest.trim();
    let (factor, unit) = match rest.chars().next() {
        Some('k') => (1e3, rest[1..].trim()),
        Some('w') | Some('万') => (1e4, rest[rest.chars().next().map_or(0, char::len_utf8)..].trim()),
        _ => (1.0, rest),
    };
    let is_rate = unit.is_empty() || THROUGHPUT.contains(&unit) || unit == "/s";
    (is_rate && number.value > 0.0).then_some(number.value * factor)
}

/// Reads a row whose borders were lost when it was copied from a page: `threads: 4140000 QPS130000 QPS`.
///
/// Level and first rate have become one number. It is cut where the first rate comes closest to the second one.
fn glued_row(text: &str) -> Option<(RungKind, f64, Vec<f64>)> {
    let parts: Vec<&str> = text.split("qps").map(str::trim).collect();
    let (first, others) = parts.split_first()?;
    let (last, others) = others.split_last()?;
    let digits = first.len() - first.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (label, glued) = first.split_at(first.len() - digits);
    let rates: Vec<f64> = others.iter().map(|part| quantities::number(part).map(|n| n.value)).collect::<Option<_>>()?;
    let second = rates.first().copied().filter(|rate| *rate > 0.0)?;
    let kind = kind_of(label).filter(|_| last.is_empty() && (2..=15).contains(&digits))?;
    let cut = |at: usize| {
        let (level, rate) = glued.split_at(at);
        let rate = rate.parse::<f64>().ok().filter(|_| !rate.starts_with('0'))?;
        Some((level.parse::<f64>().ok().filter(|level| *level > 0.0)?, rate))
    };
    let distance = |rate: f64| (rate / second).ln().abs();
    let (level, rate) = (1..digits).filter_map(cut).min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))?;
    Some((kind, level, std::iter::once(rate).chain(rates).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(text: &str) -> Vec<Vec<(f64, f64)>> {
        let found = ladders(&PastedText::read(text.as_bytes()));
        found.iter().map(|ladder| ladder.rungs.iter().map(|rung| (rung.level, rung.rates[0])).collect()).collect()
    }

    #[test]
    fn drawn_tables_are_read() {
        let text = "| users | QPS |\n| :--: | :--: |\n| 1 | 6394.86 |\n| 4 | 16909.36 |\n\ntext\n\n| 5 | 7 |\n";
        assert_eq!(levels(text), [[(1.0, 6394.86), (4.0, 16_909.36)]]);
        let text = "| threads: **1** | **27000 QPS** |\n| threads: **4** | **140000 QPS** |\n";
        assert_eq!(levels(text), [[(1.0, 27_000.0), (4.0, 140_000.0)]]);
        let text = "threads 1 | 27000 QPS | 26000 QPS\nthreads 4 | 140k QPS | 130k QPS\n";
        assert_eq!(levels(text), [[(1.0, 27_000.0), (4.0, 140_000.0)]]);
        let text = "| users | p99 ms | RPS |\n| 1 | 5 | 100 |\n| 2 | 50 | 190 |\n";
        assert_eq!(levels(text), [[(1.0, 100.0), (2.0, 190.0)]], "latency may grow as it likes");
        assert_eq!(levels("| name | price |\n| 1 | 5 |\n| 2 | 9 |\n"), Vec::<Vec<(f64, f64)>>::new());
    }

    #[test]
    fn a_table_that_lost_its_borders_is_cut_where_the_rates_agree() {
        let text = "worker threads: 127000 QPS26000 QPS20000 QPS\nworker threads: 4140000 QPS130000 QPS123000 QPS\n\
            worker threads: 16125000 QPS127000 QPS123000 QPS\n";
        assert_eq!(levels(text), [[(1.0, 27_000.0), (4.0, 140_000.0), (16.0, 125_000.0)]]);
    }
}
