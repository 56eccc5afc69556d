/**
 * Hundreds of random calls, valid and invalid, against a small model: the contract accepts what the model accepts, and
 * its logs alone give the holders.
 */
import assert from 'node:assert/strict'
import { Wallet } from 'ethers/wallet'
import t, { type Test } from 'tap'
import type { TokenStandard } from '../../src/nft/contracts/collection.ts'
import { encodeMint, encodeMintBatch, encodeRevoke, encodeSafeTransfer } from '../../src/nft/contracts/encode-calls.ts'
import { type MovedTokens, parseNftTransferLog } from '../../src/nft/contracts/logs.ts'
import { voucherTypedData } from '../../src/nft/contracts/voucher.ts'
import { createRandom, type Random } from '../support/load-random.ts'
import { type Collection, digestOf, type NftChain, withNftChain } from '../support/nft-chain.ts'
import { encodeRedeem } from '../support/redeem-call.ts'

const CALLS = 250
const IDS = 40
const MAX_SUPPLY = 25
const ZERO = `0x${'00'.repeat(20)}`
/** The key of anvil's first account, which owns the collections. */
const OWNER = new Wallet('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')

/** The holdings of an id; a used id is included even when nobody holds it any more. */
type Holdings = Map<number, Map<string, bigint>>
type Model = { readonly used: Set<number>; readonly holdings: Holdings; minted: number }
type Step = {
  readonly what: string
  readonly from: string
  readonly data: string
  readonly accepted: boolean
  readonly apply: () => void
}

function heldOf(holdings: Holdings, id: number, holder: string): bigint {
  return holdings.get(id)?.get(holder.toLowerCase()) ?? 0n
}

function move(holdings: Holdings, id: number, from: string, to: string, amount: bigint): void {
  const holders = holdings.get(id) ?? new Map<string, bigint>()
  holdings.set(id, holders)
  for (const [holder, change] of [
    [from, -amount],
    [to, amount],
  ] as const) {
    if (holder !== ZERO) holders.set(holder.toLowerCase(), (holders.get(holder.toLowerCase()) ?? 0n) + change)
  }
}

function mintSteps(model: Model, ids: readonly number[], to: string, amount: bigint): Pick<Step, 'accepted' | 'apply'> {
  return {
    accepted: ids.every((id) => !model.used.has(id)) && model.minted + ids.length <= MAX_SUPPLY,
    apply: () => {
      for (const id of ids) {
        model.used.add(id)
        move(model.holdings, id, ZERO, to, amount)
      }
      model.minted += ids.length
    },
  }
}

async function nextStep(chain: NftChain, collection: Collection, model: Model, random: Random): Promise<Step> {
  const { standard } = collection.config
  const id = random.between(1, IDS)
  const [caller, other] = [random.pick([chain.alice, chain.bob]), random.pick([chain.alice, chain.bob, chain.owner])]
  const amount = standard === 'ERC721' ? 1n : BigInt(random.between(1, 5))
  const token = { recipient: caller, amount, digest: digestOf(id) }
  const issuer = random.chance(0.9) ? chain.owner : caller
  const what = random.pick(['mint', 'batch', 'revoke', 'redeem', 'transfer', 'transfer', 'transfer', 'burn'])
  switch (what) {
    case 'mint': {
      const minted = mintSteps(model, [id], caller, amount)
      const data = encodeMint(standard, BigInt(id), token)
      return { what, from: issuer, data, ...minted, accepted: minted.accepted && issuer === chain.owner }
    }
    case 'batch': {
      const ids = Array.from({ length: random.between(1, 4) }, (_, i) => id + i)
      const minted = mintSteps(model, ids, caller, amount)
      const data = encodeMintBatch(
        standard,
        BigInt(id),
        ids.map(() => token),
      )
      return { what, from: issuer, data, ...minted, accepted: minted.accepted && issuer === chain.owner }
    }
    case 'revoke': {
      const accepted = issuer === chain.owner && !model.used.has(id)
      return { what, from: issuer, data: encodeRevoke(BigInt(id)), accepted, apply: () => void model.used.add(id) }
    }
    case 'redeem': {
      const voucher = { ...token, tokenId: BigInt(id), recipient: random.chance(0.5) ? caller : null, validUntil: null }
      const { domain, types, message } = voucherTypedData(chain.chainId, collection.address, voucher)
      const signature = await OWNER.signTypedData(domain, types, message)
      return {
        what,
        from: caller,
        data: encodeRedeem(voucher, signature, caller),
        ...mintSteps(model, [id], caller, amount),
      }
    }
    default: {
      const accepted = heldOf(model.holdings, id, caller) >= amount
      const to = what === 'burn' ? ZERO : other
      const data =
        what === 'burn'
          ? burnData(collection, caller, id, amount)
          : encodeSafeTransfer(standard, { from: caller, to, tokenId: BigInt(id), amount })
      return { what, from: caller, data, accepted, apply: () => move(model.holdings, id, caller, to, amount) }
    }
  }
}

function burnData({ abi, config }: Collection, holder: string, id: number, amount: bigint): string {
  return abi.encodeFunctionData('burn', config.standard === 'ERC721' ? [id] : [holder, id, amount])
}

async function balanceOn({ config, read }: Collection, holder: string, id: number, existing: boolean): Promise<bigint> {
  if (config.standard === 'ERC1155') return (await read('balanceOf', holder, id)) as bigint
  return existing && (await read('ownerOf', id)) === holder ? 1n : 0n
}

async function runModel(t: Test, standard: TokenStandard, seed: number): Promise<void> {
  const chain = await withNftChain(t)
  const collection = await chain.collection({ standard, maxSupply: MAX_SUPPLY })
  const random = createRandom(seed)
  const model: Model = { used: new Set(), holdings: new Map(), minted: 0 }
  const moved: MovedTokens[] = []
  const passed = new Map<string, number>()
  for (let i = 0; i < CALLS; i++) {
    const { what, from, data, accepted, apply } = await nextStep(chain, collection, model, random)
    const { ok, logs } = await chain.send(from, { to: collection.address, data })
    assert.equal(ok, accepted, `call ${i} (${what}) of seed ${seed}`)
    if (!ok) continue
    apply()
    passed.set(what, (passed.get(what) ?? 0) + 1)
    moved.push(...logs.map(parseNftTransferLog).filter((tokens) => tokens !== null))
  }
  t.strictSame([...passed.keys()].sort(), ['batch', 'burn', 'mint', 'redeem', 'revoke', 'transfer'], `seed ${seed}`)

  const replayed: Holdings = new Map()
  for (const { from, to, tokens } of moved) {
    for (const { tokenId, amount } of tokens) move(replayed, Number(tokenId), from, to, amount)
  }
  t.strictSame(replayed, model.holdings, 'the holdings follow from the logs')
  for (const [id, holders] of model.holdings) {
    const existing = [...holders.values()].some((amount) => amount > 0n)
    for (const holder of [chain.alice, chain.bob, chain.owner]) {
      t.equal(await balanceOn(collection, holder, id, existing), heldOf(model.holdings, id, holder))
    }
  }
  t.equal(await collection.read('remainingSupply'), BigInt(MAX_SUPPLY - model.minted))
}

for (const standard of ['ERC721', 'ERC1155'] as const) {
  t.test(`${standard}: after random calls the contract equals the model`, (t) => runModel(t, standard, 20_260))
}
