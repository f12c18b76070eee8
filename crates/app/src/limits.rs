//! Every product limit, with the reason for its number; and the rate limits.

use latchkey_base::{Code, Error, Result, Time};
use latchkey_web::api::Operation;
use latchkey_web::query::decode;
use latchkey_web::throttle::{Limit, Throttle};

use crate::resources::instances::model::Environment;

/// Largest metadata of each kind, as published.
pub const METADATA_BYTES: usize = 8 * 1024;
/// Longest `external_id`: room for a URL or a composite key, and still a sane index entry.
pub const EXTERNAL_ID_CHARS: usize = 255;
/// Identifiers of one kind a user may have; each costs an index row and a line in every answer.
pub const IDENTIFICATIONS_PER_KIND: usize = 100;
/// Backup codes a user may have; imported bcrypt ones are each tried when a code is checked.
pub const BACKUP_CODES: usize = 20;
/// Wrong codes after which a verification has failed: 3 in a million is the chance to guess one code.
pub const VERIFICATION_ATTEMPTS: i64 = 3;
/// How long a code is good for.
pub const VERIFICATION_MS: i64 = 10 * 60 * 1000;
/// Least time between two codes to one phone number: text messages cost money.
pub const PHONE_CODE_PAUSE_MS: i64 = 30 * 1000;
/// Largest upload of a picture, as published.
pub const IMAGE_BYTES: usize = 10 * 1024 * 1024;
/// Messages shown by the development inbox.
pub const INBOX_MESSAGES: i64 = 100;

/// How strictly requests are counted.
#[derive(Clone, Debug, PartialEq)]
pub enum RateLimits {
    /// Not at all: for tests and hosts with one tenant.
    Off,
    /// By these numbers.
    On {
        /// All operations of a production instance together.
        production: Limit,
        /// All operations of a development instance together.
        development: Limit,
    },
}

const TEN_SECONDS: i64 = 10_000;

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits::On {
            production: Limit { requests: 1000, window_ms: TEN_SECONDS },
            development: Limit { requests: 100, window_ms: TEN_SECONDS },
        }
    }
}

/// Operations with a limit of their own for each object they change: the object is the first id in
/// the path, and the operations named together share one count.
const PER_OBJECT: &[(&[&str], Limit)] = &[(
    &["UpdateUser", "UpdateUserMetadata", "ReplaceUserMetadata"],
    Limit { requests: 10, window_ms: TEN_SECONDS },
)];

/// Operations that are never limited.
const UNLIMITED: &[&str] = &["GetJWKS"];

impl RateLimits {
    /// Counts a request of an instance; an error when it is one too many.
    pub async fn check(
        &self,
        throttle: &Throttle,
        who: (&str, Environment),
        operation: &Operation,
        path: &str,
        now: Time,
    ) -> Result<()> {
        let RateLimits::On { production, development } = self else { return Ok(()) };
        if UNLIMITED.contains(&operation.id) {
            return Ok(());
        }
        let (instance, environment) = who;
        let overall = match environment {
            Environment::Production => *production,
            Environment::Development => *development,
        };
        throttle.hit("instance", instance, overall, now).await.map_err(|wait| too_many(overall, wait))?;
        let own = PER_OBJECT.iter().find(|(operations, _)| operations.contains(&operation.id));
        if let Some((operations, limit)) = own {
            // An id may be written with escapes, and is still the same id.
            let id = decode(first_id(&operation.path, path)).unwrap_or_default();
            let key = format!("{instance}/{id}");
            throttle.hit(operations[0], &key, *limit, now).await.map_err(|wait| too_many(*limit, wait))?;
        }
        Ok(())
    }
}

/// The part of `path` that stands where `template` has its first `{parameter}`.
fn first_id<'a>(template: &str, path: &'a str) -> &'a str {
    let parts = template.split('/').zip(path.split('/'));
    parts.into_iter().find(|(template, _)| template.starts_with('{')).map_or("", |(_, id)| id)
}

fn too_many(limit: Limit, wait_seconds: i64) -> Error {
    let Limit { requests, window_ms } = limit;
    Error::new(Code::TooManyRequests)
        .saying(format!(
            "At most {requests} requests in {} seconds; try again in {wait_seconds} s.",
            window_ms / 1000
        ))
        .retry_after(wait_seconds)
}
