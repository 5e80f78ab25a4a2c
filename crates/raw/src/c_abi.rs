//! The C ABI: the functions of `include/opennandlab_raw.h`.
//!
//! A handle is a number in a table, so that null, closed and invented handles are errors. Every
//! function takes the lock of its chip, and no panic leaves it.
#![allow(unsafe_code)] // exported names, and memory of the caller

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use opennandlab_sim::config::ConfigError;

use crate::chip::{Access, At, Erasure, Geometry, RawNand, Stats, Status};
use crate::faults::Fault;
use crate::options::Options;

const EIO: c_int = 5;
const EINVAL: c_int = 22;
const RAW: u32 = 1;
const FORCE: u32 = 2;

type Shared = Arc<Mutex<RawNand>>;

/// Open chips by handle, and the last handle that was given out.
static CHIPS: Mutex<(BTreeMap<usize, Shared>, usize)> = Mutex::new((BTreeMap::new(), 0));

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// `struct onl_raw_corrected`.
#[repr(C)]
pub struct Corrected {
    max: u32,
    sum: u32,
}

fn refused<T>(path: &str, message: &str) -> Result<T, ConfigError> {
    Err(ConfigError::new(path, message))
}

fn note(text: String) {
    LAST_ERROR.with(|last| *last.borrow_mut() = text);
}

/// Does the work; errors and panics become numbers.
fn guarded<T>(work: impl FnOnce() -> Result<T, ConfigError>) -> Result<T, c_int> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            note(error.to_string());
            Err(-EINVAL)
        }
        Err(_) => {
            note("a fault of the library; the chip cannot be used any more".to_owned());
            Err(-EIO)
        }
    }
}

fn on_chip(
    handle: *mut RawNand,
    work: impl FnOnce(&mut RawNand) -> Result<c_int, ConfigError>,
) -> c_int {
    guarded(|| {
        let found = {
            let chips = CHIPS.lock().unwrap_or_else(PoisonError::into_inner);
            chips.0.get(&(handle as usize)).cloned()
        };
        let Some(shared) = found else {
            return refused("chip", "the handle is null, closed or of no chip");
        };
        let mut chip = shared.lock().expect("no earlier call was broken off");
        work(&mut chip)
    })
    .unwrap_or_else(|code| code)
}

fn code_of(status: Status) -> c_int {
    -(status as c_int)
}

fn access(flags: u32) -> Access {
    if flags & RAW == 0 {
        Access::Coded
    } else {
        Access::Raw
    }
}

fn check_flags(flags: u32, known: u32) -> Result<(), ConfigError> {
    if flags & !known == 0 {
        return Ok(());
    }
    refused("flags", &format!("{flags} is not known here; accepted: 0 or {known}"))
}

/// Text of the caller; `None` for null.
unsafe fn text<'a>(path: &str, text: *const c_char) -> Result<Option<&'a str>, ConfigError> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller gives text that ends with a zero.
    match unsafe { CStr::from_ptr(text) }.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => refused(path, "is not UTF-8"),
    }
}

fn check_buffer(path: &str, is_null: bool, size: usize) -> Result<(), ConfigError> {
    if size > isize::MAX as usize || (is_null && size > 0) {
        return refused(path, &format!("is null, or its size {size} is none"));
    }
    Ok(())
}

/// Copies to a buffer of the caller, which has room for all of it or is not wanted.
unsafe fn give(path: &str, bytes: &[u8], buffer: *mut u8, size: usize) -> Result<(), ConfigError> {
    check_buffer(path, buffer.is_null(), size)?;
    if buffer.is_null() {
        return Ok(());
    }
    if size < bytes.len() {
        let message = format!("a buffer of {size} bytes is too small; accepted: {}", bytes.len());
        return refused(path, &message);
    }
    // SAFETY: the caller's buffer has `size` bytes, at least as many as are copied.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, bytes.len()) };
    Ok(())
}

unsafe fn taken<'a>(path: &str, bytes: *const u8, size: usize) -> Result<&'a [u8], ConfigError> {
    check_buffer(path, bytes.is_null(), size)?;
    if bytes.is_null() {
        return Ok(&[]);
    }
    // SAFETY: the caller's buffer has `size` bytes.
    Ok(unsafe { std::slice::from_raw_parts(bytes, size) })
}

unsafe fn put<T>(value: T, out: *mut T) -> Result<c_int, ConfigError> {
    if out.is_null() {
        return refused("out", "is null");
    }
    // SAFETY: the caller's structure is that of the header.
    unsafe { out.write_unaligned(value) };
    Ok(0)
}

#[no_mangle]
unsafe extern "C" fn onl_raw_open(options: *const c_char, image: *const c_char) -> *mut RawNand {
    guarded(|| {
        let (options, image) = unsafe { (text("options", options)?, text("image", image)?) };
        let options = Options::resolve(options.unwrap_or("{}"))?;
        let chip = Arc::new(Mutex::new(RawNand::new(options, image.map(Path::new))?));
        let mut chips = CHIPS.lock().unwrap_or_else(PoisonError::into_inner);
        chips.1 += 1;
        let handle = chips.1;
        chips.0.insert(handle, chip);
        Ok(handle as *mut RawNand)
    })
    .unwrap_or(std::ptr::null_mut())
}

#[no_mangle]
extern "C" fn onl_raw_close(chip: *mut RawNand) -> c_int {
    guarded(|| {
        let mut chips = CHIPS.lock().unwrap_or_else(PoisonError::into_inner);
        match chips.0.remove(&(chip as usize)) {
            Some(_) => Ok(0),
            None => refused("chip", "the handle is null, closed or of no chip"),
        }
    })
    .unwrap_or_else(|code| code)
}

#[no_mangle]
unsafe extern "C" fn onl_raw_geometry(chip: *mut RawNand, out: *mut Geometry) -> c_int {
    on_chip(chip, |chip| unsafe { put(chip.geometry(), out) })
}

#[no_mangle]
unsafe extern "C" fn onl_raw_read(
    chip: *mut RawNand,
    block: u32,
    page: u32,
    flags: u32,
    data: *mut u8,
    data_size: usize,
    oob: *mut u8,
    oob_size: usize,
    corrected: *mut Corrected,
) -> c_int {
    on_chip(chip, |chip| {
        check_flags(flags, RAW)?;
        let found = chip.read(At { block, page }, access(flags))?;
        let (page, spare) = found.bytes.split_at(chip.geometry().page_bytes as usize);
        unsafe {
            give("data", page, data, data_size)?;
            give("oob", spare, oob, oob_size)?;
            if !corrected.is_null() {
                put(Corrected { max: found.corrected_max, sum: found.corrected_sum }, corrected)?;
            }
        }
        Ok(code_of(found.status))
    })
}

#[no_mangle]
unsafe extern "C" fn onl_raw_program(
    chip: *mut RawNand,
    block: u32,
    page: u32,
    flags: u32,
    data: *const u8,
    data_size: usize,
    oob: *const u8,
    oob_size: usize,
) -> c_int {
    on_chip(chip, |chip| {
        check_flags(flags, RAW)?;
        let (data, oob) =
            unsafe { (taken("data", data, data_size)?, taken("oob", oob, oob_size)?) };
        Ok(code_of(chip.program(At { block, page }, data, oob, access(flags))?))
    })
}

#[no_mangle]
extern "C" fn onl_raw_erase(chip: *mut RawNand, block: u32, flags: u32) -> c_int {
    on_chip(chip, |chip| {
        check_flags(flags, FORCE)?;
        let erasure = if flags == 0 { Erasure::Careful } else { Erasure::Forced };
        Ok(code_of(chip.erase(block, erasure)?))
    })
}

#[no_mangle]
extern "C" fn onl_raw_is_bad(chip: *mut RawNand, block: u32) -> c_int {
    on_chip(chip, |chip| Ok(chip.is_bad(block)?.map_or_else(code_of, c_int::from)))
}

#[no_mangle]
extern "C" fn onl_raw_mark_bad(chip: *mut RawNand, block: u32) -> c_int {
    on_chip(chip, |chip| Ok(code_of(chip.mark_bad(block)?)))
}

#[no_mangle]
extern "C" fn onl_raw_inject(
    chip: *mut RawNand,
    kind: u32,
    block: u32,
    page: u32,
    step: u32,
    n: u32,
) -> c_int {
    on_chip(chip, |chip| {
        chip.inject(Fault::of(kind, block, page, step, n)?)?;
        Ok(0)
    })
}

#[no_mangle]
extern "C" fn onl_raw_age(chip: *mut RawNand, pe: f64, hours: f64, celsius: f64) -> c_int {
    on_chip(chip, |chip| {
        chip.age(pe, hours, celsius)?;
        Ok(0)
    })
}

#[no_mangle]
unsafe extern "C" fn onl_raw_stats(chip: *mut RawNand, out: *mut Stats) -> c_int {
    on_chip(chip, |chip| unsafe { put(chip.stats(), out) })
}

#[no_mangle]
unsafe extern "C" fn onl_raw_save(chip: *mut RawNand, path: *const c_char) -> c_int {
    on_chip(chip, |chip| {
        let Some(path) = (unsafe { text("path", path)? }) else {
            return refused("path", "is null");
        };
        chip.save(Path::new(path)).map_err(|error| ConfigError::new(path, error.to_string()))?;
        Ok(0)
    })
}

#[no_mangle]
unsafe extern "C" fn onl_raw_last_error(buffer: *mut c_char, size: usize) -> usize {
    LAST_ERROR.with(|last| {
        let last = last.borrow();
        // Up to a zero, which no text of C has.
        let shown = last.split('\0').next().unwrap_or_default().as_bytes();
        if !buffer.is_null() && size > 0 {
            let count = shown.len().min(size - 1);
            // SAFETY: the caller's buffer has `size` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(shown.as_ptr(), buffer.cast(), count);
                buffer.add(count).write(0);
            }
        }
        shown.len() + 1
    })
}

#[no_mangle]
extern "C" fn onl_raw_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
