/** Requests about NFTs, and what others do on chain, in an order that a seed decides. */
import { setTimeout as sleep } from 'node:timers/promises'
import { toChecksumAddress } from '../../src/chain/address.ts'
import { toQuantity } from '../../src/chain/hex.ts'
import { COLLECTION_ABI } from '../../src/nft/contracts/artefact.ts'
import { encodeSafeTransfer } from '../../src/nft/contracts/encode-calls.ts'
import type { LoadWallet } from './load.ts'
import type { Random } from './load-random.ts'
import { type OrderedCollection, type OrderedMint, tokensOf } from './nft-orders-check.ts'
import type { NftStage } from './nft-stage.ts'
import { reorganise } from './reorganise.ts'
import { eventually } from './sandbox-eventually.ts'

const MAX_SUPPLY = 24
const DEEPEST = 4
const GWEI = 10n ** 9n
const SENT_WITHIN_MS = 3_000

export const ACTS = [
  ...(['direct', 'batch', 'lazy', 'lazy', 'lazy'] as const),
  ...(['redeem', 'redeem', 'redeem', 'outside', 'outside', 'outside', 'revoke', 'revoke'] as const),
  ...(['burn', 'burn', 'transfer', 'cancel', 'cancel'] as const),
] as const
export type Act = (typeof ACTS)[number]

// biome-ignore lint/suspicious/noExplicitAny: each act knows the resource that it asked for.
type Data = Readonly<Record<string, any>>

export type NftOrders = {
  readonly collections: readonly OrderedCollection[]
  readonly mints: readonly OrderedMint[]
  /** Every address that may hold tokens. */
  readonly holders: readonly string[]
  /** @returns what was done, as a sentence */
  readonly take: (act: Act) => Promise<string>
  /** The newest blocks leave the chain. */
  readonly reorg: () => Promise<string>
  /** Waits a moment until what was requested is in the mempool. */
  readonly untilSent: () => Promise<void>
}

export async function withOrders(stage: NftStage, random: Random): Promise<NftOrders> {
  const [issuer, holder] = (await stage.service.makeWallets(2)) as [LoadWallet, LoadWallet]
  const outsiders = ((await stage.rpc('eth_accounts')) as string[]).slice(0, 3).map(toChecksumAddress)
  const collections: OrderedCollection[] = []
  for (const standard of ['ERC721', 'ERC1155'] as const) {
    const made = await stage.collection(issuer, { standard, max_supply: MAX_SUPPLY })
    collections.push({ ...made, standard, maxSupply: MAX_SUPPLY })
  }
  // No reorganisation reaches the deployments.
  await stage.mine(2 * DEEPEST)
  return ordersOf({ stage, random, issuer, holder, outsiders, collections, mints: [], own: [] })
}

type World = {
  readonly stage: NftStage
  readonly random: Random
  /** Owns the collections. */
  readonly issuer: LoadWallet
  readonly holder: LoadWallet
  /** Accounts of the node. */
  readonly outsiders: readonly string[]
  readonly collections: readonly OrderedCollection[]
  readonly mints: OrderedMint[]
  /** Transactions of the service. */
  readonly own: { readonly wallet: LoadWallet; readonly id: string }[]
}

function ordersOf(world: World): NftOrders {
  const { stage, random, holder, outsiders, collections, mints } = world
  const acts: Readonly<Record<Act, () => Promise<string>>> = {
    direct: () => mint(world, 'DIRECT'),
    batch: () => mint(world, 'BATCH'),
    lazy: () => mint(world, 'LAZY'),
    redeem: () => redeem(world),
    outside: () => redeemOutside(world),
    revoke: () => revoke(world),
    burn: () => moveToken(world, true),
    transfer: () => moveToken(world, false),
    cancel: () => cancel(world),
  }
  return {
    collections,
    mints,
    holders: [...outsiders, holder.address],
    take: (act) => acts[act](),
    async reorg() {
      const [depth, again] = [random.between(1, DEEPEST), random.chance(0.5)]
      // Otherwise an empty branch is the same as before.
      await stage.rpc('evm_increaseTime', 7)
      await reorganise(stage.url, { depth, again })
      return `reorg of ${depth}${again ? ' with the same transactions' : ''}`
    },
    untilSent: () => untilSent(world),
  }
}

const unsentText = `SELECT FROM transactions WHERE state IN ('requested', 'signed', 'reorged') LIMIT 1`

async function untilSent({ stage: { service } }: World): Promise<void> {
  const deadline = Date.now() + SENT_WITHIN_MS
  while (Date.now() < deadline && (await service.pool.query(unsentText)).rowCount !== 0) await sleep(20)
}

async function post({ stage }: World, path: string, body: object = {}) {
  return stage.service.api.send(path, body)
}

const accountOf = ({ random, outsiders, holder }: World) => random.pick([...outsiders, holder.address])

/** @throws Error when the maximum supply is kept otherwise than its tokens say */
async function mint(world: World, type: 'DIRECT' | 'BATCH' | 'LAZY'): Promise<string> {
  const { stage, random, collections, mints, own, issuer } = world
  const collection = random.pick(collections)
  const token = (recipient: string) => ({
    recipient,
    metadata: { name: 'One' },
    ...(collection.standard === 'ERC1155' ? { amount: String(random.between(1, 3)) } : {}),
  })
  const recipients = Array.from({ length: type === 'BATCH' ? random.between(1, 3) : 1 }, () => accountOf(world))
  const [first = ''] = recipients
  const { recipient, ...open } = token(first)
  const single = type === 'LAZY' && random.chance(0.7) ? open : { ...open, recipient }
  const fields = type === 'BATCH' ? { items: recipients.map(token) } : single
  const before = await liveTokens(stage, collection)
  const { status, body } = await post(world, '/v1/nft/mint', {
    collection_id: collection.id,
    minting_type: type,
    ...fields,
  })
  if (status >= 300) {
    if (body.errors?.[0]?.code === 'max_supply_reached' && before + recipients.length > MAX_SUPPLY)
      return `${type}: no room`
    throw new Error(`${before} of ${MAX_SUPPLY} tokens, and ${recipients.length} more: ${JSON.stringify(body)}`)
  }
  const after = await liveTokens(stage, collection)
  if (after > MAX_SUPPLY) throw new Error(`${after} of ${MAX_SUPPLY} tokens may be minted`)
  const { mint_id: id, tokens } = body.data as Data
  const wanted = new Map<string, string | null>((tokens as Data[]).map(({ token_id, owner }) => [token_id, owner]))
  mints.push({ id, collection, isLazy: type === 'LAZY', wanted })
  for (const { transaction_id } of tokens) if (transaction_id !== null) own.push({ wallet: issuer, id: transaction_id })
  return `${type} ${collection.standard} ${[...wanted.keys()]}`
}

/** How many tokens count towards the maximum supply. */
async function liveTokens(stage: NftStage, collection: OrderedCollection): Promise<number> {
  const tokens = await tokensOf(stage, collection)
  return tokens.filter(({ status }) => status !== 'FAILED' && status !== 'REVOKED').length
}

/** A voucher, mostly one of the newest. */
function pickVoucher({ random, mints }: World): OrderedMint | null {
  const lazy = mints.filter(({ isLazy }) => isLazy)
  return lazy.length === 0 ? null : random.pick(random.chance(0.7) ? lazy.slice(-4) : lazy)
}

const named = ({ collection, wanted }: OrderedMint) => `${collection.standard} ${[...wanted.keys()]}`

async function redeem(world: World): Promise<string> {
  const voucher = pickVoucher(world)
  if (voucher === null) return 'redeem: no voucher'
  await signed(world, voucher)
  const read = async (): Promise<Data> => (await world.stage.ask({ path: `/v1/nft/mints/${voucher.id}` })).body.data
  const recipient = (await read()).voucher.recipient ?? accountOf(world)
  const { status, body } = await post(world, `/v1/nft/mints/${voucher.id}/redeem`, { recipient })
  if (status >= 300) return `redeem ${named(voucher)}: ${body.errors?.[0]?.code}`
  for (const tokenId of voucher.wanted.keys()) voucher.wanted.set(tokenId, recipient)
  world.own.push({ wallet: world.issuer, id: body.data.transaction_id })
  return `redeem ${named(voucher)} for ${recipient}`
}

async function revoke(world: World): Promise<string> {
  const voucher = pickVoucher(world)
  if (voucher === null) return 'revoke: no voucher'
  const { status, body } = await post(world, `/v1/nft/mints/${voucher.id}/revoke`)
  if (status >= 300) return `revoke ${named(voucher)}: ${body.errors?.[0]?.code}`
  world.own.push({ wallet: world.issuer, id: body.data.voucher.revocation.transaction_id })
  return `revoke ${named(voucher)}`
}

/** The voucher with its signature. */
function signed({ stage }: World, { id }: OrderedMint): Promise<Data> {
  return eventually(async () => {
    const { voucher } = (await stage.ask({ path: `/v1/nft/mints/${id}` })).body.data
    return voucher.signature === null ? null : (voucher as Data)
  })
}

async function redeemOutside(world: World): Promise<string> {
  const { random, outsiders } = world
  const voucher = pickVoucher(world)
  if (voucher === null) return 'outside: no voucher'
  const { message, signature, recipient } = await signed(world, voucher)
  const { tokenId, amount, digest, validUntil } = message
  const from = random.pick(outsiders)
  const to = recipient ?? from
  const terms = [tokenId, message.recipient, amount, digest, validUntil]
  const data = COLLECTION_ABI.ERC721.encodeFunctionData('redeem', [terms, signature, to])
  await sendOutside(world, from, { to: voucher.collection.contract, data })
  return `outside redeems ${named(voucher)} for ${to}`
}

/** Before or after the transactions of the service in the same block. */
async function sendOutside({ stage, random }: World, from: string, call: { to: string; data: string }): Promise<void> {
  const tip = random.chance(0.5) ? 90n * GWEI : 1n
  const fees = { maxFeePerGas: toQuantity(100n * GWEI), maxPriorityFeePerGas: toQuantity(tip) }
  await stage.rpc('eth_sendTransaction', { from, gas: '0x7a120', ...fees, ...call })
}

/** A holder moves a token, or burns it: an outsider, or the wallet of the service. */
async function moveToken(world: World, isBurnt: boolean): Promise<string> {
  const { stage, random, collections, holder } = world
  const collection = random.pick(collections)
  const { contract, standard } = collection
  const lines = (await stage.owners(collection)).map((line) => line.split(' ') as [string, string, string])
  if (lines.length === 0) return 'no token is held'
  const [tokenId, from, amount] = random.pick(lines)
  const units = BigInt(random.between(1, Number(amount)))
  const to = accountOf(world)
  const what = `${isBurnt ? 'burn' : 'transfer'} of ${units} ${standard} ${tokenId} by ${from}`
  const burn = standard === 'ERC721' ? [tokenId] : [from, tokenId, units]
  const data = isBurnt
    ? COLLECTION_ABI[standard].encodeFunctionData('burn', burn)
    : encodeSafeTransfer(standard, { from, to, tokenId: BigInt(tokenId), amount: units })
  if (from !== holder.address) {
    await sendOutside(world, from, { to: contract, data })
    return what
  }
  const call = { contract_address: contract, mode: 'send', gas_limit: 200_000, data }
  const transfer = { collection_id: collection.id, token_id: tokenId, from, to }
  const { status, body } = isBurnt
    ? await post(world, `/v1/wallets/${holder.id}/contract-call`, call)
    : await post(world, '/v1/nft/transfer', standard === 'ERC721' ? transfer : { ...transfer, amount: String(units) })
  return status < 300 ? `${what}, the wallet` : `${what}: ${body.errors?.[0]?.code}`
}

async function cancel(world: World): Promise<string> {
  const { random, own } = world
  if (own.length === 0) return 'cancel: no transaction'
  const { wallet, id } = random.pick(own.slice(-2))
  const { status, body } = await post(world, `/v1/wallets/${wallet.id}/transactions/${id}/cancel`)
  return `cancel ${id}: ${status < 300 ? status : body.errors?.[0]?.code}`
}
