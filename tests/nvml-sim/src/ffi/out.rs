//! Writing to the caller's memory.
//!
//! These take raw pointers without being `unsafe` functions: only the exported functions call them, and what NVML
//! promises of their pointers is said once, here: each is null, or good for what the function's C declaration says.

use std::ffi::{CStr, c_char, c_uint};

use crate::sim::{Answer, code};

/// Writes a value; a null pointer is an invalid argument.
pub(super) fn put<T>(to: *mut T, value: T) -> Answer {
    if to.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so it is room for one T; it need not be aligned.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Reads a value that the caller passed by pointer.
pub(super) fn take<T: Copy>(from: *const T) -> Result<T, u32> {
    if from.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so it holds one T; it need not be aligned.
    Ok(unsafe { from.read_unaligned() })
}

/// Writes a text with its NUL into `length` bytes.
pub(super) fn put_text(to: *mut c_char, length: c_uint, text: &str) -> Answer {
    if to.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    if text.len() + 1 > length as usize {
        return Err(code::INSUFFICIENT_SIZE);
    }
    // SAFETY: `to` is room for `length` bytes, and the text with its NUL is no longer than that.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), to, text.len());
        to.add(text.len()).write(0);
    }
    Ok(())
}

/// Text that the caller passed.
pub(super) fn take_text<'a>(from: *const c_char) -> Result<&'a str, u32> {
    if from.is_null() {
        return Err(code::INVALID_ARGUMENT);
    }
    // SAFETY: not null, so it is a C string that outlives the call.
    unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| code::INVALID_ARGUMENT)
}

/// Writes rows one after the other; the caller has checked that there is room.
pub(super) fn put_rows<T: Copy>(to: *mut T, rows: &[T]) {
    if !rows.is_empty() {
        // SAFETY: callers compare the number of rows with the room that the caller of NVML stated.
        unsafe { std::ptr::copy_nonoverlapping(rows.as_ptr().cast::<u8>(), to.cast(), size_of_val(rows)) };
    }
}

/// The usual list: `count` holds the room before and the number of rows after.
///
/// With too little room (or none: the count probe) it answers INSUFFICIENT_SIZE and `probe`, what a probe says.
pub(super) fn put_list<T: Copy>(to: *mut T, count: *mut c_uint, rows: &[T], probe: usize) -> Answer {
    let room = take(count)? as usize;
    if rows.len() > room || (to.is_null() && probe > 0) {
        put(count, probe as c_uint)?;
        return Err(code::INSUFFICIENT_SIZE);
    }
    put(count, rows.len() as c_uint)?;
    if !to.is_null() {
        put_rows(to, rows);
    }
    Ok(())
}

/// Copies text into a fixed field of a struct, cut to leave room for its NUL.
pub(super) fn fixed<const N: usize>(text: &str) -> [c_char; N] {
    let mut field = [0; N];
    for (to, from) in field.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from as c_char;
    }
    field
}
