//! The templates of e-mails and text messages: defaults of ours, and what an instance made of them.
//!
//! `catalogue` is the fixed list of system templates; `layout` makes one look of all e-mails. `syntax`
//! reads what people write, `markup` tells where in a page a variable stands, and `render` fills it in.
//! An instance can change texts, look and sender of a template, deliver it by itself, and add a variant
//! for each locale. It cannot add templates: nothing would ever send them.

pub mod backend;
pub mod branches;
pub mod catalogue;
pub mod guard;
pub mod input;
pub mod layout;
pub mod locales;
pub mod markup;
pub mod model;
pub mod plain;
pub mod render;
pub mod required;
pub mod rules;
pub mod samples;
pub mod store;
pub mod syntax;
pub mod variables;
pub mod view;
pub mod visibility;
pub mod writing;

#[cfg(test)]
mod tests;
