//! How a group of resources, each in a crate of its own, joins the server.
//!
//! A group adds operations, and it may register what groups below it look up at run time. Nothing below ever names
//! a group above: it defines a type of its own to be registered, and finds whatever was.

use std::pin::Pin;

use axum::Router;
use latchkey_web::api::Api;
use latchkey_web::version::Change;

use crate::AppState;
use crate::aging::{AgedRows, InstanceHistory};
use crate::jobs::JobParts;
use crate::key_tickets::KeyTickets;
use crate::registry::Registry;

/// What a group adds to the server. Everything but the name has a default: nothing.
#[derive(Clone, Copy)]
pub struct Group {
    /// Its name, as `docs/ARCHITECTURE.md` lists it.
    pub name: &'static str,
    /// Adds its operations to the Backend API.
    pub backend: fn(&mut Api<AppState>),
    /// Adds its operations to the Frontend API.
    pub frontend: fn(&mut Api<AppState>),
    /// How its answers change for older versions, newest first.
    pub changes: &'static [Change],
    /// Registers what groups below look up.
    pub register: fn(&mut Registry),
    /// Adds what the frontend listener serves besides operations.
    pub pages: fn(Router<AppState>) -> Router<AppState>,
    /// Which of its rows get old, in the order in which they are deleted.
    pub aged: &'static [AgedRows],
    /// What it keeps for as long as the instance says.
    pub histories: &'static [InstanceHistory],
    /// Which tickets and link tokens it stores that backends make with a secret key.
    pub tickets: &'static [KeyTickets],
    /// Its work outside of requests. Each runs until the server stops, and may be dropped at any moment.
    pub jobs: fn(&JobParts) -> Vec<Job>,
}

/// Work outside of requests.
pub type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Group {
    /// A group that adds nothing yet.
    pub const fn named(name: &'static str) -> Group {
        Group {
            name,
            backend: |_| (),
            frontend: |_| (),
            changes: &[],
            register: |_| (),
            pages: |router| router,
            aged: &[],
            histories: &[],
            tickets: &[],
            jobs: |_| Vec::new(),
        }
    }
}
