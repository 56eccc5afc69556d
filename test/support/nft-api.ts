/**
 * The routes of collections and mints over HTTP on a fresh database. There is no chain: the test provides its data, and
 * every fee and contract code is fixed.
 */
import type { Test } from 'tap'
import { type Fork, rulesOf } from '../../src/chain/forks.ts'
import {
  FACTORY_ADDRESS,
  STEP_FACTORY_ADDRESS,
  STEP_IMPLEMENTATION_ADDRESS,
} from '../../src/nft/contracts/collection.ts'
import type { Pin } from '../../src/nft/metadata/pin.ts'
import { type Calls, fund, QUOTE, withCalls } from './calls.ts'
import { type Call, type Fakes, type Served, serve, startApiProcess } from './capabilities.ts'
import { type Answer, KEYS } from './http.ts'
import { runSigner } from './wallet-parts.ts'

export const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Has code, and cannot receive tokens. */
export const DEAF_CONTRACT = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
export const COLLECTION = { name: 'Lighthouses', symbol: 'LIGHT' }
export const METADATA = { name: 'Lighthouse #1' }

export type NftApi = {
  readonly calls: Calls
  readonly post: Call
  readonly send: Served['send']
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

/** Vouchers are not waited for, and issuer wallets have hd keys. */
const ENV = { SIGN_WAIT_MS: '0', MPC_PARTIES: '0' }

export async function withNftApi(t: Test, options: NftApiOptions = {}): Promise<NftApi> {
  const calls = await withCalls(t, chainWith(options), ENV)
  await runSigner(t, calls)
  const { post, send } = await serve(calls, ['nft'])
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

/** Another API process on the same database, which shares nothing else with it. */
export function anotherNftApi(t: Test, { url }: Pick<Calls, 'url'>, options: NftApiOptions = {}): Promise<Served> {
  return serve(startApiProcess(t, url, chainWith(options), ENV), ['nft'])
}

/** There is no chain: its fees, its rules and the code of its contracts are fixed. */
function chainWith(options: NftApiOptions): Fakes {
  const { pin = null, hasFactory = true, issuerFunds = 10n ** 24n } = options
  const { standing = new Set(), fork = 'osaka', maxTransactionGas } = options
  const hasCode = (address: string) =>
    address === FACTORY_ADDRESS ? hasFactory : !STEPS.includes(address) || standing.has(address)
  return (kernel) => ({
    quoteOf: async () => QUOTE,
    gasRules: async () => rulesOf(fork),
    chainOf(chainId) {
      const { code, foreign, ...chain } = kernel.chainOf(chainId)
      return {
        ...chain,
        code: { ...code, haveCode: async (addresses) => addresses.map(hasCode) },
        foreign: { ...foreign, batch: async (asked) => asked.map(receiverSays), call: async () => null },
      }
    },
    pin,
    fundWallet: ({ walletId, network }) => fund(kernel, walletId, network, issuerFunds),
    ...(maxTransactionGas === undefined ? {} : { maxTransactionGas }),
  })
}

/** Every receiver answers with the selector that it was asked with, but one. */
function receiverSays({ params: [call] }: { readonly params: readonly unknown[] }) {
  const { to, data } = call as { readonly to: string; readonly data: string }
  return { ok: true as const, value: to === DEAF_CONTRACT ? '0x' : data.slice(0, 10).padEnd(66, '0') }
}
