//! Runs, curves and shared devices. One program, which is linked once.

mod belady;
mod curve;
mod host_side;
mod shared_devices;
