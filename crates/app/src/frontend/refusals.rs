//! Refusals that are made where the client is not at hand, such as those of a form that cannot be read: scripts
//! take the client from every answer about signing in, signing up and the person.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::Response;
use latchkey_base::{Error, Result};
use latchkey_web::reply::{Meta, bare_error};
use serde_json::json;

use super::client::{self, lens};
use super::visitor::Visitor;
use crate::AppState;
use crate::cx::Cx;

/// Where every answer tells of the client.
const TOLD_AT: [&str; 4] = ["/v1/client/sessions", "/v1/client/sign_ins", "/v1/client/sign_ups", "/v1/me"];

/// A request as it came, but for its body: who asked is looked up once more, should the answer be a refusal that
/// does not tell of the client.
pub struct Asked(Parts);

impl Asked {
    /// Notes a request, if its answer must tell of the client.
    pub fn note(request: &Request) -> Option<Asked> {
        let path = request.uri().path();
        TOLD_AT.iter().any(|beginning| path.starts_with(beginning)).then(|| {
            let (mut parts, ()) = Request::new(()).into_parts();
            parts.uri = request.uri().clone();
            parts.headers = request.headers().clone();
            parts.extensions = request.extensions().clone();
            Asked(parts)
        })
    }

    /// The answer, which tells of the client if it is a refusal. What goes wrong meanwhile does not matter
    /// more than the refusal.
    pub async fn complete(self, state: &AppState, mut response: Response) -> Response {
        if bare_error(&response).is_some_and(|error| error.status() < 500)
            && let Ok(Some(meta)) = self.meta(state).await
        {
            response.extensions_mut().insert(meta);
        }
        response
    }

    async fn meta(self, state: &AppState) -> Result<Option<Meta>> {
        let Asked(mut parts) = self;
        let cx = Cx::from_request_parts(&mut parts, state).await.map_err(|failure| failure.0)?;
        let visitor = Visitor::from_request_parts(&mut parts, state).await.map_err(|failure| failure.0)?;
        let Some(scenery) = client::load(&cx, &visitor).await? else { return Ok(None) };
        let view = scenery.view(lens(&visitor.site, cx.now));
        let client = serde_json::to_value(view).map_err(Error::internal)?;
        Ok(Some(Meta(json!({ "client": client }))))
    }
}
