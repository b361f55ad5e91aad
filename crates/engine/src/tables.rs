//! Descriptor tables of a run. The descriptor limit applies to a table, not to a process: a run with more connections
//! than fit into one table uses more workers, each a thread with its own table.

/// Maximum number of threads added for their tables, because each costs memory.
const MOST: u64 = 64;

/// The distribution of a run's connections over tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DescriptorTables {
    /// Number of workers.
    pub workers: u32,
    /// Set if each worker has its own table.
    pub own: bool,
}

impl DescriptorTables {
    /// Computes the tables for `connections` connections and `asked` requested workers.
    pub fn for_run(connections: u64, asked: u32) -> DescriptorTables {
        DescriptorTables::over(connections, asked, brunt_net::tables::capacity() as u64)
    }

    /// Returns the capacity of all tables if it is less than `connections`.
    pub fn capacity_exceeded(connections: u64) -> Option<u64> {
        let most = (brunt_net::tables::capacity() as u64).saturating_mul(MOST);
        (connections > most).then_some(most)
    }

    fn over(connections: u64, asked: u32, capacity: u64) -> DescriptorTables {
        let needed = connections.div_ceil(capacity.max(1)).min(MOST) as u32;
        DescriptorTables { workers: asked.max(needed), own: connections > capacity }
    }

    /// Gives the calling worker its own table. If the operating system refuses, the worker shares the existing table,
    /// and connections may fail for lack of descriptors.
    pub fn take(self) {
        if self.own {
            let _ = brunt_net::tables::own_only(&[]);
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
            let tables = DescriptorTables::over(connections, asked, capacity);
            assert_eq!((tables.workers, tables.own), expected, "{connections} connections");
        }
    }
}
