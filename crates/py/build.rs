//! Records the commit that the core is built from, and whether its sources were changed since, for
//! the `tool` section of result files: what another policy measured must not be signed as ours.
//!
//! Left out: changes of the Python package, which is packed without compiling anything.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the core is compiled from, below the top of the work tree.
const SOURCES: [&str; 16] = [
    "Cargo.lock",
    "Cargo.toml",
    "crates/ecc/Cargo.toml",
    "crates/ecc/src",
    "crates/nbd/Cargo.toml",
    "crates/nbd/src",
    "crates/nvme/Cargo.toml",
    "crates/nvme/src",
    "crates/py/Cargo.toml",
    "crates/py/src",
    "crates/raw/Cargo.toml",
    "crates/raw/src",
    "crates/serve/Cargo.toml",
    "crates/serve/src",
    "crates/sim/Cargo.toml",
    "crates/sim/src",
];

/// Returns what git says about the work tree at `top`.
fn git(top: &Path, arguments: &[&str]) -> Option<String> {
    // Without optional locks: a build must not write into the repository.
    let output = Command::new("git")
        .args(["--no-optional-locks", "-C"])
        .arg(top)
        .args(arguments)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Returns the folder of this crate, asked when this runs: a `target` that was copied to another
/// work tree brings this program with it, compiled for the first one.
fn crate_folder() -> Option<PathBuf> {
    std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)
}

/// Returns the top of the work tree, if it is ours: a source archive that was unpacked inside
/// another repository is of no commit of that one.
fn work_tree() -> Option<PathBuf> {
    let top = crate_folder()?.join("../..").canonicalize().ok()?;
    let found = git(&top, &["rev-parse", "--show-toplevel"])?;
    (Path::new(&found).canonicalize().ok()? == top).then_some(top)
}

/// Returns the commit that a source archive was made from, and whether its sources were changed:
/// what `git archive` or `tools/release.py` wrote into `COMMIT`. In a checkout it holds a mark.
fn noted() -> Option<(String, bool)> {
    let path = crate_folder()?.join("../../COMMIT");
    println!("cargo:rerun-if-changed={}", path.display());
    let text = std::fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let commit = words.next().filter(|word| word.chars().all(|c| c.is_ascii_hexdigit()))?;
    Some((commit.chars().take(12).collect(), words.next() == Some("changed")))
}

/// Returns the commit of a checkout, and whether the sources of the core were changed since.
fn checked_out(top: &Path) -> Option<(String, bool)> {
    let commit = git(top, &["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(top, &[&["status", "--porcelain", "--"], &SOURCES[..]].concat());
    Some((commit, changes.is_some_and(|changes| !changes.is_empty())))
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let top = work_tree();
    let known = top.as_deref().map_or_else(noted, checked_out);
    let (commit, is_dirty) = known.unwrap_or_else(|| ("unknown".to_owned(), false));
    println!("cargo:rustc-env=OPENNANDLAB_COMMIT={commit}");
    println!("cargo:rustc-env=OPENNANDLAB_DIRTY={is_dirty}");
    let Some(top) = top else { return };
    // A change of these files compiles the core again in any case.
    for path in SOURCES {
        println!("cargo:rerun-if-changed={}", top.join(path).display());
    }
    // HEAD names a branch; `logs/HEAD` grows with every commit on it.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&top, &["rev-parse", "--git-path", name]) {
            let path = top.join(path);
            if path.exists() {
                println!("cargo:rerun-if-changed={}", path.display());
            }
        }
    }
}
