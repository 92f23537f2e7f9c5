//! `job`: what a user asked for, in one reading of one record.

super::table! {
    /// A request as one record of its scheduler (or job table) shows it. The newest as-of of a key counts.
    JobRow: "job", grain "request record", key ["job_id", "as_of_ms"], by_day false {
        job_id: i64, Id, "id of cluster, raw id and this record's submit instant";
        cluster: String, None, "cluster";
        job_raw: String, None, "raw job id (array task's own, het component's own), or pod UID";
        submit_ms: i64, Instant, "submit instant of this record";
        eligible_ms: Option<i64>, Instant, "when it could have started";
        het_leader: Option<String>, None, "raw id of the het job's leader, where it is a component";
        array_job: Option<String>, None, "id of the array it is a task of";
        array_task: Option<i64>, Count, "index in the array";
        tasks: i64, Count, "tasks this record stands for (a pending array is one record)";
        state: String, None, "state of the request";
        user: Option<String>, None, "user name, or uid:<number>";
        account: Option<String>, None, "account, project or namespace";
        queue: Option<String>, None, "partition or queue";
        qos: Option<String>, None, "quality of service";
        name: Option<String>, None, "job name (a label, never a key)";
        labels: Option<String>, None, "labels as key=value, one a line, sorted";
        workload_kind: Option<String>, None, "kind of the owning workload, e.g. Deployment";
        priority: Option<i64>, Count, "priority";
        reservation: Option<String>, None, "reservation";
        comment: Option<String>, None, "comment";
        req_gpu_units: Option<i64>, Count, "GPUs asked for, in share units of a card; absent: not said";
        req_model: Option<String>, None, "model asked for";
        req_mem_bytes: Option<i64>, Bytes, "host memory asked for";
        req_gpu_mem_bytes: Option<i64>, Bytes, "GPU memory asked for, where the source says";
        req_cpus: Option<i64>, Count, "CPUs asked for";
        req_nodes: Option<i64>, Count, "nodes asked for";
        time_limit_ms: Option<i64>, Ms, "time limit";
        source: String, None, "what the record was read from";
        as_of_ms: i64, Instant, "as-of of that reading";
        pending_reason: Option<String>, None, "why it waits, in the scheduler's own word (Resources, QOSMaxGRESPerUser, Unschedulable)";
        workload_uid: Option<String>, None, "UID of the workload that owns the pod, as far up as it could be followed";
        workload_name: Option<String>, None, "name of that workload (a label, never a key)";
        workload_replicas: Option<i64>, Count, "replicas that workload asks for";
        priority_class: Option<String>, None, "priority class";
        limit_cpus_milli: Option<i64>, Count, "CPU limit in thousandths of a CPU; absent: none";
        limit_mem_bytes: Option<i64>, Bytes, "host memory limit; absent: none";
        gone_ms: Option<i64>, Instant, "when it left the queue without a run, where the source says so";
    }
}
