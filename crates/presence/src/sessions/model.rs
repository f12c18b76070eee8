//! What a session is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, InstanceId, SessionActivityId, SessionId, UserId};
use latchkey_kernel::settings::OrganizationSettings;
use latchkey_organizations::choices::ChosenOrganization;
use latchkey_people::challenges::model::Challenge;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A user signed in on a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    pub id: SessionId,
    /// The client it is on.
    pub client: ClientId,
    /// The user who is signed in.
    pub user: UserId,
    /// What was done to it last. What became of it by time alone is told by `status_at`.
    pub status: SessionStatus,
    /// What the user has to do before the session counts; empty unless it is pending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Who acts as the user, if it is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Map<String, Value>>,
    /// The organization the user works for at the moment; in columns of its own, not part of the document.
    #[serde(skip)]
    pub active_organization: Option<ChosenOrganization>,
    /// Whether an event told that it counts. Documents of earlier versions do not say; `store.rs` fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_factor_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_factor_at: Option<Time>,
    /// The proving of factors anew that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverification: Option<Reverification>,
    /// What was last seen of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// When it was last used.
    pub last_active_at: Time,
    /// When it ends at the latest.
    pub expire_at: Time,
    /// When it ends unless it is used.
    pub abandon_at: Time,
    pub created_at: Time,
    pub updated_at: Time,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// Not used for too long.
    Abandoned,
    /// In use.
    Active,
    /// The user signed out.
    Ended,
    /// Its time is over.
    Expired,
    /// Signed in, but with something left to do first.
    Pending,
    /// The user signed out on this client.
    Removed,
    /// Another session took its place.
    Replaced,
    /// Somebody else ended it.
    Revoked,
}

impl SessionStatus {
    pub const ALL: [SessionStatus; 8] = [
        SessionStatus::Abandoned,
        SessionStatus::Active,
        SessionStatus::Ended,
        SessionStatus::Expired,
        SessionStatus::Pending,
        SessionStatus::Removed,
        SessionStatus::Replaced,
        SessionStatus::Revoked,
    ];

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            SessionStatus::Abandoned => "abandoned",
            SessionStatus::Active => "active",
            SessionStatus::Ended => "ended",
            SessionStatus::Expired => "expired",
            SessionStatus::Pending => "pending",
            SessionStatus::Removed => "removed",
            SessionStatus::Replaced => "replaced",
            SessionStatus::Revoked => "revoked",
        }
    }

    /// Whether the user counts as present, if maybe with something left to do.
    pub fn is_live(self) -> bool {
        matches!(self, SessionStatus::Active | SessionStatus::Pending)
    }
}

/// Something to do before a session counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Choose a new password.
    ResetPassword,
    /// Set up a second factor.
    SetupMfa,
    /// Choose an organization to work for. It is not kept: who has to choose is told anew whenever a session is read.
    ChooseOrganization,
}

/// Proving anew who it is, in a session that is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reverification {
    /// What is to be proven.
    pub level: Level,
    /// The first factor, as far as it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_factor: Option<Challenge>,
    /// The second factor, as far as it has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_factor: Option<Challenge>,
    /// What was sent last to each address and number, without the codes. Starting anew does not let anybody
    /// have more sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<Challenge>,
}

/// How much is to be proven anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    FirstFactor,
    SecondFactor,
    /// Both.
    MultiFactor,
}

/// What is to be proven next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReverificationStatus {
    NeedsFirstFactor,
    NeedsSecondFactor,
    /// Nothing.
    Complete,
}

impl Reverification {
    /// Whether something is left to prove.
    pub fn is_under_way(&self) -> bool {
        self.status() != ReverificationStatus::Complete
    }

    /// What is to be proven next.
    pub fn status(&self) -> ReverificationStatus {
        let is_met =
            |challenge: &Option<Challenge>| challenge.as_ref().is_some_and(|it| it.verified_at.is_some());
        match self.level {
            Level::FirstFactor | Level::MultiFactor if !is_met(&self.first_factor) => {
                ReverificationStatus::NeedsFirstFactor
            }
            Level::MultiFactor if self.first_factor.as_ref().is_some_and(|first| first.proves_both) => {
                ReverificationStatus::Complete
            }
            Level::SecondFactor | Level::MultiFactor if !is_met(&self.second_factor) => {
                ReverificationStatus::NeedsSecondFactor
            }
            Level::FirstFactor | Level::SecondFactor | Level::MultiFactor => ReverificationStatus::Complete,
        }
    }
}

/// What was last seen of a session: from where, with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    pub id: SessionActivityId,
    /// Such as `Macintosh` or `iPhone`.
    pub device_type: Option<String>,
    /// Whether it is a phone or tablet.
    pub is_mobile: bool,
    /// Such as `Chrome`.
    pub browser_name: Option<String>,
    pub browser_version: Option<String>,
    /// The address it came from.
    pub ip_address: Option<String>,
}

impl Session {
    /// Where it stands at a moment.
    pub fn status_at(&self, now: Time) -> SessionStatus {
        match self.status {
            SessionStatus::Active | SessionStatus::Pending if self.expire_at <= now => SessionStatus::Expired,
            SessionStatus::Active | SessionStatus::Pending if self.abandon_at <= now => {
                SessionStatus::Abandoned
            }
            status => status,
        }
    }

    /// Whether the user counts as present.
    pub fn is_live(&self, now: Time) -> bool {
        self.status_at(now).is_live()
    }

    /// As it counts by the settings: where everybody works for an organization, a session without one waits for the
    /// choice. Whoever acts as somebody else has nothing to choose for them.
    pub fn seen(mut self, organizations: &OrganizationSettings) -> Session {
        self.active_organization = self.active_organization.filter(|_| organizations.enabled);
        self = self.without_choice();
        let is_own = self.actor.is_none() && self.status.is_live();
        if organizations.is_choice_forced() && self.active_organization.is_none() && is_own {
            self.status = SessionStatus::Pending;
            self.tasks.push(Task::ChooseOrganization);
        }
        self
    }

    /// Whether it counts and no event has told so.
    pub fn is_to_announce(&self) -> bool {
        self.status == SessionStatus::Active && self.announced != Some(true)
    }

    /// As it is kept, whatever is to be chosen.
    pub fn without_choice(mut self) -> Session {
        self.tasks.retain(|task| *task != Task::ChooseOrganization);
        if self.status == SessionStatus::Pending && self.tasks.is_empty() {
            self.status = SessionStatus::Active;
        }
        self
    }

    /// Minutes since the first and the second factor were proven; -1 is never.
    pub fn factor_ages(&self, now: Time) -> [i64; 2] {
        let age = |at: Option<Time>| at.map_or(-1, |at| now.ms_since(at) / 60_000);
        [age(self.first_factor_at), age(self.second_factor_at)]
    }
}
