//! A device's activity split between its processes, so that their parts never exceed the device.

use crate::node::seen::{Absent, Measure};

/// Node rows come in steps of a percent: finer ones would claim more than a split can know.
pub(super) const STEP_PPM: i64 = 10_000;

/// How a device's activity came to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// It was alone: all of it.
    Exclusive,
    /// By its share of the busy time.
    SmShare,
    /// Not at all: there was nothing to split, or nothing to split it by.
    None,
}

impl Method {
    /// The word in tables.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::SmShare => "sm_share",
            Self::None => "none",
        }
    }
}

/// Activity of the streaming multiprocessors, of DRAM and of tensor cores.
pub(super) type Parts = [Measure<i64>; 3];

/// The part of each of `busy`'s processes in a device's activity.
pub(super) fn apportion(device: &Parts, busy: &[Measure<i64>]) -> Vec<(Method, Parts)> {
    let Some(method) = method(device, busy) else {
        // what the device does not have keeps its reason; what it has cannot be handed out
        let none = device.clone().map(|part| part.and_then(|_| Err(Absent::Failed("no basis to split".to_owned()))));
        return busy.iter().map(|_| (Method::None, none.clone())).collect();
    };
    let total: i64 = busy.iter().flatten().sum();
    let share = |part: i64, own: i64| match method {
        Method::SmShare if total > 0 => (i128::from(part) * i128::from(own) / i128::from(total)) as i64,
        _ => part,
    };
    let of = |own: i64| device.clone().map(|part| part.map(|p| step(share(p, own))));
    busy.iter().map(|own| (method, of(own.clone().unwrap_or(0)))).collect()
}

/// By what a device's activity can be split, if by anything.
fn method(device: &Parts, busy: &[Measure<i64>]) -> Option<Method> {
    if device.iter().all(Result::is_err) {
        return None;
    }
    if busy.len() == 1 {
        return Some(Method::Exclusive);
    }
    let total: i64 = busy.iter().cloned().sum::<Measure<i64>>().ok()?;
    // nobody was busy: zero can be handed out, anything else belongs to nobody
    let nothing = device.iter().flatten().all(|p| *p == 0);
    (total > 0 || nothing).then_some(Method::SmShare)
}

/// Down to a step.
pub(super) const fn step(ppm: i64) -> i64 {
    ppm / STEP_PPM * STEP_PPM
}

#[cfg(test)]
mod tests {
    use super::*;

    const GONE: Measure<i64> = Err(Absent::NotSupported);

    #[test]
    fn alone_a_process_has_all_of_it_in_whole_steps() {
        let parts = apportion(&[Ok(619_999), Ok(350_000), GONE], &[Err(Absent::Mig)]);
        assert_eq!(parts, [(Method::Exclusive, [Ok(610_000), Ok(350_000), GONE])]);
    }

    #[test]
    fn shares_are_floored_so_that_they_never_exceed_the_device() {
        let parts = apportion(&[Ok(1_000_000), Ok(100_000), Ok(0)], &[Ok(1_000), Ok(1_000), Ok(1_000)]);
        // a third of 1 000 000 and of 100 000
        assert!(parts.iter().all(|p| *p == (Method::SmShare, [Ok(330_000), Ok(30_000), Ok(0)])), "{parts:?}");
        let uneven = apportion(&[Ok(500_000), GONE, GONE], &[Ok(3_000), Ok(1_000)]);
        assert_eq!(uneven[0].1[0], Ok(370_000)); // 375 000
        assert_eq!(uneven[1].1[0], Ok(120_000)); // 125 000
    }

    #[test]
    fn without_a_basis_nothing_is_handed_out() {
        let no_basis = Absent::Failed("no basis to split".to_owned());
        let unknown = apportion(&[Ok(500_000), GONE, GONE], &[Ok(10), Err(Absent::Rejected)]);
        assert_eq!(unknown[0], (Method::None, [Err(no_basis), GONE, GONE]));
        let idle = apportion(&[Ok(500_000), GONE, GONE], &[Ok(0), Ok(0)]);
        assert_eq!(idle[1].0, Method::None, "activity of nobody");
        let silent = apportion(&[Ok(0), GONE, GONE], &[Ok(0), Ok(0)]);
        assert_eq!(silent[1], (Method::SmShare, [Ok(0), GONE, GONE]));
        assert_eq!(apportion(&[GONE, GONE, GONE], &[Ok(5)])[0], (Method::None, [GONE, GONE, GONE]));
    }
}
