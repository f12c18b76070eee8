//! The templates of e-mails and text messages: defaults of ours, and what an instance made of them.
//!
//! The language they are written in, and the defaults, are the crate `latchkey_letters`.
//! An instance can change texts, look and sender of a template, deliver it by itself, and add a variant
//! for each locale. It cannot add templates: nothing would ever send them.

pub mod backend;
pub mod events;
pub mod guard;
pub mod input;
pub mod locales;
pub mod model;
pub mod rules;
pub mod store;
pub mod view;
