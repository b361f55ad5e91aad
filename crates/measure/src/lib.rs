//! Units, clock, histograms and statistics of brunt: pure, no I/O.
