/** Reads checkpoints from the chain only; the database's records of them are not trusted. */
import { type RpcReader, rpcCall } from '../../chain/json-rpc.ts'
import { BadInput } from '../../cli/command.ts'
import { Unavailable } from '../../core/errors.ts'
import type { Row } from '../../event-log/table-rows.ts'
import { TRANSACTIONS } from '../../transactions/sql.ts'
import type { Queryable } from '../chain/log-rows.ts'
import type { KeyHistory } from '../note/key-history.ts'
import { TreeDamaged } from '../tree/tree-damaged.ts'
import type { KnownCheckpoint } from '../verify/evidence.ts'

/** A configured chain as anchors need it. */
export type AnchorChain = {
  readonly chainId: number
  readonly network: string
  /** What a quorum of its nodes says alike. */
  readonly agreed: RpcReader
}

export type Anchored = {
  readonly checkpoints: readonly KnownCheckpoint[]
  /** Anchors whose chain has no reachable node: they were not checked. */
  readonly unasked: readonly string[]
}

type Anchor = { readonly hash: string; readonly chainIds: readonly number[] }

/**
 * @param kept hashes of anchoring transactions kept outside the log: searched on every chain
 * @throws TreeDamaged when an anchor is not on chain, or holds no checkpoint of this key; BadInput for a malformed hash
 */
export async function anchoredCheckpoints(
  database: Queryable,
  chains: readonly AnchorChain[],
  kept: readonly string[],
  keys: KeyHistory,
): Promise<Anchored> {
  const wrong = kept.find((hash) => !/^0x[0-9a-fA-F]{64}$/.test(hash))
  if (wrong !== undefined)
    throw new BadInput(
      `--anchors must be a comma-separated list of transaction hashes (0x and 64 hexadecimal digits); "${wrong}" is not a hash.`,
    )
  const everywhere = chains.map(({ chainId }) => chainId)
  const anchors = [...(await recorded(database)), ...kept.map((hash) => ({ hash, chainIds: everywhere }))]
  const checkpoints: KnownCheckpoint[] = []
  const unasked: string[] = []
  for (const anchor of anchors) {
    const found = await find(
      anchor,
      chains.filter(({ chainId }) => anchor.chainIds.includes(chainId)),
    )
    if (found === 'unknown') unasked.push(anchor.hash)
    else checkpoints.push(opened(anchor.hash, found, keys))
  }
  return { checkpoints, unasked }
}

/** The anchors of the log whose block is final according to the settings. */
async function recorded(database: Queryable): Promise<Anchor[]> {
  const { rows } = await database.query<Pick<Row<'transactions', { readonly hash: string }>, 'hash' | 'chain_id'>>(
    `SELECT hash, chain_id FROM ${TRANSACTIONS} AS transactions WHERE subject_type = 'checkpoint' AND state = 'confirmed' ORDER BY transaction_id`,
  )
  return rows.map(({ hash, chain_id: chainId }) => ({ hash, chainIds: [chainId] }))
}

type OnChain = { readonly network: string; readonly note: string }

/** `unknown` when a chain that may have it does not answer, or is not configured. */
async function find({ hash }: Anchor, chains: readonly AnchorChain[]): Promise<OnChain | 'unknown'> {
  let silent = chains.length === 0
  for (const { agreed, network } of chains) {
    try {
      const found = (await rpcCall(agreed, 'eth_getTransactionByHash', [hash])) as RawTransaction | null
      if (found?.blockNumber && found.input !== undefined)
        return { network, note: Buffer.from(found.input.slice(2), 'hex').toString('utf8') }
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      silent = true
    }
  }
  if (silent) return 'unknown'
  throw new TreeDamaged(`The anchor transaction ${hash} is not in a block of its chain`)
}

type RawTransaction = { readonly blockNumber?: string | null; readonly input?: string }

function opened(hash: string, { network, note }: OnChain, keys: KeyHistory): KnownCheckpoint {
  const checkpoint = keys.open(note)
  if (checkpoint !== null) return { ...checkpoint, source: `transaction ${hash} on ${network}` }
  throw new TreeDamaged(`Transaction ${hash} on ${network} contains no checkpoint signed with the key ${keys.name}`)
}
