//! The description of the routes, OpenAPI 3.1, made of the one table that mounts them.

use serde_json::{Map, Value, json};

use crate::ask::{Basis, DIMENSIONS, Format, Lang, PAGE_MAX, Step, Unallocated};
use crate::route::{Body, Gives, Parameter, ParameterKind, Route, table};

/// The description.
pub fn document(version: &str) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in table() {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        entry[route.method.to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gpuledger",
            "version": version,
            "description": "Every GPU-millisecond accounted for once. Money and hours are decimal strings, unknown is null.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}}))
        .collect();
    parameters.extend(route.uses.iter().map(|name| uniform(name)));
    parameters.extend(route.parameters.iter().map(own));
    let roles: Vec<&str> = route.roles.iter().map(|r| r.word()).collect();
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.says,
        "parameters": parameters,
        "x-roles": roles,
        "responses": responses(route),
    });
    if let Some(body) = body(route.body) {
        operation["requestBody"] = body;
    }
    operation
}

/// `get_periods_period_close` and the like: a name for programs that are made of this.
fn operation_id(route: &Route) -> String {
    let path = route.path.trim_start_matches("/api/v1/");
    let words: String = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let words: Vec<&str> = words.split('_').filter(|w| !w.is_empty()).collect();
    format!("{}_{}", route.method.to_lowercase(), words.join("_"))
}

fn query(name: &str, says: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "query", "description": says, "required": false, "schema": schema})
}

fn words(of: &[&'static str]) -> Value {
    json!({"type": "string", "enum": of})
}

fn uniform(name: &str) -> Value {
    let text = json!({"type": "string"});
    let number = |least: u64, most: u64| json!({"type": "integer", "minimum": least, "maximum": most});
    match name {
        "month" => query(
            name,
            "A calendar month of the zone",
            &json!({"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}),
        ),
        "from" => {
            query(name, "First instant: a date (midnight in the zone) or RFC 3339 with an offset; with `to`", &text)
        }
        "to" => query(name, "First instant after", &text),
        "tz" => query(name, "IANA zone of days and months; the billing zone where it is not given", &text),
        "by" => {
            let list = json!({"type": "array", "items": words(DIMENSIONS)});
            let mut parameter = query(name, "What to group by, in order, separated by commas", &list);
            parameter["style"] = "form".into();
            parameter["explode"] = false.into();
            parameter
        }
        "filter" => {
            let list = json!({"type": "array", "items": {"type": "string", "pattern": "^[a-z_]+=.+$"}});
            query(name, "DIMENSION=WORD or DIMENSION=WORD|WORD; each narrows further", &list)
        }
        "step" => query(
            name,
            "A row per local day or month besides",
            &words(&Step::ALL.iter().map(|w| w.word()).collect::<Vec<_>>()),
        ),
        "basis" => {
            let known: Vec<&str> = Basis::ALL.iter().map(|w| w.word()).collect();
            query(name, "What is charged for, instead of what the terms of each pool say", &words(&known))
        }
        "unallocated" => {
            let known: Vec<&str> = Unallocated::ALL.iter().map(|w| w.word()).collect();
            query(name, "Who bears what nobody used, instead of what the terms of each pool say", &words(&known))
        }
        "as_of" => {
            query(name, "The cut of the lake to read; the newest where it is not given", &number(0, u64::MAX >> 1))
        }
        "format" => {
            query(name, "How the answer is written", &words(&Format::ALL.iter().map(|w| w.word()).collect::<Vec<_>>()))
        }
        "lang" => query(name, "Language of sentences", &words(&Lang::ALL.iter().map(|w| w.word()).collect::<Vec<_>>())),
        "limit" => query(name, "At most so many rows", &number(1, PAGE_MAX as u64)),
        _ => query(name, "Rows before the first that is sent", &number(0, u64::MAX >> 1)),
    }
}

fn own(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        ParameterKind::Text | ParameterKind::Needed => json!({"type": "string"}),
        ParameterKind::Number => json!({"type": "integer", "minimum": 0}),
        ParameterKind::Flag => json!({"type": "boolean"}),
    };
    let mut value = query(parameter.name, parameter.says, &schema);
    value["required"] = (parameter.kind == ParameterKind::Needed).into();
    value
}

fn body(body: Body) -> Option<Value> {
    let fields = match body {
        Body::None => return None,
        Body::Segment => {
            return Some(json!({"required": true, "content": {"application/vnd.apache.parquet": {"schema": {}}}}));
        }
        Body::Json(fields) => fields,
    };
    let (mut properties, mut needed) = (Map::new(), Vec::new());
    for field in fields {
        let name = field.trim_end_matches(['!', '?', '[', ']', '#']);
        let schema = match field {
            f if f.ends_with('#') => json!({"type": ["integer", "null"], "minimum": 0}),
            f if f.contains('?') => json!({"type": "boolean"}),
            f if f.contains("[]") => json!({"type": "array", "items": {"type": "string"}}),
            f if f.contains('#') => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
            f if f.contains('!') => json!({"type": "string"}),
            _ => json!({"type": ["string", "null"]}),
        };
        if field.ends_with('!') {
            needed.push(name);
        }
        properties.insert(name.to_owned(), schema);
    }
    let schema = json!({"type": "object", "properties": properties, "required": needed, "additionalProperties": false});
    Some(json!({"required": true, "content": {"application/json": {"schema": schema}}}))
}

fn responses(route: &Route) -> Value {
    let problem = |says: &str| {
        json!({
            "description": says,
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        })
    };
    let json_schema = |schema: Value| json!({"application/json": {"schema": schema}});
    let mut content = match route.gives {
        Gives::Report => json_schema(json!({"$ref": "#/components/schemas/Report"})),
        Gives::Json => json_schema(json!({"type": ["object", "array"]})),
        Gives::File => json!({"*/*": {"schema": {}}}),
        Gives::Events => json!({"text/event-stream": {"schema": {"type": "string"}}}),
    };
    if route.uses.contains(&"format") {
        content["text/csv"] = json!({"schema": {"type": "string"}});
        content["application/vnd.apache.parquet"] = json!({"schema": {}});
    }
    let done = match (route.method, route.path) {
        ("POST", path) if path.starts_with("/api/v1/tokens") => "201",
        ("POST", path) if path.ends_with("/wake") => "202",
        _ => "200",
    };
    let mut all = json!({
        "400": problem("A parameter or the body is wrong; the problem names it"),
        "401": problem("Nobody said who asks"),
        "403": problem("Who asks may not"),
        "404": problem("There is no such thing"),
        "409": problem("What is there stands against it"),
        "413": problem("The body is too large"),
        "421": problem("The server is not known under that name"),
        "429": problem("Too many requests"),
        "503": problem("The data cannot be read or written now"),
    });
    all[done] = json!({"description": "The answer", "content": content});
    if matches!(route.gives, Gives::Report | Gives::Json) && route.method == "GET" {
        all["304"] = json!({"description": "Who asks has it already (If-None-Match)"});
    }
    all
}

fn schemas() -> Value {
    json!({
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
                "parameter": {"type": "string"},
            },
            "additionalProperties": false,
        },
        "Report": {
            "type": "object",
            "required": ["sentence", "currency", "rows", "total", "notes"],
            "properties": {
                "sentence": {"type": "string"},
                "currency": {"type": ["string", "null"]},
                "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
                "total": {"anyOf": [{"$ref": "#/components/schemas/Row"}, {"type": "null"}]},
                "notes": {"type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": false,
        },
        "Row": {"type": "object", "additionalProperties": {"type": ["string", "integer", "null"]}},
    })
}
