//! The load engine: one worker per core and the collector that merges them.
