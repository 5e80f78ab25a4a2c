//! The C ABI: the header against the functions, and C programs against the library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const HEADER: &str = include_str!("../include/opennandlab_raw.h");
const FUNCTIONS: &str = include_str!("../src/c_abi.rs");
const RECORDS: &str = include_str!("../src/chip.rs");

/// Text without comments, with single spaces.
fn plain(text: &str, open: &str, close: &str) -> String {
    let mut rest = text;
    let mut found = String::new();
    while let Some((before, after)) = rest.split_once(open) {
        found.push_str(before);
        found.push(' ');
        rest = after.split_once(close).expect("a comment ends").1;
    }
    found.push_str(rest);
    found.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A type of Rust as C has it.
fn in_c(of_rust: &str) -> &'static str {
    match of_rust {
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "f64" => "double",
        "usize" => "size_t",
        "c_int" => "int",
        "*const c_char" => "const char *",
        "*mut c_char" => "char *",
        "*const u8" => "const uint8_t *",
        "*mut u8" => "uint8_t *",
        "*mut RawNand" => "onl_raw *",
        "*mut Geometry" => "struct onl_raw_geometry *",
        "*mut Corrected" => "struct onl_raw_corrected *",
        "*mut Stats" => "struct onl_raw_stats *",
        other => panic!("{other} is not in the header"),
    }
}

fn declared(kind: &str, name: &str) -> String {
    let space = if kind.ends_with('*') { "" } else { " " };
    format!("{kind}{space}{name}")
}

/// The declarations of the exported functions, in C.
fn exported() -> Vec<String> {
    let code = plain(FUNCTIONS, "//", "\n");
    let mut found = Vec::new();
    for function in code.split("#[no_mangle]").skip(1) {
        let (_, rest) = function.split_once("fn ").expect("a function");
        let (name, rest) = rest.split_once('(').expect("arguments");
        let (arguments, rest) = rest.split_once(") -> ").expect("a result");
        let result = rest.split_once(" {").expect("a body").0;
        let mut list = Vec::new();
        for argument in arguments.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let (name, kind) = argument.split_once(": ").expect("a type");
            list.push(declared(in_c(kind), name));
        }
        let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
        found.push(declared(in_c(result), &format!("{name}({list})")));
    }
    found
}

/// The fields of a record, in C.
fn fields(code: &str, name: &str) -> String {
    let (_, rest) = code.split_once(&format!("struct {name} {{")).expect("a record");
    let body = rest.split_once('}').expect("its end").0;
    let fields = body.split(',').map(str::trim).filter(|field| !field.is_empty());
    let field = |field: &str| {
        let (name, kind) = field.trim_start_matches("pub ").split_once(": ").expect("a type");
        format!("{};", declared(in_c(kind), name))
    };
    fields.map(field).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let header = plain(HEADER, "/*", "*/");
    let functions = exported();
    assert_eq!(functions.len(), 14);
    for function in &functions {
        assert!(header.contains(&format!("{function};")), "not in the header: {function}");
    }
    assert_eq!(header.matches("onl_raw_").count() - header.matches("struct onl_raw_").count(), 14);
    for (code, name, tag) in [
        (RECORDS, "Geometry", "geometry"),
        (RECORDS, "Stats", "stats"),
        (FUNCTIONS, "Corrected", "corrected"),
    ] {
        let fields = fields(&plain(code, "//", "\n"), name);
        let record = format!("struct onl_raw_{tag} {{ {fields} }};");
        assert!(header.contains(&record), "not in the header: {record}");
    }
}

/// The folder that this test was built into, with the library.
fn library() -> PathBuf {
    let folder = env::current_exe().expect("a path").parent().expect("a folder").to_owned();
    let name = format!("{}opennandlab_raw{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let found = [folder.join(&name), folder.join("..").join(&name)];
    found.into_iter().find(|path| path.exists()).expect("cargo builds the library for its tests")
}

/// What a program of `tests/c` prints; `None` without a C compiler.
fn run(name: &str, argument: &str) -> Option<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    run_source(name, &source, argument)
}

fn run_source(name: &str, source: &Path, argument: &str) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("{name}-{}-{}", std::process::id(), argument.len()));
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let built = Command::new(&compiler)
        .args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("include"))
        .arg(source)
        .arg(library())
        .arg(format!("-Wl,-rpath,{}", library().parent().expect("a folder").display()))
        .arg("-o")
        .arg(&program)
        .output();
    let Ok(built) = built else {
        eprintln!("skipped: no C compiler `{}`", compiler.display());
        return None;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let done = Command::new(&program).arg(argument).current_dir(&folder).output().expect("it runs");
    fs::remove_file(program).expect("it is there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8(done.stdout).expect("text"))
}

#[test]
fn c_callers_get_errors_for_what_cannot_be() {
    if let Some(printed) = run("abi", "") {
        assert_eq!(printed, "refused what must be\n");
    }
}

#[test]
fn a_log_structured_map_survives_cuts_bad_blocks_and_t_flips_a_step() {
    let options = r#"{"blocks": 36, "pages_per_block": 16, "bad_share": 0.06, "read_flips": 8}"#;
    if let Some(printed) = run("log_map", options) {
        assert!(printed.contains("200 cuts") && printed.contains("corrected 1"), "{printed}");
    }
}

#[test]
fn a_log_structured_map_is_told_of_one_flip_more_than_the_code_corrects() {
    let options = r#"{"blocks": 36, "pages_per_block": 16, "bad_share": 0.06, "seed": 7}"#;
    if let Some(printed) = run("log_map", options) {
        assert!(printed.ends_with("then -74\n"), "{printed}");
    }
}

#[test]
fn the_program_of_the_page_prints_what_the_page_shows() {
    let page = include_str!("../../../docs/raw-nand.md");
    let (_, rest) = page.split_once("```c\n").expect("a program");
    let (program, rest) = rest.split_once("```").expect("its end");
    let shown = rest.split_once("It prints `").expect("its output").1.split_once('`');
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page.c");
    fs::write(&source, program).expect("written");
    if let Some(printed) = run_source("page", &source, "") {
        assert_eq!(Some(printed.trim_end()), shown.map(|(shown, _)| shown));
    }
}
