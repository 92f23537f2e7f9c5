//! GRES strings as found in the field.

use super::*;

fn count(text: &str) -> Result<i64, String> {
    let list = gres(text, Form::Granted).map_err(|e| e.to_string())?;
    gpus(&list).map(|g| g.count).map_err(|e| e.to_string())
}

#[test]
fn gpus_of_granted_strings() {
    for (text, gpus) in [
        ("gpu:4", 4),
        ("gpu:a100:4", 4),
        ("gpu:h100:4(IDX:0-3)", 4),
        ("gpu:h100:4(IDX:0,2,5-6)", 4),
        ("gpu:ampere:8(S:0-1)", 8),
        ("gres/gpu:8", 8),
        ("gres:gpu:8", 8),
        ("gres/gpu=8", 8),
        ("gpu:nvidia_h200_nvl_4g.71gb:4", 4),
        ("gpu:quadro:0(IDX:N/A),vmem:0", 0),
        ("gpu:a100:2(IDX:0-1),gpu:h100:1(IDX:2),shard:8(-/5,5/5)", 3),
        ("gpu:1080:2", 2),
        ("gpu:a100:no_consume:2", 2),
        ("gpu(IDX:0-3)", 4),
        ("gpu:tesla(IDX:0,3)", 2),
        ("gpu:2(CNT:2)", 2),
        ("shard:1K", 0),
        ("gpu:0", 0),
        ("N/A", 0),
        ("(null)", 0),
        ("", 0),
    ] {
        assert_eq!(count(text), Ok(gpus), "{text}");
    }
}

#[test]
fn what_is_cut_off_or_no_number_is_an_error_and_not_0() {
    for (text, names) in [
        ("gpu", "`gpu` is cut off"),
        ("gpu:", "`gpu:` is cut off"),
        ("gpu:a100:", "`gpu:a100:` is cut off"),
        ("gp", "`gp` is cut off"),
        ("gpu:a100:4,", "`` is cut off"),
        ("gpu:h100:4(IDX:0-", "`gpu:h100:4(IDX:0-` is cut off"),
        ("gpu:h100:4)", "is cut off"),
        ("gpu:h100:4(IDX:0-)", "GRES index `0-`"),
        ("gpu:h100:4(IDX:3-0)", "GRES index `3-0`"),
        ("gpu:h100:4(IDX:0-999999999)", "GRES index"),
        ("gpu:four", "GPU count `four` in `gpu:four` is no number"),
        ("gpu:a100:four", "GPU count `four`"),
        ("gpu:a100:-4", "GPU count `-4`"),
        ("gpu:99999999999", "more than any job holds"),
        ("gpu:a:b:4", "is cut off or not of the form"),
    ] {
        let error = count(text).unwrap_err();
        assert!(error.contains(names), "{text}: {error}");
    }
}

#[test]
fn a_request_may_leave_the_count_out() {
    let read = |text| gpus(&gres(text, Form::Asked).unwrap()).unwrap();
    assert_eq!(read("gpu").count, 1);
    assert_eq!(read("gres/gpu:a100"), Gpus { count: 1, types: vec![GpuType { name: "a100".into(), count: 1 }] });
    assert_eq!(read("gres/gpu:0").count, 0);
    assert_eq!(read("cpu=32,gres/gpu=2").count, 2);
}

#[test]
fn indices_and_types_are_kept() {
    let list = gres("gpu:a100:3(IDX:0,2-3)", Form::Granted).unwrap();
    assert_eq!(list[0].kind.as_deref(), Some("a100"));
    assert_eq!(list[0].index, Some(vec![0, 2, 3]));
    assert_eq!(gres("gpu:quadro:0(IDX:N/A)", Form::Granted).unwrap()[0].index, Some(vec![]));
    assert_eq!(gres("gpu:2(CNT:2)", Form::Granted).unwrap()[0].index, None);
}

#[test]
fn parts_of_shared_devices_are_kept_and_malformed_ones_refused() {
    let list = gres("gpu(IDX:1),shard:5(-/5,5/5)", Form::Granted).unwrap();
    assert_eq!(list[1].parts, [Part { index: 1, held: 5, of: 5 }]);
    let list = gres("shard:tesla:3(2/4,0/4,1/4)", Form::Granted).unwrap();
    let held = [Part { index: 0, held: 2, of: 4 }, Part { index: 2, held: 1, of: 4 }];
    assert_eq!(list[0].parts, held);
    assert_eq!(gres("gpu:h100:2(IDX:0-1)", Form::Granted).unwrap()[0].parts, []);
    for bad in ["shard:3(2/0)", "shard:3(3/2)", "shard:3(x/2)", "shard:3(1/)"] {
        assert!(gres(bad, Form::Granted).is_err(), "{bad}");
    }
}
