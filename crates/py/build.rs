//! Records the commit that the core is built from, for the `tool` section of result files.
//!
//! Left out: whether the work tree had changes. A release is built from a commit.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    // A build from a source archive has no history: then the commit is not known.
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into());
    println!("cargo:rustc-env=OPENNANDLAB_COMMIT={commit}");
    println!("cargo:rerun-if-changed=build.rs");
    // HEAD names a branch; `logs/HEAD` grows with every commit on it.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            if Path::new(&path).exists() {
                println!("cargo:rerun-if-changed={path}");
            }
        }
    }
}
