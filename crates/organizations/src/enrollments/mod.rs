//! How people come to an organization by its domain: an invitation or a suggestion is made for everybody who has proven
//! an address of it. Those who do so later get it in the transaction that proves the address. Those who have one already
//! are found step by step: the first step is done at once, which is enough for most instances, the rest by a job.
//!
//! A step locks the organization, and whoever proves an address shares it, so nobody gets two.

pub mod model;
mod run;
pub mod store;

pub use run::{EnrollmentChange, Enrollments, begin, lock_for_newcomer, register};
