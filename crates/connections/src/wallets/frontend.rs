//! Routes and handlers of the Frontend API: the wallets of the current user.

use axum::response::Response;
use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error};
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_flows::me::contacts;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::wire::DeletedView;
use latchkey_kernel::{AppState, limits};
use latchkey_people::identifications::rules::ContactChanges;
use latchkey_people::identifications::view::{WalletView, Wallets, wallet_to_sign};
use latchkey_people::users::model::ContactKind::Wallet;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;

use super::input::{AttemptWallet, CreateWallet, PrepareWallet};
use super::steps;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Web3 Wallets");
    api.get("/v1/me/web3_wallets", "getWeb3Wallets", contacts::list::<Wallets>)
        .summary("List the wallets of the current user")
        .returns::<Vec<WalletView<'_>>>()
        .only_reads();
    api.post("/v1/me/web3_wallets", "postWeb3Wallets", create)
        .summary("Add a wallet to the current user")
        .returns::<Envelope<'_, WalletView<'_>>>()
        .errors(&[403]);
    api.get("/v1/me/web3_wallets/{web3_wallet_id}", "readWeb3Wallet", contacts::get::<Wallets>)
        .summary("Get a wallet of the current user")
        .returns::<Envelope<'_, WalletView<'_>>>()
        .only_reads();
    api.delete("/v1/me/web3_wallets/{web3_wallet_id}", "deleteWeb3Wallet", contacts::delete::<Wallets>)
        .summary("Delete a wallet of the current user")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403]);
    api.post(
        "/v1/me/web3_wallets/{web3_wallet_id}/prepare_verification",
        "prepareWeb3WalletVerification",
        prepare,
    )
    .summary("Get the text that a wallet is to sign")
    .returns::<Envelope<'_, WalletView<'_>>>()
    .limited(limits::SENDINGS);
    api.post(
        "/v1/me/web3_wallets/{web3_wallet_id}/attempt_verification",
        "attemptWeb3WalletVerification",
        attempt,
    )
    .summary("Check the signature of a wallet")
    .returns::<Envelope<'_, WalletView<'_>>>()
    .limited(limits::GUESSES);
}

async fn create(cx: Cx, person: Person, Form(input): Form<CreateWallet>) -> Response {
    let outcome = match input.web3_wallet.is_empty() {
        // What pages send that find no wallet.
        true => Err(Error::param(Code::FormParamNil, "web3_wallet")),
        false => contacts::add(&cx, &person, Wallet, input.web3_wallet, ContactChanges::default()).await,
    };
    contacts::show::<Wallets>(&cx, &person, outcome.map(|wallet| (wallet, None))).await
}

async fn prepare(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<PrepareWallet>,
) -> Response {
    match steps::prepare(&cx, &person, id, &input.strategy).await {
        Ok(wallet) => person.visitor.answer(&cx, Ok(wallet_to_sign(&wallet, cx.now))).await,
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

async fn attempt(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<AttemptWallet>,
) -> Response {
    let outcome = steps::attempt(&cx, &person, id, input.signature).await;
    contacts::show::<Wallets>(&cx, &person, outcome.map(|wallet| (wallet, None))).await
}
