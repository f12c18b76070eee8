-- The browsers of developers that use a client: their tokens end when somebody signs in on it.
CREATE INDEX ix__dev_browsers__client_id ON dev_browsers (instance_id, client_id);

-- Whether an instance has digests of passwords that other hashers made, or this one with other parameters.
CREATE INDEX ix__credentials__imported ON credentials (instance_id)
  WHERE substr(password_digest, 2, 8) || substr(password_digest, 16, 15) <> 'argon2idm=19456,t=2,p=1';
