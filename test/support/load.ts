/**
 * Wallets and transfers for a load. Every transfer of a run has a unique amount, which identifies it on chain
 * regardless of the service's own data.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { formatAmount } from '../../src/core/money.ts'
import { NATIVE_SYMBOL, type Network } from '../../src/core/networks.ts'
import { accepted, type Client } from './client.ts'
import type { Random } from './load-random.ts'

export type LoadWallet = { readonly id: string; readonly address: string; readonly network: Network }

/** The key type of a wallet; an mpc key without terms has the service's default terms. */
export type WalletKind =
  | { readonly type: 'hd' }
  | { readonly type: 'mpc'; readonly mpc?: { readonly threshold: number; readonly parties: number } }

export type LoadTransfer = {
  /** The client's idempotency key, and its reference. */
  readonly key: string
  readonly wallet: LoadWallet
  readonly asset: 'native' | 'USDC'
  /** Base units; unique for the network and asset. */
  readonly amount: bigint
  readonly to: string
  /** Milliseconds after the start of the load. */
  readonly atMs: number
  /** The client does not retry when there is no response. */
  readonly impatient: boolean
}

/** The service's response to a transfer. Status 0: the client disconnected before a response and does not know. */
export type Answered = {
  readonly transfer: LoadTransfer
  readonly status: number
  readonly transactionId: string | null
  readonly code: string | null
}

const DECIMALS = { native: 18, USDC: 6 } as const
/** More than any test sends. */
const FUNDS = { native: '1000', USDC: '1000000' } as const
/** 0.00001 of the native currency, 1 USDC: the number of the transfer is added in base units. */
const LEAST = { native: 10n ** 13n, USDC: 10n ** 6n } as const
/** No wallet of the service. */
export const RECIPIENT = '0x00000000000000000000000000000000B0B5AdE0'.toLowerCase()

/** Creates wallets funded with both assets, and waits until their balances show it. */
export async function makeWallets(api: Client, networks: readonly Network[]): Promise<LoadWallet[]> {
  const wallets = await Promise.all(networks.map((network, index) => createWallet(api, network, `wallet-${index}`)))
  await Promise.all(wallets.flatMap((wallet) => [fund(api, wallet, 'native'), fund(api, wallet, 'USDC')]))
  return wallets
}

/** @param key unique for the wallet within a run */
export async function createWallet(
  api: Client,
  network: Network,
  key: string,
  kind: WalletKind = { type: 'hd' },
): Promise<LoadWallet> {
  const body = { ...kind, network, label: key, environment: 'mainnet' }
  // A slow or stopped signer creates the address later.
  const made = await api.settle(await api.insist({ method: 'POST', path: '/v1/wallets/create', key, body }))
  return { id: made.wallet_id, address: made.address, network }
}

async function fund(api: Client, { id, address, network }: LoadWallet, asset: LoadTransfer['asset']): Promise<void> {
  const symbol = asset === 'native' ? NATIVE_SYMBOL[network] : asset
  const body = { address, network, asset: symbol, amount: FUNDS[asset] }
  accepted(await api.insist({ method: 'POST', path: '/v1/sandbox/faucet', key: `fund-${id}-${asset}`, body }))
  await api.until(`/v1/wallets/${id}/balance?asset=${symbol}`, ({ balance }) => balance === FUNDS[asset])
}

export type LoadPlan = {
  readonly wallets: readonly LoadWallet[]
  readonly count: number
  /** Number of transfers so far: amounts and keys continue from there. */
  readonly firstNumber: number
  /** The transfers are sent at random times within this period; 0 sends all at once. */
  readonly spreadMs: number
  /** Fraction of token transfers. */
  readonly tokens: number
  /** Fraction of clients that do not retry. */
  readonly impatient: number
}

export function planTransfers(
  random: Random,
  { wallets, count, firstNumber, spreadMs, tokens, impatient }: LoadPlan,
): LoadTransfer[] {
  return Array.from({ length: count }, (_, index): LoadTransfer => {
    const number = firstNumber + index
    const asset = random.chance(tokens) ? 'USDC' : 'native'
    return {
      key: `transfer-${number}`,
      wallet: wallets[index % wallets.length] as LoadWallet,
      asset,
      amount: LEAST[asset] + BigInt(number),
      to: RECIPIENT,
      atMs: Math.floor(random.next() * spreadMs),
      impatient: random.chance(impatient),
    }
  })
}

/** The request of a transfer; a retry is identical. */
function requestOf({ key, wallet, asset, amount, to }: LoadTransfer) {
  return {
    method: 'POST',
    path: `/v1/wallets/${wallet.id}/transfer`,
    key,
    prefer: 'respond-async',
    body: {
      to,
      amount: formatAmount(amount, DECIMALS[asset]),
      asset: asset === 'native' ? NATIVE_SYMBOL[wallet.network] : asset,
      reference_id: key,
    },
  } as const
}

/** Sends all transfers at their times, each until it gets a response. */
export async function sendTransfers(
  api: Client,
  transfers: readonly LoadTransfer[],
  onAnswered: (answered: Answered) => void = () => undefined,
): Promise<Answered[]> {
  return Promise.all(
    transfers.map(async (transfer) => {
      await sleep(transfer.atMs)
      const answered = { transfer, ...(await ask(api, transfer)) }
      onAnswered(answered)
      return answered
    }),
  )
}

async function ask(api: Client, transfer: LoadTransfer): Promise<Omit<Answered, 'transfer'>> {
  const reply = await (transfer.impatient
    ? api.once(requestOf(transfer)).catch(() => null)
    : api.insist(requestOf(transfer)))
  if (reply === null || reply.status >= 500) return { status: 0, transactionId: null, code: null }
  const { status, body } = reply
  return {
    status,
    transactionId: status === 202 ? body.data.transaction_id : null,
    code: body.errors?.[0]?.code ?? null,
  }
}

/**
 * Repeats transfer requests, like a client that lost its records. Returns a text for each response that differs from
 * the first.
 */
export async function replayTransfers(api: Client, answers: readonly Answered[]): Promise<string[]> {
  const replays = answers
    .filter(({ transactionId }) => transactionId !== null)
    .map(async ({ transfer, transactionId }) => {
      const { status, headers, body } = await api.insist(requestOf(transfer))
      const isSame =
        status === 202 && body.data.transaction_id === transactionId && headers['idempotency-replayed'] === 'true'
      return isSame ? [] : [`${transfer.key} made ${transactionId}; asked again: ${status} ${JSON.stringify(body)}`]
    })
  return (await Promise.all(replays)).flat()
}
