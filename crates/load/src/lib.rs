//! When requests are due: schedules as pure arithmetic.
