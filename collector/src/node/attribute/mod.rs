//! Whom a process belongs to, with the evidence: cgroup, then kubelet or scheduler record, then environment, then session.
