//! Policy books: what is read, what is refused, and what is said in words.

use gpuledger_reclaim::Lang;
use gpuledger_reclaim::policy::{Book, HOUR_MS, dangers, in_words};
use gpuledger_schema::reclaim::Class;

fn refused(text: &str) -> String {
    Book::read(text).unwrap_err().to_string()
}

#[test]
fn an_empty_book_is_the_built_in_one_and_does_nothing_by_itself() {
    let book = Book::read("").unwrap();
    assert!(book.notify && !book.act);
    let names: Vec<&str> = book.policies.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["default", "finetune", "train"]);
    let windows = |name: &str, class| book.named(name, 0).unwrap().settings.windows(class).unwrap();
    assert_eq!(windows("default", Class::NeverTouched).due_ms, 2 * HOUR_MS);
    assert_eq!(windows("default", Class::IdleSince).warned_ms, 4 * HOUR_MS);
    assert_eq!(windows("train", Class::IdleSince).warned_ms, 24 * HOUR_MS);
    assert_eq!(dangers(&book), []);
}

#[test]
fn what_is_unknown_or_cannot_be_stops_the_book_with_its_place() {
    for (text, why) in [
        ("idle_minutes = 3", "unknown field `idle_minutes`"),
        ("[caps]\nactions_per_minute = 3", "unknown field `actions_per_minute`"),
        ("[defaults]\nidle = { warned = 3 }", "unknown field `warned`"),
        ("[defaults]\napproval = \"nobody\"", "unknown approval `nobody`"),
        ("[defaults]\nidle = { warned_minutes = 300 }", "`idle`: the first warning comes before the last"),
        (
            "[defaults]\nidle = { warned_minutes = 3, warned_seconds = 3 }",
            "`idle.warned` stands there in minutes and in seconds",
        ),
        ("[defaults]\nactive_minutes = 0", "`active` is 0"),
        ("[defaults]\nslurm = \"evict\"", "Slurm cannot be asked to `evict`"),
        ("[defaults]\nkubernetes = \"cancel\"", "Kubernetes cannot be asked to `cancel`"),
        ("[defaults]\ncheckpoint = { signal = \"KILL\" }", "`KILL` is no signal that asks for a checkpoint"),
        ("[defaults]\ncheckpoint = { signal = \"USR1\", file = \"/a/../b\" }", "is no whole path"),
        (
            "[defaults]\nwork_hours = { zone = \"Mars\", days = [\"mon\"], from = \"09:00\", to = \"17:00\" }",
            "unknown zone `Mars`",
        ),
        (
            "[defaults]\nwork_hours = { zone = \"UTC\", days = [\"mon\"], from = \"17:00\", to = \"09:00\" }",
            "has no time in it",
        ),
        ("[fresh]\ncoverage_percent = 80", "`coverage_percent` is under 90"),
        ("[fresh]\nact_tick_seconds = 1000", "acting needs fresher facts than judging"),
        ("[breaker]\njobs_fall_percent = 101", "not from 0 to 100"),
        ("[[policy]]\nname = \"x\"\nscope = { task_type = \"play\" }", "unknown task type `play`"),
        ("[[policy]]\nname = \"x\"\nscope = { user = \"ada\" }", "a policy is about cluster, pool"),
        ("[[policy]]\nname = \"x\"\nfrom = \"2026-10-05\"", "is no instant with its offset"),
        (
            "[[policy]]\nname = \"x\"\nscope = { team = \"a\" }\n[[policy]]\nname = \"y\"\nscope = { team = \"a\" }",
            "are about the same at the same time",
        ),
        ("[[policy]]\nname = \"default\"\nscope = { team = \"a\" }", "two policies are called `default`"),
        ("[[exemption]]\nscope = {}\nreason = \"r\"\nuntil = \"2027-01-01T00:00:00Z\"", "it names nothing"),
        (
            "[[exemption]]\nscope = { user = \"a\" }\nreason = \" \"\nuntil = \"2027-01-01T00:00:00Z\"",
            "it needs a reason",
        ),
        ("[[exemption]]\nscope = { user = \"a\" }\nreason = \"r\"", "missing field `until`"),
        ("[[policy]]\nname = \"x\"\nforce = \"\"", "`force` needs a reason"),
    ] {
        let found = refused(text);
        assert!(found.contains(why), "{text}\n{found}");
    }
}

#[test]
fn dated_policies_follow_one_another() {
    let text = "[[policy]]\nname = \"nlp\"\nscope = { team = \"nlp\" }\nto = \"2026-11-01T00:00:00Z\"\n\
                [[policy]]\nname = \"nlp\"\nscope = { team = \"nlp\" }\nfrom = \"2026-11-01T00:00:00Z\"\n\
                set = { idle = { due_minutes = 400 } }\nforce = \"the team asked for it\"\n";
    let book = Book::read(text).unwrap();
    let edge = 1_793_491_200_000;
    let due = |at: i64| book.named("nlp", at).unwrap().settings.idle.due_ms / 60_000;
    assert_eq!((due(edge - 1), due(edge)), (300, 400));
}

#[test]
fn training_under_a_day_is_refused_unless_somebody_says_why() {
    let short = "[[policy]]\nname = \"short\"\nscope = { task_type = \"train\" }\n\
                 set = { idle = { warned_minutes = 60, final_minutes = 90, due_minutes = 120 } }\n";
    let found = dangers(&Book::read(short).unwrap());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "policy `short`: training counts as idle after 120 minutes, under 24 hours");
    assert!(found[0].forced.is_none());
    let forced = dangers(&Book::read(&format!("{short}force = \"a test cluster\"\n")).unwrap());
    assert_eq!(forced[0].forced.as_deref(), Some("a test cluster"));
    // a team's policy stands above that of training
    let team = "[[policy]]\nname = \"nlp\"\nscope = { team = \"nlp\" }\n";
    assert_eq!(dangers(&Book::read(team).unwrap()).len(), 1);
    let quick = "[defaults]\nnever_touched = { warned_seconds = 60, final_seconds = 90, due_seconds = 120 }\n";
    let found = dangers(&Book::read(quick).unwrap());
    assert!(found.iter().any(|d| d.what.contains("warns after 60 s")), "{found:?}");
    assert!(found.iter().any(|d| d.what.contains("leaves 30 s to answer")), "{found:?}");
}

#[test]
fn a_book_in_words_says_every_number_in_both_languages() {
    let book = Book::read(
        "switch = { act = true }\n[defaults]\napproval = \"owner\"\nmax_duration_hours = 72\n\
         checkpoint = { signal = \"USR1\" }\nwarm_up_minutes = 10\nstaging_grace_minutes = 50\n\
         work_hours = { zone = \"Europe/Berlin\", days = [\"mon\", \"fri\"], from = \"09:00\", to = \"17:30\" }\n\
         [[protected]]\nscope = { qos = \"urgent\" }\nreason = \"production\"\n\
         [[exemption]]\nscope = { user = \"ada\" }\nreason = \"deadline\"\nuntil = \"2026-12-01T00:00:00Z\"\n",
    )
    .unwrap();
    let en = in_words(&book, Lang::En);
    for part in [
        "Anything is acted upon: yes.",
        "At rest on all GPUs: warned after 4 hours, for the last time after 270 minutes, due after 5 hours.",
        "warned after 1 days, for the last time after 1470 minutes, due after 25 hours.",
        "Never used since the start: warned after 60 minutes",
        "starts 10 minutes after the start, and 50 minutes more",
        "The owner has to approve.",
        "First signal USR1 asks for a checkpoint, which is waited for 10 minutes; without it nothing is freed.",
        "Acts only on Mon Fri from 09:00 to 17:30 (Europe/Berlin).",
        "Protected for good: QoS urgent",
        "Exempt until 2026-12-01 00:00:00Z: user ada (deadline).",
        "Runs longer than 3 days are warned; nothing is done to them.",
    ] {
        assert!(en.contains(part), "{part}\n{en}");
    }
    let zh = in_words(&book, Lang::Zh);
    assert_eq!(zh.lines().count(), en.lines().count());
    assert!(zh.contains("需要使用者同意。") && !zh.contains('{'), "{zh}");
}
