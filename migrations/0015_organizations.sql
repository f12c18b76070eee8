-- Roles, permissions and role sets of an instance, as one document: there are few of them, they refer to each other,
-- and whoever shows a member needs them all. An instance without a row has those that all instances begin with.
CREATE TABLE organization_access (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  document TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id)
);

-- An organization. Who locks its row may add and remove members: `members_count` is how many there are.
CREATE TABLE organizations (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  document TEXT NOT NULL,
  slug TEXT,
  name_folded TEXT NOT NULL,
  search_folded TEXT NOT NULL,
  role_set_id TEXT NOT NULL,
  created_by TEXT,
  members_count BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__organizations__instance_id__slug UNIQUE (instance_id, slug)
);
CREATE INDEX ix__organizations__created_at ON organizations (instance_id, created_at, id);
CREATE INDEX ix__organizations__name ON organizations (instance_id, name_folded, id);
CREATE INDEX ix__organizations__members_count ON organizations (instance_id, members_count, id);
CREATE INDEX ix__organizations__role_set_id ON organizations (instance_id, role_set_id, id);
CREATE INDEX ix__organizations__created_by ON organizations (instance_id, created_by) WHERE created_by IS NOT NULL;

-- How many organizations an instance has, so that a list can say it without counting them. The sum is in parts, each of
-- some organizations, so that those who create organizations at the same time rarely wait for each other.
CREATE TABLE organization_counts (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  part BIGINT NOT NULL,
  organizations BIGINT NOT NULL,
  PRIMARY KEY (instance_id, part)
);

-- A user's membership in an organization. It refers to neither by a foreign key: a deleted organization may have a
-- hundred thousand members, and a deleted user may have been in a thousand organizations. What is left of them is not
-- shown, and a job deletes it step by step.
CREATE TABLE organization_memberships (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  organization_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,
  role_id TEXT NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, organization_id, user_id)
);
CREATE INDEX ix__organization_memberships__created_at ON organization_memberships (instance_id, created_at, id);
CREATE INDEX ix__organization_memberships__organization_id
  ON organization_memberships (instance_id, organization_id, created_at, user_id);
CREATE INDEX ix__organization_memberships__user_id
  ON organization_memberships (instance_id, user_id, created_at, organization_id);
CREATE INDEX ix__organization_memberships__role_id ON organization_memberships (instance_id, role_id, organization_id);

-- An invitation of an address to an organization. Those that a domain caused have `domain_id`, and are for the person
-- who has the address only.
CREATE TABLE organization_invitations (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  role_id TEXT NOT NULL,
  status TEXT NOT NULL,
  domain_id TEXT,
  inviter_id TEXT,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);
CREATE INDEX ix__organization_invitations__created_at ON organization_invitations (instance_id, created_at, id);
CREATE INDEX ix__organization_invitations__organization_id
  ON organization_invitations (instance_id, organization_id, created_at, id);
CREATE INDEX ix__organization_invitations__pending
  ON organization_invitations (instance_id, organization_id, email_folded) WHERE status = 'pending';
-- How many wait for an answer is counted in this index alone.
CREATE INDEX ix__organization_invitations__waiting ON organization_invitations (instance_id, organization_id, expire_at)
  WHERE status = 'pending' AND domain_id IS NULL;
CREATE INDEX ix__organization_invitations__email ON organization_invitations (instance_id, email_folded, created_at);
CREATE INDEX ix__organization_invitations__role_id ON organization_invitations (instance_id, role_id)
  WHERE status = 'pending';

CREATE INDEX ix__organization_invitations__domain_id ON organization_invitations (instance_id, domain_id, created_at)
  WHERE domain_id IS NOT NULL AND status = 'pending';

-- A domain whose people an organization takes in. One that is verified belongs to one organization: `claim` is empty
-- then, and the domain's own id otherwise.
CREATE TABLE organization_domains (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  name TEXT NOT NULL,
  claim TEXT NOT NULL,
  enrollment_mode TEXT NOT NULL,
  verified BOOLEAN NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__organization_domains__instance_id__name__claim UNIQUE (instance_id, name, claim)
);
CREATE INDEX ix__organization_domains__created_at ON organization_domains (instance_id, created_at, id);
CREATE INDEX ix__organization_domains__name ON organization_domains (instance_id, name, id);
CREATE INDEX ix__organization_domains__organization_id
  ON organization_domains (instance_id, organization_id, created_at, id);

-- An organization that a user may ask to join, because of a domain. One that the user accepted is a request that waits
-- for the organization.
CREATE TABLE organization_suggestions (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  domain_id TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__organization_suggestions__organization_id__user_id UNIQUE (instance_id, organization_id, user_id)
);
CREATE INDEX ix__organization_suggestions__organization_id
  ON organization_suggestions (instance_id, organization_id, status, created_at, id);
CREATE INDEX ix__organization_suggestions__user_id
  ON organization_suggestions (instance_id, user_id, status, created_at, id);

CREATE INDEX ix__organization_suggestions__domain_id
  ON organization_suggestions (instance_id, domain_id, status, created_at);

-- Domains whose people are still to be invited, or whose invitations are still to be taken back.
CREATE TABLE organization_enrollments (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  domain_id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  document TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, domain_id)
);
CREATE INDEX ix__organization_enrollments__due_at ON organization_enrollments (due_at);

-- What is left to delete of an organization or of a user in organizations.
CREATE TABLE organization_removals (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  subject_id TEXT NOT NULL,
  document TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, subject_id)
);
CREATE INDEX ix__organization_removals__due_at ON organization_removals (due_at);

-- How far members have been given other roles, because a role set, or a role of one, was replaced. Which roles these
-- are stands in the document of `organization_access` too, as long as it lasts.
CREATE TABLE role_set_migrations (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  document TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);
CREATE INDEX ix__role_set_migrations__due_at ON role_set_migrations (due_at);

-- Pictures of organizations.
CREATE TABLE organization_logos (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  organization_id TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, organization_id) REFERENCES organizations (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__organization_logos__organization_id ON organization_logos (instance_id, organization_id);

-- The organization that the next session of a user begins with: the one they chose last, or joined since; none if they
-- chose to work for themselves.
CREATE TABLE organization_choices (
  instance_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  organization_id TEXT,
  PRIMARY KEY (instance_id, user_id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);

-- The organization that the session begins with to which a token leads.
ALTER TABLE sign_in_tokens ADD COLUMN organization_id TEXT;
ALTER TABLE actor_tokens ADD COLUMN organization_id TEXT;

-- The organization the user of a session works for. It counts as long as the membership lasts with which it was chosen:
-- somebody who has left and comes back has another one, and chooses again.
ALTER TABLE sessions ADD COLUMN active_organization_id TEXT;
ALTER TABLE sessions ADD COLUMN active_membership_id TEXT;
-- Whether somebody else acts as the user; such a session waits for no choice of an organization. Those that were open
-- before are not marked, and lists by status take them for the user's own until they end.
ALTER TABLE sessions ADD COLUMN is_acted BOOLEAN NOT NULL DEFAULT FALSE;
