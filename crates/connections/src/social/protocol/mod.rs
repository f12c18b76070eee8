//! Speaking with providers: sending people there, and learning who they are when they come back.
//!
//! One driver for all providers, by their rows. Whatever a provider answers is judged here and never repeated: neither
//! tokens nor texts of its own get into errors or logs.

pub mod authorize;
pub mod connection;
mod discovery;
pub mod exchange;
mod http;
mod id_tokens;
mod jwks;
mod tokens;
mod visit;

pub use authorize::{AuthorizeRequest, authorize};
pub use connection::{Connection, find};
pub use discovery::ProviderDocuments;
pub use exchange::{CallbackParams, exchange, refresh};
pub use id_tokens::id_token;
pub use jwks::ProviderKeys;
pub use visit::{Granted, PendingVisit};

use discovery::endpoints;
use http::Caller;
use visit::{DEADLINE, Endpoints, caller, in_time, is_issuer};

pub use latchkey_people::external_accounts::tokens::ProviderTokens;

pub use super::providers::Profile;
