//! A run's record as text, JSON, CSV, Markdown and JUnit.
