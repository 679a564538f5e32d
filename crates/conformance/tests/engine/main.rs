//! The simulated device: array, translation layer and cache region, alone and in whole runs.

mod array_times;
mod cache_region;
mod device_model;
mod forced_writes;
mod gc_at_start;
mod gc_rules;
mod gc_runs;
mod hits_by_size;
mod live;
mod measured_part;
mod monitor;
mod multi_plane;
mod nand_engine;
mod occasions;
mod one_instant;
mod peers;
mod pool;
mod random_device;
mod timed;
mod timeline;
mod translation;
mod unwatched;
mod waf_steady;
mod waf_tables;
mod watch;
mod zero_latency;
