//! A message as a mail: headers that nobody can write into, text and HTML side by side, files with their names.

use std::time::{Duration, SystemTime};

use gpuledger_control::{Attachment, Message};
use gpuledger_schema::hash::sha256_hex;
use lettre::address::Envelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment as Part, Mailbox, MultiPart, SinglePart};
use lettre::{Address, Message as Mime};

use crate::base64;
use crate::config::MailConfig;

/// Bytes of text in one encoded word: 64 characters with what stands around them, of 75 that are allowed.
const ENCODED_WORD_BYTES: usize = 39;

/// Why there is no mail of a message. It will never be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// Not an address.
    #[error("`{text}` is not a mail address: {reason}")]
    Address {
        /// What was there.
        text: String,
        /// Why.
        reason: String,
    },
    /// A file that cannot be attached.
    #[error("the attachment `{name}` cannot be sent: {reason}")]
    Attachment {
        /// Name of the file.
        name: String,
        /// Why.
        reason: String,
    },
    /// What the library says of the rest.
    #[error("the mail cannot be written: {reason}")]
    Write {
        /// Why.
        reason: String,
    },
}

/// Reads `Name <name@host>` or `name@host`. One line, one address.
///
/// # Errors
///
/// Anything else.
pub fn mailbox(text: &str) -> Result<Mailbox, MailError> {
    let wrong = |reason: String| MailError::Address { text: text.escape_debug().to_string(), reason };
    if text.chars().any(char::is_control) {
        return Err(wrong("it holds a line break or another control character".to_owned()));
    }
    text.parse::<Mailbox>().map_err(|e| wrong(e.to_string()))
}

/// Reads `name@host` alone.
fn address(text: &str) -> Result<Address, MailError> {
    let wrong = |reason: String| MailError::Address { text: text.escape_debug().to_string(), reason };
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || "<>,;()\"".contains(c)) {
        return Err(wrong("it holds what no plain address holds".to_owned()));
    }
    text.parse::<Address>().map_err(|e| wrong(e.to_string()))
}

/// A mail, ready to be given to a server.
#[derive(Debug, Clone)]
pub struct Mail {
    /// Sender and recipient, as the server is told them.
    pub envelope: Envelope,
    /// The mail.
    pub bytes: Vec<u8>,
}

/// The identity of a message, which stays the same however often it is sent: what arrives twice can be dropped by it.
pub fn message_id(key: &str, from: &Mailbox) -> String {
    format!("<{}@{}>", identity(key), from.email.domain())
}

/// What a message is known by where it arrives: its key may hold what no header may.
pub(crate) fn identity(key: &str) -> String {
    sha256_hex(key.as_bytes())[..32].to_owned()
}

/// Writes the mail of a message. The same message gives the same bytes.
///
/// # Errors
///
/// An address or a file that cannot be in a mail.
pub fn build(config: &MailConfig, message: &Message, attachments: &[Attachment]) -> Result<Mail, MailError> {
    let from = mailbox(&config.from)?;
    let to = address(&message.address)?;
    let id = message_id(&message.key, &from);
    let boundary = |of: &str| sha256_hex(format!("{of} {id}").as_bytes())[..40].to_owned();
    let mut builder = Mime::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to.clone()))
        .message_id(Some(id.clone()))
        .date(SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(message.created_ms).unwrap_or(0)))
        .raw_header(subject(&message.title))
        // no robot answers a robot
        .raw_header(header("Auto-Submitted", "auto-generated"))
        .raw_header(header("X-Auto-Response-Suppress", "All"))
        .raw_header(header("X-Gpuledger-Kind", &message.kind));
    if let Some(reply_to) = &config.reply_to {
        builder = builder.reply_to(mailbox(reply_to)?);
    }
    let text = SinglePart::plain(message.body_text.clone());
    let body = match &message.body_html {
        Some(html) => MultiPart::alternative()
            .boundary(boundary("alternative"))
            .singlepart(text)
            .singlepart(SinglePart::html(html.clone())),
        None => MultiPart::alternative().boundary(boundary("alternative")).singlepart(text),
    };
    let mut whole = MultiPart::mixed().boundary(boundary("mixed")).multipart(body);
    for file in attachments {
        whole = whole.singlepart(part(file)?);
    }
    let write = |e: lettre::error::Error| MailError::Write { reason: e.to_string() };
    let mime = builder.multipart(whole).map_err(write)?;
    let envelope = Envelope::new(Some(from.email), vec![to]).map_err(write)?;
    Ok(Mail { envelope, bytes: mime.formatted() })
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

/// The subject. One that looks encoded already would be decoded by whoever reads it: it is encoded whole.
fn subject(title: &str) -> HeaderValue {
    let name = HeaderName::new_from_ascii_str("Subject");
    if !title.contains("=?") {
        return HeaderValue::new(name, title.to_owned());
    }
    let mut words = vec![String::new()];
    for c in title.chars() {
        if words.last().is_none_or(|word| word.len() + c.len_utf8() > ENCODED_WORD_BYTES) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let encoded: Vec<String> =
        words.iter().map(|word| format!("=?utf-8?b?{}?=", base64::encode(word.as_bytes()))).collect();
    HeaderValue::dangerous_new_pre_encoded(name, title.to_owned(), encoded.join("\r\n "))
}

fn part(file: &Attachment) -> Result<SinglePart, MailError> {
    let wrong =
        |reason: &str| MailError::Attachment { name: file.name.escape_debug().to_string(), reason: reason.to_owned() };
    if file.name.is_empty() || file.name.chars().any(|c| c.is_control() || c == '/' || c == '\\') {
        return Err(wrong("its name is no name of a file"));
    }
    let media_type = ContentType::parse(&file.media_type).map_err(|_| wrong("its media type is none"))?;
    Ok(Part::new(file.name.clone()).body(file.bytes.clone(), media_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_bring_a_header() {
        for bad in
            ["a@b.example\r\nBcc: x@y.example", "a@b.example, x@y.example", "A <a@b.example>", "a@b.example>", "a b@c"]
        {
            assert!(address(bad).is_err(), "{bad:?}");
        }
        assert!(mailbox("Name\r\nBcc: x@y.example <a@b.example>").is_err());
        let named = mailbox("GPU-Abrechnung é 算力 <gpu@example.org>").unwrap();
        assert_eq!(named.name.as_deref(), Some("GPU-Abrechnung é 算力"));
        assert_eq!(mailbox("gpu@example.org").unwrap().email.to_string(), "gpu@example.org");
    }

    #[test]
    fn an_identity_is_the_key_s() {
        let from = mailbox("gpu@example.org").unwrap();
        assert_eq!(message_id("a", &from), message_id("a", &from));
        assert_ne!(message_id("a", &from), message_id("b", &from));
        assert!(message_id("a\r\nb", &from).ends_with("@example.org>"));
    }
}
