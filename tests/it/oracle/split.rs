//! Dividing whole numbers: by largest remainder, and by telescoping floor.

/// Floors `parts[i] / whole` so that the sum stays what it was: what flooring leaves goes, one each, to the largest
/// remainders; of equal remainders to the one that stands first.
pub(crate) fn largest_remainder(parts: &[i64], whole: i64) -> Vec<i64> {
    let mut out: Vec<i64> = parts.iter().map(|p| p / whole).collect();
    let mut left = parts.iter().map(|p| p % whole).sum::<i64>() / whole;
    let mut order: Vec<usize> = (0..parts.len()).filter(|i| parts[*i] % whole > 0).collect();
    order.sort_by_key(|i| (-(parts[*i] % whole), *i));
    for i in order {
        if left == 0 {
            break;
        }
        out[i] += 1;
        left -= 1;
    }
    out
}

/// The part of `value` that falls to `[a, b)` of `[0, whole)`.
pub(crate) fn telescope(value: i64, a: i64, b: i64, whole: i64) -> i64 {
    let upto = |x: i64| (i128::from(value) * i128::from(x) / i128::from(whole)) as i64;
    upto(b) - upto(a)
}

#[test]
fn parts_add_up() {
    assert_eq!(largest_remainder(&[5, 5, 5, 5], 10), [1, 1, 0, 0]);
    assert_eq!(largest_remainder(&[29, 1, 10], 10), [3, 0, 1]);
    assert_eq!(telescope(10, 0, 1, 3) + telescope(10, 1, 2, 3) + telescope(10, 2, 3, 3), 10);
}
