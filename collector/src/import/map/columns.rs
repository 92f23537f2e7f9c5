//! Which columns a map names, and under which key.

use super::{Count, Instant, Map, Memory, Span, State, Text};

/// The keys and columns gathered so far.
struct Named<'a>(Vec<(String, &'a str)>);

impl<'a> Named<'a> {
    fn put(&mut self, key: &str, column: Option<&'a str>) {
        self.0.extend(column.map(|c| (key.to_owned(), c)));
    }
    fn text(&mut self, key: &str, text: Option<&'a Text>) {
        self.put(key, text.and_then(Text::column));
    }
    fn count(&mut self, key: &str, count: Option<&'a Count>) {
        self.text(key, count.map(|c| &c.value));
    }
    fn memory(&mut self, key: &str, memory: Option<&'a Memory>) {
        self.put(key, memory.map(|m| m.column.as_str()));
    }
    fn span(&mut self, key: &str, span: Option<&'a Span>) {
        self.put(key, span.map(|s| s.column.as_str()));
    }
    fn instant(&mut self, key: &str, instant: Option<&'a Instant>) {
        if let Some(Instant::Column { column, .. }) = instant {
            self.put(key, Some(column));
        }
    }
}

impl Map {
    /// Every column the map names, with the key that names it, in the order of the map.
    pub(crate) fn named_columns(&self) -> Vec<(String, &str)> {
        let mut out = Named(Vec::new());
        self.name_times_and_job(&mut out);
        self.name_amounts(&mut out);
        out.0
    }

    fn name_times_and_job<'a>(&'a self, out: &mut Named<'a>) {
        let (time, job) = (&self.time, &self.job);
        out.instant("time.submit", Some(&time.submit));
        out.instant("time.eligible", time.eligible.as_ref());
        out.instant("time.start", Some(&time.start));
        out.instant("time.end", time.end.as_ref());
        out.span("time.duration", time.duration.as_ref());
        out.put("job.id", job.id.as_deref());
        out.text("job.user", job.user.as_ref());
        out.text("job.account", job.account.as_ref());
        out.text("job.queue", job.queue.as_ref());
        out.text("job.qos", job.qos.as_ref());
        out.text("job.name", job.name.as_ref());
        out.text("job.workload_kind", job.workload_kind.as_ref());
        out.text("job.exit_code", job.exit_code.as_ref());
        for (key, text) in &job.labels {
            out.text(&format!("job.labels.{key}"), Some(text));
        }
        if let State::Column { column, .. } = &self.state {
            out.put("state.column", Some(column));
        }
    }

    fn name_amounts<'a>(&'a self, out: &mut Named<'a>) {
        let (granted, asked) = (&self.granted, &self.asked);
        out.count("granted.gpus", Some(&granted.gpus));
        out.count("granted.gpu_share", granted.gpu_share.as_ref());
        out.text("granted.model", granted.model.as_ref());
        out.text("granted.node", granted.node.as_ref());
        out.text("granted.nodes", granted.nodes.as_ref());
        out.count("granted.node_count", granted.node_count.as_ref());
        out.count("granted.cpus", granted.cpus.as_ref());
        out.memory("granted.mem", granted.mem.as_ref());
        out.memory("granted.gpu_mem", granted.gpu_mem.as_ref());
        out.count("asked.gpus", asked.gpus.as_ref());
        out.count("asked.gpu_share", asked.gpu_share.as_ref());
        out.text("asked.model", asked.model.as_ref());
        out.count("asked.node_count", asked.node_count.as_ref());
        out.count("asked.cpus", asked.cpus.as_ref());
        out.memory("asked.mem", asked.mem.as_ref());
        out.memory("asked.gpu_mem", asked.gpu_mem.as_ref());
        out.span("asked.time_limit", asked.time_limit.as_ref());
        for average in &self.averages {
            out.put(&format!("average.{}", average.measure.as_str()), Some(&average.column));
        }
    }
}
