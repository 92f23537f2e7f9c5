//! A session with a mail server: one connection for many mails, each step with its deadline. What the server says of one
//! recipient is kept apart from what is wrong with the connection.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::Error as SmtpFault;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt, Rset};
use lettre::transport::smtp::extension::{ClientId, Extension, MailParameter};
use tokio::time::timeout;

use crate::config::{self, ConfigError, MailConfig, MailTls, Secret};

/// A session, open and authenticated.
pub struct Session {
    connection: AsyncSmtpConnection,
    deadline: Duration,
    broken: bool,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("broken", &self.broken).finish_non_exhaustive()
    }
}

/// A step of opening a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The files that the configuration names.
    Files,
    /// The connection, and with implicit TLS its protection, up to the server's greeting.
    Connect,
    /// Protection by STARTTLS.
    Tls,
    /// User and password.
    Auth,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
#[error("mail server {server}: {}: {reason}", match step {
    Step::Files => "files",
    Step::Connect => "connecting",
    Step::Tls => "TLS",
    Step::Auth => "authentication",
})]
pub struct OpenError {
    /// host:port.
    pub server: String,
    /// Where it ended.
    pub step: Step,
    /// Why.
    pub reason: String,
}

/// Why a mail was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Not now: an answer 4xx, or an answer about us and not about the recipient.
    Later(String),
    /// Not ever: an answer 5xx about this recipient or this mail.
    Never(String),
    /// The connection is gone, and nothing was taken.
    Lost(String),
    /// The connection is gone after everything was sent: nobody knows.
    Unknown(String),
}

impl Session {
    /// Opens a session.
    ///
    /// # Errors
    ///
    /// The step at which it ended, and why; no secret is in it.
    pub async fn open(config: &MailConfig) -> Result<Self, OpenError> {
        let server = format!("{}:{}", config.host, config.port());
        let at = |step: Step| {
            let server = server.clone();
            move |reason: String| OpenError { server, step, reason }
        };
        config.check().map_err(|e| at(Step::Files)(e.to_string()))?;
        let password = password(config).map_err(|e| at(Step::Files)(e.to_string()))?;
        let hello = config.hello.clone().map_or_else(ClientId::default, ClientId::Domain);
        let tls = tls(config).map_err(at(Step::Files))?;
        let implicit = if config.tls == MailTls::Implicit { tls.clone() } else { None };
        let to = (config.host.as_str(), config.port());
        let connecting = AsyncSmtpConnection::connect_tokio1(to, Some(config.timeout()), &hello, implicit, None);
        let mut connection = within(config.timeout(), connecting).await.map_err(at(Step::Connect))?;
        if config.tls == MailTls::Starttls
            && let Some(tls) = tls
        {
            within(config.timeout(), connection.starttls(tls, &hello)).await.map_err(at(Step::Tls))?;
        }
        if let (Some(user), Some(Secret(password))) = (&config.user, password) {
            let credentials = Credentials::new(user.clone(), password);
            let auth = connection.auth(&[Mechanism::Plain, Mechanism::Login], &credentials);
            within(config.timeout(), auth).await.map_err(at(Step::Auth))?;
        }
        Ok(Self { connection, deadline: config.timeout(), broken: false })
    }

    /// Whether no further mail can be sent over it.
    pub fn is_broken(&self) -> bool {
        self.broken || self.connection.has_broken()
    }

    /// Names sender and recipient. Nothing was sent yet.
    ///
    /// # Errors
    ///
    /// Why not; the session can be used for others unless [`Session::is_broken`].
    pub async fn address(&mut self, envelope: &Envelope) -> Result<(), Refusal> {
        let mut options = Vec::new();
        let addresses = envelope.from().into_iter().chain(envelope.to());
        if addresses.into_iter().any(|address| !AsRef::<str>::as_ref(address).is_ascii()) {
            if !self.connection.server_info().supports_feature(Extension::SmtpUtfEight) {
                return Err(Refusal::Never("the mail server takes no addresses outside of ASCII".to_owned()));
            }
            options.push(MailParameter::SmtpUtfEight);
        }
        let from = self.step(MailFrom::new(envelope.from().cloned(), options)).await;
        // An answer to the sender is about us: with another configuration the recipient may get it.
        from.map_err(|refusal| match refusal {
            Refusal::Never(why) => Refusal::Later(format!("the sender was refused: {why}")),
            other => other,
        })?;
        for recipient in envelope.to() {
            if let Err(refusal) = self.step(Rcpt::new(recipient.clone(), Vec::new())).await {
                self.forget().await;
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Sends the mail to whom [`Session::address`] named. What the server said when it took it.
    ///
    /// # Errors
    ///
    /// Why not, or that nobody knows.
    pub async fn content(&mut self, mail: &[u8]) -> Result<String, Refusal> {
        if let Err(refusal) = self.step(Data).await {
            self.forget().await;
            return Err(refusal);
        }
        match timeout(self.deadline, self.connection.message(mail)).await {
            Ok(Ok(answer)) => {
                let words: Vec<&str> = answer.message().collect();
                Ok(format!("{} {}", answer.code(), words.join(" ")).trim().to_owned())
            }
            Ok(Err(fault)) if fault.status().is_some() => Err(self.refusal(&fault)),
            Ok(Err(fault)) => {
                self.broken = true;
                Err(Refusal::Unknown(in_words(&fault)))
            }
            Err(_) => {
                self.broken = true;
                Err(Refusal::Unknown(format!("no answer within {} s after the mail was sent", self.deadline.as_secs())))
            }
        }
    }

    /// Drops what was named, so that the next mail begins anew.
    pub async fn forget(&mut self) {
        if !self.is_broken() && self.step(Rset).await.is_err() {
            self.broken = true;
        }
    }

    /// Says good-bye. What is answered does not matter.
    pub async fn close(mut self) {
        if !self.is_broken() {
            let _ = timeout(self.deadline, self.connection.quit()).await;
        }
    }

    async fn step<C: fmt::Display>(&mut self, command: C) -> Result<(), Refusal> {
        match timeout(self.deadline, self.connection.command(command)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(fault)) => Err(self.refusal(&fault)),
            Err(_) => {
                self.broken = true;
                Err(Refusal::Lost(format!("no answer within {} s", self.deadline.as_secs())))
            }
        }
    }

    fn refusal(&mut self, fault: &SmtpFault) -> Refusal {
        let Some(code) = fault.status() else {
            self.broken = true;
            return Refusal::Lost(in_words(fault));
        };
        // 421: the server ends the connection
        self.broken |= u16::from(code) == 421;
        if fault.is_permanent() { Refusal::Never(in_words(fault)) } else { Refusal::Later(in_words(fault)) }
    }
}

/// A step of lettre's within a deadline, its error in words.
async fn within<T>(deadline: Duration, step: impl Future<Output = Result<T, SmtpFault>>) -> Result<T, String> {
    match timeout(deadline, step).await {
        Ok(result) => result.map_err(|fault| in_words(&fault)),
        Err(_) => Err(format!("no answer within {} s", deadline.as_secs())),
    }
}

/// What the server answered, or what became of the connection, with its causes.
fn in_words(fault: &SmtpFault) -> String {
    let mut words = fault.to_string();
    let mut cause = fault.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    words
}

fn password(config: &MailConfig) -> Result<Option<Secret>, ConfigError> {
    config.password_file.as_deref().map(|path| config::secret("password_file", path)).transpose()
}

fn tls(config: &MailConfig) -> Result<Option<TlsParameters>, String> {
    if config.tls == MailTls::None {
        return Ok(None);
    }
    let mut builder = TlsParameters::builder(config.host.clone());
    if let Some(path) = &config.ca_file {
        let pem = config::certificates("ca_file", path).map_err(|e| e.to_string())?;
        let certificate = Certificate::from_pem(&pem).map_err(|e| format!("ca_file {}: {e}", path.display()))?;
        builder = builder.add_root_certificate(certificate);
    }
    builder.build().map(Some).map_err(|e| in_words(&e))
}
