//! The program: command line and composition.
