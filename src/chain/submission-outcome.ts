/** The ends that handing a transaction to a node can have: `rpc-errors.ts` decides which. */

/**
 * What became of a signed transaction that was handed to a node.
 *
 * - `accepted`: it is in the pool, or was there already
 * - `nonce_too_low`: the nonce is used; by this transaction or by another one, only a block can tell
 * - `nonce_gap`: the node does not know an earlier nonce of the sender; send that one first
 * - `replacement_underpriced`: another transaction holds the nonce, and this one does not pay enough more
 * - `fee_too_low`: below what the node or the next block asks
 * - `insufficient_funds`: the sender cannot pay value and gas
 * - `pool_full`: no room now, for anybody or for this sender
 * - `node_limit`: a setting of this node forbids it (geth: the fee cap of `--rpc.txfeecap`); another node may take it
 * - `rejected`: no node will ever take these bytes
 * - `unavailable`: nobody heard it, or nobody said so
 * - `unknown`: an answer in words not known here; try again, but not for ever
 */
export type SubmissionOutcome =
  | 'accepted'
  | 'nonce_too_low'
  | 'nonce_gap'
  | 'replacement_underpriced'
  | 'fee_too_low'
  | 'insufficient_funds'
  | 'pool_full'
  | 'node_limit'
  | 'rejected'
  | 'unavailable'
  | 'unknown'
