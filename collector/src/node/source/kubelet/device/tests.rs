//! Every form of a device id, and the card it means.

use super::*;
use crate::node::source::card::Instance;

#[track_caller]
fn check(id: &str, device: Device, copy: bool) {
    assert_eq!(DeviceId::of_plugin(id), DeviceId { device, copy }, "{id}");
}

fn uuid(uuid: &str) -> Device {
    Device::Uuid(uuid.into())
}

#[test]
fn ids_of_nvidias_plugin() {
    check("GPU-6f3c", uuid("GPU-6f3c"), false);
    check("MIG-6f3c", uuid("MIG-6f3c"), false);
    check("MIG-GPU-6f3c/7/0", Device::LegacyMig { gpu: "GPU-6f3c".into(), gi: 7, ci: 0 }, false);
}

#[test]
fn copies_of_a_device_are_the_device_and_known_as_copies() {
    check("GPU-6f3c::0", uuid("GPU-6f3c"), true);
    check("GPU-6f3c::11", uuid("GPU-6f3c"), true);
    check("MIG-6f3c::2", uuid("MIG-6f3c"), true);
    check("MIG-GPU-6f3c/7/0::1", Device::LegacyMig { gpu: "GPU-6f3c".into(), gi: 7, ci: 0 }, true);
}

#[test]
fn ids_of_googles_plugin() {
    check("nvidia0", Device::File { minor: 0, gi: None }, false);
    check("nvidia12/gi1", Device::File { minor: 12, gi: Some(1) }, false);
    check("nvidia0/vgpu1", Device::File { minor: 0, gi: None }, true);
    check("nvidia0/gi1/vgpu3", Device::File { minor: 0, gi: Some(1) }, true);
}

#[test]
fn ids_that_nobody_knows_are_kept_as_they_are() {
    for id in [
        "",
        "card0",
        "nvidia",
        "nvidiax",
        "nvidia0/gi",
        "nvidia0/xi1",
        "nvidia+1",
        "MIG-GPU-6f3c/7",
        "MIG-GPU-6f3c/7/0/1",
        "GPU-6f3c::x",
        "GPU-6f3c/7",
    ] {
        let DeviceId { device, copy } = DeviceId::of_plugin(id);
        // an id whose copy mark is broken is still of the right form otherwise
        let expected = if id == "GPU-6f3c::x" { uuid(id) } else { Device::Other(id.into()) };
        assert_eq!((device, copy), (expected, false), "{id}");
    }
}

#[test]
fn names_of_the_resource_driver() {
    let claim = |name: &str| DeviceId::of_claim(name).device;
    assert_eq!(claim("gpu-3"), Device::Claimed { minor: 3, start: None });
    assert_eq!(claim("gpu-3-mig-1g.10gb-19-4"), Device::Claimed { minor: 3, start: Some(4) });
    assert_eq!(claim("gpu-vfio-0"), Device::Other("gpu-vfio-0".into()));
    assert_eq!(claim("gpu-3-mig-1g.10gb-19-x"), Device::Other("gpu-3-mig-1g.10gb-19-x".into()));
}

#[test]
fn every_form_finds_its_card_or_its_instance() {
    let instance = |uuid: &str, gi, ci, start| Instance { uuid: uuid.into(), gi, ci: Some(ci), start: Some(start) };
    let cards = [
        Card { uuid: "GPU-a".into(), nvml_index: Some(0), minor: Some(1), instances: vec![] },
        Card {
            uuid: "GPU-b".into(),
            nvml_index: Some(1),
            minor: Some(0),
            instances: vec![instance("MIG-1", 7, 0, 0), instance("MIG-2", 8, 0, 2), instance("MIG-3", 8, 1, 2)],
        },
    ];
    let find = |id: &str| DeviceId::of_plugin(id).device.uuid(&cards);
    assert_eq!(find("GPU-a").as_deref(), Some("GPU-a"));
    assert_eq!(find("nvidia0").as_deref(), Some("GPU-b"), "the number is that of the device file");
    assert_eq!(find("nvidia0/gi7").as_deref(), Some("MIG-1"));
    assert_eq!(find("nvidia0/gi8"), None, "two compute instances: it cannot be told which");
    assert_eq!(find("MIG-GPU-b/8/1").as_deref(), Some("MIG-3"));
    assert_eq!(find("MIG-GPU-a/8/1"), None);
    assert_eq!(find("nvidia9"), None);
    assert_eq!(find("card0"), None);
    let claim = |name: &str| DeviceId::of_claim(name).device.uuid(&cards);
    assert_eq!(claim("gpu-1").as_deref(), Some("GPU-a"));
    assert_eq!(claim("gpu-0-mig-1g.10gb-19-0").as_deref(), Some("MIG-1"));
    assert_eq!(claim("gpu-0-mig-2g.20gb-14-2"), None, "two share the place");
}
