//! What can be typed to serve, to make tokens, and to have a place looked at.

use std::net::SocketAddr;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct Serve {
    /// Address and port to listen on [default: server.listen of the configuration, else 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Print an address that signs in as admin, for as long as this server runs (printed anyway where there are no tokens)
    #[arg(long)]
    pub(crate) link: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenDo {
    /// Make a token; its secret is printed once
    Create(TokenGrant),
    /// Every token, without secrets
    List,
    /// Make a token in the place of another, which stays good for some hours
    Rotate {
        /// Id of the token
        id: String,
        /// Days for which the new one counts
        #[arg(long, default_value_t = 90)]
        days: u32,
        /// Hours for which the old one still counts
        #[arg(long, default_value_t = 24)]
        hours: u32,
    },
    /// Take a token back at once
    Revoke {
        /// Id of the token
        id: String,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TokenGrant {
    /// Who bears it: the name that stands in the audit log
    pub(crate) name: String,
    /// admin, finance, lead, member, operator, node or metrics
    #[arg(long)]
    pub(crate) role: String,
    /// Team of a lead; may be repeated
    #[arg(long = "team", value_name = "TEAM")]
    pub(crate) teams: Vec<String>,
    /// User name of a member on the clusters
    #[arg(long)]
    pub(crate) user: Option<String>,
    /// Node of a node's token
    #[arg(long)]
    pub(crate) node: Option<String>,
    /// Days for which it counts, 1 to 366
    #[arg(long, default_value_t = 90)]
    pub(crate) days: u32,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Doctor {
    /// Also send a test to mail and webhooks that are configured
    #[arg(long)]
    pub(crate) send: bool,
}
