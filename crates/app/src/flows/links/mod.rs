//! Links people follow that lead somewhere else: tickets, redirects that were checked, and the way between
//! the domains of one application.

pub mod frontend;
pub mod sync;
