//! Layers around another scheme.
