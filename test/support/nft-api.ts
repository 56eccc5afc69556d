/**
 * The routes of collections and mints over HTTP on a fresh database. There is no chain: the test provides its data, and
 * every fee and contract code is fixed.
 */
import type { Test } from 'tap'
import { type Fork, rulesOf } from '../../src/chain/forks.ts'
import { FACTORY_ADDRESS, STEP_FACTORY_ADDRESS, STEP_IMPLEMENTATION_ADDRESS } from '../../src/chain/nft-collection.ts'
import { newId } from '../../src/compose/new-id.ts'
import { createInTurn } from '../../src/core/in-turn.ts'
import { createAccept } from '../../src/event-log/accept.ts'
import { createCollectionReads } from '../../src/nft/collections/read-collections.ts'
import { collectionRoutes } from '../../src/nft/collections/routes.ts'
import type { Pin } from '../../src/nft/metadata/pin.ts'
import type { NftContext } from '../../src/nft/nft-context.ts'
import { createAllot } from '../../src/nft/tokens/allot.ts'
import { mintRoutes } from '../../src/nft/tokens/mint-routes.ts'
import { tokenRoutes } from '../../src/nft/tokens/update-routes.ts'
import { voucherRoutes } from '../../src/nft/tokens/voucher-routes.ts'
import { createUntilVoucherSigned } from '../../src/nft/tokens/wait-for-signature.ts'
import { createTransactionReads } from '../../src/transactions/read-transactions.ts'
import { type Calls, withCalls } from './calls.ts'
import { type Answer, KEYS, startTestApp } from './http.ts'
import { runSigner } from './wallet-parts.ts'

export const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Has code, and cannot receive tokens. */
export const DEAF_CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
export const COLLECTION = { name: 'Lighthouses', symbol: 'LIGHT' }
export const METADATA = { name: 'Lighthouse #1' }

export type Post = (url: string, body: object, headers?: Record<string, string>) => Promise<Answer>

export type NftApi = {
  readonly calls: Calls
  readonly post: Post
  readonly send: Awaited<ReturnType<typeof startTestApp>>['send']
  readonly get: (url: string, headers?: Record<string, string>) => Promise<Answer>
  /** Requests a collection of a funded wallet, without waiting. Returns its data. */
  readonly collection: (body?: object) => Promise<Data>
  /** Requests a mint into it, without waiting. */
  readonly mint: (collectionId: unknown, body?: object, headers?: Record<string, string>) => Promise<Answer>
}

export type Data = Readonly<Record<string, unknown>>
export const ASYNC = { prefer: 'respond-async' }
export const STRANGER = { authorization: `Bearer ${KEYS.cold}` }

const STEPS: readonly string[] = [STEP_FACTORY_ADDRESS, ...Object.values(STEP_IMPLEMENTATION_ADDRESS)]

export type NftApiOptions = {
  /** Whether the chain has the factory; default true. */
  readonly hasFactory?: boolean
  /** Which parts of the factory in steps the chain has; none by default. */
  readonly standing?: ReadonlySet<string>
  /** The rules of the chain; those of Osaka by default. */
  readonly fork?: Fork
  readonly maxTransactionGas?: bigint
  /** Of an IPFS node; there is none by default. */
  readonly pin?: Pin
  /** The initial funds of an issuer wallet, in wei. */
  readonly issuerFunds?: bigint
}

export async function withNftApi(t: Test, options: NftApiOptions = {}): Promise<NftApi> {
  const calls = await withCalls(t)
  await runSigner(t, calls)
  const { send } = await startTestApp({ routes: routesOf(calls, options) })
  const post: Post = (url, payload, headers = {}) => send({ method: 'POST', url, payload, headers })
  const { walletId } = await calls.wallet()
  return {
    calls,
    post,
    send,
    get: (url, headers = {}) => send({ method: 'GET', url, headers }),
    collection: async (body = {}) => {
      const answer = await post('/v1/nft/collections/create', { ...COLLECTION, wallet_id: walletId, ...body }, ASYNC)
      if (answer.status !== 202) throw new Error(answer.text)
      return answer.body.data ?? {}
    },
    mint: (collectionId, body = {}, headers = ASYNC) =>
      post('/v1/nft/mint', { collection_id: collectionId, recipient: RECIPIENT, metadata: METADATA, ...body }, headers),
  }
}

/** One API process. Another one on the same database shares nothing else with it. */
export function routesOf(calls: Calls, options: NftApiOptions) {
  const { pool, log, wakeUps, ports } = calls
  const { pin = null, hasFactory = true, issuerFunds = 10n ** 24n } = options
  const { standing = new Set(), fork = 'osaka', maxTransactionGas } = options
  const hasCode = (address: string) =>
    address === FACTORY_ADDRESS ? hasFactory : !STEPS.includes(address) || standing.has(address)
  const ctx: NftContext = {
    ...calls,
    ...ports,
    log,
    clock: Date.now,
    config: { mpc: null, metadataBaseUrl: null, signWaitMs: 0 },
    gasRules: async () => rulesOf(fork),
    accept: createAccept({ log, pool, newId }),
    chainOf: () => ({
      code: { haveCode: async (addresses) => addresses.map(hasCode) },
      foreign: { batch: async (asked) => asked.map(receiverSays), call: async () => null },
    }),
    transactions: createTransactionReads({ pool, wakeUps, confirmationsOf: () => 2 }),
    collections: createCollectionReads(pool),
    allot: createAllot(pool),
    inTurn: createInTurn(),
    untilVoucherSigned: createUntilVoucherSigned(pool, wakeUps),
    pin,
    judge: { voucher: async () => ({}) },
    fundIssuer: ({ walletId, network }) => calls.fund(walletId, network, issuerFunds),
    ...(maxTransactionGas === undefined ? {} : { maxTransactionGas }),
  }
  const routes = [collectionRoutes(ctx), mintRoutes(ctx), voucherRoutes(ctx), tokenRoutes(ctx)]
  return (app: Parameters<(typeof routes)[number]>[0]) => {
    for (const add of routes) add(app)
  }
}

/** Every receiver answers with the selector that it was asked with, but one. */
function receiverSays({ params: [call] }: { readonly params: readonly unknown[] }) {
  const { to, data } = call as { readonly to: string; readonly data: string }
  return { ok: true as const, value: to === DEAF_CONTRACT ? '0x' : data.slice(0, 10).padEnd(66, '0') }
}
