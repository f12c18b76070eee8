//! Every product limit, with the reason for its number; and the rate limits.

use std::net::Ipv6Addr;
use std::time::Duration;

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
/// Unproven ones of a kind among them that people may add to their own account: each lets them have mail
/// sent to a stranger.
pub const UNVERIFIED_IDENTIFICATIONS: usize = 5;
/// Backup codes a user may have; imported bcrypt ones are each tried when a code is checked.
pub const BACKUP_CODES: usize = 20;
/// Wrong codes after which a verification has failed: 3 in a million is the chance to guess one code.
pub const VERIFICATION_ATTEMPTS: i64 = 3;
/// How long a code is good for.
pub const VERIFICATION_MS: i64 = 10 * 60 * 1000;
/// Least time between two codes to one phone number: text messages cost money.
pub const PHONE_CODE_PAUSE_MS: i64 = 30 * 1000;
/// Text messages people may have sent to one number in a while, whatever the attempt or the browser: as many
/// as for one challenge. Whoever knows a number could run up a bill with it otherwise.
pub const TEXTS_PER_NUMBER: i64 = 10;
/// How long that while is.
pub const TEXTS_WINDOW_MS: i64 = 3600 * 1000;
/// Codes or links sent for one challenge.
pub const CHALLENGE_SENDINGS: i64 = 10;
/// How long a session may lie idle where the instance sets no limit: longer than any lifetime that is usual.
pub const SESSION_ABANDON_MS: i64 = 30 * 24 * 3600 * 1000;
/// Least time between two notes that a session was used.
pub const SESSION_TOUCH_MS: i64 = 10 * 60 * 1000;
/// How long somebody may act as another, as published.
pub const ACTOR_SESSION_MS: i64 = 30 * 60 * 1000;
/// How long such a session may lie idle.
pub const ACTOR_IDLE_MS: i64 = 10 * 60 * 1000;
/// How long an actor token is good for unless told otherwise, as published.
pub const ACTOR_TOKEN_SECONDS: i64 = 3600;
/// Largest actor as JSON: with the other claims it still fits into a cookie.
pub const ACTOR_BYTES: usize = 2048;
/// How long a sign-in token is good for unless told otherwise, as published.
pub const SIGN_IN_TOKEN_SECONDS: i64 = 30 * 24 * 3600;
/// How long after its end a token can be renewed without sending the browser around.
pub const RENEWAL_MS: i64 = 24 * 3600 * 1000;
/// How long a testing token is good for, as published.
pub const TESTING_TOKEN_SECONDS: i64 = 3600;
/// How long attempts to sign in or up stay open, as published.
pub const ATTEMPT_MS: i64 = 24 * 3600 * 1000;
/// How long a backend may take to fetch what a handshake left for it.
pub const HANDSHAKE_MS: i64 = 60 * 1000;
/// How long a browser may take from the primary domain to a satellite: it is sent there at once.
pub const SYNC_MS: i64 = 60 * 1000;
/// How long sessions are kept after their time is over, for lists and for those who look into a case.
pub const SESSION_RETENTION_MS: i64 = 30 * 24 * 3600 * 1000;
/// How long a browser nobody is signed in on is remembered: longer than a session of a week is kept, so that few
/// of those whose time has come still hold one.
pub const CLIENT_RETENTION_MS: i64 = 45 * 24 * 3600 * 1000;
/// How long a browser keeps what proves it: the longest browsers allow, 400 days.
pub const CLIENT_TOKEN_MS: i64 = 400 * 24 * 3600 * 1000;
/// Largest upload of a picture, as published.
pub const IMAGE_BYTES: usize = 10 * 1024 * 1024;
/// Callers who wait for events at once; each looks twice a second.
pub const FEED_WAITERS: usize = 500;
/// Bytes of events read at once, for a page or for an endpoint: a message can have most of a megabyte.
pub const EVENTS_BYTES: usize = 8 * 1024 * 1024;
/// Events in a page of the feed unless told otherwise.
pub const EVENTS_PAGE: i64 = 100;
/// Longest wait for an event; a request has 30 seconds in all.
pub const EVENT_WAIT_SECONDS: u64 = 25;
/// Messages shown by the development inbox.
pub const INBOX_MESSAGES: i64 = 100;
/// Longest wait for a message that can be asked for.
pub const INBOX_WAIT_SECONDS: u64 = 30;
/// Longest wait there is: a little less than a request may take.
pub const INBOX_PATIENCE: Duration = Duration::from_secs(29);
/// Callers who wait for messages at once; each looks several times a second.
pub const INBOX_WAITERS: usize = 100;
/// How long the link to the inbox that the server prints is good.
pub const INBOX_PASS_MS: i64 = 24 * 3600 * 1000;

/// Largest body of a template: mail programs show the first 102 KB of an e-mail and hide the rest.
pub const TEMPLATE_BODY_BYTES: usize = 100 * 1024;
/// Longest subject line; what mail programs show is a fraction of it.
pub const TEMPLATE_SUBJECT_CHARS: usize = 250;
/// Longest name of a template.
pub const TEMPLATE_NAME_CHARS: usize = 100;
/// Longest local part of an address, by RFC 5321.
pub const LOCAL_PART_CHARS: usize = 64;
/// Longest text message: ten parts, which is where providers stop.
pub const SMS_CHARS: usize = 1530;
/// What a message may grow to once it is filled in; names and metadata come on top of the body.
pub const TEMPLATE_OUTPUT_BYTES: usize = 4 * TEMPLATE_BODY_BYTES;
/// Steps a template may take. There are no loops, so only the largest bodies come near.
pub const TEMPLATE_FUEL: u64 = 50_000;
/// Variants of one template: more than there are languages with an ISO code of two letters.
pub const TEMPLATE_LOCALES: i64 = 200;
/// Changes of templates an instance may make: a deployment that writes each in several languages fits.
pub const TEMPLATE_CHANGES: Limit = Limit { requests: 500, window_ms: 3600 * 1000 };
/// Suspicious bodies an instance may try before its templates are locked for the rest of the hour.
pub const TEMPLATE_SUSPICIONS: Limit = Limit { requests: 5, window_ms: 3600 * 1000 };

/// Largest claims of a JWT template as JSON: twice what fits into a cookie, as shortcodes are longer than
/// most values.
pub const JWT_CLAIMS_BYTES: usize = 8 * 1024;
/// Deepest nesting of those claims; readers of tokens stop at some depth, and metadata comes on top.
pub const JWT_CLAIMS_DEPTH: usize = 32;
/// Largest claims with the values of a user in them: all metadata fit, and no server takes larger headers.
pub const JWT_RENDERED_BYTES: usize = 32 * 1024;
/// Largest token a template may make at the time it is saved: a cookie has 4096 bytes, name included.
pub const JWT_TOKEN_BYTES: usize = 4000;
/// Users whose tokens are measured when a template is saved. The largest document need not make the
/// largest token, but one of the largest will.
pub const JWT_USERS_MEASURED: i64 = 20;
/// Longest name of a JWT template, which is part of a path.
pub const JWT_TEMPLATE_NAME_CHARS: usize = 128;

/// Endpoints an instance may have; every event is sent to each that wants it.
pub const WEBHOOK_ENDPOINTS: i64 = 50;
/// Longest address of an endpoint; servers and proxies take no longer ones for sure.
pub const WEBHOOK_URL_CHARS: usize = 2048;
/// Longest description of an endpoint.
pub const WEBHOOK_DESCRIPTION_CHARS: usize = 500;
/// Secrets of an endpoint that sign at once; each makes a header longer.
pub const WEBHOOK_SECRETS: usize = 3;
/// How long an old secret goes on signing unless told otherwise.
pub const WEBHOOK_SECRET_OVERLAP_SECONDS: i64 = 24 * 3600;
/// How long a link to the page of webhooks is good for.
pub const WEBHOOK_PORTAL_MS: i64 = 24 * 3600 * 1000;

/// How long an endpoint may take to answer; the receivers' own libraries allow for as much.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an endpoint's answer is kept, for people to read.
pub const WEBHOOK_RESPONSE_BYTES: usize = 1024;

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

/// Operations of browsers with a limit for each address they come from; the first four as published.
const PER_ADDRESS: &[(&[&str], Limit)] = &[
    (&["createSignIn"], Limit { requests: 5, window_ms: TEN_SECONDS }),
    (&["createSignUps"], Limit { requests: 5, window_ms: TEN_SECONDS }),
    (&["attemptSignInFactorOne", "attemptSignInFactorTwo"], Limit { requests: 3, window_ms: TEN_SECONDS }),
    (&["attemptSignUpsVerification"], Limit { requests: 3, window_ms: TEN_SECONDS }),
    // Ours: guessing codes and passwords, and having messages sent, is no better elsewhere.
    (
        &[
            "verifyEmailAddress",
            "verifyPhoneNumber",
            "verifyTOTP",
            "attemptSessionReverificationFirstFactor",
            "attemptSessionReverificationSecondFactor",
            "changePassword",
            "removePassword",
        ],
        Limit { requests: 5, window_ms: TEN_SECONDS },
    ),
    (
        &[
            "prepareSignInFactorOne",
            "prepareSignInFactorTwo",
            "prepareSignUpsVerification",
            "updateSignUps",
            "sendVerificationEmail",
            "sendVerificationSMS",
            "prepareSessionReverificationFirstFactor",
            "prepareSessionReverificationSecondFactor",
        ],
        Limit { requests: 10, window_ms: 60_000 },
    ),
    // Ours: one picture is made smaller at a time, and this is less than may wait for it.
    (&[RESIZE_IMAGE], Limit { requests: 50, window_ms: TEN_SECONDS }),
];

/// Making a picture smaller, which is for no instance.
pub const RESIZE_IMAGE: &str = "resizeImage";

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

    /// Counts a request of a browser; an error when it is one too many.
    pub async fn check_visitor(
        &self,
        throttle: &Throttle,
        (instance, address): (&str, &str),
        operation: &str,
        now: Time,
    ) -> Result<()> {
        let own = PER_ADDRESS.iter().find(|(operations, _)| operations.contains(&operation));
        let (RateLimits::On { .. }, Some((operations, limit))) = (self, own) else { return Ok(()) };
        let key = format!("{instance}/{}", network(address));
        throttle.hit(operations[0], &key, *limit, now).await.map_err(|wait| too_many(*limit, wait))
    }
}

impl RateLimits {
    /// Counts a change of a template; an error when it is one too many, or when templates are locked.
    pub async fn check_templates(&self, throttle: &Throttle, instance: &str, now: Time) -> Result<()> {
        let RateLimits::On { .. } = self else { return Ok(()) };
        if let Some(wait) = throttle.wait("suspicious templates", instance, TEMPLATE_SUSPICIONS, now).await {
            return Err(Error::new(Code::EmailTemplateCustomizationLocked).retry_after(wait));
        }
        let hit = throttle.hit("templates", instance, TEMPLATE_CHANGES, now).await;
        hit.map_err(|wait| Error::new(Code::EmailTemplateCustomizationRateLimited).retry_after(wait))
    }

    /// Counts a suspicious template.
    pub async fn note_suspicion(&self, throttle: &Throttle, instance: &str, now: Time) {
        if let RateLimits::On { .. } = self {
            // What is over the limit is refused before it gets here.
            let _ = throttle.hit("suspicious templates", instance, TEMPLATE_SUSPICIONS, now).await;
        }
    }
}

/// What one person has of addresses: a whole one of the old kind, the upper half of the new.
fn network(address: &str) -> String {
    match address.parse::<Ipv6Addr>() {
        Ok(address) => format!("{:x?}", &address.segments()[..4]),
        Err(_) => address.to_owned(),
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
