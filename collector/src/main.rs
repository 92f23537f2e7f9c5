//! `gpuledger-collector`: what happens on a node.

fn main() {}
