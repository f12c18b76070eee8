//! Names, pictures and addresses that pages show and lead to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an application that was not given a name is called.
const NAMELESS: &str = "Latchkey";

/// Names, pictures and addresses that pages show and lead to. An address that is not set is one of the
/// hosted pages, or the home page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Display {
    /// What people know the application as.
    pub application_name: String,
    /// Whom people ask for help.
    pub support_email: Option<String>,
    /// Where people find help.
    pub help_url: Option<String>,
    /// The terms of service.
    pub terms_url: Option<String>,
    /// What is done with people's data.
    pub privacy_policy_url: Option<String>,
    /// The application itself.
    pub home_url: Option<String>,
    /// Its logo.
    pub logo_image_url: Option<String>,
    /// Where a click on the logo leads.
    pub logo_link_url: Option<String>,
    /// Its icon in the browser's tab.
    pub favicon_image_url: Option<String>,
    /// A page to sign in at, instead of the hosted one.
    pub sign_in_url: Option<String>,
    /// A page to sign up at, instead of the hosted one.
    pub sign_up_url: Option<String>,
    /// A page to see one's account at, instead of the hosted one.
    pub user_profile_url: Option<String>,
    /// A page to see the organization at that one works for, instead of the hosted one.
    pub organization_profile_url: Option<String>,
    /// A page to create an organization at, instead of the hosted one.
    pub create_organization_url: Option<String>,
    /// A page with the waitlist, instead of the hosted one.
    pub waitlist_url: Option<String>,
    /// Where one gets to after signing in on the hosted page without having come for something; otherwise `home_url`.
    pub after_sign_in_url: Option<String>,
    /// Where one gets to after signing up on the hosted page without having come for something; otherwise `home_url`.
    pub after_sign_up_url: Option<String>,
    /// Where one gets to after signing out of one of several sessions.
    pub after_sign_out_one_url: Option<String>,
    /// Where one gets to after signing out of all sessions on the hosted pages; otherwise `sign_in_url`.
    pub after_sign_out_all_url: Option<String>,
    /// Where one gets to after changing to another session; an empty text stays on the page.
    pub after_switch_session_url: Option<String>,
    /// Where one gets to after joining the waitlist. Without it the hosted page stays and says that one has joined.
    pub after_join_waitlist_url: Option<String>,
    /// Page after the creation of an organization. Otherwise users of a development instance go back to the application
    /// that they come from, and others to `home_url`.
    pub after_create_organization_url: Option<String>,
    /// Page after leaving an organization. The default is that of `after_create_organization_url`.
    pub after_leave_organization_url: Option<String>,
    /// Whether pages of a development instance say that they are.
    pub show_devmode_warning: bool,
}

impl Default for Display {
    fn default() -> Display {
        Display {
            application_name: String::new(),
            support_email: None,
            help_url: None,
            terms_url: None,
            privacy_policy_url: None,
            home_url: None,
            logo_image_url: None,
            logo_link_url: None,
            favicon_image_url: None,
            sign_in_url: None,
            sign_up_url: None,
            user_profile_url: None,
            organization_profile_url: None,
            create_organization_url: None,
            waitlist_url: None,
            after_sign_in_url: None,
            after_sign_up_url: None,
            after_sign_out_one_url: None,
            after_sign_out_all_url: None,
            after_switch_session_url: None,
            after_join_waitlist_url: None,
            after_create_organization_url: None,
            after_leave_organization_url: None,
            show_devmode_warning: true,
        }
    }
}

impl Display {
    /// What people know the application as.
    pub fn name(&self) -> &str {
        match self.application_name.as_str() {
            "" => NAMELESS,
            name => name,
        }
    }

    /// All addresses that may be set, with their names.
    pub fn urls(&self) -> [(&'static str, Option<&str>); 21] {
        [
            ("help_url", self.help_url.as_deref()),
            ("terms_url", self.terms_url.as_deref()),
            ("privacy_policy_url", self.privacy_policy_url.as_deref()),
            ("home_url", self.home_url.as_deref()),
            ("logo_image_url", self.logo_image_url.as_deref()),
            ("logo_link_url", self.logo_link_url.as_deref()),
            ("favicon_image_url", self.favicon_image_url.as_deref()),
            ("sign_in_url", self.sign_in_url.as_deref()),
            ("sign_up_url", self.sign_up_url.as_deref()),
            ("user_profile_url", self.user_profile_url.as_deref()),
            ("organization_profile_url", self.organization_profile_url.as_deref()),
            ("create_organization_url", self.create_organization_url.as_deref()),
            ("waitlist_url", self.waitlist_url.as_deref()),
            ("after_sign_in_url", self.after_sign_in_url.as_deref()),
            ("after_sign_up_url", self.after_sign_up_url.as_deref()),
            ("after_sign_out_one_url", self.after_sign_out_one_url.as_deref()),
            ("after_sign_out_all_url", self.after_sign_out_all_url.as_deref()),
            (
                "after_switch_session_url",
                self.after_switch_session_url.as_deref().filter(|url| !url.is_empty()),
            ),
            ("after_join_waitlist_url", self.after_join_waitlist_url.as_deref()),
            ("after_create_organization_url", self.after_create_organization_url.as_deref()),
            ("after_leave_organization_url", self.after_leave_organization_url.as_deref()),
        ]
    }
}
