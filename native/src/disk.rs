//! How much room a file system has.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that this process may still write where `path` lies; none where that cannot be told.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a null byte and `stat` is as large as the kernel's answer; both live through the call.
    let answer = unsafe { libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: an answer of 0 says that it was filled.
    let stat = unsafe { stat.assume_init() };
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_some_room_and_no_folder_has_none() {
        assert!(free_bytes(Path::new("/")).is_some_and(|free| free > 0));
        assert_eq!(free_bytes(Path::new("/no/such/folder")), None);
    }
}
