-- Beside the log: why a signer signs nothing in a lane, for operators. A row is as recent as seen_at: the signer writes it with
-- each try, and a lane that continues leaves it behind.
CREATE TABLE held_lanes (
  chain_id bigint NOT NULL,
  address  text NOT NULL,
  cause    jsonb NOT NULL,
  seen_at  timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (chain_id, address)
);
