//! Domains of an application: its own, which the host of its Frontend API names, and its satellites, which
//! lie in the settings of the instance. The hosts of satellites are kept beside the settings, because they
//! tell the instance of a request.

pub mod ids;
pub mod rules;
pub mod store;
