//! Providers people have accounts at, spoken to over real HTTP on this machine: every row, and those that lie.

mod environment;
mod hostile;
mod id_tokens;
mod mock;
mod rows;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::Request;
use latchkey_base::Result;
use latchkey_connections::social::protocol::{
    AuthorizeRequest, CallbackParams, Connection, Granted, PendingVisit, authorize, exchange, find,
};
use latchkey_kernel::AppState;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::environment::Environment;
use latchkey_kernel::settings::{Settings, SocialProvider};
use latchkey_testkit::{FakeProvider, TestServer};
use url::Url;

pub(crate) const BACK: &str = "http://localhost:3401/v1/oauth_callback";

/// The context of a request to the server.
pub(crate) async fn context(server: &TestServer) -> Cx {
    let (mut parts, ()) = Request::builder().uri("/").body(()).unwrap().into_parts();
    match Cx::from_request_parts(&mut parts, &AppState(server.app.clone())).await {
        Ok(cx) => cx,
        Err(_) => panic!("a plain request has a context"),
    }
}

/// What transactions of the development instance know when it has this provider.
pub(crate) fn act(server: &TestServer, key: &str, provider: SocialProvider) -> Act {
    let mut settings = Settings::default();
    settings.social.insert(key.to_owned(), provider);
    Act { settings: Arc::new(settings), ..server.act(&server.tenant) }
}

pub(crate) fn connection(server: &TestServer, key: &str, provider: SocialProvider) -> Result<Connection> {
    find(&act(server, key, provider), Environment::Development, &format!("oauth_{key}"))
}

pub(crate) fn request(state: &str) -> AuthorizeRequest<'_> {
    AuthorizeRequest { state, redirect_uri: BACK, additional_scopes: &[], login_hint: None, prompt: None }
}

/// What a browser brings back, read from the address it is sent to.
pub(crate) fn brought(back: &str) -> CallbackParams {
    let url = Url::parse(back).unwrap();
    let find =
        |name: &str| url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned());
    CallbackParams { code: find("code"), error: find("error"), iss: find("iss"), ..CallbackParams::default() }
}

/// A provider of the application's own, and what speaks with it.
pub(crate) struct Stage {
    pub(crate) server: TestServer,
    pub(crate) provider: FakeProvider,
    pub(crate) connection: Connection,
}

impl Stage {
    pub(crate) async fn start() -> Stage {
        Stage::start_with(|_| ()).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut SocialProvider)) -> Stage {
        let server = TestServer::start().await;
        let provider = FakeProvider::start(&server).await;
        let mut settings = provider.custom(&server, &server.tenant, "custom_fake");
        change(&mut settings);
        let connection = connection(&server, "custom_fake", settings).unwrap();
        Stage { server, provider, connection }
    }

    /// What is kept of the provider for a while, its keys and its document, is too old from now on.
    pub(crate) fn forget(&self) {
        self.server.clock.advance_ms(11 * 60 * 1000);
    }

    /// Sends somebody there.
    pub(crate) async fn begin(&self) -> Result<(String, PendingVisit)> {
        authorize(&context(&self.server).await, &self.connection, request("the-state")).await
    }

    /// They come back.
    pub(crate) async fn end(&self, pending: &PendingVisit, params: &CallbackParams) -> Result<Granted> {
        exchange(&context(&self.server).await, &self.connection, pending, params, BACK).await
    }

    /// All of it.
    pub(crate) async fn whole(&self) -> Result<Granted> {
        let (url, pending) = self.begin().await?;
        self.end(&pending, &brought(&self.provider.visit(&url))).await
    }

    /// The code of the error it ends with.
    pub(crate) async fn refusal(&self) -> String {
        code(self.whole().await)
    }
}

/// The code of an error.
#[track_caller]
pub(crate) fn code<T>(outcome: Result<T>) -> String {
    match outcome {
        Ok(_) => panic!("it must be refused"),
        Err(error) => error.problems()[0].code.spec().1.to_owned(),
    }
}
