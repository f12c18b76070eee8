//! Domains that an organization names as its own, such as that of a company. Somebody who receives mail there, or the
//! application, says that the domain is the organization's; then its people can join in the way the domain says:
//! by an invitation that waits for them, by asking, or not by themselves.
//!
//! Two proofs are told apart. The affiliation makes a domain verified, and lets people join; a name is verified for one
//! organization of an instance at most. The ownership, by a TXT record of the zone, is shown beside it for those who
//! need more than a mailbox; nobody joins by it.

pub mod backend;
pub mod change;
pub mod input;
pub mod list;
pub mod model;
pub mod ownership;
pub mod rules;
pub mod store;
pub mod view;
