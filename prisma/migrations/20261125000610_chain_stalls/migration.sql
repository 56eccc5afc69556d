-- Chains whose follower does not move although it should: since when, and why. A row is deleted when the follower moves.
CREATE TABLE chain_stalls (
  chain_id integer        PRIMARY KEY,
  reason   text           NOT NULL,
  since    timestamptz(3) NOT NULL DEFAULT now()
);
