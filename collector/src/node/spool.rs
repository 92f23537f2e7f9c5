//! From rows to the inbox: journal, sealed segments, delivery. Nothing is lost but what the stated bound drops, and that
//! is written down.
