//! Texts as people read them: golden files in both languages, the two parts of a mail compared word by word, names that try
//! to be markup, and every sentence of the closed lists.

use std::path::PathBuf;

use chrono_tz::Tz;
use gpuledger_notify::config::NotifyConfig;
use gpuledger_notify::notice::{
    Action, BudgetAlert, FinanceStatement, LateNode, Measure, TeamStatement, Verdict, ZombieClass,
};
use gpuledger_notify::{At, Language, Notice, Occasion, Reader, Rendered, Role, Texts, Who, compose};
use gpuledger_schema::table::ContactRow;

use crate::{T0, examples};

fn rendered(texts: &Texts, notice: &Notice, language: Language, names: bool) -> Rendered {
    let who = notice.audience().into_iter().next();
    let reader = Reader { site: "Example Labs", who: who.as_ref(), names };
    texts.render(notice, language, reader).unwrap_or_else(|e| panic!("{} {language:?}: {e}", notice.name()))
}

fn golden(language: Language, file: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(language.as_str());
    folder.join(file)
}

#[test]
fn every_notice_reads_as_it_was_read() {
    let texts = Texts::new().unwrap();
    let write = std::env::var("GPULEDGER_GOLDEN").as_deref() == Ok("write");
    let mut wrong = Vec::new();
    for notice in examples::all() {
        for language in Language::ALL {
            let made = rendered(&texts, &notice, language, true);
            let text = format!("{}\n\n{}", made.title, made.text);
            for (end, is) in [("txt", &text), ("html", &made.html)] {
                let path = golden(language, &format!("{}.{end}", notice.name()));
                let is: String = is.lines().map(|l| format!("{}\n", l.trim_end())).collect();
                if write {
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    std::fs::write(&path, &is).unwrap();
                }
                if std::fs::read_to_string(&path).unwrap_or_default() != is {
                    wrong.push(path.display().to_string());
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "read the difference, then write them with GPULEDGER_GOLDEN=write:\n{}",
        wrong.join("\n")
    );
    let kinds: Vec<&str> = examples::all().iter().map(Notice::name).collect();
    assert_eq!(kinds, Notice::NAMES, "an example of every kind, in order");
}

/// HTML as the words that a reader sees: tags gone, a link as its words and where it leads, as the text part has it.
fn words_of_html(html: &str) -> String {
    let body = html.split("<body").nth(1).unwrap();
    let mut out = String::new();
    let mut rest = &body[body.find('>').unwrap() + 1..];
    let mut href = None;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        let close = open + rest[open..].find('>').unwrap();
        let tag = &rest[open + 1..close];
        if let Some(target) = tag.strip_prefix("a href=\"") {
            href = target.split('"').next().map(str::to_owned);
        } else if tag == "/a" {
            out.push_str(&format!(": {}", href.take().unwrap()));
        }
        out.push(' ');
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#x2f;", "/"), ("&amp;", "&")];
    entities.iter().fold(out, |text, (entity, c)| text.replace(entity, c))
}

/// Words; the rules under headings and the marks of a list are drawn by HTML.
fn words(text: &str) -> Vec<String> {
    text.split_whitespace().filter(|w| w.contains(|c| c != '-')).map(str::to_owned).collect()
}

#[test]
fn both_parts_of_a_mail_say_the_same() {
    let texts = Texts::new().unwrap();
    for notice in examples::all() {
        for language in Language::ALL {
            let made = rendered(&texts, &notice, language, true);
            assert_eq!(words(&made.text), words(&words_of_html(&made.html)), "{} {language:?}", notice.name());
            assert!(made.text.starts_with(&made.lead), "the sentence stands first");
        }
    }
}

#[test]
fn a_name_is_shown_as_typed_and_is_never_markup() {
    let texts = Texts::new().unwrap();
    for notice in examples::all() {
        for language in Language::ALL {
            let made = rendered(&texts, &notice, language, true);
            assert!(!made.html.contains("<script") && !made.html.contains("<b>"), "{} {language:?}", notice.name());
            assert!(!made.title.contains('\n') && !made.title.is_empty(), "{}", notice.name());
        }
    }
    let warning = Notice::ReclaimWarning(examples::warning(ZombieClass::IdleSince, Action::Requeue));
    let made = rendered(&texts, &warning, Language::En, true);
    assert!(made.text.contains("=cmd|'/C calc'!A0 <script>alert(\"训练\")</script> & <b>x</b>"));
    assert!(made.html.contains("&lt;script&gt;alert(&quot;训练&quot;)&lt;&#x2f;script&gt;"), "{}", made.html);
}

#[test]
fn no_name_of_a_person_or_job_is_told_where_it_is_not_allowed() {
    let texts = Texts::new().unwrap();
    for notice in examples::all() {
        for language in Language::ALL {
            let reader = Reader { site: "Example Labs", who: None, names: false };
            let made = texts.render(&notice, language, reader).unwrap();
            let all = format!("{}{}{}{}", made.title, made.lead, made.text, made.html);
            for name in ["alice", "cmd|", "lead@example.org", "staged"] {
                let finding = matches!(notice, Notice::WasteDigest(_)) && name == "cmd|"; // what a rule found is no name
                assert!(finding || !all.contains(name), "{} {language:?} tells {name}", notice.name());
            }
        }
    }
}

#[test]
fn every_word_of_the_closed_lists_has_its_sentence() {
    let texts = Texts::new().unwrap();
    let classes = [
        ZombieClass::NeverTouched,
        ZombieClass::IdleSince,
        ZombieClass::MemoryHeld,
        ZombieClass::OutsideAllocation,
        ZombieClass::JobGone,
        ZombieClass::DeadHolder,
        ZombieClass::LowUse,
        ZombieClass::OverTimeLimit,
    ];
    let actions = [Action::Requeue, Action::Cancel, Action::Evict, Action::ScaleDown, Action::AskOperator];
    for language in Language::ALL {
        let mut seen = std::collections::BTreeSet::new();
        for class in classes {
            let notice = Notice::ReclaimWarning(examples::warning(class, Action::Requeue));
            let made = rendered(&texts, &notice, language, true);
            assert!(made.lead.contains("2026-11-04 02:00 Asia/Shanghai (+08:00)"), "{}", made.lead);
            seen.insert(made.lead);
        }
        assert_eq!(seen.len(), classes.len());
        let leads: std::collections::BTreeSet<String> = actions
            .iter()
            .map(|action| examples::warning(ZombieClass::LowUse, *action))
            .map(|warning| rendered(&texts, &Notice::ReclaimFinal(warning), language, true).lead)
            .collect();
        assert_eq!(leads.len(), actions.len());
        let kinds = [
            "late_node",
            "node_lost",
            "gap",
            "conflict",
            "uncalibrated",
            "unregistered_gpu",
            "memory_over_quota",
            "hung",
        ];
        for kind in kinds {
            assert!(Notice::NAMES.contains(&kind));
            let many = examples::all().into_iter().find(|n| n.name() == "many_alerts");
            let Some(Notice::ManyAlerts(mut many)) = many else { panic!() };
            many.notice = kind.to_owned();
            let made = rendered(&texts, &Notice::ManyAlerts(many), language, true);
            assert!(made.title.contains("48 "), "{kind} {language:?}: {}", made.title);
        }
        for verdict in [Verdict::Good, Verdict::Watch, Verdict::Poor] {
            let Some(Notice::HealthAssessment(mut health)) = examples::all().into_iter().nth(3) else { panic!() };
            health.verdict = verdict;
            health.advice.clear();
            let made = rendered(&texts, &Notice::HealthAssessment(health), language, true);
            assert!(made.lead.chars().next().unwrap().is_alphabetic(), "{verdict:?}: {}", made.lead);
        }
    }
}

#[test]
fn what_is_absent_is_said_and_is_not_zero() {
    let texts = Texts::new().unwrap();
    let late = LateNode {
        cluster: "alpha".into(),
        node: "gpu01".into(),
        gpus: 1,
        last_seen: None,
        late_minutes: None,
        page: "https://gpu.example.org/n".into(),
    };
    let made = rendered(&texts, &Notice::LateNode(late), Language::En, true);
    assert_eq!(made.title, "alpha/gpu01: no data yet");
    assert_eq!(made.lead, "Node alpha/gpu01 with 1 GPU has never sent data.");
    let draft = FinanceStatement { closed: None, output_sha256: None, notes: vec![], ..examples::finance() };
    let made = rendered(&texts, &Notice::StatementFinance(draft), Language::En, true);
    assert!(made.title.starts_with("Draft of October 2026: "), "{}", made.title);
    assert!(made.text.contains("This is a draft") && !made.text.contains("SHA-256"));
    let alone = TeamStatement {
        closed: None,
        previous_amount: None,
        budget: None,
        lines: vec![],
        findings: vec![],
        ..examples::team()
    };
    let made = rendered(&texts, &Notice::StatementLead(alone), Language::Zh, true);
    assert!(
        made.title.ends_with("（草稿）") && !made.text.contains("上月") && !made.text.contains("预算"),
        "{}",
        made.text
    );
    // accounting alone: nothing was measured, and nothing is called busy or waste
    let unseen = TeamStatement {
        used: None,
        unmeasured_hours: "12480.0".into(),
        unmeasured_percent: Some("100".into()),
        ..examples::team()
    };
    for (language, said) in [(Language::En, "nothing of them was measured"), (Language::Zh, "因未作任何测量")] {
        let made = rendered(&texts, &Notice::StatementLead(unseen.clone()), language, true);
        assert!(made.lead.contains(said) && !made.text.contains("39 %"), "{}", made.text);
        assert_eq!(words(&made.text), words(&words_of_html(&made.html)));
    }
    let none = TeamStatement { held_hours: "0.0".into(), used: None, unmeasured_percent: None, ..examples::team() };
    let made = rendered(&texts, &Notice::StatementLead(none), Language::En, true);
    assert!(made.lead.contains("held no GPU-hours") && !made.text.contains("measured"), "{}", made.text);
    let mut warning = examples::warning(ZombieClass::LowUse, Action::Cancel);
    (warning.amount, warning.currency, warning.case.user) = (None, None, None);
    let made = rendered(&texts, &Notice::ReclaimWarning(warning), Language::En, true);
    assert!(made.text.contains("What that cost                unknown"), "{}", made.text);
    let Some(Notice::BudgetAlert(budget)) = examples::all().into_iter().nth(4) else { panic!() };
    let hours = BudgetAlert { measure: Measure::GpuHours, used: "1200".into(), forecast: None, days_left: 1, ..budget };
    let made = rendered(&texts, &Notice::BudgetAlert(hours), Language::En, true);
    assert!(made.lead.contains("1,200 GPU-hours") && made.lead.ends_with("with 1 day left."), "{}", made.lead);
}

fn contact(kind: &str, name: &str, channel: &str, address: &str, language: &str) -> ContactRow {
    ContactRow {
        kind: kind.into(),
        name: name.into(),
        channel: channel.into(),
        address: address.into(),
        language: language.into(),
        calendar: None,
        from_ms: 0,
        to_ms: None,
    }
}

#[test]
fn everybody_whom_it_concerns_gets_it_once_in_their_language() {
    let texts = Texts::new().unwrap();
    let config: NotifyConfig =
        toml::from_str("site = \"Example Labs\"\n[webhook.open]\nurl = \"https://h\"\nnames = true").unwrap();
    let gone = ContactRow { to_ms: Some(T0), ..contact("user", "alice", "mail", "old@example.org", "en") };
    let contacts = [
        contact("user", "alice", "mail", "alice@example.org", "zh"),
        contact("user", "alice", "webhook", "ops", "en"),
        contact("user", "alice", "webhook", "open", "en"),
        contact("user", "bob", "mail", "bob@example.org", "en"),
        contact("lead", "nlp", "mail", "alice@example.org", "en"),
        contact("lead", "nlp", "mail", "lead@example.org", "en"),
        gone,
    ];
    let notice = Notice::ReclaimFinal(examples::warning(ZombieClass::IdleSince, Action::Cancel));
    let occasion = Occasion { key: "case/17/final/1", cause: Some("case-17"), now_ms: T0, attachments: &[] };
    let composed = compose(&texts, &config, &contacts, &notice, &occasion).unwrap();
    let to: Vec<(&str, &str, &str)> =
        composed.messages.iter().map(|m| (m.person.as_str(), m.address.as_str(), m.language.as_str())).collect();
    assert_eq!(
        to,
        [
            ("user:alice", "alice@example.org", "zh"),
            ("user:alice", "ops", "en"),
            ("user:alice", "open", "en"),
            ("lead:nlp", "lead@example.org", "en"),
        ]
    );
    assert!(composed.without_contact.is_empty());
    let [mail, chat, open, _] = &composed.messages[..] else { panic!() };
    assert!(mail.body_html.is_some() && mail.urgent && mail.cause.as_deref() == Some("case-17"));
    assert!(mail.body_text.contains("alice") && chat.body_html.is_none());
    assert!(!format!("{chat:?}").replace("user:alice", "").contains("alice"));
    assert_eq!(open.link.as_deref(), notice.page());
    // done again on the same occasion it is the same messages, by their keys
    let again = compose(&texts, &config, &contacts, &notice, &occasion).unwrap();
    assert_eq!(again, composed);
    let keys: std::collections::BTreeSet<&str> = composed.messages.iter().map(|m| m.key.as_str()).collect();
    assert_eq!(keys.len(), 4);

    // whoever has no address is named
    let nobody = compose(&texts, &config, &contacts[3..4], &notice, &occasion).unwrap();
    assert_eq!(nobody.without_contact, [Who::User("alice".into()), Who::Lead("nlp".into())]);
    assert_eq!(Who::Role(Role::OnCall).to_string(), "role:on-call");
    assert_eq!(At { ms: 0, zone: Tz::UTC }.in_words(), "1970-01-01 00:00 UTC (+00:00)");
}
