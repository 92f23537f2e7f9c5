//! `notify`: is the way open, what is in the outbox, and doing by hand once what a server does all the time.

use std::sync::Arc;

use anyhow::Context;
use gpuledger_aggregator::report::{self, Column, Format, Kind, Value};
use gpuledger_api::state::{App, Clock, Settings, Stop};
use gpuledger_api::tell::look_once;
use gpuledger_control::{Control, Message, MessageState, NewSilence};
use gpuledger_notify::doctor::{Examination, Health, examine};
use gpuledger_notify::{At, Courier, Language, Store, Texts, test_message};
use gpuledger_schema::table::ContactRow;
use gpuledger_schema::window::{instant, show_ms};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::{print, show};
use crate::args::notify::{Doctor, Notify, Outbox, Silence, Silences, Tell, Test};
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;
use crate::serve::Ledger;

pub(super) async fn run(place: &Place, what: Notify, format: Format) -> anyhow::Result<Outcome> {
    match what {
        Notify::Test(t) => test(place, &t).await,
        Notify::Doctor(d) => doctor(place, &d, format).await,
        Notify::Outbox(o) => outbox(place, &o, format),
        Notify::Deliver => deliver(place).await,
        Notify::Tell(t) => tell(place, &t).await,
        Notify::Silence(s) => silence(place, &s),
        Notify::Silences(s) => silences(place, &s, format),
    }
}

fn control(place: &Place) -> anyhow::Result<Control> {
    place.control_to_write(&place.lake()?)
}

/// What is wrong with `[notify]` stops what would send.
fn checked(place: &Place) -> anyhow::Result<()> {
    let (_, wrong) = place.config.notify.check();
    match wrong.first() {
        Some(first) => Err(usage(first.to_string())),
        None => Ok(()),
    }
}

fn courier(place: &Place, control: Control) -> Courier {
    // its own name: a server may deliver beside it, and each message has one sender
    let owner = format!("command-{}-{}", std::process::id(), clock::now_ms());
    Courier::new(Store::new(control), place.config.notify.clone(), owner, Arc::new(clock::now_ms))
}

async fn test(place: &Place, asked: &Test) -> anyhow::Result<Outcome> {
    checked(place)?;
    let language =
        Language::of(&asked.lang).ok_or_else(|| usage(format!("--lang `{}` is not one of: en, zh", asked.lang)))?;
    let (channel, address) = match (&asked.to.mail, &asked.to.webhook) {
        (Some(address), _) => ("mail", address),
        (None, Some(name)) => ("webhook", name),
        (None, None) => return Err(usage("say where: --mail ADDRESS or --webhook NAME")),
    };
    if channel == "webhook" && !place.config.notify.webhook.contains_key(address) {
        return Err(usage(format!("no webhook `{address}` is configured: add a table [notify.webhook.{address}]")));
    }
    let zone = place.zone(None)?.unwrap_or(chrono_tz::UTC);
    let now_ms = clock::now_ms();
    let texts = Texts::new().context("cannot read the texts")?;
    let message = test_message(&texts, &place.config.notify, channel, address, language, At { ms: now_ms, zone })
        .context("cannot write a test message")?;
    let key = message.key.clone();
    let mut control = control(place)?;
    control.post(&[message], now_ms)?;
    let path = place.control_path(&place.lake()?)?;
    courier(place, control).round().await?;
    let found = Control::open_read_only(&path)?.outbox_messages(None, 1_000)?.into_iter().find(|m| m.key == key);
    let found = found.context("the message is not in the outbox any more")?;
    let answer = found.answer.unwrap_or_default();
    print(format!("{address}: {} {answer}\n", found.state.as_str()).as_bytes())?;
    Ok(if found.state == MessageState::Delivered { Outcome::Done } else { Outcome::Failed })
}

async fn doctor(place: &Place, asked: &Doctor, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake()?;
    let contacts = place.control(&lake)?.map(|c| c.rows::<ContactRow>()).transpose()?.unwrap_or_default();
    let zone = place.zone(None)?.unwrap_or(chrono_tz::UTC);
    let texts = Texts::new().context("cannot read the texts")?;
    let now = At { ms: clock::now_ms(), zone };
    let examination = Examination { contacts: &contacts, now, send: asked.send };
    let found = examine(&texts, &place.config.notify, examination).await;
    let bad = found.iter().filter(|f| f.health == Health::Bad).count();
    let word = |health: Health| match health {
        Health::Good => "good",
        Health::Doubtful => "doubtful",
        Health::Bad => "bad",
    };
    let text = |t: &str| Value::Text(t.to_owned());
    let rows = found
        .iter()
        .map(|f| vec![text(word(f.health)), text(&f.what), text(&f.found), text(f.advice.as_deref().unwrap_or(""))])
        .collect();
    let sentence = match bad {
        0 => "messages can be delivered".to_owned(),
        1 => "one thing is wrong".to_owned(),
        n => format!("{n} things are wrong"),
    };
    show(&table(sentence, &[("health", ""), ("what", "what"), ("found", "found"), ("advice", "to do")], rows), format)?;
    Ok(if bad == 0 { Outcome::Done } else { Outcome::Failed })
}

/// A report of text alone.
fn table(sentence: String, columns: &[(&str, &str)], rows: Vec<Vec<Value>>) -> report::Report {
    let column = |(name, heading): &(&str, &str)| Column {
        name: (*name).to_owned(),
        heading: if heading.is_empty() { (*name).to_owned() } else { (*heading).to_owned() },
        kind: Kind::Text,
    };
    report::Report {
        sentence,
        columns: columns.iter().map(column).collect(),
        rows,
        total: None,
        notes: Vec::new(),
        currency: None,
        table_decimals: 1,
    }
}

fn outbox(place: &Place, asked: &Outbox, format: Format) -> anyhow::Result<Outcome> {
    let state = match &asked.state {
        None => None,
        Some(word) => Some(MessageState::ALL.into_iter().find(|s| s.as_str() == word).ok_or_else(|| {
            let known = MessageState::ALL.map(MessageState::as_str).join(", ");
            usage(format!("--state `{word}` is not one of: {known}"))
        })?),
    };
    let zone = place.zone(asked.zone.as_deref())?.unwrap_or(chrono_tz::UTC);
    let lake = place.lake()?;
    let (messages, counts) = match place.control(&lake)? {
        Some(control) => (control.outbox_messages(state, asked.top)?, control.outbox_summary()?),
        None => (Vec::new(), Vec::new()),
    };
    let counted: Vec<String> =
        counts.iter().map(|s| format!("{} {} by {}", s.messages, s.state.as_str(), s.channel)).collect();
    let sentence = if counted.is_empty() { "no messages".to_owned() } else { counted.join(", ") };
    let row = |m: &Message| {
        let text = |t: &str| Value::Text(t.to_owned());
        vec![
            text(&show_ms(m.created_ms, zone)),
            text(m.state.as_str()),
            text(&m.kind),
            text(&m.person),
            text(&m.address),
            text(&m.title),
            Value::Count(m.tries.into()),
            m.answer.as_deref().map_or(Value::Unknown, text),
            text(&m.channel),
            text(&m.key),
        ]
    };
    let mut made = table(
        sentence,
        &[
            ("posted", "posted"),
            ("state", "state"),
            ("kind", "kind"),
            ("person", "for"),
            ("address", "address"),
            ("title", "title"),
            ("tries", "tries"),
            ("answer", "answer"),
            ("channel", ""),
            ("key", ""),
        ],
        messages.iter().map(row).collect(),
    );
    made.columns[6].kind = Kind::Count;
    // a terminal shows what fits
    for hidden in [3, 5, 8, 9] {
        made.columns[hidden].heading = String::new();
    }
    show(&made, format)?;
    Ok(Outcome::Done)
}

async fn deliver(place: &Place) -> anyhow::Result<Outcome> {
    checked(place)?;
    let round = courier(place, control(place)?).round().await?;
    let said = format!(
        "{} delivered, {} later, {} failed, {} in doubt, {} wait for working hours\n",
        round.delivered, round.later, round.failed, round.doubts, round.deferred
    );
    print(said.as_bytes())?;
    Ok(if round.failed == 0 { Outcome::Done } else { Outcome::Failed })
}

async fn tell(place: &Place, asked: &Tell) -> anyhow::Result<Outcome> {
    checked(place)?;
    let zone = place.zone_needed(None)?;
    let at_ms = asked.at.as_deref().map(|t| instant(t, zone).map_err(|e| usage(format!("--at {e}")))).transpose()?;
    let clock: Clock = match at_ms {
        Some(at_ms) => Arc::new(move || at_ms),
        None => Arc::new(clock::now_ms),
    };
    let lake = place.lake()?;
    let server = &place.config.server;
    let settings = Settings {
        zone: Some(zone),
        public_url: server.public_url.clone(),
        pseudonyms: server.pseudonyms,
        notify: place.config.notify.clone(),
        tell: place.config.tell.clone(),
        ..Settings::default()
    };
    let ledger = Arc::new(Ledger::new(place.clone(), Arc::new(Mutex::new(())), Handle::current()));
    let app = App::new(ledger, settings, place.control_path(&lake)?, clock, Stop::default());
    match look_once(&app).await {
        Ok(said) => {
            print(format!("{said}\n").as_bytes())?;
            Ok(Outcome::Done)
        }
        Err(why) => Err(anyhow::anyhow!(why)),
    }
}

fn silence(place: &Place, asked: &Silence) -> anyhow::Result<Outcome> {
    let zone = place.zone(None)?.unwrap_or(chrono_tz::UTC);
    let until_ms = instant(&asked.until, zone).map_err(|e| usage(format!("--until {e}")))?;
    let new = NewSilence {
        kind: asked.kind.clone(),
        subject: asked.subject.clone(),
        person: asked.person.clone(),
        from_ms: clock::now_ms(),
        until_ms,
        by: super::reference::actor(),
        reason: asked.reason.clone(),
    };
    let number = control(place)?.silence(&new)?;
    print(format!("silence {number} until {}\n", show_ms(until_ms, zone)).as_bytes())?;
    Ok(Outcome::Done)
}

fn silences(place: &Place, asked: &Silences, format: Format) -> anyhow::Result<Outcome> {
    let zone = place.zone(asked.zone.as_deref())?.unwrap_or(chrono_tz::UTC);
    if let Some(number) = asked.end {
        let ended = control(place)?.end_silence(number, &super::reference::actor(), clock::now_ms())?;
        if !ended {
            return Err(usage(format!("there is no silence {number} that stands")));
        }
        print(format!("silence {number} ended\n").as_bytes())?;
        return Ok(Outcome::Done);
    }
    let lake = place.lake()?;
    let all = place.control(&lake)?.map(|c| c.silences()).transpose()?.unwrap_or_default();
    let text = |t: &str| Value::Text(t.to_owned());
    let or_any = |t: &Option<String>| Value::Text(t.clone().unwrap_or_else(|| "*".to_owned()));
    let now_ms = clock::now_ms();
    let stand = all.iter().filter(|s| s.ended_ms.is_none() && s.until_ms > now_ms).count();
    let rows = all
        .iter()
        .map(|s| {
            vec![
                text(&s.silence_id.to_string()),
                or_any(&s.kind),
                or_any(&s.subject),
                or_any(&s.person),
                text(&show_ms(s.ended_ms.unwrap_or(s.until_ms), zone)),
                text(&s.by),
                text(&s.reason),
            ]
        })
        .collect();
    let columns = [
        ("number", "number"),
        ("kind", "kind"),
        ("subject", "about"),
        ("person", "for"),
        ("until", "until"),
        ("by", "by"),
        ("reason", "why"),
    ];
    show(&table(format!("{stand} silences stand"), &columns, rows), format)?;
    Ok(Outcome::Done)
}
