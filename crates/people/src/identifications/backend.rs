//! Routes and handlers of the backend API: the same operations for e-mail addresses and for phone numbers.

use latchkey_base::kinds::{IdentificationId, UserId};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

use super::handlers::{self, ContactUpdate, New, Replacement};
use super::input::{
    AttemptVerification, CreateEmailAddress, CreatePhoneNumber, ReplaceEmailAddress, ReplacePhoneNumber,
    UpdateEmailAddress, UpdatePhoneNumber,
};
use super::rules::ContactChanges;
use super::view::{
    self, CodeView, ContactResource, EmailAddressView, EmailAddresses, PhoneNumberView, PhoneNumbers,
};

pub fn routes(api: &mut Api<AppState>) {
    email_addresses(api);
    phone_numbers(api);
}

fn email_addresses(api: &mut Api<AppState>) {
    api.group("Email Addresses");
    api.post("/email_addresses", "CreateEmailAddress", create::<EmailAddresses>)
        .summary("Create an e-mail address")
        .returns::<EmailAddressView>()
        .errors(&[403, 404, 409]);
    api.get("/email_addresses/{email_address_id}", "GetEmailAddress", get::<EmailAddresses>)
        .summary("Get an e-mail address")
        .returns::<EmailAddressView>()
        .errors(&[403]);
    api.delete("/email_addresses/{email_address_id}", "DeleteEmailAddress", delete::<EmailAddresses>)
        .summary("Delete an e-mail address")
        .returns::<DeletedView>()
        .errors(&[403, 409]);
    api.patch("/email_addresses/{email_address_id}", "UpdateEmailAddress", update::<EmailAddresses>)
        .summary("Update an e-mail address")
        .returns::<EmailAddressView>()
        .errors(&[403, 409])
        .instead(&[(422, 400)]);
    api.post(
        "/email_addresses/{email_address_id}/prepare_verification",
        "PrepareEmailAddressVerification",
        prepare::<EmailAddresses>,
    )
    .summary("Send a code to an e-mail address")
    .returns::<CodeView>()
    .errors(&[403]);
    api.post(
        "/email_addresses/{email_address_id}/attempt_verification",
        "AttemptEmailAddressVerification",
        attempt::<EmailAddresses>,
    )
    .summary("Check a code sent to an e-mail address")
    .returns::<CodeView>()
    .errors(&[403])
    .instead(&[(422, 400)]);
    api.put("/users/{user_id}/email_address", "ReplaceUserEmailAddress", replace::<EmailAddresses>)
        .summary("Replace all e-mail addresses of a user by one")
        .returns::<EmailAddressView>()
        .errors(&[403]);
}

fn phone_numbers(api: &mut Api<AppState>) {
    api.group("Phone Numbers");
    api.post("/phone_numbers", "CreatePhoneNumber", create::<PhoneNumbers>)
        .summary("Create a phone number")
        .returns::<PhoneNumberView>()
        .errors(&[403, 404]);
    api.get("/phone_numbers/{phone_number_id}", "GetPhoneNumber", get::<PhoneNumbers>)
        .summary("Get a phone number")
        .returns::<PhoneNumberView>()
        .errors(&[403]);
    api.delete("/phone_numbers/{phone_number_id}", "DeletePhoneNumber", delete::<PhoneNumbers>)
        .summary("Delete a phone number")
        .returns::<DeletedView>()
        .errors(&[403]);
    api.patch("/phone_numbers/{phone_number_id}", "UpdatePhoneNumber", update::<PhoneNumbers>)
        .summary("Update a phone number")
        .returns::<PhoneNumberView>()
        .errors(&[403])
        .instead(&[(422, 400)]);
    api.post(
        "/phone_numbers/{phone_number_id}/prepare_verification",
        "PreparePhoneNumberVerification",
        prepare::<PhoneNumbers>,
    )
    .summary("Send a code to a phone number")
    .returns::<CodeView>()
    .errors(&[403]);
    api.post(
        "/phone_numbers/{phone_number_id}/attempt_verification",
        "AttemptPhoneNumberVerification",
        attempt::<PhoneNumbers>,
    )
    .summary("Check a code sent to a phone number")
    .returns::<CodeView>()
    .errors(&[403])
    .instead(&[(422, 400)]);
    api.put("/users/{user_id}/phone_number", "ReplaceUserPhoneNumber", replace::<PhoneNumbers>)
        .summary("Replace all phone numbers of a user by one")
        .returns::<PhoneNumberView>()
        .errors(&[403]);
}

/// What the operations take.
trait Inputs: ContactResource {
    type Create: Into<New> + Send;
    type Update: Into<ContactUpdate> + Send;
    type Replace: Into<Replacement> + Send;
}

impl Inputs for EmailAddresses {
    type Create = CreateEmailAddress;
    type Update = UpdateEmailAddress;
    type Replace = ReplaceEmailAddress;
}

impl Inputs for PhoneNumbers {
    type Create = CreatePhoneNumber;
    type Update = UpdatePhoneNumber;
    type Replace = ReplacePhoneNumber;
}

async fn create<K: Inputs>(cx: Cx, key: SecretKey, Input(input): Input<K::Create>) -> Reply {
    let contact = handlers::add(&cx, cx.act(&key), K::KIND, input.into(), |_, _| Ok(())).await?;
    cx.reply(&K::view(&contact, None, cx.now))
}

async fn get<K: Inputs>(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Reply {
    let contact = handlers::find(&cx, &key, K::KIND, &id).await?;
    cx.reply(&K::view(&contact, None, cx.now))
}

async fn delete<K: Inputs>(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Reply {
    let gone = deleted(K::KIND.name(), &id);
    handlers::remove(&cx, &key, K::KIND, id).await?;
    cx.reply(&gone)
}

async fn update<K: Inputs>(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<IdentificationId>,
    Input(input): Input<K::Update>,
) -> Reply {
    let contact = handlers::update(&cx, &key, K::KIND, id, input.into()).await?;
    cx.reply(&K::view(&contact, None, cx.now))
}

async fn prepare<K: Inputs>(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Reply {
    cx.reply(&view::code(&handlers::prepare(&cx, &key, K::KIND, id).await?, cx.now))
}

async fn attempt<K: Inputs>(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<IdentificationId>,
    Input(input): Input<AttemptVerification>,
) -> Reply {
    let code = handlers::attempt(&cx, &key, K::KIND, id, &input.verification_id, input.code).await?;
    cx.reply(&view::code(&code, cx.now))
}

async fn replace<K: Inputs>(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<K::Replace>,
) -> Reply {
    let contact = handlers::replace(&cx, &key, K::KIND, id, input.into()).await?;
    cx.reply(&K::view(&contact, None, cx.now))
}

impl From<CreateEmailAddress> for New {
    fn from(input: CreateEmailAddress) -> New {
        let changes = changes(input.verified, input.primary, None);
        New {
            user_id: input.user_id,
            value: input.email_address,
            changes,
            notify: input.notify_primary_email_address_changed == Some(true),
            may_be_taken: false,
        }
    }
}

impl From<UpdateEmailAddress> for ContactUpdate {
    fn from(input: UpdateEmailAddress) -> ContactUpdate {
        let changes = changes(input.verified, input.primary, None);
        ContactUpdate { changes, notify: input.notify_primary_email_address_changed == Some(true) }
    }
}

impl From<ReplaceEmailAddress> for Replacement {
    fn from(input: ReplaceEmailAddress) -> Replacement {
        Replacement {
            value: input.email_address,
            status: input.identification_status,
            notify: input.notify_primary_email_address_changed == Some(true),
        }
    }
}

impl From<CreatePhoneNumber> for New {
    fn from(input: CreatePhoneNumber) -> New {
        let changes =
            changes(input.verified, input.primary, input.reserved_for_second_factor.filter(|wanted| *wanted));
        New { user_id: input.user_id, value: input.phone_number, changes, notify: false, may_be_taken: false }
    }
}

impl From<UpdatePhoneNumber> for ContactUpdate {
    fn from(input: UpdatePhoneNumber) -> ContactUpdate {
        let changes = changes(input.verified, input.primary, input.reserved_for_second_factor);
        ContactUpdate { changes, notify: false }
    }
}

impl From<ReplacePhoneNumber> for Replacement {
    fn from(input: ReplacePhoneNumber) -> Replacement {
        Replacement { value: input.phone_number, status: input.identification_status, notify: false }
    }
}

fn changes(verified: Option<bool>, primary: Option<bool>, second_factor: Option<bool>) -> ContactChanges {
    ContactChanges { verified, primary: primary == Some(true), second_factor, ..ContactChanges::default() }
}
