//! From a notice to messages: one for each address of everybody whom it concerns, in the language of that address.

use gpuledger_control::{Attachment, NewMessage};
use gpuledger_schema::table::ContactRow;

use crate::config::NotifyConfig;
use crate::notice::{Notice, Test};
use crate::texts::{Language, Reader, TextError, Texts};
use crate::value::At;
use crate::who::Who;

/// Name of an installation that has none.
const SITE: &str = "gpuledger";

/// The occasion on which something is told.
#[derive(Debug, Clone)]
pub struct Occasion<'a> {
    /// Says which occasion this is, e.g. `close/2026-10` or `case/17/warned/1`: a message of the same occasion to the same
    /// address is posted once, however often this is done.
    pub key: &'a str,
    /// Id of what caused it, for whoever reads the events of the outbox.
    pub cause: Option<&'a str>,
    /// Now, epoch ms: contacts are those of now.
    pub now_ms: i64,
    /// Files that go with the mails.
    pub attachments: &'a [Attachment],
}

/// Messages, ready to be posted, and who cannot be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Composed {
    /// One message for each address.
    pub messages: Vec<NewMessage>,
    /// Whom it concerns and who has no address: somebody else has to be told.
    pub without_contact: Vec<Who>,
}

/// Makes the messages of a notice for everybody whom it concerns. Two people of one address get one message there.
///
/// # Errors
///
/// A text that uses what the notice does not have.
pub fn compose(
    texts: &Texts,
    config: &NotifyConfig,
    contacts: &[ContactRow],
    notice: &Notice,
    occasion: &Occasion<'_>,
) -> Result<Composed, TextError> {
    let mut composed = Composed::default();
    for who in notice.audience() {
        let before = composed.messages.len();
        let mut known = 0;
        for contact in who.contacts(contacts, occasion.now_ms) {
            let same = |m: &&NewMessage| m.channel == contact.channel && m.address == contact.address;
            if composed.messages.iter().any(|m| same(&m)) {
                known += 1;
                continue;
            }
            composed.messages.push(message(texts, config, contact, &who, notice, occasion)?);
        }
        if composed.messages.len() == before && known == 0 {
            composed.without_contact.push(who);
        }
    }
    Ok(composed)
}

fn message(
    texts: &Texts,
    config: &NotifyConfig,
    contact: &ContactRow,
    who: &Who,
    notice: &Notice,
    occasion: &Occasion<'_>,
) -> Result<NewMessage, TextError> {
    let is_mail = contact.channel == "mail";
    // A mail goes to somebody whom it concerns; a chat is read by more people than that.
    let names = is_mail || config.webhook.get(&contact.address).is_some_and(|hook| hook.names);
    let site = config.site.as_deref().unwrap_or(SITE);
    let language = Language::of(&contact.language).unwrap_or(Language::En);
    let rendered = texts.render(notice, language, Reader { site, who: Some(who), names })?;
    Ok(NewMessage {
        key: format!("{}/{}/{}:{}", occasion.key, notice.name(), contact.channel, contact.address),
        kind: notice.name().to_owned(),
        subject: notice.subject(),
        cause: occasion.cause.map(str::to_owned),
        person: who.to_string(),
        channel: contact.channel.clone(),
        address: contact.address.clone(),
        language: language.as_str().to_owned(),
        calendar: contact.calendar.clone(),
        urgent: notice.urgent(),
        title: rendered.title,
        body_text: if is_mail { rendered.text } else { rendered.lead },
        body_html: is_mail.then_some(rendered.html),
        link: notice.page().map(str::to_owned),
        attachments: if is_mail { occasion.attachments.to_vec() } else { Vec::new() },
        cooldown_ms: notice.cooldown_ms(),
        give_up_after_ms: notice.give_up_after_ms(),
    })
}

/// A test message to an address, by `mail` or `webhook`: for whoever wants to see that the way is open.
///
/// # Errors
///
/// A text that uses what the notice does not have.
pub fn test_message(
    texts: &Texts,
    config: &NotifyConfig,
    channel: &str,
    address: &str,
    language: Language,
    now: At,
) -> Result<NewMessage, TextError> {
    let notice = Notice::Test(Test { address: address.to_owned(), at: now });
    let is_mail = channel == "mail";
    let site = config.site.as_deref().unwrap_or(SITE);
    let rendered = texts.render(&notice, language, Reader { site, who: None, names: is_mail })?;
    Ok(NewMessage {
        key: format!("test/{}/{channel}:{address}", now.ms),
        kind: notice.name().to_owned(),
        subject: notice.subject(),
        cause: None,
        person: "test".to_owned(),
        channel: channel.to_owned(),
        address: address.to_owned(),
        language: language.as_str().to_owned(),
        calendar: None,
        urgent: notice.urgent(),
        title: rendered.title,
        body_text: if is_mail { rendered.text } else { rendered.lead },
        body_html: is_mail.then_some(rendered.html),
        link: None,
        attachments: Vec::new(),
        cooldown_ms: notice.cooldown_ms(),
        give_up_after_ms: notice.give_up_after_ms(),
    })
}
