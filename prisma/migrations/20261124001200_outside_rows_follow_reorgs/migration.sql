-- What the follower saw in blocks that left the chain goes with them: rows beside the log that name a block above the cursor. A
-- lane would otherwise wait for a transaction of another program that can no longer be mined. The append that moves the cursor
-- back deletes them, so no crash comes between; blocks that are still in the chain are walked again, and add their rows again.
CREATE FUNCTION forget_orphaned_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM outside_transactions WHERE chain_id = NEW.chain_id AND block_number > NEW.number;
  DELETE FROM foreign_nonces WHERE chain_id = NEW.chain_id AND block_number > NEW.number;
  RETURN NULL;
END $$;

CREATE TRIGGER chain_cursors_go_back AFTER UPDATE OF number ON chain_cursors FOR EACH ROW WHEN (NEW.number < OLD.number)
  EXECUTE FUNCTION forget_orphaned_rows();

-- Rows that earlier versions left behind: a transaction of ours is in a block with the nonce, so the other one is not.
DELETE FROM outside_transactions o USING transactions t
 WHERE t.chain_id = o.chain_id AND t.from_address = o.address AND t.nonce = o.nonce AND t.block_number IS NOT NULL
   AND NOT t.hashes::jsonb ? o.hash;
