//! From notices to the outbox: who has to be told, in which language, and what happens where somebody has no address.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;
use gpuledger_control::{Attachment, NewMessage, Posted};
use gpuledger_notify::config::NotifyConfig;
use gpuledger_notify::notice::NoContact;
use gpuledger_notify::{Language, Notice, Occasion, Texts, Who, compose};
use gpuledger_schema::table::ContactRow;

use super::link::Links;
use super::read::Trouble;
use super::when;
use crate::state::App;

/// What every round tells with.
pub(super) struct Post<'a> {
    pub(super) app: &'a App,
    pub(super) texts: &'a Texts,
    pub(super) config: &'a NotifyConfig,
    pub(super) contacts: &'a [ContactRow],
    pub(super) links: &'a Links,
    pub(super) zone: Tz,
    pub(super) now_ms: i64,
}

/// A notice in the words of each language that is needed, with the files of that language.
#[derive(Debug, Clone)]
pub(super) struct Telling {
    /// Says which occasion this is.
    pub(super) key: String,
    /// By language.
    pub(super) told: BTreeMap<Language, (Notice, Vec<Attachment>)>,
}

impl Telling {
    /// A notice whose figures are the same in every language, without files.
    pub(super) fn plain(key: String, notice: &Notice) -> Self {
        let told = Language::ALL.into_iter().map(|language| (language, (notice.clone(), Vec::new()))).collect();
        Self { key, told }
    }
}

impl Post<'_> {
    /// Languages of the contacts of those who have to be told: nothing is made in another.
    pub(super) fn languages(&self, audience: &[Who]) -> BTreeSet<Language> {
        let of = |who: &Who| {
            who.contacts(self.contacts, self.now_ms).filter_map(|c| Language::of(&c.language)).collect::<Vec<_>>()
        };
        audience.iter().flat_map(of).collect()
    }

    /// Whether something was posted on this occasion before: it is then told.
    ///
    /// # Errors
    /// The control file.
    pub(super) async fn was_told(&self, cause: &str) -> Result<bool, Trouble> {
        let cause = cause.to_owned();
        let found = self.app.control(move |control| control.outbox_messages_of(&cause)).await;
        found.map(|messages| !messages.is_empty()).map_err(|e| e.detail)
    }

    /// Posts what is told on one occasion, all or nothing, and tells operators once a day of whoever has no address.
    ///
    /// # Errors
    /// A text that lacks a figure, or the control file.
    pub(super) async fn post(&self, cause: &str, tellings: &[Telling]) -> Result<Posted, Trouble> {
        let mut messages = Vec::new();
        let mut nobody: BTreeSet<(Who, &'static str, String)> = BTreeSet::new();
        for telling in tellings {
            let Some((notice, _)) = telling.told.values().next() else { continue };
            for who in notice.audience() {
                if who.contacts(self.contacts, self.now_ms).next().is_none() {
                    nobody.insert((who, notice.name(), notice.subject()));
                }
            }
            for (language, (notice, files)) in &telling.told {
                messages.extend(self.composed(&telling.key, cause, *language, notice, files)?);
            }
        }
        for (who, notice, about) in nobody {
            tracing::warn!(%who, notice, "has no address");
            let key = format!("no_contact/{who}/{notice}/{}", when::day(self.now_ms, self.zone));
            let page = self.links.contacts();
            let told = NoContact { person: who.to_string(), notice: notice.to_owned(), about, page };
            for language in Language::ALL {
                messages.extend(self.composed(&key, &key, language, &Notice::NoContact(told.clone()), &[])?);
            }
        }
        let now_ms = self.now_ms;
        self.app.control(move |control| control.post(&messages, now_ms)).await.map_err(|e| e.detail)
    }

    /// The messages to the contacts of one language.
    fn composed(
        &self,
        key: &str,
        cause: &str,
        language: Language,
        notice: &Notice,
        files: &[Attachment],
    ) -> Result<Vec<NewMessage>, Trouble> {
        let of_language: Vec<ContactRow> =
            self.contacts.iter().filter(|c| Language::of(&c.language) == Some(language)).cloned().collect();
        let occasion = Occasion { key, cause: Some(cause), now_ms: self.now_ms, attachments: files };
        let made = compose(self.texts, self.config, &of_language, notice, &occasion);
        made.map(|composed| composed.messages).map_err(|e| crate::state::chain(&e))
    }
}
