//! Who may read an inbox: whoever holds a secret key of a development instance, or a pass.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use latchkey_base::kinds::InstanceId;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::{self, SecretKey};
use latchkey_kernel::environment::Environment;
use latchkey_web::api::Operation;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::rules;

/// Proof that the caller may read the inbox of a development instance.
pub struct Reader {
    pub instance: InstanceId,
}

impl Argument for Reader {
    fn describe(row: &mut Operation) {
        SecretKey::describe(row);
    }
}

impl FromRequestParts<AppState> for Reader {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Reader, Failure> {
        let key = match auth::bearer(parts)?.starts_with(rules::PASSES.prefix) {
            true => by_pass(parts, state).await?,
            false => SecretKey::from_request_parts(parts, state).await?,
        };
        match key.environment {
            Environment::Development => Ok(Reader { instance: key.instance }),
            Environment::Production => Err(Error::new(Code::RequestInvalidForEnvironment)
                .saying("Only development instances have an inbox.")
                .into()),
        }
    }
}

async fn by_pass(parts: &Parts, AppState(app): &AppState) -> Result<SecretKey> {
    let instance = rules::read_pass(&app.master, auth::bearer(parts)?, app.clock.now());
    let ended = || {
        Error::new(Code::ClerkKeyInvalid).saying(
            "This link to the inbox has ended: links are good for a day. Start the server again for a new one, or use the \
             secret key.",
        )
    };
    let instance = instance.ok_or_else(ended)?;
    auth::admit_to(app, parts, &instance, None).await
}
