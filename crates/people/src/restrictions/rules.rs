//! Decisions about who may enter. Pure: values in, values or problems out.

use latchkey_base::text::{self, DOTS_IGNORED, SUBADDRESS_MARKS, domain_of};
use latchkey_base::{Code, Problem};
use latchkey_kernel::settings::Settings;

use super::model::{EntryList, ReadIdentifier};
use crate::identifications::codes::is_for_tests;
use crate::providers::{Provider, provider_of};
use crate::users::model::ContactKind;

/// What stands for every address of a domain.
const ANYBODY: &str = "*@";
/// What stands for every domain below one.
const BELOW: &str = "*@*.";

/// Reads what is to stand on a list.
pub fn read(text: &str, list: EntryList) -> Result<ReadIdentifier, Problem> {
    let written = text.trim();
    let found = |kind, identifier, is_wildcard| ReadIdentifier { kind, identifier, is_wildcard };
    let wildcard = |prefix: &str| {
        let domain = text::domain(written.strip_prefix(prefix)?)?;
        Some(found(ContactKind::Email, format!("{prefix}{domain}"), true))
    };
    let below = if list == EntryList::Block { wildcard(BELOW) } else { None };
    let address = || (!written.contains('*')).then(|| text::email(written)).flatten();
    below
        .or_else(|| wildcard(ANYBODY))
        .or_else(|| Some(found(ContactKind::Email, address()?, false)))
        .or_else(|| Some(found(ContactKind::Phone, text::typed_phone(written)?, false)))
        .or_else(|| Some(found(ContactKind::Wallet, text::wallet(written)?, false)))
        .ok_or_else(|| unreadable(list))
}

fn unreadable(list: EntryList) -> Problem {
    let wildcards = match list {
        EntryList::Allow => "`*@example.com` for a whole domain",
        EntryList::Block => "`*@example.com` for a whole domain, `*@*.example.com` for all domains below it",
    };
    Problem::of(Code::FormParamFormatInvalid, "identifier").saying(format!(
        "`identifier` must be an e-mail address, {wildcards}, a phone number in E.164 format such as +14155550100, \
         or an Ethereum or Solana address."
    ))
}

/// Returns the keys under which an identifier in its stored form may stand on a list, besides its mailbox.
pub fn keys(kind: ContactKind, value: &str, list: EntryList) -> Vec<String> {
    let mut keys = vec![value.to_owned()];
    if kind == ContactKind::Email {
        let domain = domain_of(value);
        keys.push(format!("{ANYBODY}{domain}"));
        if list == EntryList::Block {
            keys.extend(above(domain).map(|domain| format!("{BELOW}{domain}")));
        }
    }
    keys
}

/// Whether an address has a part that its holder has added.
pub fn is_subaddress(address: &str) -> bool {
    address.rsplit_once('@').is_some_and(|(local, _)| local.contains(SUBADDRESS_MARKS))
}

/// The domains that a domain lies below.
fn above(domain: &str) -> impl Iterator<Item = &str> {
    domain.match_indices('.').map(|(at, _)| &domain[at + 1..])
}

/// What the lists say of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It lets its owner in.
    Admitted,
    /// The allow-list is in use and does not have it: its owner needs another one that is admitted.
    Unlisted,
    /// It may not enter, whatever else its owner has.
    Blocked,
}

/// What the lists an identifier stands on say of it. `is_invited` is one that the application invited itself, which is as
/// good as the allow-list.
pub fn standing(found: &[EntryList], is_invited: bool, settings: &Settings) -> Standing {
    let is_blocked = settings.restrictions.blocklist && found.contains(&EntryList::Block);
    match settings.has_allowlist() {
        true if found.contains(&EntryList::Allow) => Standing::Admitted,
        _ if is_blocked => Standing::Blocked,
        true if !is_invited => Standing::Unlisted,
        _ => Standing::Admitted,
    }
}

/// Why an identifier in its stored form is refused by itself, whoever has it, if it is.
pub fn blocked(kind: ContactKind, value: &str, settings: &Settings, test_mode: bool) -> Option<Problem> {
    if kind != ContactKind::Email {
        return None;
    }
    let restrictions = &settings.restrictions;
    let is_refused = restrictions.block_email_subaddresses && is_subaddress(value);
    if is_refused && !(test_mode && is_for_tests(kind, value)) {
        return Some(refusal(kind, value).saying("Addresses with `+`, `=` or `#` are not accepted here."));
    }
    let is_disposable = || provider_of(domain_of(value)) == Some(Provider::Disposable);
    (restrictions.block_disposable_email_domains && is_disposable()).then(|| {
        refusal(kind, value)
            .saying("Addresses of mailboxes that are thrown away are not accepted here. Use another one.")
    })
}

/// The address without dots that an address of Gmail is the same as, where the settings care.
pub fn without_dots(kind: ContactKind, value: &str, settings: &Settings) -> Option<String> {
    let (local, domain) = value.rsplit_once('@').filter(|_| kind == ContactKind::Email)?;
    let is_alias = local.contains('.') && DOTS_IGNORED.contains(&domain);
    (settings.restrictions.block_email_subaddresses && is_alias)
        .then(|| format!("{}@{domain}", local.replace('.', "")))
}

/// The refusal of an identifier.
pub fn refusal(kind: ContactKind, value: &str) -> Problem {
    Problem::of(Code::NotAllowedAccess, kind.name())
        .saying(format!("{value} is not allowed to access this application."))
        .with("identifiers", vec![value.to_owned()])
}

/// The refusal of whoever says that they have an account that may not enter. It names nothing but what was typed.
pub fn typed_refusal(identifier: &str) -> Problem {
    Problem::of(Code::NotAllowedAccess, "identifier")
        .saying(format!("{identifier} is not allowed to access this application."))
        .with("identifiers", vec![identifier.to_owned()])
}

/// The refusal of somebody who has nothing that could stand on the allow-list.
pub fn unlisted() -> Problem {
    Problem::new(Code::NotAllowedAccess)
        .saying("Only people whose e-mail address, phone number or wallet is on the allow-list may sign up.")
}

#[cfg(test)]
mod tests {
    use latchkey_kernel::settings::SignUpMode;

    use super::*;

    #[test]
    fn every_published_form_is_read_and_nothing_else() {
        let wallet = format!("0x{}", "AB".repeat(20));
        for (text, kind, shown, is_wildcard) in [
            (" Ada@Example.COM ", ContactKind::Email, "ada@example.com", false),
            ("ada+1@example.com", ContactKind::Email, "ada+1@example.com", false),
            ("*@Example.com", ContactKind::Email, "*@example.com", true),
            ("*@bücher.example", ContactKind::Email, "*@xn--bcher-kva.example", true),
            ("+1 (415) 555-0100", ContactKind::Phone, "+14155550100", false),
            (wallet.as_str(), ContactKind::Wallet, &wallet.to_lowercase(), false),
        ] {
            for list in [EntryList::Allow, EntryList::Block] {
                let read = read(text, list).unwrap();
                assert_eq!(
                    (read.kind, read.identifier.as_str(), read.is_wildcard),
                    (kind, shown, is_wildcard)
                );
            }
        }
        assert_eq!(read("*@*.example.com", EntryList::Block).unwrap().identifier, "*@*.example.com");
        assert!(read("*@*.example.com", EntryList::Allow).is_err());
        for bad in
            ["", "*", "*@", "*@*", "*@*.", "ada", "a*@example.com", "*@exa*mple.com", "4155550100", "@x.y"]
        {
            for list in [EntryList::Allow, EntryList::Block] {
                assert!(read(bad, list).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn an_address_is_looked_up_by_itself_its_domain_and_what_is_above() {
        let blocked = keys(ContactKind::Email, "ada+1=x@a.b.example", EntryList::Block);
        let expected = ["ada+1=x@a.b.example", "*@a.b.example", "*@*.b.example", "*@*.example"];
        assert_eq!(blocked, expected);
        let allowed = keys(ContactKind::Email, "ada+1@a.b.example", EntryList::Allow);
        assert_eq!(allowed, ["ada+1@a.b.example", "*@a.b.example"]);
        assert_eq!(keys(ContactKind::Phone, "+14155550100", EntryList::Block), ["+14155550100"]);
    }

    #[test]
    fn the_allow_list_has_the_last_word_where_it_counts() {
        use EntryList::{Allow, Block};
        use Standing::{Admitted, Blocked, Unlisted};
        let mut settings = Settings::default();
        let found = [&[][..], &[Allow], &[Block], &[Allow, Block]];
        let typed = |settings: &Settings| found.map(|found| standing(found, false, settings));
        let invited = |settings: &Settings| found.map(|found| standing(found, true, settings));
        assert_eq!(typed(&settings), [Admitted; 4]);
        settings.restrictions.blocklist = true;
        assert_eq!(typed(&settings), [Admitted, Admitted, Blocked, Blocked]);
        settings.restrictions.allowlist = true;
        assert_eq!(typed(&settings), [Unlisted, Admitted, Blocked, Admitted]);
        assert_eq!(invited(&settings), [Admitted, Admitted, Blocked, Admitted]);
        settings.restrictions.blocklist = false;
        assert_eq!(typed(&settings), [Unlisted, Admitted, Unlisted, Admitted]);
        settings.sign_up.mode = SignUpMode::Restricted;
        assert_eq!(typed(&settings), [Admitted; 4]);
    }

    #[test]
    fn what_the_settings_refuse_by_itself() {
        let mut settings = Settings::default();
        let refused =
            |value: &str, settings: &Settings| blocked(ContactKind::Email, value, settings, true).is_some();
        assert!(!refused("ada+1@example.com", &settings) && !refused("ada@mailinator.com", &settings));
        settings.restrictions.block_email_subaddresses = true;
        for value in ["ada+1@example.com", "ada=1@example.com", "ada#1@example.com"] {
            assert!(refused(value, &settings), "{value}");
        }
        assert!(!refused("ada@example.com", &settings) && !refused("ada+clerk_test@example.com", &settings));
        settings.restrictions.block_disposable_email_domains = true;
        assert!(refused("ada@mailinator.com", &settings) && refused("ada@x.mailinator.com", &settings));
    }

    #[test]
    fn dots_make_no_other_mailbox_at_gmail() {
        let mut settings = Settings::default();
        let alias = |value: &str, settings: &Settings| without_dots(ContactKind::Email, value, settings);
        assert_eq!(alias("j.smith@gmail.com", &settings), None);
        settings.restrictions.block_email_subaddresses = true;
        assert_eq!(alias("j.smi.th@gmail.com", &settings).as_deref(), Some("jsmith@gmail.com"));
        assert_eq!(alias("jsmith@gmail.com", &settings), None);
        assert_eq!(alias("j.smith@example.com", &settings), None);
    }
}
