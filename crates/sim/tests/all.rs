//! The behaviour of the drive, tested from outside: one program, since each further one would
//! compile and link the drive again. A file is a module: `cargo test -p opennandlab-sim
//! --all-features --test all host_path::` runs those of `host_path.rs`.

mod back_end;
mod backends;
mod cells;
mod decoding;
mod dies;
mod drawn;
mod emmc;
mod everything;
mod executors;
mod failures;
mod fill_timeout;
mod ftl_options;
mod ftl_oracle;
mod ftl_steps;
mod host_caches;
mod host_path;
mod large_units;
mod map_units;
mod mapping;
mod pacing;
mod partial_programs;
mod placement;
mod planes;
mod power;
mod power_loss;
mod read_ahead;
mod refresh;
mod remembered;
mod session;
mod slc_cache;
mod superblocks;
mod switched_on;
mod tenants;
mod trace_formats;
mod trace_replay;
mod victim_cost;
mod warp;
mod workload_config;
mod workload_generators;
mod worn_out;
mod write_buffer;
mod zone_hosts;
mod zoned_drive;
mod zones;
