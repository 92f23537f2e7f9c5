//! The way in for nodes: a segment, whole, under its name. Bringing it again changes nothing.

use axum::body::Body as RequestBody;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::put;
use futures::StreamExt as _;
use gpuledger_schema::hash::hex;
use gpuledger_schema::path::{SegmentName, safe_writer};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Answered, Body, Gives, Route, Words, json_of};
use crate::problem::Problem;
use crate::state::App;
use crate::who::{Asker, Role};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "PUT",
    path: "/api/v1/ingest/{segment}",
    says: "A node brings a segment, <table>~<node>~<hash>.parquet; the name proves its bytes, and bringing it again is the same",
    roles: &[Role::Node],
    uses: &[],
    parameters: &[],
    body: Body::Segment,
    gives: Gives::Json,
    answered: Answered::Own(|| put(bring)),
}];

async fn bring(
    State(app): State<App>,
    Asker(who): Asker,
    Path(words): Path<Words>,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let node = who.node.ok_or_else(|| Problem::forbidden("this token names no node"))?;
    let text = words.get("segment").map_or("", String::as_str);
    let name = SegmentName::parse(text)
        .ok_or_else(|| Problem::parameter("segment", format!("`{text}` is not <table>~<writer>~<hash>.parquet")))?;
    if name.writer != safe_writer(&node) {
        return Err(Problem::forbidden(format!("the token is of node `{node}`, the segment of `{}`", name.writer)));
    }
    let limit = app.settings().segment_bytes;
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if announced.is_some_and(|n| n > limit as u64) {
        return Err(too_large(limit));
    }
    let bytes = whole(body, limit).await?;
    let found = hex(&Sha256::digest(&bytes));
    if !found.starts_with(&name.hash) {
        let text = format!("the bytes have hash {}, the name says {}", &found[..32], name.hash);
        return Err(Problem::parameter("segment", text));
    }
    let size = bytes.len();
    app.answers().deliver(&safe_writer(&node), text, bytes).await?;
    app.loops().wake("ingest");
    Ok(json_of(&json!({"segment": text, "bytes": size}), StatusCode::OK))
}

/// Reads a body piece by piece and stops at the limit.
async fn whole(body: RequestBody, limit: usize) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the segment was cut off on its way"))?;
        if bytes.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn too_large(limit: usize) -> Problem {
    let text = format!("a segment has at most {limit} bytes: seal smaller ones and bring each");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, text)
}
