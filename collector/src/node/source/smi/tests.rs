//! Recorded outputs, line by line, and the cells that are no numbers.

use std::path::PathBuf;

use super::outline::{ToldInstance, instances};
use super::*;

const CARD: &str = "GPU-00000000-0000-0000-0000-000000000000";

/// A recorded output, or nothing (and a word) where the shared folder is not there.
fn recorded(name: &str) -> Option<String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let path =
        std::env::var_os("GPULEDGER_SHARED").map_or_else(beside, PathBuf::from).join("samples/nvidia").join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("skipped: {} is not there", path.display());
    }
    text
}

#[test]
fn what_is_no_number_is_absent_with_a_reason() {
    for (cell, why) in [
        ("N/A", Absent::NotSupported),
        ("[N/A]", Absent::NotSupported),
        ("[Not Supported]", Absent::NotSupported),
        ("Not Supported", Absent::NotSupported),
        ("-", Absent::NotSupported),
        ("", Absent::NotSupported),
        ("[Requested functionality has been deprecated]", Absent::NotSupported),
        ("[Insufficient Permissions]", Absent::NotPermitted),
        ("[GPU is lost]", Absent::Lost),
        ("[Not Found]", Absent::Gone),
        ("[Unknown Error]", Absent::Failed("unknown error".to_owned())),
        ("2619 %", Absent::Rejected),
        ("-1 %", Absent::Rejected),
        ("99 MiB", Absent::Rejected),
    ] {
        assert_eq!(percent_ppm(cell), Err(why), "{cell}");
    }
    assert_eq!((percent_ppm("0 %"), percent_ppm("99"), percent_ppm("100 %")), (Ok(0), Ok(990_000), Ok(1_000_000)));
    assert_eq!((mib_bytes("2566 MiB"), mib_bytes("17592186044134 MiB")), (Ok(2_690_646_016), Err(Absent::Rejected)));
    assert_eq!((watts_mw("433.78 W"), ms("1200 ms"), count("2560")), (Ok(433_780), Ok(1_200), Ok(2_560)));
}

#[test]
fn the_recorded_lists_name_cards_and_instances() {
    let Some(whole) = recorded("h100.L.txt") else { return };
    let card =
        ListedCard { index: 0, model: "NVIDIA H100 80GB HBM3".to_owned(), uuid: CARD.to_owned(), instances: vec![] };
    assert_eq!(list(&whole).unwrap(), std::slice::from_ref(&card));
    let Some(cut) = recorded("h100_mig.L.txt") else { return };
    let instance = |index: u32, profile: &str| ListedInstance {
        index,
        profile: profile.to_owned(),
        uuid: format!("MIG-0000000{index}-0000-0000-0000-00000000000{index}"),
    };
    let instances =
        vec![instance(0, "3g.40gb"), instance(1, "2g.20gb"), instance(2, "1g.10gb"), instance(3, "1g.10gb")];
    assert_eq!(list(&cut).unwrap(), [ListedCard { instances, ..card }]);
}

#[test]
fn a_list_that_is_none_names_its_line() {
    let says = |text: &str| list(text).unwrap_err().to_string();
    assert_eq!(says("GPU 0: X (UUID: GPU-a)\nno devices\n"), "line 2: no UUID at its end");
    assert_eq!(says("  MIG 1g.10gb Device 0: (UUID: MIG-a)\n"), "line 1: an instance before its card");
    assert_eq!(says("CPU 0: X (UUID: GPU-a)\n"), "line 1: neither GPU nor MIG");
}

#[test]
fn the_recorded_pmon_gives_each_process_and_no_zero_for_a_dash() {
    let Some(text) = recorded("h100.pmon.load.txt") else { return };
    let rows = pmon(&text).unwrap();
    assert_eq!(rows.len(), 15);
    let row = |pid: u32, sm: Measure<i64>, mem: Measure<i64>, command: &str| Pmon {
        gpu: 0,
        pid: Some(pid),
        kind: Some("C".to_owned()),
        sm_ppm: sm,
        mem_ppm: mem,
        command: Some(command.to_owned()),
    };
    let dash = || Err(Absent::NotSupported);
    let second = [
        row(11_327, dash(), dash(), "memhog"),
        row(11_328, dash(), dash(), "memhog"),
        row(11_345, Ok(990_000), Ok(100_000), "gpu_burn"),
    ];
    assert!(rows.chunks(3).all(|seen| seen == second));
}

#[test]
fn c12_pmon_on_mig_measures_nothing() {
    let Some(text) = recorded("h100_mig.pmon.load.txt") else { return };
    let rows = pmon(&text).unwrap();
    assert_eq!(rows.iter().map(|r| r.pid).collect::<Vec<_>>(), [21_180, 21_181, 21_198].map(Some).repeat(5));
    assert!(rows.iter().all(|r| r.sm_ppm == Err(Absent::NotSupported)));
}

#[test]
fn an_idle_card_in_pmon_has_no_process() {
    let text = "# gpu  pid  type  sm  mem  command\n# Idx  #  C/G  %  %  name\n  0  -  -  -  -  -\n  1  7  C+G  4  0  my tool\n";
    let rows = pmon(text).unwrap();
    assert_eq!((rows[0].pid, &rows[0].kind, &rows[0].command), (None, &None, &None));
    assert_eq!((rows[1].pid, rows[1].command.as_deref()), (Some(7), Some("my tool")));
    assert_eq!((&rows[1].sm_ppm, &rows[1].mem_ppm), (&Ok(40_000), &Ok(0)));
    assert!(pmon("  0  7  C\n").is_err(), "columns without a heading are not guessed");
}

#[test]
fn the_recorded_process_tables_read_as_printed() {
    for (name, processes) in [
        ("h100", [("11327", "/tools/memhog", 2_566), ("11328", "/tools/memhog", 1_542), ("11345", "gpu_burn", 15_690)]),
        (
            "h100_mig",
            [("21180", "/tools/memhog", 2_296), ("21181", "/tools/memhog", 1_272), ("21198", "gpu_burn", 7_484)],
        ),
    ] {
        let Some(load) = recorded(&format!("{name}.compute_apps.load.txt")) else { return };
        let table = Table::parse(&load).unwrap();
        assert_eq!(table.len(), 3);
        for (row, (pid, command, mib)) in processes.iter().enumerate() {
            assert_eq!(table.cell(row, "pid"), Some(*pid));
            assert!(table.cell(row, "process_name").unwrap().ends_with(command));
            assert_eq!(mib_bytes(table.cell(row, "used_gpu_memory").unwrap()), Ok(mib << 20));
            assert_eq!(table.cell(row, "gpu_uuid"), Some(CARD));
            assert_eq!(table.cell(row, "gpu_name"), Some("NVIDIA H100 80GB HBM3"));
        }
        for empty in ["compute_apps.idle", "accounted_apps.load"] {
            let Some(text) = recorded(&format!("{name}.{empty}.txt")) else { return };
            let table = Table::parse(&text).unwrap();
            assert!(table.is_empty());
            assert_eq!(&table.heads()[..6], ["timestamp", "gpu_name", "gpu_bus_id", "gpu_serial", "gpu_uuid", "pid"]);
        }
    }
}

#[test]
fn the_recorded_query_of_everything_has_a_cell_for_each_question() {
    let Some(text) = recorded("h100_mig.query_gpu_csv.load.txt") else { return };
    let table = Table::parse(&text).unwrap();
    let asked = text.lines().next().unwrap().split("--query-gpu=").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(table.heads(), asked.split(',').collect::<Vec<_>>());
    assert_eq!(table.len(), 1);
    let cell = |column: &str| table.cell(0, column).unwrap();
    assert_eq!((cell("driver_version"), cell("uuid"), cell("persistence_mode")), ("590.48.01", CARD, "Enabled"));
    assert_eq!(
        (mib_bytes(cell("memory.total")), mib_bytes(cell("memory.reserved"))),
        (Ok(81_559 << 20), Ok(479 << 20))
    );
    assert_eq!((mib_bytes(cell("memory.used")), count(cell("temperature.gpu"))), (Ok(11_125 << 20), Ok(53)));
    assert_eq!((watts_mw(cell("power.draw.instant")), watts_mw(cell("power.draw"))), (Ok(447_350), Ok(433_780)));
    assert_eq!(
        (cell("mig.mode.current"), cell("compute_cap"), cell("accounting.mode")),
        ("Enabled", "9.0", "Disabled")
    );
    for unmeasured in ["utilization.gpu", "utilization.memory", "power.management", "fan.speed", "hostname"] {
        assert_eq!(percent_ppm(cell(unmeasured)), Err(Absent::NotSupported), "{unmeasured}");
    }
    assert_eq!(table.cell(0, "no.such"), None);
}

#[test]
fn accounted_processes_keep_what_is_absent_absent() {
    let text = "gpu_uuid, pid, gpu_utilization [%], max_memory_usage [MiB], time [ms]\nGPU-a, 7, 41 %, 2566 MiB, 61000 ms\n\
                GPU-a, 8, [N/A], [N/A], 0 ms\n";
    let row = |pid, gpu_util_ppm, mem_peak_bytes, time_ms| AccountedApp {
        uuid: "GPU-a".to_owned(),
        pid,
        gpu_util_ppm,
        mem_peak_bytes,
        time_ms: Ok(time_ms),
    };
    let absent = || Err(Absent::NotSupported);
    assert_eq!(
        accounted_apps(text).unwrap(),
        [row(7, Ok(410_000), Ok(2_566 << 20), 61_000), row(8, absent(), absent(), 0)]
    );
    for name in ["h100", "h100_mig"] {
        let Some(recorded) = recorded(&format!("{name}.accounted_apps.load.txt")) else { return };
        assert_eq!(accounted_apps(&recorded).unwrap(), []);
    }
    assert_eq!(accounted_apps("gpu_uuid, pid\nGPU-a, x\n").unwrap_err().to_string(), "line 2: `x` is no process id");
    let short = accounted_apps("gpu_uuid, pid\nGPU-a, 7\n").unwrap_err().to_string();
    assert_eq!(short, "line 2: no column `gpu_utilization`");
}

#[test]
fn compute_processes_are_read_with_their_memory() {
    let Some(text) = recorded("h100.compute_apps.load.txt") else { return };
    let apps = compute_apps(&text).unwrap();
    let seen: Vec<_> = apps.iter().map(|a| (a.pid, a.mem_used_bytes.clone())).collect();
    assert_eq!(seen, [(11_327, Ok(2_566 << 20)), (11_328, Ok(1_542 << 20)), (11_345, Ok(15_690 << 20))]);
    let hidden = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-a, 9, [Not Found], [N/A]\n";
    let app = &compute_apps(hidden).unwrap()[0];
    assert_eq!((&app.command, &app.mem_used_bytes), (&None, &Err(Absent::NotSupported)));
}

#[test]
fn a_comma_in_a_process_name_moves_no_other_cell() {
    let text = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-a, 7, a, b, c, 5 MiB\nGPU-a, 8, x, [N/A]\n";
    let table = Table::parse(text).unwrap();
    assert_eq!((table.cell(0, "process_name"), table.cell(0, "used_gpu_memory")), (Some("a, b, c"), Some("5 MiB")));
    assert_eq!(mib_bytes(table.cell(1, "used_gpu_memory").unwrap()), Err(Absent::NotSupported));
    assert_eq!(Table::parse("a, b\n1\n").unwrap_err().to_string(), "line 2: 1 cells under 2 headings");
    assert_eq!(Table::parse("").unwrap_err().to_string(), "line 1: nothing was printed");
}

/// Index, GPU instance, compute instance, multiprocessors, used and total MiB.
fn told(index: u32, gpu_instance: u32, multiprocessors: i64, used: i64, total: i64) -> ToldInstance {
    ToldInstance {
        index,
        gpu_instance,
        compute_instance: 0,
        multiprocessors: Ok(multiprocessors),
        mem_used_bytes: Ok(used << 20),
        mem_total_bytes: Ok(total << 20),
    }
}

#[test]
fn the_recorded_indented_form_reads_to_its_instances_and_processes() {
    let Some(text) = recorded("h100_mig.q.load.txt") else { return };
    let root = Outline::from_indented(&text).unwrap();
    assert_eq!(root.text_at(&["Driver Version"]), Some("590.48.01"));
    let gpus: Vec<&Outline> = root.all("GPU ").collect();
    assert_eq!(gpus.len(), 1);
    let gpu = gpus[0];
    assert_eq!(gpu.name, "GPU 00000000:00:09.0");
    assert_eq!(gpu.text_at(&["MIG Mode", "Current"]), Some("Enabled"));
    assert_eq!(gpu.text_at(&["PCI", "Bus Id"]), Some("00000000:00:09.0"));
    assert_eq!(
        instances(gpu),
        [
            told(0, 2, 60, 11_091, 40_448),
            told(1, 3, 32, 17, 20_096),
            told(2, 9, 16, 9, 9_984),
            told(3, 10, 16, 9, 9_984)
        ]
    );
    let processes: Vec<&Outline> = gpu.get("Processes").unwrap().all("Process ID").collect();
    let seen: Vec<_> =
        processes.iter().map(|p| (p.text.as_str(), mib_bytes(p.text_at(&["Used GPU Memory"]).unwrap()))).collect();
    assert_eq!(seen, [("21180", Ok(2_296 << 20)), ("21181", Ok(1_272 << 20)), ("21198", Ok(7_484 << 20))]);
    let lines = said(&text).filter(|(_, l)| !l.starts_with("=====")).count();
    assert_eq!(size(&root) - 1, lines, "every line is a thing of the tree");
}

#[test]
fn the_recorded_xml_reads_to_its_instances_and_absences() {
    let Some(text) = recorded("a100_mig.q_x.xml") else { return };
    let root = Outline::from_xml(&text).unwrap();
    let log = root.get("nvidia_smi_log").unwrap();
    assert_eq!((log.text_at(&["driver_version"]), log.text_at(&["attached_gpus"])), (Some("535.54.03"), Some("4")));
    let gpu = log.get("gpu").unwrap();
    assert_eq!(
        (gpu.text.as_str(), gpu.text_at(&["uuid"])),
        ("00000000:01:00.0", Some("GPU-513536b6-7d19-9063-b049-1e69664bb298"))
    );
    assert_eq!(instances(gpu), [3, 4, 5, 6].map(|gi| told(gi - 3, gi, 14, 12, 19_968)));
    assert_eq!(percent_ppm(gpu.text_at(&["utilization", "gpu_util"]).unwrap()), Err(Absent::NotSupported));
    assert_eq!(watts_mw(gpu.text_at(&["gpu_power_readings", "power_draw"]).unwrap()), Ok(67_030));
    assert_eq!(mib_bytes(gpu.text_at(&["fb_memory_usage", "reserved"]).unwrap()), Ok(869 << 20));
    assert_eq!(gpu.get("processes"), Some(&Outline { name: "processes".to_owned(), ..Outline::default() }));
    let begun = text.matches('<').count()
        - text.matches("</").count()
        - text.matches("<!").count()
        - text.matches("<?").count();
    assert_eq!(size(&root) - 1, begun, "every element is a thing of the tree");
}

/// Things of a tree, the root too.
fn size(outline: &Outline) -> usize {
    1 + outline.inside.iter().map(size).sum::<usize>()
}

#[test]
fn a_cut_document_is_no_document() {
    for text in ["<a><b>1</b>", "<a></b></a>", "<a", "</a>"] {
        assert!(Outline::from_xml(text).is_err(), "{text}");
    }
    assert!(Outline::from_xml(&"<a>".repeat(40)).is_err());
    let Some(text) = recorded("a100_mig.q_x.xml") else { return };
    let last = text.rfind("</nvidia_smi_log>").unwrap();
    for end in (text.find("<nvidia_smi_log>").unwrap() + 1..last).step_by(97) {
        assert!(Outline::from_xml(&text[..end]).is_err(), "{end}");
    }
}

#[test]
fn every_process_of_the_recorded_screen_is_in_the_query_of_the_same_moment() {
    for name in ["h100", "h100_mig"] {
        let (Some(screen), Some(query)) =
            (recorded(&format!("{name}.table.load.txt")), recorded(&format!("{name}.compute_apps.load.txt")))
        else {
            return;
        };
        let table = Table::parse(&query).unwrap();
        let asked: Vec<_> = (0..table.len())
            .map(|row| ["pid", "process_name", "used_gpu_memory"].map(|c| table.cell(row, c).unwrap().replace(' ', "")))
            .collect();
        // | GPU  GI  CI  PID  Type  Process name  GPU Memory |
        let processes = screen.lines().skip_while(|l| !l.contains("Processes:"));
        let shown: Vec<_> = processes
            .map(|l| l.trim_matches('|').split_ascii_whitespace().collect::<Vec<_>>())
            .filter(|w| w.len() == 7 && w[0].parse::<u32>().is_ok())
            .map(|w| [w[3], w[5], w[6]].map(str::to_owned))
            .collect();
        assert_eq!(shown, asked);
    }
}
