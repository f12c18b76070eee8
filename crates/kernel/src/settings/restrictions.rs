//! Which addresses, numbers and wallets people may enter with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::Faults;
use super::{Settings, SignUpMode};

/// Which addresses, numbers and wallets people may enter with: when they sign up, when one is added to an account, and
/// when a backend creates a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Restrictions {
    /// Only addresses, numbers and wallets on the allow-list, and addresses that were invited. While the list is empty,
    /// nobody else. For the sign-up mode `public` only: in the other modes people need an invitation anyway.
    pub allowlist: bool,
    /// No addresses, numbers and wallets on the block-list, unless the allow-list is in use and has them.
    pub blocklist: bool,
    /// The two lists count for signing up, and not for people who have an account and sign in.
    pub allowlist_blocklist_disabled_on_sign_in: bool,
    /// No addresses such as `ada+1@example.com`, which let one person have many accounts, and no address of Gmail with
    /// dots if the same address without dots has an account.
    pub block_email_subaddresses: bool,
    /// No addresses of providers whose mailboxes are thrown away after use.
    pub block_disposable_email_domains: bool,
}

impl Default for Restrictions {
    fn default() -> Restrictions {
        Restrictions {
            allowlist: false,
            blocklist: false,
            allowlist_blocklist_disabled_on_sign_in: true,
            block_email_subaddresses: false,
            block_disposable_email_domains: false,
        }
    }
}

impl Settings {
    /// Whether only those on the allow-list may enter. In other modes than `public` it does not count, even in a
    /// document that was written before this was checked.
    pub fn has_allowlist(&self) -> bool {
        self.restrictions.allowlist && self.sign_up.mode == SignUpMode::Public
    }

    /// Whether anything keeps identifiers out.
    pub fn has_restrictions(&self) -> bool {
        let restrictions = &self.restrictions;
        self.has_allowlist()
            || restrictions.blocklist
            || restrictions.block_email_subaddresses
            || restrictions.block_disposable_email_domains
    }

    pub(super) fn check_restrictions(&self, faults: &mut Faults) {
        if self.restrictions.allowlist && self.sign_up.mode != SignUpMode::Public {
            faults.add(
                "restrictions.allowlist",
                "The allow-list counts only where sign_up.mode is public: set sign_up.mode=public, or \
                 restrictions.allowlist=false.",
            );
        }
        if self.sign_up.mode == SignUpMode::Waitlist && !self.attributes.email_address.enabled {
            faults.add(
                "sign_up.mode",
                "The waitlist takes e-mail addresses: set attributes.email_address.enabled=true, or another \
                 sign_up.mode.",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::edit;
    use super::*;

    #[test]
    fn the_allow_list_needs_a_sign_up_that_is_open() {
        let change = |mode: &str| {
            let changes = [
                ("restrictions.allowlist".to_owned(), json!(true)),
                ("sign_up.mode".to_owned(), json!(mode)),
            ];
            edit::changed(&Settings::default(), &changes)
        };
        assert!(change("public").unwrap().has_allowlist());
        let faults = change("restricted").unwrap_err();
        assert_eq!(
            faults.iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(),
            ["restrictions.allowlist"]
        );
    }

    #[test]
    fn the_waitlist_needs_e_mail_addresses() {
        let change = |is_enabled: bool| {
            let changes = [
                ("sign_up.mode".to_owned(), json!("waitlist")),
                ("attributes.email_address.enabled".to_owned(), json!(is_enabled)),
                ("attributes.email_address.required_at_sign_up".to_owned(), json!(is_enabled)),
                ("attributes.username.enabled".to_owned(), json!(true)),
                ("attributes.username.used_for_first_factor".to_owned(), json!(true)),
            ];
            edit::changed(&Settings::default(), &changes)
        };
        assert_eq!(change(true).unwrap().sign_up.mode, SignUpMode::Waitlist);
        let faults = change(false).unwrap_err();
        assert!(faults.iter().any(|fault| fault.path == "sign_up.mode"), "{faults:?}");
    }

    #[test]
    fn documents_of_before_have_no_lists() {
        let old: Restrictions = serde_json::from_value(json!({"block_email_subaddresses": true})).unwrap();
        assert_eq!(old, Restrictions { block_email_subaddresses: true, ..Restrictions::default() });
    }
}
