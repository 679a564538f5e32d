//! The simulator: cache core, request walk, engine, statistics and runner.
