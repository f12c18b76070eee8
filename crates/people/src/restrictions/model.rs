//! What stands on the two lists.

use latchkey_base::Time;
use latchkey_base::id::{Id, Kind};
use latchkey_base::kinds::{AllowlistIdentifierKind, BlocklistIdentifierKind, InstanceId, InvitationId};
use latchkey_kernel::events::Event;
use serde::{Deserialize, Serialize};

use crate::users::model::ContactKind;

/// One of the two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryList {
    Allow,
    Block,
}

impl EntryList {
    /// Reads a name.
    pub fn parse(text: &str) -> Option<EntryList> {
        [EntryList::Allow, EntryList::Block].into_iter().find(|list| list.name() == text)
    }

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            EntryList::Allow => "allow",
            EntryList::Block => "block",
        }
    }
}

/// Which list the ids of a kind are of.
pub trait ListedKind: Kind + Send + Sync + 'static {
    const LIST: EntryList;
    /// What the resource is called in sentences.
    const NOUN: &'static str;
    /// And on the wire.
    const OBJECT: &'static str;
    /// The event when an identifier was put on the list.
    const CREATED: Event;
    /// The event when an identifier was taken off the list.
    const DELETED: Event;
}

impl ListedKind for AllowlistIdentifierKind {
    const LIST: EntryList = EntryList::Allow;
    const NOUN: &'static str = "allow-list identifier";
    const OBJECT: &'static str = "allowlist_identifier";
    const CREATED: Event = Event::AllowlistIdentifierCreated;
    const DELETED: Event = Event::AllowlistIdentifierDeleted;
}

impl ListedKind for BlocklistIdentifierKind {
    const LIST: EntryList = EntryList::Block;
    const NOUN: &'static str = "block-list identifier";
    const OBJECT: &'static str = "blocklist_identifier";
    const CREATED: Event = Event::BlocklistIdentifierCreated;
    const DELETED: Event = Event::BlocklistIdentifierDeleted;
}

/// Something that stands on a list.
pub struct ListedIdentifier<K: ListedKind> {
    pub instance: InstanceId,
    pub id: Id<K>,
    pub details: ListedDetails,
    pub created_at: Time,
}

/// The document of something on a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedDetails {
    /// In the form in which it is shown: an address, `*@domain`, `*@*.domain`, a number or a wallet.
    pub identifier: String,
    /// By the name on the wire.
    pub identifier_type: String,
    /// The invitation that was sent when it was put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationId>,
}

/// Something that is to stand on a list, read from what somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadIdentifier {
    pub kind: ContactKind,
    /// In the form in which it is shown.
    pub identifier: String,
    /// Whether it stands for all addresses of a domain, or of the domains below it.
    pub is_wildcard: bool,
}
