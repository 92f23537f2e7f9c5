//! Messages of the kubelet's pod-resources service, version 1, as far as they are read. What else they hold is skipped.

/// Path of the request for all pods.
pub(super) const LIST: &str = "/v1.PodResourcesLister/List";
/// Path of the request for all devices that can be given to pods.
pub(super) const ALLOCATABLE: &str = "/v1.PodResourcesLister/GetAllocatableResources";

/// A request without fields.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Nothing {}

/// Answer of [`LIST`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct Listed {
    /// The pods.
    #[prost(message, repeated, tag = "1")]
    pub pods: Vec<Pod>,
}

/// Answer of [`ALLOCATABLE`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct Allocatable {
    /// The devices.
    #[prost(message, repeated, tag = "1")]
    pub devices: Vec<Devices>,
}

/// A pod. It has no UID here.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Pod {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its namespace.
    #[prost(string, tag = "2")]
    pub namespace: String,
    /// Its containers.
    #[prost(message, repeated, tag = "3")]
    pub containers: Vec<Container>,
}

/// A container. It has no id here.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Container {
    /// Its name in the pod.
    #[prost(string, tag = "1")]
    pub name: String,
    /// What device plugins gave it.
    #[prost(message, repeated, tag = "2")]
    pub devices: Vec<Devices>,
    /// What it has through resource claims.
    #[prost(message, repeated, tag = "5")]
    pub claims: Vec<Claim>,
}

/// Devices of one resource.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Devices {
    /// The resource, as `nvidia.com/gpu`.
    #[prost(string, tag = "1")]
    pub resource: String,
    /// Ids in the plugin's own form.
    #[prost(string, repeated, tag = "2")]
    pub ids: Vec<String>,
}

/// A resource claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Claim {
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Its namespace.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// What it was given.
    #[prost(message, repeated, tag = "4")]
    pub resources: Vec<Claimed>,
}

/// A device of a claim.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Claimed {
    /// The driver, as `gpu.nvidia.com`.
    #[prost(string, tag = "2")]
    pub driver: String,
    /// The pool: the node's name.
    #[prost(string, tag = "3")]
    pub pool: String,
    /// The device in the pool, as `gpu-0`.
    #[prost(string, tag = "4")]
    pub device: String,
}
