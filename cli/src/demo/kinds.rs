//! The kinds of jobs of this fleet, by cluster and part, and the ones the stories need.

use gpuledger_schema::state::TaskType::{Batch, Data, Debug, Eval, Finetune, Infer, Train, Unknown};

use super::catalog::{Kind, Stream};
use super::hardware::{ALPHA, BETA, KUBE, Part};
use super::load::{Load, Shape};

const VISION: usize = 0;
const NLP: usize = 1;
const SPEECH: usize = 2;
const ROBOTICS: usize = 3;
const INFRA: usize = 4;
const RESEARCH: usize = 5;
const SHARED: usize = 6;
const GUEST: usize = 7;

const TORCH: Load = Load {
    busy: 91,
    swing: 5,
    shape: Shape::Steady { every: 55, pause: 4 },
    parts: [82, 44, 51],
    memory: 88,
    cards: 0,
    host_gib: 38,
    read_mib: 420,
    heat: 100,
    command: "python",
};
/// Two of the cards it asks for do all the work.
const TWO_CARDS: Load = Load { cards: 2, ..TORCH };
const TUNE: Load = Load { busy: 86, swing: 6, parts: [74, 48, 40], memory: 71, host_gib: 22, read_mib: 90, ..TORCH };
const EVAL: Load = Load {
    busy: 80,
    swing: 10,
    shape: Shape::Bursts { block: 6, on_percent: 76 },
    parts: [66, 58, 24],
    memory: 42,
    read_mib: 40,
    ..TUNE
};
const TRY: Load = Load {
    busy: 48,
    swing: 20,
    shape: Shape::Bursts { block: 9, on_percent: 30 },
    parts: [45, 25, 12],
    memory: 24,
    host_gib: 9,
    ..EVAL
};
const SIMULATE: Load = Load {
    busy: 82,
    swing: 8,
    shape: Shape::Steady { every: 80, pause: 6 },
    parts: [70, 62, 8],
    memory: 35,
    command: "simulate",
    ..TUNE
};
const PREPARE: Load = Load {
    busy: 38,
    swing: 12,
    shape: Shape::Bursts { block: 4, on_percent: 72 },
    parts: [52, 70, 2],
    memory: 18,
    host_gib: 60,
    read_mib: 2_400,
    command: "dali-prep",
    ..TUNE
};
const ODD: Load = Load {
    busy: 66,
    swing: 18,
    shape: Shape::Bursts { block: 25, on_percent: 62 },
    parts: [60, 40, 15],
    memory: 50,
    ..TUNE
};
const SERVE: Load = Load {
    busy: 62,
    swing: 7,
    shape: Shape::Daily,
    parts: [58, 72, 30],
    memory: 91,
    cards: 0,
    host_gib: 20,
    read_mib: 2,
    heat: 100,
    command: "vllm",
};
/// A service that hardly anybody calls.
const QUIET: Load = Load { busy: 5, swing: 1, memory: 55, ..SERVE };

const ALPHA_KINDS: &[Kind] = &[
    Kind::new(Train, &["pretrain-llm", "pretrain-moe"], &[NLP, RESEARCH], TORCH).gpus(&[8]).runs(700, 3_000, 2),
    Kind { nodes: 2, ..Kind::new(Train, &["pretrain-wide"], &[NLP], TORCH).gpus(&[8]).runs(400, 1_300, 1) },
    Kind::new(Train, &["train-detector", "train-depth"], &[VISION, RESEARCH], TORCH)
        .gpus(&[2, 4, 4])
        .runs(150, 1_000, 9),
    Kind::new(Train, &["train-asr"], &[SPEECH], TORCH).gpus(&[4]).runs(150, 900, 5),
    Kind::new(Train, &["train-rl-gait"], &[ROBOTICS], TWO_CARDS).gpus(&[8]).runs(240, 900, 3).asks(4, 180),
    Kind::new(Finetune, &["sft-chat", "lora-router"], &[NLP, SHARED], TUNE).gpus(&[1, 2, 4]).runs(120, 900, 24),
    Kind::new(Finetune, &["finetune-ocr"], &[VISION], TUNE).gpus(&[1, 2]).runs(90, 600, 12),
    Kind::new(Eval, &["eval-mmlu", "bench-kernels"], &[NLP, RESEARCH, INFRA], EVAL)
        .runs(30, 150, 8)
        .asks(4, 60)
        .array(8, 20, 0),
    Kind::new(Debug, &["interactive", "bash"], &[VISION, NLP, ROBOTICS, RESEARCH], TRY)
        .to("interactive", "debug")
        .runs(60, 720, 22)
        .asks(1, 200),
    Kind::new(Unknown, &["run.sh", "test", "job_final"], &[ROBOTICS, RESEARCH, SHARED], ODD)
        .gpus(&[1, 1, 2])
        .runs(60, 900, 14)
        .asks(6, 120),
    Kind::new(Unknown, &["thesis"], &[GUEST], ODD).runs(120, 600, 3),
];

const BETA_KINDS: &[Kind] = &[
    Kind::new(Batch, &["simulate-arm", "dock-screen", "render-set"], &[ROBOTICS, RESEARCH, INFRA], SIMULATE)
        .to("general", "batch")
        .gpus(&[1, 2, 4])
        .runs(80, 700, 18),
    Kind::new(Batch, &["sweep-sim"], &[ROBOTICS], SIMULATE).to("general", "batch").runs(60, 240, 5).array(6, 16, 25),
    Kind::new(Train, &["train-tts"], &[SPEECH], TORCH).to("general", "normal").gpus(&[4, 8]).runs(240, 1_300, 2),
    Kind::new(Train, &["train-segmenter"], &[VISION], TORCH).to("general", "normal").gpus(&[4]).runs(240, 1_300, 2),
    Kind::new(Finetune, &["lora-voice", "finetune-tracker"], &[SPEECH, SHARED], TUNE)
        .to("general", "normal")
        .gpus(&[1, 2])
        .runs(90, 720, 18),
    Kind::new(Data, &["tokenize-corpus", "prep-video", "prep-lidar"], &[NLP, VISION, ROBOTICS], PREPARE)
        .to("general", "normal")
        .gpus(&[1, 2])
        .runs(60, 420, 24)
        .asks(4, 400),
    Kind::new(Infer, &["embed-archive", "serve-preview"], &[INFRA, NLP], SERVE)
        .to("general", "normal")
        .runs(400, 2_600, 4)
        .asks(3, 120),
    Kind::new(Eval, &["eval-wer"], &[SPEECH], EVAL)
        .to("general", "normal")
        .runs(25, 110, 7)
        .asks(5, 60)
        .array(6, 12, 0),
    Kind::new(Debug, &["bash"], &[SPEECH, INFRA, SHARED], TRY)
        .to("interactive", "debug")
        .runs(60, 600, 14)
        .asks(1, 120),
    Kind::new(Unknown, &["a.out", "wrap"], &[RESEARCH, GUEST], ODD)
        .to("general", "normal")
        .runs(60, 720, 9)
        .asks(6, 120),
];

const MIG_KINDS: &[Kind] = &[
    Kind::new(Debug, &["notebook", "bash"], &[RESEARCH, VISION, INFRA], TRY)
        .to("interactive", "debug")
        .runs(60, 480, 10)
        .asks(1, 24),
    Kind::new(Eval, &["eval-smoke"], &[INFRA], EVAL).to("mig", "normal").runs(20, 120, 8).asks(2, 24),
    Kind::new(Unknown, &["course"], &[GUEST], ODD).to("mig", "normal").runs(60, 240, 3).asks(2, 24),
];

const POD_KINDS: &[Kind] = &[
    Kind::new(Debug, &["notebook"], &[RESEARCH, ROBOTICS, VISION], TRY)
        .to("", "Notebook")
        .runs(120, 900, 6)
        .asks(0, 32),
    Kind::new(Batch, &["nightly-embed", "caption-images"], &[NLP, VISION], SIMULATE)
        .to("", "Job")
        .runs(60, 420, 7)
        .asks(2, 48),
    Kind::new(Data, &["prepare-features"], &[SPEECH, RESEARCH], PREPARE).to("", "Job").runs(30, 180, 6).asks(2, 64),
];

const REPLICA_KINDS: &[Kind] = &[Kind::new(Debug, &["notebook"], &[RESEARCH, ROBOTICS, INFRA], TRY)
    .to("", "Notebook")
    .runs(180, 1_400, 1)
    .asks(0, 16)];

/// Every stream of work.
pub(super) static STREAMS: [Stream; 6] = [
    Stream { cluster: ALPHA, part: Part::Whole, percent: 72, kinds: ALPHA_KINDS },
    Stream { cluster: BETA, part: Part::Whole, percent: 74, kinds: BETA_KINDS },
    Stream { cluster: BETA, part: Part::Small, percent: 85, kinds: MIG_KINDS },
    Stream { cluster: BETA, part: Part::Large, percent: 55, kinds: MIG_KINDS },
    Stream { cluster: KUBE, part: Part::Whole, percent: 20, kinds: POD_KINDS },
    Stream { cluster: KUBE, part: Part::Replica, percent: 40, kinds: REPLICA_KINDS },
];

/// A large model in training.
pub(super) static PRETRAIN: Kind = Kind::new(Train, &["pretrain-llm"], &[NLP], TORCH).gpus(&[8]).asks(1, 120);
/// A session that works for two hours and is then forgotten.
pub(super) static FORGOTTEN: Kind =
    Kind::new(Debug, &["interactive"], &[ROBOTICS], Load { shape: Shape::First { minutes: 120 }, ..TRY })
        .to("interactive", "debug")
        .gpus(&[2])
        .asks(1, 400);
/// A service on Slurm that hardly anybody calls.
pub(super) static LEGACY: Kind =
    Kind::new(Infer, &["serve-asr-legacy"], &[SPEECH], QUIET).to("general", "normal").gpus(&[2]);
/// A job that asks for every card of a node and uses two.
pub(super) static GREEDY: Kind = Kind::new(Train, &["train-tracker"], &[VISION], TWO_CARDS).gpus(&[8]).asks(4, 220);
/// A replica of a busy service.
pub(super) static CHAT: Kind = Kind::new(Infer, &["chat-api"], &[NLP], SERVE).to("", "Deployment").asks(0, 64);
/// A replica of a service that is scaled up in office hours.
pub(super) static STREAMING: Kind =
    Kind::new(Infer, &["asr-stream"], &[SPEECH], SERVE).to("", "Deployment").asks(0, 48);
/// A service that holds a card and hardly uses it.
pub(super) static OCR: Kind = Kind::new(Infer, &["ocr-api"], &[VISION], QUIET).to("", "Deployment").asks(0, 48);
/// A small service on a quarter of a card.
pub(super) static SEARCH: Kind = Kind::new(Infer, &["search-embed"], &[INFRA], Load { busy: 22, memory: 60, ..SERVE })
    .to("", "Deployment")
    .asks(0, 16);

/// Cards that are held and never touched: a reservation for later.
pub(super) static UNTOUCHED: Kind =
    Kind::new(Train, &["train-reserved"], &[VISION], Load { shape: Shape::Never, ..TORCH })
        .to("general", "normal")
        .gpus(&[2]);
/// A run whose work is done and whose process stays.
pub(super) static LINGERING: Kind =
    Kind::new(Finetune, &["finetune-router"], &[NLP], Load { shape: Shape::First { minutes: 300 }, ..TUNE }).gpus(&[1]);
/// A collective that waits for a rank that is gone: the SMs spin, nothing moves, the card stays cool.
pub(super) static HUNG: Kind = Kind::new(
    Train,
    &["train-allreduce"],
    &[RESEARCH],
    Load {
        busy: 99,
        swing: 0,
        shape: Shape::Steady { every: 100_000, pause: 0 },
        parts: [100, 0, 0],
        heat: 6,
        ..TORCH
    },
)
.to("general", "normal")
.gpus(&[2]);
/// A long training on graphs that keeps few SMs busy.
pub(super) static SPARSE: Kind =
    Kind::new(Train, &["train-gnn"], &[RESEARCH], Load { busy: 42, parts: [46, 34, 6], memory: 64, ..TORCH })
        .to("general", "normal");
/// A solver that is bound by the card's memory.
pub(super) static STENCIL: Kind = Kind::new(
    Batch,
    &["simulate-cfd"],
    &[ROBOTICS],
    Load { busy: 97, swing: 2, shape: Shape::Steady { every: 100_000, pause: 0 }, parts: [92, 94, 0], ..SIMULATE },
)
.to("general", "batch");
/// A training that waits for its videos.
pub(super) static STARVED: Kind = Kind::new(
    Train,
    &["train-video"],
    &[VISION],
    Load { busy: 17, swing: 3, parts: [70, 40, 30], read_mib: 60_000, heat: 55, ..TORCH },
)
.to("general", "normal")
.gpus(&[2]);
/// A session that runs a small kernel now and then so as not to look idle.
pub(super) static KEEPALIVE: Kind = Kind::new(
    Debug,
    &["interactive"],
    &[RESEARCH],
    Load { busy: 4, swing: 0, shape: Shape::Bursts { block: 1, on_percent: 12 }, parts: [30, 2, 0], memory: 30, ..TRY },
)
.to("interactive", "debug");
/// A service of three replicas of which one is enough.
pub(super) static TRIPLE: Kind = Kind::new(
    Infer,
    &["rerank-api"],
    &[NLP],
    Load { busy: 14, swing: 2, shape: Shape::Bursts { block: 240, on_percent: 20 }, memory: 93, ..SERVE },
)
.to("", "Deployment")
.asks(0, 48);
/// Replicas that want more of a shared card than their part.
pub(super) static PUSHY: Kind =
    Kind::new(Batch, &["rank-offline"], &[NLP], Load { busy: 64, memory: 40, ..SIMULATE }).to("", "Job").asks(0, 24);
/// A replica with a grant of memory that it does not keep to.
pub(super) static OVERFULL: Kind = Kind {
    grant_mib: 6_144,
    ..Kind::new(Infer, &["embed-live"], &[INFRA], Load { busy: 12, memory: 72, ..SERVE })
        .to("", "Deployment")
        .asks(0, 16)
};
/// A course's notebook on a sixteenth of a card.
pub(super) static COURSE: Kind =
    Kind::new(Debug, &["course-nb"], &[INFRA], Load { memory: 70, ..TRY }).to("", "Notebook").asks(0, 8);
/// A batch job whose image is large and whose registry is far away.
pub(super) static FAR: Kind =
    Kind { pull_minutes: 17, ..Kind::new(Batch, &["caption-video"], &[VISION], SIMULATE).to("", "Job").asks(2, 48) };
/// Work at low priority that gives way.
pub(super) static SCAVENGER: Kind = Kind {
    preemptible: true,
    ..Kind::new(Batch, &["sweep-lowprio"], &[RESEARCH], SIMULATE).to("general", "scavenger").gpus(&[4]).asks(2, 60)
};
/// A replica that was granted far more memory than it ever uses.
pub(super) static GENEROUS: Kind = Kind {
    grant_mib: 10_240,
    ..Kind::new(Infer, &["tag-api"], &[VISION], Load { busy: 10, memory: 24, ..SERVE }).to("", "Deployment").asks(0, 16)
};
/// A debug session whose owner went home.
pub(super) static EVENING: Kind =
    Kind::new(Debug, &["bash"], &[SPEECH], Load { shape: Shape::First { minutes: 100 }, ..TUNE })
        .to("interactive", "debug")
        .asks(1, 120);
/// A pod for a model that its cluster has not.
pub(super) static WRONG_TIER: Kind =
    Kind { model: Some("H100"), ..Kind::new(Train, &["train-summarizer"], &[NLP], TUNE).to("", "Job").asks(0, 48) };
/// A pod for more memory than a card of its cluster has.
pub(super) static WRONG_MEMORY: Kind = Kind {
    grant_mib: 73_728,
    ..Kind::new(Infer, &["serve-large"], &[RESEARCH], SERVE).to("", "Deployment").asks(0, 48)
};
