//! Cache-management schemes, their expression language and their registry.
