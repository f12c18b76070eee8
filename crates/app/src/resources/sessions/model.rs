//! What a session is.

use latchkey_base::Time;
use latchkey_base::kinds::{ClientId, InstanceId, SessionActivityId, SessionId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::resources::challenges::model::Challenge;

/// A user signed in on a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The tenant; not part of the document.
    #[serde(skip, default = "InstanceId::unset")]
    pub instance: InstanceId,
    /// Its id.
    pub id: SessionId,
    /// Where.
    pub client: ClientId,
    /// Who.
    pub user: UserId,
    /// What was done to it last. What became of it by time alone is told by `status_at`.
    pub status: Status,
    /// What the user has to do before the session counts; empty unless it is pending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Who acts as the user, if it is somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Map<String, Value>>,
    /// The organization the user works for at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_organization: Option<String>,
    /// When the first factor was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_factor_at: Option<Time>,
    /// When the second factor was proven.
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
    /// When it began.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
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

impl Status {
    /// Every status.
    pub const ALL: [Status; 8] = [
        Status::Abandoned,
        Status::Active,
        Status::Ended,
        Status::Expired,
        Status::Pending,
        Status::Removed,
        Status::Replaced,
        Status::Revoked,
    ];

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Status::Abandoned => "abandoned",
            Status::Active => "active",
            Status::Ended => "ended",
            Status::Expired => "expired",
            Status::Pending => "pending",
            Status::Removed => "removed",
            Status::Replaced => "replaced",
            Status::Revoked => "revoked",
        }
    }

    /// Whether the user counts as present, if maybe with something left to do.
    pub fn is_live(self) -> bool {
        matches!(self, Status::Active | Status::Pending)
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
    /// A first factor.
    FirstFactor,
    /// A second factor.
    SecondFactor,
    /// Both.
    MultiFactor,
}

/// What is to be proven next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReverificationStatus {
    /// A first factor.
    NeedsFirstFactor,
    /// A second factor.
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
    /// Its id.
    pub id: SessionActivityId,
    /// Such as `Macintosh` or `iPhone`.
    pub device_type: Option<String>,
    /// Whether it is a phone or tablet.
    pub is_mobile: bool,
    /// Such as `Chrome`.
    pub browser_name: Option<String>,
    /// Its version.
    pub browser_version: Option<String>,
    /// The address it came from.
    pub ip_address: Option<String>,
}

impl Session {
    /// Where it stands at a moment.
    pub fn status_at(&self, now: Time) -> Status {
        match self.status {
            Status::Active | Status::Pending if self.expire_at <= now => Status::Expired,
            Status::Active | Status::Pending if self.abandon_at <= now => Status::Abandoned,
            status => status,
        }
    }

    /// Whether the user counts as present.
    pub fn is_live(&self, now: Time) -> bool {
        self.status_at(now).is_live()
    }

    /// Minutes since the first and the second factor were proven; -1 is never.
    pub fn factor_ages(&self, now: Time) -> [i64; 2] {
        let age = |at: Option<Time>| at.map_or(-1, |at| now.ms_since(at) / 60_000);
        [age(self.first_factor_at), age(self.second_factor_at)]
    }
}
