//! `report samples`: means and peaks over the samples of each job, as ceilings.

use chrono_tz::Tz;
use gpuledger_schema::window::show_ms;

use super::grouped::{texts, whole};
use super::{Column, Kind, Reader, Report, ReportError, Value};
use crate::engine::Params;

/// Means and peaks of every job seen in samples.
pub async fn samples(reader: &Reader, zone: Tz) -> Result<Report, ReportError> {
    reader.whole("samples")?;
    let none = Params::new();
    for step in ["ledger/08_stamp_group", "read/50_sample_stamp"] {
        reader.engine().step(step, &none).await?;
    }
    let (_, batches) = reader.engine().run("read/51_sample_job", &none).await?;
    let figures = ["cpu_avg", "cpu_peak", "mem_avg", "mem_peak", "gpu_avg", "gpu_peak", "gpumem_avg", "gpumem_peak"];
    let mut rows = Vec::new();
    for b in &batches {
        let text = |n| texts(b, n);
        let (job, user, node, command) = (text("job")?, text("user")?, text("node")?, text("command")?);
        let (first, last) = (text("at_first")?, text("at_last")?);
        let (from, to, n) = (whole(b, "from_ms")?, whole(b, "to_ms")?, whole(b, "samples")?);
        let numbers = figures.iter().map(|f| whole(b, f)).collect::<Result<Vec<_>, _>>()?;
        for i in 0..b.num_rows() {
            let mark = match (first[i] == "true", last[i] == "true") {
                (true, true) => "!",
                (true, false) => "<",
                (false, true) => ">",
                (false, false) => "",
            };
            let (from, to) = (from[i].unwrap_or(0), to[i].unwrap_or(0));
            let minutes = (to / 60_000) - (from / 60_000);
            let duration = format!("{}d{:2}h{:2}m", minutes / 1440, minutes / 60 % 24, minutes % 60);
            let mut row = vec![
                Value::Text(job[i].clone()),
                Value::Text(mark.to_owned()),
                Value::Text(user[i].clone()),
                Value::Text(node[i].clone()),
                Value::Text(duration),
                Value::Text(show_ms(from as i64, zone)),
                Value::Text(show_ms(to as i64, zone)),
                n[i].map_or(Value::Unknown, Value::Count),
            ];
            row.extend(numbers.iter().map(|f| f[i].map_or(Value::Unknown, Value::Count)));
            row.push(Value::Text(command[i].clone()));
            rows.push(row);
        }
    }
    Ok(Report {
        notes: vec!["figures are ceilings: CPU and GPU in percent (100 = one core or GPU), memory in GiB".to_owned()],
        ..Report::table(
            format!("{} jobs in samples; `<` seen in the first sample, `>` in the last, `!` in both", rows.len()),
            columns(),
            rows,
        )
    })
}

fn columns() -> Vec<Column> {
    let text = |n, h| Column::new(n, h, Kind::Text);
    let count = |n, h| Column::new(n, h, Kind::Count);
    vec![
        text("job", "job"),
        text("mark", "seen"),
        text("user", "user"),
        text("node", ""),
        text("duration", "duration"),
        text("from", ""),
        text("to", ""),
        count("samples", "n"),
        count("cpu_avg", "cpu"),
        count("cpu_peak", "peak"),
        count("mem_avg", "mem"),
        count("mem_peak", "peak"),
        count("gpu_avg", "gpu"),
        count("gpu_peak", "peak"),
        count("gpumem_avg", "gpumem"),
        count("gpumem_peak", "peak"),
        text("command", "command"),
    ]
}
