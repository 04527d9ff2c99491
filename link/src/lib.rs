//! What latpcap puts between a client and its server. All that has a clock, sockets or namespaces is here, not in `core/`.

pub mod delay;
#[cfg(target_os = "linux")]
pub mod network;
pub mod relay;
pub mod rests;
