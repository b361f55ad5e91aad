//! The events of a run and their file.
