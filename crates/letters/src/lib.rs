//! The template language of e-mails and text messages, and the templates that come with the server. Pure: text in,
//! text out; it knows no instance, no person and no table.
//!
//! `catalogue` is the fixed list of templates; `layout` makes one look of all e-mails. `syntax` reads what people
//! write, `markup` tells where in a page a variable stands, `visibility` and `branches` whether a reader sees it, and
//! `render` fills it in (`translations` keeps what it read). `writing` makes a whole message.

#![warn(missing_docs)]

pub mod branches;
pub mod catalogue;
pub mod layout;
pub mod limits;
pub mod markup;
pub mod model;
pub mod plain;
pub mod render;
pub mod required;
pub mod samples;
pub mod syntax;
mod translations;
pub mod variables;
pub mod visibility;
pub mod writing;

#[cfg(test)]
mod tests;
