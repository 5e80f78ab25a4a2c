#!/bin/sh
# 100,000 frames on a GPU and on the CPU: compares the counts, prints both rates.
#
#     tools/gpu_check.sh            build with the feature gpu, and run
#     tools/gpu_check.sh PROGRAM    run what was built elsewhere: CARGO_TARGET_DIR or target,
#                                   release/examples/gpu_check
#
# The build needs Rust and no CUDA; the run needs NVIDIA's driver and libnvrtc, and no Rust.
set -eu
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
    exec "$@"
fi
exec cargo run --release --locked -p opennandlab-ecc --features gpu --example gpu_check
