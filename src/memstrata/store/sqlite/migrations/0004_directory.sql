-- Who there is and who may see what; what is kept for how long; who did what.

-- People ------------------------------------------------------------------------------------------------------------

CREATE TABLE users (
  instance TEXT NOT NULL,
  user_id TEXT NOT NULL,
  user_type TEXT NOT NULL,                          -- 'system_admin', 'normal'
  username TEXT NOT NULL,
  status TEXT NOT NULL,                             -- 'active', 'inactive'
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, user_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX users_one_admin ON users (instance) WHERE user_type = 'system_admin';
CREATE INDEX users_by_age ON users (instance, created_at, user_id);
CREATE INDEX users_by_name ON users (instance, username);

-- A key itself is nowhere: only its hash, and a mask to tell it from others.
CREATE TABLE user_keys (
  instance TEXT NOT NULL,
  key_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  mask TEXT NOT NULL,
  name TEXT NOT NULL,
  is_default INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  PRIMARY KEY (instance, key_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX user_keys_by_digest ON user_keys (instance, digest);
CREATE INDEX user_keys_by_user ON user_keys (instance, user_id, created_at, key_id);

CREATE TABLE teams (
  instance TEXT NOT NULL,
  team_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  owner_user_id TEXT NOT NULL,
  status TEXT NOT NULL,                             -- 'active', 'archived'
  metadata TEXT NOT NULL,                           -- JSON, as it was given
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, team_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX teams_by_age ON teams (instance, created_at, team_id);

CREATE TABLE team_members (
  instance TEXT NOT NULL,
  team_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  member_id TEXT NOT NULL,
  role TEXT NOT NULL,                               -- 'admin', 'member', 'reviewer'
  status TEXT NOT NULL,                             -- 'active', 'removed'
  joined_at INTEGER NOT NULL,
  PRIMARY KEY (instance, team_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX team_members_by_user ON team_members (instance, user_id, team_id);

CREATE TABLE user_params (
  instance TEXT NOT NULL,
  user_id TEXT NOT NULL,
  module TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (instance, user_id, module, name)
) STRICT, WITHOUT ROWID;

-- Agents and their tasks --------------------------------------------------------------------------------------------

CREATE TABLE agents (
  instance TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  team_id TEXT NOT NULL,
  owner_user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  prompt TEXT NOT NULL,
  visibility TEXT NOT NULL,                         -- 'private', 'team', 'restricted', 'agent', 'task'
  status TEXT NOT NULL,                             -- 'active', 'inactive'
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, agent_id)
) STRICT, WITHOUT ROWID;
-- The rest of the columns spares a page and its total the rows, which hold whole prompts.
CREATE INDEX agents_by_team ON agents (
  instance, team_id, created_at, agent_id, owner_user_id, visibility, status, name
);
CREATE INDEX agents_by_owner ON agents (
  instance, owner_user_id, created_at, agent_id, team_id, visibility, status, name
);

CREATE TABLE tasks (
  instance TEXT NOT NULL,
  task_id TEXT NOT NULL,
  team_id TEXT NOT NULL,
  creator_user_id TEXT NOT NULL,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  source_type TEXT NOT NULL,                        -- 'manual', 'tapd', 'github', 'other'
  source_url TEXT NOT NULL,
  status TEXT NOT NULL,                             -- 'running', 'completed'
  auto_assign INTEGER NOT NULL,
  risk_level TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_team ON tasks (
  instance, team_id, created_at, task_id, creator_user_id, status, title
);
CREATE INDEX tasks_by_creator ON tasks (
  instance, creator_user_id, created_at, task_id, team_id, status, title
);

CREATE TABLE task_agents (
  instance TEXT NOT NULL,
  task_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  link_id TEXT NOT NULL,
  role_in_task TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (instance, task_id, agent_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_agents_by_agent ON task_agents (instance, agent_id);

CREATE TABLE participations (
  instance TEXT NOT NULL,
  log_id TEXT NOT NULL,
  team_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  source TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, log_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX participations_by_team ON participations (
  instance, team_id, created_at, log_id, user_id, task_id, agent_id
);
CREATE INDEX participations_by_task ON participations (instance, task_id);
CREATE INDEX participations_by_agent ON participations (instance, agent_id);
CREATE INDEX participations_by_user ON participations (instance, user_id);

-- Assets ------------------------------------------------------------------------------------------------------------

CREATE TABLE assets (
  instance TEXT NOT NULL,
  asset_id TEXT NOT NULL,
  team_id TEXT NOT NULL,
  asset_type TEXT NOT NULL,                         -- 'skill', 'llm_wiki', 'code_graph', 'chat_memory'
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  owner_user_id TEXT NOT NULL,
  source_type TEXT NOT NULL,
  source_ref TEXT NOT NULL,
  version INTEGER NOT NULL,
  visibility TEXT NOT NULL,
  status TEXT NOT NULL,
  confidence REAL,
  expires_at TEXT NOT NULL,                         -- as it was given; '' for never
  expires_ms INTEGER,                               -- the same as an instant, NULL for never
  last_used_at INTEGER,
  usage_count INTEGER NOT NULL,
  content_ref TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, asset_id)
) STRICT, WITHOUT ROWID;
-- As with agents: all that a filter and a permission look at, so that a total reads no row.
CREATE INDEX assets_by_team ON assets (
  instance, team_id, created_at, asset_id, owner_user_id, asset_type, visibility, status, expires_ms
);
CREATE INDEX assets_by_age ON assets (
  instance, created_at, asset_id, team_id, owner_user_id, asset_type, visibility, status, expires_ms
);
CREATE INDEX assets_by_owner ON assets (
  instance, owner_user_id, created_at, asset_id, team_id, asset_type, visibility, status, expires_ms
);

CREATE INDEX assets_expiring ON assets (instance, asset_id) WHERE expires_ms IS NOT NULL;

-- How many assets of a kind there are that never expire: all of a kind are for a user or none, but for owners and grants.
CREATE TABLE asset_counts (
  instance TEXT NOT NULL,
  team_id TEXT NOT NULL,
  asset_type TEXT NOT NULL,
  visibility TEXT NOT NULL,
  status TEXT NOT NULL,
  assets INTEGER NOT NULL,
  PRIMARY KEY (instance, team_id, asset_type, visibility, status)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER assets_added AFTER INSERT ON assets WHEN new.expires_ms IS NULL BEGIN
  INSERT INTO asset_counts VALUES (new.instance, new.team_id, new.asset_type, new.visibility, new.status, 1)
  ON CONFLICT DO UPDATE SET assets = assets + 1;
END;
CREATE TRIGGER assets_removed AFTER DELETE ON assets WHEN old.expires_ms IS NULL BEGIN
  UPDATE asset_counts SET assets = assets - 1
  WHERE instance = old.instance AND team_id = old.team_id AND asset_type = old.asset_type
    AND visibility = old.visibility AND status = old.status;
END;
CREATE TRIGGER assets_changed AFTER UPDATE OF team_id, asset_type, visibility, status, expires_ms ON assets BEGIN
  UPDATE asset_counts SET assets = assets - 1
  WHERE instance = old.instance AND team_id = old.team_id AND asset_type = old.asset_type
    AND visibility = old.visibility AND status = old.status AND old.expires_ms IS NULL;
  INSERT INTO asset_counts
  SELECT new.instance, new.team_id, new.asset_type, new.visibility, new.status, 1 WHERE new.expires_ms IS NULL
  ON CONFLICT DO UPDATE SET assets = assets + 1;
END;

CREATE TABLE bindings (
  instance TEXT NOT NULL,
  agent_id TEXT NOT NULL,
  asset_id TEXT NOT NULL,
  binding_id TEXT NOT NULL,
  asset_type TEXT NOT NULL,
  injection_mode TEXT NOT NULL,                     -- 'direct', 'summary', 'tool', 'reference'
  priority INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (instance, agent_id, asset_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX bindings_by_asset ON bindings (instance, asset_id);

CREATE TABLE grants (
  instance TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  asset_id TEXT NOT NULL,
  team_id TEXT NOT NULL,                            -- of the asset, where a role is looked up
  subject_type TEXT NOT NULL,                       -- 'user', 'team_role', 'agent'
  subject_id TEXT NOT NULL,
  permission TEXT NOT NULL,                         -- 'read', 'write', 'delete', 'assign', 'share', 'use'
  effect TEXT NOT NULL,                             -- 'allow', 'deny'
  granted_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, grant_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX grants_by_asset ON grants (instance, asset_id, subject_type, subject_id, permission);
CREATE INDEX grants_by_subject ON grants (instance, subject_type, subject_id, team_id);

-- Rules for a part of an instance: '' is wider, NULL leaves it to the wider rule, at last to the settings. ------------

CREATE TABLE policies (
  instance TEXT NOT NULL,
  team TEXT NOT NULL,
  agent TEXT NOT NULL,
  user TEXT NOT NULL,
  redact_secrets INTEGER,                           -- 0, 1
  retention_days INTEGER,                           -- of messages and memories; 0: for ever
  updated_by TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (instance, team, agent, user)
) STRICT, WITHOUT ROWID;

-- Receipts of what was forgotten: counts and whose it was, never what it said.
CREATE TABLE forgettings (
  forgetting_id TEXT PRIMARY KEY,
  instance TEXT NOT NULL,
  selector TEXT NOT NULL,                           -- JSON: whose it was, the user as a hash; ids only counted
  counts TEXT NOT NULL,                             -- JSON: how much of each kind went
  actor TEXT NOT NULL,
  at INTEGER NOT NULL,
  complete INTEGER NOT NULL DEFAULT 0               -- 1: no byte of it is left in the files of the data folder
) STRICT, WITHOUT ROWID;
CREATE INDEX forgettings_by_age ON forgettings (instance, at);
CREATE INDEX forgettings_unfinished ON forgettings (forgetting_id) WHERE complete = 0;

-- Audit: each row holds the hash of the one before it. Ids, never contents. ------------------------------------------

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,                          -- given by the chain, without gaps
  at INTEGER NOT NULL,
  instance TEXT NOT NULL,
  actor TEXT NOT NULL,                              -- 'gateway', 'user:<mark>', 'pipeline', 'library', 'cli'
  action TEXT NOT NULL,                             -- 'message.add', 'memory.merge', 'key.use', 'recall.inject', …
  owner TEXT NOT NULL,                              -- JSON list: team, agent, the user's mark
  subject TEXT NOT NULL,                            -- JSON: ids and counts
  hash BLOB NOT NULL
) STRICT;
CREATE INDEX audit_by_instance ON audit (instance);
