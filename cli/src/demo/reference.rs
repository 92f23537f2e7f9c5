//! The dated reference rows of the demo, as the CSV files that a platform team would keep: who, what, at which price.

use super::clock::Clock;
use super::hardware::Hardware;

/// Day of the month on which H100 hours become dearer.
const PRICE_CHANGE_DAY: u32 = 15;

/// A reference file: the command that imports it, its name and its text.
pub(crate) type Reference = (&'static str, String, String);

/// Every reference file, in the order in which to import them.
pub(super) fn files(hardware: &Hardware, clock: &Clock) -> Vec<Reference> {
    [
        ("inventory", inventory(hardware, clock)),
        ("pools", POOLS.to_owned()),
        ("tiers", TIERS.to_owned()),
        ("rules", RULES.to_owned()),
        ("rates", rates(clock)),
        ("owners", OWNERS.to_owned()),
        ("quotas", QUOTAS.to_owned()),
        ("specs", SPECS.to_owned()),
    ]
    .map(|(command, text)| (command, format!("{command}.csv"), text))
    .into()
}

fn inventory(hardware: &Hardware, clock: &Clock) -> String {
    let mut out = "cluster,node,model,gpus,memory_gib,queue,interconnect,declared_up,from,to\n".to_owned();
    for node in &hardware.nodes {
        let cluster = &hardware.clusters[node.cluster];
        let (queue, model) = (node.queue.unwrap_or_default(), cluster.model);
        let domain = node.queue.map(|_| format!("nvlink:{}", node.name)).unwrap_or_default();
        out.push_str(&format!(
            "{},{},{},{},{},{queue},{domain},false,{},\n",
            cluster.name,
            node.name,
            model.name,
            node.cards.len(),
            model.sold_gib,
            clock.date(1)
        ));
    }
    out
}

fn rates(clock: &Clock) -> String {
    let (first, change) = (clock.date(1), clock.date(PRICE_CHANGE_DAY));
    format!(
        "\
team,task_type,pool,model,tier,price,currency,from,to
,,,NVIDIA H100 80GB HBM3,,2.90,EUR,,{change}
,,,NVIDIA H100 80GB HBM3,,3.15,EUR,{change},
,,,NVIDIA A100-SXM4-80GB,,1.60,EUR,,
,,,NVIDIA L40S,,0.95,EUR,,
,,beta-mig,,,1.35,EUR,,
,infer,serving,,,0.80,EUR,,
research,,,NVIDIA H100 80GB HBM3,,2.45,EUR,{first},
"
    )
}

const POOLS: &str = "\
pool,cluster,node_pattern,queue,model,from,to
alpha,alpha,alpha-gpu*,,,,
beta,beta,beta-gpu*,,,,
beta-mig,beta,beta-mig*,,,,
serving,k8s,k8s-gpu*,,,,
";

const TIERS: &str = "\
tier,model_pattern,memory_min_gib,memory_max_gib,interconnect,from,to
large,*H100*,,,,,
standard,*A100*,,,,,
serving,*L40S*,,,,,
";

const RULES: &str = "\
position,cluster,queue,qos,account,label,workload_kind,name_pattern,task_type,from,to
10,,interactive,,,,,,debug,,
20,,,,,,Notebook,,debug,,
30,,,,,,Deployment,,infer,,
40,,,,,stage=prepare,,,data,,
50,,,,,,,sft-*,finetune,,
51,,,,,,,lora-*,finetune,,
52,,,,,,,finetune-*,finetune,,
60,,,,,,,pretrain-*,train,,
61,,,,,,,train-*,train,,
70,,,,,,,eval-*,eval,,
71,,,,,,,bench-*,eval,,
80,,,,,,,serve-*,infer,,
81,,,,,,,embed-*,infer,,
90,,,,,,,tokenize-*,data,,
91,,,,,,,prep-*,data,,
100,,,batch,,,,,batch,,
101,,,scavenger,,,,,batch,,
110,,,,,,Job,,batch,,
";

const OWNERS: &str = "\
kind,cluster,value,team,cost_center,share_percent,from,to
label,k8s,team=vision,vision,CC-4100,100,,
label,k8s,team=nlp,nlp,CC-4200,100,,
label,k8s,team=speech,speech,CC-4300,100,,
label,k8s,team=robotics,robotics,CC-4400,100,,
label,k8s,team=infra,infra,CC-4500,100,,
label,k8s,team=research,research,CC-4600,100,,
account,,vision,vision,CC-4100,100,,
account,,nlp,nlp,CC-4200,100,,
account,,speech,speech,CC-4300,100,,
account,,robotics,robotics,CC-4400,100,,
account,,infra,infra,CC-4500,100,,
account,,research,research,CC-4600,100,,
account,,shared-ml,research,CC-4600,70,,
account,,shared-ml,nlp,CC-4200,30,,
";

const QUOTAS: &str = "\
team,pool,gpus,share_percent,from,to
nlp,alpha,12,,,
vision,alpha,8,,,
research,alpha,8,,,
robotics,alpha,4,,,
robotics,beta,,30,,
speech,beta,,40,,
vision,beta,,30,,
";

const SPECS: &str = "\
task_type,team,tier,gpu_memory_gib,share_percent,gpus,max_hours,from,to
train,,,,,,72,,
batch,,,,,,4,,
eval,,standard,,,,,,
";
