//! Block I/O traces: readers, writers and generators.
