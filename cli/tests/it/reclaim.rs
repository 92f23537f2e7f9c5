//! Idleness and reclaiming as typed: verdicts and why there is none, policies, switches, plans of the past, and a backtest on
//! published samples with its published idle holder.

use serde_json::Value;

use crate::site::{Site, example, shared};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The samples of the node with four GPUs.
fn sampled(test: &str) -> Option<Site> {
    let folder = shared(test, "data/uio-ml8-gpu")?;
    let site = Site::new();
    let files = [format!("{folder}/samples1.csv"), format!("{folder}/samples2.csv")];
    site.ok(&["import", "sonar", "--cluster", "uio", &files[0], &files[1]]);
    Some(site)
}

#[test]
fn reclaim_of_samples_nobody_can_say_and_why() {
    let Some(site) = sampled("reclaim_of_samples_nobody_can_say_and_why") else { return };
    let told = site.ok(&["idle", "--at", "2023-06-24T06:00:00Z"]);
    assert!(told.contains("0 busy, 0 idle"), "{told}");
    for word in ["one_witness", "only one of the two witnesses spoke", "looks up to 5.0 min apart; a hole over 2.0 min"]
    {
        assert!(told.contains(word), "`{word}` is not in {told}");
    }
    let table = site.table(&["idle", "--at", "2023-06-24T06:00:00Z"]);
    let of = [("subject", "session 2447150 on gpunode1.example")];
    assert_eq!(table.get(&of, "verdict"), "unknown");
    assert_eq!(table.get(&of, "why"), "one_witness, clock_restarted");
    assert_eq!(table.get(&of, "user"), "user2");
    // a plan of that moment does nothing, and says why
    let plan = site.ok(&["reclaim", "plan", "--at", "2023-06-24T06:00:00Z"]);
    assert!(plan.contains("0 steps") && plan.contains("session 2447150 on gpunode1.example: unknown"), "{plan}");
}

#[test]
fn reclaim_backtest_of_samples_finds_the_one_idle_holder() {
    let Some(site) = sampled("reclaim_backtest_of_samples_finds_the_one_idle_holder") else { return };
    let policy = site.file("policy.toml", "# the built-in policy\n");
    let window = ["--from", "2023-06-23T05:30:00Z", "--to", "2023-06-24T22:05:00Z", "--every", "30"];
    let advice = ["--witnesses", "1", "--hole-minutes", "10", "--format", "json"];
    let found = json(&site.ok(&[&["reclaim", "backtest", &policy][..], &window, &advice].concat()));
    let cases = found["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 1, "{found:#}");
    let (case, facts) = (&cases[0]["case"], &cases[0]["facts"]);
    assert_eq!((case["class"].as_str(), facts["owner"]["user"].as_str()), (Some("never_touched"), Some("user2")));
    assert_eq!(facts["identity"]["leader"], 2_447_150);
    assert!(found["note"].as_str().unwrap().starts_with("advice only"), "{found:#}");
    // the policy as it would be acted upon makes none of it
    let none =
        json(&site.ok(
            &[&["reclaim", "backtest", &policy, "--format", "json"][..], &window[..4], &["--every", "120"]].concat(),
        ));
    assert_eq!(none["cases"].as_array().unwrap().len(), 0, "{none:#}");
    assert!(none["unknown_verdicts"].as_i64().unwrap() > 40, "{none:#}");
    // nothing of a backtest reaches the store
    assert_eq!(site.ok(&["reclaim", "cases"]), "no case is open\n");
}

#[test]
fn reclaim_policies_are_read_whole_said_in_words_and_kept() {
    let site = Site::billed("UTC", "EUR");
    site.sacct("UTC", "JobID|User|Account|State|Submit|Start|End|AllocTRES|NodeList\n1|ada|nlp|RUNNING|2026-10-05T10:00:00|2026-10-05T10:00:00|Unknown|gres/gpu=1|gpu1\n");
    assert_eq!(site.ok(&["reclaim", "policy", "list"]), "no policy was imported: the built-in one is in force\n");
    let words = site.ok(&["reclaim", "policy", "check", &example("reclaim/policy.toml")]);
    for word in ["Policy debug, for task type debug:", "warned after 30 minutes", "Protected for good: QoS critical"] {
        assert!(words.contains(word), "`{word}` is not in {words}");
    }
    let zh = site.ok(&["reclaim", "policy", "check", "--lang", "zh", &example("reclaim/policy.toml")]);
    assert_ne!(words, zh);
    site.ok(&["reclaim", "policy", "import", &example("reclaim/policy.toml")]);
    let hasty = "[[policy]]\nname = \"t\"\nscope = { task_type = \"train\" }\n\
                 set = { idle = { warned_minutes = 60, final_minutes = 90, due_minutes = 120 } }\n";
    let file = site.file("hasty.toml", hasty);
    let refused = site.run(&["reclaim", "policy", "import", &file]);
    refused.fails(1, &["is refused", "training counts as idle after 120 minutes, under 24 hours"]);
    assert_eq!(site.run(&["reclaim", "policy", "check", &file]).code, 1);
    let said = site.file("said.toml", hasty.replace("name = \"t\"", "name = \"t\"\nforce = \"a test cluster\""));
    site.ok(&["reclaim", "policy", "import", &said]);
    let list = json(&site.ok(&["reclaim", "policy", "list", "--format", "json"]));
    let states: Vec<&str> = list.as_array().unwrap().iter().map(|p| p["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["before", "in force"]);
    assert!(site.ok(&["reclaim", "policy", "show"]).contains("a test cluster"));
    // what is unknown stops it with its place
    let file = site.file("wrong.toml", "[defaults]\nidle_minutes = 3\n");
    site.run(&["reclaim", "policy", "import", &file]).fails(2, &["wrong.toml", "unknown field `idle_minutes`"]);
}

#[test]
fn reclaim_stops_by_one_command_and_by_one_file() {
    let site = Site::billed("UTC", "EUR");
    site.sacct("UTC", "JobID|User|Account|State|Submit|Start|End|AllocTRES|NodeList\n1|ada|nlp|RUNNING|2026-10-05T10:00:00|2026-10-05T10:00:00|Unknown|gres/gpu=1|gpu1\n");
    site.ok(&["reclaim", "stop", "--reason", "maintenance"]);
    assert!(site.ok(&["reclaim", "plan"]).contains("stopped: killed: maintenance by "));
    site.ok(&["reclaim", "resume", "--reason", "done"]);
    assert!(!site.ok(&["reclaim", "plan"]).contains("stopped: killed"));
    std::fs::write(site.data().join("reclaim.stop"), "").unwrap();
    assert!(site.ok(&["reclaim", "plan"]).contains("stopped: killed: the kill file is there"));
    let still = site.run(&["reclaim", "resume", "--reason", "done"]);
    assert!(still.code == 1 && still.out.contains("reclaim.stop"), "{still:#?}");
    site.run(&["reclaim", "stop", "--reason", " "]).fails(2, &["needs a reason"]);
    // a round, and a plan on its way: made, checked, changed, refused
    let text = site.ok(&["reclaim", "plan", "--format", "json"]);
    let plan = site.file("plan.json", &text);
    assert!(site.ok(&["reclaim", "check", &plan]).contains("nothing is refused"));
    let changed = site.file("changed.json", text.replacen("\"made_ms\": ", "\"made_ms\": 1", 1));
    let refused = site.run(&["reclaim", "check", &changed]);
    assert!(refused.code == 1 && refused.out.contains("it does not say what it said when it was made"), "{refused:#?}");
    site.run(&["reclaim", "apply", &changed]).fails(1, &["cannot be applied"]);
    assert!(site.ok(&["reclaim", "apply"]).contains("left alone"));
}

#[test]
fn reclaim_answers_need_a_case_and_their_words() {
    let site = Site::billed("UTC", "EUR");
    site.sacct("UTC", "JobID|User|Account|State|Submit|Start|End|AllocTRES|NodeList\n1|ada|nlp|RUNNING|2026-10-05T10:00:00|2026-10-05T10:00:00|Unknown|gres/gpu=1|gpu1\n");
    site.run(&["reclaim", "answer", "4711", "keep", "--reason", "x"]).fails(2, &["--for 12h"]);
    site.run(&["reclaim", "answer", "4711", "sleep"]).fails(2, &["`sleep` is no answer: keep, normal or release"]);
    site.run(&["reclaim", "answer", "4711", "release"]).fails(2, &["there is no case 4711"]);
    site.run(&["reclaim", "approve", "x"]).fails(2, &["`x` is no number of a case"]);
    site.run(&["reclaim", "switch", "light", "on", "--reason", "x"]).fails(2, &["`light` is no switch"]);
    site.run(&["reclaim", "free", "--gpus", "0"]).fails(2, &["--gpus is 1 or more"]);
    site.run(&["idle", "--witnesses", "3"]).fails(2, &["--witnesses is 1 or 2"]);
    // one GPU is wanted, and nobody's run can be asked: the cluster's one run is all there is
    let free = site.run(&["reclaim", "free", "--gpus", "2", "--format", "json"]);
    assert_eq!((free.code, json(&free.out)["is_enough"].as_bool()), (1, Some(false)), "{free:#?}");
    assert_eq!(json(&free.out)["take"].as_array().unwrap().len(), 1);
    let value = site.ok(&["reclaim", "value", "--month", "2026-10"]);
    assert!(value.contains("2026-10: won back 0.0 GPU-hours"), "{value}");
}

#[test]
fn reclaim_sweep_is_dated_and_says_what_is_not_used() {
    let Some(site) = sampled("reclaim_sweep_is_dated_and_says_what_is_not_used") else { return };
    let told = site.ok(&["reclaim", "sweep", "--zone", "UTC"]);
    assert!(told.starts_with("sweep of 2"), "{told}");
    // 4 GPUs held for 105 hours, job 2447150 alone did nothing for 20.67 of them
    assert!(told.contains("unknown in the last seven days") && told.contains("target 3 %"), "{told}");
    let of = json(&site.ok(&["reclaim", "sweep", "--zone", "UTC", "--format", "json"]));
    assert!(of["ineffective_ppm"].as_i64().unwrap() > 200_000, "{of:#}");
    // nobody can be told: there is no mail server and no contact
    site.run(&["reclaim", "sweep", "--mail"]).fails(1, &["nobody has the role: import a contact `role,on-call`"]);
}
