//! What people who are signed in do in organizations. What a member may do follows from the role; `member.rs` checks it.

pub mod affiliation;
mod answers;
pub mod defaults;
pub mod domains;
pub mod invitations;
pub mod logo;
pub mod member;
pub mod members;
pub mod mine;
pub mod ownership;
pub mod profile;
pub mod requests;
pub mod roles;
mod routes;
pub mod suggestions;
pub mod tickets;

pub use routes::routes;

use answers::{Memberships, show, show_member, show_members};
