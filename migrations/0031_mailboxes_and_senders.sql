-- The mailbox that a single e-mail address on a list leads to, as messages are counted by it. Wildcards, numbers and wallets
-- have none. Addresses are compared by it, so that another spelling of a listed address is that address.
ALTER TABLE listed_identifiers ADD COLUMN mailbox TEXT;
CREATE INDEX ix__listed_identifiers__mailbox ON listed_identifiers (instance_id, mailbox) WHERE mailbox IS NOT NULL;

-- `rtrim(x, replace(x, '@', ''))` cuts off all characters behind the last `@`. The engines have no common function that
-- finds a character. The marks of sub-addresses become `+`, of which the first ends the name.
UPDATE listed_identifiers SET mailbox = found.mailbox
FROM (
  SELECT instance_id, id, CASE
      WHEN domain IN ('gmail.com', 'googlemail.com') THEN replace(owner, '.', '') || '@gmail.com'
      WHEN domain IN ('proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me')
        THEN replace(replace(replace(owner, '.', ''), '-', ''), '_', '') || '@proton.me'
      WHEN domain IN ('icloud.com', 'me.com', 'mac.com') THEN owner || '@icloud.com'
      WHEN domain IN ('yandex.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'yandex.ua', 'ya.ru')
        THEN replace(owner, '-', '.') || '@yandex.ru'
      ELSE owner || '@' || domain
    END AS mailbox
  FROM (
    SELECT instance_id, id, domain, CASE
        WHEN ltrim(marked, replace(marked, '+', '')) IN ('', marked) THEN name
        ELSE substr(name, 1, length(name) - length(ltrim(marked, replace(marked, '+', ''))))
      END AS owner
    FROM (
      SELECT instance_id, id, name, domain, CASE
          WHEN domain IN ('yahoo.com', 'yahoo.co.uk', 'yahoo.ca', 'yahoo.de', 'yahoo.fr', 'yahoo.it', 'yahoo.es',
                          'yahoo.in', 'yahoo.co.in', 'yahoo.com.br', 'ymail.com', 'rocketmail.com')
            THEN replace(replace(replace(name, '=', '+'), '#', '+'), '-', '+')
          ELSE replace(replace(name, '=', '+'), '#', '+')
        END AS marked
      FROM (
        SELECT instance_id, id, rtrim(start, '@') AS name, substr(identifier_folded, length(start) + 1) AS domain
        FROM (
          SELECT instance_id, id, identifier_folded, rtrim(identifier_folded, replace(identifier_folded, '@', '')) AS start
          FROM listed_identifiers
          WHERE identifier_folded LIKE '%@%' AND identifier_folded NOT LIKE '*@%'
        ) AS whole
      ) AS split
    ) AS read
  ) AS owned
) AS found
WHERE listed_identifiers.instance_id = found.instance_id AND listed_identifiers.id = found.id;

-- The member who sent an invitation to an organization by themselves. Backends may name a member in whose name they invite:
-- their invitations have no sender, and neither have those that were made before this column.
ALTER TABLE organization_invitations ADD COLUMN sender_id TEXT;
CREATE INDEX ix__organization_invitations__sender_id ON organization_invitations (instance_id, sender_id, organization_id)
  WHERE sender_id IS NOT NULL AND status = 'pending';
