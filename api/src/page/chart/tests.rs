//! Charts: parts fill the bar, gaps break lines, and names that try to be markup are text.

use super::*;

#[test]
fn parts_fill_the_bar() {
    let part = |class, size| Part { class, size, says: String::new() };
    let svg = bar("b", &[part(Class::Busy, 1), part(Class::Idle, 1), part(Class::Unallocated, 1)], "t", "d");
    assert!(svg.contains(r#"x="0" y="0" width="333""#), "{svg}");
    assert!(svg.contains(r#"x="333" y="0" width="333""#), "{svg}");
    assert!(svg.contains(r#"x="666" y="0" width="334""#), "{svg}");
    assert!(bar("b", &[], "t", "d").contains("none"));
}

#[test]
fn names_that_try_to_be_markup_are_text() {
    let part = Part { class: Class::Busy, size: 1, says: "</title><script>alert(1)</script>".to_owned() };
    let svg = bar("b", &[part], "<img src=x onerror=alert(1)>", "\"'&");
    assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
    assert!(svg.contains("&lt;/title&gt;&lt;script&gt;"), "{svg}");
    let rows = vec![("<b>node</b>".to_owned(), vec![Some(Heat::Busy(1000)), None])];
    assert!(heat("h", &rows, &[], "t", "d").contains("&lt;b&gt;node"));
}

#[test]
fn a_gap_breaks_the_line() {
    let svg = spark(&[Some(1), None, Some(2), Some(3)]);
    let curve = svg.split("curve money\" d=\"").nth(1).unwrap_or_default();
    assert_eq!(curve.split('"').next().unwrap_or_default().matches('M').count(), 2, "{svg}");
}

#[test]
fn neighbours_of_one_shade_are_one_stroke() {
    let cells = vec![Some(Heat::Busy(990)), Some(Heat::Busy(1000)), Some(Heat::Mostly(Class::Unobserved))];
    let svg = heat("h", &[("n".to_owned(), cells)], &[], "t", "d");
    assert_eq!(svg.matches("m150 6h500").count(), 1, "{svg}");
    assert_eq!(svg.matches("<path stroke").count(), 2, "{svg}");
    // the second of a shade is told from the end of the first, also in the next row
    let row = |label: &str| (label.to_owned(), vec![Some(Heat::Busy(1000)), None, Some(Heat::Busy(1000))]);
    let svg = heat("h", &[row("a"), row("b")], &[], "t", "d");
    assert!(svg.contains("m150 6h250m250 0h250m-750 12h250m250 0h250"), "{svg}");
}

#[test]
fn a_chart_has_no_style_and_says_what_it_is() {
    let curve = Curve { class: "money", name: "n".to_owned(), values: vec![Some(1), Some(5)] };
    let of = Series {
        curves: vec![curve],
        labels: vec![(0, "1".to_owned())],
        steps: 3,
        limit: Some((8, "budget".to_owned())),
        forecast: Some(Forecast { low: 6, middle: 7, high: 9 }),
        top: (10, "10".to_owned()),
    };
    let svg = series("s", &of, "title", "text");
    for needed in ["role=\"img\"", "<title id=\"s-t\">title</title>", "<desc id=\"s-d\">text</desc>", "interval"] {
        assert!(svg.contains(needed), "{needed}: {svg}");
    }
    assert!(!svg.contains("style="), "{svg}");
}
