//! The steps of an attempt, each inside its one transaction. The client is locked first, then the attempt:
//! whatever happens on a client happens one after the other.

use latchkey_base::kinds::SignUpId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_db::{TransactionBody, Tx, unique_violation};
use latchkey_door::client_handle::{ClientHandle, LockedClient};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::strategy::Strategy;
use latchkey_messaging::messages::model::{Asker, Recipient};
use latchkey_messaging::messages::rules::Purpose;
use latchkey_messaging::messages::{rules as messages, sending as outgoing};
use latchkey_people::challenges::model::Challenge;
use latchkey_people::challenges::rules::{AttemptOutcome, attempt_code};
use latchkey_people::identifications::rules::taken_problem;
use latchkey_people::recipients::channel;
use latchkey_people::users::store as users;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store as clients;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::sign_ups::model::{Password, SignUp};
use latchkey_presence::sign_ups::{fields, rules as attempts, store};

use super::input::SignUpForm;
use super::{accounts, complete, restrictions, rules, tickets, transfer};
use crate::strategies::attempt_wallet;

/// What every step needs.
#[derive(Clone)]
pub struct SignUpContext {
    /// Who does it when, and by which settings.
    pub act: Act,
    /// The client that asks.
    pub client: ClientHandle,
    /// The origin of the page that asks.
    pub page: String,
}

/// What came of a step. It is kept even where the answer is a refusal: a wrong code counts.
pub struct StepOutcome {
    pub client: Client,
    /// What proves it, if that is new.
    pub secret: Option<ClientProof>,
    pub sign_up: SignUp,
    /// Why the answer is a refusal, if it is.
    pub refusal: Option<Error>,
}

/// What somebody shows to prove that an address, number or wallet is theirs.
#[derive(Clone)]
pub enum ShownToProve {
    /// The code that was sent.
    Code(Secret),
    /// The signature of a wallet.
    Signature(String),
}

/// What a form says, checked as far as that is possible without looking at the database.
#[derive(Clone)]
pub struct CheckedForm {
    pub form: SignUpForm,
    /// The password in it, hashed.
    pub password: Option<Password>,
    /// How to prove the address or number at once.
    pub strategy: Option<Strategy>,
    /// Where a link leads in the end.
    pub redirect_url: Option<String>,
    /// The account at another provider by which somebody signs up: asked for, or proven already.
    pub account: Option<Challenge>,
}

/// Runs the transaction of a step. Somebody else may take an identifier after it was found free and before it is
/// written. Then the transaction runs a second time, which finds and names the identifier that is taken.
pub async fn write_retrying_once<T, F>(cx: &Cx, work: F) -> Result<T>
where
    T: Send + 'static,
    F: Clone + for<'a> FnOnce(&'a mut Tx) -> TransactionBody<'a, T> + Send + 'static,
{
    match cx.write(work.clone()).await {
        Err(error) if unique_violation(&error).is_some() => cx.write(work).await.map_err(explained),
        outcome => outcome,
    }
}

fn explained(error: Error) -> Error {
    match unique_violation(&error) {
        Some("users.external_id") => taken_problem("external_id").into(),
        Some(_) => Error::new(Code::FormIdentifierExists),
        None => error,
    }
}

impl SignUpContext {
    /// Begins an attempt, which takes the place of the one under way on the client.
    pub async fn create(self, tx: &mut Tx, id: SignUpId, wanted: CheckedForm) -> Result<StepOutcome> {
        let act = &self.act;
        let LockedClient { client, secret } = self.client.lock_or_create(tx, act).await?;
        if let Some(error) = complete::occupied(tx, act, &client).await? {
            return Err(error);
        }
        let sign_up = SignUp { id, ..SignUp::new(&act.instance, &client.id, act.now, &*act.rng) };
        let (mut client, sign_up) = match wanted.form.transfer {
            Some(true) => transfer::take_over(tx, act, client, sign_up).await?,
            Some(false) | None => (client, sign_up),
        };
        let sign_up = self.filled(tx, sign_up, wanted).await?;
        if let Some(old) = client.sign_up.replace(sign_up.id.clone()) {
            store::delete(tx, &act.instance, &old).await?;
        }
        store::insert(tx, &sign_up).await?;
        clients::save(tx, &client, act.now).await?;
        let step = self.conclude(tx, client, sign_up).await?;
        Ok(StepOutcome { secret: step.secret.or(secret), ..step })
    }

    /// Changes what is known of the person.
    pub async fn update(self, tx: &mut Tx, id: SignUpId, wanted: CheckedForm) -> Result<StepOutcome> {
        let (client, sign_up) = self.lock(tx, &id).await?;
        let sign_up = attempts::open(sign_up, self.act.now)?;
        let sign_up = self.filled(tx, sign_up, wanted).await?;
        store::save(tx, &sign_up).await?;
        self.conclude(tx, client, sign_up).await
    }

    /// Sends a code or link.
    pub async fn prepare(
        self,
        tx: &mut Tx,
        id: SignUpId,
        strategy: Strategy,
        redirect_url: Option<String>,
    ) -> Result<StepOutcome> {
        let (client, sign_up) = self.lock(tx, &id).await?;
        let mut sign_up = attempts::open(sign_up, self.act.now)?;
        rules::admit(&self.act.settings, sign_up.is_invited)?;
        restrictions::check(tx, &self.act, &sign_up).await?;
        self.send(tx, &mut sign_up, strategy, redirect_url).await?;
        store::save(tx, &sign_up).await?;
        Ok(StepOutcome { client, secret: None, sign_up, refusal: None })
    }

    /// Tries what somebody shows to prove an address, number or wallet.
    pub async fn attempt(
        self,
        tx: &mut Tx,
        id: SignUpId,
        strategy: Strategy,
        shown: ShownToProve,
    ) -> Result<StepOutcome> {
        let act = &self.act;
        let (client, mut sign_up) = self.lock(tx, &id).await?;
        let kind = rules::proves(strategy);
        let claimed = sign_up.claimed_mut(kind).as_mut();
        let claimed = claimed.ok_or_else(|| Error::new(Code::VerificationMissing))?;
        let asked = claimed.verification.clone().map(|asked| asked.answered_by(strategy));
        let challenge = match asked {
            Some(challenge) if challenge.strategy == strategy => challenge,
            Some(_) => return Err(Error::param(Code::VerificationStrategyInvalid, "strategy")),
            None if claimed.is_outdated => return Err(Error::new(Code::SignUpOutdatedVerification)),
            None => return Err(Error::new(Code::VerificationMissing)),
        };
        let AttemptOutcome { challenge, refusal } = match shown {
            ShownToProve::Code(code) => attempt_code(&act.master, challenge, &code, act.now)?,
            ShownToProve::Signature(signature) => attempt_wallet(act, challenge, &signature)?,
        };
        claimed.verification = Some(challenge);
        if refusal.is_none() {
            sign_up = attempts::open(sign_up, act.now)?;
            rules::admit(&self.act.settings, sign_up.is_invited)?;
        }
        store::save(tx, &sign_up).await?;
        // Whoever has proven that the address is theirs may know that it has an account already.
        let refusal = match refusal {
            Some(refusal) => Some(refusal),
            None => Error::collect(self.taken(tx, &sign_up).await?).err(),
        };
        match refusal {
            Some(_) => Ok(StepOutcome { client, secret: None, sign_up, refusal }),
            None => self.conclude(tx, client, sign_up).await,
        }
    }

    /// Makes the user and the session if nothing is left to ask for. The attempt is saved already.
    async fn conclude(&self, tx: &mut Tx, client: Client, sign_up: SignUp) -> Result<StepOutcome> {
        match fields::progress(&sign_up, &self.act.settings).is_complete() {
            true => complete::complete(tx, &self.act, Some(&self.client), client, sign_up).await,
            false => Ok(StepOutcome { client, secret: None, sign_up, refusal: None }),
        }
    }

    /// The attempt of the client that asks; one of another client is not there.
    async fn lock(&self, tx: &mut Tx, id: &SignUpId) -> Result<(Client, SignUp)> {
        let client = self.client.lock(tx).await?;
        let found = store::lock(tx, &self.act.instance, id).await?;
        let mine = found.filter(|sign_up| sign_up.client == client.id);
        Ok((client, mine.ok_or_else(|| Error::not_found("sign-up", id))?))
    }

    /// The attempt with what a form says; a code or link is on its way if the form asks for it.
    async fn filled(&self, tx: &mut Tx, sign_up: SignUp, wanted: CheckedForm) -> Result<SignUp> {
        let act = &self.act;
        let settings = &act.settings;
        let sign_up = match wanted.form.ticket.as_deref().filter(|ticket| !ticket.is_empty()) {
            Some(ticket) => tickets::admit(tx, act, sign_up, ticket).await?,
            None => sign_up,
        };
        rules::admit(settings, sign_up.is_invited)?;
        let mut problems = Vec::new();
        let invited = sign_up.clone();
        let mut sign_up =
            rules::fill(sign_up, &wanted.form, settings, act.test_mode, act.now, &mut problems)?;
        Error::collect(problems)?;
        tickets::check_address(&invited, &sign_up)?;
        restrictions::check(tx, act, &sign_up).await?;
        sign_up.password = wanted.password.or(sign_up.password);
        if let Some(proof) = wanted.account {
            sign_up = Box::pin(accounts::filled(tx, act, sign_up, proof)).await?;
        }
        Error::collect(self.taken(tx, &sign_up).await?)?;
        if let Some(strategy) = wanted.strategy {
            let claimed = sign_up.claimed(rules::proves(strategy));
            if !claimed.is_some_and(|claimed| claimed.is_verified()) {
                self.send(tx, &mut sign_up, strategy, wanted.redirect_url).await?;
            }
        }
        Ok(sign_up)
    }

    /// Which identifiers somebody else has, as far as that may be told.
    async fn taken(&self, tx: &mut Tx, sign_up: &SignUp) -> Result<Vec<Problem>> {
        let mut problems = restrictions::aliases(tx, &self.act, sign_up).await?;
        let tellable = rules::tellable(sign_up, &self.act.settings);
        let held = users::held(tx, &sign_up.instance, tellable).await?;
        problems.extend(held.into_iter().map(taken_problem));
        Ok(problems)
    }

    async fn send(
        &self,
        tx: &mut Tx,
        sign_up: &mut SignUp,
        strategy: Strategy,
        redirect_url: Option<String>,
    ) -> Result<()> {
        let act = &self.act;
        let prepared = rules::prepare(act, sign_up, strategy, redirect_url, &self.page, &act.settings)?;
        let kind = rules::proves(strategy);
        let to = sign_up.claimed(kind).map(|claimed| claimed.value.as_str()).unwrap_or_default();
        outgoing::check_country(act, channel(kind), to)?;
        if !prepared.is_sent {
            return Ok(());
        }
        let locale = sign_up.locale.as_deref();
        let to = Recipient { account: None, channel: channel(kind), to, identification: None, locale };
        let message = match strategy {
            Strategy::EmailLink => {
                let url = format!("{}/v1/verify?token={}", act.url, prepared.secret.expose());
                messages::link(act, to, Purpose::SignUp, &url)
            }
            _ => messages::code(act, to, &prepared.secret),
        };
        outgoing::send_asked(tx, act, Asker::Stranger, message).await
    }
}
