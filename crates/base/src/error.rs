//! The one error type, and the catalogue of codes behind it.
//!
//! Codes are forever: programs match on them. Texts may improve. Reuse a code unless a program must
//! tell two cases apart. `cause` is for the log only; nothing of it can reach a response.

use std::error::Error as StdError;
use std::fmt;

use serde_json::{Map, Value, json};

/// Shorthand used everywhere.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request was refused or failed: one problem or several.
pub struct Error(Box<Inner>);

struct Inner {
    problems: Vec<Problem>,
    retry_after_seconds: Option<i64>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

/// One entry of an error body.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Which problem.
    pub code: Code,
    /// What to tell this caller, when the catalogue's text is too general.
    pub detail: Option<String>,
    /// Machine-readable extras, such as `param_name`.
    pub meta: Map<String, Value>,
}

impl Problem {
    /// A problem with the catalogue's own text.
    pub fn new(code: Code) -> Problem {
        Problem { code, detail: None, meta: Map::new() }
    }

    /// A problem of one named parameter.
    pub fn of(code: Code, param: &str) -> Problem {
        Problem::new(code).with("param_name", param)
    }

    /// Adds a sentence for the caller.
    pub fn saying(mut self, detail: impl Into<String>) -> Problem {
        self.detail = Some(detail.into());
        self
    }

    /// Adds an entry to `meta`.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Problem {
        self.meta.insert(key.to_owned(), value.into());
        self
    }

    /// The body entry: `message`, `long_message`, `code` and, unless empty, `meta`.
    pub fn to_json(&self) -> Value {
        let Spec(_, code, message) = self.code.spec();
        let mut entry = json!({
            "message": message,
            "long_message": self.detail.as_deref().unwrap_or(message),
            "code": code,
        });
        if !self.meta.is_empty() {
            entry["meta"] = Value::Object(self.meta.clone());
        }
        entry
    }
}

impl Error {
    /// An error with the catalogue's own text.
    pub fn new(code: Code) -> Error {
        Problem::new(code).into()
    }

    /// An error about one named parameter.
    pub fn param(code: Code, param: &str) -> Error {
        Problem::of(code, param).into()
    }

    /// Nothing of that kind and id in this instance.
    pub fn not_found(what: &str, id: &dyn fmt::Display) -> Error {
        Problem::new(Code::ResourceNotFound).saying(format!("No {what} was found with id {id}.")).into()
    }

    /// A failure that is ours; `cause` goes to the log.
    pub fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        let mut error = Error::new(Code::Internal);
        error.0.cause = Some(cause.into());
        error
    }

    /// All problems together, or nothing to complain about.
    pub fn collect(problems: Vec<Problem>) -> Result<()> {
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Error(Box::new(Inner { problems, retry_after_seconds: None, cause: None }))),
        }
    }

    /// The same failure under another code.
    pub fn recoded(mut self, code: Code) -> Error {
        self.0.problems[0].code = code;
        self
    }

    /// Tells the caller when to come back.
    pub fn retry_after(mut self, seconds: i64) -> Error {
        self.0.retry_after_seconds = Some(seconds);
        self
    }

    /// Adds a sentence for the caller to the first problem.
    pub fn saying(mut self, detail: impl Into<String>) -> Error {
        self.0.problems[0].detail = Some(detail.into());
        self
    }

    /// The code of the first problem, which also decides the status.
    pub fn code(&self) -> Code {
        self.0.problems[0].code
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.code().spec().0
    }

    /// Every problem, in the order found.
    pub fn problems(&self) -> &[Problem] {
        &self.0.problems
    }

    /// Seconds for the `Retry-After` header.
    pub fn retry_after_seconds(&self) -> Option<i64> {
        self.0.retry_after_seconds
    }

    /// What went wrong inside, for the log.
    pub fn cause(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.cause.as_deref()
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error(Box::new(Inner { problems: vec![problem], retry_after_seconds: None, cause: None }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code().spec().1)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} {:?} cause {:?}", self.0.problems, self.0.cause)
    }
}

impl StdError for Error {}

/// Status, wire code, short text.
pub struct Spec(pub u16, pub &'static str, pub &'static str);

/// Declares the catalogue: every code with its status, wire name and text, in one table.
macro_rules! catalogue {
    ($($name:ident = $status:literal $code:literal $text:literal;)*) => {
        /// A reason for an error, from the catalogue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each code's text in the table says what it means")]
        pub enum Code { $($name),* }

        impl Code {
            /// The catalogue's line for this code.
            pub const fn spec(self) -> Spec {
                match self { $(Code::$name => Spec($status, $code, $text)),* }
            }

            /// The whole catalogue, for the reference page and its test.
            pub const ALL: &[Code] = &[$(Code::$name),*];
        }
    };
}

catalogue! {
    // Authentication and the request as a whole.
    AuthorizationHeaderFormatInvalid = 401 "authorization_header_format_invalid" "The Authorization header must read `Bearer <secret key>`.";
    ClerkKeyInvalid = 401 "clerk_key_invalid" "This secret key is not known, or no longer valid. `latchkey keys create` makes a new one.";
    CouldNotAuthenticateRequest = 401 "could_not_authenticate_request" "The request carries no credentials. Send the header `Authorization: Bearer <secret key>`.";
    ApiVersionInvalid = 400 "api_version_invalid" "This API version does not exist.";
    BadRequest = 400 "bad_request" "The request cannot be served as it is.";
    BulkSizeExceeded = 400 "bulk_size_exceeded" "Too many items in one call.";
    EventsGone = 410 "events_gone" "Events after this number have been deleted already. Begin again without `after`, and read what you keep anew.";
    InfiniteRedirectLoop = 500 "infinite_redirect_loop" "The browser was sent here several times in a few seconds. Check the keys and addresses of the application.";
    Internal = 500 "internal_clerk_error" "Something went wrong on the server.";
    LatchkeyNotImplemented = 404 "latchkey_not_implemented" "Latchkey does not have this operation yet.";
    MalformedPublishableKey = 400 "malformed_publishable_key" "No instance has this publishable key or Frontend API.";
    MalformedRequestParameters = 400 "malformed_request_parameters" "The query string cannot be read.";
    MethodNotAllowed = 405 "method_not_allowed" "This path does not answer to that method. The header `Allow` names those it answers to.";
    MissingQueryParameter = 400 "missing_query_parameter" "The query lacks a parameter.";
    RequestBodyInvalid = 400 "request_body_invalid" "The request body cannot be read.";
    RequestBodyTooLarge = 413 "request_body_too_large" "The request body is too large.";
    RequestInvalidForEnvironment = 400 "request_invalid_for_environment" "This is not available on instances of this environment.";
    RequestTimeout = 408 "request_timeout" "The request took too long to arrive or to answer.";
    ResourceNotFound = 404 "resource_not_found" "Nothing was found.";
    RouteNotFound = 404 "route_not_found" "There is no operation at this path. /reference of the Backend API lists those there are.";
    ServiceUnavailable = 503 "service_unavailable" "The server is busy or its database is out of reach.";
    TooManyRequests = 429 "too_many_requests" "Too many requests.";
    UnsupportedContentType = 415 "unsupported_content_type" "This Content-Type is not accepted here.";

    BreaksInstanceInvariant = 400 "breaks_instance_invariant" "This does not go with other settings of the instance.";
    DomainUpdateForbidden = 400 "domain_update_forbidden" "Domains of development instances cannot be changed like this.";
    FeatureNotImplemented = 403 "feature_not_implemented" "Latchkey does not have this feature yet.";
    InvalidProxyConfiguration = 422 "invalid_proxy_configuration" "The proxy does not work.";
    OperationNotAllowedOnPrimaryDomain = 403 "operation_not_allowed_on_primary_domain" "This cannot be done to the primary domain.";
    PrimaryDomainAlreadyExists = 422 "primary_domain_already_exists" "The instance has a primary domain already.";
    UnsupportedCountryCode = 403 "unsupported_country_code" "Phone numbers of this country are not supported.";

    // Parameters.
    DuplicateRecord = 400 "duplicate_record" "This exists already.";
    FormAlreadyExists = 422 "form_already_exists" "This is already taken.";
    FormConditionalParamDisallowed = 422 "form_conditional_param_disallowed" "This parameter does not go with another one.";
    FormConditionalParamMissing = 422 "form_conditional_param_missing" "This parameter needs another one.";
    FormInvalidOrigin = 422 "form_invalid_origin" "This is not an origin.";
    SignUpModeRestrictedInvalidValue = 422 "sign_up_mode_restricted_invalid_value" "This does not go with the sign-up mode.";
    FormDataMissing = 422 "form_data_missing" "The user lacks data that this instance requires.";
    FormDisallowFutureDate = 422 "form_disallow_future_date" "This date lies in the future.";
    FormIdentifierExists = 422 "form_identifier_exists" "This is already taken.";
    FormParamArrayLengthMismatch = 422 "form_param_array_length_mismatch" "Two lists that belong together differ in length.";
    FormParamArraySizeExceeded = 422 "form_param_array_size_exceeded" "This list is too long.";
    FormParamDuplicate = 422 "form_param_duplicate" "This was given twice.";
    FormParamExceedsAllowedSize = 422 "form_param_exceeds_allowed_size" "This is too large.";
    FormParamFormatInvalid = 422 "form_param_format_invalid" "This has the wrong format.";
    FormParamInvalidTime = 422 "form_param_invalid_time" "This is not a date and time in RFC 3339 format.";
    FormParamMaxLengthExceeded = 422 "form_param_max_length_exceeded" "This is too long.";
    FormParamMissing = 422 "form_param_missing" "A required parameter is missing.";
    FormParamNil = 422 "form_param_nil" "This must not be null or empty.";
    FormParamTypeInvalid = 422 "form_param_type_invalid" "This has the wrong type.";
    FormParamUnknown = 422 "form_param_unknown" "This parameter is not known here.";
    FormParamValueConflict = 422 "form_param_value_conflict" "Two parameters that mean the same differ.";
    FormParamValueInvalid = 422 "form_param_value_invalid" "This value is not allowed.";
    FormParamValueTooLarge = 422 "form_param_value_too_large" "This number is too large.";
    FormResourceNotFound = 422 "form_resource_not_found" "This refers to nothing.";
    FormUsernameCannotBePhoneNumber = 422 "form_username_cannot_be_phone_number" "A username must not look like a phone number.";
    FormUsernameInvalidCharacter = 422 "form_username_invalid_character" "A username may have letters, digits, `_` and `-`.";
    FormUsernameInvalidLength = 422 "form_username_invalid_length" "This username is too short or too long.";
    FormUsernameNeedsNonNumberChar = 422 "form_username_needs_non_number_char" "A username must have a character that is not a digit.";
    FormVerificationNeeded = 422 "form_verification_needed" "This must be verified first.";

    // Passwords and second factors.
    FormPasswordDigestInvalid = 422 "form_password_digest_invalid_code" "The password digest does not fit its hasher.";
    FormPasswordLengthTooLong = 422 "form_password_length_too_long" "This password is too long.";
    FormPasswordLengthTooShort = 422 "form_password_length_too_short" "This password is too short.";
    FormPasswordMatchesIdentifier = 422 "form_password_matches_identifier" "The password must differ from the user's identifiers.";
    FormPasswordNoLowercase = 422 "form_password_no_lowercase" "The password needs a lower-case letter.";
    FormPasswordNoNumber = 422 "form_password_no_number" "The password needs a digit.";
    FormPasswordNoSpecialChar = 422 "form_password_no_special_char" "The password needs a special character.";
    FormPasswordNoUppercase = 422 "form_password_no_uppercase" "The password needs an upper-case letter.";
    FormPasswordNotStrongEnough = 422 "form_password_not_strong_enough" "This password is too easy to guess.";
    FormPasswordPwned = 422 "form_password_pwned" "This password is on a list of leaked passwords.";
    FormPasswordSizeInBytesExceeded = 422 "form_password_size_in_bytes_exceeded" "This password has too many bytes.";
    IncorrectPassword = 422 "incorrect_password" "The password is not correct.";
    InvalidTotpSecret = 422 "invalid_totp_secret_code" "The TOTP secret is not valid base32.";
    NoPasswordSet = 400 "no_password_set" "This user has no password.";
    TotpDisabled = 400 "totp_disabled" "This user has neither TOTP nor backup codes.";
    TotpIncorrectCode = 422 "totp_incorrect_code" "The code is not correct.";
    TotpInvalidLength = 422 "totp_invalid_length" "A TOTP code has six digits.";

    // Providers people sign in with.
    CustomOauthProviderCannotUseDiscoveryUrl = 422 "custom_oauth_provider_cannot_use_discovery_url" "The discovery document of the provider cannot be used.";
    CustomOauthProviderDiscoveryIssuerMismatch = 422 "custom_oauth_provider_discovery_issuer_mismatch" "The discovery document is about another provider.";
    CustomOauthProviderDiscoveryServerRetrievalError = 422 "custom_oauth_provider_discovery_server_retrieval_error" "The discovery document of the provider cannot be read.";
    GoogleOneTapTokenInvalid = 400 "google_one_tap_token_invalid" "This token of Google is not valid.";
    MisconfiguredOauthProvider = 400 "misconfigured_oauth_provider" "The provider does not accept how this application is set up.";
    OauthAccessDenied = 403 "oauth_access_denied" "Access to the account was denied.";
    OauthConfigMissing = 400 "oauth_config_missing" "The credentials for this provider are missing.";
    OauthFetchUserError = 400 "oauth_fetch_user_error" "The provider did not say whose account it is.";
    OauthProviderNotEnabled = 400 "oauth_provider_not_enabled" "This provider is not enabled.";
    OauthTokenExchangeError = 400 "oauth_token_exchange_error" "The provider did not confirm the sign-in.";
    OauthUnsupportedProvider = 400 "oauth_unsupported_provider" "There is no such provider.";

    // Templates of messages.
    EmailTemplateCustomizationLocked = 423 "email_template_customization_locked" "Templates are locked for now, because several suspicious ones were refused.";
    EmailTemplateCustomizationRateLimited = 429 "email_template_customization_rate_limited" "Templates were changed too often.";
    EmailTemplateSuspiciousBlocked = 403 "email_template_suspicious_blocked" "This template does what only e-mails do that are after somebody's secrets.";
    InvalidTemplateBody = 422 "invalid_template_body" "The template cannot be read.";
    RequiredVariableMissing = 422 "required_variable_missing" "The template lacks a variable without which its messages are of no use.";
    TemplateBodyModificationRestricted = 400 "template_body_modification_restricted" "The body cannot be changed in this way.";
    TemplateRevertError = 400 "template_revert_error" "This template is as it comes with the server; there is nothing to revert.";
    TemplateTypeUnsupported = 400 "template_type_unsupported" "The type of a template is `email` or `sms`.";

    // JWT templates.
    JwtTemplateReservedClaim = 400 "jwt_template_reserved_claim" "Every token has this claim already.";

    // Webhooks.
    SvixAppExists = 400 "svix_app_exists" "This instance manages its webhooks already. `POST /v1/webhooks/svix_url` makes another link to the page.";
    SvixAppMissing = 400 "svix_app_missing" "This instance does not manage its webhooks yet. `POST /v1/webhooks/svix` begins with it.";
    WebhookEndpointsExceeded = 400 "webhook_endpoints_exceeded" "This instance has as many webhook endpoints as it may have.";
    WebhookPortalTokenInvalid = 401 "webhook_portal_token_invalid" "This link to the webhooks page is not valid any more. `POST /v1/webhooks/svix_url` makes a new one.";
    WebhookSecretsExceeded = 400 "webhook_secrets_exceeded" "This endpoint has as many secrets as it may have.";

    // Users and their identifications.
    DeleteLinkedIdentificationDisallowed = 400 "delete_linked_identification_disallowed" "This is linked to a connected account; remove that first.";
    ExternalAccountEmailAddressVerificationRequired = 400 "external_account_email_address_verification_required" "The address of this account has to be verified first.";
    ExternalAccountExists = 400 "external_account_exists" "This account is connected to another user already.";
    ExternalAccountNotFound = 404 "external_account_not_found" "This user has no such connected account.";
    FeatureNotEnabled = 403 "feature_not_enabled" "This feature is switched off for the instance.";
    IdentificationClaimed = 400 "identification_claimed" "Another user holds this by now.";
    IdentificationCreateSecondFactorUnverified = 400 "identification_create_second_factor_unverified" "Only a verified phone number can be a second factor.";
    IdentificationDeletionFailed = 400 "identification_deletion_failed" "This is the user's last identification.";
    IdentificationUpdateFailed = 400 "identification_update_failed" "This is the user's last identification and cannot be a second factor.";
    IdentificationUpdateSecondFactorUnverified = 400 "identification_update_second_factor_unverified" "Only a verified phone number can be a second factor.";
    ImageFileMissing = 400 "form_param_missing" "The form has no part named `file`.";
    ImageNotFound = 404 "image_not_found" "There is no such image.";
    ImageTooManyPixels = 400 "image_too_many_pixels" "The image has too many pixels. Make it smaller and upload it again.";
    ImageTooLarge = 413 "image_too_large" "The image is larger than 10 MB.";
    LastRequiredIdentificationDeletionFailed = 400 "last_required_identification_deletion_failed" "This is the user's last identification of a kind the instance requires.";
    OauthAccountAlreadyConnected = 400 "oauth_account_already_connected" "The user has an account of this provider already.";
    OauthCallbackInvalid = 400 "oauth_callback_invalid" "Nobody waits for this answer of a provider: it was used already, it came too late, or it came to another browser than the one that asked for it. Start again.";
    OauthConnectionBlockedByImmutableAttribute = 403 "oauth_connection_blocked_by_immutable_attribute" "The account has another e-mail address than the user, who may not change theirs.";
    OauthIdentificationClaimed = 400 "oauth_identification_claimed" "This account, or its e-mail address, belongs to another user.";
    OauthMissingAccessToken = 422 "oauth_missing_access_token" "There is no access token for this account. The user has to connect it again.";
    OauthMissingRefreshToken = 422 "oauth_missing_refresh_token" "The access token has expired, and the provider gave no refresh token. The user has to connect the account again.";
    OauthNonAuthenticatableProvider = 400 "oauth_non_authenticatable_provider" "This provider connects accounts, and signs nobody in.";
    OauthTokenProviderNotEnabled = 404 "oauth_token_provider_not_enabled" "This provider is not enabled for the instance.";
    NoPasskeysFoundForUser = 400 "no_passkeys_found_for_user" "This account has no passkey that can be used here.";
    PasskeyAuthenticationFailure = 400 "passkey_authentication_failure" "The passkey does not prove who you are.";
    PasskeyIdentificationNotVerified = 422 "passkey_identification_not_verified" "This passkey was not completely registered.";
    PasskeyInvalidPublicKeyCredential = 422 "passkey_invalid_public_key_credential" "This is not a public key credential as browsers make them.";
    PasskeyInvalidVerification = 400 "passkey_invalid_verification" "The passkey answers another challenge than the one under way.";
    PasskeyQuotaExceeded = 403 "passkey_quota_exceeded" "An account has at most 10 passkeys. Remove one first.";
    PasskeyRegistrationFailure = 400 "passkey_registration_failure" "The passkey could not be registered.";
    PasskeyNotRegistered = 404 "passkey_not_registered" "This user has no such passkey.";
    TrustedDeviceAlreadyEnrolled = 409 "trusted_device_already_enrolled" "This device is enrolled for the account already.";
    TrustedDeviceAppIdentifierNotConfigured = 400 "trusted_device_app_identifier_not_configured" "This app is not one of the application's. Add it to the setting native_settings.";
    TrustedDeviceBindingMismatch = 422 "trusted_device_binding_mismatch" "This is not what the challenge was made for.";
    TrustedDeviceChallengeExpired = 400 "trusted_device_challenge_expired" "The challenge has expired. Please ask for a new one.";
    TrustedDeviceChallengeNotFound = 400 "trusted_device_challenge_not_found" "There is no such challenge, or it was used already.";
    TrustedDeviceCredentialQuotaExceeded = 400 "trusted_device_credential_quota_exceeded" "An account has at most 10 trusted devices. Remove one first.";
    TrustedDeviceInvalidClientData = 422 "trusted_device_invalid_client_data" "This is not the text of the challenge.";
    TrustedDeviceInvalidPublicKey = 422 "trusted_device_invalid_public_key" "This is not a public P-256 key in its canonical form.";
    TrustedDeviceNotRegistered = 422 "trusted_device_not_registered" "This device is not trusted, or no longer.";
    TrustedDeviceSignatureVerificationFailed = 400 "trusted_device_signature_verification_failed" "The signature is not one of the device over the challenge.";
    VerificationAlreadyVerified = 400 "verification_already_verified" "This verification was already accepted.";
    VerificationCodeTooManyRequests = 429 "verification_code_too_many_requests" "A code was sent a moment ago.";

    // Sessions, clients and tokens.
    ActorTokenAlreadyUsed = 400 "actor_token_already_used_code" "This actor token was already used.";
    ActorTokenCannotBeRevoked = 400 "actor_token_cannot_be_revoked_code" "Only a pending actor token can be revoked.";
    ActorTokenRevoked = 400 "actor_token_revoked_code" "This actor token was revoked.";
    ActorTokenSubjectNotFound = 404 "actor_token_subject_not_found" "The user of this actor token no longer exists.";
    CookieInvalid = 400 "cookie_invalid" "This client token is not valid.";
    CrossSiteRequestForbidden = 403 "cross_site_request_forbidden" "A page of another site asked for this. Open the address in the browser yourself.";
    DevBrowserUnauthenticated = 401 "dev_browser_unauthenticated" "This development browser is not known.";
    ExpiredSessionTokenInvalid = 401 "expired_session_token_invalid" "The expired token is not a session token of this instance.";
    ExpiredSessionTokenMissingAzp = 401 "expired_session_token_missing_azp" "The expired token has no `azp` claim.";
    ExpiredSessionTokenMissingSid = 401 "expired_session_token_missing_sid" "The expired token has no `sid` claim.";
    HostInvalid = 400 "host_invalid" "No instance answers at this host. `latchkey instances list` shows their hosts; a reverse proxy must pass on the Host header.";
    InstanceKeyRequired = 400 "instance_key_required" "The instance has no signing key.";
    InvalidSessionToken = 400 "invalid_session_token" "This is not a token of the session, or no longer good.";
    InvalidQueryParameterValue = 400 "invalid_query_parameter_value" "A parameter of the query has a value that cannot be used.";
    InvalidHandshake = 400 "invalid_handshake" "The handshake has no usable `redirect_url`.";
    MultipleAuthorizationHeaderValuesForbidden = 400 "multiple_authorization_header_values_forbidden" "Send one Authorization header.";
    MultipleOriginHeaderValuesForbidden = 400 "multiple_origin_header_values_forbidden" "Send one Origin header.";
    OperationNotAllowedOnSatelliteDomain = 403 "operation_not_allowed_on_satellite_domain" "This happens on the primary domain of the application only.";
    OriginAuthorizationHeadersConflict = 400 "origin_authorization_headers_conflict" "A request has either an Origin header, as browsers send it, or an Authorization header, as native clients do.";
    OriginInvalid = 400 "origin_invalid" "This origin may not use the Frontend API of the instance.";
    OriginMissing = 400 "origin_missing" "This needs the header `Origin`, as browsers send it.";
    ProxyRequestInvalidSecretKey = 401 "proxy_request_invalid_secret_key" "The proxy's secret key is not valid.";
    ProxyRequestMissingSecretKey = 400 "proxy_request_missing_secret_key" "A proxied request needs the header `Clerk-Secret-Key`.";
    RefreshRequestOriginAzpMismatch = 401 "refresh_request_origin_azp_mismatch" "The token was made for another origin.";
    RefreshRequestOriginInvalid = 401 "refresh_request_origin_invalid" "`request_origin` is not an origin.";
    RefreshSidMismatch = 401 "refresh_sid_mismatch" "The token belongs to another session.";
    RefreshTokenNotFound = 401 "refresh_token_not_found" "This refresh token is not known.";
    SessionCreationNotAllowed = 409 "session_creation_not_allowed" "Nobody can sign in while somebody acts as another user here.";
    SessionExists = 400 "session_exists" "You're already signed in.";
    SessionRefreshExpiredSessionTokenConsumed = 401 "session_refresh_expired_session_token_consumed" "This token was already renewed.";
    SessionRefreshExpiredSessionTokenMissingIat = 401 "session_refresh_expired_session_token_missing_iat" "The expired token has no `iat` claim.";
    SessionRefreshExpiredSessionTokenTooOld = 401 "session_refresh_expired_session_token_too_old" "The token expired too long ago.";
    SessionRefreshInactiveSession = 401 "session_refresh_inactive_session" "The session is over.";
    SessionRefreshSessionNotFound = 401 "session_refresh_session_not_found" "There is no such session.";
    SessionRefreshSessionTokenIneligible = 401 "session_refresh_session_token_ineligible" "This kind of token cannot be renewed.";
    SyncNonceAlreadyConsumed = 403 "sync_nonce_already_consumed" "This was already used to bring two domains together.";
    SessionRefreshUserNotFound = 401 "session_refresh_user_not_found" "The user no longer exists.";
    SessionReverificationMissing = 400 "session_reverification_missing" "Start the verification of the session first.";
    SessionReverificationRequired = 403 "session_reverification_required" "Please verify again that it is you.";
    InvalidActionForSessionReverification = 400 "invalid_action_for_session_reverification" "The verification of the session is in no state for that.";
    SignInTokenAlreadyUsed = 400 "sign_in_token_already_used_code" "This sign-in token was already used.";
    SignInTokenCannotBeRevoked = 400 "sign_in_token_cannot_be_revoked_code" "Only a pending sign-in token can be revoked.";
    SignInTokenRevoked = 400 "sign_in_token_revoked_code" "This sign-in token was revoked.";
    SignedOut = 401 "signed_out" "You are signed out.";
    TicketExpired = 400 "ticket_expired_code" "This ticket has expired. Ask for a new one.";
    TicketInvalid = 400 "ticket_invalid_code" "This ticket is not valid.";
    UrlBasedSessionSyncingDisabled = 400 "url_based_session_syncing_disabled" "Production instances do not keep sessions in URLs.";

    // Signing in and up.
    AccountTransferInvalid = 400 "account_transfer_invalid" "There is nothing to transfer.";
    BackupCodesNotAvailable = 400 "backup_codes_not_available" "Backup codes need another second factor first.";
    ClientStateInvalid = 400 "client_state_invalid" "This step does not fit where things stand. Start again.";
    FormCodeIncorrect = 422 "form_code_incorrect" "Incorrect code.";
    FormDisableDefaultSecondFactorNotAllowed = 422 "form_disable_default_second_factor_not_allowed" "Make another number the default instead.";
    FormIdentifierNotFound = 422 "form_identifier_not_found" "Couldn't find your account.";
    FormIncorrectSignature = 422 "form_incorrect_signature" "This signature does not prove that the wallet is yours.";
    FormNewPasswordMatchesCurrent = 422 "form_new_password_matches_current" "The new password must differ from the current one.";
    FormPasswordCompromised = 422 "form_password_compromised" "Your password may be compromised. To protect your account, please continue with an alternative sign-in method. You will be required to reset your password after signing in.";
    FormPasswordIncorrect = 422 "form_password_incorrect" "Password is incorrect. Try again, or use another method.";
    FormPasswordOrIdentifierIncorrect = 422 "form_password_or_identifier_incorrect" "Password or identifier is incorrect.";
    FormPasswordValidationFailed = 422 "form_password_validation_failed" "The current password is incorrect.";
    IdentifierAlreadySignedIn = 400 "identifier_already_signed_in" "You're already signed in.";
    ImmutableAttribute = 403 "immutable_attribute_modification_not_allowed" "This cannot be changed.";
    InvalidRedirectUrl = 422 "invalid_redirect_url" "`redirect_url` is missing, or it is neither the URL of a page (https://…) nor one of the redirect URLs that the instance lists (`POST /v1/redirect_urls`).";
    LegalNotAccepted = 422 "legal_not_accepted" "The terms must be accepted.";
    NoSecondFactors = 400 "no_second_factors" "There is no second factor to prove.";
    NotAllowedAccess = 403 "not_allowed_access" "Access is not allowed.";
    PasswordRequired = 400 "password_required" "A password is needed.";
    RedirectUrlMismatch = 422 "redirect_url_not_associated_with_instance" "`redirect_url` does not belong to the application.";
    SecondFactorDeletionNotAllowed = 400 "second_factor_deletion_not_allowed" "A second factor is required.";
    SignInIdentificationOrUserDeleted = 400 "sign_in_identification_or_user_deleted" "The account is gone. Start again.";
    SignInNoIdentification = 404 "sign_in_no_identification_for_user" "The user has nothing to sign in with.";
    SignUpCannotBeUpdated = 403 "sign_up_cannot_be_updated" "This sign-up is over.";
    SignUpIfMissingTransfer = 404 "sign_up_if_missing_transfer" "There is no account with this yet.";
    SignUpModeRestricted = 403 "sign_up_mode_restricted" "Signing up needs an invitation.";
    SignUpOutdatedVerification = 410 "sign_up_outdated_verification" "This changed after the verification was sent. Verify it again.";
    SignUpRestrictedWaitlist = 403 "sign_up_restricted_waitlist" "Signing up is not open yet. Please join the waitlist.";
    StrategyForUserInvalid = 400 "strategy_for_user_invalid" "This way to sign in is not open to the account.";
    TooManyUnverifiedIdentifications = 400 "too_many_unverified_identifications" "Verify or remove others first.";
    TotpAlreadyEnabled = 400 "totp_already_enabled" "An authenticator app is already set up.";
    UpdatingUserPasswordDeprecated = 403 "updating_user_password_deprecated" "A password is changed with `POST /v1/me/change_password`.";
    UserBanned = 403 "user_banned" "This account is banned.";
    UserDeleteSelfNotEnabled = 403 "user_delete_self_not_enabled" "This account cannot delete itself.";
    UserLocked = 403 "user_locked" "Your account is locked. Please try again later.";
    VerificationExpired = 400 "verification_expired" "This verification has expired. Please ask for a new one.";
    VerificationFailed = 400 "verification_failed" "Too many failed attempts. Please start again.";
    VerificationLinkTokenInvalid = 400 "verification_link_token_invalid" "This link is not valid.";
    VerificationMissing = 400 "verification_missing" "Ask for a code or a link first.";
    VerificationNotSent = 400 "verification_not_sent" "Nothing was sent yet.";
    VerificationStrategyInvalid = 400 "verification_strategy_invalid" "This cannot be verified that way.";

    // Who may enter.
    InvitationAccountExists = 400 "invitation_account_exists" "There is an account with this address. Sign in to follow the invitation.";
    InvitationAccountNotExists = 400 "invitation_account_not_exists" "There is no account with this address. Sign up to follow the invitation.";
    InvitationAlreadyAccepted = 400 "invitation_already_accepted" "The invitation was accepted already.";
    InvitationAlreadyRevoked = 400 "invitation_already_revoked" "The invitation was revoked already.";
    RevokedInvitation = 400 "revoked_invitation" "The invitation was revoked. Ask for a new one.";
    WaitlistEntryAlreadyCompleted = 409 "waitlist_entry_already_completed" "Whoever waited here has signed up already.";
    WaitlistEntryAlreadyInvited = 409 "waitlist_entry_already_invited" "Whoever waits here was invited already.";
    WaitlistEntryAlreadyRejected = 409 "waitlist_entry_already_rejected" "Whoever waits here was rejected.";
    WaitlistNotAcceptingEntries = 403 "waitlist_not_accepting_entries" "There is no waitlist here that one could join.";

    // Organizations.
    AlreadyAMemberInOrganization = 400 "already_a_member_in_organization" "The user is a member of the organization already.";
    CannotDeleteInitialRoleSet = 403 "cannot_delete_initial_role_set" "New organizations get this role set, so it cannot be replaced.";
    InvitationsNotSupported = 400 "invitations_not_supported" "People can only be invited where the instance uses e-mail addresses.";
    MissingOrganizationPermission = 403 "missing_organization_permission" "Your role in the organization does not allow this.";
    PersonalAccountsNotAllowed = 422 "personal_accounts_not_allowed" "Everybody works for an organization here, so you cannot leave your last one.";
    NotAMemberInOrganization = 403 "not_a_member_in_organization" "The user is not a member of the organization.";
    OrgCreationLimitExceeded = 403 "org_creation_limit_exceeded" "You have created as many organizations as you may.";
    OrganizationAdminDeleteNotEnabled = 403 "organization_admin_delete_not_enabled" "Members may not delete this organization.";
    OrganizationCreatorNotFound = 400 "organization_creator_not_found" "There is no user with the id given as creator.";
    OrganizationDomainAlreadyExists = 422 "organization_domain_already_exists" "Another organization has this domain.";
    OrganizationDomainAlreadyExistsSameOrganization = 422 "organization_domain_already_exists_same_organization" "The organization has this domain already.";
    OrganizationDomainBlocked = 422 "organization_domain_blocked" "This domain cannot be used.";
    OrganizationDomainCommon = 422 "organization_domain_common" "This is a domain of a public mail provider.";
    OrganizationDomainEnrollmentModeNotEnabled = 403 "organization_domain_enrollment_mode_not_enabled" "The instance does not allow this way to join by a domain.";
    OrganizationDomainMismatch = 422 "organization_domain_mismatch" "The address is not one of this domain.";
    OrganizationDomainQuotaExceeded = 403 "organization_domain_quota_exceeded" "The organization has as many domains as it may.";
    OrganizationDomainsNotEnabled = 403 "organization_domains_not_enabled" "Domains of organizations are not enabled for this instance.";
    OrganizationInstanceRoleSetsQuotaExceeded = 403 "organization_instance_role_sets_quota_exceeded" "The instance has as many role sets as it may.";
    OrganizationInstanceRolesQuotaExceeded = 403 "organization_instance_roles_quota_exceeded" "The instance has as many roles as it may.";
    OrganizationInvitationAlreadyAccepted = 400 "organization_invitation_already_accepted" "The invitation was accepted already.";
    OrganizationInvitationIdentificationAlreadyExists = 400 "organization_invitation_identification_already_exists" "There is an account with this address. Sign in to follow the invitation.";
    OrganizationInvitationIdentificationNotExist = 400 "organization_invitation_identification_not_exist" "There is no account with this address. Sign up to follow the invitation.";
    OrganizationInvitationNotFound = 404 "organization_invitation_not_found" "There is no such invitation.";
    OrganizationInvitationNotPending = 404 "organization_invitation_not_pending" "Only an invitation that is pending can be revoked.";
    OrganizationInvitationNotUnique = 400 "organization_invitation_not_unique" "There is a pending invitation for this address already.";
    OrganizationInvitationRevoked = 400 "organization_invitation_revoked_code" "The invitation was revoked.";
    OrganizationInvitationToDeletedOrganization = 400 "organization_invitation_to_deleted_organization" "The organization was deleted.";
    OrganizationMembershipQuotaExceeded = 403 "organization_membership_quota_exceeded" "The organization has as many members and pending invitations as it may.";
    OrganizationMinimumPermissionsNeeded = 400 "organization_minimum_permissions_needed" "An organization needs a member who may manage it.";
    OrganizationMissingCreatorRolePermissions = 422 "organization_missing_creator_role_permissions" "The role of creators must allow to manage members and to delete the organization.";
    OrganizationNotEnabledInInstance = 403 "organization_not_enabled_in_instance" "Organizations are not enabled for this instance.";
    OrganizationNotFoundOrUnauthorized = 404 "organization_not_found_or_unauthorized" "There is no such organization, or you are not a member of it.";
    OrganizationRoleAssignedMembers = 422 "organization_role_assigned_members" "Members have this role.";
    OrganizationRoleDefaultCreatorRole = 422 "organization_role_default_creator_role" "Creators of organizations get this role.";
    OrganizationRoleDomainDefaultRole = 422 "organization_role_domain_default_role" "New members get this role.";
    OrganizationRoleExistsInInvitations = 422 "organization_role_exists_in_invitations" "Pending invitations name this role.";
    OrganizationRolePermissionAssociationExists = 409 "organization_role_permission_association_exists" "The role has this permission already.";
    OrganizationRolePermissionAssociationNotFound = 404 "organization_role_permission_association_not_found" "The role does not have this permission.";
    OrganizationRoleSetReassignmentMappingsInvalid = 422 "organization_role_set_reassignment_mappings_invalid" "A role is to be replaced by one that the other role set does not have.";
    OrganizationRoleSetReassignmentMappingsMissing = 422 "organization_role_set_reassignment_mappings_missing" "Every role that members have needs one that takes its place.";
    OrganizationSlugsDisabled = 403 "organization_slugs_disabled" "Slugs of organizations are not enabled for this instance.";
    OrganizationSuggestionAlreadyAccepted = 400 "organization_suggestion_already_accepted" "You have asked to join this organization already.";
    OrganizationSystemPermissionNotModifiable = 403 "organization_system_permission_not_modifiable" "Permissions that begin with `org:sys_` cannot be changed.";
    QuotaExceeded = 403 "quota_exceeded" "There are as many of these as there may be.";
    RoleMigrationInProgress = 409 "role_migration_in_progress" "Members are being moved to other roles; try again in a moment.";
    UserCreateOrganizationNotEnabled = 403 "user_create_organization_not_enabled" "You may not create organizations.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_with_a_sane_status() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            let Spec(status, name, text) = code.spec();
            assert!(seen.insert((name, status)), "{name} twice");
            assert!((400..=503).contains(&status) && text.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn causes_never_reach_the_body() {
        let error = Error::internal("password=hunter2 at 10.0.0.1");
        let body = error.problems()[0].to_json().to_string();
        assert!(!body.contains("hunter2"), "{body}");
    }

    #[test]
    fn meta_is_left_out_when_empty() {
        assert_eq!(Problem::new(Code::Internal).to_json().get("meta"), None);
        assert_eq!(Problem::of(Code::FormParamNil, "name").to_json()["meta"]["param_name"], "name");
    }
}
