-- Policies of tenants: what is in force, and every version that was.

-- A tenant has a row from its first draft on. An append of a request reads it, so it has few columns that change with others.
CREATE TABLE policies (
  tenant_id      text NOT NULL,
  environment    text NOT NULL,
  active_version integer NOT NULL,
  shadow_version integer NOT NULL,
  shadow_seeded  boolean NOT NULL,
  draft_revision integer NOT NULL,
  draft          jsonb NOT NULL,
  draft_note     text,
  drafted_by     text NOT NULL,
  drafted_at     timestamptz(3) NOT NULL,
  updated_at     timestamptz(3) NOT NULL,
  version        integer NOT NULL,
  PRIMARY KEY (tenant_id, environment)
);
SELECT create_put_function('policies');

CREATE TABLE policy_versions (
  tenant_id        text NOT NULL,
  environment      text NOT NULL,
  policy_version   integer NOT NULL,
  status           text NOT NULL,
  draft_revision   integer NOT NULL,
  policy           jsonb NOT NULL,
  hash             text NOT NULL,
  previous_version integer,
  previous_hash    text,
  basis            text,
  forced           text,
  shadowed_by      text,
  shadowed_at      timestamptz(3),
  published_by     text,
  published_at     timestamptz(3),
  ended_at         timestamptz(3),
  PRIMARY KEY (tenant_id, environment, policy_version)
);
SELECT create_put_function('policy_versions');

-- What rules name wallets by. A label can be changed by any key that may change wallets, and would let one escape a rule.
ALTER TABLE wallets ADD COLUMN tags text[] NOT NULL DEFAULT '{}';
SELECT create_put_function('wallets');
