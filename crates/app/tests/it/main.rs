//! HTTP tests of the whole server, in the process, on the engine that `TEST_DATABASE_URL` chooses.
//!
//! `make test` runs all of them on SQLite, and on PostgreSQL those in a module `both_engines`: tests whose result can
//! depend on the engine (`docs/ARCHITECTURE.md`, Tests).
#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail the test")]

mod accounts;
mod active_organization;
mod actor_tokens;
mod application_invitations;
mod architecture;
mod bad_inputs;
mod both_engines {
    mod deliveries;
    mod events;
    pub(crate) mod feed;
    mod harness;
    mod invariants;
    mod jobs;
    mod lists;
    mod paging;
    mod post;
    mod searches;
    mod stores;
    mod table;
    mod turns;
}
mod clients;
mod clock_steps;
mod contract;
mod credentials;
mod documents;
mod domains;
mod email_addresses;
mod entry_lists;
mod environment;
mod factors;
mod frontend;
mod inbox;
mod instance_settings;
mod interstitial;
mod jwt_templates;
mod layers;
mod leaked_keys;
mod mailboxes;
mod me;
mod messages;
mod metadata;
mod organization_domains;
mod organization_invitations;
mod organizations;
mod passkeys;
mod phone_numbers;
mod pictures;
mod portal_links;
mod providers;
mod rate_limits;
mod redirect_urls;
mod requirements;
mod restrictions;
mod reverification;
mod role_sets;
mod roles;
mod scripts;
mod sessions;
mod sign_in_tokens;
mod sign_ins;
mod sign_ups;
mod slow_work;
mod social;
mod sockets;
mod templates;
mod testing_tokens;
mod trusted_devices;
mod unbuilt;
mod updates;
mod users;
mod verifications;
mod waitlist;
mod wallets;
mod webhooks;
mod wire;
mod writers;
