//! Asking whether an identifier may enter. Without lists in use nothing is read.

use std::collections::BTreeSet;

use latchkey_base::kinds::InstanceId;
use latchkey_base::text::{fold, mailbox};
use latchkey_base::{Error, Problem, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::settings::Settings;

use super::model::EntryList;
use super::rules::Standing;
use super::{rules, store};
use crate::users::model::{Contact, ContactKind, User};
use crate::users::store as users;

/// An identifier in its stored form.
pub type EntryIdentifier<'a> = (ContactKind, &'a str);

/// One of the identifiers of somebody, and whether it is proven, will be before they enter, or is as good as that.
#[derive(Clone, Copy)]
pub struct HeldIdentifier<'a> {
    pub identifier: EntryIdentifier<'a>,
    pub counts_as_proven: bool,
}

impl<'a> HeldIdentifier<'a> {
    pub fn as_proven(identifier: EntryIdentifier<'a>) -> HeldIdentifier<'a> {
        HeldIdentifier { identifier, counts_as_proven: true }
    }

    fn of((kind, contact): (ContactKind, &'a Contact)) -> HeldIdentifier<'a> {
        HeldIdentifier { identifier: (kind, contact.value.as_str()), counts_as_proven: contact.is_verified() }
    }
}

/// Refuses a user who is to be created with something that may not enter. What a backend gives them is as good as proven.
pub async fn check_new_user(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    let given = contacts(user).map(|(kind, contact)| (kind, contact.value.as_str()));
    let held: Vec<HeldIdentifier<'_>> = given.map(HeldIdentifier::as_proven).collect();
    let listed = listed_problems(tx, &act.instance, &act.settings, &held, None).await?;
    let mut problems = Vec::new();
    for (held, listed) in held.into_iter().zip(listed) {
        problems.extend(match listed {
            Some(problem) => Some(problem),
            None => own_problem(tx, act, held.identifier).await?,
        });
    }
    Error::collect(problems)
}

/// Refuses an identifier that is to be added to an account. An address must be on the allow-list itself, if that is in
/// use. For a number or wallet it is enough that the account has something that is, and that is proven if anything there is.
pub async fn check_added(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    (kind, value): EntryIdentifier<'_>,
    may_be_taken: bool,
) -> Result<()> {
    let mut together = vec![HeldIdentifier { identifier: (kind, value), counts_as_proven: false }];
    if kind != ContactKind::Email {
        let held = contacts(user).filter(|(_, contact)| contact.is_exclusive());
        together.extend(held.map(HeldIdentifier::of));
    }
    let listed = listed_problems(tx, &act.instance, &act.settings, &together, None).await?;
    let problem = match listed.into_iter().next().flatten() {
        Some(problem) => Some(problem),
        // That somebody has it in another spelling shows when it is proven.
        None if may_be_taken => rules::blocked(kind, value, &act.settings, act.test_mode),
        None => own_problem(tx, act, (kind, value)).await?,
    };
    Error::collect(problem.into_iter().collect())
}

/// Why an identifier may not enter, whatever stands on the lists, if it may not.
async fn own_problem(tx: &mut Tx, act: &Act, (kind, value): EntryIdentifier<'_>) -> Result<Option<Problem>> {
    match rules::blocked(kind, value, &act.settings, act.test_mode) {
        Some(problem) => Ok(Some(problem)),
        None => alias_problem(tx, &act.instance, &act.settings, (kind, value)).await,
    }
}

/// Why the lists keep the identifiers of one person out, for each that they do. Where the allow-list is in use, one that is
/// admitted is enough for all: whoever has an address on it may be asked for a phone number as well. But anybody can type
/// what stands on the list, so what is not proven admits nobody who proves something else. `invited` is what the
/// application invited itself.
pub async fn listed_problems(
    tx: &mut Tx,
    instance: &InstanceId,
    settings: &Settings,
    held: &[HeldIdentifier<'_>],
    invited: Option<ContactKind>,
) -> Result<Vec<Option<Problem>>> {
    let mut standings = Vec::with_capacity(held.len());
    for HeldIdentifier { identifier: (kind, value), .. } in held {
        let found = lists_of(tx, instance, settings, (*kind, value)).await?;
        standings.push(rules::standing(&found, invited == Some(*kind), settings));
    }
    let is_any_proven = held.iter().any(|it| it.counts_as_proven);
    let counts = |it: &HeldIdentifier<'_>| it.counts_as_proven || !is_any_proven;
    let is_admitted =
        standings.iter().zip(held).any(|(standing, it)| *standing == Standing::Admitted && counts(it));
    let problem = |(standing, it): (Standing, &HeldIdentifier<'_>)| match standing {
        Standing::Admitted => None,
        Standing::Unlisted if is_admitted => None,
        Standing::Unlisted | Standing::Blocked => Some(rules::refusal(it.identifier.0, it.identifier.1)),
    };
    Ok(standings.into_iter().zip(held).map(problem).collect())
}

/// Why an address of Gmail is refused that differs by dots from one that has an account, if it is.
pub async fn alias_problem(
    tx: &mut Tx,
    instance: &InstanceId,
    settings: &Settings,
    (kind, value): EntryIdentifier<'_>,
) -> Result<Option<Problem>> {
    let Some(plain) = rules::without_dots(kind, value, settings) else { return Ok(None) };
    let is_held = users::is_held(tx, instance, kind.name(), &plain).await?;
    Ok(is_held.then(|| rules::refusal(kind, value)))
}

/// Refuses somebody who has proven who they are and whom the lists keep out.
pub async fn check_sign_in(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    Error::collect(sign_in_problem(tx, act, user).await?.into_iter().collect())
}

/// Refuses whoever says that they are somebody whom the lists keep out. A stranger may say so, and learns nothing about
/// the account.
pub async fn check_typed(tx: &mut Tx, act: &Act, user: &User, identifier: &str) -> Result<()> {
    match sign_in_problem(tx, act, user).await? {
        Some(_) => Err(rules::typed_refusal(identifier).into()),
        None => Ok(()),
    }
}

/// Refuses somebody who follows an invitation to the application and whom the lists keep out, where the lists count for
/// signing in. The invited address needs no place on the allow-list.
pub async fn check_invited(tx: &mut Tx, act: &Act, user: &User) -> Result<()> {
    if act.settings.restrictions.allowlist_blocklist_disabled_on_sign_in {
        return Ok(());
    }
    let held = contacts(user).filter(|(_, contact)| contact.is_exclusive());
    let held: Vec<HeldIdentifier<'_>> = held.map(HeldIdentifier::of).collect();
    let invited = Some(ContactKind::Email);
    let problems = listed_problems(tx, &act.instance, &act.settings, &held, invited).await?;
    Error::collect(problems.into_iter().flatten().collect())
}

/// Why the lists keep somebody out who has an account and signs in, where the lists count for that. What is not proven
/// does not count, unless nothing is. Whoever has nothing that could stand on a list passes the block-list only.
async fn sign_in_problem(tx: &mut Tx, act: &Act, user: &User) -> Result<Option<Problem>> {
    let settings = &act.settings;
    if settings.restrictions.allowlist_blocklist_disabled_on_sign_in {
        return Ok(None);
    }
    let held: Vec<(ContactKind, &Contact)> =
        contacts(user).filter(|(_, contact)| contact.is_exclusive()).collect();
    let is_any_proven = held.iter().any(|(_, contact)| contact.is_verified());
    let mut is_allowed = !settings.has_allowlist();
    let mut blocked = None;
    for (kind, contact) in held {
        let found = lists_of(tx, &act.instance, settings, (kind, &contact.value)).await?;
        is_allowed |= found.contains(&EntryList::Allow) && (contact.is_verified() || !is_any_proven);
        if found.contains(&EntryList::Block) {
            blocked = blocked.or(Some(rules::refusal(kind, &contact.value)));
        }
    }
    Ok(match blocked {
        // Where the allow-list is in use and has one of theirs, it has the last word.
        _ if is_allowed && settings.has_allowlist() => None,
        Some(problem) => Some(problem),
        None if is_allowed => None,
        None => Some(rules::unlisted()),
    })
}

/// Returns the lists in use that contain an identifier. Addresses of one mailbox are the same identifier, so that another
/// spelling of a blocked address is blocked too.
async fn lists_of(
    tx: &mut Tx,
    instance: &InstanceId,
    settings: &Settings,
    (kind, value): EntryIdentifier<'_>,
) -> Result<Vec<EntryList>> {
    let lists =
        [(EntryList::Allow, settings.has_allowlist()), (EntryList::Block, settings.restrictions.blocklist)];
    let lists: Vec<EntryList> =
        lists.into_iter().filter_map(|(list, is_used)| is_used.then_some(list)).collect();
    let mut wanted: Vec<(EntryList, String)> = Vec::new();
    for list in lists.iter().copied() {
        wanted.extend(rules::keys(kind, value, list).into_iter().map(|key| (list, fold(&key))));
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let keys: BTreeSet<String> = wanted.iter().map(|(_, key)| key.clone()).collect();
    let found = store::found(tx, instance, &keys.into_iter().collect::<Vec<_>>()).await?;
    let mut found: Vec<EntryList> =
        found.into_iter().filter(|found| wanted.contains(found)).map(|(list, _)| list).collect();
    if kind == ContactKind::Email {
        let with_mailbox = store::find_by_mailbox(tx, instance, &mailbox(value)).await?;
        found.extend(with_mailbox.into_iter().filter(|list| lists.contains(list)));
    }
    Ok(found)
}

fn contacts(user: &User) -> impl Iterator<Item = (ContactKind, &Contact)> {
    [ContactKind::Email, ContactKind::Phone, ContactKind::Wallet]
        .into_iter()
        .flat_map(|kind| user.contacts(kind).all.iter().map(move |contact| (kind, contact)))
}
