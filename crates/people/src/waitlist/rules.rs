//! Decisions about the waitlist. Pure: values in, values or problems out.

use latchkey_base::kinds::{InvitationId, WaitlistEntryId};
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_kernel::cx::Act;
use latchkey_kernel::settings::{Settings, SignUpMode};

use super::model::{WaitlistEntry, WaitlistEntryDetails, WaitlistStatus};
use crate::invitations::model::folded;

/// Refuses people who want to join where there is no waitlist. Backends put addresses there in every mode.
pub fn check_open(settings: &Settings) -> Result<()> {
    match settings.sign_up.mode {
        SignUpMode::Waitlist => Ok(()),
        SignUpMode::Public => {
            Err(Error::new(Code::WaitlistNotAcceptingEntries).saying("Everybody can sign up here: sign up."))
        }
        SignUpMode::Restricted => Err(Error::new(Code::WaitlistNotAcceptingEntries)
            .saying("Signing up needs an invitation here, and there is no waitlist to join.")),
    }
}

/// An entry of an address, in its stored form, that was not there before.
pub fn new(act: &Act, email_address: String) -> WaitlistEntry {
    WaitlistEntry {
        instance: act.instance.clone(),
        id: WaitlistEntryId::new(act.now, &*act.rng),
        status: WaitlistStatus::Pending,
        details: WaitlistEntryDetails { email_address, invitation: None, updated_at: act.now },
        invited_at: None,
        created_at: act.now,
    }
}

/// Refuses a list of addresses that names one of them twice.
pub fn check_distinct(email_addresses: &[String]) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    match email_addresses.iter().find(|address| !seen.insert(folded(address))) {
        Some(twice) => Err(Problem::of(Code::DuplicateRecord, "email_address")
            .saying("An address may stand in the list once.")
            .with("email_addresses", vec![twice.clone()])
            .into()),
        None => Ok(()),
    }
}

/// Refuses to invite whom nobody should invite. Whoever was invited can be invited anew if it is asked for.
pub fn check_invitable(entry: &WaitlistEntry, is_existing_ignored: bool) -> Result<()> {
    match entry.status {
        WaitlistStatus::Pending => Ok(()),
        WaitlistStatus::Invited if is_existing_ignored => Ok(()),
        WaitlistStatus::Invited => Err(refusal(entry.status)
            .saying("They were invited already. To invite them anew, set `ignore_existing`.")),
        status => Err(refusal(status)),
    }
}

/// Notes that somebody got an invitation.
pub fn invite(mut entry: WaitlistEntry, invitation: &InvitationId, now: Time) -> WaitlistEntry {
    entry.details.invitation = Some(invitation.clone());
    entry.invited_at = Some(now);
    with_status(entry, WaitlistStatus::Invited, now)
}

/// Notes that somebody is not let in.
pub fn reject(entry: WaitlistEntry, now: Time) -> Result<WaitlistEntry> {
    check_pending(&entry)?;
    Ok(with_status(entry, WaitlistStatus::Rejected, now))
}

/// Refuses what can only be done while nobody has decided.
pub fn check_pending(entry: &WaitlistEntry) -> Result<()> {
    match entry.status {
        WaitlistStatus::Pending => Ok(()),
        status => Err(refusal(status)),
    }
}

/// Notes that somebody followed an invitation. `None` if they were not invited from here.
pub fn complete(mut entry: WaitlistEntry, invitation: &InvitationId, now: Time) -> Option<WaitlistEntry> {
    (entry.status == WaitlistStatus::Invited).then(|| {
        entry.details.invitation = Some(invitation.clone());
        with_status(entry, WaitlistStatus::Completed, now)
    })
}

fn with_status(mut entry: WaitlistEntry, status: WaitlistStatus, now: Time) -> WaitlistEntry {
    entry.status = status;
    entry.details.updated_at = now;
    entry
}

/// Why something cannot be done with an entry that is not pending.
fn refusal(status: WaitlistStatus) -> Error {
    Error::new(match status {
        WaitlistStatus::Pending | WaitlistStatus::Invited => Code::WaitlistEntryAlreadyInvited,
        WaitlistStatus::Completed => Code::WaitlistEntryAlreadyCompleted,
        WaitlistStatus::Rejected => Code::WaitlistEntryAlreadyRejected,
    })
}

#[cfg(test)]
mod tests {
    use latchkey_base::Id;
    use latchkey_base::rng::SeededRng;

    use super::*;

    const NOW: Time = Time::from_ms(1_700_000_000_000);

    fn entry(status: WaitlistStatus) -> WaitlistEntry {
        let rng = SeededRng::new(1);
        WaitlistEntry {
            instance: Id::new(NOW, &rng),
            id: Id::new(NOW, &rng),
            status,
            details: WaitlistEntryDetails {
                email_address: "ada@example.com".to_owned(),
                invitation: None,
                updated_at: NOW,
            },
            invited_at: None,
            created_at: NOW,
        }
    }

    fn code<T>(outcome: Result<T>) -> Option<&'static str> {
        outcome.err().map(|error| error.code().spec().1)
    }

    /// What can be done with an entry in each status: invited, invited anew, rejected or deleted, completed.
    #[test]
    fn every_status_allows_what_is_published_and_nothing_else() {
        use WaitlistStatus::{Completed, Invited, Pending, Rejected};
        let already = |what: &'static str| Some(what);
        let id = Id::new(NOW, &SeededRng::new(2));
        for (status, invite, anew, reject_or_delete, completes) in [
            (Pending, None, None, None, false),
            (
                Invited,
                already("waitlist_entry_already_invited"),
                None,
                already("waitlist_entry_already_invited"),
                true,
            ),
            (
                Completed,
                already("waitlist_entry_already_completed"),
                already("waitlist_entry_already_completed"),
                already("waitlist_entry_already_completed"),
                false,
            ),
            (
                Rejected,
                already("waitlist_entry_already_rejected"),
                already("waitlist_entry_already_rejected"),
                already("waitlist_entry_already_rejected"),
                false,
            ),
        ] {
            assert_eq!(code(check_invitable(&entry(status), false)), invite, "{status:?}");
            assert_eq!(code(check_invitable(&entry(status), true)), anew, "{status:?}");
            assert_eq!(code(reject(entry(status), NOW)), reject_or_delete, "{status:?}");
            assert_eq!(code(check_pending(&entry(status))), reject_or_delete, "{status:?}");
            assert_eq!(complete(entry(status), &id, NOW).is_some(), completes, "{status:?}");
        }
    }

    #[test]
    fn one_address_in_two_spellings_stands_there_twice() {
        let all = |texts: [&str; 2]| check_distinct(&texts.map(str::to_owned));
        assert!(all(["ada@example.com", "bob@example.com"]).is_ok());
        assert_eq!(code(all(["ada@example.com", "Ada@example.com"])), Some("duplicate_record"));
    }

    #[test]
    fn people_join_in_waitlist_mode_only() {
        for (mode, is_open) in
            [(SignUpMode::Public, false), (SignUpMode::Restricted, false), (SignUpMode::Waitlist, true)]
        {
            let mut settings = Settings::default();
            settings.sign_up.mode = mode;
            assert_eq!(check_open(&settings).is_ok(), is_open, "{mode:?}");
        }
    }
}
