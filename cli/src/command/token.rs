//! `token`: who may ask the server.

use gpuledger_aggregator::report::Format;
use gpuledger_control::{Control, Grant, Minted, Who};
use gpuledger_schema::unit::{DAY_MS, HOUR_MS};
use gpuledger_schema::window::show_ms;

use super::reference::actor;
use super::{print, sql};
use crate::args::TokenDo;
use crate::clock;
use crate::outcome::{Outcome, usage};
use crate::place::Place;

const HEADER: [&str; 9] = ["id", "name", "role", "teams", "user", "node", "created", "expires", "state"];

pub(super) async fn run(place: &Place, what: TokenDo, format: Format) -> anyhow::Result<Outcome> {
    let lake = place.lake_to_write()?;
    if matches!(what, TokenDo::List) {
        let tokens = place.control(&lake)?.map(|c| c.tokens()).transpose()?.unwrap_or_default();
        return list(place, &tokens, format);
    }
    // the right to write is asked of a server too, which then forgets what it remembers of tokens
    let _right = place.writer(&lake).await?;
    let mut control: Control = place.control_to_write(&lake)?;
    let now_ms = clock::now_ms();
    let who = Who { actor: actor(), at_ms: now_ms, ..Who::default() };
    match what {
        TokenDo::List => {}
        TokenDo::Create(asked) => {
            let grant = Grant {
                name: asked.name,
                role: asked.role,
                teams: asked.teams.into_iter().collect(),
                user: asked.user,
                node: asked.node,
            };
            let until = now_ms + i64::from(asked.days) * DAY_MS;
            let made = control.mint(&grant, until, random()?, &who).map_err(|e| usage(e.to_string()))?;
            tell(place, &made, format)?;
        }
        TokenDo::Rotate { id, days, hours } => {
            let (until, old) = (now_ms + i64::from(days) * DAY_MS, now_ms + i64::from(hours) * HOUR_MS);
            let made = control.rotate_token(&id, until, old, random()?, &who).map_err(|e| usage(e.to_string()))?;
            tell(place, &made, format)?;
        }
        TokenDo::Revoke { id } => {
            control.revoke_token(&id, &who).map_err(|e| usage(e.to_string()))?;
            print(format!("token {id} is taken back\n").as_bytes())?;
        }
    }
    Ok(Outcome::Done)
}

/// Bytes that nobody can guess.
pub(crate) fn random() -> anyhow::Result<[u8; 32]> {
    let mut bytes = [0_u8; 32];
    getrandom::getrandom(&mut bytes).map_err(|e| anyhow::anyhow!("the system gives no randomness: {e}"))?;
    Ok(bytes)
}

fn tell(place: &Place, made: &Minted, format: Format) -> anyhow::Result<()> {
    let zone = place.zone(None)?.unwrap_or(chrono_tz::UTC);
    let grant = &made.token.grant;
    let until = show_ms(made.token.expires_ms, zone);
    match format {
        Format::Json => {
            let told = serde_json::json!({
                "id": made.token.id, "name": grant.name, "role": grant.role, "expires": until, "secret": made.secret,
            });
            print(format!("{told:#}\n").as_bytes())
        }
        _ => print(
            format!(
                "{}\n\ntoken {} of {} ({}), until {until}; it is shown this once\n",
                made.secret, made.token.id, grant.name, grant.role
            )
            .as_bytes(),
        ),
    }
}

fn list(place: &Place, tokens: &[gpuledger_control::Token], format: Format) -> anyhow::Result<Outcome> {
    let zone = place.zone(None)?.unwrap_or(chrono_tz::UTC);
    let now_ms = clock::now_ms();
    let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let row = |t: &gpuledger_control::Token| -> Vec<String> {
        let teams: Vec<&str> = t.grant.teams.iter().map(String::as_str).collect();
        let teams = if teams.is_empty() { "-".to_owned() } else { teams.join(",") };
        vec![
            t.id.clone(),
            t.grant.name.clone(),
            t.grant.role.clone(),
            teams,
            dash(&t.grant.user),
            dash(&t.grant.node),
            show_ms(t.created_ms, zone),
            show_ms(t.expires_ms, zone),
            t.state(now_ms).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = tokens.iter().map(row).collect();
    match format {
        Format::Table if rows.is_empty() => print(b"no tokens: `gpuledger token create NAME --role ROLE` makes one\n")?,
        Format::Table => {
            let header = HEADER.map(str::to_owned);
            print(sql::text_table(&header, &rows).as_bytes())?;
        }
        Format::Json => {
            let object = |row: &Vec<String>| -> serde_json::Map<String, serde_json::Value> {
                HEADER.iter().zip(row).map(|(h, v)| ((*h).to_owned(), v.clone().into())).collect()
            };
            print(format!("{:#}\n", serde_json::json!(rows.iter().map(object).collect::<Vec<_>>())).as_bytes())?;
        }
        Format::Csv | Format::Parquet => return Err(usage("tokens are listed as table or json")),
    }
    Ok(Outcome::Done)
}
