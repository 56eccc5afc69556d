/**
 * Waits until nothing is in progress: every transaction has ended, the followers are at the heads of their chains, and
 * they have read the tokens for which no node answered.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { toQuantity } from '../../src/chain/hex.ts'
import type { Network } from '../../src/core/networks.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { HANGS_AFTER_MS } from './within.ts'

/** The nodes themselves, and the database. A sandbox's state is one. */
export type ChainPlaces = {
  readonly database_url: string
  readonly networks: Readonly<Partial<Record<Network, { readonly rpc_url: string; readonly chain_id: number }>>>
}

const LOOK_MS = 100

export type Unsettled = {
  /** Unfinished transactions by state. */
  readonly open: Readonly<Record<string, number>>
  /** Chains whose follower is not at the head, tokens that it reads again later, or the error of the query. */
  readonly behind: readonly string[]
}

/**
 * @param onLook called with what is unfinished, about ten times a second
 * @throws Error with the last result when it never settles
 */
export async function untilSettled(
  places: () => ChainPlaces,
  onLook: (look: Unsettled) => void = () => undefined,
): Promise<void> {
  const deadline = Date.now() + HANGS_AFTER_MS
  for (;;) {
    const unsettled = await look(places()).catch((error: Error): Unsettled => ({ open: {}, behind: [error.message] }))
    onLook(unsettled)
    if (Object.keys(unsettled.open).length === 0 && unsettled.behind.length === 0) return
    if (Date.now() > deadline)
      throw new Error(`not settled after ${HANGS_AFTER_MS / 1_000} s: ${JSON.stringify(unsettled)}`)
    await sleep(LOOK_MS)
  }
}

/** As `untilSettled`, for a node that mines on request: mines at every poll. */
export function mineUntilSettled(places: () => ChainPlaces, url: string): Promise<void> {
  return untilSettled(places, () => void callRpc(url, 'evm_mine').catch(() => undefined))
}

async function look(places: ChainPlaces): Promise<Unsettled> {
  const client = new pg.Client({
    connectionString: places.database_url,
    connectionTimeoutMillis: 3_000,
    query_timeout: 10_000,
  })
  client.on('error', () => undefined) // The running statement fails with the same error.
  await client.connect()
  try {
    // Chains first: what is final while a chain was up to date stays final.
    const behind = await behindHeads(client, places)
    const { rows } = await client.query<{ state: string; n: string }>(
      `SELECT state, count(*) AS n FROM transactions WHERE state NOT IN ('confirmed', 'reverted', 'failed', 'cancelled') GROUP BY 1`,
    )
    // A block is recorded without the tokens for which no node answered: their balances follow some seconds later.
    const unread = await client.query<{ token: string }>(
      `SELECT chain_id || ' ' || contract AS token FROM unread_tokens`,
    )
    return {
      open: Object.fromEntries(rows.map(({ state: name, n }) => [name, Number(n)])),
      behind: [...behind, ...unread.rows.map(({ token }) => token)],
    }
  } finally {
    await client.end()
  }
}

async function behindHeads(client: pg.Client, { networks }: ChainPlaces): Promise<string[]> {
  const { rows } = await client.query<{ chain_id: number; number: string; hash: string }>(
    'SELECT chain_id, number, hash FROM chain_cursors',
  )
  const checks = Object.entries(networks).map(async ([network, { rpc_url, chain_id }]) => {
    const cursor = rows.find((row) => row.chain_id === chain_id)
    if (cursor === undefined) return [network]
    const [head, block] = (await Promise.all([
      callRpc(rpc_url, 'eth_blockNumber'),
      callRpc(rpc_url, 'eth_getBlockByNumber', [toQuantity(Number(cursor.number)), false]),
    ])) as [string, { hash: string } | null]
    const isThere = block?.hash === cursor.hash && Number(head) - Number(cursor.number) <= 1
    return isThere ? [] : [network]
  })
  return (await Promise.all(checks)).flat()
}
