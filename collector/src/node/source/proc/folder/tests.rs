//! Why a file could not be read.

use super::*;

/// What an error of the library becomes, and the reason that stands on a row for it.
fn reason(error: procfs::ProcError) -> Absent {
    Absent::from(failed(7, "io", error))
}

#[test]
fn a_file_that_may_not_be_read_and_a_process_that_is_gone_are_told_apart() {
    assert_eq!(reason(procfs::ProcError::PermissionDenied(None)), Absent::NotPermitted);
    assert_eq!(reason(procfs::ProcError::NotFound(None)), Absent::Gone);
    let ended = std::io::Error::from_raw_os_error(Errno::ESRCH as i32);
    assert_eq!(reason(procfs::ProcError::Io(ended, None)), Absent::Gone, "it ended while its file was read");
}

#[test]
fn other_failures_name_the_file_and_keep_their_cause() {
    let error = failed(7, "io", procfs::ProcError::Io(std::io::Error::from_raw_os_error(Errno::EIO as i32), None));
    assert_eq!(error.to_string(), "cannot read `io` of process 7");
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(Absent::from(error), Absent::Failed("cannot read `io` of process 7".into()));
}
