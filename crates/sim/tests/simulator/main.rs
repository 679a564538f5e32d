//! Runs, curves and shared devices. One program, which is linked once.

mod belady;
mod closed_loop;
mod curve;
mod drawn_load;
mod drive_timeline;
mod host_side;
mod intervals;
mod shared_devices;
