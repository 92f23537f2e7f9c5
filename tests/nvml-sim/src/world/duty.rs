//! How busy a process keeps its engine, as a step function of the time since it came.

use super::draw;
use crate::scenario::{Duty, us};

/// A level that never changes again.
pub(super) const NEVER: i64 = i64::MAX;

/// Level at `at` in basis points, and when it changes next.
pub(super) fn level(duty: &Duty, at: i64) -> (u32, i64) {
    match *duty {
        Duty::Constant(percent) => (basis_points(percent), NEVER),
        Duty::Square { period_s, on, percent } => {
            let period = us(period_s).max(1);
            let on = (period as f64 * on).round() as i64;
            let inside = at.rem_euclid(period);
            if inside < on {
                (basis_points(percent), (at - inside).saturating_add(on))
            } else {
                (0, (at - inside).saturating_add(period))
            }
        }
        Duty::Noise { low, high, step_s, seed } => {
            let step = us(step_s).max(1);
            let index = at.div_euclid(step);
            let share = (draw(&[seed, index as u64]) >> 11) as f64 / (1_u64 << 53) as f64;
            (basis_points(low + (high - low) * share), (index + 1).saturating_mul(step))
        }
    }
}

/// Percent of a scenario in basis points, never above 100 %.
pub(super) fn basis_points(percent: f64) -> u32 {
    (percent * 100.0).round().clamp(0.0, 10_000.0) as u32
}
