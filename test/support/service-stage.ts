/** The service in this process with a chain that mines when the test requests it. */
import type { Test } from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { withAnvil } from './anvil.ts'
import { readChain } from './chain-audit-scan.ts'
import { accepted } from './client.ts'
import type { LoadWallet } from './load.ts'
import { mineUntilSettled } from './load-settle.ts'
import { withDatabase } from './postgres.ts'
import { type LocalService, withLocalService } from './service-local.ts'

const CHAIN_ID = 1000001
export const RECIPIENT = '0x00000000000000000000000000000000b0b5ade0'

/** A transaction in the form of the API. */
export type View = {
  readonly transaction_id: string
  readonly state: string
  readonly status: string
  readonly hash: string | null
  readonly hashes: readonly string[]
  readonly nonce: number | null
  readonly block_number: number | null
  readonly history: readonly { readonly state: string }[]
  readonly failure: { readonly code: string; readonly message: string } | null
}

export type Stage = {
  readonly service: LocalService
  readonly url: string
  readonly rpc: (method: string, ...params: unknown[]) => Promise<unknown>
  readonly mine: (blocks?: number) => Promise<void>
  readonly send: (wallet: LoadWallet, amount: string, to?: string) => Promise<string>
  readonly read: (wallet: LoadWallet, id: string) => Promise<View>
  /** Waits for a state, without mining a block. */
  readonly until: (wallet: LoadWallet, id: string, ...states: string[]) => Promise<View>
  /** Mines until nothing is in progress. */
  readonly settle: () => Promise<void>
}

export type StageOptions = {
  readonly env?: Readonly<Record<string, string>>
  /** Puts something between the service and its node: returns the node URLs for the service. */
  readonly nodes?: (url: string) => Promise<readonly string[]>
  /** A chain that the test starts and stops itself, with this id, which mines on request. */
  readonly chain?: (chainId: number) => Promise<{ readonly url: string }>
  /** A database of the test, with every migration applied. */
  readonly databaseUrl?: string
}

/** Mines when the test requests it. */
export async function withStage(t: Test, { env = {}, nodes, chain, ...own }: StageOptions = {}): Promise<Stage> {
  const databaseUrl = own.databaseUrl ?? (await withDatabase(t)).url
  const { url } = await (chain?.(CHAIN_ID) ?? withAnvil(t, { chainId: CHAIN_ID, mining: 'call' }))
  const rpcUrls = (await nodes?.(url)) ?? [url]
  const service = await withLocalService(t, { databaseUrl, chainUrl: url, chainId: CHAIN_ID, rpcUrls, env })
  const rpc = (method: string, ...params: unknown[]) => callRpc(url, method, params)
  const read = async (wallet: LoadWallet, id: string): Promise<View> =>
    (await service.api.insist({ path: `/v1/wallets/${wallet.id}/transactions/${id}` })).body.data
  return {
    service,
    url,
    rpc,
    read,
    mine: async (blocks = 1) => void (await rpc('anvil_mine', toQuantity(blocks))),
    async send(wallet, amount, to = RECIPIENT) {
      const body = { to, amount, asset: 'ETH' }
      return accepted(await service.api.send(`/v1/wallets/${wallet.id}/transfer`, body)).transaction_id
    },
    until: (wallet, id, ...states) =>
      service.api.until<View>(`/v1/wallets/${wallet.id}/transactions/${id}`, ({ state }) => states.includes(state)),
    settle: () => mineUntilSettled(() => service.places, url),
  }
}

/** The same node under another name: a host of its own, and so a vote. */
export function byName(url: string): string {
  return url.replace('127.0.0.1', 'localhost')
}

/** The transactions of a wallet on chain, in nonce order. */
export async function onChain({ url }: Stage, { address }: LoadWallet) {
  return (await readChain(url, [address])).toSorted((a, b) => a.nonce - b.nonce)
}
