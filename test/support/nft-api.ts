/**
 * The routes of collections and mints over HTTP on a fresh database. There is no chain: the test provides its data, and
 * every fee and contract code is fixed.
 */
import type { Test } from 'tap'
import { type Fork, rulesOf } from '../../src/chain/forks.ts'
import { FACTORY_ADDRESS, STEP_FACTORY_ADDRESS, STEP_IMPLEMENTATION_ADDRESS } from '../../src/chain/nft-collection.ts'
import { composeTokenRoutes } from '../../src/compose/api-nft.ts'
import { newId } from '../../src/compose/new-id.ts'
import { createAccept } from '../../src/event-log/accept.ts'
import { createIssuerWallet } from '../../src/nft/collections/issuer-wallet.ts'
import { createCollectionReads } from '../../src/nft/collections/read-collections.ts'
import { createRequestCollection } from '../../src/nft/collections/request-collection.ts'
import { collectionRoutes } from '../../src/nft/collections/routes.ts'
import { createOwnersOf } from '../../src/nft/ownership/owners-of.ts'
import { createAllot } from '../../src/nft/tokens/allot.ts'
import { mintRoutes } from '../../src/nft/tokens/mint-routes.ts'
import { createMintTokens } from '../../src/nft/tokens/mint-tokens.ts'
import { createMintReads } from '../../src/nft/tokens/read-mints.ts'
import { createUntilVoucherSigned } from '../../src/nft/tokens/wait-for-signature.ts'
import { createWarnOfRecipients } from '../../src/nft/tokens/warn-of-recipients.ts'
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
  /** Replaces pinning, for contents that cannot be pinned. */
  readonly pinMetadata?: () => Promise<void>
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
  const { pinMetadata = async () => undefined, hasFactory = true, issuerFunds = 10n ** 24n } = options
  const { standing = new Set(), fork = 'osaka' } = options
  const reads = createTransactionReads({ pool, wakeUps, confirmationsOf: () => 2 })
  const collections = createCollectionReads(pool)
  const accept = createAccept({ log, pool, newId })
  const issuerWallet = createIssuerWallet(calls, ({ walletId, network }) => calls.fund(walletId, network, issuerFunds))
  const requestCollection = createRequestCollection({
    ...ports,
    gasRules: async () => rulesOf(fork),
    accept,
    newId,
    pool,
    issuerWallet,
    pinMetadata,
    metadataBase: 'ipfs://',
    codeOf: () => ({
      haveCode: async (addresses) =>
        addresses.map((one) => (one === FACTORY_ADDRESS ? hasFactory : !STEPS.includes(one) || standing.has(one))),
    }),
  })
  const { maxTransactionGas } = options
  const gas = maxTransactionGas === undefined ? {} : { maxTransactionGas }
  const mintTokens = createMintTokens({
    ...ports,
    accept,
    newId,
    collections,
    pinMetadata,
    judgeVoucher: async () => ({}),
    allot: createAllot(pool),
    ...gas,
  })
  const warnOfRecipients = createWarnOfRecipients(
    () => async (deliveries) => deliveries.map(({ to }) => to !== DEAF_CONTRACT),
  )
  const { untilMined } = reads
  const mints = createMintReads(pool)
  const ownersOf = createOwnersOf(pool)
  const routes = [
    collectionRoutes({ requestCollection, reads: collections, untilMined }),
    mintRoutes({
      mintTokens,
      reads: mints,
      collections,
      untilMined,
      untilVoucherSigned: createUntilVoucherSigned(pool, wakeUps),
      signWaitMs: 0,
      warnOfRecipients,
      ownersOf,
    }),
    ...composeTokenRoutes(calls, {
      ...ports,
      log,
      accept,
      newId,
      collections,
      mints,
      ownersOf,
      pinMetadata,
      untilMined,
    }),
  ]
  return (app: Parameters<(typeof routes)[number]>[0]) => {
    for (const add of routes) add(app)
  }
}
