//! TRES strings: `billing=12,cpu=12,gres/gpu=2,gres/gpu:a100=2,mem=31000M,node=1`.

use super::gpu::{GpuError, GpuType, Gpus};
use super::memory::memory;
use super::{is_blank, number};

/// What a TRES string says of the resources that are metered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tres {
    /// GPUs; none if the string lists none.
    pub gpus: Gpus,
    /// CPUs.
    pub cpus: Option<i64>,
    /// Nodes.
    pub nodes: Option<i64>,
    /// Host memory.
    pub mem_bytes: Option<i64>,
    /// GPU memory.
    pub gpu_mem_bytes: Option<i64>,
    /// Shards: parts of GPUs whose size the string does not say.
    pub shards: Option<i64>,
}

/// Why a TRES string could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TresError {
    /// A part without name or value: the column was cut.
    #[error("TRES part `{0}` is cut off or not of the form name=value")]
    Malformed(String),
    /// Sorted by name and ended before `gres` and `node`, which Slurm always writes.
    #[error("`{0}` ends before its node part: the column was cut")]
    Cut(String),
    /// A value that is no number.
    #[error("TRES part `{0}` has no number")]
    Value(String),
    /// The same part twice.
    #[error("TRES part `{0}` stands twice")]
    Twice(String),
    /// A number of GPUs that cannot be.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// Reads a TRES string; an empty one lists nothing.
pub fn tres(text: &str) -> Result<Tres, TresError> {
    let text = text.trim();
    let mut out = Tres::default();
    if is_blank(text) {
        return Ok(out);
    }
    let (mut untyped, mut types) = (None, Vec::<GpuType>::new());
    let (mut names, mut has_gres) = (Vec::<&str>::new(), false);
    for part in text.split(',') {
        let (name, value) = part
            .split_once('=')
            .filter(|(n, v)| !n.is_empty() && !v.is_empty())
            .ok_or_else(|| TresError::Malformed(part.to_owned()))?;
        if names.contains(&name) {
            return Err(TresError::Twice(part.to_owned()));
        }
        names.push(name);
        has_gres |= name.starts_with("gres/");
        let count = || number::count(value).ok_or_else(|| TresError::Value(part.to_owned()));
        match name {
            "cpu" => out.cpus = Some(count()?),
            "node" => out.nodes = Some(count()?),
            "mem" => out.mem_bytes = Some(bytes(value, part)?),
            "gres/gpumem" => out.gpu_mem_bytes = Some(bytes(value, part)?),
            "gres/shard" => out.shards = Some(count()?),
            "gres/gpu" => untyped = Some(gpu_count(value, part)?),
            _ => match name.strip_prefix("gres/gpu:") {
                Some("") => return Err(TresError::Malformed(part.to_owned())),
                Some(kind) => types.push(GpuType { name: kind.to_owned(), count: gpu_count(value, part)? }),
                None => {}
            },
        }
    }
    if names.first() == Some(&"billing") && out.nodes.is_none() && !has_gres {
        return Err(TresError::Cut(text.to_owned()));
    }
    out.gpus = Gpus::of(untyped, types)?;
    Ok(out)
}

fn gpu_count(value: &str, part: &str) -> Result<i64, GpuError> {
    number::count(value).ok_or_else(|| GpuError::NotANumber { part: part.to_owned(), count: value.to_owned() })
}

fn bytes(value: &str, part: &str) -> Result<i64, TresError> {
    memory(value).ok().flatten().map(|m| m.bytes).ok_or_else(|| TresError::Value(part.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_counted_once_in_every_form() {
        for (text, gpus, model) in [
            ("gres/gpu=4,gres/gpu:a100=4", 4, Some("a100")),
            ("gres/gpu:a100=4", 4, Some("a100")),
            ("billing=12,cpu=12,gres/gpu=2,mem=31000M,node=1", 2, None),
            ("cpu=8,gres/gpu:a100=1,gres/gpu:h100=3,node=1", 4, None),
            ("gres/gpu:nvidia_h200_nvl_4g.71gb=4", 4, Some("nvidia_h200_nvl_4g.71gb")),
            ("cpu=1,gres/gpu:1g.10gb=1,mem=4G,node=1", 1, Some("1g.10gb")),
            ("cpu=1,gres/gpu=0,node=1", 0, None),
            ("cpu=1,mem=7G,node=1,billing=1", 0, None),
            ("cpu=1,energy=18446744073709551614,gres/gpumem=10G,gres/gpuutil=5,license/x=1,node=1", 0, None),
            ("", 0, None),
            ("(null)", 0, None),
        ] {
            let read = tres(text).unwrap();
            assert_eq!((read.gpus.count, read.gpus.model()), (gpus, model), "{text}");
        }
    }

    #[test]
    fn the_rest_is_read_too() {
        let read =
            tres("cpu=320,mem=1280.50G,node=20,billing=3040,gres/gpu=160,gres/shard=8,gres/gpumem=33024M").unwrap();
        assert_eq!((read.cpus, read.nodes, read.shards), (Some(320), Some(20), Some(8)));
        assert_eq!(read.mem_bytes, Some(1_374_926_405_632));
        assert_eq!(read.gpu_mem_bytes, Some(33_024 << 20));
    }

    #[test]
    fn a_column_that_was_cut_is_an_error_that_names_the_part() {
        for (text, names) in [
            ("billing=12,cpu=12,gres/gp", "`gres/gp` is cut off"),
            ("billing=12,cpu=12,gres/gpu=", "`gres/gpu=` is cut off"),
            ("billing=12,cpu=12,gres/gpu", "`gres/gpu` is cut off"),
            ("billing=12,cpu=12,gres/gpu:=2", "is cut off"),
            ("billing=12,cpu=12,", "`` is cut off"),
            ("billing=12,cpu=12", "ends before its node part"),
            ("cpu=12,gres/gpu=1+", "GPU count `1+` in `gres/gpu=1+` is no number"),
            ("cpu=12,gres/gpu=two,node=1", "GPU count `two`"),
            ("cpu=12,gres/gpu=-2,node=1", "GPU count `-2`"),
            ("cpu=12,gres/gpu:a100=x,node=1", "GPU count `x`"),
            ("cpu=x,node=1", "`cpu=x` has no number"),
            ("mem=12Q,node=1", "`mem=12Q` has no number"),
            ("gres/gpu=2,gres/gpu=2", "stands twice"),
            ("gres/gpu=2,gres/gpu:a100=4", "4 GPUs by type are more than the 2"),
        ] {
            let error = tres(text).unwrap_err().to_string();
            assert!(error.contains(names), "{text}: {error}");
        }
    }
}
