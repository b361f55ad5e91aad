//! The descriptor limit bounds a table, not a process: a run of more connections than one table holds takes more workers,
//! each a thread with a table of its own.

/// Most threads that a run takes for their tables: each has memory of its own.
const MOST: u64 = 64;

/// How the connections of a run are spread over tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tables {
    /// Workers that run.
    pub workers: u32,
    /// Each has a table of its own.
    pub own: bool,
}

impl Tables {
    /// For so many connections, where `asked` workers would run.
    pub fn for_run(connections: u64, asked: u32) -> Tables {
        Tables::over(connections, asked, net::tables::capacity() as u64)
    }

    /// Where so many connections are more than all tables of a run hold: how many these hold.
    pub fn too_small_for(connections: u64) -> Option<u64> {
        let most = (net::tables::capacity() as u64).saturating_mul(MOST);
        (connections > most).then_some(most)
    }

    fn over(connections: u64, asked: u32, capacity: u64) -> Tables {
        let needed = connections.div_ceil(capacity.max(1)).min(MOST) as u32;
        Tables { workers: asked.max(needed), own: connections > capacity }
    }

    /// Gives the calling worker its table. Where the operating system refuses, it shares the one there is, and its end shows as
    /// connections that fail for want of descriptors.
    pub fn take(self) {
        if self.own {
            let _ = net::tables::own_only(&[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_workers_where_one_table_does_not_hold_the_connections() {
        let table = [
            (100, 2, 20_000, (2, false)),
            (20_000, 2, 20_000, (2, false)),
            (20_001, 1, 20_000, (2, true)),
            (30_000, 2, 20_000, (2, true)),
            (1_000_000, 2, 19_900, (51, true)),
            (0, 1, 10, (1, false)),
            (1_000, 2, 1, (64, true)),
        ];
        for (connections, asked, capacity, expected) in table {
            let tables = Tables::over(connections, asked, capacity);
            assert_eq!((tables.workers, tables.own), expected, "{connections} connections");
        }
    }
}
