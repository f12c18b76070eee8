//! The pages, and what they must know about an instance.

/// A hosted page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Page {
    /// Signing in, with its steps, and choosing between several accounts.
    SignIn,
    /// Signing up, with its steps.
    SignUp,
    /// The profile of the person who is signed in.
    User,
    /// The organization the person works for.
    Organization,
    /// A new organization.
    CreateOrganization,
    /// Asking for a place in a closed beta.
    Waitlist,
    /// Where people land who came without a place to go to.
    DefaultRedirect,
    /// What a person sees who reported a sign-in that was not theirs.
    UnauthorizedSignIn,
    /// What a person sees who opened a link that nobody knows any more. It stands where the link led.
    InvalidLink,
}

impl Page {
    /// All that have an address of their own.
    pub const ALL: [Page; 8] = [
        Page::SignIn,
        Page::SignUp,
        Page::User,
        Page::Organization,
        Page::CreateOrganization,
        Page::Waitlist,
        Page::DefaultRedirect,
        Page::UnauthorizedSignIn,
    ];

    /// Its address. Everything below it is the same page: the components keep their steps there.
    pub const fn path(self) -> &'static str {
        match self {
            Page::SignIn => "/sign-in",
            Page::SignUp => "/sign-up",
            Page::User => "/user",
            Page::Organization => "/organization",
            Page::CreateOrganization => "/create-organization",
            Page::Waitlist => "/waitlist",
            Page::DefaultRedirect => "/default-redirect",
            Page::UnauthorizedSignIn => "/unauthorized-sign-in",
            Page::InvalidLink => "/invalid-link",
        }
    }

    /// Whether the page is about organizations.
    pub fn is_of_organizations(self) -> bool {
        matches!(self, Page::Organization | Page::CreateOrganization)
    }

    /// Its title in the browser.
    pub const fn title(self) -> &'static str {
        match self {
            Page::SignIn => "Sign in",
            Page::SignUp => "Sign up",
            Page::User => "Your account",
            Page::Organization => "Your organization",
            Page::CreateOrganization => "New organization",
            Page::Waitlist => "Join the waitlist",
            Page::DefaultRedirect => "Welcome",
            Page::UnauthorizedSignIn => "Sign-in reported",
            Page::InvalidLink => "Link no longer valid",
        }
    }
}

/// What a page shows of its instance. All of it is public.
#[derive(Clone, Debug)]
pub struct Portal {
    /// The key that tells clerk-js its instance.
    pub publishable_key: String,
    /// The name of the application; may be empty.
    pub application_name: String,
    /// Where the application lives, for a link to it; may be empty.
    pub home_url: String,
    /// Whether there are organizations.
    pub has_organizations: bool,
    /// Whether people wait for an invitation to sign up.
    pub has_waitlist: bool,
    /// Whether one person at a time is signed in in a browser.
    pub is_single_session: bool,
    /// Where people sign in.
    pub sign_in_url: String,
    /// Where people get to after signing in, unless they came for something.
    pub after_sign_in_url: String,
    /// Where people get to after signing up, unless they came for something.
    pub after_sign_up_url: String,
    /// Where people get to after signing out of one of several sessions.
    pub after_sign_out_one_url: String,
    /// Where people get to after signing out.
    pub after_sign_out_all_url: String,
    /// The page after an organization was created; empty if the components decide.
    pub after_create_organization_url: String,
    /// The page after a user left an organization; empty if the components decide.
    pub after_leave_organization_url: String,
    /// Where people get to after joining the waitlist; empty if they stay.
    pub after_join_waitlist_url: String,
    /// Where people find help; may be empty.
    pub help_url: String,
    /// Where a click on the logo leads, if not to where the application lives; may be empty.
    pub logo_link_url: String,
    /// The icon of the application; may be empty.
    pub favicon_url: String,
    /// Whether the instance is for development: then the page explains what is wrong with a set-up.
    pub is_development: bool,
    /// Where the messages of a development instance are read.
    pub inbox_url: Option<String>,
    /// Origins besides its own to which clerk-js may send people who are done. `*` stands for any text.
    pub redirect_origins: Vec<String>,
    /// Where pictures are, besides the Frontend API itself and whatever speaks HTTPS.
    pub image_origins: Vec<String>,
    /// Whether the scripts are served from a directory rather than by redirect to a public CDN.
    pub has_own_scripts: bool,
}
