//! Tests of the commands, by running the program.

mod advise;
mod browser;
mod cac;
#[cfg(unix)]
mod cac_page;
mod captures;
mod charge_and_flush;
mod common;
mod convert;
mod demo;
mod details;
mod determinism;
mod device;
#[cfg(unix)]
mod document_commands;
#[cfg(unix)]
mod documents;
mod draining;
mod drains;
mod files;
mod fit_device;
#[cfg(unix)]
mod fs_lab;
#[cfg(unix)]
mod glossary;
mod import;
mod input;
mod lab;
mod left_out;
mod load;
mod moving_picture;
mod mrc;
mod ownership;
mod parquet;
#[cfg(unix)]
mod probe;
mod refusals;
mod refused_input;
mod replay;
mod report;
mod repro;
mod results;
mod run_file;
mod schema;
mod scheme_table;
mod series;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod serve_answers;
#[cfg(unix)]
mod serve_clients;
mod serve_config;
mod serve_control;
#[cfg(unix)]
mod serve_faults;
mod serve_hostile;
mod serve_hostile_client;
mod serve_memory;
mod serve_shadows;
mod serve_ui;
mod side_by_side;
#[cfg(unix)]
mod sweep;
#[cfg(unix)]
mod sweep_decoded;
#[cfg(unix)]
mod sweep_scale;
#[cfg(unix)]
mod sweep_slurm;
mod synth;
mod timeline;
mod trace;
mod twin;
mod waf;
#[cfg(unix)]
mod waiting;
mod watch;
mod watch_page;
