//! How what stands on the two lists looks on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{
    AllowlistIdentifierId, AllowlistIdentifierKind, BlocklistIdentifierId, BlocklistIdentifierKind,
    InstanceId, InvitationId,
};
use latchkey_kernel::object;
use schemars::JsonSchema;
use serde::Serialize;

use super::model::ListedIdentifier;

object!(AllowlistIdentifierObject, "allowlist_identifier");
object!(BlocklistIdentifierObject, "blocklist_identifier");

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum IdentifierTypeView {
    EmailAddress,
    PhoneNumber,
    #[serde(rename = "web3_wallet")]
    Wallet,
}

fn identifier_type(name: &str) -> IdentifierTypeView {
    match name {
        "phone_number" => IdentifierTypeView::PhoneNumber,
        "web3_wallet" => IdentifierTypeView::Wallet,
        _ => IdentifierTypeView::EmailAddress,
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AllowlistIdentifier")]
pub struct AllowlistIdentifierView<'a> {
    object: AllowlistIdentifierObject,
    id: &'a AllowlistIdentifierId,
    /// The invitation that was sent when it was put there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    invitation_id: Option<&'a InvitationId>,
    identifier: &'a str,
    identifier_type: IdentifierTypeView,
    instance_id: &'a InstanceId,
    created_at: Time,
    updated_at: Time,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BlocklistIdentifier")]
pub struct BlocklistIdentifierView<'a> {
    object: BlocklistIdentifierObject,
    id: &'a BlocklistIdentifierId,
    identifier: &'a str,
    identifier_type: IdentifierTypeView,
    instance_id: &'a InstanceId,
    created_at: Time,
    updated_at: Time,
}

pub fn allowed(listed: &ListedIdentifier<AllowlistIdentifierKind>) -> AllowlistIdentifierView<'_> {
    AllowlistIdentifierView {
        object: AllowlistIdentifierObject::It,
        id: &listed.id,
        invitation_id: listed.details.invitation.as_ref(),
        identifier: &listed.details.identifier,
        identifier_type: identifier_type(&listed.details.identifier_type),
        instance_id: &listed.instance,
        created_at: listed.created_at,
        updated_at: listed.created_at,
    }
}

pub fn blocked(listed: &ListedIdentifier<BlocklistIdentifierKind>) -> BlocklistIdentifierView<'_> {
    BlocklistIdentifierView {
        object: BlocklistIdentifierObject::It,
        id: &listed.id,
        identifier: &listed.details.identifier,
        identifier_type: identifier_type(&listed.details.identifier_type),
        instance_id: &listed.instance,
        created_at: listed.created_at,
        updated_at: listed.created_at,
    }
}
