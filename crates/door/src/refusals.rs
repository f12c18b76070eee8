//! Refusals that are made where the client is not at hand, such as those of a form that cannot be read: scripts
//! take the client from every answer about signing in, signing up and the person.

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::Response;
use latchkey_base::Result;
use latchkey_kernel::AppState;
use latchkey_kernel::cx::Cx;
use latchkey_web::api::{Credential, Entrance, Operation};
use latchkey_web::reply::{Meta, bare_error};

use super::client::{self, ClientMeta, view_context};
use super::visitor::Visitor;

/// A request as it came, without its body. If the answer is a refusal without the client, the client is looked up again
/// by it and added.
pub struct RequestHead(Parts);

impl RequestHead {
    /// Notes a request, if its answer must tell of the client: where there must be one, and where one signs in.
    pub fn note(operation: &Operation, request: &Request) -> Option<RequestHead> {
        let tells = operation.credential != Credential::None || operation.entrance == Some(Entrance::Attempt);
        tells.then(|| {
            let (mut parts, ()) = Request::new(()).into_parts();
            parts.uri = request.uri().clone();
            parts.headers = request.headers().clone();
            parts.extensions = request.extensions().clone();
            RequestHead(parts)
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
        let RequestHead(mut parts) = self;
        // The request was counted when it came.
        let cx = Cx::from_request_parts(&mut parts, state).await.map_err(|failure| failure.0)?;
        let visitor = Visitor::read(&mut parts, state).await.map_err(|failure| failure.0)?;
        let Some(shown_client) = client::load(&cx, &visitor).await? else { return Ok(None) };
        let view = shown_client.view(view_context(&visitor.site, cx.now));
        Ok(Some(Meta::of(&ClientMeta { client: view })?))
    }
}
