//! Tables with a head: CSV with quotes, tabs, or columns drawn with lines.

/// Splits a row into cells: at the lines of a Markdown table or at tabs if there are any, or else at commas outside
/// quotes.
pub fn cells(row: &str) -> Vec<String> {
    if row.starts_with('|') {
        return drawn_cells(row).into_iter().map(str::to_owned).collect();
    }
    if row.contains('\t') {
        return row.split('\t').map(|cell| cell.trim().trim_matches('"').to_owned()).collect();
    }
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in row.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().expect("there is always a cell").push(c),
        }
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Returns `true` for the line between the head and the rows of a Markdown table.
pub fn is_rule(row: &[String]) -> bool {
    row.iter().all(|cell| cell.contains('-') && cell.trim_matches(['-', ':']).is_empty())
}

/// Splits a row whose columns are drawn with lines, `│` or `|`.
pub fn drawn_cells(row: &str) -> Vec<&str> {
    let inner = row.trim().trim_matches(['|', '│']);
    // Cells may be printed bold in Markdown.
    inner.split(['|', '│']).map(|cell| cell.trim().trim_matches('*').trim()).collect()
}

/// The head of a table: where its columns are.
pub struct TableHead {
    names: Vec<String>,
}

impl TableHead {
    /// Creates a head from its row.
    pub fn new(row: &str) -> TableHead {
        TableHead { names: cells(row).iter().map(|name| name.to_lowercase()).collect() }
    }

    /// Returns the position of the first column with one of these names, in lower case.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.names.iter().position(|known| known == name))
    }

    /// Returns the positions and shares of the columns that are percentiles: `90% line`, `99.9%`, `95% 百分位`.
    pub fn percentiles(&self) -> Vec<(usize, f64)> {
        let share = |name: &String| {
            let (share, rest) = name.split_once('%')?;
            let is_percentile = ["", " line", "line", " 百分位"].contains(&rest);
            let share = super::super::quantities::number(share)?.value;
            (is_percentile && share < 100.0).then_some(share / 100.0)
        };
        self.names.iter().enumerate().filter_map(|(at, name)| Some((at, share(name)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split_outside_quotes() {
        assert_eq!(cells("\"a,b\",2, 3"), ["a,b", "2", "3"]);
        assert_eq!(cells("a, b\t\"2\"\t3"), ["a, b", "2", "3"]);
        assert_eq!(drawn_cells("| **1** | 6394.86 |"), ["1", "6394.86"]);
        assert_eq!(cells("| a, b | 2 |"), ["a, b", "2"]);
        assert!(is_rule(&cells("|---|:-:|")) && !is_rule(&cells("|---|2|")) && !is_rule(&cells("| | |")));
        assert_eq!(drawn_cells("   1s│      1│      8│200:8"), ["1s", "1", "8", "200:8"]);
        let head = TableHead::new("Label,# Samples,90% Line,99.9%,100%,Error %");
        assert_eq!(head.percentiles(), [(2, 0.9), (3, 0.9990000000000001)]);
        assert_eq!(head.column(&["samples", "# samples"]), Some(1));
    }
}
