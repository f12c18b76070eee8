//! What is left to do after a request, because it is too much for one transaction: a job does it step by step. Whatever
//! has waited longest has the next step, of whatever instance, so all go on side by side. What fails waits for a while,
//! and nothing waits for it.

mod run;

pub use run::{Background, WorkProgress, WorkRows, job, run, step};
