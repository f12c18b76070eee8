-- The public keys of trusted devices. What is shown of a device, and whether it was revoked, stands in the document of
-- its user.
CREATE TABLE trusted_devices (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  public_key TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__trusted_devices__user_id ON trusted_devices (instance_id, user_id);

-- Challenges for devices that are about to be enrolled: good once, for the user and the client that asked.
CREATE TABLE trusted_device_challenges (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  platform TEXT NOT NULL,
  app_identifier TEXT NOT NULL,
  name TEXT,
  public_key TEXT NOT NULL,
  client_data TEXT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__trusted_device_challenges__user_id ON trusted_device_challenges (instance_id, user_id);
CREATE INDEX ix__trusted_device_challenges__expire_at ON trusted_device_challenges (instance_id, expire_at);
