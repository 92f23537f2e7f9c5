//! `reading`: every look at a scheduler, a node or a file, successful or not.

super::table! {
    /// One look at a source. Looks of one time that saw different things (a cut file, then the whole one) are two looks.
    ReadingRow: "reading", grain "look at a source", key ["source", "kind", "cluster", "read_at_ms", "from_ms", "to_ms", "ok", "rows"], by_day false {
        source: String, None, "what was read: a file's name without its folder, a command, a node";
        kind: String, None, "import, scheduler or node";
        cluster: String, None, "cluster the look was about";
        node: Option<String>, None, "node, where the look was about one";
        read_at_ms: i64, Instant, "when it was read (an import: its as-of)";
        from_ms: i64, Instant, "start of the time it speaks of";
        to_ms: i64, Instant, "end of the time it speaks of: nothing later is known from it";
        ok: bool, None, "whether it succeeded";
        rows: i64, Count, "rows it gave";
        error: Option<String>, None, "why it failed";
    }
}
