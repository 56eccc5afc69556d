-- The newest followed block that a quorum of the nodes calls final: no reorg below it is followed without an operator's word.
ALTER TABLE chain_cursors
  ADD COLUMN final_number bigint,
  ADD COLUMN final_hash   text;
SELECT create_put_function('chain_cursors');

-- Whether the follower only waits for a quorum of the nodes: what needs none goes on.
ALTER TABLE chain_stalls ADD COLUMN waits boolean NOT NULL DEFAULT false;
