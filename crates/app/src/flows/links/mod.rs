//! Links people follow that lead somewhere else: tickets, and redirects that were checked.

pub mod frontend;
