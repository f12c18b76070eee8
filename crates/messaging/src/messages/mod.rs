//! E-mails and text messages to people: written here, inside the transaction that causes them, and sent by
//! a worker after the commit, or by the application that listens to the event.

pub mod data;
pub mod model;
pub mod rules;
pub mod sending;
pub mod store;
pub mod view;
